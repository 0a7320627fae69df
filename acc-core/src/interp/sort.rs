//! Sorting.

use super::launch::{each, element, int, rows};
use super::machine::Machine;
use super::scalar::Lits;
use super::{Host, internal};
use crate::data::ArrayData;
use crate::error::Error;
use crate::ir::{ArrayId, Stmt};
use smallvec::smallvec;
use std::cmp::Ordering;

pub(super) fn argsort<'p>(m: &mut Machine<'p>, s: &'p Stmt, xs: ArrayId) -> Result<ArrayData, Error> {
    let source = m.value(xs)?;
    let (outer, inner) = rows(source.shape())?;
    let mut sorted: Vec<usize> = Vec::new();
    for row in 0..outer.iter().product() {
        let mut keys: Vec<(usize, Lits)> = Vec::new();
        for k in 0..inner {
            m.tick()?;
            keys.push((k, element(&source, row * inner + k)?));
        }
        keys.sort_by(|(_, a), (_, b)| lexicographic(a, b));
        sorted.extend(keys.into_iter().map(|(k, _)| k));
    }
    each(m, s, source.shape().to_vec(), |_, at, _| {
        let k = sorted.get(at).ok_or_else(|| internal("a position that was not sorted"))?;
        Ok(smallvec![int(&(*k as i64))])
    })
}

fn lexicographic(a: &Lits, b: &Lits) -> Ordering {
    a.iter().map(|l| l.sort_key()).cmp(b.iter().map(|l| l.sort_key()))
}
