//! Schedules: the loops that steps make, and what is said of steps that cannot be done.

use acc_core::prelude::*;
use acc_core::text;
use acc_core::verify::verify;

fn run<A: Arrays>(p: Acc<A>) -> A {
    Interpreter::new().run(p).unwrap_or_else(|e| panic!("{e}"))
}

fn matrix() -> Acc<Matrix<f32>> {
    use_(&Matrix::from([[1.0f32, 2.0], [3.0, 4.0]])).map(|x| x * 2.0)
}

/// The error of a matrix with a schedule, without where it is.
fn refused(s: &Schedule) -> String {
    let text = Interpreter::new().run(matrix().scheduled(s)).expect_err("no schedule").to_string();
    let (before, why) = text.split_once(" cannot be: ").expect("the error of a schedule");
    assert!(before.starts_with("invalid program: the schedule at ") && before.contains("schedules.rs:"), "{text}");
    why.replace("\n  its loops are", " in")
}

#[test]
fn different_steps_that_make_the_same_loops_are_one_schedule() {
    let by_order = Schedule::new(|s, [i, j]| {
        let (ib, i) = s.split(i, 8);
        s.order(&[ib, j, i]).unroll(i);
    });
    let by_swaps = Schedule::new(|s, [i, j]| {
        let (_, i) = s.split(i, 8);
        s.interchange(i, j).unroll(i);
    });
    assert_eq!(by_order, by_swaps);
    let undone = Schedule::new(|s, [i, j]| {
        let ([ib, _], [i, _]) = s.tile([(i, 8), (j, 16)]);
        s.order(&[ib, i]);
    });
    assert_eq!(undone.to_string(), "[i0 by 8, i1 by 16, i0, i1]");
    assert_eq!(
        undone.then(|s, [ib, jb, i, j]| {
            s.order(&[ib, i, jb, j]);
            s.merge(ib, i);
            s.merge(jb, j);
        }),
        Schedule::new(|_, [_, _]| {})
    );
    // A program is the same whatever steps made its loops.
    let text = |s| matrix().scheduled(s).program().expect("a program").program.to_string();
    assert_eq!(text(&by_order), text(&by_swaps));
    assert!(text(&by_order).contains("loops: [i0 by 8, i1, unrolled i0]"), "{}", text(&by_order));
}

#[test]
fn collapsed_axes_are_collapsed_further() {
    let three = Schedule::new(|s, [i, j, k, _]| {
        let last = s.collapse(j, k);
        let all = s.collapse(i, last);
        let (tiles, all) = s.split(all, 16);
        s.parallel(tiles).vectorize(all);
    });
    assert_eq!(three.to_string(), "[threads i0 by 16, lanes i0, i3] collapse i0 to i2");
    let more = three.then(|s, [_, _, k]| _ = s.split(k, 4));
    assert_eq!(more.to_string(), "[threads i0 by 16, lanes i0, i3 by 4, i3] collapse i0 to i2");
    // The axis of the tiles of partial results is one of the array.
    let tiles = Schedule::new(|s, [i, j, k]| {
        let tiles = s.regroup(k, 8);
        let rows = s.collapse(i, j);
        s.collapse(rows, tiles);
    });
    assert_eq!(tiles.to_string(), "[i0, i3] regroup i2 by 8 collapse i0 to i2");
    let after = Schedule::new(|s, [i, j, k]| {
        s.collapse(i, j);
        s.regroup(k, 8);
    });
    assert_eq!(after.to_string(), "[i0, i2, i3] regroup i2 by 8 collapse i0 to i1");
}

#[test]
fn a_schedule_changes_no_result() {
    let want = run(matrix()).to_vec();
    let s = Schedule::new(|s, [i, j]| {
        s.interchange(i, j).vectorize(i);
    });
    assert_eq!(run(matrix().scheduled(&s)).to_vec(), want);
    let one = Schedule::new(|s, [i, j]| {
        let both = s.collapse(i, j);
        s.vectorize(both);
    });
    assert_eq!(run(matrix().scheduled(&one)).to_vec(), want);
    let (sums, rows) = (matrix().fold(0.0, |a, b| a + b), Schedule::new(|s, [i, k]| _ = s.interchange(i, k)));
    assert_eq!(run(sums.scheduled(&rows)).to_vec(), [6.0, 14.0]);
}

