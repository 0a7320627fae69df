//! The IDX format of MNIST and its like: images and labels of bytes, plain or compressed by gzip.
//!
//! A file is a magic number, the extents as big-endian 32-bit numbers, and the bytes in row-major order
//! (<http://yann.lecun.com/exdb/mnist/>). A header is believed only as far as the file goes: memory is taken for bytes that
//! have been read, whatever it claims.

use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// More images than any of these sets has.
pub const MAX_IMAGES: usize = 1 << 20;

/// Bytes without a sign, in three extents and in one.
const IMAGES: u32 = 0x0803;
const LABELS: u32 = 0x0801;

/// Reads the first `limit` images, which must be of `side` rows and columns: how many there are, and their bytes.
///
/// # Errors
///
/// A message that names the file: it cannot be read, is no IDX file of images, or ends before its header says.
pub fn images(path: &Path, side: usize, limit: usize) -> Result<(usize, Vec<u8>), String> {
    let mut file = open(path)?;
    let count = count(path, &mut file, IMAGES, "images", "train-images-idx3-ubyte")?;
    let extents = [word(path, &mut file)?, word(path, &mut file)?];
    if extents.map(|n| n as usize) != [side, side] {
        let [rows, columns] = extents;
        return Err(format!("{} has images of {rows} x {columns}; the network reads {side} x {side}", path.display()));
    }
    Ok((count, bytes(path, file, count, limit, side * side)?))
}

/// Reads the first `limit` labels, which are digits: how many there are, and those read.
///
/// # Errors
///
/// Those of [`images`], and a label above 9.
pub fn labels(path: &Path, limit: usize) -> Result<(usize, Vec<u8>), String> {
    let mut file = open(path)?;
    let count = count(path, &mut file, LABELS, "labels", "train-labels-idx1-ubyte")?;
    let labels = bytes(path, file, count, limit, 1)?;
    match labels.iter().position(|label| *label > 9) {
        Some(at) => Err(format!("{}: label {at} is {}; the network tells 0 to 9 apart", path.display(), labels[at])),
        None => Ok((count, labels)),
    }
}

