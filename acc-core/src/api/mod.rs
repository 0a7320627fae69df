//! The typed API: combinators over [`Acc`], scalar code over [`Exp`], host [`Array`]s, running and compiling.

mod acc;
mod array;
mod class;
mod complex;
mod construct;
mod control;
mod elementwise;
mod elt;
mod exp;
mod flow;
pub mod functions;
mod ops;
mod option;
mod permute;
mod reduce;
mod reshape;
mod run;
mod shape;
mod slice;
mod stencil;

pub use acc::{Acc, Arrays, IntoAcc};
pub use array::{Array, Matrix, NdShape, Scalar, Vector};
pub use class::{Bits, ExpOrd, Floating, HasRem, Integral, Num, NumScalar};
pub use complex::complex;
pub use construct::{enum_from, enum_from_step, fill, generate, unit, use_};
pub use control::{cond, while_};
pub use elt::{Elt, ExpOf, ScalarElt};
#[doc(hidden)]
pub use exp::{ErasedExp, build_struct, erase, project};
pub use exp::{Exp, IntoExp, constant, lift};
pub use flow::{IntoTest, acond, awhile};
pub use ops::{SameWidth, bitcast};
pub use option::{none, some};
pub use permute::IntoMaybeIx;
pub use run::{AccFn, Compiled, HostArgs, Run};
pub use shape::{
    DIM0, DIM1, DIM2, DIM3, DIM4, DIM5, DIM6, DIM7, DIM8, DIM9, Dim, Extendable, IntoIx, IntoShape, IxExp, IxPart,
    Reducible, Shape, ShapeOf,
};
pub use slice::{All, Count, SlicePart, SliceSpec, TooDeep};
pub use stencil::{
    Edge, EdgeFunction, Stencil, Stencil3, Stencil3x3, Stencil3x3x3, Stencil3x3x5, Stencil3x5, Stencil3x5x3, Stencil5,
    Stencil5x3, Stencil5x3x3, Stencil5x5, Stencil5x5x5, Stencil7, Stencil7x7, Stencil9, Stencil9x9, Window1, Window2,
    Window3,
};
