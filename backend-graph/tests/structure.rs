//! The exact number of calls that programs become: calls of libtorch that launch work, views, and calls that only look
//! for faults. Each program is there twice: a variant that means the same, with other names, other tuples or helper
//! functions, becomes as many.

use acc_core::ir::ScalarOp;
use acc_core::prelude::*;
use backend_graph::{Counts, graph_of};

type Floats = Acc<Vector<f32>>;
type Ints = Acc<Vector<i64>>;
type Grid = Acc<Matrix<f32>>;

fn floats() -> Floats {
    use_(&Vector::from([0.5f32, 1.5, 2.5, 3.5]))
}

fn lengths() -> Vector<i64> {
    Vector::from([1, 3])
}

fn others() -> Floats {
    use_(&Vector::from([1.0f32, 2.0, 3.0, 4.0]))
}

fn bytes() -> Acc<Vector<u8>> {
    use_(&Vector::from([2u8, 0, 1]))
}

fn ints() -> Ints {
    use_(&Vector::from([3i64, 1, 2, 0]))
}

fn grid() -> Grid {
    use_(&Matrix::from([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]))
}

fn places() -> Acc<Matrix<i64>> {
    use_(&Matrix::from([[2i64, 0], [1, 2]]))
}

fn cells() -> Acc<Matrix<bool>> {
    use_(&Matrix::from([[true, false, true], [false, true, true], [false, false, true]]))
}

fn counts<A: Arrays>(program: impl IntoAcc<A>) -> [usize; 3] {
    let program = program.into_acc().program().unwrap().program;
    let Counts { launches, views, checks, .. } = Counts::of(&graph_of(&program).unwrap());
    [launches, views, checks]
}

/// One line for each program: its name, what it becomes, itself, and a variant.
macro_rules! structure {
    ($($name:literal [$launches:literal, $views:literal, $checks:literal] $program:expr, $variant:expr;)*) => {
        #[test]
        fn programs_become_exactly_so_many_calls() {
            let mut wrong = Vec::new();
            let mut rows = 0;
            $(
                rows += 1;
                let (want, got, variant) = ([$launches, $views, $checks], counts($program), counts($variant));
                if got != want {
                    wrong.push(format!("{}: {got:?}, not {want:?}", $name));
                }
                if variant != got {
                    wrong.push(format!("{}: {got:?}, but the variant {variant:?}", $name));
                }
            )*
            assert!(wrong.is_empty(), "[launches, views, checks]\n{}", wrong.join("\n"));
            assert!(rows >= 60, "{rows}");
        }
    };
}

fn twice(x: Exp<f32>) -> Exp<f32> {
    x * 2.0
}

fn dot(xs: &Floats, ys: &Floats) -> Acc<Scalar<f32>> {
    xs.zip(ys).map(|(a, b)| a * b).sum()
}

fn normal(x: Exp<f32>) -> Exp<f32> {
    let k = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let coefficients = [1.330_274_4f32, -1.821_255_9, 1.781_477_9, -0.356_563_78, 0.319_381_53];
    let poly = coefficients.iter().fold(constant(0.0), |p, c| (p + *c) * k);
    let tail = (-0.5 * x * x).exp() * 0.398_942_3 * poly;
    x.gt(0.0).then_else(1.0 - tail, tail)
}

fn black_scholes((price, strike, years): (Exp<f32>, Exp<f32>, Exp<f32>)) -> (Exp<f32>, Exp<f32>) {
    let root = years.sqrt();
    let d1 = ((price / strike).ln() + 0.065 * years) / (0.3 * root);
    let d2 = d1 - 0.3 * root;
    let discounted = strike * (-0.02 * years).exp();
    let call = price * normal(d1) - discounted * normal(d2);
    (call, call + discounted - price)
}

/// The same, with the discount in a function of its own, and all of it in one tuple.
fn black_scholes_split(deal: ((Exp<f32>, Exp<f32>), Exp<f32>)) -> (Exp<f32>, Exp<f32>) {
    let ((price, strike), years) = deal;
    let discount = |amount: Exp<f32>| amount * (-0.02 * years).exp();
    let spread = |root: Exp<f32>| ((price / strike).ln() + 0.065 * years) / (0.3 * root);
    let root = years.sqrt();
    let first = spread(root);
    let second = first - 0.3 * root;
    let later = discount(strike);
    let call = price * normal(first) - later * normal(second);
    (call, call + later - price)
}

fn life(world: &Acc<Matrix<bool>>) -> Acc<Matrix<bool>> {
    world.map(|alive| alive.then_else(1, 0)).stencil(Edge::Wrap, |s: Stencil3x3<i32>| {
        let above = s[(-1, -1)] + s[(-1, 0)] + s[(-1, 1)];
        let below = s[(1, -1)] + s[(1, 0)] + s[(1, 1)];
        let around = above + below + s[(0, -1)] + s[(0, 1)];
        around.eq(3) | (s[(0, 0)].eq(1) & around.eq(2))
    })
}

fn survives(alive: Exp<i32>, around: Exp<i32>) -> Exp<bool> {
    around.eq(3) | (alive.eq(1) & around.eq(2))
}

