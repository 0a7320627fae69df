//! The native CPU backend: array programs lowered to loop nests, run over cache-resident tiles on all cores.
//!
//! [`Native`] implements [`Backend`]. A program is lowered once, for all extents and data: element-wise producers are
//! fused into their consumers, and each remaining statement becomes a kernel, a loop nest with a scalar body. Kernels
//! run on the cores of the machine: as machine code, where an [LLVM](llvm) is found at run time, else tile by tile.
//! Results are the same, bit for bit, either way and for any number of threads.
//!
//! ```
//! use acc_core::data::{ArrayData, EltType, Prim, ScalarType};
//! use acc_core::{Executor, RunLimits, text};
//! use backend_native::Native;
//!
//! let program = text::parse("sum.acc", "
//!     program(xs: [1]i64) {
//!       total: [0]i64 = fold(xs, f: |%a: i64, %b: i64| add(%a, %b), init: || 0i64)
//!       yield total
//!     }")?;
//! let xs = ArrayData::from_leaves([3], EltType::Scalar(ScalarType::I64), [1i64, 2, 3].map(|x| [x.lit()])).unwrap();
//! let result = Native::new().run_untyped(&program.into(), &[xs], &RunLimits::none())?;
//! assert_eq!(result[0].element(0).unwrap()[..], [6i64.lit()]);
//! # Ok::<(), acc_core::Error>(())
//! ```
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod bind;
mod buffer;
mod cache;
mod explain;
mod fork;
mod kernel;
pub mod llvm;
mod lower;
mod options;
mod prepare;
mod run;
pub mod search;
mod tile;
pub mod tune;

use acc_core::data::ArrayData;
use acc_core::exec::replay::{Ended, Replay};
use acc_core::ir::Program;
use acc_core::{Backend, Cause, Error, ProgramCache, RunLimits};
pub use acc_desugar::Rules;
use acc_desugar::pipeline;
use buffer::Pool;
pub use explain::{Explanation, KernelReport, ReadReport, RowBlockingReport, StepKind, StepReport};
pub use kernel::Kernels;
use lower::Settings;
pub use options::Options;
pub use prepare::pass_settings;
use prepare::{Executable, Plan};
use run::launch::Context;
use run::pool::thread_pool::ThreadPool;
use std::sync::Arc;
pub use tune::Tune;

/// The backend's name in messages.
const NAME: &str = "native";

/// The native CPU backend. Clones share the cache of prepared programs, the threads and the memory pool.
///
/// A child of `fork`, in which the parent's threads do not exist, runs programs on the calling thread with the tile
/// executor if the parent has used a native backend.
#[derive(Clone)]
pub struct Native(Arc<State>);

struct State {
    cache: ProgramCache<Prepared>,
    /// The cache for children of this process.
    cache_of_child: ProgramCache<Prepared>,
    /// Its own threads, if it was created with some.
    threads: Option<ThreadPool>,
    memory: Arc<Pool>,
    options: Options,
}

/// Whether kernels are compiled to machine code, with an [LLVM found](llvm) at run time.
///
/// Results are the same, bit for bit. The tile executor runs what is not compiled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Compile {
    /// Never.
    Never,
    /// When first run, in the background. The tile executor runs a kernel until its code is ready.
    #[default]
    Background,
    /// When first run, which waits for the code.
    Now,
}

impl Native {
    /// A backend that uses the global thread pool.
    pub fn new() -> Native {
        Native::on(None, Options::default())
    }

    /// A backend without machine code: the tile executor runs every kernel.
    pub fn tiles() -> Native {
        Native::on(None, Options::new().compile(Compile::Never))
    }

    /// A backend that waits for the machine code of each kernel rather than starting with the tile executor.
    pub fn compiled() -> Native {
        Native::on(None, Options::new().compile(Compile::Now))
    }

    /// A backend with `n` threads of its own, including the calling one.
    pub fn with_threads(n: usize) -> Result<Native, Error> {
        Native::with(Options::new().threads(n))
    }

    /// A backend with these options; an error if its threads cannot be started.
    pub fn with(options: Options) -> Result<Native, Error> {
        let threads = options.threads.map(ThreadPool::new).transpose();
        let threads = threads.map_err(|e| Error::Threads { source: Cause::new(e) })?;
        Ok(Native::on(threads, options))
    }

