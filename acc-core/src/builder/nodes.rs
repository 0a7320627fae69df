//! The expressions of one frame.

use super::frame::ExpNode;
use std::cell::Cell;

/// Expressions by number, from 0 in the order in which they were made. A number is never given twice, also after its
/// expression is gone.
#[derive(Default)]
pub(super) struct Nodes {
    /// In the order of their numbers.
    entries: Vec<Entry>,
    next: u64,
}

/// An expression in its frame.
pub(super) struct Entry {
    pub(super) index: u64,
    pub(super) node: ExpNode,
    /// When it was made or last used: how many programs this thread had built by then.
    used: Cell<u64>,
}

impl Entry {
    /// When it was made or last used.
    pub(super) fn used(&self) -> u64 {
        self.used.get()
    }
}

impl Nodes {
    /// Adds an expression, and gives its number; it is used `now`.
    pub(super) fn push(&mut self, node: ExpNode, now: u64) -> u64 {
        let index = self.next;
        self.next += 1;
        self.entries.push(Entry { index, node, used: Cell::new(now) });
        index
    }

    /// The expression with this number, which is used `now`.
    pub(super) fn get(&self, index: u64, now: u64) -> Option<&ExpNode> {
        let entry = self.find(index)?;
        entry.used.set(now);
        Some(&entry.node)
    }

    /// The same, without a use.
    pub(super) fn peek(&self, index: u64) -> Option<&ExpNode> {
        self.find(index).map(|e| &e.node)
    }

    fn find(&self, index: u64) -> Option<&Entry> {
        // Where nothing was ever removed, which is everywhere but in the ambient frame, the number is the place.
        let place = usize::try_from(index).ok()?;
        match self.entries.get(place) {
            Some(entry) if entry.index == index => Some(entry),
            _ => self.entries.binary_search_by_key(&index, |e| e.index).ok().map(|at| &self.entries[at]),
        }
    }

    /// The expression with this number, to be changed.
    pub(super) fn get_mut(&mut self, index: u64) -> Option<&mut ExpNode> {
        let at = self.entries.binary_search_by_key(&index, |e| e.index).ok()?;
        Some(&mut self.entries[at].node)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Removes the expressions that `keep` does not want, and gives them.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u64) -> bool) -> Vec<Entry> {
        let (kept, gone) = std::mem::take(&mut self.entries).into_iter().partition(|e| keep(e.index));
        self.entries = kept;
        gone
    }
}