fn life_split(world: &Acc<Matrix<bool>>) -> Acc<Matrix<bool>> {
    let numbers = world.map(|cell| cell.then_else(1, 0));
    numbers.stencil(Edge::Wrap, |s: Stencil3x3<i32>| {
        let row = |i: i32| s[(i, -1)] + s[(i, 0)] + s[(i, 1)];
        survives(s[(0, 0)], row(-1) + row(1) + s[(0, -1)] + s[(0, 1)])
    })
}

fn softmax(m: &Grid) -> Grid {
    let top = m.maximum();
    let powers = m.imap(|(i, _), x| (x - top.index(i)).exp());
    let sums = powers.sum();
    powers.imap(|(i, _), x| x / sums.index(i))
}

/// The same, with rows repeated.
fn softmax_split(m: &Grid) -> Grid {
    let along = |v: &Floats| v.replicate((All, m.shape().1));
    let powers = m.zip_with(along(&m.fold1(|a, b| a.max(b))), |x, top| x - top).map(|x| x.exp());
    powers.zip_with(along(&powers.fold(0.0, |a, b| a + b)), |e, sum| e / sum)
}

fn log_softmax(m: &Grid) -> Grid {
    let top = m.maximum();
    let less = m.imap(|(i, _), x| x - top.index(i));
    let sums = less.map(|x| x.exp()).sum();
    less.imap(|(i, _), x| x - sums.index(i).ln())
}

fn layer_norm(m: &Grid) -> Grid {
    let n = m.shape().1.to::<f32>();
    let mean = m.sum().map(|sum| sum / n);
    let squares = m.imap(|(i, _), x| (x - mean.index(i)) * (x - mean.index(i)));
    let variance = squares.sum().map(|sum| sum / n);
    m.imap(|(i, _), x| (x - mean.index(i)) / (variance.index(i) + 1e-5).sqrt())
}

/// The same, by the mean of squares, with rows repeated and the inverse of the root.
fn layer_norm_split(m: &Grid) -> Grid {
    let along = |v: &Floats| v.replicate((All, m.shape().1));
    let of_rows = |m: &Grid| {
        let n = m.shape().1.to::<f32>().recip();
        m.fold(0.0, |a, b| a + b).map(|sum| sum * n)
    };
    let (mean, squares) = (of_rows(m), of_rows(&m.map(|x| x * x)));
    let inverse = squares.zip(&mean).map(|(s, m)| 1.0 / (1e-5 + (s - m * m).max(0.0)).sqrt());
    m.zip_with(along(&mean), |x, mean| x - mean).zip_with(along(&inverse), |x, r| r * x)
}

/// Of each column, with a scale and a shift of its own.
fn batch_norm(m: &Grid, scale: &Floats, shift: &Floats) -> Grid {
    let normal = layer_norm(&m.transpose());
    normal.transpose().imap(|(_, j), x| x * scale.index(j) + shift.index(j))
}

/// What columns are multiplied with after their means are taken away, and these, by the index.
fn of_columns(m: &Grid) -> (Floats, Floats) {
    let (rows, columns) = m.shape();
    let mean_of = |f: &dyn Fn(Exp<i64>, Exp<f32>) -> Exp<f32>| {
        generate((columns, rows), |(j, i)| f(j, m.index((i, j)))).sum().map(|sum| sum / rows.to::<f32>())
    };
    let mean = mean_of(&|_, x| x);
    let variance = mean_of(&|j, x| {
        let less = x - mean.index(j);
        less * less
    });
    (variance.map(|v| (v + 1e-5).sqrt()), mean)
}

/// The same, the inverse of the root first.
fn batch_norm_split(m: &Grid, scale: &Floats, shift: &Floats) -> Grid {
    let (root, mean) = of_columns(m);
    let by = root.map(|r| r.recip());
    m.imap(|(_, j), x| shift.index(j) + scale.index(j) * (by.index(j) * (x - mean.index(j))))
}

/// The same, the scale over the root, or times its inverse, first.
fn batch_norm_by(m: &Grid, by: impl FnOnce(Floats) -> Floats, shift: &Floats) -> Grid {
    let (root, mean) = of_columns(m);
    let by = by(root);
    m.imap(|(_, j), x| (x - mean.index(j)) * by.index(j) + shift.index(j))
}

fn mandelbrot() -> Acc<Matrix<i32>> {
    generate((8, 8), |(j, i)| {
        let (cx, cy) = (i.to::<f32>() * 0.3 - 2.0, j.to::<f32>() * 0.2 - 1.0);
        let inside = |(x, y, n): (Exp<f32>, Exp<f32>, Exp<i32>)| (x * x + y * y).lt(4.0).and(n.lt(50));
        let step = |(x, y, n): (Exp<f32>, Exp<f32>, Exp<i32>)| (x * x - y * y + cx, 2.0 * x * y + cy, n + 1);
        let (_, _, n) = while_((cx, cy, 0i32), inside, step);
        n
    })
}

fn mandelbrot_nested() -> Acc<Matrix<i32>> {
    generate((8, 8), |(row, column)| {
        let cx = column.to::<f32>() * 0.3 - 2.0;
        let cy = row.to::<f32>() * 0.2 - 1.0;
        let inside = |((x, y), n): ((Exp<f32>, Exp<f32>), Exp<i32>)| (x * x + y * y).lt(4.0).and(n.lt(50));
        let step = |((x, y), n): ((Exp<f32>, Exp<f32>), Exp<i32>)| ((x * x - y * y + cx, 2.0 * x * y + cy), n + 1);
        let (_, n) = while_(((cx, cy), 0i32), inside, step);
        n
    })
}

