//! Operators that restart at marks are found however they are written, and nothing else is.

use acc_core::ir::{ArrayOp, Dir, PrimOp};
use acc_desugar::analysis::segmented_operator::{SegmentedOperator, segmented_operator};

/// What is found in a scan of pairs, or of triples, with a mark first.
fn found(scan: &str, element: &str, f: &str) -> Option<SegmentedOperator> {
    let text = format!("program(xs: [1]{element}) {{ ys: [1]{element} = {scan}(xs, f: {f}) yield ys }}");
    let program = acc_core::text::parse("p.acc", &text).unwrap_or_else(|e| panic!("{text}: {e}"));
    match &program.body.stmts[0].op {
        ArrayOp::Scan { f, dir, .. } => {
            assert_eq!(*dir, if scan == "scanl1" { Dir::Left } else { Dir::Right });
            segmented_operator(f, *dir)
        }
        other => panic!("a scan, not {}", other.name()),
    }
}

fn marks(ops: &[PrimOp]) -> Option<SegmentedOperator> {
    Some(SegmentedOperator { mark: 0, ops: [&[PrimOp::OrP], ops].concat() })
}

#[test]
fn spellings() {
    let sums = marks(&[PrimOp::AddP]);
    for f in [
        "|%f: bool, %a: f32, %g: bool, %b: f32| (or(%f, %g), if %g { yield %b } else { yield add(%a, %b) })",
        "|%f: bool, %a: f32, %g: bool, %b: f32| (or(%g, %f), select(%g, %b, add(%b, %a)))",
        "|%f: bool, %a: f32, %g: bool, %b: f32| (max(%f, %g), select(not(%g), add(%a, %b), %b))",
        "|%f: bool, %a: f32, %g: bool, %b: f32| (if %f { yield true } else { yield %g }, select(%g, %b, add(%a, %b)))",
    ] {
        assert_eq!(found("scanl1", "(bool, f32)", f), sums, "{f}");
    }
    let right = "|%f: bool, %a: i64, %g: bool, %b: i64| (or(%f, %g), select(%f, %a, max(%a, %b)))";
    assert_eq!(found("scanr1", "(bool, i64)", right), marks(&[PrimOp::MaxP]));
    let two = "|%f: bool, %a: i64, %c: i8, %g: bool, %b: i64, %d: i8| {
        %x: i64, %y: i8 = if %g { yield %b, %d } else { yield add(%a, %b), mul(%c, %d) }
        yield or(%f, %g), %x, %y }";
    assert_eq!(found("scanl1", "(bool, i64, i8)", two), marks(&[PrimOp::AddP, PrimOp::MulP]));
    let last = "|%a: i64, %f: bool, %b: i64, %g: bool| (select(%g, %b, add(%a, %b)), or(%f, %g))";
    let last = found("scanl1", "(i64, bool)", last);
    assert_eq!(last, Some(SegmentedOperator { mark: 1, ops: vec![PrimOp::AddP, PrimOp::OrP] }));
}

#[test]
fn others() {
    for (scan, f) in [
        // The mark of the wrong side, of the earlier element, or of both.
        ("scanl1", "|%f: bool, %a: i64, %g: bool, %b: i64| (or(%f, %g), select(%f, %a, add(%a, %b)))"),
        ("scanr1", "|%f: bool, %a: i64, %g: bool, %b: i64| (or(%f, %g), select(%g, %b, add(%a, %b)))"),
        ("scanl1", "|%f: bool, %a: i64, %g: bool, %b: i64| (or(%f, %g), select(%f, %b, add(%a, %b)))"),
        // Going on where there is a mark.
        ("scanl1", "|%f: bool, %a: i64, %g: bool, %b: i64| (or(%f, %g), select(%g, add(%a, %b), %b))"),
        // Marks that do not last, operations that are not associative, or not of the two.
        ("scanl1", "|%f: bool, %a: i64, %g: bool, %b: i64| (and(%f, %g), select(%g, %b, add(%a, %b)))"),
        ("scanl1", "|%f: bool, %a: i64, %g: bool, %b: i64| (or(%f, %g), select(%g, %b, sub(%a, %b)))"),
        ("scanl1", "|%f: bool, %a: i64, %g: bool, %b: i64| (or(%f, %g), select(%g, %b, add(%a, %a)))"),
        ("scanl1", "|%f: bool, %a: i64, %g: bool, %b: i64| (or(%f, %g), select(%g, %a, add(%a, %b)))"),
    ] {
        assert_eq!(found(scan, "(bool, i64)", f), None, "{f}");
    }
}
