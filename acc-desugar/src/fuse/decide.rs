//! The decisions: consumers first, so that it is known how often each element of a producer is needed, and where.

mod join;
mod permuted_epilogue;
mod report;

use super::compaction::{Compaction, compaction};
use super::cost::{Facts, facts, is_cheaper_than_memory};
use super::kernel::{Kernel, Kind, Reads, kind};
use super::nested::nests;
use super::selected::{Candidate, candidate};
use super::sorted::positions;
use super::total::{ending_statements, needed_statements, total_statements};
use super::uses::{By, Read, Uses};
use super::{Fusion, Group, KERNEL_NODES, Note, What};
use crate::analysis::contraction::Definitions;
use crate::analysis::extents::Extents;
use acc_core::ir::{ArrayId, ArrayOp, Class, Program, Stmt, arrays_on_demand};
use acc_core::{Error, RunLimits};
use join::Path;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// Where a statement's result comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// No kernel: control flow, a view, a sort, a foreign function.
    Apart,
    /// Computed by the kernel of this number, and stored or taken by its epilogue.
    Kernel(usize),
    Inlined,
}

struct Decider<'a> {
    program: &'a Program,
    defs: Definitions<'a>,
    uses: Uses<'a>,
    extents: Extents,
    place: Vec<Place>,
    kernels: Vec<Option<Kernel>>,
    /// How the statements of kernels read each statement's result.
    reads: Vec<BTreeMap<usize, Reads>>,
    /// Work that consumers of an inlined statement do again.
    again: Vec<usize>,
    /// Whether a statement may be evaluated even if it is not needed.
    total: Vec<bool>,
    /// Whether its evaluation ends.
    ends: Vec<bool>,
    /// Whether its block's evaluation certainly needs it, if the arrays that it is read for have elements.
    needed: Vec<bool>,
    /// By the result of the permute.
    compactions: HashMap<ArrayId, Compaction>,
    /// Arrays that nothing computes, for a compaction does without.
    absorbed: HashSet<ArrayId>,
    /// Sorted arrays, and the positions that are not computed.
    sorted: HashMap<ArrayId, ArrayId>,
    /// Arrays that the program has a schedule for, with its number of axes.
    scheduled: HashMap<ArrayId, usize>,
    notes: Vec<Note>,
    /// How many more uses of arrays are followed to find out what depends on what.
    steps: Cell<usize>,
    marks: RefCell<join::Marks>,
}

/// Every statement a kernel of its own.
pub(super) fn alone(p: &Program) -> Fusion {
    let uses = Uses::new(p, &Definitions::new(p));
    let mut fusion =
        Fusion { kernel_of: vec![None; p.types.len()], inlined: vec![false; p.types.len()], ..Fusion::default() };
    for site in &uses.sites {
        if kind(site.stmt).is_some()
            && !matches!(site.stmt.op, ArrayOp::Check { .. })
            && let Some(&r) = site.stmt.results.first()
        {
            fusion.kernel_of[r.index()] = Some(fusion.kernels.len());
            fusion.kernels.push(Group { main: vec![r], ..Group::default() });
        }
    }
    fusion
}

