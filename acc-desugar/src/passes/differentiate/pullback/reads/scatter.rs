//! The adjoint of what points read at computed indices: a permute that adds up the adjoints of the points.
//!
//! Reads at literals along some axes, and at the same index along the others, as those of a record's fields in the rows of a matrix, are
//! one permute of records. Coordinates that are the index along the last axes of the array are innermost, so that adjacent points add to
//! adjacent elements. All points that add to one element are in the same order as before.

use super::super::super::indices::Form;
use super::super::super::sweep::Site;
use super::super::super::writer::adder;
use super::super::Reverse;
use super::super::lanes::Lanes;
use crate::analysis::access::Index;
use acc_core::ad::Code;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Fun, PrimOp, Val};

/// Numbers in a record: so many are in a cache line.
pub(super) const MAX_RECORD_LEAVES: usize = 8;

/// The literal that an index is, if it is one.
fn literal(form: &Option<Form>) -> Option<i64> {
    match form {
        Some(Index::Affine(sum)) if sum.is_uniform() => sum.base.literal(),
        _ => None,
    }
}

/// Whether two reads of one array differ in literals alone.
pub(super) fn is_same_record(a: &Site, b: &Site) -> bool {
    let same = |axis: usize| match (literal(&a.forms[axis]), literal(&b.forms[axis])) {
        (None, None) => a.index[axis] == b.index[axis],
        (a, b) => a.is_some() && b.is_some(),
    };
    (0..a.index.len()).all(same)
}

impl Reverse<'_, '_> {
    /// The contribution of reads that differ in literals.
    pub(super) fn scatter(&mut self, lanes: &Lanes, code: &Code, sites: &[&Site]) {
        self.w.note_of("read", "scattered: the index is no sum of coordinates");
        let values = self.site_values(lanes, code.clone(), sites);
        let site = sites[0];
        if sites.len() == 1 {
            let (values, target) = self.in_target_order(lanes, code, sites, &site.index, values);
            self.add_at(site.array, values, target);
            return;
        }
        let is_field = |axis: usize| literal(&site.forms[axis]).is_some();
        let along: Vec<usize> = (0..site.index.len()).filter(|axis| !is_field(*axis)).collect();
        let index: Vec<Val> = along.iter().map(|axis| site.index[*axis]).collect();
        let (values, target) = self.in_target_order(lanes, code, sites, &index, values);
        let mut shape = self.w.code([]);
        let extents = shape.inline(&self.w.extents_of(site.array), &[]);
        let shape = shape.done(along.iter().map(|axis| extents[*axis]));
        let zeros = self.w.zeros_of(shape, self.w.elt(values).clone());
        let records = self.added(zeros, values, target);
        let (elt, fields) = (self.w.tangent_elt(site.array), self.w.elt(records).leaves());
        let leaves = elt.leaves();
        let adjoint = self.over(site.array, elt, |c, index| {
            let at: Vec<Val> = along.iter().map(|axis| index[*axis]).collect();
            let record = c.read(records, &fields, &at);
            let zeros = c.zeros(&leaves);
            let mut sum: Option<Vec<Val>> = None;
            for (site, own) in sites.iter().zip(record.chunks(leaves.len())) {
                let mut here = c.truth(true);
                for (i, form) in index.iter().zip(&site.forms) {
                    if let Some(n) = literal(form) {
                        let n = c.int(n);
                        let same = c.two(PrimOp::EqP, *i, n);
                        here = c.two(PrimOp::AndP, here, same);
                    }
                }
                let own: Vec<Val> = own.iter().zip(&zeros).map(|(v, zero)| c.choose(here, *v, *zero)).collect();
                sum = Some(match sum {
                    None => own,
                    Some(sum) => sum.into_iter().zip(own).map(|(a, b)| c.two(PrimOp::AddP, a, b)).collect(),
                });
            }
            sum.unwrap_or_default()
        });
        self.contribute(site.array, adjoint);
    }

    /// The points' values, and their targets at such an index, in an order in which adjacent points have adjacent targets.
    fn in_target_order(
        &mut self,
        lanes: &Lanes,
        code: &Code,
        sites: &[&Site],
        index: &[Val],
        values: ArrayId,
    ) -> (ArrayId, Fun) {
        let rank = lanes.index.len();
        let mut last: Vec<usize> =
            index.iter().rev().map_while(|i| lanes.index.iter().position(|own| own == i)).collect();
        last.reverse();
        let order: Vec<usize> = (0..rank).filter(|k| !last.contains(k)).chain(last.iter().copied()).collect();
        // An axis may be that of two indices.
        let order = if order.len() == rank { order } else { (0..rank).collect() };
        let values = self.transposed(values, &order);
        // The target is a function of the point alone: elements are read.
        let mut c = Code::of_index(rank, &self.w.loc);
        let mut point = c.params();
        for (axis, i) in order.iter().zip(c.params()) {
            point[*axis] = i;
        }
        let mut args = point.clone();
        for x in &lanes.xs {
            let leaves = self.w.elt(*x).leaves();
            args.extend(c.read(*x, &leaves, &point));
        }
        let mut code = code.clone();
        let guards: Option<Vec<Val>> = sites.iter().map(|site| site.guard).collect();
        let guard = guards.and_then(|guards| guards.into_iter().reduce(|a, b| code.two(PrimOp::OrP, a, b)));
        let taken = match guard {
            Some(g) => code.cast(g, ScalarType::U8),
            None => code.literal(Lit::one(ScalarType::U8)),
        };
        let place = code.done(std::iter::once(taken).chain(index.iter().copied()));
        let results: Vec<Val> = c.inline(&place, &args);
        (values, c.done(results))
    }

    /// Adds values at these targets to the adjoint of an array.
    pub(in super::super) fn add_at(&mut self, a: ArrayId, values: ArrayId, target: Fun) {
        let defaults = self.adjoint_so_far(a);
        let sum = self.added(defaults, values, target);
        if self.carried.contains(&defaults) {
            self.carried.insert(sum);
        }
        self.contribute(a, sum);
    }

    /// An array with values added at these targets.
    fn added(&mut self, defaults: ArrayId, values: ArrayId, target: Fun) -> ArrayId {
        let ty = self.w.ty(defaults).clone();
        let combine = adder(&ty.elt, &self.w.loc);
        self.w.add(ty, ArrayOp::Permute { defaults, xs: values, combine, target })
    }
}
