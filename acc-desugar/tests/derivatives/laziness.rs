//! What a function does not evaluate its derivatives do not evaluate either, not even for its extents.

use crate::support::check_lazy;

#[test]
fn a_foreign_function_in_a_branch_not_taken() {
    let program = "program(x: [2]f64, none: [2]f64, like: [2]f64) {
      y: [2]f64 = foreign(x, name: \"nobody's\", fallback: |x: [2]f64| {
        fails: [2]f64 = map(like, f: |%v: f64| none[0i64, 0i64])
        yield fails
      })
      z: [2]f64 = acond(cond: || { yield false }, then: { yield y }, else: { yield x })
      yield z
    }";
    check_lazy(program, &[&[1, 1], &[0, 5], &[1, 1]]);
}

#[test]
fn a_loop_whose_result_a_loop_without_steps_would_read() {
    let program = "program(x: [1]f64) {
      begin: [0]i64 = generate(shape: || (), f: || 0i64)
      y: [1]f64 = acond(cond: || { yield true }, then: {
        n: [0]i64, z: [1]f64 = awhile(begin, x, test: |n: [0]i64, z: [1]f64| {
          more: [0]bool = map(n, f: |%n: i64| lt(%n, 2i64))
          yield more
        }, step: |n: [0]i64, z: [1]f64| {
          fails: [1]f64 = imap(x, f: |%i: i64, %v: f64| max(%v, cast(quot(1i64, %i), f64)))
          next: [0]i64 = map(n, f: |%n: i64| add(%n, 1i64))
          yield next, fails
        })
        yield z
      }, else: { yield x })
      m: [0]i64, result: [1]f64 = awhile(begin, x, test: |m: [0]i64, r: [1]f64| {
        more: [0]bool = map(m, f: |%m: i64| lt(%m, 0i64))
        yield more
      }, step: |m: [0]i64, r: [1]f64| {
        read: [1]f64 = map(y, f: |%v: f64| mul(%v, %v))
        next: [0]i64 = map(m, f: |%m: i64| add(%m, 1i64))
        yield next, read
      })
      yield result
    }";
    check_lazy(program, &[&[1]]);
}

#[test]
fn an_initial_value_of_no_rows() {
    let program = "program(x: [2]f64, starts: [1]i64) {
      sums: [2]f64 = fold_seg(x, offsets: starts, f: |%a: f64, %b: f64| add(%a, %b), init: || { yield x[0i64, 0i64] })
      yield sums
    }";
    check_lazy(program, &[&[0, 2], &[1]]);
}

#[test]
fn a_read_behind_a_comparison_with_the_extent_of_what_is_read() {
    let program = "program(x: [2]f64) {
      y: [2]f64 = stencil(x, windows: [[3, 3]], boundaries: [|%i: i64, %j: i64| {
        %three: i64 = 3
        %there: bool = lt(%three, extent(x, 0))
        %v: f64 = if %there { yield x[%three, %j] } else { yield 1.0f64 }
        yield abs(%v)
      }], f: |%a: f64, %b: f64, %c: f64, %d: f64, %e: f64, %f: f64, %g: f64, %h: f64, %i: f64| { yield %a })
      yield y
    }";
    check_lazy(program, &[&[1, 2]]);
}
