//! The executors there are.

use acc_core::{Executor, Interpreter};
use backend_native::Native;
use std::sync::Arc;

/// An executor, or why it is not there.
#[derive(Clone)]
pub struct Registered {
    /// Its name in test files, messages and tables.
    pub name: &'static str,
    /// Itself.
    pub state: State,
}

/// Whether an executor can be used.
#[derive(Clone)]
pub enum State {
    /// It can.
    Present(Arc<dyn Executor>),
    /// It cannot: why, and what to do about it.
    Absent {
        /// `not built` or `not run`.
        what: &'static str,
        /// The reason, and what to run.
        why: String,
    },
}

pub use conformance_cases::REFERENCE;

/// The names of all executors, in the order of the matrix.
pub const NAMES: [&str; 6] = [REFERENCE, "native", "native-tile", "graph", "graph-cuda", "xla"];

/// Every executor, in the order of the matrix.
pub fn all() -> Vec<Registered> {
    let states = [
        State::Present(Arc::new(Interpreter::new())),
        native(),
        State::Present(Arc::new(Native::tiles())),
        graph(),
        graph_cuda(),
        xla(),
    ];
    NAMES.into_iter().zip(states).map(|(name, state)| Registered { name, state }).collect()
}

fn native() -> State {
    match backend_native::llvm::status().library {
        Some(_) => State::Present(Arc::new(Native::compiled())),
        None => {
            State::Absent { what: "not run", why: "no LLVM is found; `acc doctor` says what was tried".to_string() }
        }
    }
}

fn xla() -> State {
    match backend_xla::Xla::from_env() {
        Ok(xla) => State::Present(Arc::new(xla)),
        Err(e) => State::Absent { what: "not run", why: e.to_string() },
    }
}

#[cfg(feature = "libtorch")]
fn graph() -> State {
    State::Present(Arc::new(backend_graph::Libtorch::cpu()))
}

#[cfg(not(feature = "libtorch"))]
fn graph() -> State {
    State::Absent { what: "not built", why: NO_LIBTORCH.to_string() }
}

#[cfg(feature = "libtorch")]
fn graph_cuda() -> State {
    match backend_graph::Libtorch::new(backend_graph::Device::Cuda(0)) {
        Ok(cuda) => State::Present(Arc::new(cuda)),
        Err(_) => {
            State::Absent { what: "not run", why: "libtorch finds no CUDA device here; see docs/GRAPHS.md".to_string() }
        }
    }
}

#[cfg(not(feature = "libtorch"))]
fn graph_cuda() -> State {
    State::Absent { what: "not run", why: NO_LIBTORCH.to_string() }
}

#[cfg(not(feature = "libtorch"))]
const NO_LIBTORCH: &str = "built without libtorch; run `make setup`, then build with `--features libtorch`";

impl Registered {
    /// The executor, if it is there.
    pub fn present(&self) -> Option<&Arc<dyn Executor>> {
        match &self.state {
            State::Present(e) => Some(e),
            State::Absent { .. } => None,
        }
    }
}

/// The executors of this name, or all; the error names those there are.
pub fn select(name: Option<&str>) -> Result<Vec<Registered>, String> {
    let all = all();
    let Some(name) = name else { return Ok(all) };
    let names: Vec<&str> = all.iter().map(|r| r.name).collect();
    let names = names.join(", ");
    match all.into_iter().find(|r| r.name == name) {
        Some(r) => match &r.state {
            State::Present(_) => Ok(vec![r]),
            State::Absent { what, why } => Err(format!("the executor `{name}` is {what}: {why}")),
        },
        None => Err(format!("there is no executor `{name}`; there are: {names}")),
    }
}
