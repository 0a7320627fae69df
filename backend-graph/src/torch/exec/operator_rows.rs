//! Folds and scans of rows with an operator that libtorch does not have: log-step sequences of it.

use super::{Held, Result, Rt, Run};
use crate::plan::{PlannedBody, Step};
use crate::torch::TorchError;
use acc_desugar::graph::Value;
use tch::Tensor;

/// Rows of at most this many elements are scanned by doubling distances; longer ones are halved first.
const MAX_DOUBLED_ELEMENTS: i64 = 4096;
/// The same where there are many rows.
const MAX_DOUBLED_ELEMENTS_OF_MANY_ROWS: i64 = 64;
/// Rows of at most this many elements, of which there are many, are folded element by element.
const MAX_SEQUENTIAL_ELEMENTS: i64 = 16;
/// So many rows are many.
const MIN_SEQUENTIAL_ROWS: i64 = 4096;

/// Columns of one shape.
pub(super) type Columns = Vec<Tensor>;

/// An operator on so many pairs of each row at once.
pub(super) type Operator<'a> = dyn Fn(&mut Run<'_>, i64, &[Tensor], &[Tensor]) -> Result<Columns> + 'a;

impl Run<'_> {
    pub(super) fn fold_rows(&mut self, step: &Step, columns: &[Value]) -> Result<()> {
        let (Some(combine), mut columns) = (step.bodies.first(), self.columns(columns)?) else { return Ok(()) };
        let (mut n, rows) = extents(&columns);
        if n <= MAX_SEQUENTIAL_ELEMENTS && rows >= MIN_SEQUENTIAL_ROWS {
            let mut sum = part(&columns, 0, 1, 1)?;
            for k in 1..n {
                let next = part(&columns, k, 1, 1)?;
                sum = self.combine(combine, 1, &sum, &next)?;
            }
            (n, columns) = (n.min(1), sum);
        }
        // Neighbours are combined, so that the order of operands stays.
        while n > 1 {
            let half = n / 2;
            let (left, right) = (part(&columns, 0, half, 2)?, part(&columns, 1, half, 2)?);
            let mut pairs = self.combine(combine, half, &left, &right)?;
            if n % 2 == 1 {
                // The last of an odd number waits for the next round.
                let last = part(&columns, n - 1, 1, 1)?;
                pairs = joined(&[pairs, last])?;
            }
            (n, columns) = (half + n % 2, pairs);
        }
        let results = columns.iter().map(|c| Ok(c.f_select(-1, 0)?)).collect::<std::result::Result<_, TorchError>>()?;
        self.define_columns(step, results)
    }

    pub(super) fn scan_rows(&mut self, step: &Step, columns: &[Value]) -> Result<()> {
        let (Some(combine), columns) = (step.bodies.first(), self.columns(columns)?) else { return Ok(()) };
        let results = self.scanned(&|run, len, left, right| run.combine(combine, len, left, right), columns)?;
        self.define_columns(step, results)
    }

    /// The inclusive scans of rows with an operator.
    pub(super) fn scanned(&mut self, combine: &Operator<'_>, columns: Columns) -> Result<Columns> {
        let (n, rows) = extents(&columns);
        self.halved(
            combine,
            columns,
            n,
            if rows > 1 { MAX_DOUBLED_ELEMENTS_OF_MANY_ROWS } else { MAX_DOUBLED_ELEMENTS },
        )
    }

    fn halved(&mut self, combine: &Operator<'_>, columns: Columns, n: i64, base: i64) -> Result<Columns> {
        if n <= base {
            return self.doubled(combine, columns, n);
        }
        let half = n / 2;
        let (even, odd) = (part(&columns, 0, half, 2)?, part(&columns, 1, half, 2)?);
        let pairs = combine(self, half, &even, &odd)?;
        // What every second element is; those between are one operator further.
        let odd = self.halved(combine, pairs, half, base)?;
        let rest = n - half - 1;
        let before = part(&odd, 0, rest, 1)?;
        let after = part(&columns, 2, rest, 2)?;
        let even = combine(self, rest, &before, &after)?;
        let mut out = Vec::new();
        for ((c, odd), even) in columns.iter().zip(&odd).zip(&even) {
            let result = c.f_empty_like()?;
            put(result.f_narrow(-1, 0, 1)?, &c.f_narrow(-1, 0, 1)?)?;
            put(sliced(&result, 1, half, 2)?, odd)?;
            put(sliced(&result, 2, rest, 2)?, even)?;
            out.push(result);
        }
        Ok(out)
    }

    /// Hillis and Steele: after each round every element covers twice as many before it.
    fn doubled(&mut self, combine: &Operator<'_>, mut columns: Columns, n: i64) -> Result<Columns> {
        let mut distance = 1;
        while distance < n {
            let len = n - distance;
            let (before, after) = (part(&columns, 0, len, 1)?, part(&columns, distance, len, 1)?);
            let combined = combine(self, len, &before, &after)?;
            let head = part(&columns, 0, distance, 1)?;
            columns = joined(&[head, combined])?;
            distance *= 2;
        }
        Ok(columns)
    }

    /// The operator on `len` pairs of each row.
    fn combine(&mut self, combine: &PlannedBody, len: i64, left: &[Tensor], right: &[Tensor]) -> Result<Columns> {
        self.limits.check()?;
        let operands = left.iter().chain(right).map(|t| Rt::Tensor(t.shallow_clone().into()));
        for (p, rt) in combine.params.iter().zip(std::iter::once(Rt::Size(len)).chain(operands)) {
            self.set(*p, rt);
        }
        let results = self.body(combine)?;
        Ok(results
            .into_iter()
            .map(|rt| match rt {
                Rt::Tensor(Held { tensor, .. }) => Ok(tensor),
                Rt::Size(_) | Rt::Token => Err(TorchError::new("an operator yields no tensor")),
            })
            .collect::<std::result::Result<_, TorchError>>()?)
    }

    fn columns(&self, columns: &[Value]) -> Result<Columns> {
        Ok(columns
            .iter()
            .map(|v| Ok(self.tensor(*v)?.shallow_clone()))
            .collect::<std::result::Result<_, TorchError>>()?)
    }

    fn define_columns(&mut self, step: &Step, columns: Columns) -> Result<()> {
        for (v, t) in step.node.results.iter().zip(columns) {
            let rt = self.charged(Rt::Tensor(t.into()), &step.node)?;
            self.set(*v, rt);
        }
        Ok(())
    }
}

