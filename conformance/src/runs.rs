//! Running: once and many times, at once and one after the other, within limits.

use acc_core::api::Run;
use acc_core::prelude::*;
use acc_core::{Backend, LimitError};
use conformance_cases::cases::{Case, Check, case};
use std::time::{Duration, Instant};

/// What to do with an executor of a known type.
trait WithBackend {
    fn run<B: Backend>(self, t: &mut Check<'_>, backend: B);
}

/// Calls `f` with the executor under test.
fn with_backend(t: &mut Check<'_>, f: impl WithBackend) {
    match t.executor_name() {
        "interpreter" => f.run(t, acc_core::Interpreter::new()),
        "native" => f.run(t, backend_native::Native::compiled()),
        "native-tile" => f.run(t, backend_native::Native::tiles()),
        #[cfg(feature = "libtorch")]
        "graph" => f.run(t, backend_graph::Libtorch::cpu()),
        #[cfg(feature = "libtorch")]
        "graph-cuda" => match backend_graph::Libtorch::new(backend_graph::Device::Cuda(0)) {
            Ok(cuda) => f.run(t, cuda),
            Err(e) => t.check(false, &e.to_string()),
        },
        "xla" => match backend_xla::Xla::from_env() {
            Ok(xla) => f.run(t, xla),
            Err(e) => t.check(false, &e.to_string()),
        },
        other => t.check(false, &format!("the cases of runs do not know the executor {other}")),
    }
}

/// A case whose checks need the executor's type.
macro_rules! backend_case {
    ($name:literal, $rows:literal, |$t:ident, $backend:ident| $body:block) => {
        case($name, $rows, |t| {
            struct Checks;
            impl WithBackend for Checks {
                fn run<B: Backend>(self, $t: &mut Check<'_>, $backend: B) $body
            }
            with_backend(t, Checks);
            t.shape(fill((0, 2), 1), [0, 2]);
        })
    };
}

/// Never ends.
fn endless() -> Acc<Scalar<i64>> {
    awhile(unit(0i64), |_| lift(true), |i| i.map(|i| i + 1))
}

fn stopped<A>(result: Result<A, Error>) -> Option<LimitError> {
    match result {
        Err(Error::Limit(e)) => Some(e),
        Ok(_) | Err(_) => None,
    }
}

/// The cases of running: those that need an executor's own type.
pub fn cases() -> Vec<Case> {
    vec![
        backend_case!("runs/run", "RUN-01 TYP-01 TYP-02 TYP-04 TYP-05", |t, backend| {
            let xs = Vector::from([1, 2, 3]);
            t.equal(backend.run(use_(&xs).map(|x| x * 2)), Ok(Vector::from([2, 4, 6])));
            t.equal(backend.run(fill(0, 1)), Ok(Vector::from([0; 0])));
            let compiled = Backend::cache(&backend).compiled();
            t.equal(backend.run(use_(&Vector::from([5])).map(|x| x * 2)), Ok(Vector::from([10])));
            t.equal(Backend::cache(&backend).compiled(), compiled);
        }),
        backend_case!("runs/run1-runN", "RUN-02 RUN-03 TYP-04 TYP-05", |t, backend| {
            let Ok(f) = backend.compile(|xs: Acc<Vector<i32>>| xs.sum()) else {
                return t.check(false, "the function compiles");
            };
            t.equal(f.call((&Vector::from([1, 2]),)), Ok(Scalar::scalar(3)));
            t.equal(f.call((Vector::from([0; 0]),)), Ok(Scalar::scalar(0)));
            let g = backend.compile(|xs: Acc<Vector<i32>>, k: Acc<Scalar<i32>>, ys: Acc<Vector<i32>>| {
                xs.zip_with(&ys, |x, y| x * &k + y)
            });
            let args = (&Vector::from([1, 2]), &Scalar::scalar(10), &Vector::from([3, 4, 5]));
            t.equal(g.and_then(|g| g.call(args)), Ok(Vector::from([13, 24])));
        }),
        case("runs/runWith-an-executor", "RUN-04 RUN-09", |t| {
            let program = || use_(&Vector::from([1, 2, 3])).map(|x| x + 1).sum();
            t.gives(program(), Scalar::scalar(9));
            let threads = backend_native::Native::with_threads(2).and_then(|two| two.run(program()));
            t.equal(threads, Ok(Scalar::scalar(9)));
            #[cfg(feature = "libtorch")]
            t.equal(
                backend_graph::Libtorch::new(backend_graph::Device::Cpu).and_then(|cpu| cpu.run(program())),
                Ok(Scalar::scalar(9)),
            );
            t.shape(fill(0, 1), [0]);
        }),
        backend_case!("runs/stream", "RUN-05", |t, backend| {
            let Ok(f) = backend.compile(|xs: Acc<Vector<i64>>| xs.map(|x| x + 1)) else {
                return t.check(false, "the function compiles");
            };
            // Of endless inputs as many are taken as results are asked for.
            let mut taken = 0;
            let inputs = std::iter::repeat_with(|| {
                taken += 1;
                (Vector::from(vec![taken; (taken - 1) as usize]),)
            });
            let results: Vec<_> = f.stream(inputs).take(3).collect();
            t.equal(results, vec![Ok(Vector::from([0i64; 0])), Ok(Vector::from([3])), Ok(Vector::from([4, 4]))]);
            t.equal(taken, 3);
        }),
        backend_case!("runs/async", "RUN-06 RUN-07", |t, backend| {
            let xs = Vector::from([1, 2, 3]);
            let pending: Vec<_> = (0..4).map(|k| backend.run_async(use_(&xs).map(|x| x * k))).collect();
            for (k, run) in pending.into_iter().enumerate() {
                t.equal(run.and_then(|run| run.wait()), Ok(xs.iter().map(|x| x * k as i32).collect()));
            }
            let call = backend.compile(|xs: Acc<Vector<i32>>| xs.sum()).and_then(|f| f.call_async((&xs,)));
            t.equal(call.and_then(|run| run.wait()), Ok(Scalar::scalar(6)));
            // A fault is the run's result, a program that cannot be built an error at once.
            let fault = backend.run_async(use_(&xs).map(|x| x / 0)).and_then(|run| run.wait());
            t.check(matches!(fault, Err(Error::Fault { .. })), "the fault is the result");
            let escaped = use_(&xs);
            let wrong = backend.run_async(escaped.map(|x| escaped.map(|y| x + y).sum().the()));
            t.check(matches!(wrong, Err(Error::Build(_))), "nested parallelism is an error at once");
        }),
        backend_case!("runs/poll-and-cancel", "RUN-07 E-CF-13", |t, backend| {
            let Ok(mut run) = backend.run_async(endless()) else { return t.check(false, "the run starts") };
            t.check(run.poll().is_none(), "an endless run has no result");
            run.cancel();
            let asked = Instant::now();
            while run.poll().is_none() && asked.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
            t.check(run.poll().is_some(), "a cancelled run ends");
            t.equal(stopped(run.wait()), Some(LimitError::Cancelled));
            let Ok(mut run) = backend.run_async(unit(5)) else { return t.check(false, "the run starts") };
            while run.poll().is_none() {
                std::thread::yield_now();
            }
            t.equal(run.poll().cloned(), Some(Ok(Scalar::scalar(5))));
            t.equal(run.wait(), Ok(Scalar::scalar(5)));
        }),
        backend_case!("runs/E-CF-13-a-deadline", "E-CF-13", |t, backend| {
            let deadline = Some(Instant::now() + Duration::from_millis(50));
            let limits = RunLimits::none().deadline(deadline);
            t.equal(stopped(backend.run_with(endless(), &limits)), Some(LimitError::Deadline));
            let Ok(run) = backend.run_async_with(endless(), &limits) else { return t.check(false, "the run starts") };
            t.equal(stopped(run.wait()), Some(LimitError::Deadline));
            let token = CancelToken::new();
            let limits = RunLimits::none().cancel(token.clone());
            let Ok(run) = backend.run_async_with(endless(), &limits) else { return t.check(false, "the run starts") };
            token.cancel();
            t.equal(stopped(run.wait()), Some(LimitError::Cancelled));
        }),
    ]
}