#[test]
fn derivatives_go_through_schedules() {
    let xs = Vector::from([1.0f32, 2.0, 3.0]);
    let halves = Schedule::new(|s, [i]| _ = s.split(i, 2));
    let squares = |xs: Acc<Vector<f32>>| xs.map(|x| x * x).scheduled(&halves).sum();
    assert_eq!(run(grad(use_(&xs), squares)).to_vec(), [2.0, 4.0, 6.0]);
    let along = use_(&Vector::from([1.0f32, 0.0, 1.0]));
    assert_eq!(run(jvp(use_(&xs), along, squares).1).value(), 8.0);
}

#[test]
fn steps_that_cannot_be_done() {
    let other = std::cell::Cell::new(None);
    let _ = Schedule::new(|_, [i]| other.set(Some(i)));
    let cases: [(Schedule, &str); 35] = [
        (
            Schedule::new(|s, [i, _]| _ = s.split(i, 0)),
            "`split` of `i0` into tiles of 0: a tile has at least 2 iterations in [i0, i0, i1]",
        ),
        (
            Schedule::new(|s, [i, _]| _ = s.split(i, 1)),
            "`split` of `i0` into tiles of 1: a tile has at least 2 iterations in [i0, i0, i1]",
        ),
        (
            Schedule::new(|s, [i, _]| {
                let (outer, _) = s.split(i, 3);
                s.split(outer, usize::MAX);
            }),
            "`split` of `i0 by 3` into tiles of 18446744073709551615: there are no so large tiles in [i0 by 3, i0, i1]",
        ),
        (
            Schedule::new(|s, [i, _]| {
                s.split(i, 4);
                s.unroll(i);
            }),
            "`unroll` of a loop that is gone: it was split, merged or collapsed in [i0 by 4, i0, i1]",
        ),
        (
            Schedule::new(|s, [i, _]| _ = s.order(&[i, other.get().expect("a loop")])),
            "`order` of a loop that is one of another nest in [i0, i1]",
        ),
        (Schedule::new(|s, [i, _]| _ = s.order(&[i, i])), "`order` has `i0` twice in [i0, i1]"),
        (
            Schedule::new(|s, [i, j]| _ = s.merge(i, j)),
            "`merge` of `i0` and `i1`: the second one must be over the same axis, directly within in [i0, i1]",
        ),
        (
            Schedule::new(|s, [i, _]| _ = s.vectorize(i).parallel(i)),
            "`parallel` of `lanes i0`, which is marked already in [lanes i0, i1]",
        ),
        (
            Schedule::new(|s, [_, j]| _ = s.unroll(j)),
            "`unrolled i1` runs to the end of its axis: only a loop over a tile is unrolled in [i0, unrolled i1]",
        ),
        (
            Schedule::new(|s, [i, _]| {
                let (_, i) = s.split(i, 4);
                s.unroll(i);
            }),
            "`i1` is not unrolled, but is inside of `unrolled i0` in [i0 by 4, unrolled i0, i1]",
        ),
        (
            Schedule::new(|s, [i, j]| {
                let (ib, i) = s.split(i, 16);
                let (jb, j) = s.split(j, 8);
                s.order(&[ib, jb, i, j]).unroll(i).unroll(j);
            }),
            "unrolled loops of 128 points together, of at most 64 in [i0 by 16, i1 by 8, unrolled i0, unrolled i1]",
        ),
        (
            Schedule::new(|s, [i, j]| {
                let (ib, i) = s.split(i, 4);
                s.order(&[i, j, ib]);
            }),
            "`i0` is outside of `i0 by 4`, but its tiles are not larger in [i0, i1, i0 by 4]",
        ),
        (
            Schedule::new(|s, [i, _]| {
                let (_, i) = s.split(i, 8);
                s.split(i, 3);
            }),
            "tiles of 8 points are not divided by tiles of 3 in [i0 by 8, i0 by 3, i0, i1]",
        ),
        (
            Schedule::new(|s, [_, j]| _ = s.parallel(j)),
            "`threads i1` is inside of a loop that does not run on threads in [i0, threads i1]",
        ),
        (
            Schedule::new(|s, [i, j]| _ = s.vectorize(i).vectorize(j)),
            "both `lanes i0` and `lanes i1` run over the lanes of vectors in [lanes i0, lanes i1]",
        ),
        (
            Schedule::new(|s, [i, _]| {
                let (ib, _) = s.split(i, 4);
                s.vectorize(ib);
            }),
            "`lanes i0 by 4` runs over tiles; the lanes of vectors are single points in [lanes i0 by 4, i0, i1]",
        ),
        (
            Schedule::new(|s, [_, _]| _ = s.within(2)),
            "within 2 loops: an array is computed inside of the first loop of its reader, or of none in [i0, i1]",
        ),
        (
            Schedule::new(|s, [_, _, k]| _ = s.regroup(k, 1)),
            "`regroup i2 by 1`: a partial result has at least 2 terms in [i0, i1, i2, i3]",
        ),
        (
            Schedule::new(|s, [_, _, k]| {
                let (_, k) = s.split(k, 8);
                s.regroup(k, 2);
            }),
            "`regroup` of `i2`: there are several loops over i2; split them afterwards in [i0, i1, i2 by 8, i2]",
        ),
        (
            Schedule::new(|s, [_, _, k]| {
                let tiles = s.regroup(k, 8);
                s.regroup(tiles, 2);
            }),
            "`regroup` of `i2`: there are partial results already, `regroup i2 by 8` in [i0, i1, i2, i3]",
        ),
        (
            Schedule::new(|s, [_, _, k]| {
                s.regroup(k, 8);
                s.within(1);
            }),
            "`regroup i2 by 8`: an array within the loops of its reader is folded in order in [i0, i1, i2, i3]",
        ),
        (
            Schedule::new(|s, [_, _, k]| {
                let tiles = s.regroup(k, 8);
                s.merge(tiles, k);
            }),
            "`merge` of `i2` and `i3`: the second one must be over the same axis, directly within in [i0, i1, i2, i3]",
        ),
        (
            Schedule::new(|s, [_, j, _]| _ = s.regroup(j, 8)),
            "`regroup i1 by 8`: i1 is an axis of the array and is not folded in [i0, i1, i2, i3] regroup i1 by 8",
        ),
        (
            Schedule::new(|s, [_, _, _, l]| _ = s.regroup(l, 8)),
            "`regroup i3 by 8`: only the outermost axis that is folded has partial results, i2 in [i0, i1, i2, i3, i4] regroup i3 by 8",
        ),
        (
            Schedule::new(|s, [i, _, k]| _ = s.collapse(i, k)),
            "`collapse` of `i0` and `i2`: they are not over neighbouring axes, outermost first: i1 is next to i0 in [i0, i1, i2]",
        ),
        (
            Schedule::new(|s, [i, j]| _ = s.collapse(j, i)),
            "`collapse` of `i1` and `i0`: they are not over neighbouring axes, outermost first: i2 is next to i1 in [i0, i1]",
        ),
        (
            Schedule::new(|s, [_, j, k]| _ = s.collapse(j, k)),
            "`collapse i1 to i2`: i1 is not folded, but i2 is in [i0, i1] collapse i1 to i2",
        ),
        (
            Schedule::new(|s, [i, j]| {
                let (_, i) = s.split(i, 4);
                s.collapse(i, j);
            }),
            "`collapse` of `i0` and `i1`: there are several loops over i0; split the collapsed loop in [i0 by 4, i0, i1]",
        ),
        (
            Schedule::new(|s, [i, j]| {
                s.collapse(i, j);
                s.collapse(i, j);
            }),
            "`collapse` of a loop that is gone: it was split, merged or collapsed in [i0]",
        ),
        (
            Schedule::new(|s, [i, j]| {
                s.vectorize(j);
                s.collapse(i, j);
            }),
            "`collapse` of `i0` and `lanes i1`: `lanes i1` is marked already; mark the collapsed loop in [i0, lanes i1]",
        ),
        (
            Schedule::new(|s, [i, j, k]| {
                s.order(&[i, k, j]);
                s.collapse(i, j);
            }),
            "`collapse` of `i0` and `i1`: the second one must be directly within; order the loops first in [i0, i2, i1]",
        ),
        (
            Schedule::new(|s, [i, j]| {
                s.collapse(i, j);
                s.within(1);
            }),
            "`collapse i0 to i1`: an array within the loops of its reader is computed row by row; collapse axes of the reader, or none in [i0]",
        ),
        (
            Schedule::new(|s, [_, _, k, l]| {
                let both = s.collapse(k, l);
                s.regroup(both, 2);
            }),
            "`regroup` of `i2`: it is over several axes; collapse them afterwards in [i0, i1, i2]",
        ),
        (Schedule::new(|_, [_]| {}), "it has 1 axes, but the array has 2 of its own in [i0]"),
        (Schedule::new(|_, [_, _]| {}).then(|_, [_, _, _]| {}), "the steps take 3 loops, but there are 2 in [i0, i1]"),
    ];
    for (schedule, want) in cases {
        assert_eq!(refused(&schedule), want);
        assert_eq!(schedule.to_string(), {
            let (why, loops) = want.rsplit_once(" in ").expect("why, and the loops");
            let of_the_array = why.starts_with("it has") || loops.contains("regroup") || loops.contains("collapse");
            if of_the_array { loops.to_string() } else { format!("{loops}: {why}") }
        });
    }
}