fn product(a: &Grid, b: &Grid) -> Grid {
    let ((rows, _), (_, columns)) = (a.shape(), b.shape());
    a.replicate((All, columns, All)).zip_with(b.transpose().replicate((rows, All, All)), |x, y| x * y).sum()
}

fn product_split(left: &Grid, right: &Grid) -> Grid {
    let ((rows, _), (_, columns)) = (left.shape(), right.shape());
    let (repeated, transposed) = (left.replicate((All, columns, All)), right.transpose());
    let pairs = repeated.zip(transposed.replicate((rows, All, All)));
    pairs.map(|(x, y)| y * x).fold(0.0, |a, b| a + b)
}

fn product_by_index(a: &Grid, b: &Grid) -> Grid {
    let ((rows, inner), (_, columns)) = (a.shape(), b.shape());
    generate((rows, columns, inner), |(i, j, k)| a.index((i, k)) * b.index((k, j))).sum()
}

fn product_by_index_split(a: &Grid, b: &Grid) -> Grid {
    let ((rows, inner), (_, columns)) = (a.shape(), b.shape());
    let (left, right) = (|r: Exp<i64>, k: Exp<i64>| a.index((r, k)), |k: Exp<i64>, c: Exp<i64>| b.index((k, c)));
    generate((rows, columns, inner), |(r, c, k)| left(r, k) * right(k, c)).fold(0.0, |x, y| y + x)
}

/// A loop over a counter up to `n` that adds up.
fn add_up(n: Exp<i64>, f: impl Fn(Exp<i64>) -> Exp<f32>) -> Exp<f32> {
    while_((0i64, 0.0f32), |(k, _)| k.lt(n), |(k, sum)| (k + 1, sum + f(k))).1
}

/// The same from the other side, in one expression of a tuple the other way round.
fn add_up_split(n: Exp<i64>, f: impl Fn(Exp<i64>) -> Exp<f32>) -> Exp<f32> {
    let step = |(sum, k): (Exp<f32>, Exp<i64>)| (f(k) + sum, 1 + k);
    while_((0.0f32, 0i64), |(_, k)| n.gt(k), step).0
}

fn product_by_loop(a: &Grid, b: &Grid) -> Grid {
    let ((rows, inner), (_, columns)) = (a.shape(), b.shape());
    generate((rows, columns), |(i, j)| add_up(inner, |k| a.index((i, k)) * b.index((k, j))))
}

fn product_by_loop_split(a: &Grid, b: &Grid) -> Grid {
    let ((rows, inner), (_, columns)) = (a.shape(), b.shape());
    generate((rows, columns), |(i, j)| add_up_split(inner, |k| b.index((k, j)) * a.index((i, k))))
}

fn bodies_by_loop(xs: &Floats) -> Floats {
    let n = xs.length();
    xs.map(|x| {
        add_up(n, |k| {
            let d = xs.index(k) - x;
            d / (d * d + 0.5)
        })
    })
}

fn bodies_by_loop_split(xs: &Floats) -> Floats {
    let force = |d: Exp<f32>| d / (d * d + 0.5);
    xs.map(|x| add_up_split(xs.length(), |k| force(xs.index(k) - x)))
}

