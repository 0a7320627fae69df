//! Array data in text: `[2, 3] i64 { 1, 2, 3, 4, 5, 6 }`, or made by a rule.

use super::cursor::Cursor;
use super::lexer::Token;
use super::literal::write_lit;
use crate::data::{ArrayData, EltType, Lit, Prim, ScalarType, ShapeError, nearest_f16, shape_size};
use crate::error::Error;
use crate::eval::eval_cast;
use smallvec::SmallVec;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The most scalars that an array in a test file may have: a typing error shall not fill the memory.
const MAX_SCALARS: usize = 1 << 28;

/// An element's scalars.
type Element = SmallVec<[Lit; 4]>;

/// An array as a test file gives it: its elements, or a rule that makes them.
///
/// The elements of a rule are made when they are first asked for, once for all clones: a file may be read and checked
/// without the memory that its arrays take.
#[derive(Clone, Debug)]
pub struct Data {
    shape: Vec<usize>,
    elt: EltType,
    rule: Rule,
    made: Arc<OnceLock<ArrayData>>,
}

/// How the elements of an array are given.
#[derive(Clone, Debug)]
enum Rule {
    /// As they are.
    Elements(ArrayData),
    /// The same everywhere.
    Fill(Element),
    /// `first + k * step` at position `k`.
    Iota { first: f64, step: f64 },
    /// Numbers that look random, from the first number of the range up to but without the second.
    Lcg { seed: u64, range: Option<(f64, f64)> },
}

impl From<ArrayData> for Data {
    fn from(a: ArrayData) -> Data {
        Data { shape: a.shape().to_vec(), elt: a.elt().clone(), rule: Rule::Elements(a), made: Arc::default() }
    }
}

impl Data {
    /// The extents, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The element type.
    pub fn elt(&self) -> &EltType {
        &self.elt
    }

    /// The array; an error if there is no memory for it.
    pub fn array(&self) -> Result<ArrayData, ShapeError> {
        if let Rule::Elements(a) = &self.rule {
            return Ok(a.clone());
        }
        if let Some(a) = self.made.get() {
            return Ok(a.clone());
        }
        let made = self.make()?;
        Ok(self.made.get_or_init(|| made).clone())
    }

    fn make(&self) -> Result<ArrayData, ShapeError> {
        let (size, leaves) = (shape_size(&self.shape)?, self.elt.leaves());
        let of = |elements: &mut dyn Iterator<Item = Element>| {
            ArrayData::from_leaves(self.shape.iter().copied(), self.elt.clone(), elements)
        };
        match &self.rule {
            Rule::Elements(a) => Ok(a.clone()),
            Rule::Fill(one) => of(&mut std::iter::repeat_n(one.clone(), size)),
            Rule::Iota { first, step } => {
                let at = |k| leaves.iter().map(|&ty| of_number(first + k as f64 * step, ty)).collect();
                of(&mut (0..size).map(at))
            }
            Rule::Lcg { seed, range } => {
                let mut state = *seed;
                of(&mut (0..size).map(|_| leaves.iter().map(|&ty| random(&mut state, ty, *range)).collect()))
            }
        }
    }
}

/// `[extents] type` and the elements in braces or one of
///
/// * `iota` or `iota(start, step)`: `start + k * step` for the element at position `k`;
/// * `fill(element)`: the same element everywhere;
/// * `lcg(seed)` or `lcg(seed, low, high)`: numbers that look random, from `low` up to but without `high`.
pub(super) fn array(c: &mut Cursor<'_>) -> Result<Data, Error> {
    let start = c.token().clone();
    c.expect('[')?;
    let shape: Vec<usize> = c.list(']', |c| c.natural("an extent"))?;
    let elt = c.elt_type()?;
    let size = match shape_size(&shape) {
        Ok(n) if n.saturating_mul(elt.leaf_count().max(1)) <= MAX_SCALARS => n,
        Ok(n) => {
            return c.error_at(
                &start,
                format!("{n} elements are too many for the type {elt}: at most {MAX_SCALARS} scalars are allowed"),
            );
        }
        Err(e) => return c.error_at(&start, e.to_string()),
    };
    let body = c.token().clone();
    let rule = if c.eat('{') {
        let elements = c.list('}', |c| {
            let mut out = Element::new();
            element(c, &elt, &mut out)?;
            Ok(out)
        })?;
        let array = ArrayData::from_leaves(shape.iter().copied(), elt.clone(), elements);
        Rule::Elements(array.or_else(|e| c.error_at(&body, e.to_string()))?)
    } else if c.eat_word("fill") {
        c.expect('(')?;
        let mut one = Element::new();
        element(c, &elt, &mut one)?;
        c.expect(')')?;
        Rule::Fill(one)
    } else if c.eat_word("iota") {
        let (mut first, mut step) = (0.0, 1.0);
        if c.eat('(') {
            first = number(c)?;
            c.expect(',')?;
            step = number(c)?;
            c.expect(')')?;
        }
        if let Some(last) = size.checked_sub(1) {
            fits(c, &body, &elt, |_| [first, first + last as f64 * step])?;
        }
        Rule::Iota { first, step }
    } else if c.eat_word("lcg") {
        c.expect('(')?;
        let seed: u64 = c.natural("a seed")?;
        let mut range = None;
        if c.eat(',') {
            let low = number(c)?;
            c.expect(',')?;
            let token = c.token().clone();
            let high = number(c)?;
            if !(low <= high && (high - low).is_finite()) {
                return c.error_at(&token, format!("no range of numbers goes from {low} to {high}"));
            }
            fits(c, &body, &elt, |ty| [low, if ty.is_float() { high } else { (high.ceil() - 1.0).max(low) }])?;
            range = Some((low, high));
        }
        c.expect(')')?;
        Rule::Lcg { seed, range }
    } else {
        return c.expected("the elements in `{ }`, `fill(...)`, `iota` or `lcg(seed)`");
    };
    Ok(Data { shape, elt, rule, made: Arc::default() })
}

