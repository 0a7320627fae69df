//! Chains of operations that go through large arrays block by block.
#![cfg(feature = "libtorch")]

use acc_core::interp::Interpreter;
use acc_core::prelude::*;
use acc_core::timeline::{self, Kind};
use backend_graph::{Libtorch, Options};
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Recordings are the process's, so one test runs at a time.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a program in blocks of so many bytes and compares; how often each operation ran.
#[track_caller]
fn times<A: Arrays + PartialEq + Debug>(program: impl IntoAcc<A>, bytes: usize) -> Vec<(String, usize)> {
    let program = program.into_acc();
    let want = Interpreter::new().run(&program).unwrap();
    let _alone = alone();
    let recording = timeline::record();
    let got = Libtorch::with(Options::new().block_bytes(bytes)).expect("the CPU").run(&program).unwrap();
    let spans = recording.stop().spans;
    assert_eq!(got, want);
    let mut times: Vec<(String, usize)> = Vec::new();
    for span in spans.into_iter().filter(|s| s.kind == Kind::Tensor) {
        match times.iter_mut().find(|(name, _)| *name == span.name) {
            Some((_, n)) => *n += 1,
            None => times.push((span.name, 1)),
        }
    }
    times
}

/// How often an operation ran.
fn of(times: &[(String, usize)], name: &str) -> usize {
    times.iter().filter(|(n, _)| n == name).map(|(_, n)| *n).sum()
}

fn chain(x: Exp<i64>) -> Exp<i64> {
    ((x * 3 + 1) * x - 2) * x
}

#[test]
fn a_chain_goes_through_blocks_of_a_vector() {
    let xs = use_(&Vector::from((0..5000).collect::<Vec<i64>>()));
    // Blocks of 64 rows, eight bytes each: 5000 elements are 79 of them, each of which is multiplied three times.
    assert_eq!(of(&times(xs.map(chain), 512), "mul"), 3 * 79);
    // Too few blocks in all that is computed, and none at all.
    assert_eq!(of(&times(xs.map(chain), 4096), "mul"), 3);
    assert_eq!(of(&times(xs.map(chain), 0), "mul"), 3);
    // Where all values are kept, blocks are not worth it.
    let square = xs.map(|x| x * x);
    assert_eq!(of(&times((square.clone(), square.map(|x| x + 1), xs.map(|x| x - 2)), 512), "mul"), 1);
}

#[test]
fn a_vector_that_is_reduced_goes_through_blocks_whose_totals_are_reduced_once_more() {
    let xs = use_(&Vector::from((0..5000).map(|k| k * 7919 % 1009 - 500).collect::<Vec<i64>>()));
    let odd = xs.map(|x| ((x & 1).eq(1)).then_else(1i64, 0i64));
    // 79 blocks of 64 rows.
    for program in [odd.sum(), xs.map(chain).sum(), xs.map(chain).minimum(), xs.map(chain).maximum()] {
        assert_eq!(of(&times(program.clone(), 512), "reduce"), 79);
        assert_eq!(of(&times(program, 0), "reduce"), 1);
    }
    let floats = xs.map(|x| (x & 7).to::<f32>());
    let sums = floats.map(|x| ((x + 1.0) * x - 2.0) * x - 1.0).sum();
    assert!(of(&times(sums, 256), "reduce") > 1);
    let odd = xs.map(|x| (x * x + 1).rem(3).ne(0).and(x.gt(-600)));
    assert!(of(&times((odd.and(), odd.or()), 512), "reduce") > 2);
    // The total of one chain in another, of which every element needs it.
    let total = xs.map(chain).sum();
    times(xs.map(|x| chain(x) + total.the()).sum(), 512);
    // A chain that is needed as a whole, too.
    let all = xs.map(chain);
    times((all.sum(), all), 512);
}