pub(super) fn decide(p: &Program, limits: &RunLimits) -> Result<Fusion, Error> {
    let defs = Definitions::new(p);
    let (mut uses, mut extents) = (Uses::new(p, &defs), Extents::new(p));
    let n = uses.sites.len();
    let mut compactions: HashMap<ArrayId, Compaction> = HashMap::new();
    let mut absorbed: HashSet<ArrayId> = HashSet::new();
    let mut sorted: HashMap<ArrayId, ArrayId> = HashMap::new();
    let mut notes = Vec::new();
    let candidates: Vec<Candidate> = (0..n).filter_map(|k| candidate(p, &uses, &mut extents, k)).collect();
    for k in 0..n {
        limits.check()?;
        let is_selected = |a: &ArrayId| candidates.iter().any(|c| c.positions == *a);
        if let Some(positions) = positions(p, &defs, &uses, &mut extents, k).filter(|a| !is_selected(a)) {
            let result = uses.sites[k].stmt.results[0];
            notes.push(Note { array: positions, what: What::Inlined(vec![result]) });
            sorted.insert(result, positions);
        }
        if let Some(c) = compaction(p, &defs, &uses, &mut extents, k) {
            uses.absorb(k, &c);
            let result = uses.sites[k].stmt.results[0];
            let all = || c.absorbed.iter().chain([&c.defaults]).copied();
            absorbed.extend(all());
            notes.extend(all().map(|array| Note { array, what: What::With(result) }));
            compactions.insert(result, c);
        }
    }
    let scheduled = uses.sites.iter().filter_map(|site| match &site.stmt.op {
        ArrayOp::Compute { xs, schedule: Some(schedule) } => Some((*xs, schedule.axes())),
        _ => None,
    });
    let scheduled = scheduled.collect();
    let mut d = Decider {
        program: p,
        defs,
        total: total_statements(&uses, &extents),
        place: vec![Place::Apart; n],
        kernels: Vec::new(),
        reads: vec![BTreeMap::new(); n],
        again: vec![0; n],
        ends: ending_statements(&uses),
        needed: needed_statements(&uses),
        extents,
        notes,
        uses,
        compactions,
        absorbed,
        sorted,
        scheduled,
        steps: Cell::new(join::MAX_DEPENDENCE_STEPS),
        marks: RefCell::new(join::Marks::new(n)),
    };
    for k in (0..n).rev() {
        limits.check()?;
        d.statement(k);
    }
    for a in 0..p.types.len() {
        limits.check()?;
        let sorted = d.sorted.contains_key(&ArrayId(a as u32));
        let element_wise = d.uses.def[a].is_some_and(|k| kind(d.uses.sites[k].stmt) == Some(Kind::Points)) && !sorted;
        if !element_wise {
            let (reads, _) = d.reads_of(ArrayId(a as u32));
            d.join_siblings(&reads);
        }
    }
    let mut fusion = d.finish(p);
    let selected = candidates.into_iter().filter(|c| c.holds(&fusion)).map(|c| (c.positions, c.selection));
    fusion.selected = selected.collect();
    Ok(fusion)
}