/// An error if a number type among the leaves cannot hold the rule's extreme numbers. `bool` and `char` are made of any number.
fn fits(c: &Cursor<'_>, at: &Token, elt: &EltType, extremes: impl Fn(ScalarType) -> [f64; 2]) -> Result<(), Error> {
    for &ty in &elt.leaves() {
        if let Some(x) = extremes(ty).into_iter().find(|&x| !holds(ty, x)) {
            return c.error_at(at, format!("`{x}` is not a value of type {ty}"));
        }
    }
    Ok(())
}

/// Whether a number, rounded down for an integer type, is in the range of a type.
fn holds(ty: ScalarType, x: f64) -> bool {
    // Both bounds of a range of integers are powers of two, or 0: exact.
    let within = |least: f64, bits: i32| x.floor() >= least && x.floor() < 2f64.powi(bits);
    match ty {
        ScalarType::I8 => within(-(2f64.powi(7)), 7),
        ScalarType::I16 => within(-(2f64.powi(15)), 15),
        ScalarType::I32 => within(-(2f64.powi(31)), 31),
        ScalarType::I64 => within(-(2f64.powi(63)), 63),
        ScalarType::U8 => within(0.0, 8),
        ScalarType::U16 => within(0.0, 16),
        ScalarType::U32 => within(0.0, 32),
        ScalarType::U64 => within(0.0, 64),
        ScalarType::F16 => nearest_f16(x).is_finite(),
        ScalarType::F32 => (x as f32).is_finite(),
        ScalarType::F64 => x.is_finite(),
        ScalarType::Bool | ScalarType::Char => true,
    }
}

fn element(c: &mut Cursor<'_>, elt: &EltType, out: &mut Element) -> Result<(), Error> {
    match elt {
        EltType::Scalar(ty) => out.push(c.literal(*ty)?),
        EltType::Tuple(parts) => {
            c.expect('(')?;
            for (k, part) in parts.iter().enumerate() {
                if k > 0 {
                    c.expect(',')?;
                }
                c.nested(|c| element(c, part, out))?;
            }
            c.eat(',');
            c.expect(')')?;
        }
    }
    Ok(())
}

/// A number without a type.
fn number(c: &mut Cursor<'_>) -> Result<f64, Error> {
    Ok(f64::from_bits64(c.literal(ScalarType::F64)?.bits))
}

/// The nearest value of a type. Numbers out of the range of an integer type wrap: numbers without a range are of 32
/// bits.
fn of_number(x: f64, ty: ScalarType) -> Lit {
    let whole = (x as i64).lit();
    match ty {
        ScalarType::U64 if x >= 0.0 => (x as u64).lit(),
        ScalarType::F16 => nearest_f16(x).lit(),
        ScalarType::F32 => (x as f32).lit(),
        ScalarType::F64 => x.lit(),
        ScalarType::Bool => (x as i64 % 2 != 0).lit(),
        ScalarType::Char => char::from_u32((x as i64).rem_euclid(0xD800) as u32).unwrap_or_default().lit(),
        // A cast between numbers exists.
        _ => eval_cast(whole, ty).unwrap_or(Lit::zero(ty)),
    }
}

/// A linear congruential generator (Knuth's MMIX constants); the upper half of its state is the number.
fn random(state: &mut u64, ty: ScalarType, range: Option<(f64, f64)>) -> Lit {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let bits = *state >> 32;
    let unit = bits as f64 / (1u64 << 32) as f64;
    match range {
        Some((low, high)) if ty.is_float() => of_number(low + unit * (high - low), ty),
        Some((low, high)) => of_number((low + unit * (high - low)).floor(), ty),
        None if ty.is_float() => of_number(2.0 * unit - 1.0, ty),
        None => of_number(bits as f64, ty),
    }
}

/// Prints an array as the text form writes it; `limit` elements at most, and how many more there are.
pub fn show_array(a: &ArrayData, limit: usize) -> String {
    struct Element<'a>(&'a EltType, &'a [Lit]);
    impl fmt::Display for Element<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            let mut leaves = self.1.iter();
            write_element(f, self.0, &mut leaves)
        }
    }
    let shape: Vec<String> = a.shape().iter().map(usize::to_string).collect();
    let elements: Vec<String> =
        (0..a.size().min(limit)).filter_map(|k| a.element(k)).map(|l| Element(a.elt(), &l).to_string()).collect();
    let more = if a.size() > limit { format!(", ... {} more", a.size() - limit) } else { String::new() };
    let elements = if a.size() == 0 { "{}".into() } else { format!("{{ {}{more} }}", elements.join(", ")) };
    format!("[{}] {} {elements}", shape.join(", "), a.elt())
}

fn write_element(f: &mut fmt::Formatter<'_>, elt: &EltType, leaves: &mut std::slice::Iter<'_, Lit>) -> fmt::Result {
    match elt {
        EltType::Scalar(_) => leaves.next().map_or(Ok(()), |l| write_lit(f, *l)),
        EltType::Tuple(parts) => {
            f.write_str("(")?;
            for (k, part) in parts.iter().enumerate() {
                if k > 0 {
                    f.write_str(", ")?;
                }
                write_element(f, part, leaves)?;
            }
            f.write_str(if parts.len() == 1 { ",)" } else { ")" })
        }
    }
}
