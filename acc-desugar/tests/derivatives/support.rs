//! What tests of derivatives share: an expanded program against the interpreter's jets.

use acc_core::ad::derivative_of;
use acc_core::data::{ArrayData, EltType, Lit, Prim, ScalarType};
use acc_core::exec::replay::is_assumption;
use acc_core::ir::{Mode, Program};
use acc_core::{Error, Executor, Fault, Interpreter, RunLimits, text, verify};
use acc_desugar::pass::{self, Pass};
use acc_desugar::pipeline::{NATIVE, NATIVE_EXACT};
use acc_desugar::{KEPT_STATES, Rules, Settings};

/// The program with its derivatives expanded.
pub fn expanded(p: &Program) -> Program {
    expanded_by(NATIVE, p, KEPT_STATES)
}

/// The same, where loops keep so many states.
pub fn expanded_with(p: &Program, kept_states: usize) -> Program {
    expanded_by(NATIVE, p, kept_states)
}

/// The same, by the pass of this list.
fn expanded_by(passes: &[Pass], p: &Program, kept_states: usize) -> Program {
    let (rules, limits) = (Rules::all(), RunLimits::none());
    let settings = Settings { kept_states, ..Settings::new(&rules, &limits) };
    let stage = pass::until(passes, "differentiate", p, &settings).expect("a pass");
    let made = stage.unwrap_or_else(|e| panic!("{e}\n{p:#}"));
    let made = made.into_program().expect("a program").into_owned();
    verify::verify(&made, Some("differentiate")).unwrap_or_else(|e| panic!("{e}\n{p:#}\n{made:#}"));
    assert!(!made.has_derivatives() && !made.has_rules());
    made
}

pub fn run(p: &Program, args: &[ArrayData]) -> Vec<ArrayData> {
    let result = Interpreter::new().run_untyped(&p.clone().into(), args, &RunLimits::none());
    result.unwrap_or_else(|e| panic!("{e}\n{p:#}"))
}

/// What executors, which try quick derivatives first, go back to the exact ones for.
#[derive(Clone, Copy)]
enum Retried {
    /// Extents that are assumed to be equal and are not.
    Assumptions,
    /// Any fault.
    Faults,
}

/// What derivatives give where executors try those first that assume equal extents: their results, or else these of the exact
/// derivatives.
fn run_or(p: &Program, args: &[ArrayData], exact: Vec<ArrayData>, retried: Retried) -> Vec<ArrayData> {
    let result = Interpreter::new().run_untyped(&p.clone().into(), args, &RunLimits::none());
    match (result, retried) {
        (Err(Error::Fault { fault: Fault::CheckFailed { message }, .. }), _) if is_assumption(&message) => exact,
        (Err(Error::Fault { .. }), Retried::Faults) => exact,
        (result, _) => result.unwrap_or_else(|e| panic!("{e}\n{p:#}")),
    }
}

/// Numbers that look random, between -1 and 1, or small integers.
pub struct Numbers(pub u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
    pub fn array(&mut self, shape: &[usize], elt: &EltType) -> ArrayData {
        let size: usize = shape.iter().product();
        let elements: Vec<Vec<Lit>> = (0..size)
            .map(|_| {
                let leaf = |ty: &ScalarType| match ty {
                    ScalarType::F32 => ((self.next() as f64 / (1u64 << 30) as f64 - 1.0) as f32).lit(),
                    ScalarType::F64 => (self.next() as f64 / (1u64 << 30) as f64 - 1.0).lit(),
                    ScalarType::Bool => self.next().is_multiple_of(2).lit(),
                    ScalarType::I64 => ((self.next() % 3) as i64).lit(),
                    ty => Lit::zero(*ty),
                };
                elt.leaves().iter().map(leaf).collect()
            })
            .collect();
        ArrayData::from_leaves(shape.iter().copied(), elt.clone(), elements).expect("an array")
    }
}

pub fn near(a: &ArrayData, b: &ArrayData) -> bool {
    let float = |l: Lit| match l.ty {
        ScalarType::F32 => Some((f64::from(f32::from_bits64(l.bits)), 1e-4)),
        ScalarType::F64 => Some((f64::from_bits64(l.bits), 1e-9)),
        _ => None,
    };
    let close = |(x, y): (Lit, Lit)| match (float(x), float(y)) {
        (Some((x, tolerance)), Some((y, _))) => {
            x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= tolerance * (1.0 + x.abs().max(y.abs()))
        }
        _ => x == y,
    };
    let elements = |k: usize| a.element(k).expect("one").into_iter().zip(b.element(k).expect("one"));
    a.shape() == b.shape() && a.elt() == b.elt() && (0..a.size()).all(|k| elements(k).all(close))
}