/// The contents, decompressed where they are compressed.
fn open(path: &Path) -> Result<Box<dyn Read>, String> {
    let open = || -> io::Result<Box<dyn Read>> {
        let mut file = BufReader::new(File::open(path)?);
        let mut start = Vec::new();
        file.by_ref().take(2).read_to_end(&mut start)?;
        let whole = io::Cursor::new(start.clone()).chain(file);
        Ok(if start == [0x1f, 0x8b] { Box::new(MultiGzDecoder::new(whole)) } else { Box::new(whole) })
    };
    open().map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn ended(path: &Path, e: &io::Error, within: &str) -> String {
    match e.kind() {
        io::ErrorKind::UnexpectedEof => format!("{} is no whole IDX file: it ends {within}", path.display()),
        _ => format!("cannot read {}: {e}", path.display()),
    }
}

fn word(path: &Path, file: &mut impl Read) -> Result<u32, String> {
    let mut bytes = [0; 4];
    file.read_exact(&mut bytes).map_err(|e| ended(path, &e, "within its header"))?;
    Ok(u32::from_be_bytes(bytes))
}

/// How many images or labels a header of this magic number claims.
fn count(path: &Path, file: &mut impl Read, magic: u32, what: &str, like: &str) -> Result<usize, String> {
    let found = word(path, file)?;
    let name = path.display();
    if found != magic {
        return Err(format!(
            "{name} is no IDX file of {what}: it begins with {found:#010x}, not {magic:#010x}\n  help: such a file is called {like} in MNIST"
        ));
    }
    let count = word(path, file)? as usize;
    match count {
        0 => Err(format!("{name} has no {what}")),
        1..=MAX_IMAGES => Ok(count),
        _ => Err(format!("{name} claims {count} {what}; at most {MAX_IMAGES} are read")),
    }
}

/// The bytes of the first `limit` of `count` items; without a limit that bites, the file must end there.
fn bytes(path: &Path, mut file: impl Read, count: usize, limit: usize, size: usize) -> Result<Vec<u8>, String> {
    let wanted = count.min(limit).saturating_mul(size);
    let mut read = Vec::new();
    let end = file.by_ref().take(wanted as u64).read_to_end(&mut read);
    let within = format!("within item {} of {count}", read.len() / size + 1);
    end.map_err(|e| ended(path, &e, &within))?;
    if read.len() < wanted {
        return Err(ended(path, &io::ErrorKind::UnexpectedEof.into(), &within));
    }
    // Reading the end checks the sum of a compressed file, too.
    if limit >= count && file.read(&mut [0]).map_err(|e| ended(path, &e, "within its last block"))? > 0 {
        return Err(format!("{} goes on after the {count} items that its header claims", path.display()));
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;
    use tempfile::TempDir;

    fn header(magic: u32, extents: &[u32]) -> Vec<u8> {
        [magic].iter().chain(extents).flat_map(|n| n.to_be_bytes()).collect()
    }

    fn gzip(contents: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(contents).expect("memory");
        encoder.finish().expect("memory")
    }

    /// What is read of a file with these contents.
    fn read<T>(contents: &[u8], f: impl Fn(&Path) -> Result<T, String>) -> Result<T, String> {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, contents).expect("a file");
        f(&path)
    }

    #[track_caller]
    fn fails<T>(contents: &[u8], f: impl Fn(&Path) -> Result<T, String>, wanted: &str) {
        let Err(said) = read(contents, f) else { panic!("it is read") };
        assert!(said.contains(wanted), "{wanted:?} is not in: {said}");
    }

    #[test]
    fn plain_and_compressed() {
        let two = [&header(IMAGES, &[2, 2, 2])[..], &[1, 2, 3, 4, 5, 6, 7, 8]].concat();
        let labels_of_two = [&header(LABELS, &[2])[..], &[9, 0]].concat();
        for wrap in [|b: &[u8]| b.to_vec(), gzip] {
            let all = read(&wrap(&two), |path| images(path, 2, usize::MAX));
            assert_eq!(all, Ok((2, vec![1, 2, 3, 4, 5, 6, 7, 8])));
            assert_eq!(read(&wrap(&two), |path| images(path, 2, 1)), Ok((2, vec![1, 2, 3, 4])));
            assert_eq!(read(&wrap(&labels_of_two), |path| labels(path, 5)), Ok((2, vec![9, 0])));
        }
    }

    #[test]
    fn other_files() {
        let images = |path: &Path| images(path, 2, 10);
        let labels = |path: &Path| labels(path, 10);
        fails(&header(LABELS, &[2]), images, "is no IDX file of images: it begins with 0x00000801");
        fails(b"no such format", labels, "is no IDX file of labels");
        fails(b"", labels, "within its header");
        fails(&header(IMAGES, &[2, 3, 2]), images, "images of 3 x 2");
        fails(&header(LABELS, &[0]), labels, "has no labels");
        fails(&[&header(LABELS, &[1])[..], &[10]].concat(), labels, "label 0 is 10");
        fails(&[&header(LABELS, &[1])[..], &[1, 2]].concat(), labels, "goes on after the 1 items");
        let Err(said) = labels(Path::new("no such file")) else { panic!("it is read") };
        assert!(said.starts_with("cannot read no such file: "), "{said}");
    }

    #[test]
    fn files_that_end_early() {
        let whole = [&header(IMAGES, &[3, 2, 2])[..], &[7; 12]].concat();
        let images = |path: &Path| images(path, 2, 10);
        for end in [0, 3, 4, 9, 15] {
            fails(&whole[..end], images, "is no whole IDX file: it ends within its header");
        }
        fails(&whole[..22], images, "it ends within item 2 of 3");
        let packed = gzip(&whole);
        for end in 2..packed.len() {
            assert!(read(&packed[..end], images).is_err(), "{end} bytes");
        }
        let mut flipped = packed.clone();
        flipped[packed.len() - 6] ^= 1;
        fails(&flipped, images, "cannot read");
    }

    /// Neither the extents of a header nor a gigabyte of zeros in a few bytes takes memory.
    #[test]
    fn huge_extents() {
        let images = |path: &Path| images(path, 28, usize::MAX);
        fails(&header(IMAGES, &[u32::MAX, 28, 28]), images, "claims 4294967295 images");
        fails(&header(IMAGES, &[u32::MAX, u32::MAX, u32::MAX]), images, "claims 4294967295 images");
        fails(&header(IMAGES, &[1 << 20, 28, 28]), images, "within item 1 of 1048576");
        fails(&header(IMAGES, &[1, u32::MAX, 28]), images, "images of 4294967295 x 28");
    }
}
