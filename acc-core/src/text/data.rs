//! Array data in text: `[2, 3] i64 { 1, 2, 3, 4, 5, 6 }`, or made by a rule.

use super::cursor::Cursor;
use super::literal::write_lit;
use crate::data::{ArrayData, EltType, Lit, Prim, ScalarType, nearest_f16, shape_size};
use crate::error::Error;
use crate::interp::prim::eval_cast;
use smallvec::SmallVec;
use std::fmt;

/// The most scalars that an array in a test file may have: a typing error shall not fill the memory.
const MAX_SCALARS: usize = 1 << 28;

/// An element's scalars.
type Element = SmallVec<[Lit; 4]>;

/// `[extents] type` and the elements in braces or one of
///
/// * `iota` or `iota(start, step)`: `start + k * step` for the element at position `k`;
/// * `fill(element)`: the same element everywhere;
/// * `lcg(seed)` or `lcg(seed, low, high)`: numbers that look random, from `low` up to but without `high`.
pub(super) fn array(c: &mut Cursor<'_>) -> Result<ArrayData, Error> {
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
    let leaves = elt.leaves();
    let body = c.token().clone();
    // One at a time: as lists of literals they would take many times the memory of the array.
    let elements: Box<dyn Iterator<Item = Element>> = if c.eat('{') {
        let elements = c.list('}', |c| {
            let mut out = Element::new();
            element(c, &elt, &mut out)?;
            Ok(out)
        })?;
        Box::new(elements.into_iter())
    } else if c.eat_word("fill") {
        c.expect('(')?;
        let mut one = Element::new();
        element(c, &elt, &mut one)?;
        c.expect(')')?;
        Box::new(std::iter::repeat_n(one, size))
    } else if c.eat_word("iota") {
        let (first, step) = if c.eat('(') {
            let first = number(c)?;
            c.expect(',')?;
            let step = number(c)?;
            c.expect(')')?;
            (first, step)
        } else {
            (0.0, 1.0)
        };
        Box::new((0..size).map(move |k| leaves.iter().map(|&ty| of_number(first + k as f64 * step, ty)).collect()))
    } else if c.eat_word("lcg") {
        c.expect('(')?;
        let mut state: u64 = c.natural("a seed")?;
        let mut range = None;
        if c.eat(',') {
            let low = number(c)?;
            c.expect(',')?;
            let token = c.token().clone();
            let high = number(c)?;
            if !(low <= high && (high - low).is_finite()) {
                return c.error_at(&token, format!("no range of numbers goes from {low} to {high}"));
            }
            range = Some((low, high));
        }
        c.expect(')')?;
        Box::new((0..size).map(move |_| leaves.iter().map(|&ty| random(&mut state, ty, range)).collect()))
    } else {
        return c.expected("the elements in `{ }`, `fill(...)`, `iota` or `lcg(seed)`");
    };
    ArrayData::from_leaves(shape, elt, elements).or_else(|e| c.error_at(&body, e.to_string()))
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

/// The value of a type that comes nearest; integers wrap, other types count.
fn of_number(x: f64, ty: ScalarType) -> Lit {
    let whole = (x as i64).lit();
    match ty {
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
