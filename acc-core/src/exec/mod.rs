//! What an executor provides, and the cache of prepared programs.

pub mod foreign;
pub mod replay;

use crate::data::ArrayData;
use crate::error::Error;
use crate::ir::Program;
use crate::limits::RunLimits;
use crate::timeline::{self, Kind};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// An executor of programs.
///
/// A backend is a cheap handle: clones share the state behind it. Programs handed to `prepare` are verified;
/// arguments handed to `execute` fit the program's parameters.
pub trait Backend: Clone + Send + Sync + 'static {
    /// A program made ready to run, for all extents and data.
    type Prepared: Send + Sync + 'static;

    /// The name in messages and tables.
    fn name(&self) -> &'static str;

    /// Where prepared programs are kept.
    fn cache(&self) -> &ProgramCache<Self::Prepared>;

    /// Compiles a program, within the time limits of the run that needs it first. Called through the cache: once per
    /// structurally different program. What a limit stopped is not kept.
    fn prepare(&self, program: &Arc<Program>, limits: &RunLimits) -> Result<Self::Prepared, Error>;

    /// What the backend made of a program, for people; empty where it has nothing to tell.
    fn explain(&self, _program: &Self::Prepared) -> String {
        String::new()
    }

    /// Runs a prepared program on arguments, one array per parameter.
    fn execute(
        &self,
        program: &Self::Prepared,
        args: &[ArrayData],
        limits: &RunLimits,
    ) -> Result<Vec<ArrayData>, Error>;
}

/// Prepared programs by structure: a program equal to an earlier one but for source locations is not compiled again.
///
/// Bounded: the least recently prepared programs go first. A prepared program in use lives on until its user drops it.
pub struct ProgramCache<P> {
    entries: Mutex<Entries<P>>,
    compiled: AtomicU64,
    capacity: usize,
}

struct Entries<P> {
    map: HashMap<Arc<Program>, Arc<P>>,
    order: VecDeque<Arc<Program>>,
}

impl<P> Entries<P> {
    fn find(&self, program: &Arc<Program>) -> Option<(Arc<Program>, Arc<P>)> {
        self.map.get_key_value(program).map(|(k, p)| (k.clone(), p.clone()))
    }
}

impl<P> ProgramCache<P> {
    /// A cache of at most `capacity` programs.
    pub fn new(capacity: usize) -> ProgramCache<P> {
        let entries = Mutex::new(Entries { map: HashMap::new(), order: VecDeque::new() });
        ProgramCache { entries, compiled: AtomicU64::new(0), capacity }
    }

    /// How many programs were compiled so far.
    pub fn compiled(&self) -> u64 {
        self.compiled.load(Ordering::Relaxed)
    }

    /// The prepared form of `program`, made by `prepare` if there is none yet, and the program that it was made of: an
    /// equal one, whose source locations may be others.
    pub fn get(
        &self,
        program: &Arc<Program>,
        prepare: impl FnOnce(&Arc<Program>) -> Result<P, Error>,
    ) -> Result<(Arc<Program>, Arc<P>), Error> {
        if let Some(found) = self.lock().find(program) {
            return Ok(found);
        }
        // Compiled outside the lock: two threads may compile one program at the same time, and the first one is kept.
        let prepared = Arc::new(prepare(program)?);
        self.compiled.fetch_add(1, Ordering::Relaxed);
        let mut entries = self.lock();
        if let Some(found) = entries.find(program) {
            return Ok(found);
        }
        while entries.order.len() >= self.capacity
            && let Some(oldest) = entries.order.pop_front()
        {
            entries.map.remove(&oldest);
        }
        entries.map.insert(program.clone(), prepared.clone());
        entries.order.push_back(program.clone());
        Ok((program.clone(), prepared))
    }

