//! What `#[derive(Arrays)]` writes refers to.

use crate::api::derivatives::parts::rebuild;
use crate::api::{Acc, Arrays, IntoAcc};
use crate::builder::{AccOp, AccRef, AccType};
use crate::ir::Loc;

/// A field of a struct of arrays.
#[doc(hidden)]
#[track_caller]
pub fn component<S: Arrays, F: Arrays>(of: &Acc<S>, i: usize) -> F::Acc {
    let node = match &of.node.op {
        AccOp::Tuple(parts) => parts[i].clone(),
        _ => AccRef::new(AccOp::Proj(of.node.clone(), i), F::ty(), Loc::caller()),
    };
    Acc::<F>::raw(node).unlift()
}

/// A field on its way into a struct of arrays.
#[doc(hidden)]
pub struct ErasedAcc(AccRef);

#[doc(hidden)]
#[track_caller]
pub fn erase_acc<F: Arrays>(x: F::Acc) -> ErasedAcc {
    ErasedAcc(x.into_acc().node)
}

#[doc(hidden)]
#[track_caller]
pub fn build_arrays<S: Arrays>(fields: Vec<ErasedAcc>) -> Acc<S> {
    Acc::new(AccOp::Tuple(fields.into_iter().map(|f| f.0).collect()), Loc::caller())
}

/// A host value as a program, as by [`use_`](crate::api::use_) array by array.
#[doc(hidden)]
#[track_caller]
pub fn embedded<S: Arrays>(host: &S) -> Acc<S> {
    let loc = Loc::caller();
    let mut parts = Vec::new();
    host.push_parts(&mut parts);
    let types = S::ty();
    let arrays = types.leaves().into_iter().zip(parts);
    let mut arrays = arrays.map(|(ty, data)| AccRef::new(AccOp::Use(data), AccType::Array(ty.clone()), loc.clone()));
    Acc::raw(rebuild(&S::ty(), &mut arrays, &loc))
}
