//! Forms that graphs have for indices that are divided, for loops of lanes with bounds of their own, and for loops over arrays:
//! they agree with the interpreter.
#![cfg(feature = "libtorch")]

use acc_core::interp::Interpreter;
use acc_core::prelude::*;
use backend_graph::{Libtorch, Options};
use std::fmt::Debug;

/// Runs a program on both, without checks, too, and compares.
#[track_caller]
fn agree<A: Arrays + PartialEq + Debug>(program: impl IntoAcc<A>) -> A {
    let program = program.into_acc();
    let want = Interpreter::new().run(&program).unwrap();
    for executor in [Libtorch::cpu(), Libtorch::with(Options::new().checks(false)).expect("the CPU")] {
        let got = executor.run(&program).unwrap_or_else(|e| panic!("{e}\n{}", text(&program)));
        assert_eq!(got, want, "{}", text(&program));
    }
    want
}

/// Both fault in the same way.
#[track_caller]
fn fault<A: Arrays + PartialEq + Debug>(program: impl IntoAcc<A>) {
    let program = program.into_acc();
    let want = Interpreter::new().run(&program).unwrap_err();
    let got = Libtorch::cpu().run(&program).unwrap_err();
    assert_eq!(got.to_string(), want.to_string(), "{}", text(&program));
}

fn text<A: Arrays>(program: &Acc<A>) -> String {
    let graph = backend_graph::graph_of(&program.program().unwrap().program).unwrap();
    backend_graph::export(&graph, backend_graph::Format::Text)
}

fn numbers(n: i64) -> Acc<Vector<i64>> {
    use_(&Vector::from((0..n).map(|i| i * 7 % 23 - 5).collect::<Vec<i64>>()))
}

fn table(rows: i64, columns: i64) -> Acc<Matrix<i64>> {
    let values = (0..rows * columns).map(|i| i * 11 % 17).collect();
    use_(&Matrix::from_vec((rows as usize, columns as usize), values).unwrap())
}

const SIZES: [i64; 9] = [0, 1, 2, 3, 7, 8, 9, 16, 35];

#[test]
fn arrays_are_interleaved_repeated_and_taken_apart() {
    for n in SIZES {
        let (a, b) = (numbers(n), numbers(n).map(|x| x * 100));
        let half = |i: Exp<i64>| i / 2;
        agree(generate(a.length() * 2, |i| (i % 2).eq(0).then_else(a.index(half(i)), b.index(half(i)))));
        agree(generate(a.length() * 3, |i| (i % 3).eq(1).then_else(a.index(i / 3), b.index(i / 3) + i)));
        agree(generate(a.length() * 4, |i| a.index(i / 4)));
        agree(generate(a.length() * 3, |i| a.index(i % a.length())));
        agree(generate(n as usize, |i| (i / 3, i % 3, i.div_floor(4), i.mod_floor(4))));
        agree(generate(n as usize, |i| (i / 6, i % 6 / 2, i % 2)));
        agree(a.imap(|i, x| x * (i % 2) + i / 2));
        agree(a.backpermute(n as usize, |i| i / 2));
        // By much more than there is.
        agree(generate(a.length(), |i| (i / 1_000_000_007, i % 1_000_000_007, i % 3_000_000_000_000)));
        agree(generate(a.length(), |i| b.index(i % 1_000_000_000_000 / 1_000_000_000) * (i % 4096)));
        agree(generate(a.length(), |i| (i % i64::MAX, i / (i64::MAX - 1), i % i64::MAX / (i64::MAX / 2))));
        agree(a.backpermute((5, a.length()), |(_, j)| j.mod_floor(i64::MAX)));
        // An extent that need not be a multiple.
        agree(generate(a.length(), |i| a.index(i / 4) * 10 + i % 4));
        agree(generate(a.length() + 3, |i| b.map(|x| x + 1).length() * 100 + i / 8 * 10 + i % 8));
    }
}

