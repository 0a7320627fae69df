//! Named axes: the programs that are made, and the messages of mistakes that only a build or a run finds.

use acc_core::axes;
use acc_core::prelude::*;

axes!(Batch, Feature, Hidden, Cluster);

#[track_caller]
fn run<A: Arrays>(p: impl IntoAcc<A>) -> A {
    Interpreter::new().run(p).unwrap_or_else(|e| panic!("{e}"))
}

/// The message of a program that must fail, which names these.
#[track_caller]
fn names<A: Arrays>(p: impl IntoAcc<A>, parts: &[&str]) {
    let text = Interpreter::new().run(p).err().expect("an error").to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

fn matrix<A: Axis, B: Axis>(rows: usize, columns: usize) -> Named<(A, B), f64> {
    Named::of(generate((rows, columns), |(i, j)| (i * 7 + j * 3).to::<f64>()))
}

/// The operations of a program, in order.
#[track_caller]
fn operations<A: Arrays>(p: &Acc<A>) -> Vec<&'static str> {
    let program = p.program().unwrap_or_else(|e| panic!("{e}")).program;
    acc_core::verify::verify(&program, None).unwrap_or_else(|e| panic!("{e}\n{program}"));
    program.body.stmts.iter().map(|s| s.op.name()).collect()
}

#[test]
fn a_product_is_a_fold_of_one_array() {
    let (x, w) = (use_(&Matrix::from([[1.0f64, 2.0]])), use_(&Matrix::from([[3.0f64], [4.0]])));
    let (x, w) = (Named::<(Batch, Feature), f64>::of(x), Named::<(Feature, Hidden), f64>::of(w));
    let y: Named<(Batch, Hidden), f64> = each(|(b, h)| total(|f| x.at((b, f)) * w.at((f, h))));
    assert_eq!(operations(&y), ["check", "generate", "fold"]);
    assert_eq!(run(y).plain().to_vec(), [11.0]);
    let all = unit(total(|(b, f)| x.at((b, f))));
    assert_eq!(operations(&all), ["generate", "fold", "fold", "generate"]);
}

#[test]
fn what_depends_on_one_index_is_computed_once_for_it() {
    let x = Named::<(Batch, Feature), f64>::of(&Matrix::from([[1.0f64, 2.0], [3.0, 4.0]]));
    let y: Named<(Batch, Feature), f64> = each(|(b, f)| x.at((b, f)) - total(|b| x.at((b, f))));
    let program = y.program().expect("a program").program.to_string();
    assert!(program.contains(": [1]f64 = fold") && !program.contains("while"), "{program}");
    // What may fault is computed where it is needed, and a branch does not need it.
    let n = Named::<(Batch, Feature), i64>::of(&Matrix::from([[1i64, 2], [3, 4]]));
    let lazy: Named<Batch, i64> =
        each(|b: Ix<Batch>| b.position().eq(0).then_else(7, total(|f| n.at((b, f)) / b.position())));
    let program = lazy.program().expect("a program").program.to_string();
    assert!(program.contains("while") && !program.contains("fold"), "{program}");
    assert_eq!(run(lazy).plain().to_vec(), [7, 7]);
}

#[test]
fn what_is_made_of_folds_at_the_same_index_is_a_map_of_them() {
    let x = matrix::<Batch, Feature>(2, 3);
    let nearest: Named<Batch, Index<Feature>> = each(|b| least_at(|f| (x.at((b, f)) - 8.0).abs()).1);
    assert_eq!(operations(&nearest), ["generate", "generate", "fold1", "map"]);
    assert_eq!(run(nearest).plain().to_vec(), [2, 0].map(Index::of));
    // Two folds, and the index.
    let range: Named<Batch, (f64, i64)> = each(|b: Ix<Batch>| {
        let (greatest, least) = (most(|f| x.at((b, f))), least(|f| x.at((b, f))));
        (greatest - least + b.to::<f64>(), b.position())
    });
    assert!(operations(&range).ends_with(&["fold", "fold", "izip_with"]), "{:?}", operations(&range));
    assert_eq!(run(range).plain().to_vec(), [(6.0, 0), (7.0, 1)]);
    // What is read elsewhere, too, is no map.
    let both: Named<Batch, f64> = each(|b| total(|f| x.at((b, f))) + x.at((b, Ix::of(lift(0i64)))));
    assert_eq!(run(both).plain().to_vec(), [9.0, 37.0]);
}