    /// Drops all programs; those that run end as they would.
    pub fn clear(&self) {
        let mut entries = self.lock();
        entries.map.clear();
        entries.order.clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Entries<P>> {
        // A panic under the lock can at worst lose an entry.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P> Default for ProgramCache<P> {
    fn default() -> Self {
        ProgramCache::new(1024)
    }
}

/// Verifies, prepares (or finds prepared) and runs untyped programs, for the command line and tests.
pub trait Executor: Send + Sync {
    /// The name in messages and tables.
    fn name(&self) -> &'static str;
    /// Compiles a program if it is not compiled yet.
    fn prepare(&self, program: &Arc<Program>) -> Result<(), Error>;
    /// Runs a program on arguments.
    fn run_untyped(
        &self,
        program: &Arc<Program>,
        args: &[ArrayData],
        limits: &RunLimits,
    ) -> Result<Vec<ArrayData>, Error>;
    /// How many programs were compiled so far.
    fn compiled(&self) -> u64;
    /// Drops the programs that are kept for later runs, with their code, if it keeps any.
    fn clear_cache(&self) {}
}

/// A program made ready to run on a backend.
pub struct Ready<B: Backend> {
    backend: B,
    prepared: Arc<B::Prepared>,
    /// The program that was prepared, at its place in the source.
    first: Arc<Program>,
    /// The program that runs: the same one, maybe from another place.
    program: Arc<Program>,
}

impl<B: Backend> Clone for Ready<B> {
    fn clone(&self) -> Self {
        let Ready { backend, prepared, first, program } = self;
        Ready { backend: backend.clone(), prepared: prepared.clone(), first: first.clone(), program: program.clone() }
    }
}

impl<B: Backend> Ready<B> {
    /// Makes a program ready, from the backend's cache if it has an equal one.
    pub fn new(backend: &B, program: &Arc<Program>) -> Result<Ready<B>, Error> {
        Ready::within(backend, program, &RunLimits::none())
    }

    /// The same, until a deadline passes or the run is cancelled.
    pub fn within(backend: &B, program: &Arc<Program>, limits: &RunLimits) -> Result<Ready<B>, Error> {
        limits.check()?;
        let (first, prepared) = backend.cache().get(program, |p| {
            let mut span = timeline::span(Kind::Pass, || "prepare");
            span.note("executor", || backend.name());
            timeline::pass("verify", || crate::verify::verify_within(p, limits))?;
            backend.prepare(p, limits)
        })?;
        Ok(Ready { backend: backend.clone(), prepared, first, program: program.clone() })
    }

    /// Runs the program on arguments that fit its parameters.
    pub fn run(&self, args: &[ArrayData], limits: &RunLimits) -> Result<Vec<ArrayData>, Error> {
        let _span = timeline::span(Kind::Run, || self.backend.name());
        // Short runs may end before a backend looks.
        limits.check()?;
        self.backend.execute(&self.prepared, args, limits).map_err(|e| self.here(e))
    }

    /// A fault of the prepared program, with the locations and names of the program that runs.
    fn here(&self, error: Error) -> Error {
        let Error::Fault { fault, mut op, mut loc } = error else { return error };
        let from = self.first.locations();
        let mut ops: Vec<&'static str> = from.iter().filter(|(_, l)| l.is_at(&loc)).map(|(op, _)| *op).collect();
        ops.dedup();
        // A backend may have replaced the operation by another one.
        if let [only] = ops[..] {
            op = only;
        }
        if !Arc::ptr_eq(&self.first, &self.program) {
            let found = from.iter().position(|(_, l)| l.is_at(&loc));
            loc = found.and_then(|k| self.program.locations().into_iter().nth(k)).map_or(loc, |(_, l)| l);
        }
        Error::Fault { fault: fault.in_program(&self.program), op, loc }
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }
    /// What the backend made of it.
    pub fn prepared(&self) -> &Arc<B::Prepared> {
        &self.prepared
    }
    /// The backend.
    pub fn backend(&self) -> &B {
        &self.backend
    }
}

/// Checks that arguments have the types of the parameters.
pub fn check_args(program: &Program, args: &[ArrayData]) -> Result<(), Error> {
    let want = program.body.params.len();
    if args.len() != want {
        return Err(Error::ArgumentCount { want, got: args.len() });
    }
    for (position, (ty, arg)) in program.param_types().zip(args).enumerate() {
        use crate::data::ShapeError;
        if ty.rank != arg.rank() {
            let error = ShapeError::Rank { want: ty.rank, got: arg.rank() };
            return Err(Error::Argument { position, error });
        }
        if ty.elt != *arg.elt() {
            let error = ShapeError::Element { want: ty.elt.to_string(), got: arg.elt().to_string() };
            return Err(Error::Argument { position, error });
        }
    }
    Ok(())
}

impl<B: Backend> Executor for B {
    fn name(&self) -> &'static str {
        Backend::name(self)
    }
    fn prepare(&self, program: &Arc<Program>) -> Result<(), Error> {
        Ready::new(self, program).map(|_| ())
    }
    fn run_untyped(
        &self,
        program: &Arc<Program>,
        args: &[ArrayData],
        limits: &RunLimits,
    ) -> Result<Vec<ArrayData>, Error> {
        check_args(program, args)?;
        Ready::within(self, program, limits)?.run(args, limits)
    }
    fn compiled(&self) -> u64 {
        self.cache().compiled()
    }
    fn clear_cache(&self) {
        self.cache().clear();
    }
}
