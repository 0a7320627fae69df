//! Permutations in which many elements have one target, with operators that libtorch does not know: what the interpreter
//! yields, in few steps if the operator is associative.
#![cfg(feature = "libtorch")]

use acc_core::interp::Interpreter;
use acc_core::prelude::*;
use acc_core::timeline::{self, Kind};
use backend_graph::{Libtorch, Options};
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

/// Recordings are the process's, so one test runs at a time.
static ONE: Mutex<()> = Mutex::new(());

/// The elements of the permutations.
const ELEMENTS: usize = 3000;

/// How often the elements are gone through in rounds: one after the other of each target,
const IN_ORDER: usize = 1;
/// or in chunks, once to guess and once to find the guess right,
const GUESSED: usize = 2;
/// and once more to look for faults,
const WITH_FAULTS: usize = 3;
/// or one after the other after all.
const GUESSED_WRONG: usize = 3;

/// Runs a program on both executors and compares; how many loops ran.
#[track_caller]
fn loops<A: Arrays + PartialEq + Debug>(program: impl IntoAcc<A>) -> usize {
    loops_on(&Libtorch::cpu(), program)
}

#[track_caller]
fn loops_on<A: Arrays + PartialEq + Debug>(backend: &Libtorch, program: impl IntoAcc<A>) -> usize {
    let program = program.into_acc();
    let want = Interpreter::new().run(&program).unwrap();
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let recording = timeline::record();
    let got = backend.run(&program);
    let spans = recording.stop().spans;
    assert_eq!(got.unwrap(), want);
    spans.iter().filter(|s| s.kind == Kind::Tensor && s.name == "while").count()
}

/// Both fault in the same way.
#[track_caller]
fn fault<A: Arrays + PartialEq + Debug>(program: impl IntoAcc<A>) {
    let program = program.into_acc();
    let want = Interpreter::new().run(&program).unwrap_err();
    let _alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(Libtorch::cpu().run(&program).unwrap_err().to_string(), want.to_string());
}

/// Numbers that look random, no two of the elements' equal.
fn number(i: Exp<i64>) -> Exp<i64> {
    (i + 7) * 1_103_515_245 % 65_537
}

fn numbers() -> Acc<Vector<i64>> {
    generate(ELEMENTS, number)
}

/// One of four targets, the last of which gets none; some elements are dropped.
fn target(i: Exp<i64>) -> Exp<Option<i64>> {
    (i % 11).ne(4).then_some((i % 5).eq(1).then_else(1i64, (i % 400).eq(0).then_else(2i64, 0)))
}

type Pair<T> = (Exp<T>, Exp<T>);

/// The greater of two pairs.
fn greater((a, i): Pair<i64>, (b, j): Pair<i64>) -> Pair<i64> {
    let better = a.gt(b) | (a.eq(b) & i.gt(j));
    (better.then_else(a, b), better.then_else(i, j))
}

/// Affine maps, one after the other: it matters which is the first.
fn affine((a, b): Pair<i64>, (c, d): Pair<i64>) -> Pair<i64> {
    (a * c, a * d + b)
}

/// Some bits of both, some of either.
fn bits(a: Exp<i64>, b: Exp<i64>) -> Exp<i64> {
    (a & b) | ((a | b) & 12)
}

#[test]
fn associative_operators_are_guessed() {
    let pairs = numbers().imap(|i, x| (x % 100, i));
    assert_eq!(loops(numbers().permute(fill(4, 0), bits, target)), GUESSED);
    assert_eq!(loops(pairs.permute(fill(4, (-1, -1)), greater, target)), GUESSED);
    assert_eq!(loops(pairs.permute(fill(4, (1, 0)), affine, target)), GUESSED);
    let rows = generate((60, 50), |(i, j)| number(i * 50 + j));
    assert_eq!(loops(rows.permute(fill((2, 3), 0), bits, |(i, j)| Some((i % 2, j % 3)))), GUESSED);
    let mixed = numbers().map(|x| (x.gt(9), x.to::<u8>(), x.to::<f32>()));
    let last = |(p, a, x): (Exp<bool>, Exp<u8>, Exp<f32>), (q, b, y): (Exp<bool>, Exp<u8>, Exp<f32>)| {
        (p | q, a.gt(b).then_else(a, b), p.then_else(x, y))
    };
    let start = fill(4, (false, 3u8, -1.0f32));
    assert_eq!(loops(mixed.permute(start, last, target)), GUESSED);
}

