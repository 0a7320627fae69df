//! Which kernels become one: siblings, and what follows folds, scans and permutes.

use super::super::KERNEL_NODES;
use super::super::kernel::{Kernel, Kind, Reads, together};
use super::super::uses::Read;
use super::{Decider, Place};
use acc_core::ir::ArrayOp;
use std::collections::{BTreeMap, BTreeSet};

/// In programs of more statements siblings stay apart: to find out whether one depends on another takes long.
const MAX_STATEMENTS_FOR_SIBLINGS: usize = 4096;

/// How many uses of arrays are followed in one program to find out what depends on what: some tenths of a second. After that
/// all that may depend on each other counts as if it did.
pub(super) const MAX_DEPENDENCE_STEPS: usize = 20_000_000;

/// How many readers of an array are compared with each other.
const MAX_SIBLINGS_COMPARED: usize = 16;

/// How one kernel needs another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Path {
    /// It does not.
    None,
    /// It reads its results, also through inlined statements.
    Direct,
    /// Also through something else that is stored.
    Around,
}

impl Decider<'_> {
    /// Whether two kernels may be one as far as their spaces, sizes and faults go.
    pub(super) fn may_share(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.kernel(a), self.kernel(b));
        let (one, other) = (a.epilogue.is_empty(), b.epilogue.is_empty());
        // An epilogue is over the results of one kind.
        let ends_as = |a: &Kernel, b: &Kernel| a.kind == b.kind && !self.is_mixed(b);
        let same_end = match (one, other) {
            (true, true) => true,
            (false, true) => ends_as(a, b) || b.kind == Kind::Points,
            (true, false) => ends_as(b, a) || a.kind == Kind::Points,
            (false, false) => a.kind == b.kind && a.after == b.after,
        };
        let plain = |k: &Kernel| k.nested.is_empty() && k.order.is_none() && k.scheduled.is_none();
        plain(a)
            && plain(b)
            && a.space == b.space
            && same_end
            && together(a, b)
            && a.kind.with(b.kind).is_some()
            && self.fit(a, b)
    }

    /// Whether a kernel of scans folds, too.
    fn is_mixed(&self, kernel: &Kernel) -> bool {
        let folds = |m: &usize| matches!(self.uses.sites[*m].stmt.op, ArrayOp::Fold { .. });
        matches!(kernel.kind, Kind::Scan(_)) && kernel.main.iter().any(folds)
    }

    /// Whether two kernels fit into one: sizes and faults.
    pub(super) fn fit(&self, a: &Kernel, b: &Kernel) -> bool {
        let ends = |x: &Kernel, y: &Kernel| !(x.facts.can_fault && (y.facts.loops || !y.demands.is_empty()));
        let small = a.facts.with(b.facts, 1).nodes <= KERNEL_NODES;
        a.block == b.block && small && ends(a, b) && ends(b, a) && self.uses.sites.len() <= MAX_STATEMENTS_FOR_SIBLINGS
    }

    /// Makes kernels one that read each element of the same array once, mostly at their own points.
    pub(super) fn join_siblings(&mut self, reads: &BTreeMap<usize, Reads>) {
        let mut kernels: Vec<usize> = Vec::new();
        for (&root, r) in reads {
            if r.count() == 1
                && let Some(number) = self.number(root)
                && self.kernel(number).main.contains(&root)
                && !kernels.contains(&number)
                && kernels.len() < MAX_SIBLINGS_COMPARED
            {
                kernels.push(number);
            }
        }
        for i in 0..kernels.len() {
            for j in i + 1..kernels.len() {
                let (a, b) = (kernels[i], kernels[j]);
                if self.kernels[a].is_some()
                    && self.kernels[b].is_some()
                    && self.may_share(a, b)
                    && self.depends(a, b) == Path::None
                    && self.depends(b, a) == Path::None
                {
                    self.merge(b, a);
                }
            }
        }
    }

    /// Moves all of kernel `from` to kernel `to`.
    pub(super) fn merge(&mut self, from: usize, to: usize) {
        let Some(old) = self.kernels[from].take() else { return };
        for m in old.members() {
            self.place[m] = Place::Kernel(to);
        }
        if let Some(new) = &mut self.kernels[to] {
            new.kind = new.kind.with(old.kind).unwrap_or(new.kind);
            new.facts = new.facts.with(old.facts, 1);
            new.demands.extend(old.demands);
            new.needed |= old.needed;
            new.scheduled = new.scheduled.or(old.scheduled);
            new.total &= old.total;
            if new.epilogue.is_empty() {
                new.after = old.after;
            }
            new.main.extend(old.main);
            new.epilogue.extend(old.epilogue);
        }
    }

    /// Makes the element-wise kernel that reads the results of a fold, scan or permute at its own points its epilogue,
    /// or lets it join the folds that have one already.
    pub(super) fn take_epilogue(&mut self, k: usize, fused: bool) {
        let s = self.uses.sites[k].stmt;
        if matches!(s.op, ArrayOp::Scan { init: Some(_), .. }) {
            return;
        }
        let result = self.extents.of(s.results[0]).to_vec();
        let readers: BTreeSet<usize> = self.reads[k].keys().filter_map(|&root| self.number(root)).collect();
        let only = fused && readers.len() == 1;
        for number in readers {
            let Some(own) = self.number(k) else { return };
            let (fold, after) = (self.kernel(own), self.kernel(number));
            let points = |part: &BTreeSet<usize>| {
                self.reads[k]
                    .iter()
                    .filter(|(root, _)| after.members().any(|m| m == **root))
                    .all(|(root, r)| part.contains(root) && r.only_point())
            };
            let alone = only && !fold.needed && !after.needed;
            if self.is_mixed(fold)
                || !(alone || together(fold, after))
                || !self.fit(fold, after)
                || self.depends(own, number) == Path::Around
            {
                continue;
            }
            if after.kind == Kind::Points && after.epilogue.is_empty() && after.space == result && points(&after.main) {
                let epilogue = after.main.clone();
                let (space, kind) = (fold.space.clone(), fold.kind);
                self.merge(own, number);
                if let Some(new) = &mut self.kernels[number] {
                    new.main.retain(|m| !epilogue.contains(m));
                    new.epilogue = epilogue;
                    new.after = result.clone();
                    new.space = space;
                    new.kind = kind;
                }
                return;
            }
            let plain = after.nested.is_empty() && after.order.is_none() && !after.epilogue.is_empty();
            let joins = plain && after.after == result && after.space == fold.space;
            if joins && after.kind == fold.kind && after.kind.with(fold.kind).is_some() && points(&after.epilogue) {
                self.merge(own, number);
                return;
            }
        }
    }

    /// How what a kernel computes reaches another one.
    pub(super) fn depends(&self, from: usize, to: usize) -> Path {
        let own = Place::Kernel(from);
        let (from, to) = (self.kernel(from), self.kernel(to));
        let mut marks = self.marks.borrow_mut();
        let walk = marks.begin(to.members());
        for m in from.members() {
            marks.visit(m, Way::Read);
        }
        let mut path = Path::None;
        while let Some((k, way)) = marks.todo.pop() {
            for u in self.uses.sites[k].stmt.results.iter().flat_map(|r| &self.uses.of[r.index()]) {
                let Some(left) = self.steps.get().checked_sub(1) else { return Path::Around };
                self.steps.set(left);
                let Some(by) = self.uses.within(u.by, from.block) else { continue };
                // The extents of a kernel's arrays are known before it runs.
                let is_extent = u.read == Read::Measured && self.place[k] == own;
                let way = if is_extent { Way::Measured } else { way };
                if marks.target[by] == walk {
                    match way {
                        Way::Measured => {}
                        Way::Read => path = Path::Direct,
                        Way::Around => return Path::Around,
                    }
                    continue;
                }
                match self.place[by] {
                    Place::Inlined => marks.visit(by, way),
                    Place::Apart => marks.visit(by, Way::Around),
                    // All of a kernel is visited with its first member.
                    Place::Kernel(_) if marks.is_visited(by, Way::Around) => {}
                    Place::Kernel(other) => self.kernel(other).members().for_each(|m| marks.visit(m, Way::Around)),
                }
            }
        }
        path
    }
}