#[test]
fn linear_positions_are_indices() {
    for (rows, columns) in [(0, 3), (3, 0), (1, 1), (1, 5), (4, 3), (7, 8), (9, 2)] {
        let m = table(rows, columns);
        let (h, w) = m.shape();
        agree(generate(h * w, |i| m.index((i / w, i % w)) + 1));
        agree(generate((h, w), |(i, j)| m.index(((i * w + j) / w, (i * w + j) % w))));
        agree(generate((h * 2, w * 2), |(i, j)| m.index((i / 2, j / 2)) * 4 + i % 2 * 2 + j % 2));
        agree(generate(h * w * 2, |i| m.index((i / 2 / w, i / 2 % w)) * (i % 2)));
        let deep = generate((h, w, 2), |(i, j, k)| m.index((i, j)) * 2 + k).compute();
        agree(generate(h * w * 2, |i| deep.index((i / (w * 2), i / 2 % w, i % 2))));
    }
}

#[test]
fn sums_over_blocks() {
    for (rows, columns) in [(0, 4), (4, 4), (8, 4), (12, 8)] {
        let (m, c) = (table(rows, columns).map(|x| x.to::<f32>()), table(4, 4).map(|x| x.to::<f32>()));
        let (h, w) = m.shape();
        let down = generate((h, w, 4), |(i, j, k)| c.index((i % 4, k)) * m.index((i / 4 * 4 + k, j))).sum();
        agree(generate((h, w, 4), |(i, j, k)| c.index((j % 4, k)) * down.index((i, j / 4 * 4 + k))).sum());
        agree(
            generate((h, w, 4, 4), |(i, j, a, b)| {
                m.index((i / 4 * 4 + a, j / 4 * 4 + b)) * c.index((i % 4, a)) * c.index((j % 4, b))
            })
            .sum()
            .sum(),
        );
        agree(generate((h, w, 4), |(i, j, k)| m.index((i / 4 * 4 + k, j))).maximum());
    }
    // Blocks that are not whole.
    let m = table(6, 4);
    fault(generate((6, 4, 4), |(i, j, k)| m.index((i / 4 * 4 + k, j))).sum());
}

#[test]
fn what_is_divided_by_may_be_nothing() {
    let (a, none) = (numbers(5), numbers(0));
    fault(a.imap(|i, x| x + i / none.length()));
    fault(generate(a.length(), |i| a.index(i % none.length())));
    agree(generate(none.length(), |i| none.index(i % none.length())));
    fault(generate(a.length(), |i| a.index(i / 2 + 3)));
    fault(generate(a.length() * 2, |i| a.index(i / 2 + i % 2)));
    // Nobody divides by it then.
    let guarded = |i: Exp<i64>| none.length().gt(0).then_else(i % none.length(), 7);
    agree(a.backpermute(5, |i| guarded(i) % 5));
    agree(generate(a.length(), |i| a.index(i).gt(99).then_else(i % none.length(), i / 2)));
    // A position that only lanes behind the last one would have.
    agree(generate(a.length(), |i| (i / 2).lt(5).then_else(a.index((i / 2) * 2), 0) + a.index(i / 2 * 2 + i % 2)));
}

/// The sums of the entries of sparse rows, as a loop for each row.
fn rows_of(offsets: &[i64], entries: i64, columns: i64) -> (Acc<Vector<i64>>, Acc<Vector<i64>>, Acc<Matrix<i64>>) {
    let ids = use_(&Vector::from((0..entries).map(|k| k * 5 % 7).collect::<Vec<i64>>()));
    (use_(&Vector::from(offsets.to_vec())), ids, table(7, columns))
}

#[test]
fn lanes_count_to_bounds_of_their_own() {
    for offsets in [&[0i64][..], &[0, 0], &[0, 4], &[0, 1, 1, 5, 9], &[2, 2, 2, 8], &[0, 3, 1, 4, 0]] {
        let (offsets, ids, table) = rows_of(offsets, 9, 3);
        let rows = offsets.length() - 1;
        let bag = |op: &dyn Fn(Exp<i64>, Exp<i64>) -> Exp<i64>, init: i64| {
            generate((rows, 3), |(b, j)| {
                let (start, end) = (offsets.index(b), offsets.index(b + 1));
                while_((start, init), |(k, _)| k.lt(end), |(k, x)| (k + 1, op(x, table.index((ids.index(k), j))))).1
            })
        };
        agree(bag(&|a, b| a + b, 0));
        agree(bag(&|a, b| a + b, 7));
        agree(bag(&|a, b| a - b, 7));
        agree(bag(&|a, b| a.max(b), -3));
        agree(bag(&|a, b| a ^ b, 1));
        // A vector, the other way round, and both parts of the state.
        let up_to = |i: Exp<i64>| {
            while_((0i64, 0.0f32, 5i64), |(k, ..)| k.le(i), |(k, s, c)| (k + 1, s + (k * c).to::<f32>(), c))
        };
        agree(generate(rows, |b| up_to(offsets.index(b))));
        agree(generate((2, rows), |(i, b)| up_to(offsets.index(b + 1) - i)));
        // Some lanes alone.
        agree(offsets.map(|n| (n % 2).eq(1).then_else(up_to(n).1, -1.0)));
        agree(generate((rows, 2), |(b, j)| j.eq(1).then_else(up_to(offsets.index(b)).1, 0.5)));
        // Inside of a loop that lanes leave one by one.
        agree(offsets.map(|n| while_((n, 0.0f32), |(n, _)| n.gt(0), |(n, s)| (n / 2, s + up_to(n).1)).1));
    }
}

