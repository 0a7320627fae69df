//! Derivatives of random programs: what executors make of them against the interpreter's jets, and forward derivatives
//! against reverse ones.
//!
//! Every random program is differentiated as a whole, by all floats among its inputs. The tangents and adjoints are small
//! numbers. An element is left out where one of the two values is no number or very large: there the order of operations
//! decides, and at edges whether a zero is that of a branch not taken.

use super::{Choices, mode_of, program};
use crate::executors::Registered;
use acc_core::ad::derivative_of;
use acc_core::data::{ArrayData, Lit, Prim, ScalarType};
use acc_core::ir::{Mode, Program};
use acc_core::text::parse_test_file;
use acc_core::{Error, Executor, Interpreter, RunLimits};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The most floats among the inputs and results of a program whose reverse derivative is checked: the interpreter runs it once for
/// each.
const MAX_FLOATS: usize = 60;

/// How long one derivative may run.
const TIME: Duration = Duration::from_secs(10);

/// Numbers beyond this are not compared.
const MAX_COMPARED: f64 = 1e4;

/// What was found.
#[derive(Default)]
pub struct Found {
    /// Derivatives that were compared on an executor.
    pub derivatives: u64,
    /// Those for which there is no rule yet.
    pub without_rule: u64,
    /// Elements compared, and left out.
    pub elements: [u64; 2],
    /// Where executors differ: the seed, the executor, and what differs.
    pub differences: Vec<(u64, String)>,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [compared, left_out] = self.elements;
        write!(
            f,
            "{} derivatives, {} without a rule, {compared} elements compared, {left_out} left out, {} differences",
            self.derivatives,
            self.without_rule,
            self.differences.len()
        )
    }
}

/// Checks the derivatives of the programs of these seeds.
pub fn run(executors: &[Registered], seeds: std::ops::Range<u64>) -> Found {
    let mut found = Found::default();
    for seed in seeds {
        one(executors, seed, &mut found);
    }
    found
}

fn one(executors: &[Registered], seed: u64, found: &mut Found) {
    let text = program(Choices::seeded(seed), mode_of(seed));
    let Ok(file) = parse_test_file("random.acc", &text) else { return };
    let Some(args) = file.runs.first().and_then(|r| r.arrays().ok()) else { return };
    let limits = || RunLimits::none().timeout(TIME);
    let Ok(values) = Interpreter::new().run_untyped(&file.program.clone(), &args, &limits()) else { return };
    let floats = |all: &[ArrayData]| all.iter().filter(|a| a.elt().has_float()).map(ArrayData::size).sum::<usize>();
    if floats(&args) == 0 || floats(&values) == 0 || floats(&args) > MAX_FLOATS {
        return;
    }
    let mut numbers = Choices::seeded(seed ^ 0x5eed);
    for (mode, of) in [(Mode::Forward, &args), (Mode::Reverse, &values)] {
        let derivative = Arc::new(derivative_of(&file.program, mode));
        let along = of.iter().filter(|a| a.elt().has_float()).map(|a| small(a, &mut numbers));
        let all: Vec<ArrayData> = args.iter().cloned().chain(along).collect();
        let Ok(want) = Interpreter::new().run_untyped(&derivative, &all, &limits()) else { continue };
        for e in executors {
            let Some(executor) = e.present().filter(|_| e.name != crate::executors::REFERENCE) else { continue };
            found.derivatives += 1;
            match executor.run_untyped(&derivative, &all, &limits()) {
                Err(Error::Defect { message, .. }) if message.contains("no rule yet") => found.without_rule += 1,
                Err(Error::Limit(_)) => {}
                Err(error) => {
                    let why = format!("{} {mode:?}: {error}\n{}", e.name, shown(&derivative));
                    found.differences.push((seed, why));
                }
                Ok(got) => {
                    if let Some(why) = difference(&want, &got, &mut found.elements) {
                        let why = format!("{} {mode:?}: {why}\n{}", e.name, shown(&derivative));
                        found.differences.push((seed, why));
                    }
                }
            }
        }
    }
}

fn shown(p: &Program) -> String {
    format!("{p:#}")
}

/// Small numbers, as the tangents or adjoints of an array.
fn small(of: &ArrayData, numbers: &mut Choices) -> ArrayData {
    let elt = of.elt().tangent();
    let element = |_| {
        let leaf = |ty: &ScalarType| acc_core::ad::float(*ty, numbers.below(9) as f64 / 2.0 - 2.0);
        elt.leaves().iter().map(leaf).collect::<Vec<Lit>>()
    };
    let elements: Vec<Vec<Lit>> = (0..of.size()).map(element).collect();
    match ArrayData::from_leaves(of.shape().iter().copied(), elt.clone(), elements) {
        Ok(data) => data,
        Err(e) => unreachable!("as many elements as the shape has: {e}"),
    }
}

/// The value of a float, and how near another one must be, in parts of the greatest number of an array.
fn float(l: Lit) -> Option<(f64, f64)> {
    match l.ty {
        ScalarType::F16 => acc_core::eval::eval_cast(l, ScalarType::F64).ok().and_then(|l| Some((l.get()?, 0.1))),
        ScalarType::F32 => Some((f64::from(f32::from_bits64(l.bits)), 1e-3)),
        ScalarType::F64 => Some((f64::from_bits64(l.bits), 1e-6)),
        _ => None,
    }
}

fn difference(want: &[ArrayData], got: &[ArrayData], elements: &mut [u64; 2]) -> Option<String> {
    for (k, (want, got)) in want.iter().zip(got).enumerate() {
        if want.shape() != got.shape() || want.elt() != got.elt() {
            return Some(format!(
                "result {k}: {:?} {} where {:?} {} is wanted",
                got.shape(),
                got.elt(),
                want.shape(),
                want.elt()
            ));
        }
        let all = || (0..want.size()).filter_map(|at| want.element(at)).flatten().filter_map(float);
        let greatest = all().map(|(x, _)| x.abs()).filter(|x| x.is_finite()).fold(1.0, f64::max);
        for at in 0..want.size() {
            for (w, g) in want.element(at).into_iter().flatten().zip(got.element(at).into_iter().flatten()) {
                let (Some((w, tolerance)), Some((g, _))) = (float(w), float(g)) else {
                    if w != g {
                        return Some(format!("result {k}, element {at}: {g} where {w} is wanted"));
                    }
                    continue;
                };
                let compared = w.is_finite() && g.is_finite() && w.abs().max(g.abs()) < MAX_COMPARED;
                elements[usize::from(!compared)] += 1;
                if compared && (w - g).abs() > tolerance * greatest.min(MAX_COMPARED) {
                    return Some(format!("result {k}, element {at}: {g} where {w} is wanted"));
                }
            }
        }
    }
    None
}
