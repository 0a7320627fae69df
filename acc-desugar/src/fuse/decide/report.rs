//! What is said of folds, scans and permutes: what follows them in their kernel, or why they are stored.

use super::super::kernel::{Kernel, Kind, kind, together};
use super::super::{Note, What};
use super::join::Path;
use super::{Decider, Place};
use acc_core::ir::{ArrayId, ArrayOp};
use std::collections::BTreeSet;

impl Decider<'_> {
    /// What became of a kernel's folds, scans and permutes; `transient` are those that its epilogue alone reads.
    pub(super) fn notes_of(&self, number: usize, transient: &[ArrayId]) -> Vec<Note> {
        let kernel = self.kernel(number);
        let after = kernel.epilogue.first().map(|&k| self.result(k));
        let note = |&k: &usize| {
            if kind(self.uses.sites[k].stmt) == Some(Kind::Points) {
                return None;
            }
            let array = self.result(k);
            let what = match after.filter(|_| transient.contains(&array)) {
                Some(after) => What::Followed(after),
                None => What::Stored(self.why_kept(k, number)?),
            };
            Some(Note { array, what })
        };
        kernel.main.iter().filter_map(note).collect()
    }

    /// Why the result of a statement of a kernel is stored; none if the kernel's epilogue alone reads it.
    fn why_kept(&self, k: usize, number: usize) -> Option<&'static str> {
        let own = self.kernel(number);
        let s = self.uses.sites[k].stmt;
        let (reads, why) = self.reads_of(self.result(k));
        if why.is_some() {
            return why;
        }
        if self.is_read_apart(self.result(k)) {
            return Some("a condition that is checked reads it");
        }
        if reads.is_empty() {
            return Some("its extents alone are read");
        }
        let others: Vec<usize> = reads.keys().copied().filter(|root| !own.epilogue.contains(root)).collect();
        let first = others.first()?;
        if reads.iter().any(|(root, r)| others.contains(root) && !r.only_point()) {
            return Some("it is read at other points than its own, so it must be complete first");
        }
        let kernels: BTreeSet<usize> = others.iter().filter_map(|&root| self.number(root)).collect();
        if others.len() < reads.len() || kernels.len() > 1 {
            return Some("several kernels read it");
        }
        let Place::Kernel(reader) = self.place[*first] else { return Some("what reads it is no kernel") };
        let after = self.kernel(reader);
        Some(if matches!(s.op, ArrayOp::Scan { init: Some(_), .. }) {
            "a scan with an initial value has no epilogue"
        } else if after.main.contains(first) && after.kind != Kind::Points {
            "what reads it folds, scans or permutes it"
        } else if after.space != self.extents.of(self.result(k)) && after.epilogue.is_empty() {
            "what reads it has other extents, as far as is known"
        } else {
            self.why_apart(number, own, reader, after)
        })
    }

    /// Why a kernel and what reads its results at its own points are not one.
    fn why_apart(&self, number: usize, own: &Kernel, reader: usize, after: &Kernel) -> &'static str {
        if own.needed != after.needed || (own.needed && !together(own, after)) {
            "what reads it may not be needed"
        } else if !self.fit(own, after) {
            "one kernel of both would be too large, or could lose a fault to a loop"
        } else if self.depends(number, reader) == Path::Around {
            "what reads it needs something else that is computed in between"
        } else {
            "what reads it is in a kernel that does something else, too"
        }
    }
}
