//! Reductions and scans of segments.

use super::elementwise;
use super::masks::select_lanes;
use super::reduce::{cumulative, exclusive, operation, ordered, unordered};
use super::views::take;
use crate::torch::exec::Run;
use crate::torch::memory::with_room;
use crate::torch::numbers::{WithNumber, full, number, range};
use crate::torch::transfer::{kind, literal};
use crate::torch::{Device, TorchError};
use acc_core::data::ScalarType;
use acc_desugar::graph::{ReduceOp, Value};
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// The reductions of the segments of each row, or of what is read of it at some positions; an error if these are not there, or
/// if a segment that must not be is empty.
pub(crate) fn reduce(
    k: ReduceOp,
    t: &Tensor,
    at: Option<&Tensor>,
    ty: ScalarType,
    offsets: &Tensor,
    full: bool,
) -> Result<Tensor> {
    if ty == ScalarType::F16 {
        let wide = t.f_to_kind(Kind::Float)?;
        return Ok(reduce(k, &wide, at, ScalarType::F32, offsets, full)?.f_to_kind(Kind::Half)?);
    }
    let mut shape = t.size();
    let extent = shape.pop().unwrap_or(0);
    let n = at.map_or(extent, |at| at.numel() as i64);
    let count = offsets.numel() as i64 - 1;
    let segments = Checked::new(offsets, count, n, full)?;
    shape.push(count);
    if k == ReduceOp::Sum
        && matches!(ty, ScalarType::F32 | ScalarType::F64)
        && let Some(sums) = bags(t, at, offsets, &segments)?
    {
        return Ok(sums);
    }
    let read = at.map(|at| take(t, t.dim().saturating_sub(1), at)).transpose()?;
    let t = read.as_ref().unwrap_or(t);
    let neutral = k.neutral(ty);
    let as_tensor = || -> Result<Tensor> { Ok(literal(neutral, Device::Cpu)?.f_to_device(t.device())?) };
    let (shortest, longest) = segments.range;
    if longest == 0 || shape.contains(&0) {
        return Ok(as_tensor()?.f_expand(shape, false)?);
    }
    if shortest == longest {
        let elements = t.f_narrow(-1, segments.first, count * longest)?;
        return super::reduce::reduce(k, &elements.f_unflatten(-1, [count, longest])?, ty);
    }
    match (k, exact(ty)) {
        (ReduceOp::Sum, _) if ty.is_int() => differences(t, ty, offsets),
        (ReduceOp::Product, _) if ty.is_int() => scattered(k, t, ty, offsets, &as_tensor()?, [n, count]),
        (_, None) => scattered(k, t, ty, offsets, &as_tensor()?, [n, count]),
        (_, Some(float)) => {
            let initial = match neutral.get::<f32>().map(f64::from).or(neutral.get::<f64>()) {
                Some(x) => x,
                None => ordered(&as_tensor()?, ty)?.f_double_value(&[])?,
            };
            let t = match kind(ty) == float {
                true => t.shallow_clone(),
                false => ordered(t, ty)?.f_to_kind(float)?,
            };
            let reduced = segments.reduced(k, &t, initial, shape)?;
            match ty {
                _ if kind(ty) == float => Ok(reduced),
                ScalarType::Bool => unordered(&reduced.f_to_kind(Kind::Uint8)?, ty),
                _ => unordered(&reduced.f_to_kind(kind(ty))?, ty),
            }
        }
    }
}

