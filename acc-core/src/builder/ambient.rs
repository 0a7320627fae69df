//! How long the expressions of the ambient frame live, which are made outside every closure.
//!
//! Handles to expressions are `Copy`, so nobody knows when the last one is gone, and an expression holds the arrays that it
//! reads. These rules keep the memory of a host loop from growing:
//!
//! * An expression is kept until the program after the one that last used it is built: what each program of a
//!   loop uses is never lost.
//! * After that it is kept as long as it costs nothing: as long as somebody else holds the arrays that it reads.
//! * Expressions that read no array cost little. [`MAX_KEPT_WITHOUT_ARRAYS`] of them are kept.
//!
//! [`scope`](super::scope)s and closures free their expressions at their end, and combinators that are made of others open
//! a scope of their own: these rules are for handles that users hold.

use super::AccRef;
use super::frame::{ExpOp, ExpRef, Frame, remember};
use super::nodes::Entry;
use crate::ir::Loc;
use std::collections::{HashMap, HashSet, VecDeque};

/// How many old expressions that read no array are kept: some megabytes at most.
const MAX_KEPT_WITHOUT_ARRAYS: usize = 1 << 14;

/// How many freed expressions are remembered, for messages.
const MAX_FREED_REMEMBERED: usize = 128;

/// What a program was built for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be run once, at once.
    Run,
    /// To be compiled or printed. Programs that are compiled one after the other may share expressions made before the
    /// first one, so expressions age only where new ones were made in between.
    Compile,
}

/// The clock of the ambient frame, which counts programs.
#[derive(Default)]
pub(super) struct Age {
    programs: u64,
    /// Whether an expression was made since the last program.
    new: bool,
    /// Expressions that were freed, and where they were made; for messages.
    freed: VecDeque<(ExpRef, Loc)>,
}

impl Age {
    /// How many programs were built so far.
    pub(super) fn programs(&self) -> u64 {
        self.programs
    }

    /// Notes that an expression was made in the ambient frame.
    pub(super) fn note_new(&mut self) {
        self.new = true;
    }

    /// Where an expression was made that was freed.
    pub(super) fn created(&self, r: ExpRef) -> Loc {
        self.freed.iter().rev().find(|f| f.0 == r).map_or_else(Loc::unknown, |f| f.1.clone())
    }

    /// Counts a program, and removes from the ambient frame what has lived long enough, for the caller to drop.
    pub(super) fn program(&mut self, frame: &mut Frame, purpose: Purpose) -> Vec<Entry> {
        if purpose == Purpose::Compile && !self.new {
            return Vec::new();
        }
        self.programs += 1;
        self.new = false;
        if frame.nodes.len() == 0 && frame.loops.is_empty() {
            return Vec::new();
        }
        let kept = Survey::of(frame, self.programs).kept;
        let is_kept = |frame, index| kept.contains(&ExpRef { frame, index });
        let serial = frame.serial;
        // The table of equal expressions first: it holds arrays, too, and is never the last to do so.
        frame.memo.retain(|_, &mut index| is_kept(serial, index));
        let mut gone = frame.nodes.retain(|index| is_kept(serial, index));
        for entry in &gone {
            let at = ExpRef { frame: serial, index: entry.index };
            remember(&mut self.freed, (at, entry.node.loc.clone()), MAX_FREED_REMEMBERED);
        }
        for (&inner, nodes) in &mut frame.loops {
            gone.extend(nodes.retain(|index| is_kept(inner, index)));
        }
        frame.loops.retain(|_, nodes| nodes.len() > 0);
        gone
    }
}

/// Which expressions of the ambient frame stay.
struct Survey<'a> {
    frame: &'a Frame,
    kept: HashSet<ExpRef>,
}

impl<'a> Survey<'a> {
    fn of(frame: &'a Frame, now: u64) -> Survey<'a> {
        let mut s = Survey { frame, kept: HashSet::new() };
        let here = |e: &Entry| ExpRef { frame: frame.serial, index: e.index };
        let (recent, old): (Vec<&Entry>, Vec<&Entry>) = frame.nodes.iter().partition(|e| e.used() + 1 >= now);
        s.keep(recent.into_iter().map(here).collect());
        let held_here = held_by(frame);
        let costs_nothing = |a: &AccRef| a.holders() > held_here.get(&a.id()).copied().unwrap_or_default();
        // What is old and reads no array, with the bodies of loops in it.
        let (mut light, mut light_count) = (HashSet::new(), 0);
        // Operands come before their users, so whether they stay is decided already.
        for e in old {
            let parts = s.parts(here(e), &light);
            let operands_stay = parts.iter().all(|r| *r == here(e) || r.frame != frame.serial);
            let mut arrays = parts.iter().filter_map(|r| s.op(*r)?.array()).peekable();
            if !operands_stay {
                continue;
            }
            if arrays.peek().is_none() {
                light_count += 1;
                light.extend(parts);
            } else if arrays.all(costs_nothing) {
                s.kept.extend(parts);
            }
        }
        if light_count <= MAX_KEPT_WITHOUT_ARRAYS {
            s.kept.extend(light);
        } else {
            // What stays keeps what it is made of.
            s.keep(s.kept.iter().copied().collect());
        }
        s
    }

    fn op(&self, r: ExpRef) -> Option<&'a ExpOp> {
        let nodes = if r.frame == self.frame.serial { &self.frame.nodes } else { self.frame.loops.get(&r.frame)? };
        nodes.peek(r.index).map(|n| &n.op)
    }

    /// Keeps these expressions and what they are made of.
    fn keep(&mut self, mut stack: Vec<ExpRef>) {
        let mut seen = HashSet::new();
        while let Some(r) = stack.pop() {
            if seen.insert(r)
                && let Some(op) = self.op(r)
            {
                op.children(&mut |child| stack.push(child));
            }
        }
        self.kept.extend(seen);
    }

    /// An expression and all its operands, but for those that stay anyway and those that are `light`.
    fn parts(&self, root: ExpRef, light: &HashSet<ExpRef>) -> HashSet<ExpRef> {
        let (mut parts, mut stack) = (HashSet::new(), vec![root]);
        while let Some(r) = stack.pop() {
            if self.kept.contains(&r) || light.contains(&r) || !parts.insert(r) {
                continue;
            }
            if let Some(op) = self.op(r) {
                op.children(&mut |child| stack.push(child));
            }
        }
        parts
    }
}

/// By array: how many times a frame itself holds it.
fn held_by(frame: &Frame) -> HashMap<usize, usize> {
    let made = frame.nodes.iter().chain(frame.loops.values().flat_map(|nodes| nodes.iter())).map(|e| &e.node.op);
    let mut held = HashMap::new();
    for array in made.chain(frame.memo.keys().map(|key| &key.0)).filter_map(ExpOp::array) {
        *held.entry(array.id()).or_default() += 1;
    }
    held
}
