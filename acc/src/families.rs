//! The names of the API, by family.

/// Arrays: their types, construction, shapes and parts of them.
pub mod array {
    pub use acc_core::FacadeArrays as Arrays;
    pub use acc_core::api::{
        Acc, AccOf, All, Any, Array, ArrayOperand, Arrays, Count, DIM0, DIM1, DIM2, DIM3, DIM4, DIM5, DIM6, DIM7, DIM8,
        DIM9, Dim, Extendable, FoldPart, FoldSpec, HostArgs, IntoAcc, IntoIx, IntoMaybeIx, IntoShape, IxExp, IxPart,
        Matrix, NdShape, NoRank, Over, Reducible, ReplicateSpec, Scalar, Segments, Shape, ShapeOf, SlicePart,
        SliceParts, SliceSpec, Vector, enum_from, enum_from_step, fill, from_index, generate, index_head, index_tail,
        index0, index1, index2, index3, intersect, shape_size, to_index, unindex1, unindex2, unindex3, unit, use_,
    };
    pub use acc_core::{einsum, tensor};
}

/// Scalar expressions: numbers, comparisons, bits, conversions.
pub mod scalar {
    pub use acc_core::api::{
        Bits, Bounded, Exp, ExpEq, ExpOf, ExpOrd, Extremes, Floating, Fractional, FromScalar, HasRem, Integral,
        IntoExp, Num, NumScalar, RealFloat, RealFrac, SameWidth, ScalarElt, Signed, bit, bitcast, coerce, constant,
        encode_float, from_rational, lift, max_value, min_value, pi, undef, zero_bits,
    };
}

/// Element types beyond plain numbers: structs and enums of your own, complex numbers, fractions, options, short vectors,
/// and the wrappers that are monoids.
pub mod element {
    pub use crate::Elt;
    pub use acc_core::api::{
        Fold, Functor, Match, Max, Min, Monoid, Part, Product, Ratio, Rational, Semigroup, Simd, Sum, SumElt, cis,
        complex, left, max_, mempty, min_, mk_polar, none, product_, ratio, ratio_raw, right, simd, some, sum_,
    };
    pub use acc_core::prelude::{Complex, Either, f16};
}

/// Schedules: the loops by which the native executor computes an array.
pub mod schedule {
    pub use acc_core::api::{LoopVar, Nest, Schedule};
}

/// Branches and loops: of scalars, `cond` and `while_`; of arrays, `acond`, `awhile` and counted loops.
pub mod control {
    pub use acc_core::api::{IntoTest, acond, afor, aiterate, awhile, cond, iterate, pipe, while_};
}

/// Derivatives: of losses `grad`, of functions of arrays `jvp` and `vjp`, of scalars `deriv`.
pub mod derivative {
    pub use acc_core::api::{
        Diff, GradError, GradReport, HasFloat, Linear, Point, Pullback, Real, Smooth, TangentElt, TangentOf, Worst,
        check_grad, check_grad_of, checkpoint, deriv, fixpoint, grad, hvp, jvp, linearize, value_and_grad, vjp,
        with_jvp, with_partials, with_vjp,
    };
}

/// Stencils: windows and what lies beyond the edges.
pub mod stencil {
    pub use acc_core::api::{
        Edge, EdgeFunction, Stencil, Stencil3, Stencil3x3, Stencil3x3x3, Stencil3x3x5, Stencil3x5, Stencil3x5x3,
        Stencil3x5x5, Stencil3x7, Stencil3x9, Stencil5, Stencil5x3, Stencil5x3x3, Stencil5x3x5, Stencil5x5,
        Stencil5x5x3, Stencil5x5x5, Stencil5x7, Stencil5x9, Stencil7, Stencil7x3, Stencil7x5, Stencil7x7, Stencil7x9,
        Stencil9, Stencil9x3, Stencil9x5, Stencil9x7, Stencil9x9, Window1, Window2, Window3,
    };
}

/// Arrays with named axes: programs of indices, checked by name.
pub mod named {
    pub use acc_core::api::{
        Axes, Axis, Flat, Index, Indices, Ix, Named, NamedArray, Out, Pair, Split, accumulate, all, any, each, each_of,
        least, least_at, most, most_at, total,
    };
    pub use acc_core::axes;
}

/// What networks are made of beside products: windows of convolutions and pooling, steps of optimisers.
pub mod network {
    pub use acc_core::api::{Adam, Images, Parameters, PerAxis, Windows, momentum_step, sgd_step};
}

/// Random numbers by a counter (Philox 4x32-10): the same on every executor, in any shape.
pub mod random {
    pub use acc_core::api::{Words, philox, random_f32, random_f64, random_normal, random_u32, random_u64};
}

/// Host functions that programs call.
pub mod foreign {
    pub use acc_core::api::{ForeignAcc, ForeignError, ForeignExp, foreign_acc, foreign_exp};
    pub use acc_core::foreign::trace;
}

/// Accelerate's way of writing: combinators as free functions, arguments in its order.
pub mod haskell {
    pub use acc_core::api::functions::*;
}

/// NumPy's files: `.npy` and `.npz`.
#[cfg(feature = "npy")]
#[cfg_attr(docsrs, doc(cfg(feature = "npy")))]
pub mod npy {
    pub use acc_core::api::npy::*;
}