structure! {
    // ---- element-wise
    "map" [1, 0, 0] floats().map(|x| x * 2.0), floats().map(twice);
    "polynomial" [4, 0, 0] floats().map(|x| (x * 0.5 + 1.0) * x - 2.0), floats().map(|y| { let z = y * 0.5; (z + 1.0) * y }).map(|y| y - 2.0);
    "zip_with" [1, 2, 0] floats().zip_with(others(), |x, y| x + y), floats().zip(others()).map(|(a, b)| a + b);
    "saxpy" [2, 2, 0] floats().zip_with(others(), |x, y| x * 2.5 + y), floats().zip(others()).map(|p| { let (x, y) = p; x * 2.5 + y });
    "unzip" [1, 0, 0] floats().map(|x| (x, x * 2.0)).map(|(_, y)| y), floats().map(|x| (x, (x * 2.0, x))).map(|(_, (y, _))| y);
    "select" [4, 0, 0] floats().map(|x| x.gt(1.0).then_else(x * 2.0, x + 1.0)), floats().map(|x| { let big = x.gt(1.0); cond(big, twice(x), x + 1.0) });
    "bool_to_int" [2, 0, 0] floats().map(|x| x.gt(1.0).then_else(1i32, 0)), floats().map(|x| x.gt(1.0)).map(|b| b.then_else(1i32, 0));
    "clip" [1, 0, 0] floats().map(|x| x.max(0.25).min(0.75)), floats().map(|x| x.min(0.75)).map(|y| constant(0.25f32).max(y));
    "sqrt" [1, 0, 0] floats().map(|x| x.sqrt()), { let root = |y: Exp<f32>| y.sqrt(); floats().map(root) };
    "division by a literal" [1, 0, 0] ints().map(|x| x / 7), { let weeks = |days: Exp<i64>| days / 7; ints().map(weeks) };
    "division by an element" [2, 2, 0] ints().zip_with(ints(), |x, y| x % (y + 4)), ints().zip(ints()).map(|(x, y)| x % (y + 4));
    "black_scholes" [58, 5, 0] floats().zip(others()).zip_with(others(), |(p, s), y| black_scholes((p, s, y))), floats().zip(others()).zip(others()).map(black_scholes_split);
    // ---- index generation
    "fill" [0, 2, 0] fill(10, 1.5f32), generate(10, |_| constant(1.5f32));
    "generate" [2, 0, 0] generate(10, |i| i.to::<f32>() * 0.5), generate(10, |k| { let x = k.to::<f32>(); x * 0.5 });
    "enum_from_step" [1, 0, 0] enum_from_step(10, 3i64, 2i64), generate(10, |i| i * 2 + 3);
    "generate of two axes" [3, 2, 0] generate((3, 4), |(i, j)| i * 4 + j), generate((3, 4), |(r, c)| c + r * 4);
    "imap" [2, 0, 0] floats().imap(|i, x| x + i.to::<f32>()), floats().imap(|k, y| { let place = k.to::<f32>(); y + place });
    // ---- views
    "take" [0, 1, 0] floats().take(2), { let firsts = floats(); firsts.take(2) };
    "drop" [1, 1, 0] floats().drop(2).map(twice), floats().drop(2).map(|x| x * 2.0);
    "init and tail" [1, 4, 0] floats().init().zip_with(floats().tail(), |a, b| b - a), floats().tail().zip(floats().init()).map(|(b, a)| b - a);
    "slit" [0, 1, 0] floats().slit(1, 2), { let (start, n) = (1, 2); floats().slit(start, n) };
    "reverse" [1, 1, 0] floats().reverse(), { let xs = floats(); xs.backpermute(xs.length(), |i| xs.length() - 1 - i) };
    "transpose" [0, 1, 0] grid().transpose(), { let m = grid(); let (r, c) = m.shape(); m.backpermute((c, r), |(i, j)| (j, i)) };
    "interleaved" [1, 8, 0] { let (a, b) = (floats(), others()); generate(a.length() * 2, |i| (i % 2).eq(0).then_else(a.index(i / 2), b.index(i / 2))) }, { let (a, b) = (floats(), others()); generate(2 * a.length(), |i| { let (k, odd) = i.quot_rem(2); odd.ne(0).then_else(b.index(k), a.index(k)) }) };
    "each element four times" [0, 5, 0] { let xs = floats(); generate(xs.length() * 4, |i| xs.index(i / 4)) }, { let xs = floats(); xs.backpermute(xs.length() * 4, |i| i.div_floor(4)) };
    "an array three times" [0, 3, 0] { let xs = floats(); generate(xs.length() * 3, |i| xs.index(i % xs.length())) }, { let xs = floats(); let n = xs.length(); xs.backpermute(n * 3, |i| i.mod_floor(n)) };
    "elements in a row" [1, 1, 0] { let m = grid(); let (r, c) = m.shape(); generate(r * c, |i| m.index((i / c, i % c)) * 2.0) }, { let m = grid(); let (r, c) = m.shape(); generate(r * c, |k| { let (i, j) = k.quot_rem(c); twice(m.index((i, j))) }) };
    "diagonal" [0, 3, 0] { let m = grid(); generate(m.shape().0, |i| m.index((i, i))) }, { let m = grid(); m.backpermute(m.shape().0, |k| (k, k)) };
    "every second" [0, 1, 0] floats().backpermute(2, |i| i * 2), { let xs = floats(); generate(2, |i| xs.index(i + i)) };
    "windows" [0, 3, 0] { let xs = floats(); generate((2, 3), |(i, j)| xs.index(i + j)) }, { let xs = floats(); xs.backpermute((2, 3), |(a, b)| b + a) };
    "row of a matrix" [0, 1, 0] grid().slice((1, All)), { let row = (1, All); grid().slice(row) };
    "column, repeated" [1, 2, 0] { let m = grid(); m.imap(|(i, _), x| x - m.index((i, constant(0i64)))) }, { let m = grid(); let first = |row: Exp<i64>| m.index((row, constant(0i64))); m.imap(|(r, _), y| y - first(r)) };
    "replicate" [1, 2, 0] floats().replicate((3, All)).map(twice), floats().map(|x| x * 2.0).replicate((3, All));
    "outer product" [1, 4, 0] { let (xs, ys) = (floats(), others()); generate((4, 4), |(i, j)| xs.index(i) * ys.index(j)) }, { let (xs, ys) = (floats(), others()); let times = |a: Exp<f32>, b: Exp<f32>| a * b; generate((4, 4), |(r, c)| times(xs.index(r), ys.index(c))) };
    "reshape" [1, 1, 0] floats().reshape((2, 2)).map(twice), floats().map(twice).reshape((2, 2));
 "reshape to half as many rows" [0, 1, 0] { let xs = floats(); xs.reshape((xs.length() / 2, 2)) }, { let xs = floats(); let n = xs.length(); xs.reshape((n.div_floor(2), 2)) };
    "shifted difference" [1, 2, 0] { let xs = floats(); generate(3, |i| xs.index(i + 1) - xs.index(i)) }, { let xs = floats(); let next = |i: Exp<i64>| xs.index(i + 1); generate(3, |k| next(k) - xs.index(k)) };
    "neighbours, the ends their own" [3, 4, 0] { let xs = floats(); let n = xs.length(); generate(n, |i| xs.index((i + 1).min(n - 1)) - xs.index((i - 1).max(0))) }, { let xs = floats(); let at = |i: Exp<i64>| xs.index(i); generate(xs.length(), |k| { let last = xs.length() - 1; at(last.min(1 + k)) - at(constant(0i64).max(k - 1)) }) };
    "flip of rows" [1, 1, 0] grid().reverse_on::<2>(), { let m = grid(); let (r, c) = m.shape(); m.backpermute((r, c), |(i, j)| (r - 1 - i, j)) };
    // ---- gathers
    "gather" [1, 0, 0] { let xs = floats(); ints().map(|i| xs.index(i)) }, floats().gather(ints());
    "softmax of rows" [1, 0, 0] softmax(&grid()), softmax_split(&grid());
    "bags of rows" [3, 7, 10] { let (m, ids) = (grid(), ints()); generate((m.shape().1, ids.length()), |(j, k)| m.index((ids.index(k), j))).fold_seg(&lengths(), 0.0, |a, b| a + b) }, { let (table, at) = (grid(), ints()); let rows = at.map(|k| k * 1); let read = |j: Exp<i64>, k: Exp<i64>| table.index((rows.index(k), j)); generate((table.shape().1, at.length()), |(j, k)| read(j, k)).fold_seg(use_(&lengths()), 0.0, |x, y| y + x) };
    "normalised rows" [1, 0, 0] layer_norm(&grid()), layer_norm_split(&grid());
    "normalised rows, scaled" [1, 4, 0] { let m = layer_norm(&grid()); m.imap(|(_, j), x| x * floats().index(j) + others().index(j)) }, { let m = layer_norm_split(&grid()); let (scale, shift) = (floats(), others()); m.imap(|(_, j), x| shift.index(j) + scale.index(j) * x) };
    "normalised columns, scaled" [1, 4, 0] batch_norm(&grid(), &floats(), &others()), batch_norm_split(&grid(), &floats(), &others());
    "normalised columns, scale over root" [1, 5, 0] batch_norm_by(&grid(), |root| floats().zip_with(root, |s, r| s / r), &others()), batch_norm_by(&grid(), |root| floats().zip_with(root, |s, r| r.recip() * s), &others());
    "normalised vector" [1, 0, 0] { let xs = floats(); let n = xs.length().to::<f32>(); let mean = xs.sum().the() / n; let v = xs.map(|x| (x - mean) * (x - mean)).sum().the() / n; xs.map(|x| (x - mean) / (v + 1e-6).sqrt()) }, { let xs = floats(); let mean = xs.mean(); let less = xs.map(|x| x - mean.the()); let v = less.map(|x| x * x).mean(); less.map(|x| x * (v.the() + 1e-6).sqrt().recip()) };
    "softmax of columns" [1, 0, 0] { let m = grid(); let e = { let top = m.transpose().maximum(); m.imap(|(_, j), x| (x - top.index(j)).exp()) }; let sums = e.transpose().sum(); e.imap(|(_, j), e| e / sums.index(j)) }, { let m = grid(); let down = |v: Floats| v.replicate((m.shape().0, All)); let top = m.transpose().fold1(|a, b| b.max(a)); let e = m.zip_with(down(top), |x, t| (x - t).exp()); e.zip_with(down(e.transpose().sum()), |e, s| e / s) };
    "softmax of a vector" [1, 0, 0] { let xs = floats(); let top = xs.maximum(); let e = xs.map(|x| (x - top.the()).exp()); let sum = e.sum(); e.map(|x| x / sum.the()) }, { let xs = floats(); let n = xs.length(); let top = fill(n, xs.fold1(|a, b| a.max(b)).the()); let e = xs.zip_with(top, |x, t| x - t).map(|x| x.exp()); e.zip_with(fill(n, e.fold(0.0, |a, b| a + b).the()), |e, s| e / s) };
    "logarithm of softmax" [1, 0, 0] log_softmax(&grid()), { let m = grid(); let top = m.maximum(); let sums = m.imap(|(i, _), x| (x - top.index(i)).exp()).sum(); let scale = top.zip_with(&sums, |t, s| t + s.ln()); m.imap(|(i, _), x| x - scale.index(i)) };
    "gather of rows" [2, 4, 0] { let (m, at) = (grid(), ints()); generate((4, 3), |(i, j)| m.index((at.index(i) % 3, j))) }, { let (m, at) = (grid(), ints()); let row = |i: Exp<i64>| at.index(i) % 3; generate((4, 3), |(r, c)| m.index((row(r), c))) };
    "gather of two indices" [6, 1, 2] { let m = grid(); ints().map(|i| m.index((i % 3, i % 2))) }, { let m = grid(); ints().map(|i| (i % 3, i % 2)).map(|(a, b)| m.index((a, b))) };
    "guarded read" [4, 2, 3] { let (xs, at) = (floats(), ints()); at.map(|i| i.lt(2).then_else(xs.index(i), 0.0)) }, { let (xs, at) = (floats(), ints()); at.map(|k| { let read = |k: Exp<i64>| xs.index(k); cond(k.lt(2), read(k), 0.0) }) };
    "rows of a table" [1, 8, 0] { let (m, at) = (grid(), places()); generate((2, 2, 3), |(i, k, j)| m.index((at.index((i, k)), j))) }, { let (m, at) = (grid(), places()); let row = |i: Exp<i64>, k: Exp<i64>| at.index((i, k)); generate((2, 2, 3), |(a, b, c)| m.index((row(a, b), c))) };
    "histogram of floats" [3, 9, 0] { let xs = floats(); fill(4, 1i64).permute(fill(4, 0i64), |a, b| a + b, |i| Some(xs.index(i).to::<i64>())) }, { let xs = floats(); let place = |x: Exp<f32>| x.to::<i64>(); fill(4, 1i64).permute(fill(4, 0i64), |new, old| old + new, |k| Some(place(xs.index(k)))) };
    "concat" [1, 2, 0] floats().concat(others()), { let (xs, ys) = (floats(), others()); let n = xs.length(); generate(n + ys.length(), |i| i.lt(n).then_else(xs.index(i), ys.index(i - n))) };
    // ---- folds
    "sum" [1, 0, 0] floats().sum(), floats().fold(0.0, |a, b| b + a);
    "dot" [1, 2, 0] floats().zip_with(others(), |x, y| x * y).sum(), dot(&floats(), &others());
    "norm" [2, 0, 0] floats().map(|x| x * x).sum().map(|s| s.sqrt()), floats().map(|y| (y, y)).map(|(a, b)| a * b).sum().map(|s| s.sqrt());
    "mean" [4, 0, 0] floats().mean(), { let xs = floats(); xs.sum().map(|s| s / xs.length().to::<f32>()) };
    "maximum" [1, 0, 0] floats().maximum(), floats().fold1(|a, b| b.max(a));
    "least and greatest" [2, 0, 0] floats().map(|x| (x, x)).fold1(|(a, b), (c, d)| (a.min(c), b.max(d))), floats().map(|x| (x, x)).fold1(|p, q| (q.0.min(p.0), q.1.max(p.1)));
    "sum and product" [2, 0, 0] floats().map(|x| (x, x)).fold((0.0, 1.0), |(a, b), (c, d)| (a + c, b * d)), floats().map(|x| (x, x)).fold((0.0, 1.0), |(a, b), (c, d)| (c + a, d * b));
    "arg_max" [1, 0, 0] floats().arg_max(), floats().imap(|i, x| (x, i)).fold1(|(a, i), (b, j)| { let later = a.eq(a) & (b.gt(a) | b.ne(b)); (later.then_else(b, a), later.then_else(j, i)) }).map(|(_, i)| i);
    "any" [2, 0, 0] floats().map(|x| x.gt(2.0)).fold(false, |a, b| a | b), floats().map(|x| x.gt(2.0)).fold(false, |a, b| b | a);
    "row sums" [1, 0, 0] grid().sum(), grid().fold(0.0, |a, b| b + a);
    "column sums" [1, 1, 0] grid().transpose().sum(), { let m = grid(); let (r, c) = m.shape(); generate((c, r), |(j, i)| m.index((i, j))).sum() };
    "matrix product" [1, 15, 0] product(&grid(), &grid()), product_split(&grid(), &grid());
    "matrix product by index" [1, 8, 0] product_by_index(&grid(), &grid()), product_by_index_split(&grid(), &grid());
    "matrix times vector" [1, 6, 0] { let (m, v) = (grid(), use_(&Vector::from([1.0f32, 2.0, 3.0]))); m.imap(|(_, j), x| x * v.index(j)).sum() }, { let (m, v) = (grid(), use_(&Vector::from([1.0f32, 2.0, 3.0]))); let weight = |k: Exp<i64>| v.index(k); m.imap(|(_, c), y| y * weight(c)).fold(0.0, |a, b| b + a) };
    "affine maps" [5, 4, 0] floats().map(|x| (x, x)).fold((1.0, 0.0), |(a, b), (c, d)| (a * c, b * c + d)), floats().map(|x| (x, x)).fold((1.0, 0.0), |p, q| (p.0 * q.0, p.1 * q.0 + q.1));
    // ---- scans
    "scanl1" [1, 0, 0] floats().scanl1(|a, b| a + b), floats().scanl1(|a, b| b + a);
    "scanl" [2, 2, 0] floats().scanl(0.0, |a, b| a + b), floats().scanl(0.0, |x, y| y + x);
    "prescanl" [2, 3, 0] floats().prescanl(0.0, |a, b| a + b), floats().scanl(0.0, |a, b| a + b).init();
    "scanr1" [3, 0, 0] floats().scanr1(|a, b| a + b), floats().scanr1(|a, b| b + a);
    "running maximum" [1, 0, 0] floats().scanl1(|a, b| a.max(b)), floats().scanl1(|a, b| b.max(a));
    "scan of affine maps" [3, 0, 0] floats().map(|x| (x, x)).scanl1(|(a, b), (c, d)| (a * c, b * c + d)), floats().map(|x| (x, x)).scanl1(|p, q| (p.0 * q.0, p.1 * q.0 + q.1));
    // ---- segments
    "segmented sum" [3, 4, 10] floats().fold_seg(&lengths(), 0.0, |a, b| a + b), { let segments = use_(&lengths()); floats().fold_seg(&segments, 0.0, |x, y| y + x) };
    "segmented sum, from a number" [4, 5, 10] floats().fold_seg(&lengths(), 2.5, |a, b| a + b), floats().fold_seg(&lengths(), 2.5, |x, y| y + x);
    "segmented sum of integers" [6, 7, 10] ints().fold_seg(&lengths(), 0, |a, b| a + b), ints().fold_seg(&lengths(), 0, |x, y| y + x);
    "segmented maximum" [3, 4, 11] floats().fold1_seg(&lengths(), |a, b| a.max(b)), floats().fold1_seg(&lengths(), |x, y| y.max(x));
    "segmented maximum of integers" [7, 8, 11] ints().fold1_seg(&lengths(), |a, b| a.max(b)), ints().fold1_seg(&lengths(), |x, y| y.max(x));
    "segmented affine maps" [24, 30, 21] floats().map(|x| (x, x)).fold_seg(&lengths(), (1.0, 0.0), |(a, b), (c, d)| (a * c, b * c + d)), floats().map(|x| (x, x)).fold_seg(&lengths(), (1.0, 0.0), |p, q| (p.0 * q.0, p.1 * q.0 + q.1));
    "sums by offsets" [1, 8, 9] floats().fold_seg_offsets(&lengths(), 0.0, |a, b| a + b), floats().fold_seg_offsets(&lengths(), 0.0, |x, y| y + x);
    "segmented scan" [33, 39, 8] floats().scanl1_seg(&lengths(), |a, b| a + b), floats().scanl1_seg(&lengths(), |x, y| y + x);
    "segmented scan of integers" [33, 36, 8] ints().scanl1_seg(&lengths(), |a, b| a + b), ints().scanl1_seg(&lengths(), |x, y| y + x);
    "scan that restarts at marks" [22, 20, 0] floats().map(|x| (x.gt(1.0), x)).scanl1(|(m, a), (n, b)| (m | n, n.then_else(b, a + b))).map(|(_, x)| x), floats().map(|x| (x, x.gt(1.0))).scanl1(|p, q| ((!q.1).then_else(q.0 + p.0, q.0), q.1 | p.1)).map(|(x, _)| x);
    // ---- permutes
    "histogram" [1, 8, 0] { let at = ints(); fill(at.length(), 1i64).permute(fill(4, 0i64), |a, b| a + b, |i| Some(at.index(i))) }, { let at = ints(); at.map(|_| constant(1i64)).permute(fill(4, 0i64), |new, old| old + new, |k| Some(at.index(k))) };
    "histogram of bytes" [1, 8, 0] { let at = bytes(); fill(at.length(), 1i64).permute(fill(4, 0i64), |a, b| a + b, |i| Some(at.index(i).to::<i64>())) }, { let at = bytes().map(|b| b.to::<i64>()); at.map(|_| constant(1i64)).permute(fill(4, 0i64), |new, old| old + new, |k| Some(at.index(k))) };
    "gather at bytes" [2, 0, 0] { let xs = floats(); bytes().map(|b| xs.index(b.to::<i64>())) }, floats().gather(bytes().map(|b| b.to::<i64>()));
    "scatter" [1, 5, 0] { let at = ints(); floats().permute(others(), |new, _| new, |i| Some(at.index(i))) }, { let targets = ints(); let last = |new: Exp<f32>, _: Exp<f32>| new; floats().permute(others(), last, |k| Some(targets.index(k))) };
    "filter" [3, 0, 0] floats().filter(|x| x.gt(1.0)), { let big = |x: Exp<f32>| x.gt(1.0); floats().filter(big) };
    // ---- stencils
    "3-point stencil" [3, 7, 0] floats().stencil(Edge::Clamp, |s: Stencil3<f32>| s[-1] + s[0] + s[1]), floats().stencil(Edge::Clamp, |w: Stencil3<f32>| { let (a, b, c) = (w[-1], w[0], w[1]); a + b + c });
    "5-point stencil" [4, 11, 0] grid().stencil(Edge::Clamp, |s: Stencil3x3<f32>| s[(-1, 0)] + s[(1, 0)] + s[(0, -1)] + s[(0, 1)]), grid().stencil(Edge::Clamp, |s: Stencil3x3<f32>| { let v = s[(-1, 0)] + s[(1, 0)]; v + s[(0, -1)] + s[(0, 1)] });
    "game of life" [14, 16, 0] life(&cells()), life_split(&cells());
    // ---- loops
    "counted loop" [1, 1, 0] floats().map(|x| iterate(3, x, |y| y * 2.0)), floats().map(|x| while_((0i64, x), |(k, _)| k.lt(3), |(k, y)| (k + 1, twice(y))).1);
    "matrix product by a loop" [1, 11, 0] product_by_loop(&grid(), &grid()), product_by_loop_split(&grid(), &grid());
    "row sums by a loop" [1, 0, 0] { let m = grid(); generate(m.shape().0, |i| m.sfoldl(0.0f32, i, |a, b| a + b)) }, { let m = grid(); generate(m.shape().0, |i| add_up_split(m.shape().1, |k| m.index((i, k)))) };
    "sum by a loop" [1, 0, 0] { let xs = floats(); unit(add_up(xs.length(), |k| xs.index(k))) }, { let xs = floats(); unit(xs.sfoldl(0.0f32, (), |a, b| b + a)) };
    "forces by a loop" [6, 6, 0] bodies_by_loop(&floats()), bodies_by_loop_split(&floats());
    "greatest of some, by a loop" [2, 5, 0] { let xs = floats(); generate(3, |i| while_((0i64, 0.0f32), |(k, _)| k.lt(2), |(k, m)| (k + 1, m.max(xs.index(i + k)))).1) }, { let xs = floats(); generate(3, |i| while_((0i64, 0.0f32), |(k, _)| k.lt(2), |(k, m)| { let x = xs.index(k + i); (k + 1, x.max(m)) }).1) };
    "bits by a loop" [2, 4, 0] { let xs = ints(); xs.map(|x| while_((0i64, x), |(k, _)| k.lt(4), |(k, m)| (k + 1, m ^ xs.index(k))).1) }, { let xs = ints(); xs.map(|x| while_((x, 0i64), |(_, k)| k.lt(4), |(m, k)| (xs.index(k) ^ m, k + 1)).0) };
    "recurrence by a loop" [6, 7, 1] { let xs = floats(); xs.map(|x| while_((0i64, x), |(k, _)| k.lt(4), |(k, y)| (k + 1, y * y + xs.index(k))).1) }, { let xs = floats(); xs.map(|x| while_((x, 0i64), |(_, k)| k.lt(4), |(y, k)| (xs.index(k) + y * y, k + 1)).0) };
    "column sums of blocks" [1, 14, 0] { let (m, c) = (grid(), grid()); let (h, w) = m.shape(); generate((h, w, 3), |(i, j, k)| c.index((i % 3, k)) * m.index((i / 3 * 3 + k, j))).sum() }, { let (m, c) = (grid(), grid()); let (h, w) = m.shape(); generate((h, w, 3), |(i, j, k)| { let (block, row) = i.quot_rem(3); m.index((block * 3 + k, j)) * c.index((row, k)) }).fold(0.0, |a, b| a + b) };
    "mandelbrot" [25, 3, 0] mandelbrot(), mandelbrot_nested();
    "awhile" [3, 0, 0] awhile(floats(), |xs: Floats| xs.sum().map(|s| s.lt(100.0)), |xs: Floats| xs.map(twice)), awhile(floats(), |xs: Floats| xs.fold(0.0, |a, b| a + b).map(|s| s.lt(100.0)), |xs: Floats| xs.map(|x| x * 2.0));
    "awhile with a counter" [1, 2, 0] { let m = grid(); awhile((unit(0i64), m.clone()), |(k, _): (Acc<Scalar<i64>>, Grid)| k.the().lt(3), |(k, m): (Acc<Scalar<i64>>, Grid)| { let row = k.the(); (k.map(|k| k + 1), m.imap(|(_, j), x| x - m.index((row, j)))) }).1 }, { let m = grid(); awhile((m.clone(), unit(0i64)), |(_, k): (Grid, Acc<Scalar<i64>>)| k.map(|k| !k.ge(3)), |(m, k): (Grid, Acc<Scalar<i64>>)| { let row = k.the(); (m.imap(|(_, j), x| x - m.index((row, j))), k.map(|k| 1 + k)) }).0 };
    // ---- sorting
    "sort" [1, 0, 0] ints().sort(), { let xs = ints(); xs.sort() };
    "rows sorted" [1, 0, 0] grid().sort(), { let m = grid(); let order = m.argsort(); generate(order.shape(), |(r, c)| m.index((r, order.index((r, c))))) };
}

