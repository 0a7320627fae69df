//! Convolutions that are gradients of filters, by the function of libtorch that computes these (`gradient.cpp`).

use super::{Convolution, Result, begun_with_zero, joined};
use crate::torch::TorchError;
use std::ffi::{CStr, c_char};
use tch::Tensor;
use torch_sys::C_tensor;

unsafe extern "C" {
    /// See `gradient.cpp`.
    fn acc_torch_gradient_of_filters(
        gradient: *const C_tensor,
        images: *const C_tensor,
        filters: *const C_tensor,
        strides: *const i64,
        dilations: *const i64,
        zeros: *const i64,
        axes: usize,
        groups: i64,
        message: *mut c_char,
        bytes: usize,
    ) -> *mut C_tensor;
}

/// What is kept of a message of libtorch, which goes on with where it was raised.
const MAX_MESSAGE_BYTES: usize = 1024;

impl Convolution<'_> {
    /// The convolution as the gradient of the filters of another one: its windows have strides where that one has dilations, its
    /// channels are images there, and its images channels.
    ///
    /// `x` has the positions from the first to the last one that windows read.
    pub(super) fn as_gradient(&self, x: &Tensor, window: &[i64]) -> Result<Tensor> {
        let (from, of) = (self.x.size(), self.filters.size());
        let ([images, groups, channels, ..], [_, count, ..]) = (&from[..], &of[..]) else {
            return Err(TorchError::new("a convolution has images and filters"));
        };
        let positions = x.size().split_off(3);
        let x = x.f_permute(exchanged(window.len(), [2, 1, 0]))?;
        let x = x.f_reshape(joined(&[*channels, groups * images], &positions))?;
        let gradient = self.filters.f_permute(exchanged(window.len(), [2, 0, 1]))?;
        let gradient = gradient.f_reshape(joined(&[*channels, groups * count], window))?;
        let zero = Tensor::f_zeros([0i64; 0], (x.f_kind()?, x.device()))?;
        let filters = zero.f_expand(joined(&[groups * count, *images], &self.places), false)?;
        let zeros = vec![0; window.len()];
        let mut message = [0 as c_char; MAX_MESSAGE_BYTES];
        // SAFETY: the tensors live as long as the call, there are as many numbers as it is told of axes, and so many bytes for its
        // message; it does not throw.
        let y = unsafe {
            acc_torch_gradient_of_filters(
                gradient.as_ptr(),
                x.as_ptr(),
                filters.as_ptr(),
                self.dilations.as_ptr(),
                self.strides.as_ptr(),
                zeros.as_ptr(),
                zeros.len(),
                *groups,
                message.as_mut_ptr(),
                message.len(),
            )
        };
        if y.is_null() {
            // SAFETY: what `snprintf` wrote ends with 0, and the bytes were 0 before.
            let message = unsafe { CStr::from_ptr(message.as_ptr()) };
            return Err(TorchError::new(message.to_string_lossy()));
        }
        // SAFETY: a tensor that nobody else has.
        let y = begun_with_zero(unsafe { Tensor::from_ptr(y) })?;
        let y = y.f_reshape(joined(&[*groups, *count, *images], &self.places))?;
        Ok(y.f_permute(exchanged(window.len(), [2, 0, 1]))?)
    }
}

/// The axes of a tensor with the first three in this order.
fn exchanged(spatial: usize, first: [i64; 3]) -> Vec<i64> {
    first.into_iter().chain((0..spatial as i64).map(|k| 3 + k)).collect()
}