#[test]
fn schedules_as_text() {
    for text in [
        "[]",
        "[i0]",
        "[threads i1 by 64, i0 by 8, lanes i1, i2, unrolled i0]",
        "[i0] within 1",
        "[lanes i0, i1] regroup i0 by 256",
        "[lanes i0, i2] collapse i0 to i1",
        "[threads i0, i2 by 4, i2] collapse i0 to i1 collapse i2 to i4",
        "[lanes i0, i3] regroup i2 by 4 collapse i0 to i2",
    ] {
        assert_eq!(text.parse::<Schedule>().expect("a schedule").to_string(), text);
    }
    let wrong = [
        ("[i0 by 8]", "schedule:1:1: there is no loop inside of `i0 by 8` over the points of its tiles"),
        ("[i1]", "schedule:1:1: there is no loop over i0"),
        ("[i4000000000]", "schedule:1:1: there is no loop over i0"),
        ("[i0, i0]", "schedule:1:1: `i0` is outside of `i0`, but its tiles are not larger"),
        ("[i0 by 0, i0]", "schedule:1:1: `i0` is outside of `i0`, but its tiles are not larger"),
        ("[fast i0]", "schedule:1:2: expected an axis, as in `i0`, found `fast`"),
        ("[i0] [i1]", "schedule:1:6: expected the end of the text after the schedule, found `[`"),
        (
            "[i0] within 2",
            "schedule:1:1: within 2 loops: an array is computed inside of the first loop of its reader, or of none",
        ),
        (
            "[i0, i1] regroup i0",
            "schedule:1:20: expected `by`, and the terms of a partial result, found the end of the text",
        ),
        ("[i0, i1] regroup i0 by 1", "schedule:1:1: `regroup i0 by 1`: a partial result has at least 2 terms"),
        ("[i0] regroup i0 by 8", "schedule:1:1: `regroup i0 by 8`: there is no loop over the terms of a tile, i1"),
        (
            "[i0, i1] regroup i0 by 8 within 1",
            "schedule:1:1: `regroup i0 by 8`: an array within the loops of its reader is folded in order",
        ),
        (
            "[i0] collapse i0",
            "schedule:1:17: expected `to`, and the last of the axes that are one, found the end of the text",
        ),
        ("[i0, i1] collapse i0 to i1", "schedule:1:1: `i1`: with `collapse i0 to i1` there are loops over i0 alone"),
        ("[i0] collapse i0 to i0", "schedule:1:1: `collapse i0 to i0`: two neighbouring axes at least are one"),
        (
            "[i0, i2] collapse i0 to i1 collapse i1 to i2",
            "schedule:1:1: `collapse i0 to i1` and `collapse i1 to i2`: an axis is collapsed once",
        ),
        ("[i0, i3] collapse i0 to i1", "schedule:1:1: there is no loop over i2"),
        (
            "[i0] collapse i0 to i1 within 1",
            "schedule:1:1: `collapse i0 to i1`: an array within the loops of its reader is computed row by row; collapse axes of the reader, or none",
        ),
        ("i0", "schedule:1:1: expected `[`, found `i0`"),
    ];
    for (text, want) in wrong {
        let error = text.parse::<Schedule>().expect_err("no schedule").to_string();
        assert_eq!(error.lines().next(), Some(want));
    }
}

#[test]
fn programs_with_schedules_as_text() {
    let program = |loops: &str| {
        format!(
            "program(a: [2]f32) {{
  m: [2]f32 = map(a, f: |%x: f32| add(%x, 1f32))
  s: [2]f32 = compute(m, loops: {loops})
  yield s
}}
"
        )
    };
    let read = |loops: &str| text::parse("program.acc", &program(loops));
    let good = read("[i0 by 4, lanes i1, unrolled i0]").expect("a program");
    assert_eq!(text::parse("again.acc", &good.to_string()).expect("the same program"), good);
    assert!(verify(&good, None).is_ok());
    assert_ne!(good, read("[i0, i1]").expect("a program"));
    let error = verify(&read("[i0]").expect("a program"), None).expect_err("a wrong program");
    assert!(error.to_string().contains("it has 1 axes, but the array has 2 of its own"), "{error}");
    let error = verify(&read("[i0, i1, i2] regroup i0 by 8").expect("a program"), None).expect_err("a wrong program");
    assert!(error.to_string().contains("`regroup i0 by 8`: i0 is an axis of the array and is not folded"), "{error}");
}
