//! Operations that take numbers of the host.
//!
//! tch panics where a call that takes a number fails, since it drops the number before it looks at the error. Here such a
//! call takes no memory that could be refused: a number becomes a tensor of rank 0, the result is made before, or there is
//! certainly room for it ([`memory::with_room`]). All else that a call could fail for is known to hold.

use super::{TorchError, memory};
use tch::{Device, Kind, Scalar, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// A number as a tensor of rank 0 of a kind. On the CPU, which operations on any device take.
pub(super) fn number(n: impl Into<Scalar>, kind: Kind) -> Result<Tensor> {
    Ok(Tensor::f_scalar_tensor(n, (kind, Device::Cpu))?)
}

/// A number at each place of a shape.
pub(super) fn full(shape: &[i64], n: impl Into<Scalar>, (kind, device): (Kind, Device)) -> Result<Tensor> {
    let mut all = Tensor::f_empty(shape, (kind, device))?;
    Ok(all.f_fill_tensor_(&number(n, kind)?)?)
}

/// The numbers from `start` to before `end`, `step` apart, of which there are `len`.
pub(super) fn range(len: i64, [start, end, step]: [i64; 3], options: (Kind, Device)) -> Result<Tensor> {
    memory::with_room(&[len], options, || Ok(Tensor::f_arange_start_step(start, end, step, options)?))
}

macro_rules! with_tensors {
    ($($(#[$doc:meta])* $name:ident = $call:ident),* $(,)?) => {
        /// Operations with a number, which has the kind of the tensor.
        pub(super) trait WithNumber {
            $($(#[$doc])* fn $name(&self, n: impl Into<Scalar>) -> Result<Tensor>;)*
            /// The tensor with a number where the mask is true.
            fn fill_number(&self, mask: &Tensor, n: impl Into<Scalar>) -> Result<Tensor>;
            /// Numbers between two, in a new tensor or in `out`.
            fn clamped<S: Into<Scalar>>(&self, low: S, high: S, out: Option<&Tensor>) -> Result<Tensor>;
        }

        impl WithNumber for Tensor {
            $(fn $name(&self, n: impl Into<Scalar>) -> Result<Tensor> {
                Ok(self.$call(&number(n, self.f_kind()?)?)?)
            })*

            fn fill_number(&self, mask: &Tensor, n: impl Into<Scalar>) -> Result<Tensor> {
                Ok(self.f_masked_fill_tensor(mask, &number(n, self.f_kind()?)?)?)
            }

            fn clamped<S: Into<Scalar>>(&self, low: S, high: S, out: Option<&Tensor>) -> Result<Tensor> {
                let out = match out {
                    Some(out) => out.shallow_clone(),
                    None => self.f_empty_like()?,
                };
                Ok(self.f_clamp_out(&out, low, high)?)
            }
        }
    };
}

with_tensors! {
    add_number = f_add,
    sub_number = f_sub,
    mul_number = f_mul,
    max_number = f_maximum,
    min_number = f_minimum,
    and_number = f_bitwise_and_tensor,
    or_number = f_bitwise_or_tensor,
    xor_number = f_bitwise_xor_tensor,
    shl_number = f_bitwise_left_shift,
    shr_number = f_bitwise_right_shift,
    eq_number = f_eq_tensor,
    ne_number = f_ne_tensor,
    lt_number = f_lt_tensor,
    le_number = f_le_tensor,
    gt_number = f_gt_tensor,
    ge_number = f_ge_tensor,
}