#[test]
fn rows_go_with_what_all_of_them_share() {
    let m = use_(&Matrix::from_vec((1500, 5), (0..7500).collect::<Vec<i64>>()).unwrap());
    let v = use_(&Vector::from([3i64, 1, 4, 1, 5]));
    let program = m.imap(|(i, j), x| chain(x * v.index(j) + i));
    assert!(of(&times(program.clone(), 2560), "mul") > 4);
    // Sums of rows, and what rows have in common with them.
    let sums = program.sum();
    let less = program.imap(|(i, _), x| chain(x - sums.index(i)));
    assert!(of(&times((less, sums), 2560), "reduce") > 1);
}

/// Distances between points, and normalised rows with a scale: of numbers that make no difference in which order they are added.
#[test]
fn rows_are_reduced_and_normalised_in_blocks() {
    let points = |n: usize| generate((n, 4), |(i, k)| ((i * 7 + k * 5) % 9).to::<f32>()).compute();
    let (a, b) = (points(1000), points(8));
    let squares = generate((1000, 8, 4), |(i, j, k)| {
        let less = a.index((i, k)) - b.index((j, k));
        less * less
    });
    // Blocks of four rows, 128 bytes each.
    assert_eq!(of(&times(squares.sum().map(|x| x * 2.0), 512), "contract"), 250);
    assert_eq!(of(&times(squares.sum(), 512), "contract"), 250);
    // Of the sums themselves nothing as wide is left out.
    let m = use_(&Matrix::from_vec((1000, 32), (0..32_000).collect::<Vec<i64>>()).unwrap());
    let sums = m.sum();
    assert_eq!(of(&times(m.imap(|(i, _), x| x - sums.index(i)), 512), "sub"), 1);
    let signs = (0..32_000).map(|k| ((k / 32 + k) % 2 * 2 - 1) as f32).collect();
    let m = use_(&Matrix::from_vec((1000, 32), signs).unwrap());
    let mean = m.mean();
    let variance = m.imap(|(i, _), x| (x - mean.index(i)) * (x - mean.index(i))).mean();
    let normal = m.imap(|(i, j), x| (x - mean.index(i)) / (variance.index(i) + 3.0).sqrt() * j.to::<f32>());
    let then = normal.map(|y| ((y + 1.0) * y - 2.0) * y);
    assert_eq!(of(&times(then.clone(), 512), "normalize"), 250);
    assert_eq!(of(&times(then, 0), "normalize"), 1);
}

/// A product of matrices is one, however large the product of its operands would be.
#[test]
fn products_of_matrices_are_whole() {
    let m = |n: usize, k: usize| generate((n, k), |(i, j)| ((i * 7 + j * 5) % 9).to::<f32>()).compute();
    let product = m(200, 8).matmul(m(8, 40)).imap(|(i, j), x| j.le(i).then_else(x * 0.5, 0.0f32));
    let times = times(product.map(|x| ((x + 1.0) * x - 2.0) * x), 1024);
    assert_eq!(of(&times, "contract"), 1);
    assert!(of(&times, "where") > 1);
}

#[test]
fn what_several_blocks_read_stays_whole() {
    let table = use_(&Vector::from((0..77).map(|x| x * x).collect::<Vec<i64>>()));
    let xs = use_(&Vector::from((0..5000).collect::<Vec<i64>>()));
    let program = xs.map(|x| chain(table.index(x % 77) + x));
    assert!(of(&times(program, 512), "take") > 1);
    // A vector that is read at positions and element by element is not cut.
    let program = xs.map(|x| chain(x) + chain(xs.index(x.rem(5000))));
    times(program, 512);
}

#[test]
fn faults_are_those_of_the_interpreter() {
    let xs = use_(&Vector::from((0..5000).collect::<Vec<i64>>()));
    let table = use_(&Vector::from((0..4900).collect::<Vec<i64>>()));
    for program in [xs.map(|x| chain(table.index(x + 3) + x)), xs.map(|x| chain(5000 / (x - 500)))] {
        let want = Interpreter::new().run(&program).unwrap_err();
        let _alone = alone();
        let got = Libtorch::with(Options::new().block_bytes(512)).expect("the CPU").run(&program).unwrap_err();
        assert_eq!(got.to_string(), want.to_string());
    }
}