/// Sums of columns that lie beside each other in memory, or of those at some positions, by the function that libtorch has for
/// bags of rows of a table: it reads each once, and stores none.
fn bags(t: &Tensor, at: Option<&Tensor>, offsets: &Tensor, segments: &Checked) -> Result<Option<Tensor>> {
    if t.dim() < 2 || t.numel() == 0 || t.device() != tch::Device::Cpu {
        return Ok(None);
    }
    let table = t.f_movedim_int(-1, 0)?;
    if !table.is_contiguous() {
        return Ok(None);
    }
    let first = segments.first;
    let at = match at {
        // Positions that are in no segment may be out of bounds, too.
        Some(at) if first > 0 || segments.last < at.numel() as i64 => return Ok(None),
        Some(at) => at.f_to_kind(Kind::Int64)?,
        None => range(segments.last - first, [first, segments.last, 1], (Kind::Int64, t.device()))?,
    };
    let offsets = if first == 0 { offsets.shallow_clone() } else { offsets.sub_number(first)? };
    let none = None::<&Tensor>;
    let rows = table.f_flatten(1, -1)?;
    let (sums, ..) = Tensor::f_embedding_bag(&rows, &at, &offsets, false, 0, false, none, true)?;
    let mut shape = table.size();
    if let Some(rows) = shape.first_mut() {
        *rows = offsets.numel() as i64 - 1;
    }
    Ok(Some(sums.f_reshape(shape)?.f_movedim_int(0, -1)?))
}

/// Floats that hold every number of a type: libtorch reduces segments of floats alone.
fn exact(ty: ScalarType) -> Option<Kind> {
    match ty {
        ScalarType::Bool | ScalarType::I8 | ScalarType::U8 | ScalarType::I16 | ScalarType::U16 => Some(Kind::Float),
        ScalarType::F16 | ScalarType::F32 => Some(Kind::Float),
        ScalarType::I32 | ScalarType::U32 | ScalarType::Char | ScalarType::F64 => Some(Kind::Double),
        ScalarType::I64 | ScalarType::U64 => None,
    }
}

/// Of so many segments at most the host computes the lengths.
const MAX_SEGMENTS_BY_HOST: i64 = 1 << 12;

/// Segments that are there. Libtorch reads wherever it is told: they must ascend within the rows.
struct Checked {
    lengths: Tensor,
    /// Where the first one begins, and the last one ends.
    first: i64,
    last: i64,
    /// The least and the greatest length.
    range: (i64, i64),
}

impl Checked {
    fn new(offsets: &Tensor, count: i64, n: i64, full: bool) -> Result<Checked> {
        let wrong = || TorchError::new("the segments are not there");
        if count < 0 {
            return Err(wrong());
        }
        let Checked { lengths, first, last, range } = match offsets.device() {
            tch::Device::Cpu if count <= MAX_SEGMENTS_BY_HOST => Checked::by_host(offsets, count)?,
            _ => Checked::by_calls(offsets, count)?,
        };
        // Differences that are lengths have not wrapped: between the first and the last, offsets ascend.
        if first < 0 || last > n || (count > 0 && range.0 < i64::from(full)) || range.1 > n {
            return Err(wrong());
        }
        Ok(Checked { lengths, first, last, range })
    }

    fn by_calls(offsets: &Tensor, count: i64) -> Result<Checked> {
        let lengths = offsets.f_narrow(0, 1, count)?.f_sub(&offsets.f_narrow(0, 0, count)?)?;
        let range = match count {
            0 => (0, 0),
            _ => {
                let (least, greatest) = lengths.f_aminmax(None, false)?;
                (least.f_int64_value(&[])?, greatest.f_int64_value(&[])?)
            }
        };
        let [first, last] = [0, count];
        Ok(Checked { lengths, first: offsets.f_int64_value(&[first])?, last: offsets.f_int64_value(&[last])?, range })
    }

    /// The same without calls of libtorch that would take longer than what they do.
    fn by_host(offsets: &Tensor, count: i64) -> Result<Checked> {
        let offsets = Vec::<i64>::try_from(offsets)?;
        let lengths: Vec<i64> =
            offsets.iter().zip(offsets.iter().skip(1)).map(|(start, end)| end.wrapping_sub(*start)).collect();
        let range = (lengths.iter().min().copied().unwrap_or(0), lengths.iter().max().copied().unwrap_or(0));
        debug_assert_eq!(lengths.len() as i64, count);
        let [first, last] = [offsets.first(), offsets.last()].map(|end| end.copied().unwrap_or(0));
        Ok(Checked { lengths: Tensor::f_from_slice(&lengths)?, first, last, range })
    }