/// What a walk over the uses of arrays has met: by statement, the number of the walk that met it last.
pub(super) struct Marks {
    walk: u32,
    target: Vec<u32>,
    /// By [`Way`].
    seen: Vec<[u32; 3]>,
    todo: Vec<(usize, Way)>,
}

/// By what a walk reaches a statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// Through the extents of what a kernel computes, and inlined statements.
    Measured,
    /// Through inlined statements.
    Read,
    /// Also through something else that is stored.
    Around,
}

impl Marks {
    /// For so many statements.
    pub(super) fn new(statements: usize) -> Marks {
        Marks { walk: 0, target: vec![0; statements], seen: vec![[0; 3]; statements], todo: Vec::new() }
    }

    /// Begins a walk to these statements, and gives its number. For each of at most [`MAX_STATEMENTS_FOR_SIBLINGS`] statements there are a few hundred.
    fn begin(&mut self, to: impl Iterator<Item = usize>) -> u32 {
        self.walk += 1;
        to.for_each(|m| self.target[m] = self.walk);
        self.todo.clear();
        self.walk
    }

    fn is_visited(&self, k: usize, way: Way) -> bool {
        self.seen[k][way as usize] == self.walk
    }

    fn visit(&mut self, k: usize, way: Way) {
        if !self.is_visited(k, way) {
            self.seen[k][way as usize] = self.walk;
            self.todo.push((k, way));
        }
    }
}