#[test]
fn loops_run_their_steps_in_blocks() {
    let xs = use_(&Vector::from((0..5000).collect::<Vec<i64>>()));
    let program = awhile(
        (&unit(0i64), &xs),
        |(k, _): (Acc<Scalar<i64>>, Acc<Vector<i64>>)| k.map(|k| k.lt(5)),
        |(k, xs): (Acc<Scalar<i64>>, Acc<Vector<i64>>)| (k.map(|k| k + 1), xs.map(chain)),
    );
    assert_eq!(of(&times(program.1, 512), "mul"), 5 * 3 * 79);
    // Lanes that leave a loop at different times.
    let program = xs.map(|x| while_(x + 1, |x| x.gt(1), |x| (x % 2).eq(0).then_else(x / 2, x * 3 + 1)));
    times(program, 512);
}

#[test]
fn blocks_of_the_usual_size() {
    let xs = generate(400_001, |i| i * 7 % 1001);
    assert!(of(&times(xs.compute().map(|x| chain(chain(chain(x)))), 256 << 10), "mul") > 9);
    let program = xs.compute().map(|x| {
        let y = chain(chain(chain(x))).to::<f64>();
        x.rem(3).eq(0).then_else(y * 0.5, y + 0.25)
    });
    let want = Interpreter::new().run(&program).unwrap();
    let _alone = alone();
    assert_eq!(Libtorch::cpu().run(&program).unwrap(), want);
}

#[test]
fn what_another_block_reads_is_not_written_to() {
    let xs = use_(&Vector::from((0..5000).collect::<Vec<i64>>()));
    // One element of the array, its elements further on, and its columns, while its rows are used for the last time.
    let sums = xs.scanl1(|a, b| a + b);
    let fifth = sums.index(5usize);
    let program = sums.map(|x| {
        let d = (x - fifth) * 3;
        (x + d) * 7 - d * d
    });
    assert!(of(&times(program, 512), "mul") > 3);
    let permuted = sums.zip_with(sums.tail(), |x, y| {
        let d = (x - y) * 3;
        (x + d) * 7 - d * d
    });
    times(permuted, 512);
    let m = use_(&Matrix::from_vec((100, 100), (0..10_000).collect::<Vec<i64>>()).unwrap()).scanl1(|a, b| a + b);
    let program = m.imap(|(i, j), x| {
        let d = (x - m.index((j, i))) * 3;
        (x + d) * 7 - d * d
    });
    times(program, 512);
}

/// Rows that are longer than blocks go one after the other, and checks of what they read do not end a group.
#[test]
fn long_rows_and_checks() {
    let points = |n: usize| generate((n, 16), |(i, k)| ((i * 7 + k * 5) % 9).to::<f32>()).compute();
    let (a, b) = (points(100), points(40));
    // Rows of 40 by 16 numbers, 2560 bytes.
    let distances = generate((100, 40, 16), |(i, j, k)| (a.index((i, k)) - b.index((j, k))).abs()).sum();
    let times_of = times(distances.clone(), 1024);
    assert_eq!((of(&times_of, "sub"), of(&times_of, "reduce")), (100, 100));
    assert_eq!(of(&times(distances, 0), "sub"), 1);
    // A few rows for many threads are not worth it.
    let c = points(4000);
    let few = generate((2, 4000, 16), |(i, j, k)| (a.index((i, k)) - c.index((j, k))).abs()).sum();
    assert_eq!(of(&times(few, 1024), "sub"), 1);
}

/// A position that only some rows have out of bounds is found in blocks, too.
#[test]
fn faults_of_rows() {
    let xs = use_(&Vector::from((0..5000).map(|k| k * 13 % 4999).collect::<Vec<i64>>()));
    let table = use_(&Matrix::from_vec((4990, 3), (0..14_970).collect::<Vec<i64>>()).unwrap());
    let program = generate((5000, 3), |(i, k)| chain(table.index((xs.index(i), k)) + i)).sum();
    let want = Interpreter::new().run(&program).unwrap_err();
    let _alone = alone();
    let got = Libtorch::with(Options::new().block_bytes(512)).expect("the CPU").run(&program).unwrap_err();
    assert_eq!(got.to_string(), want.to_string());
}