    /// Reductions of floats, into a tensor of this shape. By lengths, which are faster than offsets, from the first one
    /// on; what "unsafe" leaves out was checked.
    fn reduced(&self, k: ReduceOp, t: &Tensor, initial: f64, shape: Vec<i64>) -> Result<Tensor> {
        let name = match k {
            ReduceOp::Sum => "sum",
            ReduceOp::Product => "prod",
            ReduceOp::Min | ReduceOp::All => "min",
            ReduceOp::Max | ReduceOp::Any => "max",
        };
        let rest = t.size().last().unwrap_or(&0) - self.first;
        let none = None::<&Tensor>;
        // Columns that lie beside each other are reduced where they are.
        let columns = t.f_movedim_int(-1, 0)?;
        if t.dim() > 1 && columns.is_contiguous() {
            let from = columns.f_narrow(0, self.first, rest)?;
            let mut made = from.size();
            if let Some(segments) = made.first_mut() {
                *segments = self.lengths.numel() as i64;
            }
            let reduced = with_room(&made, (from.f_kind()?, from.device()), || {
                Ok(Tensor::f_segment_reduce(&from, name, Some(&self.lengths), none, none, 0, true, initial)?)
            })?;
            return Ok(reduced.f_movedim_int(0, -1)?);
        }
        let (axis, from) = (shape.len() as i64 - 1, t.f_narrow(-1, self.first, rest)?.f_contiguous()?);
        let lengths = self.lengths.f_expand(&shape, false)?.f_contiguous()?;
        with_room(&shape, (from.f_kind()?, from.device()), || {
            Ok(Tensor::f_segment_reduce(&from, name, Some(&lengths), none, none, axis, true, initial)?)
        })
    }
}

/// Sums of integers, which wrap: the total of all elements up to the end of a segment, less the total before it.
fn differences(t: &Tensor, ty: ScalarType, offsets: &Tensor) -> Result<Tensor> {
    let at = exclusive(ReduceOp::Sum, t, ty)?.f_index_select(-1, offsets)?;
    let count = offsets.numel() as i64 - 1;
    Ok(at.f_narrow(-1, 1, count)?.f_sub(&at.f_narrow(-1, 0, count)?)?)
}

/// Elements put together by the number of their segment.
fn scattered(
    k: ReduceOp,
    t: &Tensor,
    ty: ScalarType,
    offsets: &Tensor,
    neutral: &Tensor,
    [n, count]: [i64; 2],
) -> Result<Tensor> {
    let mut shape = t.size();
    let rows = shape.iter().product::<i64>() / n.max(1);
    // How many offsets are at or before a position: 0 before all segments, and one more than there are after them.
    let marks = Tensor::f_zeros([n + 1], (Kind::Int64, t.device()))?;
    let ones = Tensor::f_ones([1], (Kind::Int64, t.device()))?.f_expand_as(offsets)?;
    let numbers = marks.f_scatter_add(0, offsets, &ones)?.f_cumsum(0, Kind::Int64)?.f_narrow(0, 0, n)?;
    let numbers = numbers.f_expand([rows, n], false)?;
    let name = match k {
        ReduceOp::Sum => "sum",
        ReduceOp::Product => "prod",
        ReduceOp::Min | ReduceOp::All => "amin",
        ReduceOp::Max | ReduceOp::Any => "amax",
    };
    let (values, neutral) = match k {
        ReduceOp::Sum | ReduceOp::Product => (t.shallow_clone(), neutral.shallow_clone()),
        ReduceOp::Min | ReduceOp::Max | ReduceOp::All | ReduceOp::Any => (ordered(t, ty)?, ordered(neutral, ty)?),
    };
    let base = neutral.f_expand([rows, count + 2], false)?;
    let reduced = base.f_internal_scatter_reduce(1, &numbers, &values.f_reshape([rows, n])?, name, true)?;
    if let Some(last) = shape.last_mut() {
        *last = count;
    }
    let segments = reduced.f_narrow(1, 1, count)?.f_reshape(shape)?;
    match k {
        ReduceOp::Sum | ReduceOp::Product => Ok(segments),
        ReduceOp::Min | ReduceOp::Max | ReduceOp::All | ReduceOp::Any => unordered(&segments, ty),
    }
}

