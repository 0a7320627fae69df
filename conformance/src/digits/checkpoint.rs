//! A training in a `.npz` file, from which it goes on as if it had not stopped.

use super::network::{Loss, Net, Optimiser, State, Training};
use acc_core::api::{IntoShape, ScalarElt, Shape};
use acc_core::prelude::npy::Npz;
use acc_core::prelude::*;
use std::path::Path;

/// A training after some epochs.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// How the network is trained.
    pub how: Training,
    /// Images of a step.
    pub batch: usize,
    /// How many steps were taken.
    pub steps: u64,
    /// The epochs so far.
    pub epochs: Vec<Epoch>,
    /// Parameters, and what the optimiser keeps.
    pub state: State,
}

/// What an epoch brought.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Epoch {
    /// The mean loss of its images.
    pub loss: f64,
    /// The part of the test's images that are read rightly after it.
    pub accuracy: f64,
    /// How long the training took, without the test.
    pub seconds: f64,
}

/// What an optimiser keeps for each array has its name, after one of these.
const PREFIXES: [&str; 3] = ["", "first_", "second_"];
const MAX_EPOCHS: usize = 1 << 16;
const MAX_BATCH: u64 = 1 << 20;

impl Checkpoint {
    /// The contents of the file.
    ///
    /// # Errors
    ///
    /// A message: the folder for temporary files takes none.
    pub fn to_npz(&self) -> Result<Vec<u8>, String> {
        let file = tempfile::NamedTempFile::new().map_err(|e| format!("cannot make a temporary file: {e}"))?;
        let mut npz = Npz::create(file.path()).map_err(|e| e.to_string())?;
        self.write(&mut npz).and_then(|()| npz.finish()).map_err(|e| e.to_string())?;
        std::fs::read(file.path()).map_err(|e| format!("cannot read {}: {e}", file.path().display()))
    }

    fn write(&self, npz: &mut Npz) -> Result<(), npy::NpyError> {
        let Training { loss, optimiser, rate, dropout, seed } = self.how;
        npz.add("optimiser", &Scalar::scalar(optimiser as u8))?;
        npz.add("loss", &Scalar::scalar(loss as u8))?;
        npz.add("rate", &Scalar::scalar(rate))?;
        npz.add("dropout", &Scalar::scalar(dropout))?;
        npz.add("seed", &Scalar::scalar(seed))?;
        npz.add("batch", &Scalar::scalar(self.batch as u64))?;
        npz.add("steps", &Scalar::scalar(self.steps))?;
        let column = |f: fn(&Epoch) -> f64| self.epochs.iter().map(f).collect::<Vector<f64>>();
        npz.add("losses", &column(|e| e.loss))?;
        npz.add("accuracies", &column(|e| e.accuracy))?;
        npz.add("seconds", &column(|e| e.seconds))?;
        let (net, first, second) = &self.state;
        for ((k1, b1, k2, b2, w, b), prefix) in [net, first, second].into_iter().zip(PREFIXES) {
            let name = |name: &str| format!("{prefix}{name}");
            npz.add(&name("filters1"), k1)?;
            npz.add(&name("bias1"), b1)?;
            npz.add(&name("filters2"), k2)?;
            npz.add(&name("bias2"), b2)?;
            npz.add(&name("weights"), w)?;
            npz.add(&name("bias"), b)?;
        }
        Ok(())
    }

    /// Reads a file that [`to_npz`](Checkpoint::to_npz) made.
    ///
    /// # Errors
    ///
    /// A message that names the file, and the array that is missing, broken or of another kind.
    pub fn read(path: &Path) -> Result<Checkpoint, String> {
        let read = || -> Result<Checkpoint, String> {
            let file = Reader(path);
            let rate: f32 = file.number("rate")?;
            let dropout: f32 = file.number("dropout")?;
            if !(rate > 0.0 && rate.is_finite() && (0.0..1.0).contains(&dropout)) {
                return Err(format!("a rate of {rate} or a dropout of {dropout} is none"));
            }
            let how = Training {
                loss: file.one_of("loss", &[Loss::Squares, Loss::CrossEntropy])?,
                optimiser: file.one_of("optimiser", &[Optimiser::Sgd, Optimiser::Momentum, Optimiser::Adam])?,
                rate,
                dropout,
                seed: file.number("seed")?,
            };
            let batch: u64 = file.number("batch")?;
            if !(1..=MAX_BATCH).contains(&batch) {
                return Err(format!("batches of {batch} images are none"));
            }
            let columns = ["losses", "accuracies", "seconds"].map(|name| file.column(name));
            let [losses, accuracies, seconds] = columns;
            let (losses, accuracies, seconds) = (losses?, accuracies?, seconds?);
            if losses.len() != accuracies.len() || losses.len() != seconds.len() {
                return Err("its epochs are of different numbers".to_string());
            }
            let epochs = losses.into_iter().zip(accuracies).zip(seconds);
            let epochs = epochs.map(|((loss, accuracy), seconds)| Epoch { loss, accuracy, seconds }).collect();
            let [net, first, second] = PREFIXES.map(|prefix| file.net(prefix));
            let state = (net?, first?, second?);
            Ok(Checkpoint { how, batch: batch as usize, steps: file.number("steps")?, epochs, state })
        };
        read().map_err(|e| {
            format!(
                "{} cannot be resumed: {e}\n  help: `--resume` takes a file that `acc digits --save` wrote",
                path.display()
            )
        })
    }
}

struct Reader<'a>(&'a Path);

impl Reader<'_> {
    fn within<Sh: Shape, E: ScalarElt + ndarray_npy::ReadableElement>(
        &self,
        name: &str,
        elements: usize,
    ) -> Result<Array<Sh, E>, String> {
        Array::read_npz_within(self.0, name, (elements * size_of::<E>()) as u64).map_err(|e| e.to_string())
    }

    fn number<E: ScalarElt + ndarray_npy::ReadableElement>(&self, name: &str) -> Result<E, String> {
        Ok(self.within::<DIM0, E>(name, 1)?.value())
    }

    fn one_of<T: Copy>(&self, name: &str, cases: &[T]) -> Result<T, String> {
        let code: u8 = self.number(name)?;
        cases.get(usize::from(code)).copied().ok_or_else(|| format!("its {name} {code} is none"))
    }

    fn column(&self, name: &str) -> Result<Vec<f64>, String> {
        Ok(self.within::<DIM1, f64>(name, MAX_EPOCHS)?.to_vec())
    }

    fn array<Sh: Shape>(&self, name: String, shape: impl IntoShape<Sh>) -> Result<Array<Sh, f32>, String> {
        let shape = shape.into_shape();
        let array: Array<Sh, f32> = self.within(&name, shape.dims().iter().product())?;
        if array.shape() == shape {
            return Ok(array);
        }
        Err(format!("its array {name:?} is of shape {:?}, not {:?}", array.shape().dims(), shape.dims()))
    }

    fn net(&self, prefix: &str) -> Result<Net, String> {
        let name = |name: &str| format!("{prefix}{name}");
        Ok((
            self.array(name("filters1"), (6, 1, 5, 5))?,
            self.array(name("bias1"), 6)?,
            self.array(name("filters2"), (12, 6, 5, 5))?,
            self.array(name("bias2"), 12)?,
            self.array(name("weights"), (10, 192))?,
            self.array(name("bias"), 10)?,
        ))
    }
}