/// What is uniform in lanes and steps is reduced along the steps, and varies along the axes that it varied along.
#[test]
fn loops_reduce_what_is_uniform_along_some_axes() {
    for shape in [(1usize, 0usize), (4, 3), (0, 2)] {
        for bound in [0i64, 1, 5] {
            let least =
                |i: Exp<i64>, x: Exp<i64>| while_((0i64, i), |(k, _)| k.lt(bound), |(k, s)| (k + 1, s.min(x))).1;
            agree(generate(shape, |(i, _)| least(i, 2.into_exp())));
            agree(generate(shape, |(i, j)| least(i, j - 1)));
        }
    }
    let ends = use_(&Vector::from([2i64, 0, 3]));
    let sum = |end: Exp<i64>, x: Exp<i64>| while_((0i64, 0i64), |(k, _)| k.lt(end), |(k, s)| (k + 1, s + x)).1;
    agree(generate((3, 2, 4), |(b, i, _)| sum(ends.index(b), ends.index(b) * 10 + i)));
    agree(generate((3, 2, 4), |(b, _, j)| sum(ends.index(b), ends.index((b + j) % 3))));
    agree(generate((3, 2, 4), |(b, _, _)| sum(ends.index(b), ends.index(b))));
}

/// Of a counter that stays below the divisor every quotient is 0.
#[test]
fn counters_are_divided_by_more_than_their_bounds() {
    for shape in [(1usize, 0usize), (4, 3), (0, 2)] {
        for bound in [0i64, 1, 2, 5] {
            let least = |i: Exp<i64>| while_((0i64, i), |(k, _)| k.lt(bound), |(k, s)| (k + 1, s.min(k / 7))).1;
            agree(generate(shape, |(i, _)| least(i)));
        }
    }
}

#[test]
fn lanes_that_count_beyond_the_end_have_a_fault() {
    let (offsets, ids, table) = rows_of(&[0, 2, 11], 9, 2);
    let sums = |from: Exp<i64>| {
        generate((offsets.length() - from, 2), |(b, j)| {
            let (start, end) = (offsets.index(b), offsets.index(b + 1));
            while_((start, 0i64), |(k, _)| k.lt(end), |(k, x)| (k + 1, x + table.index((ids.index(k), j)))).1
        })
    };
    fault(sums(constant(1)));
    fault(sums(constant(0)));
    agree(sums(constant(2)));
}

#[test]
fn lanes_with_too_many_steps_leave_one_by_one() {
    let counts = use_(&Vector::from([1i64, 9_000_000, 3]));
    agree(counts.map(|n| while_((n - 5, 0i64), |(k, _)| k.lt(n), |(k, s)| (k + 1, s + k)).1));
    let far = use_(&Vector::from([i64::MAX, 4]));
    agree(far.map(|n| while_((n - 2, 0i64), |(k, _)| k.lt(n), |(k, s)| (k + 1, s ^ k)).1));
}