#[test]
fn the_bounds_that_were_set_hold() {
    let launches = |c: [usize; 3]| c[0];
    assert!(launches(counts(dot(&floats(), &others()))) <= 2);
    let at = ints();
    let histogram = fill(at.length(), 1i64).permute(fill(4, 0i64), |a, b| a + b, |i| Some(at.index(i)));
    assert!(launches(counts(histogram)) <= 4);
    assert!(launches(counts(life(&cells()))) <= 15);
    let prices = floats().zip(others()).zip_with(others(), |(p, s), y| black_scholes((p, s, y)));
    let program = prices.program().unwrap().program;
    let mut arithmetic = 0;
    for stmt in &acc_desugar::simplify(&program).body.stmts {
        for (_, f) in stmt.op.funs() {
            f.body.visit(0, &mut |n, _| {
                arithmetic += usize::from(matches!(n.op, ScalarOp::Prim(..) | ScalarOp::Select { .. }))
            });
        }
    }
    assert!(launches(counts(prices)) <= arithmetic);
}

/// However many elements have one target: there is no loop over them, and nothing is sorted.
#[test]
fn a_permutation_that_keeps_an_element_whole_has_no_step_per_collision() {
    let text = |program: Acc<Vector<(i64, i64)>>| {
        let program = program.program().unwrap().program;
        backend_graph::export(&graph_of(&program).unwrap(), backend_graph::Format::Text)
    };
    let tagged = ints().imap(|i, x| (x, i));
    let base = || generate(3, |_| (0i64, -1i64));
    let kept = [
        text(tagged.permute(base(), |a, b| a.0.gt(b.0).then_else(a, b), |i| Some(i % 3))),
        text(tagged.permute(base(), |a, b| b.1.ge(a.1).then_else(a, b), |i| Some(i % 3))),
    ];
    for graph in kept {
        assert!(graph.contains("tensor_scatter("), "{graph}");
        assert!(!graph.contains("while(") && !graph.contains("sort("), "{graph}");
    }
    // What is kept depends on more than an order.
    let other = text(tagged.permute(base(), |a, b| (a.0 + b.0).gt(3).then_else(a, b), |i| Some(i % 3)));
    assert!(other.contains("while("), "{other}");
}