impl Decider<'_> {
    fn result(&self, k: usize) -> ArrayId {
        self.uses.sites[k].stmt.results[0]
    }

    /// Whether a statement that no kernel computes reads an array.
    fn is_read_apart(&self, a: ArrayId) -> bool {
        let apart = |by| matches!(by, By::Stmt(by) if self.place[by] == Place::Apart);
        self.uses.of[a.index()].iter().any(|u| u.read != Read::Measured && apart(u.by))
    }

    /// How kernels read an array, and why it must be stored, if it must.
    fn reads_of(&self, a: ArrayId) -> (BTreeMap<usize, Reads>, Option<&'static str>) {
        let mut reads: BTreeMap<usize, Reads> = BTreeMap::new();
        let mut why = None;
        for u in &self.uses.of[a.index()] {
            let by = match (u.read, u.by) {
                (Read::Stored(reason), _) => {
                    why.get_or_insert(reason);
                    continue;
                }
                (_, By::Block(_)) | (Read::Measured, _) => continue,
                (_, By::Stmt(by)) => by,
            };
            match self.place[by] {
                Place::Apart if u.read == Read::Point => {
                    why.get_or_insert("a view needs it stored");
                }
                Place::Apart => {}
                Place::Kernel(_) => {
                    let own = Reads { point: true, ..Reads::default() };
                    reads.entry(by).or_default().add(own.through(u.read));
                }
                Place::Inlined => {
                    for (&root, r) in &self.reads[by] {
                        reads.entry(root).or_default().add(r.through(u.read));
                    }
                }
            }
        }
        (reads, why)
    }

    fn statement(&mut self, k: usize) {
        let s = self.uses.sites[k].stmt;
        let (Some(kind), Some(&result)) = (kind(s), s.results.first()) else { return };
        if self.absorbed.contains(&result) || self.sorted.contains_key(&result) {
            return;
        }
        let (reads, why) = self.reads_of(result);
        if kind == Kind::Points {
            let refused = match why {
                Some(why) => Some(why),
                None => {
                    self.join_siblings(&reads);
                    self.refusal(k, &reads)
                }
            };
            match refused {
                None => self.inline(k, reads),
                // A check of a stored array is a view of it.
                Some(_) if matches!(s.op, ArrayOp::Check { .. }) => {}
                Some(why) => self.store(k, kind, reads, why),
            }
        } else if let Some(number) = self.folds_of(k, why) {
            self.nest(k, number, reads);
        } else {
            self.reads[k] = reads;
            self.open(k, kind);
            let fused = why.is_none() && !self.is_read_apart(result);
            self.take_epilogue(k, fused);
            if fused {
                self.take_permuted_epilogue(k);
            }
        }
    }

    /// The kernel whose one fold has this fold's results as its elements, if both are one and nothing else needs them.
    fn folds_of(&self, k: usize, why: Option<&str>) -> Option<usize> {
        let site = self.uses.sites[k];
        let mut readers = self.uses.of[self.result(k).index()].iter().filter(|u| u.read != Read::Measured);
        let (Some(reader), None, None) = (readers.next(), readers.next(), why) else { return None };
        let By::Stmt(by) = reader.by else { return None };
        let outer = self.uses.sites[by].stmt;
        let root = match self.place[by] {
            Place::Kernel(_) => by,
            Place::Inlined => *self.reads[by].keys().next()?,
            Place::Apart => return None,
        };
        let number = self.number(root)?;
        let kernel = self.kernel(number);
        let whole = kernel.main.len() == 1 && kernel.main.contains(&root) && kernel.kind == Kind::Fold;
        let innermost = kernel.nested.last().copied().unwrap_or(root) == by;
        let small = kernel.facts.with(facts(site.stmt), 1).nodes <= KERNEL_NODES;
        let rank = self.program.ty(self.result(root)).rank;
        let here = whole && innermost && small && kernel.block == site.block && reader.read == Read::Point;
        (here && nests(self.program, &self.defs, outer, site.stmt, rank, kernel.scheduled)).then_some(number)
    }

    /// Makes a fold one with that whose elements its results are.
    fn nest(&mut self, k: usize, number: usize, reads: BTreeMap<usize, Reads>) {
        let ArrayOp::Fold { xs, .. } = &self.uses.sites[k].stmt.op else { return };
        let space = self.extents.of(*xs).to_vec();
        self.inline(k, reads);
        if let Some(kernel) = &mut self.kernels[number] {
            kernel.nested.push(k);
            kernel.space = space;
        }
    }

    /// Why an element-wise statement is not inlined, if so.
    fn refusal(&mut self, k: usize, reads: &BTreeMap<usize, Reads>) -> Option<&'static str> {
        let s = self.uses.sites[k].stmt;
        let own = facts(s);
        // By kernel and part of it: at its own point an element is computed once.
        let mut parts: BTreeMap<(usize, bool), Reads> = BTreeMap::new();
        for (&root, r) in reads {
            let Place::Kernel(kernel) = self.place[root] else { continue };
            let epilogue = self.kernel(kernel).epilogue.contains(&root);
            parts.entry((kernel, epilogue)).or_default().add(*r);
        }
        if parts.values().any(|r| r.window) && !self.keeps_extents(s) {
            return Some("a stencil reads its elements beyond the edges");
        }
        if own.cost > 0 && parts.values().any(|r| r.initial) {
            return Some("a permute goes on in its memory");
        }
        let times: usize = parts.values().map(Reads::count).sum();
        let consumers = self.uses.of[self.result(k).index()].iter().filter_map(|u| match u.by {
            By::Stmt(by) if self.place[by] == Place::Inlined => Some(self.again[by]),
            By::Stmt(_) | By::Block(_) => None,
        });
        let Some(again) = is_cheaper_than_memory(own.cost, times, consumers.max().unwrap_or(0)) else {
            return Some("its elements would be computed more than once");
        };
        if self.stored_for(k, times, again) > 1 {
            return Some("more than one array that it is computed from would be stored in its place");
        }
        for (&(kernel, _), r) in &parts {
            let kernel = self.kernel(kernel);
            let copies = if r.window { r.times } else { 1 };
            if kernel.facts.with(own, copies).nodes > KERNEL_NODES {
                return Some("the kernel would become too large");
            }
            let demands = kernel.demands.iter().any(|a| *a != s.results[0]);
            if own.can_fault && (kernel.facts.loops || demands) {
                return Some("its fault could be lost to a loop");
            }
        }
        self.again[k] = again;
        None
    }

    /// How many arrays that nothing else reads would be stored, because a statement is computed several times.
    fn stored_for(&self, k: usize, times: usize, again: usize) -> usize {
        if times <= 1 {
            return 0;
        }
        let mut arrays = self.uses.sites[k].stmt.op.arrays();
        arrays.sort_unstable();
        arrays.dedup();
        let own = |a: &ArrayId| {
            let p = self.uses.def[a.index()]?;
            let is_own = self.uses.of[a.index()]
                .iter()
                .all(|u| u.read == Read::Measured || matches!(u.by, By::Stmt(by) if by == k && u.read == Read::Point));
            (is_own && kind(self.uses.sites[p].stmt) == Some(Kind::Points)).then_some(p)
        };
        let stored = |p: usize| match is_cheaper_than_memory(facts(self.uses.sites[p].stmt).cost, times, again) {
            Some(again) => acc_core::grow_stack(|| self.stored_for(p, times, again)),
            None => 1,
        };
        arrays.iter().filter_map(own).map(stored).sum()
    }

    /// Whether it maps arrays of the very extents of its result, so that edges are the same.
    fn keeps_extents(&self, s: &Stmt) -> bool {
        let own = self.extents.of(s.results[0]);
        match &s.op {
            ArrayOp::Map { xs, indexed: false, .. } => xs.iter().all(|&x| self.extents.of(x) == own),
            ArrayOp::Check { .. } => true,
            _ => false,
        }
    }

    fn inline(&mut self, k: usize, reads: BTreeMap<usize, Reads>) {
        let own = facts(self.uses.sites[k].stmt);
        let (demands, result) = (self.demands(k), self.result(k));
        let total = self.total[k];
        let mut into: BTreeSet<usize> = BTreeSet::new();
        for (&root, r) in &reads {
            let Place::Kernel(number) = self.place[root] else { continue };
            if into.insert(number)
                && let Some(kernel) = &mut self.kernels[number]
            {
                kernel.facts = kernel.facts.with(own, if r.window { r.times } else { 1 });
                kernel.demands.remove(&result);
                kernel.demands.extend(&demands);
                kernel.total &= total;
            }
        }
        self.reads[k] = reads;
        self.place[k] = Place::Inlined;
    }

    fn store(&mut self, k: usize, kind: Kind, reads: BTreeMap<usize, Reads>, why: &'static str) {
        self.open(k, kind);
        self.reads[k] = reads.clone();
        // A kernel that reads it at its own points computes and stores it on the way.
        let kernels: BTreeSet<usize> = reads.keys().filter_map(|&root| self.number(root)).collect();
        for number in kernels {
            let kernel = self.kernel(number);
            let all_points = reads
                .iter()
                .all(|(root, r)| !kernel.epilogue.contains(root) && (!kernel.main.contains(root) || r.only_point()));
            let Some(own) = self.number(k) else { return };
            if all_points && self.may_share(own, number) && self.depends(own, number) != Path::Around {
                let with = kernel.main.first().map(|&m| self.result(m));
                self.merge(own, number);
                self.notes.extend(with.map(|w| Note { array: self.result(k), what: What::With(w) }));
                return;
            }
        }
        self.notes.push(Note { array: self.result(k), what: What::Stored(why) });
    }

    fn kernel(&self, number: usize) -> &Kernel {
        match &self.kernels[number] {
            Some(k) => k,
            None => unreachable!("kernel {number} was merged into another one"),
        }
    }

    fn number(&self, k: usize) -> Option<usize> {
        match self.place[k] {
            Place::Kernel(number) => Some(number),
            Place::Apart | Place::Inlined => None,
        }
    }

    /// A kernel for one statement.
    fn open(&mut self, k: usize, kind: Kind) {
        let site = self.uses.sites[k];
        let result = site.stmt.results[0];
        let over = match site.stmt.op.class() {
            Class::Fold | Class::Segments | Class::Scan | Class::Scatter => site.stmt.op.operand().copied(),
            Class::Pointwise | Class::Sort | Class::View | Class::Control => None,
        };
        let over = over.unwrap_or(result);
        self.place[k] = Place::Kernel(self.kernels.len());
        self.kernels.push(Some(Kernel {
            main: BTreeSet::from([k]),
            epilogue: BTreeSet::new(),
            kind,
            nested: Vec::new(),
            space: self.extents.of(over).to_vec(),
            after: Vec::new(),
            order: None,
            facts: Facts::default().with(facts(site.stmt), 1),
            demands: self.demands(k),
            needed: self.needed[k],
            total: self.total[k],
            scheduled: self.scheduled.get(&result).copied(),
            block: site.block,
        }));
    }

    /// The arrays that a statement may have to evaluate in the middle of its own evaluation, without end perhaps.
    fn demands(&self, k: usize) -> BTreeSet<ArrayId> {
        let late = |a: &ArrayId| {
            self.uses.def[a.index()].is_some_and(|d| !self.uses.sites[d].strict && !self.ends[d])
                && !self.absorbed.contains(a)
        };
        arrays_on_demand(self.uses.sites[k].stmt).into_iter().filter(late).collect()
    }

    fn finish(mut self, p: &Program) -> Fusion {
        let mut fusion =
            Fusion { kernel_of: vec![None; p.types.len()], inlined: vec![false; p.types.len()], ..Fusion::default() };
        let mut notes = Vec::new();
        for (number, kernel) in self.kernels.iter().enumerate() {
            let Some(kernel) = kernel else { continue };
            let results = |part: &BTreeSet<usize>| part.iter().map(|&m| self.result(m)).collect::<Vec<_>>();
            let (main, epilogue) = (results(&kernel.main), results(&kernel.epilogue));
            let inside = |m: &usize| {
                let (reads, why) = self.reads_of(self.result(*m));
                why.is_none()
                    && !self.is_read_apart(self.result(*m))
                    && !reads.is_empty()
                    && reads.keys().all(|root| kernel.epilogue.contains(root))
            };
            let transient = results(&kernel.main.iter().copied().filter(inside).collect());
            notes.extend(self.notes_of(number, &transient));
            for a in main.iter().chain(&epilogue) {
                fusion.kernel_of[a.index()] = Some(fusion.kernels.len());
            }
            if let (Some(&root), false) = (main.first(), kernel.nested.is_empty()) {
                fusion.nested.insert(root, kernel.nested.iter().map(|&k| self.result(k)).collect());
            }
            let order = kernel.order.clone();
            fusion.kernels.push(Group { main, epilogue, transient, order });
        }
        self.notes.append(&mut notes);
        for k in 0..self.place.len() {
            if self.place[k] == Place::Inlined {
                let array = self.result(k);
                fusion.inlined[array.index()] = true;
                let kernels: BTreeSet<usize> = self.reads[k].keys().filter_map(|&root| self.number(root)).collect();
                let first = |n: usize| self.kernel(n).members().min().map(|m| self.result(m));
                let into = kernels.into_iter().filter_map(first).collect();
                self.notes.push(Note { array, what: What::Inlined(into) });
            }
        }
        for (&result, positions) in &self.sorted {
            fusion.sorted.insert(result);
            fusion.inlined[positions.index()] = true;
        }
        self.notes.sort_by_key(|n| n.array);
        fusion.notes = self.notes;
        fusion.compactions = self.compactions;
        fusion
    }
}