#[test]
fn counters_of_loops_over_arrays_stay_with_the_host() {
    for n in [1i64, 2, 3, 6] {
        let m = table(n, n).imap(|(i, j), x| x + i.eq(j).then_else(40i64, 0));
        // Elimination, as it is written for matrices: what is below and right of the pivot.
        let (_, eliminated) = awhile(
            (unit(0i64), m),
            |(k, _)| k.the().lt(n),
            |(k, a)| {
                let p = k.the();
                let next = a.imap(|(i, j), x| {
                    let factor = a.index((i, p)) / 3;
                    i.gt(p)
                        .and(j.gt(p))
                        .then_else(x - factor * a.index((p, j)) % 101, i.gt(p).and(j.eq(p)).then_else(factor, x))
                });
                (k.map(|k| k + 1), next)
            },
        );
        agree(eliminated);
        // A row that becomes shorter, a counter that halves, and a condition in the state.
        let row = numbers(n);
        agree(awhile(
            (unit(n), row),
            |(k, _)| k.the().gt(1),
            |(k, v)| {
                let len = k.the();
                let next = v.imap(|i, x| i.lt(len / 2).then_else(v.index(i * 2) + v.index(i * 2 + 1), x));
                (k.map(|k| k / 2), next)
            },
        ));
        agree(awhile(
            (unit(true), unit(0i64), numbers(n)),
            |(go, ..)| go,
            |(_, k, v)| {
                let last = k.map(|k| k.lt(3));
                (last, k.map(|k| k + 1), v.zip_with(v.reverse(), |x, y| x - y))
            },
        ));
        // Pairs in the state, a counter that is only passed on, and one that depends on the arrays.
        agree(awhile(
            (unit((0i64, 2.5f32)), numbers(n)),
            |(s, _)| s.map(|(k, _)| k.lt(4)),
            |(s, v)| (s.map(|(k, x)| (k + 1, x * 2.0)), v.map(|x| x + s.the().0)),
        ));
        agree(awhile(
            (unit(7i64), unit(0i64), numbers(n)),
            |(_, k, _)| k.the().lt(3),
            |(c, k, v)| (c.clone(), k.map(|k| k + 1), v.map(|x| x * c.the())),
        ));
        agree(awhile(
            (unit(0i64), numbers(n)),
            |(k, _)| k.the().lt(50),
            |(k, v)| (k.zip_with(v.map(|x| x.abs()).sum(), |k, s| k + s + 1), v.map(|x| x + 1)),
        ));
    }
    // The initial value is computed, and so is one that has a fault.
    let m = table(3, 3);
    agree(awhile(
        (numbers(9).maximum(), m.clone()),
        |(k, _)| k.the().gt(0),
        |(k, m)| (k.map(|k| k - 4), m.map(|x| x + 1)),
    ));
    let none = numbers(0);
    fault(awhile((none.maximum(), m.clone()), |(k, _)| k.the().gt(0), |(k, m)| (k.map(|k| k - 4), m)));
    fault(awhile(
        (unit(8i64), m.clone()),
        |(k, _)| k.the().lt(9),
        |(k, m)| {
            let (i, divisor) = (k.the(), k.the() - 8);
            (k.map(|k| k / divisor), m.map(|x| x + i))
        },
    ));
    // A read that the counter leads out of bounds, where no lane does it, and where one does.
    let beyond = |from: i64| {
        awhile(
            (unit(0i64), m.clone()),
            |(k, _)| k.the().lt(5),
            move |(k, m)| {
                let at = k.the();
                (k.map(|k| k + 1), m.imap(|(i, j), x| i.ge(at + from).then_else(m.index((at, j)), x)))
            },
        )
    };
    agree(beyond(0));
    fault(beyond(-2));
}

#[test]
fn positions_that_are_chosen_one_by_one() {
    for n in [0i64, 1, 2, 5, 9] {
        let v = numbers(n);
        let rows: Vec<_> = (0..4i64).map(|k| v.map(move |x| x * 10 + k)).collect();
        agree(generate((4, v.length()), |(q, i)| {
            rows.iter().enumerate().fold(constant(-1i64), |other, (k, r)| q.eq(k as i64).then_else(r.index(i), other))
        }));
        agree(generate(v.length(), |i| i.ne(2).then_else(v.index(i), 99)));
        agree(generate(v.length(), |i| i.eq(v.length() - 1).then_else(0, v.index(i + 1))));
        agree(generate(v.length(), |i| i.eq(0).then_else(0, v.index(i - 1))));
        agree(generate(v.length(), |i| i.eq(i64::MAX).then_else(0, v.index(i))));
        agree(generate(v.length(), |i| i.eq(-3).then_else(v.index(i), 1)));
    }
}
