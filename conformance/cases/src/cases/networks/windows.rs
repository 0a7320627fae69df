//! Convolutions, pooling and patches against loops over host arrays.

use super::{Case, case, gradient, host, numbers};
use acc_core::prelude::*;

/// Along an axis: its extent, the window's, the stride, the dilation, and the margins before and after it.
#[derive(Clone, Copy)]
struct Line {
    n: usize,
    window: usize,
    stride: usize,
    dilation: usize,
    low: usize,
    high: usize,
}

impl Line {
    fn count(self) -> usize {
        let reach = (self.window - 1) * self.dilation + 1;
        (self.n + self.low + self.high + 1).checked_sub(reach).map_or(0, |fit| fit.div_ceil(self.stride))
    }
    /// The position of an element of a window, if it is inside.
    fn at(self, window: usize, element: usize) -> Option<usize> {
        (window * self.stride + element * self.dilation).checked_sub(self.low).filter(|p| *p < self.n)
    }
    fn same(self) -> Line {
        let count = self.n.div_ceil(self.stride);
        let needed = (count - 1) * self.stride + (self.window - 1) * self.dilation + 1;
        let missing = needed.saturating_sub(self.n);
        Line { low: missing / 2, high: missing - missing / 2, ..self }
    }
}

type Images4 = Array<Dim<4>, i64>;

fn images(shape: (usize, usize, usize, usize)) -> Images4 {
    let size = shape.0 * shape.1 * shape.2 * shape.3;
    host(shape, (0..size as i64).map(|k| (k * k * 7 + k) % 23 - 11))
}

/// The convolution by its definition.
fn convolved(x: &Images4, k: &Images4, groups: usize, [y, z]: [Line; 2]) -> Images4 {
    let (Dim([n, _, _, _]), Dim([o, c, r, s])) = (x.shape(), k.shape());
    let mut out = Vec::new();
    for (i, f) in (0..n).flat_map(|i| (0..o).map(move |f| (i, f))) {
        for (a, b) in (0..y.count()).flat_map(|a| (0..z.count()).map(move |b| (a, b))) {
            let mut sum = 0;
            for (g, (p, q)) in (0..c).flat_map(|g| (0..r).flat_map(move |p| (0..s).map(move |q| (g, (p, q))))) {
                if let (Some(at), Some(bt)) = (y.at(a, p), z.at(b, q)) {
                    let channel = f / (o / groups) * c + g;
                    sum += x.get((i, channel, at, bt)).unwrap_or(0) * k.get((f, g, p, q)).unwrap_or(0);
                }
            }
            out.push(sum);
        }
    }
    host((n, o, y.count(), z.count()), out)
}

/// The transposed convolution by its definition: each filter, times an element, is added to the element's window. The lines are
/// those of the result.
fn spread(x: &Images4, k: &Images4, groups: usize, [y, z]: [Line; 2]) -> Images4 {
    let (Dim([n, o, _, _]), Dim([_, c, r, s])) = (x.shape(), k.shape());
    let mut out = vec![0; n * c * groups * y.n * z.n];
    for (i, f) in (0..n).flat_map(|i| (0..o).map(move |f| (i, f))) {
        for (a, b) in (0..y.count()).flat_map(|a| (0..z.count()).map(move |b| (a, b))) {
            for (g, (p, q)) in (0..c).flat_map(|g| (0..r).flat_map(move |p| (0..s).map(move |q| (g, (p, q))))) {
                if let (Some(at), Some(bt)) = (y.at(a, p), z.at(b, q)) {
                    let channel = f / (o / groups) * c + g;
                    out[((i * c * groups + channel) * y.n + at) * z.n + bt] +=
                        x.get((i, f, a, b)).unwrap_or(0) * k.get((f, g, p, q)).unwrap_or(0);
                }
            }
        }
    }
    host((n, c * groups, y.n, z.n), out)
}

fn line(n: usize, window: usize) -> Line {
    Line { n, window, stride: 1, dilation: 1, low: 0, high: 0 }
}

pub fn cases() -> Vec<Case> {
    [convolutions(), pools()].concat()
}

