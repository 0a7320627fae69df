//! Adjoints of reads: gathers where the index can be solved for the points that read, else scatters.
//!
//! An index of sums of the point's coordinates is solved for them ([`gather`]). Reads that never meet, as those of a pool, are
//! gathered together; reads at clamped positions through an array that goes on beyond the edges ([`edges`]). Any other read is a
//! permute that adds to the adjoint so far.

mod edges;
mod gather;

use super::super::sweep::{Site, Swept};
use super::super::writer::adder;
use super::Reverse;
use super::lanes::Lanes;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Fun, Val};
use edges::extended;
use gather::{Read, are_apart};

impl Reverse<'_, '_> {
    /// The contributions of all reads of a function of points.
    pub(super) fn sites(&mut self, lanes: &Lanes, swept: &Swept) -> Result<(), Error> {
        let (plain, groups) = extended(&swept.sites, self.w.exact);
        for sites in apart(&plain) {
            self.at_site(sites[0], |this| this.contributions(lanes, &swept.code, &sites));
        }
        for group in &groups {
            self.at_site(group.sites[0], |this| {
                let values = this.values_of(lanes, &swept.code, &group.sites);
                this.extended_contributions(group, &values);
            });
        }
        Ok(())
    }

    /// What is written for a read, where the user wrote it.
    fn at_site(&mut self, site: &Site, write: impl FnOnce(&mut Self)) {
        let around = std::mem::replace(&mut self.w.loc, site.loc.clone());
        if !self.w.loc.is_known() {
            self.w.loc = around.clone();
        }
        write(self);
        self.w.loc = around;
    }

    /// The adjoints that the points have for each of some reads; the same array where they are the same.
    fn values_of(&mut self, lanes: &Lanes, code: &Code, sites: &[&Site]) -> Vec<ArrayId> {
        let mut values: Vec<ArrayId> = Vec::new();
        for (k, site) in sites.iter().enumerate() {
            let same = sites[..k].iter().position(|s| s.leaves == site.leaves && s.guard == site.guard);
            values.push(same.map_or_else(|| self.site_values(lanes, code.clone(), site), |k| values[k]));
        }
        values
    }

    /// The contribution of reads of one array that are apart from each other.
    fn contributions(&mut self, lanes: &Lanes, code: &Code, sites: &[&Site]) {
        let array = sites[0].array;
        let values = self.values_of(lanes, code, sites);
        let reads = sites.iter().zip(&values).map(|(s, &values)| Some(Read { sums: s.sums.as_deref()?, values }));
        let reads: Option<Vec<Read<'_>>> = reads.collect();
        match reads.and_then(|reads| self.gathered(array, &reads)) {
            Some(adjoint) => {
                self.w.note_of("read", "gathered: the index of an element says which points read it");
                self.contribute_points(array, adjoint);
            }
            None => {
                for (site, values) in sites.iter().zip(values) {
                    self.w.note_of("read", "scattered: the index is no sum of coordinates");
                    self.scatter(lanes, code.clone(), site, values);
                }
            }
        }
    }

    /// The adjoints that the points have for the elements that they read, 0 where they read none.
    fn site_values(&mut self, lanes: &Lanes, mut code: Code, site: &Site) -> ArrayId {
        let elt = self.w.elt(site.array).clone();
        let mut results = Vec::new();
        for (leaf, ty) in elt.leaves().into_iter().enumerate().filter(|(_, ty)| ty.is_float()) {
            let zero = code.literal(Lit::zero(ty));
            let own = site.leaves.iter().filter(|(l, _)| *l as usize == leaf);
            // A leaf may be read more than once.
            let sum = own.map(|(_, v)| *v).reduce(|a, b| code.two(acc_core::ir::PrimOp::AddP, a, b));
            results.push(match (site.guard, sum) {
                (_, None) => zero,
                (None, Some(v)) => v,
                (Some(g), Some(v)) => code.choose(g, v, zero),
            });
        }
        self.at_points(lanes, code, results, elt.tangent())
    }

    /// Adds what points have for elements at computed indices.
    fn scatter(&mut self, lanes: &Lanes, code: Code, site: &Site, values: ArrayId) {
        let rank = lanes.index.len();
        // The target is a function of the point alone: elements are read.
        let mut c = Code::of_index(rank, &self.w.loc);
        let index = c.params();
        let mut args = index.clone();
        for x in &lanes.xs {
            let leaves = self.w.elt(*x).leaves();
            args.extend(c.read(*x, &leaves, &index));
        }
        let mut code = code;
        let taken = match site.guard {
            Some(g) => code.cast(g, ScalarType::U8),
            None => code.literal(Lit::one(ScalarType::U8)),
        };
        let place = code.done(std::iter::once(taken).chain(site.index.iter().copied()));
        let results: Vec<Val> = c.inline(&place, &args);
        let target = c.done(results);
        self.add_at(site.array, values, target);
    }

    /// Adds values at these targets to the adjoint of an array.
    pub(super) fn add_at(&mut self, a: ArrayId, values: ArrayId, target: Fun) {
        let defaults = self.adjoint_so_far(a);
        let ty = self.w.ty(defaults).clone();
        let combine = adder(&ty.elt, &self.w.loc);
        let sum = self.w.add(ty, ArrayOp::Permute { defaults, xs: values, combine, target });
        self.contribute(a, sum);
    }
}

/// Reads of which no two in one group ever read the same element, as far as that is seen.
fn apart<'s>(sites: &[&'s Site]) -> Vec<Vec<&'s Site>> {
    let mut groups: Vec<Vec<&Site>> = Vec::new();
    for &site in sites {
        let joins = |group: &Vec<&Site>| {
            group.iter().all(|other| {
                let sums = site.sums.as_deref().zip(other.sums.as_deref());
                other.array == site.array && sums.is_some_and(|(a, b)| are_apart(a, b))
            })
        };
        match groups.iter_mut().find(|group| joins(group)) {
            Some(group) => group.push(site),
            None => groups.push(vec![site]),
        }
    }
    groups
}
