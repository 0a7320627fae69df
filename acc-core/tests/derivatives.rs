//! Derivatives in the typed API.

use acc_core::prelude::*;

#[track_caller]
fn run<A: Arrays>(p: impl IntoAcc<A>) -> A {
    Interpreter::new().run(p).unwrap_or_else(|e| panic!("{e}"))
}

#[track_caller]
fn error_of<A: Arrays>(p: impl IntoAcc<A>) -> Error {
    Interpreter::new().run(p).err().expect("an error")
}

#[derive(Elt, Clone, Debug, PartialEq)]
struct Particle {
    place: f64,
    kind: i64,
    speed: f64,
}

#[derive(Elt, Clone, Debug, PartialEq)]
enum Shape {
    Round(f64),
    Flat,
}

#[test]
fn structs_have_tangents_of_their_floats() {
    let all = Vector::from_elts(
        [2],
        [Particle { place: 2.0, kind: 7, speed: 3.0 }, Particle { place: 1.0, kind: 1, speed: 5.0 }],
    );
    let g = grad(&all.unwrap(), |all| all.map(|p| p.place * p.speed * p.kind.to::<f64>()).sum());
    assert_eq!(run(g).to_vec(), [(21.0, (), 14.0), (5.0, (), 1.0)]);
}

#[test]
fn options_and_enums_have_tangents_of_what_they_hold() {
    let xs = Vector::from_elts([2], [Some(3.0f64), None]).unwrap();
    let g = grad(&xs, |xs| {
        xs.map(|x| {
            x.match_(|x| match x {
                Some(x) => x * x,
                None => 0.0.into(),
            })
        })
        .sum()
    });
    assert_eq!(run(g).to_vec(), [((), 6.0), ((), 0.0)]);
    let shapes = Vector::from_elts([2], [Shape::Round(3.0), Shape::Flat]).unwrap();
    let area = grad(&shapes, |s| {
        s.map(|s| {
            s.match_(|s| match s {
                ShapeExp::Round(r) => r * r,
                ShapeExp::Flat => 1.0.into(),
            })
        })
        .sum()
    });
    assert_eq!(run(area).to_vec(), [((), 6.0), ((), 0.0)]);
}

#[test]
fn complex_numbers_have_the_derivatives_by_their_parts() {
    let z = Vector::from([Complex::new(3.0f64, 4.0)]);
    // |z|² changes by 2 re and 2 im.
    let g = grad(&z, |z| z.map(|z| z.norm_sqr()).sum());
    assert_eq!(run(g).to_vec(), [Complex::new(6.0, 8.0)]);
}

#[test]
fn points_of_several_arrays_with_integers_among_their_elements() {
    let (a, b) = (Vector::from([1.0f64, 2.0]), Vector::from([(3i64, 4.0f32)]));
    let (ga, gb) = grad((&a, &b), |(a, b)| {
        let k = b.map(|(n, x)| x.to::<f64>() * n.to::<f64>()).sum();
        a.map(|a| a * k.the()).sum()
    });
    assert_eq!((run(ga).to_vec(), run(gb).to_vec()), (vec![12.0, 12.0], vec![((), 9.0)]));
}

#[test]
fn results_without_a_float_have_no_tangents() {
    let (x, dx) = (Vector::from([1.5f64, 2.5]), Vector::from([1.0f64, 1.0]));
    let ((positions, ys), (none, dys)) = jvp(&x, &dx, |x| (x.map(|x| x.floor_to::<i64>()), x.map(|x| x * x)));
    assert_eq!(run((positions, none)).1.to_vec(), [(), ()]);
    assert_eq!(run((ys, dys)).1.to_vec(), [3.0, 5.0]);
}

#[test]
fn gradients_of_gradients() {
    let x = Scalar::scalar(2.0f64);
    // x^4, three times.
    let third = grad(&x, |x| grad(x, |x| grad(x, |x| x.map(|x| x * x * x * x))));
    assert_eq!(run(third).value(), 48.0);
    let v = Vector::from([1.0f64, 2.0]);
    let hv = hvp(&v, &v, |v| v.map(|v| v * v * v).fold(1.0, |a, b| a * b));
    // Of a³b³: (6ab³, 9a²b²; 9a²b², 6a³b) times (1, 2).
    assert_eq!(run(hv).to_vec(), [48.0 + 72.0, 36.0 + 24.0]);
}

#[test]
fn in_compiled_functions() {
    let f = Interpreter::new()
        .compile(|w: Acc<Vector<f32>>, x: Acc<Vector<f32>>| grad(w, |w| w.zip_with(&x, |w, x| w * x * x).sum()));
    let f = f.unwrap();
    assert_eq!(f.call((&Vector::from([1.0f32, 1.0]), &Vector::from([2.0f32, 3.0]))).unwrap().to_vec(), [4.0, 9.0]);
}

#[test]
fn loops_of_arrays() {
    let x = Scalar::scalar(0.5f64);
    let g = grad(&x, |x| {
        let (_, y) = awhile((unit(0i64), &x), |(n, _)| n.the().lt(3), |(n, y)| (n.map(|n| n + 1), y.map(|y| y * y)));
        y
    });
    // x^8.
    assert_eq!(run(g).value(), 8.0 * 0.5f64.powi(7));
}

#[test]
fn derivatives_in_scalar_code() {
    let xs = use_(&Vector::from([1.0f64, 2.0]));
    let both = xs.map(|x| {
        // What is taken from around is constant, also where it is the argument itself.
        let (value, slope) = deriv(x, |y| y * y * x);
        let (_, second) = deriv(x, |y| deriv(y, |z| z * z * z).1);
        (value, slope, second)
    });
    assert_eq!(run(both).to_vec(), [(1.0, 2.0, 6.0), (8.0, 8.0, 12.0)]);
    let pair = xs.map(|x| {
        let ((a, n), (da, ())) = deriv(x, |x| (x.sin(), x.floor_to::<i64>()));
        (a - x.sin(), n, da - x.cos())
    });
    assert_eq!(run(pair).to_vec(), [(0.0, 1, 0.0), (0.0, 2, 0.0)]);
}

#[test]
fn a_derivative_that_is_zero_everywhere_is_a_mistake() {
    let xs = use_(&Vector::from([1.5f64, 2.5]));
    let line = line!() + 1;
    let e = error_of(grad(&xs, |xs| xs.map(|x| x.floor()).sum())).to_string();
    let place = format!("derivatives.rs:{line}:");
    for part in ["the derivative is identically zero: the only path passes `floor` at", &place, "help: "] {
        assert!(e.contains(part), "{part:?} is not in:\n{e}");
    }
    // The closure has taken the outer array.
    let e = error_of(grad(&xs, |_| xs.map(|x| x * x).sum())).to_string();
    assert!(e.contains("no result depends on the point") && e.contains("what the closure takes from around"), "{e}");
}

#[test]
fn a_function_differentiated_twice_has_its_own_extents_each_time() {
    let m = Matrix::from([[1.0f64, 2.0], [3.0, 4.0]]);
    let (_, slope) = linearize(&m, |m| m.flatten().map(|x| x * x).sum());
    let both = (slope.apply(&m), slope.apply(use_(&m).map(|x| x * 2.0)));
    let (once, twice) = run(both);
    assert_eq!((once.value(), twice.value()), (60.0, 120.0));
}