/// The bytes of a word.
const WORD_BYTES: i64 = 8;

/// The positions where whole words of marks are true: first the words that have any, if these are few, then the marks in
/// these.
fn positions(marks: &Tensor) -> Result<Tensor> {
    let words = marks.f_view_dtype(Kind::Int64)?.f_nonzero()?.f_reshape([-1])?;
    if words.numel() as i64 * 2 * WORD_BYTES > marks.numel() as i64 {
        return Ok(marks.f_nonzero()?.f_reshape([-1])?);
    }
    let within = marks.f_view([-1, WORD_BYTES])?.f_index_select(0, &words)?.f_nonzero()?;
    let starts = words.mul_number(WORD_BYTES)?.f_index_select(0, &within.f_select(1, 0)?)?;
    Ok(starts.f_add(&within.f_select(1, 1)?)?)
}

/// Segments are laid side by side where that takes at most so many times their elements.
const MAX_PADDING_FACTOR: i64 = 4;

impl Run<'_> {
    /// Scans that restart at marks.
    pub(crate) fn segment_scan(&mut self, k: ReduceOp, x: Value, starts: Value) -> crate::torch::exec::Result<Tensor> {
        let (x, ty, starts) = (self.tensor(x)?.shallow_clone(), self.scalar(x), self.tensor(starts)?.shallow_clone());
        if ty == ScalarType::F16 {
            let wide = x.f_to_kind(Kind::Float).map_err(TorchError::from)?;
            let scanned = self.scan_segments(k, &wide, ScalarType::F32, &starts)?;
            return Ok(scanned.f_to_kind(Kind::Half)?);
        }
        self.scan_segments(k, &x, ty, &starts)
    }

    fn scan_segments(
        &mut self,
        k: ReduceOp,
        x: &Tensor,
        ty: ScalarType,
        starts: &Tensor,
    ) -> crate::torch::exec::Result<Tensor> {
        if x.numel() == 0 {
            return Ok(x.shallow_clone());
        }
        if let Some(length) = even(starts)? {
            let rows = x.f_reshape([-1, length])?;
            return Ok(cumulative(k, &rows, ty)?.f_reshape(x.size())?);
        }
        let segments = Segments::new(starts)?;
        if let Some(scanned) = segments.scanned(k, x, ty)? {
            return Ok(scanned);
        }
        let combine = |_: &mut Run<'_>, _: i64, left: &[Tensor], right: &[Tensor]| match (left, right) {
            ([m, a], [n, b]) => {
                let both = elementwise::apply(operation(k), ty, &[a, b], None, None)?;
                Ok(vec![m.f_logical_or(n)?, select_lanes(n, b, &both)?])
            }
            _ => Err(TorchError::new("a scan of segments has two columns").into()),
        };
        let mut columns = self.scanned(&combine, vec![starts.shallow_clone(), x.shallow_clone()])?;
        Ok(columns.pop().ok_or_else(|| TorchError::new("a scan of segments has a result"))?)
    }
}

/// The common length of all segments, if there is one. At least one element is marked.
fn even(starts: &Tensor) -> Result<Option<i64>> {
    let (size, row) = (starts.numel() as i64, starts.size().last().copied().unwrap_or(1));
    // Rows begin with a segment, whether or not they have a mark there.
    let rows = starts.f_select(-1, 0)?;
    let unmarked = rows.numel() as i64 - rows.f_count_nonzero(None)?.f_int64_value(&[])?;
    let count = starts.f_count_nonzero(None)?.f_int64_value(&[])? + unmarked;
    let length = size / count;
    if length * count != size || row % length != 0 {
        return Ok(None);
    }
    // The count fits, so if every expected position is marked no other one is.
    let later = starts.f_unflatten(-1, [-1, length])?.f_select(-1, 0)?.f_narrow(-1, 1, row / length - 1)?;
    Ok((later.f_count_nonzero(None)?.f_int64_value(&[])? == later.numel() as i64).then_some(length))
}