fn convolutions() -> Vec<Case> {
    vec![
        case("networks/convolution", "", |t| {
            let (x, k) = (images((2, 3, 7, 6)), images((4, 3, 3, 2)));
            let (y, z) = (line(7, 3), line(6, 2));
            let got = |windows| use_(&x).conv(&k, windows);
            t.gives(got(Windows::valid()), convolved(&x, &k, 1, [y, z]));
            t.gives(got(Windows::same()), convolved(&x, &k, 1, [y.same(), z.same()]));
            let (y2, z3) = (Line { stride: 2, ..y }, Line { stride: 3, ..z });
            t.gives(got(Windows::valid().stride([2, 3])), convolved(&x, &k, 1, [y2, z3]));
            t.gives(got(Windows::same().stride([2, 3])), convolved(&x, &k, 1, [y2.same(), z3.same()]));
            let (yd, zd) = (Line { dilation: 2, ..y2 }, Line { dilation: 3, low: 1, high: 2, ..z });
            let windows = Windows::padded([(0, 0), (1, 2)]).stride([2, 1]).dilation([2, 3]);
            t.gives(got(windows), convolved(&x, &k, 1, [yd, zd]));
        }),
        case("networks/convolution-in-groups", "", |t| {
            let (x, k) = (images((2, 4, 5, 5)), images((6, 2, 3, 3)));
            let lines = [line(5, 3); 2];
            t.gives(use_(&x).conv_grouped(&k, 2, Windows::valid()), convolved(&x, &k, 2, lines));
            let depthwise = images((4, 1, 3, 3));
            let got = use_(&x).conv_grouped(&depthwise, 4, Windows::same());
            t.gives(got, convolved(&x, &depthwise, 4, lines.map(Line::same)));
            // Three spatial axes leave no room for an axis of groups.
            let (block, filters) = (use_(&x).reshape((2, 4, 1, 5, 5)), use_(&k).reshape((6, 2, 1, 3, 3)));
            let got = block.conv_grouped(filters, 2, Windows::same()).reshape((2, 6, 5, 5));
            t.gives(got, convolved(&x, &k, 2, lines.map(Line::same)));
            t.faults(use_(&x).conv(&k, Windows::valid()), "check_failed");
            t.faults(use_(&x).conv_grouped(&images((3, 2, 3, 3)), 2, Windows::valid()), "check_failed");
        }),
        case("networks/convolution-of-small-images", "", |t| {
            let (x, k) = (fill((1, 1, 2, 2), 1i64), fill((1, 1, 3, 3), 1i64));
            t.shape(x.conv(&k, Windows::valid()), [1, 1, 0, 0]);
            t.shape(x.conv(&k, Windows::valid().stride(2)), [1, 1, 0, 0]);
            t.gives(x.conv(&k, Windows::same()), host((1, 1, 2, 2), [4i64; 4]));
            t.shape(fill((0, 1, 5, 5), 1i64).conv(&k, Windows::same()), [0, 1, 5, 5]);
            t.gives(
                fill((1, 0, 4, 4), 1i64).conv(fill((2, 0, 3, 3), 1i64), Windows::valid()),
                host((1, 2, 2, 2), [0i64; 8]),
            );
        }),
        case("networks/convolution-of-other-ranks", "", |t| {
            let line = enum_from((1, 1, 5), 1i64);
            let filter = use_(&host((1, 1, 3), [1i64, 0, -1]));
            t.gives(line.conv(&filter, Windows::valid()), host((1, 1, 3), [-2i64; 3]));
            t.gives(line.conv(&filter, Windows::same()), host((1, 1, 5), [-2i64, -2, -2, -2, 4]));
            let block = fill((1, 2, 3, 4, 5), 1i64);
            t.gives(block.conv(fill((1, 2, 2, 2, 2), 1i64), Windows::valid()), host((1, 1, 2, 3, 4), [16i64; 24]));
        }),
        case("networks/transposed-convolution", "", |t| {
            let (x, k) = (images((2, 4, 3, 4)), images((4, 3, 3, 2)));
            let got = |windows| use_(&x).conv_transposed(&k, windows);
            t.gives(got(Windows::valid()), spread(&x, &k, 1, [line(5, 3), line(5, 2)]));
            t.gives(got(Windows::same()), spread(&x, &k, 1, [line(3, 3).same(), line(4, 2).same()]));
            let (y2, z3) = (Line { stride: 2, ..line(7, 3) }, Line { stride: 3, ..line(11, 2) });
            t.gives(got(Windows::valid().stride([2, 3])), spread(&x, &k, 1, [y2, z3]));
            let (y6, z12) = (Line { stride: 2, ..line(6, 3) }, Line { stride: 3, ..line(12, 2) });
            t.gives(got(Windows::same().stride([2, 3])), spread(&x, &k, 1, [y6.same(), z12.same()]));
            let (yd, zd) = (
                Line { stride: 2, dilation: 2, low: 2, ..line(7, 3) },
                Line { dilation: 3, low: 1, high: 2, ..line(4, 2) },
            );
            let windows = Windows::padded([(2, 0), (1, 2)]).stride([2, 1]).dilation([2, 3]);
            t.gives(got(windows), spread(&x, &k, 1, [yd, zd]));
            let (yp, zp) =
                (Line { stride: 2, low: 1, high: 1, ..line(5, 3) }, Line { stride: 3, low: 2, ..line(9, 2) });
            t.gives(got(Windows::padded([(1, 1), (2, 0)]).stride([2, 3])), spread(&x, &k, 1, [yp, zp]));
            t.faults(use_(&x).conv_transposed(&images((3, 3, 2, 2)), Windows::valid()), "check_failed");
        }),
        case("networks/transposed-convolution-in-groups", "", |t| {
            let (x, k) = (images((2, 4, 3, 3)), images((4, 2, 3, 3)));
            let lines = [Line { stride: 2, ..line(7, 3) }; 2];
            let got = use_(&x).conv_transposed_grouped(&k, 2, Windows::valid().stride(2));
            t.gives(got, spread(&x, &k, 2, lines));
            let (block, filters) = (use_(&x).reshape((2, 4, 1, 3, 3)), use_(&k).reshape((4, 2, 1, 3, 3)));
            let got =
                block.conv_transposed_grouped(filters, 2, Windows::valid().stride([1, 2, 2])).reshape((2, 4, 7, 7));
            t.gives(got, spread(&x, &k, 2, lines));
            t.faults(use_(&x).conv_transposed_grouped(&k, 3, Windows::valid()), "check_failed");
        }),
        case("networks/transposed-convolution-of-other-ranks", "", |t| {
            let (line, filter) = (enum_from((1, 1, 3), 1i64), use_(&host((1, 1, 3), [1i64, 10, 100])));
            let got = line.conv_transposed(&filter, Windows::valid().stride(2));
            t.gives(got, host((1, 1, 7), [1i64, 10, 102, 20, 203, 30, 300]));
            let block = fill((1, 1, 1, 2, 2), 1i64);
            let filter = fill((1, 1, 2, 2, 2), 1i64);
            let got = block.conv_transposed(&filter, Windows::valid().stride(2));
            t.gives(got, host((1, 1, 2, 4, 4), [1i64; 32]));
            t.shape(fill((1, 1, 0), 1i64).conv_transposed(fill((1, 1, 2), 1i64), Windows::same().stride(2)), [1, 1, 0]);
            t.shape(fill((1, 0, 3), 1i64).conv_transposed(fill((0, 2, 2), 1i64), Windows::valid()), [1, 2, 4]);
        }),
        case("networks/patches", "", |t| {
            let (x, k) = (images((1, 2, 4, 5)), images((3, 2, 3, 2)));
            // A convolution is a product with patches.
            let patches = use_(&x).patches([3, 2], Windows::valid(), 0);
            t.shape(patches.clone(), [1, 2, 2, 4, 3, 2]);
            let terms = generate((1, 3, 2, 4, 2, 3, 2), |(n, o, y, x, c, r, s)| {
                patches.index((n, c, y, x, r, s)) * use_(&k).index((o, c, r, s))
            });
            t.gives(terms.sum_over((Any, Over, Over, Over)), convolved(&x, &k, 1, [line(4, 3), line(5, 2)]));
            let ends = enum_from((1, 1, 3), 1i64).patches(2, Windows::padded([(1, 1)]), -1);
            t.gives(ends, host((1, 1, 4, 2), [-1i64, 1, 1, 2, 2, 3, 3, -1]));
            t.shape(fill((1, 1, 1), 1i64).patches(2, Windows::valid(), 0), [1, 1, 0, 2]);
        }),
        case("networks/gradients-of-convolutions", "", |t| {
            let at = (host((1, 2, 4, 3), numbers(10, 24)), host((2, 2, 2, 2), numbers(11, 16)));
            type Both = (Acc<Array<Dim<4>, f64>>, Acc<Array<Dim<4>, f64>>);
            let total = |y: Acc<Array<Dim<4>, f64>>| y.map(|y| y * y).sum_over((Over, Over, Over, Over));
            gradient(t, &at, |(x, k): Both| total(x.conv(&k, Windows::valid())));
            gradient(t, &at, |(x, k): Both| total(x.conv(&k, Windows::same().stride(2))));
            gradient(t, &at, |(x, k): Both| total(x.conv(&k, Windows::padded([(1, 0), (0, 2)]).dilation([1, 2]))));
            gradient(t, &at, |(x, k): Both| total(x.conv_transposed(&k, Windows::valid().stride([2, 1]))));
            gradient(t, &at, |(x, k): Both| total(x.conv_transposed(&k, Windows::same().stride(2))));
            gradient(t, &at, |(x, k): Both| total(x.conv_transposed(&k, Windows::valid().stride(2).dilation(2))));
            let grouped = (host((1, 2, 3, 3), numbers(12, 18)), host((2, 1, 2, 2), numbers(13, 8)));
            gradient(t, &grouped, |(x, k): Both| total(x.conv_grouped(&k, 2, Windows::same())));
        }),
    ]
}

