//! An executor's derivative against the interpreter's.

use super::Kind;
use super::points::{float, numbers};
use acc_core::data::{ArrayData, Lit, ScalarType};

/// Numbers beyond this are not compared: there the order of operations decides.
const MAX_COMPARED: f64 = 1e4;

/// Whole numbers beyond this may be rounded on the way.
const MAX_EXACT: f64 = (1u64 << 40) as f64;

/// How many elements were compared.
#[derive(Default)]
pub(super) struct Counted {
    /// Those compared, and left out.
    pub(super) elements: [u64; 2],
    /// Those compared bit for bit.
    pub(super) exact: u64,
}

/// The first difference.
pub(super) struct Differs {
    /// What differs.
    pub(super) why: String,
    /// Which result it is in.
    pub(super) result: usize,
    /// Whether it is that the executor has no number.
    pub(super) no_number: bool,
}

impl From<String> for Differs {
    fn from(why: String) -> Differs {
        Differs { why, result: 0, no_number: false }
    }
}

/// Compares results: how many elements were compared, or the first difference.
///
/// What the interpreter says is no number or huge is left out. Where it has an ordinary number, an executor that has
/// none has made one of a zero and an infinity that the function does not multiply.
pub(super) fn compare(kind: Kind, want: &[ArrayData], got: &[ArrayData]) -> Result<Counted, Differs> {
    let mut counted = Counted::default();
    let exact = kind == Kind::Dyadic && want.iter().flat_map(numbers).all(|x| x.abs() < MAX_EXACT);
    if want.len() != got.len() {
        return Err(format!("{} results where {} are wanted", got.len(), want.len()).into());
    }
    for (k, (want, got)) in want.iter().zip(got).enumerate() {
        if want.shape() != got.shape() || want.elt() != got.elt() {
            let shown = |a: &ArrayData| format!("{:?} {}", a.shape(), a.elt());
            return Err(format!("result {k}: {} where {} is wanted", shown(got), shown(want)).into());
        }
        let greatest = numbers(want).map(f64::abs).filter(|x| x.is_finite()).fold(1.0, f64::max);
        for at in 0..want.size() {
            for (w, g) in want.element(at).into_iter().flatten().zip(got.element(at).into_iter().flatten()) {
                let why = || format!("result {k}, element {at}: {g} where {w} is wanted");
                let (Some(x), Some(y)) = (float(w), float(g)) else {
                    if w != g {
                        return Err(why().into());
                    }
                    continue;
                };
                if exact {
                    counted.exact += 1;
                    counted.elements[0] += 1;
                    if x != y {
                        return Err(Differs { why: why(), result: k, no_number: !y.is_finite() });
                    }
                    continue;
                }
                let compared = x.is_finite() && x.abs() < MAX_COMPARED;
                counted.elements[usize::from(!compared)] += 1;
                if compared && (y.is_nan() || (x - y).abs() > tolerance(w) * greatest.min(MAX_COMPARED)) {
                    return Err(Differs { why: why(), result: k, no_number: !y.is_finite() });
                }
            }
        }
    }
    Ok(counted)
}

/// How near another float must be, in parts of the greatest number of an array.
fn tolerance(l: Lit) -> f64 {
    match l.ty {
        ScalarType::F16 => 0.1,
        ScalarType::F32 => 1e-3,
        _ => 1e-6,
    }
}