/// Where the segments of rows are, among the elements in row-major order.
struct Segments {
    /// Where each begins,
    heads: Tensor,
    /// and how many elements it has.
    lengths: Tensor,
    /// The greatest number of elements.
    longest: i64,
    count: i64,
}

impl Segments {
    /// Of marks at first elements, of which there are some.
    fn new(starts: &Tensor) -> Result<Segments> {
        let size = starts.numel() as i64;
        let marks =
            Tensor::f_empty([(size + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES], (Kind::Bool, starts.device()))?;
        let _ = marks.f_narrow(0, size, marks.numel() as i64 - size)?.f_zero_()?;
        let mut rows = marks.f_narrow(0, 0, size)?.f_view(starts.size().as_slice())?;
        rows.f_copy_(starts)?;
        // Rows do not run into one another.
        let _ = rows.f_narrow(-1, 0, 1)?.f_fill_tensor_(&number(1, Kind::Bool)?)?;
        let heads = positions(&marks)?;
        let count = heads.numel() as i64;
        let end = full(&[1], size, (Kind::Int64, starts.device()))?;
        let lengths = Tensor::f_cat(&[heads.f_narrow(0, 1, count - 1)?, end], 0)?.f_sub(&heads)?;
        let longest = lengths.f_max()?.f_int64_value(&[])?;
        Ok(Segments { heads, lengths, longest, count })
    }

    /// The scans of the segments, if they are of integers that are added, or not too unlike.
    fn scanned(&self, k: ReduceOp, x: &Tensor, ty: ScalarType) -> Result<Option<Tensor>> {
        let shape = x.size();
        let flat = x.f_reshape([-1])?;
        let scanned = if k == ReduceOp::Sum && ty.is_int() {
            self.sums(&flat, ty)?
        } else if self.count.saturating_mul(self.longest) <= MAX_PADDING_FACTOR * flat.numel() as i64 {
            self.side_by_side(k, &flat, ty)?
        } else {
            return Ok(None);
        };
        Ok(Some(scanned.f_reshape(shape)?))
    }

    /// Sums of integers, which wrap: the first element of a segment takes back what the one before came to.
    fn sums(&self, x: &Tensor, ty: ScalarType) -> Result<Tensor> {
        let later = self.heads.f_narrow(0, 1, self.count - 1)?;
        let sums = cumulative(ReduceOp::Sum, x, ty)?.f_index_select(0, &later.sub_number(1)?)?;
        let before = Tensor::f_cat(&[sums.f_narrow(0, 0, 1)?.f_zeros_like()?, sums.shallow_clone()], 0)?;
        let totals = sums.f_sub(&before.f_narrow(0, 0, self.count - 1)?)?;
        Ok(x.f_index_add(0, &later, &totals.f_neg()?)?.f_cumsum_(0, kind(ty))?)
    }

    /// Each segment as a row, with neutral elements after it.
    fn side_by_side(&self, k: ReduceOp, x: &Tensor, ty: ScalarType) -> Result<Tensor> {
        let (count, longest) = (self.count, self.longest);
        // The place of an element is one more than that of the one before, but for the first of a segment.
        let mut places = Tensor::f_ones([x.numel() as i64], (Kind::Int64, x.device()))?;
        let jumps = self.lengths.f_narrow(0, 0, count - 1)?.f_neg()?.add_number(longest + 1)?;
        let _ = places.f_scatter_(0, &self.heads.f_narrow(0, 1, count - 1)?, &jumps)?;
        let _ = places.f_narrow(0, 0, 1)?.f_zero_()?;
        let _ = places.f_cumsum_(0, Kind::Int64)?;
        let neutral = literal(k.neutral(ty), Device::Cpu)?.f_to_device(x.device())?;
        let rows = neutral.f_expand([count * longest], false)?.f_scatter(0, &places, x)?;
        let scanned = cumulative(k, &rows.f_reshape([count, longest])?, ty)?;
        Ok(scanned.f_reshape([-1])?.f_index_select(0, &places)?)
    }
}
