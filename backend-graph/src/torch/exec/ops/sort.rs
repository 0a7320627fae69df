//! Sorts along the last axis.
//!
//! libtorch sorts a long row of integers on a CPU digit by digit, and all else by comparing, which takes four to twenty times as
//! long. So floats are sorted by integers of the same order, and integers are as narrow as they can be.

use super::reduce::{ordered, unordered};
use super::views::slice;
use crate::torch::TorchError;
use crate::torch::numbers::{WithNumber, number, range};
use acc_core::data::ScalarType;
use tch::{Device, Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// Rows of so many elements are sorted digit by digit.
const MIN_DIGIT_SORTED_ELEMENTS: usize = 1 << 15;
/// From rows that have at least so many elements for each that is asked for these are selected; others are sorted.
const MIN_ELEMENTS_PER_SELECTED: i64 = 4;
/// On a CPU rows with some so many elements together are selected from at a time: their keys are in a cache.
const SELECTED_BLOCK_ELEMENTS: i64 = 1 << 16;

/// A tensor sorted along its last axis, and the positions that the elements had.
pub(crate) fn all(x: &Tensor, ty: ScalarType) -> Result<[Tensor; 2]> {
    let by_digits = x.device() == Device::Cpu && x.dim() == 1 && x.numel() >= MIN_DIGIT_SORTED_ELEMENTS;
    if by_digits && ty.is_float() {
        let (_, at) = integers_of_floats(x)?.f_sort_stable(true, -1, false)?;
        // Zeros of either sign, and all NaN, are one integer.
        return Ok([x.f_index_select(0, &at)?, at]);
    }
    let keys = with_one_nan(&ordered(x, ty)?)?;
    let narrow = if by_digits { narrowed(&keys)? } else { keys.shallow_clone() };
    let (sorted, at) = narrow.f_sort_stable(true, -1, false)?;
    Ok([unordered(&sorted.f_to_kind(keys.f_kind()?)?, ty)?, at])
}

/// The first or last `count` elements of each row of a tensor sorted along its last axis, and the positions that they had; zeros,
/// if a row has fewer.
pub(crate) fn some(x: &Tensor, ty: ScalarType, count: i64, last: bool) -> Result<[Tensor; 2]> {
    let mut shape = x.size();
    let (elements, Some(row)) = (shape.iter().product::<i64>(), shape.last_mut()) else { return all(x, ty) };
    let n = std::mem::replace(row, count);
    if elements > 0 && count > 0 && n / MIN_ELEMENTS_PER_SELECTED >= count && n <= u32::MAX.into() {
        let rows = x.f_reshape([-1, n])?;
        let block = if x.device() == Device::Cpu { (SELECTED_BLOCK_ELEMENTS / n).max(1) } else { elements / n };
        let blocks = (0..elements / n).step_by(usize::try_from(block).unwrap_or(1));
        let selected = blocks.map(|from| {
            let rows = rows.f_narrow(0, from, block.min(elements / n - from))?;
            selected(&rows, ty, count, last)
        });
        if let Some(selected) = selected.collect::<Result<Option<Vec<_>>>>()? {
            let joined = |which: &dyn Fn(&[Tensor; 2]) -> Tensor| {
                let parts: Vec<Tensor> = selected.iter().map(which).collect();
                Ok::<_, TorchError>(Tensor::f_cat(&parts, 0)?.f_reshape(&shape)?)
            };
            return Ok([joined(&|[elements, _]| elements.shallow_clone())?, joined(&|[_, at]| at.shallow_clone())?]);
        }
    }
    let [sorted, at] = all(x, ty)?;
    let cut = |t: &Tensor| slice(t, shape.len() - 1, if last { n - count } else { 0 }, count, 1);
    Ok([cut(&sorted)?, cut(&at)?])
}

/// The same of a matrix, if it can be told without sorting the rows.
fn selected(rows: &Tensor, ty: ScalarType, count: i64, last: bool) -> Result<Option<[Tensor; 2]>> {
    let keys = if ty.is_float() { integers_of_floats(rows)? } else { narrowed(&ordered(rows, ty)?)? };
    let at = if keys.f_kind()? == Kind::Int64 {
        match selected_unless_equal(&keys, count, last)? {
            Some(at) => at,
            None => return Ok(None),
        }
    } else {
        selected_with_positions(&keys, count, last)?
    };
    Ok(Some([rows.f_gather(-1, &at, false)?, at]))
}

/// Where the `count` least or greatest keys of at most 32 bits are: integers of which the position is the lower half are all
/// different.
fn selected_with_positions(keys: &Tensor, count: i64, greatest: bool) -> Result<Tensor> {
    let n = keys.size().last().copied().unwrap_or(0);
    let mut keys = keys.f_to_kind(Kind::Int64)?.f_bitwise_left_shift_(&number(32, Kind::Int64)?)?;
    let keys = keys.f_bitwise_or_tensor_(&range(n, [0, n, 1], (Kind::Int64, keys.device()))?)?;
    let (found, _) = keys.f_topk(count, -1, greatest, true)?;
    let found = if greatest { found.f_flip([-1])? } else { found };
    found.and_number(i64::from(u32::MAX))
}

/// Where the `count` least or greatest keys are, unless a key that is not among them equals one that is: libtorch selects any of
/// equal ones.
fn selected_unless_equal(keys: &Tensor, count: i64, greatest: bool) -> Result<Option<Tensor>> {
    let (found, at) = keys.f_topk(count, -1, greatest, true)?;
    let bound = found.f_narrow(-1, count - 1, 1)?;
    let candidates = if greatest { keys.f_ge_tensor(&bound)? } else { keys.f_le_tensor(&bound)? };
    if candidates.f_sum(Kind::Int64)?.f_int64_value(&[])? != i64::try_from(at.numel()).unwrap_or(i64::MAX) {
        return Ok(None);
    }
    // In ascending order, equal ones in that of their positions.
    let (at, order) = at.f_sort(-1, false)?;
    let (_, order) = found.f_gather(-1, &order, false)?.f_sort_stable(true, -1, false)?;
    Ok(Some(at.f_gather(-1, &order, false)?))
}

/// Integers in the order of floats, those of NaN equal and the greatest. There are some floats.
fn integers_of_floats(x: &Tensor) -> Result<Tensor> {
    let (integers, sign, magnitude) = match x.f_kind()? {
        Kind::Half => (Kind::Int16, 15, i64::from(i16::MAX)),
        Kind::Float => (Kind::Int, 31, i64::from(i32::MAX)),
        _ => (Kind::Int64, 63, i64::MAX),
    };
    // The sum is 0 for -0, too.
    let mut x = x.add_number(0.0)?;
    if x.f_max()?.f_isnan()?.f_int64_value(&[])? != 0 {
        x = x.f_masked_fill(&x.f_isnan()?, f64::NAN)?;
    }
    let bits = x.f_view_dtype(integers)?;
    // Of negative floats the greater magnitude is the lesser integer.
    let below_sign = bits.shr_number(sign)?.and_number(magnitude)?;
    Ok(bits.f_bitwise_xor_tensor(&below_sign)?)
}

/// Integers of 64 bits as narrower ones, if all of them are.
fn narrowed(keys: &Tensor) -> Result<Tensor> {
    if keys.f_kind()? != Kind::Int64 {
        return Ok(keys.shallow_clone());
    }
    let (least, greatest) = keys.f_aminmax(None, false)?;
    let range = least.f_int64_value(&[])?..=greatest.f_int64_value(&[])?;
    let fits = |low: i64, high: i64| low <= *range.start() && *range.end() <= high;
    Ok(if fits(i16::MIN.into(), i16::MAX.into()) {
        keys.f_to_kind(Kind::Int16)?
    } else if fits(i32::MIN.into(), i32::MAX.into()) {
        keys.f_to_kind(Kind::Int)?
    } else {
        keys.shallow_clone()
    })
}

/// On a CUDA device libtorch sorts floats by their bits, so that a NaN with its sign set comes before all numbers; every
/// NaN becomes the one without sign, which comes after them, as on a CPU.
fn with_one_nan(keys: &Tensor) -> Result<Tensor> {
    if keys.device() == Device::Cpu || !keys.is_floating_point() {
        return Ok(keys.shallow_clone());
    }
    Ok(keys.f_masked_fill(&keys.f_isnan()?, f64::NAN)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of which some, at each place, equal others, and some do not.
    fn keys(kind: Kind, rows: i64, n: i64, different: i64) -> Tensor {
        let mixed: Vec<i64> = (0..rows * n).map(|k| k * 7919 % different - different / 3).collect();
        Tensor::from_slice(&mixed).to_kind(kind).reshape([rows, n])
    }

    #[test]
    fn selected_elements_are_those_of_sorted_rows() {
        let types = [
            (ScalarType::F32, Kind::Float),
            (ScalarType::F64, Kind::Double),
            (ScalarType::F16, Kind::Half),
            (ScalarType::I64, Kind::Int64),
            (ScalarType::U64, Kind::Int64),
            (ScalarType::I32, Kind::Int),
            (ScalarType::U8, Kind::Uint8),
        ];
        for (ty, kind) in types {
            for (rows, n, count) in
                [(3, 50, 5), (2, 40_000, 7), (70, 1000, 1), (1, 8, 2), (4, 9, 8), (2, 3, 5), (0, 9, 2), (3, 0, 1)]
            {
                for different in [1, 3, 97, 1_000_003] {
                    let mut x = keys(kind, rows, n, different);
                    if ty == ScalarType::U64 {
                        // Of more than 32 bits.
                        x *= 1i64 << 41;
                    }
                    if ty.is_float() {
                        // Both zeros, and NaN.
                        x = x.where_self(&x.ne(1), &x.zeros_like().neg()).masked_fill(&x.eq(5), f64::NAN);
                    }
                    let [sorted, at] = all(&x, ty).unwrap();
                    for last in [false, true] {
                        let [some, some_at] = some(&x, ty, count, last).unwrap();
                        let cut = |t: &Tensor| slice(t, 1, if last { n - count } else { 0 }, count, 1).unwrap();
                        assert_eq!(some_at, cut(&at), "{ty:?} {rows} x {n}, {different} different, last: {last}");
                        let bits = |t: &Tensor| t.contiguous().view_dtype(Kind::Uint8);
                        if some.numel() > 0 {
                            assert_eq!(bits(&some), bits(&cut(&sorted)), "{ty:?} {rows} x {n}, last: {last}");
                        }
                    }
                }
            }
        }
    }
}
