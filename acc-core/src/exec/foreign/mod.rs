//! Host functions that programs call by name.
//!
//! A program holds the name of a foreign function, and a fallback written in the language. An executor that can run
//! host functions looks the name up when it runs the program, and takes the function if it was defined with the types
//! of the call; otherwise, and on executors that cannot, the fallback runs. [`ForeignAcc`](crate::api::ForeignAcc) and
//! [`ForeignExp`](crate::api::ForeignExp) define functions.

pub mod trace;

use crate::data::{ArrayData, Leaves, Lit, ScalarType};
use crate::error::Cause;
use crate::ir::ArrayType;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// A host function of arrays; an error ends the run.
pub type ArrayFun = Arc<dyn Fn(&[ArrayData]) -> Result<Vec<ArrayData>, Cause> + Send + Sync>;

/// A host function of scalar leaves.
pub type ScalarFun = Arc<dyn Fn(&[Lit]) -> SmallVec<[Lit; 4]> + Send + Sync>;

struct Defined<T, F> {
    params: Vec<T>,
    results: Vec<T>,
    fun: F,
}

type Table<T, F> = LazyLock<RwLock<HashMap<Arc<str>, Defined<T, F>>>>;

static ARRAYS: Table<ArrayType, ArrayFun> = LazyLock::new(Default::default);
static SCALARS: Table<ScalarType, ScalarFun> = LazyLock::new(Default::default);

fn define<T, F>(table: &Table<T, F>, name: &str, params: Vec<T>, results: Vec<T>, fun: F) {
    let mut table = table.write().unwrap_or_else(PoisonError::into_inner);
    table.insert(name.into(), Defined { params, results, fun });
}

fn find<T: PartialEq, F: Clone>(table: &Table<T, F>, name: &str, params: &[T], results: &[T]) -> Option<F> {
    let table = table.read().unwrap_or_else(PoisonError::into_inner);
    let defined = table.get(name)?;
    (defined.params == params && defined.results == results).then(|| defined.fun.clone())
}

pub(crate) fn define_arrays(name: &str, params: Vec<ArrayType>, results: Vec<ArrayType>, fun: ArrayFun) {
    define(&ARRAYS, name, params, results, fun);
}

pub(crate) fn define_scalars(name: &str, params: Leaves, results: Leaves, fun: ScalarFun) {
    define(&SCALARS, name, params.to_vec(), results.to_vec(), fun);
}

/// The function of arrays defined under a name with these types, if there is one.
pub fn arrays(name: &str, params: &[ArrayType], results: &[ArrayType]) -> Option<ArrayFun> {
    find(&ARRAYS, name, params, results)
}

/// The function of scalars defined under a name with these types, if there is one.
pub fn scalars(name: &str, params: &[ScalarType], results: &[ScalarType]) -> Option<ScalarFun> {
    find(&SCALARS, name, params, results)
}
