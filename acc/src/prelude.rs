//! What programs import: `use acc_array::prelude::*;`.
//!
//! Types and functions that most programs name. Traits that programs use for their methods alone are here without a
//! name, so that no type of yours collides with one; the modules of this crate have everything by family.

pub use crate::array::{Acc, All, Any, Array, Arrays, DIM0, DIM1, DIM2, Dim, Matrix, Over, Scalar, Shape, Vector};
pub use crate::array::{enum_from, enum_from_step, fill, generate, unit, use_};
pub use crate::control::{acond, afor, aiterate, awhile, cond, iterate, while_};
pub use crate::element::{Complex, Either, Elt, complex, f16, left, none, right, some};
pub use crate::network::Windows;
pub use crate::scalar::{Exp, ExpOf, IntoExp, constant, lift, pi};
pub use crate::stencil::{Edge, Stencil3, Stencil3x3, Stencil5, Stencil5x5, Window1, Window2, Window3};
pub use crate::{CancelToken, Error, Interpreter, RunLimits};

#[cfg(feature = "native")]
#[cfg_attr(docsrs, doc(cfg(feature = "native")))]
pub use crate::{Native, compile, run};

#[cfg(feature = "libtorch")]
#[cfg_attr(docsrs, doc(cfg(feature = "libtorch")))]
pub use crate::Libtorch;

// For their methods.
pub use crate::Run as _;
#[cfg(feature = "graph")]
pub use crate::graph::{Export as _, HasGraph as _};
pub use acc_core::api::{
    ArrayOperand as _, Bits as _, Bounded as _, ExpEq as _, ExpOrd as _, Extendable as _, Extremes as _, Floating as _,
    Fractional as _, FromScalar as _, Functor as _, HasRem as _, HostArgs as _, Integral as _, IntoAcc as _,
    IntoIx as _, IntoMaybeIx as _, IntoShape as _, IntoTest as _, Match as _, Monoid as _, NdShape as _, Num as _,
    NumScalar as _, RealFloat as _, RealFrac as _, Reducible as _, ReplicateSpec as _, SameWidth as _, ScalarElt as _,
    Semigroup as _, Signed as _, SliceSpec as _, Stencil as _, SumElt as _,
};