    fn on(threads: Option<ThreadPool>, options: Options) -> Native {
        let (cache, cache_of_child, memory) = (ProgramCache::default(), ProgramCache::default(), Arc::default());
        Native(Arc::new(State { cache, cache_of_child, threads, memory, options }))
    }
}

/// The number of threads in the global pool.
pub fn threads() -> usize {
    run::pool::thread_pool::processors()
}

impl Default for Native {
    fn default() -> Native {
        Native::new()
    }
}

/// A program lowered to kernels.
pub struct Prepared {
    program: Arc<Program>,
    executable: Replay<Executable>,
    /// Which schedules it runs with.
    decisions: Arc<tune::Decisions>,
}

impl Prepared {
    /// The simplified program as it was lowered, whose arrays explanations refer to.
    pub fn simplified(&self) -> &Program {
        &self.executable.fast().program
    }

    fn plan(&self) -> &Plan {
        &self.executable.fast().plan
    }

    /// The kernels of the program, what was fused into them, and what was not and why.
    pub fn explain(&self) -> Explanation {
        Explanation::new(self.plan(), &self.simplified().names)
    }

    /// The code that LLVM generates for each kernel, as IR and as assembly; or the reason why there is none.
    pub fn listing(&self) -> String {
        let mut out = String::new();
        let all = |l| {
            let launch: &prepare::Launch = l;
            [Some(launch), launch.collapsed.as_ref().map(|c| &c.launch), launch.epilogue.as_deref()]
        };
        let launches = self.plan().launches().flat_map(all).flatten();
        for kernel in launches.flat_map(|l| l.permuted.as_deref().into_iter().chain([&l.kernel])) {
            out += &format!("{kernel}\n");
            for variant in llvm::Variant::of(kernel) {
                let code = llvm::listing(kernel, variant);
                out += &format!("{variant:?}:\n{}\n", code.unwrap_or_else(|why| format!("on tiles: {why}\n")));
            }
        }
        out
    }
}

impl Backend for Native {
    type Prepared = Prepared;

    fn name(&self) -> &'static str {
        match self.0.options.compile {
            Compile::Never => "native-tile",
            Compile::Background | Compile::Now => NAME,
        }
    }

    fn explain(&self, program: &Prepared) -> String {
        program.explain().to_string()
    }

    fn cache(&self) -> &ProgramCache<Prepared> {
        fork::watch();
        if fork::is_child() { &self.0.cache_of_child } else { &self.0.cache }
    }

    fn prepare(&self, program: &Arc<Program>, limits: &RunLimits) -> Result<Prepared, Error> {
        // Reads that are not checked are slower to vectorise than checked ones: only where a check fails they are needed.
        let settings = Settings { checks: true, ..self.0.options.settings() };
        let executable = Executable::new(pipeline::NATIVE, program, &self.0.options.rules, settings, limits)?;
        let decisions = Arc::default();
        Ok(Prepared { program: program.clone(), executable: Replay::new(executable), decisions })
    }

    fn execute(&self, program: &Prepared, args: &[ArrayData], limits: &RunLimits) -> Result<Vec<ArrayData>, Error> {
        let Native(state) = self;
        let scheduled = tune::scheduled(&state.options, program, args, limits);
        let program = scheduled.as_deref().unwrap_or(program);
        let compile = state.options.compile;
        let meter = &limits.meter();
        fork::watch();
        let (threads, compile) = match &state.threads {
            _ if fork::is_child() => (ThreadPool::alone(), Compile::Never),
            Some(own) => (own, compile),
            None => (ThreadPool::global(), compile),
        };
        let run = |e: &Executable| {
            // Machine code checks all indices.
            let compile = if e.checks { compile } else { Compile::Never };
            let cx = Context { threads, memory: &state.memory, limits, meter, compile, in_order: e.in_order };
            run::run(&e.plan, args, cx).map_err(|error| match error {
                // Array numbers of the plan differ from those of the program.
                Error::Fault { fault, op, loc } => {
                    Ended::from(Error::Fault { fault: fault.in_program(&e.program), op, loc })
                }
                other => Ended::from(other),
            })
        };
        program.executable.run(run, || {
            let settings = Settings { fuse: false, ..state.options.settings() };
            Executable::new(pipeline::NATIVE_EXACT, &program.program, &Rules::none(), settings, limits)
        })
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Prepared>();
    shared::<Native>();
};
