//! The typed API: combinators over [`Acc`], scalar code over [`Exp`], host [`Array`]s, running and compiling.

mod arrays;
mod derivatives;
mod elements;
pub mod functions;
mod host;
mod named;
mod networks;
mod scalars;
mod schedule;
mod tensor;
mod types;

pub use arrays::arithmetic::ArrayOperand;
pub use arrays::construct::{enum_from, enum_from_step, fill, generate, unit, use_};
pub use arrays::control::{IntoTest, acond, afor, aiterate, awhile};
pub use arrays::permute::IntoMaybeIx;
pub use arrays::random::{Words, philox, random_f32, random_f64, random_normal, random_u32, random_u64};
pub use arrays::reduce::combined_fold::Fold;
pub use arrays::reduce::over::{FoldPart, FoldSpec, Over};
pub use arrays::reduce::segments::Segments;
pub use arrays::stencil::{
    Edge, EdgeFunction, Stencil, Stencil3, Stencil3x3, Stencil3x3x3, Stencil3x3x5, Stencil3x5, Stencil3x5x3,
    Stencil3x5x5, Stencil3x7, Stencil3x9, Stencil5, Stencil5x3, Stencil5x3x3, Stencil5x3x5, Stencil5x5, Stencil5x5x3,
    Stencil5x5x5, Stencil5x7, Stencil5x9, Stencil7, Stencil7x3, Stencil7x5, Stencil7x7, Stencil7x9, Stencil9,
    Stencil9x3, Stencil9x5, Stencil9x7, Stencil9x9, Window1, Window2, Window3,
};
pub use arrays::windows::layout::{Images, PerAxis, Windows};
pub use derivatives::check::{GradError, GradReport, Worst, check_grad, check_grad_of};
pub use derivatives::fixpoint::fixpoint;
pub use derivatives::grad::{grad, hvp, value_and_grad};
pub use derivatives::modes::{Linear, Pullback, jvp, linearize, vjp};
pub use derivatives::partials::with_partials;
pub use derivatives::rules::{checkpoint, with_jvp, with_vjp};
pub use derivatives::scalars::deriv;
pub use derivatives::tangent::{Diff, HasFloat, Point, Real, Smooth, TangentElt, TangentOf};
pub use elements::complex::{Part, cis, complex, mk_polar};
pub use elements::complex_functions::ComplexPart;
pub use elements::either::{left, right};
pub use elements::functor::Functor;
pub use elements::monoid::{Monoid, Semigroup, mempty};
pub use elements::monoid_wrappers::{Max, Min, Product, Sum, max_, min_, product_, sum_};
#[doc(hidden)]
pub use elements::option::write_zeros;
pub use elements::option::{none, some};
pub use elements::ratio::{Ratio, Rational, ratio, ratio_raw};
pub use elements::simd::{Simd, simd};
#[doc(hidden)]
pub use elements::sum_type::tag_is;
pub use elements::sum_type::{Match, SumElt};
pub use host::foreign::{ForeignAcc, ForeignError, ForeignExp, foreign_acc, foreign_exp, pipe};
#[cfg(feature = "npy")]
pub use host::npy;
pub use host::pending::Pending;
pub use host::run::{AccFn, Compiled, HostArgs, Run};
pub use named::accumulate::{Out, accumulate};
pub use named::array::{Flat, Named, NamedArray, Split};
#[doc(hidden)]
pub use named::axis::Name;
pub use named::axis::{Axes, Axis, Indices, Pair};
pub use named::each::{each, each_of};
pub use named::fold::{all, any, least, least_at, most, most_at, total};
#[doc(hidden)]
pub use named::index::Place;
pub use named::index::{Index, Ix};
pub use networks::optimisers::{Adam, Parameters, momentum_step, sgd_step};
pub use scalars::bits::{Bits, bit, zero_bits};
pub use scalars::bounded::{Bounded, max_value, min_value};
pub use scalars::compare::{ExpEq, ExpOrd};
pub use scalars::control::{cond, iterate, while_};
pub use scalars::floating::{Floating, from_rational, pi};
pub use scalars::operators::{FromScalar, SameWidth, bitcast};
pub use scalars::real_float::{RealFloat, encode_float};
pub use scalars::rounding::RealFrac;
pub use schedule::{LoopVar, Nest, Schedule};
#[doc(hidden)]
pub use tensor::{tensor_operand, tensor_scope};
pub use types::acc::{Acc, AccOf, Arrays, IntoAcc};
pub use types::array::{Array, Matrix, NdShape, Scalar, Vector};
pub use types::class::{Extremes, Fractional, HasRem, Integral, Num, NumScalar, Signed};
pub use types::elt::{Elt, ExpOf, ScalarElt};
#[doc(hidden)]
pub use types::exp::{ErasedExp, build_struct, erase, erase_zero, project};
pub use types::exp::{Exp, IntoExp, coerce, constant, lift, undef};
pub use types::index::{
    from_index, index_head, index_tail, index0, index1, index2, index3, intersect, shape_size, to_index, unindex1,
    unindex2, unindex3,
};
pub use types::shape::{
    DIM0, DIM1, DIM2, DIM3, DIM4, DIM5, DIM6, DIM7, DIM8, DIM9, Dim, Extendable, IntoIx, IntoShape, IxExp, IxPart,
    RankOne, RankZero, Reducible, Shape, ShapeOf,
};
pub use types::slice::{All, Any, Count, NoRank, ReplicateSpec, SlicePart, SliceParts, SliceSpec};
#[doc(hidden)]
pub use types::struct_of_arrays::{ErasedAcc, build_arrays, component, embedded, erase_acc};