#[test]
fn others_combine_in_order() {
    assert_eq!(loops(numbers().permute(fill(4, 5), |new, old| old * 31 + new, target)), GUESSED_WRONG);
    // As good as associative up to one late element.
    let late = |new: Exp<i64>, old: Exp<i64>| new.eq(number(lift(2900i64))).then_else(old * 3 + 1, new.max(old));
    assert_eq!(loops(numbers().permute(fill(4, 5), late, target)), GUESSED_WRONG);
    // Few elements of each target need no guess, nor do those that are dropped.
    assert_eq!(loops(numbers().permute(fill(100, 5), |new, old| old * 31 + new, |i| Some(i % 100))), IN_ORDER);
    assert_eq!(loops(numbers().permute(fill(4, 5), bits, |i: Exp<i64>| i.lt(9).then_some(i % 4))), IN_ORDER);
    assert_eq!(loops(generate(0, number).permute(fill(4, 5), bits, target)), IN_ORDER);
    assert_eq!(loops(numbers().permute(fill(0, 5), bits, |i: Exp<i64>| i.lt(0).then_some(i))), IN_ORDER);
}

#[test]
fn operators_that_may_fault_do_so_in_order_alone() {
    let gcd = |a: Exp<i64>, b: Exp<i64>| a.gcd(b);
    assert_eq!(loops(numbers().map(|x| x * 6).permute(fill(4, 0), gcd, target)), WITH_FAULTS);
    let unchecked = Libtorch::with(Options::new().checks(false)).unwrap();
    assert_eq!(loops_on(&unchecked, numbers().map(|x| x * 6).permute(fill(4, 0), gcd, target)), GUESSED);
    // States of an automaton, which no element is.
    let next = use_(&Vector::from([1i64, 2, 3, 3, 0, 1, 2, 0]));
    let step = |new: Exp<i64>, old: Exp<i64>| next.index(old * 2 + new % 2);
    assert_eq!(loops(numbers().map(|x| x + 100).permute(fill(4, 0), step, target)), GUESSED_WRONG);
    // One element faults, whatever it is combined with.
    let bad = number(lift(2900i64));
    fault(numbers().permute(fill(4, 0), |new, old| new.max(old) + lift(0i64) / (new - bad), target));
    let table = use_(&Vector::from([0i64]));
    fault(numbers().permute(fill(4, 0), |new, old| new.max(old) + table.index(new.eq(bad).then_else(9, 0)), target));
}

#[test]
fn floats_are_compared_by_their_bits() {
    let numbers = numbers().map(|x| (x % 97).eq(5).then_else(f64::NAN, (x % 50 - 20).to::<f64>() / 7.0));
    let plain = |x: Exp<f64>| (x.is_nan(), bitcast::<f64, u64>(x.is_nan().then_else(0.0, x)));
    let known = |new: Exp<f64>, old: Exp<f64>| (old.is_nan() | old.lt(new)).then_else(new, old);
    assert_eq!(loops(numbers.permute(fill(4, f64::NAN), known, target).map(plain)), GUESSED);
    let least = |new: Exp<f64>, old: Exp<f64>| (new.is_nan() | new.le(old)).and(!old.is_nan()).then_else(new, old);
    assert_eq!(loops(numbers.permute(fill(4, 1.0), least, target).map(plain)), GUESSED);
    // Of equal ones the last, of zeros, too.
    let zeros = numbers.map(|x| (x * 0.0).is_nan().then_else(-0.0, x * 0.0));
    let last = |new: Exp<f64>, old: Exp<f64>| new.lt(old).then_else(old, new);
    assert_eq!(loops(zeros.permute(fill(4, -1.0), last, target).map(plain)), GUESSED);
    // Associative but for rounding.
    let halves = numbers.map(|x| x.is_nan().then_else(0.5, x));
    let sum = |new: Exp<f64>, old: Exp<f64>| new.gt(9.0).then_else(new, old) * 0.0 + (old + new);
    assert_eq!(loops(halves.permute(fill(4, 0.0), sum, target).map(plain)), GUESSED_WRONG);
}