/// The extent of the rows, and how many there are.
fn extents(columns: &[Tensor]) -> (i64, i64) {
    let Some(first) = columns.first() else { return (0, 0) };
    let n = first.size().last().copied().unwrap_or(0);
    (n, first.numel() as i64 / n.max(1))
}

/// `len` places of every row from `start`, `step` apart.
fn part(columns: &[Tensor], start: i64, len: i64, step: i64) -> std::result::Result<Columns, TorchError> {
    columns
        .iter()
        .map(|c| {
            let c = if step == 1 { c.f_narrow(-1, start, len)? } else { sliced(c, start, len, step)? };
            Ok(c)
        })
        .collect()
}

fn sliced(c: &Tensor, start: i64, len: i64, step: i64) -> std::result::Result<Tensor, TorchError> {
    Ok(if len == 0 { c.f_narrow(-1, 0, 0)? } else { c.f_slice(-1, start, start + (len - 1) * step + 1, step)? })
}

/// Copies into a part of a tensor that nobody else has yet.
fn put(mut part: Tensor, values: &Tensor) -> std::result::Result<(), TorchError> {
    Ok(part.f_copy_(values)?)
}

/// Rows one after the other.
fn joined(parts: &[Columns; 2]) -> std::result::Result<Columns, TorchError> {
    let [first, second] = parts;
    first.iter().zip(second).map(|(a, b)| Ok(Tensor::f_cat(&[a, b], -1)?)).collect()
}
