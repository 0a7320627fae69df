//! Adjoints of reads: gathers where the index can be solved for the points that read, else scatters.
//!
//! An index of sums of the point's coordinates is solved for them ([`gather`]). Reads that never meet, as those of a pool, are
//! gathered together; reads at clamped positions through an array that goes on beyond the edges ([`edges`]). The adjoints of any other
//! read are added up where it reads ([`scatter`]).

mod edges;
mod gather;
mod scatter;

use super::super::sweep::{Site, Swept};
use super::super::writer::float_leaves;
use super::Reverse;
use super::lanes::Lanes;
use crate::analysis::extents::Extent;
use acc_core::Error;
use acc_core::ad::Code;
use acc_core::data::{EltType, Lit};
use acc_core::ir::{ArrayId, PrimOp};
use edges::is_clamped;
use gather::{Read, are_apart};
use scatter::{MAX_RECORD_LEAVES, is_same_record};

impl Reverse<'_, '_> {
    /// The contributions of all reads of a function of points.
    pub(super) fn sites(&mut self, lanes: &Lanes, swept: &Swept) -> Result<(), Error> {
        let (plain, groups) = self.extended(lanes, &swept.sites);
        let points = self.w.extents.common(&lanes.xs);
        let (gathered, scattered): (Vec<&Site>, Vec<&Site>) =
            plain.into_iter().partition(|site| self.is_gathered(site, &points));
        for sites in grouped(&gathered, |a, b| are_apart(&a.forms, &b.forms)) {
            self.at_site(sites[0], |this| this.contributions(lanes, &swept.code, &sites));
        }
        for sites in grouped(&scattered, is_same_record) {
            let leaves = self.w.tangent_elt(sites[0].array).leaf_count();
            for sites in sites.chunks((MAX_RECORD_LEAVES / leaves).max(1)) {
                self.at_site(sites[0], |this| this.scatter(lanes, &swept.code, sites));
            }
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
            values.push(same.map_or_else(|| self.site_values(lanes, code.clone(), &[site]), |k| values[k]));
        }
        values
    }

    /// Whether an element's index says which of so many points read it.
    fn is_gathered(&mut self, site: &Site, points: &[Extent]) -> bool {
        let forms = site.whole_forms().filter(|forms| !forms.iter().any(is_clamped));
        forms.is_some_and(|forms| self.is_solvable(&forms, points))
    }

    /// The contribution of reads of one array that are apart from each other, whose indices say which points read an element.
    fn contributions(&mut self, lanes: &Lanes, code: &Code, sites: &[&Site]) {
        let array = sites[0].array;
        let values = self.values_of(lanes, code, sites);
        let read = |(site, &values): (&&Site, &ArrayId)| Read {
            forms: site.forms.iter().flatten().cloned().collect(),
            values,
        };
        let reads: Vec<Read> = sites.iter().zip(&values).map(read).collect();
        self.w.note_of("read", "gathered: the index of an element says which points read it");
        if let Some(adjoint) = self.gathered(array, &reads) {
            self.contribute_points(array, adjoint);
        }
    }

    /// The adjoints that the points have for the elements that they read, 0 where they read none; of several reads beside each other.
    fn site_values(&mut self, lanes: &Lanes, mut code: Code, sites: &[&Site]) -> ArrayId {
        let elt = self.w.tangent_elt(sites[0].array);
        let leaves = float_leaves(self.w.elt(sites[0].array));
        let mut results = Vec::new();
        for (site, (leaf, ty)) in sites.iter().flat_map(|site| leaves.iter().zip(elt.leaves()).map(move |l| (site, l)))
        {
            let zero = code.literal(Lit::zero(ty));
            let own = site.leaves.iter().filter(|(l, _)| *l as usize == *leaf);
            // A leaf may be read more than once.
            let sum = own.map(|(_, v)| *v).reduce(|a, b| code.two(PrimOp::AddP, a, b));
            results.push(match (site.guard, sum) {
                (_, None) => zero,
                (None, Some(v)) => v,
                (Some(g), Some(v)) => code.choose(g, v, zero),
            });
        }
        let elt = if sites.len() == 1 { elt } else { EltType::tuple(sites.iter().map(|_| elt.clone())) };
        self.at_points(lanes, code, results, elt)
    }
}

/// Reads of one array, in groups of which any two belong together.
fn grouped<'s>(sites: &[&'s Site], together: impl Fn(&Site, &Site) -> bool) -> Vec<Vec<&'s Site>> {
    let mut groups: Vec<Vec<&Site>> = Vec::new();
    for &site in sites {
        let joins = |group: &&mut Vec<&Site>| group.iter().all(|s| s.array == site.array && together(s, site));
        match groups.iter_mut().find(joins) {
            Some(group) => group.push(site),
            None => groups.push(vec![site]),
        }
    }
    groups
}
