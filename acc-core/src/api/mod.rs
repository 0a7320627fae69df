//! The typed API: combinators over [`Acc`], scalar code over [`Exp`], host [`Array`]s, running and compiling.

mod acc;
mod arithmetic;
mod array;
mod axis;
mod bits;
mod bounded;
mod class;
mod compare;
mod complex;
mod complex_functions;
mod construct;
mod control;
mod either;
mod elementwise;
mod elt;
mod exp;
mod filter;
mod floating;
mod flow;
mod fold;
mod foreign;
pub mod functions;
mod functor;
mod host;
mod index;
mod integral;
mod mixed;
mod monoid;
mod neighbours;
#[cfg(feature = "npy")]
pub mod npy;
mod ops;
mod option;
mod ordering;
mod pending;
mod permute;
mod random;
mod ratio;
mod real;
mod reduce;
mod reshape;
mod run;
mod segments;
mod shape;
mod simd;
mod slice;
mod sort;
mod stencil;
mod sum;
mod wrappers;

pub use acc::{Acc, AccOf, Arrays, IntoAcc};
pub use arithmetic::ArrayOperand;
pub use array::{Array, Matrix, NdShape, Scalar, Vector};
pub use bits::{Bits, bit, zero_bits};
pub use bounded::{Bounded, max_value, min_value};
pub use class::{Extremes, Fractional, HasRem, Integral, Num, NumScalar, Signed};
pub use compare::{ExpEq, ExpOrd};
pub use complex::{Part, cis, complex, mk_polar};
pub use complex_functions::ComplexPart;
pub use construct::{enum_from, enum_from_step, fill, generate, unit, use_};
pub use control::{cond, iterate, while_};
pub use either::{left, right};
pub use elt::{Elt, ExpOf, ScalarElt};
#[doc(hidden)]
pub use exp::{ErasedExp, build_struct, erase, erase_zero, project};
pub use exp::{Exp, IntoExp, coerce, constant, lift, undef};
pub use floating::{Floating, from_rational, pi};
pub use flow::{IntoTest, acond, awhile};
pub use fold::Fold;
pub use foreign::{ForeignAcc, ForeignError, ForeignExp, foreign_acc, foreign_exp, pipe};
pub use functor::Functor;
pub use index::{
    from_index, index_head, index_tail, index0, index1, index2, index3, intersect, shape_size, to_index, unindex1,
    unindex2, unindex3,
};
pub use monoid::{Monoid, Semigroup, mempty};
pub use ops::{FromScalar, SameWidth, bitcast};
#[doc(hidden)]
pub use option::write_zeros;
pub use option::{none, some};
pub use pending::Pending;
pub use permute::IntoMaybeIx;
pub use random::{Words, philox, random_f32, random_f64, random_normal, random_u32, random_u64};
pub use ratio::{Ratio, Rational, ratio, ratio_raw};
pub use real::{RealFloat, RealFrac, encode_float};
pub use run::{AccFn, Compiled, HostArgs, Run};
pub use segments::Segments;
pub use shape::{
    DIM0, DIM1, DIM2, DIM3, DIM4, DIM5, DIM6, DIM7, DIM8, DIM9, Dim, Extendable, IntoIx, IntoShape, IxExp, IxPart,
    RankOne, RankZero, Reducible, Shape, ShapeOf,
};
pub use simd::{Simd, simd};
pub use slice::{All, Any, Count, NoRank, ReplicateSpec, SlicePart, SliceParts, SliceSpec};
pub use stencil::{
    Edge, EdgeFunction, Stencil, Stencil3, Stencil3x3, Stencil3x3x3, Stencil3x3x5, Stencil3x5, Stencil3x5x3,
    Stencil3x5x5, Stencil3x7, Stencil3x9, Stencil5, Stencil5x3, Stencil5x3x3, Stencil5x3x5, Stencil5x5, Stencil5x5x3,
    Stencil5x5x5, Stencil5x7, Stencil5x9, Stencil7, Stencil7x3, Stencil7x5, Stencil7x7, Stencil7x9, Stencil9,
    Stencil9x3, Stencil9x5, Stencil9x7, Stencil9x9, Window1, Window2, Window3,
};
#[doc(hidden)]
pub use sum::tag_is;
pub use sum::{Match, SumElt};
pub use wrappers::{Max, Min, Product, Sum, max_, min_, product_, sum_};
