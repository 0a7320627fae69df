//! Convolutions of other shapes than that of the paper's network, and pools, beside those of libtorch.

use crate::papers::{array, both, singles};
use crate::row::{Facts, PAPER, row};
use crate::thesis::{Rows, table};
use acc_core::prelude::*;
use tch::Tensor;

type Images = Acc<Array<Dim<4>, f32>>;

/// A convolution with zeros around the images, so many before and after each axis.
fn by_hand(x: &Tensor, w: &Tensor, around: [i64; 2], stride: i64, groups: i64) -> Vec<Tensor> {
    let [before, after] = around;
    let x = x.constant_pad_nd([before, after, before, after].as_slice());
    vec![x.conv2d(w, None::<&Tensor>, [stride; 2].as_slice(), [0i64; 2].as_slice(), [1i64; 2].as_slice(), groups)]
}

/// All rows: of so many images.
pub(crate) fn rows() -> Rows {
    let mut out: Rows = Vec::new();
    table! { out, [8];
        PAPER, "convolution, 3x3, 16 to 32 channels", 1e-4, |n| { let (x, a) = array!(singles, n, 16usize, 64usize, 64usize; -1.0, 1.0); let (w, b) = array!(singles, 32usize, 16usize, 3usize, 3usize; -1.0, 0.9); }
            |x: Images, w: Images| x.conv(w, Windows::valid()), (x, w), move || by_hand(&a, &b, [0, 0], 1, 1);
        PAPER, "convolution, 3x3, stride 2, same", 1e-4, |n| { let (x, a) = array!(singles, n, 16usize, 64usize, 64usize; -1.0, 1.0); let (w, b) = array!(singles, 32usize, 16usize, 3usize, 3usize; -1.0, 0.9); }
            |x: Images, w: Images| x.conv(w, Windows::same().stride(2)), (x, w), move || by_hand(&a, &b, [0, 1], 2, 1);
        PAPER, "convolution, 3x3, 64 to 64 channels, same", 1e-4, |n| { let (x, a) = array!(singles, n, 64usize, 56usize, 56usize; -1.0, 1.0); let (w, b) = array!(singles, 64usize, 64usize, 3usize, 3usize; -1.0, 0.9); }
            |x: Images, w: Images| x.conv(w, Windows::same()), (x, w), move || by_hand(&a, &b, [1, 1], 1, 1);
        PAPER, "convolution, 3x3, depthwise of 64, same", 1e-4, |n| { let (x, a) = array!(singles, n, 64usize, 56usize, 56usize; -1.0, 1.0); let (w, b) = array!(singles, 64usize, 1usize, 3usize, 3usize; -1.0, 0.9); }
            |x: Images, w: Images| x.conv_grouped(w, 64, Windows::same()), (x, w), move || by_hand(&a, &b, [1, 1], 1, 64);
        PAPER, "convolution, 3x3, 4 groups of 16, same", 1e-4, |n| { let (x, a) = array!(singles, n, 64usize, 28usize, 28usize; -1.0, 1.0); let (w, b) = array!(singles, 64usize, 16usize, 3usize, 3usize; -1.0, 0.9); }
            |x: Images, w: Images| x.conv_grouped(w, 4, Windows::same()), (x, w), move || by_hand(&a, &b, [1, 1], 1, 4);
        PAPER, "convolution, 4x4 transposed, stride 2", 1e-4, |n| { let (x, a) = array!(singles, n, 32usize, 28usize, 28usize; -1.0, 1.0); let (w, b) = array!(singles, 32usize, 16usize, 4usize, 4usize; -1.0, 0.9); }
            |x: Images, w: Images| x.conv_transposed(w, Windows::padded([(1, 1), (1, 1)]).stride(2)), (x, w),
            move || vec![a.conv_transpose2d(&b, None::<&Tensor>, [2i64; 2].as_slice(), [1i64; 2].as_slice(), [0i64; 2].as_slice(), 1, [1i64; 2].as_slice())];
        PAPER, "convolution, 1x1, 64 to 128 channels", 1e-4, |n| { let (x, a) = array!(singles, n, 64usize, 56usize, 56usize; -1.0, 1.0); let (w, b) = array!(singles, 128usize, 64usize, 1usize, 1usize; -1.0, 0.9); }
            |x: Images, w: Images| x.conv(w, Windows::valid()), (x, w), move || by_hand(&a, &b, [0, 0], 1, 1);
        PAPER, "maxima of 2x2, stride 2", 0.0, |n| { let (x, a) = array!(singles, n, 64usize, 56usize, 56usize; -1.0, 1.0); }
            |x: Images| x.max_pool(2, Windows::valid().stride(2)), (x,), move || vec![a.max_pool2d([2i64; 2].as_slice(), [2i64; 2].as_slice(), [0i64; 2].as_slice(), [1i64; 2].as_slice(), false)];
        PAPER, "maxima of 3x3, same", 0.0, |n| { let (x, a) = array!(singles, n, 64usize, 56usize, 56usize; -1.0, 1.0); }
            |x: Images| x.max_pool(3, Windows::same()), (x,), move || vec![a.max_pool2d([3i64; 2].as_slice(), [1i64; 2].as_slice(), [1i64; 2].as_slice(), [1i64; 2].as_slice(), false)];
    }
    out
}
