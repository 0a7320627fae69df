//! Several processes that run one program together, each with its part of the arrays.

use crate::worker::{Place, Trace, Worker, refused, variables};
use acc_core::Error;
use backend_graph::specialise::{Cutting, MIN_CUT_BYTES};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The processes of a launch, of which this is one. A cheap handle.
///
/// `acc launch -n 4 -- PROGRAM` starts the processes; a process that nothing has launched is a mesh of its own. All
/// processes must do the same with their meshes, in the same order: where they do not, all get an error.
///
/// ```no_run
/// use acc_core::prelude::*;
/// use backend_xla::{Mesh, Xla};
/// let mesh = Mesh::from_env()?;
/// let xla = Xla::on(&mesh)?;
/// let squares = xla.run(generate(1_000_000usize, |i| i * i).sum())?;
/// if mesh.is_first() {
///     println!("{squares}");
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Mesh {
    pub(crate) worker: Arc<Worker>,
    pub(crate) cutting: Cutting,
}

impl Mesh {
    /// The mesh of this process's launch, by the variables that `acc launch`, Slurm or MPI have set. Connects to the other
    /// processes, for at most a minute; while a mesh of this process lives, this is the same one. Where `ACC_TRACE` names a
    /// folder, what the process does until the mesh is dropped is written there, as a trace for Perfetto.
    pub fn from_env() -> Result<Mesh, Error> {
        static CONNECTED: Mutex<Weak<Worker>> = Mutex::new(Weak::new());
        // A panic under the lock leaves what was there.
        let mut connected = CONNECTED.lock().unwrap_or_else(PoisonError::into_inner);
        let worker = match connected.upgrade() {
            Some(worker) => worker,
            None => {
                let place = Place::read(|name| std::env::var(name).ok()).map_err(refused)?;
                let trace = Trace::wanted();
                let mut worker = Worker::start(place)?;
                worker.trace = trace;
                let worker = Arc::new(worker);
                *connected = Arc::downgrade(&worker);
                worker
            }
        };
        let min_bytes = std::env::var(variables::MIN_CUT_BYTES).ok().and_then(|n| n.parse().ok());
        let cutting = Cutting { processes: worker.place.processes, min_bytes: min_bytes.unwrap_or(MIN_CUT_BYTES) };
        Ok(Mesh { worker, cutting })
    }

    /// The number of this process, from 0 on.
    pub fn process(&self) -> usize {
        self.worker.place.process as usize
    }

    /// How many processes there are.
    pub fn processes(&self) -> usize {
        self.worker.place.processes as usize
    }

    /// Whether this is the process that speaks for all.
    pub fn is_first(&self) -> bool {
        self.process() == 0
    }

    /// Which of so many rows this process has of an array that is cut: all have as many, but for the last ones.
    pub fn rows(&self, rows: usize) -> Range<usize> {
        let part = self.cutting.part(i64::try_from(rows).unwrap_or(i64::MAX));
        let part = usize::try_from(part).unwrap_or(0);
        let start = part.saturating_mul(self.process()).min(rows);
        start..start.saturating_add(part).min(rows)
    }

    /// The same mesh, on which arrays of fewer than so many bytes are not cut, unless it is asked for.
    #[must_use]
    pub fn min_cut_bytes(&self, bytes: u64) -> Mesh {
        Mesh { worker: self.worker.clone(), cutting: Cutting { min_bytes: bytes, ..self.cutting } }
    }
}
