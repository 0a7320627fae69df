//! Images of digits: from the IDX files of a folder, or drawn.

use super::idx;
use super::network::drawn::SIDE;
use super::network::{Images, digits};
use acc_core::Backend;
use acc_core::api::Run;
use acc_core::prelude::*;
use std::path::{Path, PathBuf};

/// Images of 28 x 28 grey levels, and which digits they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    /// Row by row, an image after the other.
    pub images: Vec<u8>,
    /// One of 0 to 9 for each image.
    pub labels: Vec<u8>,
}

/// The images to train on, and those to test with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Data {
    /// To train on.
    pub training: Set,
    /// To test with.
    pub test: Set,
    /// Where they are from.
    pub source: String,
}

const PIXELS: usize = SIDE * SIDE;
/// As many are drawn at once, from a seed of their own: sets of any size begin with the same images.
const IMAGES_PER_DRAWING: usize = 1000;

impl Set {
    /// How many images there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The pixels of an image; none if there is no such image.
    pub fn image(&self, at: usize) -> &[u8] {
        self.images.get(at * PIXELS..(at + 1) * PIXELS).unwrap_or_default()
    }

    /// Arrays of `size` images each, of fewer in the last one, in order.
    pub fn batches(&self, size: usize) -> impl Iterator<Item = Result<(Images, Vector<u8>), String>> {
        let size = size.max(1);
        self.images.chunks(size * PIXELS).zip(self.labels.chunks(size)).map(|(images, labels)| {
            let images = Array::from_vec((labels.len(), SIDE, SIDE), images.to_vec()).map_err(|e| e.to_string())?;
            Ok((images, Vector::from(labels.to_vec())))
        })
    }

    fn split(mut self, at: usize) -> (Set, Set) {
        let rest = Set { images: self.images.split_off(at * PIXELS), labels: self.labels.split_off(at) };
        (self, rest)
    }
}

impl Data {
    /// Draws images, the same for the same seed on every machine: `training` of them to train on, `test` more to test with.
    ///
    /// # Errors
    ///
    /// Those of the executor, as a message.
    pub fn drawn(executor: &impl Backend, seed: u64, training: usize, test: usize) -> Result<Data, String> {
        let mut all = Set { images: Vec::new(), labels: Vec::new() };
        let draw = |key: Acc<Scalar<u64>>| digits(key.the(), IMAGES_PER_DRAWING);
        let draw = executor.compile(draw).map_err(|e| e.to_string())?;
        let blocks = (training + test).div_ceil(IMAGES_PER_DRAWING) as u64;
        for block in 0..blocks {
            let key = Scalar::scalar(seed.wrapping_mul(1 << 20).wrapping_add(block));
            let (images, labels) = draw.call((&key,)).map_err(|e| e.to_string())?;
            all.images.extend_from_slice(images.as_slice());
            all.labels.extend_from_slice(labels.as_slice());
        }
        let (all, _) = all.split(training + test);
        let (training, test) = all.split(training);
        Ok(Data { training, test, source: format!("digits drawn from seed {seed}") })
    }

    /// Reads the four files of MNIST, or of another set of such images, and takes the first `training` and the first `test`
    /// images.
    ///
    /// # Errors
    ///
    /// A message that names the file that is missing, broken or of another kind, or the two that do not fit.
    pub fn read(folder: &Path, training: usize, test: usize) -> Result<Data, String> {
        Ok(Data {
            training: read_set(folder, "train", training)?,
            test: read_set(folder, "t10k", test)?,
            source: folder.display().to_string(),
        })
    }
}

fn read_set(folder: &Path, part: &str, limit: usize) -> Result<Set, String> {
    let images_at = find(folder, part, "images", "idx3")?;
    let labels_at = find(folder, part, "labels", "idx1")?;
    let (n, images) = idx::images(&images_at, SIDE, limit)?;
    let (labelled, labels) = idx::labels(&labels_at, limit)?;
    if n != labelled {
        let (images, labels) = (images_at.display(), labels_at.display());
        return Err(format!("{images} has {n} images, but {labels} {labelled} labels"));
    }
    Ok(Set { images, labels })
}