fn pools() -> Vec<Case> {
    vec![
        case("networks/pooling", "", |t| {
            let image = generate((1, 1, 4, 6), |(_, _, y, x)| y * 6 + x);
            let halves = Windows::valid().stride(2);
            t.gives(image.max_pool(2, halves), host((1, 1, 2, 3), [7i64, 9, 11, 19, 21, 23]));
            let floats = image.map(|x| x.to::<f64>());
            t.gives(floats.mean_pool(2, halves), host((1, 1, 2, 3), [3.5, 5.5, 7.5, 15.5, 17.5, 19.5]));
            // A window of more elements than are written out.
            t.gives(image.max_pool([4, 5], Windows::valid()), host((1, 1, 1, 2), [22i64, 23]));
            t.gives(floats.mean_pool([4, 5], Windows::valid()), host((1, 1, 1, 2), [11.0, 12.0]));
            // What is beyond the edges is left out.
            let line = use_(&host((1, 1, 3), [-3.0, -1.0, -2.0]));
            t.gives(line.max_pool(3, Windows::same()), host((1, 1, 3), [-1.0, -1.0, -1.0]));
            t.gives(line.mean_pool(3, Windows::same()), host((1, 1, 3), [-2.0, -2.0, -1.5]));
            t.gives(line.mean_pool(3, Windows::same().dilation(2)), host((1, 1, 3), [-2.5, -1.0, -2.5]));
            t.gives(fill((1, 1, 30), 2.0f32).mean_pool(17, Windows::same()), host((1, 1, 30), [2f32; 30]));
            t.gives(use_(&host((1, 1, 2), [f32::NAN, 1.0])).max_pool(2, Windows::valid()), host((1, 1, 1), [f32::NAN]));
            t.shape(fill((1, 1, 1), 1.0f32).max_pool(2, Windows::valid()), [1, 1, 0]);
        }),
        case("networks/gradients-of-pooling", "", |t| {
            let xs: Array<Dim<4>, f64> = host((1, 1, 4, 5), numbers(14, 20));
            let total = |y: Acc<Array<Dim<4>, f64>>| {
                y.imap(|(_, c, y, x), v| v * v * (c + y * 2 + x + 1).to::<f64>()).sum_over((Over, Over, Over, Over))
            };
            gradient(t, &xs, |xs| total(xs.max_pool(2, Windows::valid().stride(2))));
            gradient(t, &xs, |xs| total(xs.mean_pool(2, Windows::valid().stride(2))));
            gradient(t, &xs, |xs| total(xs.mean_pool(3, Windows::same())));
            gradient(t, &xs, |xs| total(xs.mean_pool([4, 5], Windows::same())));
        }),
    ]
}