/// Tangents or adjoints of arrays.
fn tangents(of: &[ArrayData], numbers: &mut Numbers) -> Vec<ArrayData> {
    let floats = of.iter().filter(|a| a.elt().has_float());
    floats.map(|a| numbers.array(a.shape(), &a.elt().tangent())).collect()
}

/// Checks both derivatives of a program, and the derivative of the derivative along a direction; and the identity of dot
/// products between them.
pub fn check(source: &str, args: &[ArrayData]) {
    check_or(source, args, Retried::Assumptions);
}

fn check_or(source: &str, args: &[ArrayData], retried: Retried) {
    let p = text::parse("p.acc", source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let values = run(&p, args);
    let mut numbers = Numbers(source.len() as u64);
    let (dx, ybar) = (tangents(args, &mut numbers), tangents(&values, &mut numbers));
    let mut found = Vec::new();
    for (mode, along) in [(Mode::Forward, &dx), (Mode::Reverse, &ybar)] {
        let derivative = derivative_of(&p, mode);
        verify::verify(&derivative, None).unwrap_or_else(|e| panic!("{e}\n{derivative:#}"));
        let all: Vec<ArrayData> = args.iter().chain(along).cloned().collect();
        let want = run(&derivative, &all);
        let mut got = Vec::new();
        for passes in [NATIVE_EXACT, NATIVE] {
            let made = expanded_by(passes, &derivative, KEPT_STATES);
            got = if got.is_empty() { run(&made, &all) } else { run_or(&made, &all, got, retried) };
            let same = want.iter().zip(&got).all(|(a, b)| near(a, b));
            assert!(same, "{mode:?} of\n{p:#}\nis\n{want:#?}\nand not\n{got:#?}\nof\n{made:#}");
        }
        found.push(got[values.len()..].to_vec());
        // Once more, of what was expanded and of what was not.
        let second = derivative_of(&derivative, Mode::Forward);
        let more = tangents(&all, &mut numbers);
        let all: Vec<ArrayData> = all.into_iter().chain(more).collect();
        let want = run(&second, &all);
        let mut got = Vec::new();
        for passes in [NATIVE_EXACT, NATIVE] {
            let made = expanded_by(passes, &second, KEPT_STATES);
            got = if got.is_empty() { run(&made, &all) } else { run_or(&made, &all, got, retried) };
            let same = want.iter().zip(&got).all(|(a, b)| near(a, b));
            assert!(same, "Forward of {mode:?} of\n{p:#}\nis\n{want:#?}\nand not\n{got:#?}\nof\n{made:#}");
        }
    }
    let dot = |a: &[ArrayData], b: &[ArrayData]| -> f64 {
        let value = |l: Lit| match l.ty {
            ScalarType::F32 => f64::from(f32::from_bits64(l.bits)),
            _ => f64::from_bits64(l.bits),
        };
        let both = a.iter().zip(b).flat_map(|(a, b)| {
            (0..a.size()).flat_map(|k| a.element(k).expect("one").into_iter().zip(b.element(k).expect("one")))
        });
        both.map(|(x, y)| value(x) * value(y)).sum()
    };
    let (forward, reverse) = (dot(&found[0], &ybar), dot(&found[1], &dx));
    let both_numbers = forward.is_finite() && reverse.is_finite();
    assert!(!both_numbers || (forward - reverse).abs() <= 1e-3 * (1.0 + forward.abs()), "{forward} {reverse}\n{p:#}");
}

pub fn check_with(source: &str, shapes: &[&[usize]]) {
    check(source, &arguments(source, shapes));
}

/// The same of what the quick derivatives may evaluate though the function does not.
pub fn check_lazy(source: &str, shapes: &[&[usize]]) {
    check_or(source, &arguments(source, shapes), Retried::Faults);
}

fn arguments(source: &str, shapes: &[&[usize]]) -> Vec<ArrayData> {
    let p = text::parse("p.acc", source).unwrap_or_else(|e| panic!("{e}\n{source}"));
    let mut numbers = Numbers(7);
    p.param_types().zip(shapes).map(|(ty, shape)| numbers.array(shape, &ty.elt)).collect()
}