#[test]
fn two_sizes_of_one_name_are_one_fault_at_the_second_read() {
    let (x, w) = (matrix::<Batch, Feature>(2, 3), matrix::<Feature, Hidden>(4, 2));
    let line = line!() + 1;
    let y: Named<(Batch, Hidden), f64> = each(|(b, h)| total(|f| x.at((b, f)) * w.at((f, h))));
    // The first read, and the second.
    let places = [68, 83].map(|column| format!("tests/named.rs:{line}:{column}"));
    names(y, &["axis Feature is 4 here, but 3 in the array read at ", &places[0], &places[1]]);
    names(x.zip_with(matrix::<Batch, Feature>(2, 4), |a, b| a + b), &["axis Feature is 4 here, but 3"]);
    let square = matrix::<Batch, Batch>(2, 3);
    let trace: Acc<Scalar<f64>> = unit(total(|b| square.at((b, b))));
    names(trace, &["axis Batch is 3 here, but 2"]);
}

#[test]
fn a_name_without_a_size_is_named_with_both_places() {
    let x = matrix::<Batch, Feature>(2, 3);
    let line = line!() + 1;
    let y: Named<(Batch, Hidden), f64> = each(|(b, _)| total(|f| x.at((b, f))));
    names(y, &["axis Hidden has no size", &format!("named.rs:{line}:"), "help: "]);
    let closure = line!() + 1;
    let z: Named<Batch, f64> = each(|b| {
        let positions = total(|h: Ix<Hidden>| h.to::<f64>());
        x.at((b, Ix::of(lift(0i64)))) * positions
    });
    names(z, &["axis Hidden has no size", &format!("named.rs:{closure}:"), &format!("named.rs:{}:", closure + 1)]);
}

#[test]
fn an_index_that_left_its_closure_is_a_mistake() {
    let x = matrix::<Batch, Feature>(2, 3);
    let kept = std::cell::Cell::new(None);
    let _: Named<Batch, f64> = each(|b| {
        kept.set(Some(b));
        total(|f| x.at((b, f)))
    });
    let late: Named<Feature, f64> = each(|f| kept.get().map_or(lift(0.0), |b| x.at((b, f))));
    names(late, &["after its closure ended"]);
}

#[test]
fn an_array_inside_that_depends_on_an_index_is_a_mistake() {
    let x = matrix::<Batch, Feature>(2, 3);
    let y: Named<Batch, f64> = each(|b| {
        let row: Named<Feature, f64> = each(|f| x.at((b, f)));
        row.sum_all().the()
    });
    names(y, &["nested data parallelism"]);
}

#[test]
fn a_panic_in_a_closure_leaves_no_scope_behind() {
    let x = matrix::<Batch, Feature>(2, 3);
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _: Named<Batch, f64> = each(|_| -> Exp<f64> { panic!("as a test") });
    }));
    assert!(caught.is_err());
    let sums: Named<Batch, f64> = each(|b| total(|f| x.at((b, f))));
    assert_eq!(run(sums).plain().to_vec(), [9.0, 30.0]);
}

#[test]
fn gradients_by_named_arrays() {
    let w = NamedArray::<(Feature, Hidden), f64>::of(Matrix::from([[0.5, -1.0], [0.25, 2.0], [1.0, 0.0]]));
    let x = matrix::<Batch, Feature>(2, 3);
    let report = check_grad(&Interpreter::new(), &w, |w| {
        let y: Named<(Batch, Hidden), f64> = each(|(b, h)| total(|f| x.at((b, f)) * w.at((f, h))).tanh());
        y.map(|y| y * y).sum_all()
    });
    assert_eq!(report.map(|r| r.compared).ok(), Some(6));
}