/// The file of a part, under one of the names that it has in copies of MNIST.
fn find(folder: &Path, part: &str, what: &str, kind: &str) -> Result<PathBuf, String> {
    let plain = [format!("{part}-{what}-{kind}-ubyte"), format!("{part}-{what}.{kind}-ubyte")];
    let names = plain.iter().flat_map(|name| [name.clone(), format!("{name}.gz")]);
    names.map(|name| folder.join(name)).find(|path| path.is_file()).ok_or_else(|| {
        format!(
            "there is no {0} or {0}.gz in {1}\n  help: `--data` takes a folder with the four files of MNIST or Fashion-MNIST; `make digits` gets the latter on Debian",
            plain[0],
            folder.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use backend_native::Native;
    use tempfile::TempDir;

    #[test]
    fn drawings_are_those_of_their_seed() {
        let draw = |seed, n| Data::drawn(&Native::new(), seed, n, 3).unwrap_or_else(|e| panic!("{e}"));
        let (few, again, other) = (draw(1, 4), draw(1, 4), draw(2, 4));
        assert_eq!(few, again);
        assert_ne!(few.training, other.training);
        assert_eq!((few.training.len(), few.training.images.len(), few.test.len()), (4, 4 * PIXELS, 3));
        // More of them begin with the same, and the test's are others.
        let more = draw(1, 1005);
        assert_eq!((more.training.len(), more.training.image(3)), (1005, few.training.image(3)));
        assert_eq!(more.training.image(4), few.test.image(0));
        // Ink on ground, for every digit.
        for digit in 0..10 {
            assert!(more.training.labels.contains(&digit), "{digit}");
        }
        let ink = more.training.images.iter().filter(|level| **level > 127).count() as f64;
        assert!((0.03..0.4).contains(&(ink / more.training.images.len() as f64)), "{ink}");
    }

    #[test]
    fn executors_draw_the_same_within_rounding() {
        let set = |drawn: Result<(Images, Vector<u8>), acc_core::Error>| {
            let (images, labels) = drawn.unwrap_or_else(|e| panic!("{e}"));
            Set { images: images.to_vec(), labels: labels.to_vec() }
        };
        let two = || digits(lift(7u64), 2);
        let (a, b) = (set(Native::tiles().run(two())), set(Interpreter::new().run(two())));
        assert_eq!(a.labels, b.labels);
        assert!(a.images.iter().zip(&b.images).all(|(a, b)| a.abs_diff(*b) <= 1));
    }

    fn idx_of(magic: u32, extents: &[u32], value: u8, bytes: usize) -> Vec<u8> {
        let header = [magic].into_iter().chain(extents.iter().copied());
        header.flat_map(u32::to_be_bytes).chain(std::iter::repeat_n(value, bytes)).collect()
    }

    #[test]
    fn folders_of_files() {
        let folder = TempDir::new().expect("a folder");
        let write = |name: &str, contents: Vec<u8>| std::fs::write(folder.path().join(name), contents).expect("a file");
        let read = |n| Data::read(folder.path(), n, n);
        let missing = read(9).expect_err("no files");
        assert!(missing.contains("there is no train-images-idx3-ubyte"), "{missing}");
        write("train-images-idx3-ubyte", idx_of(0x803, &[2, 28, 28], 5, 2 * PIXELS));
        write("train-labels.idx1-ubyte", idx_of(0x801, &[2], 3, 2));
        write("t10k-images.idx3-ubyte", idx_of(0x803, &[1, 28, 28], 6, PIXELS));
        write("t10k-labels-idx1-ubyte", idx_of(0x801, &[1], 4, 1));
        let data = read(9).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((data.training.labels, data.test.labels), (vec![3, 3], vec![4]));
        assert_eq!(read(1).map(|data| data.training.images), Ok(vec![5; PIXELS]));
        write("t10k-labels-idx1-ubyte", idx_of(0x801, &[2], 4, 2));
        let unequal = read(9).expect_err("other numbers");
        assert!(
            unequal.contains("t10k-images.idx3-ubyte has 1 images, but ") && unequal.ends_with(" 2 labels"),
            "{unequal}"
        );
    }

    #[test]
    fn batches_have_all_images_in_order() {
        let set = Set { images: (0..5 * PIXELS).map(|k| (k / PIXELS) as u8).collect(), labels: vec![0, 1, 2, 3, 4] };
        let batches: Vec<_> = set.batches(2).map(|b| b.unwrap_or_else(|e| panic!("{e}"))).collect();
        let labels: Vec<Vec<u8>> = batches.iter().map(|(_, labels)| labels.to_vec()).collect();
        assert_eq!(labels, [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(batches[2].0.to_vec(), vec![4; PIXELS]);
    }
}
