//! Loops along a row, and the values that they carry.

use crate::buffer::CACHE_LINE_BYTES;
use crate::llvm::emit::Emitter;
use crate::llvm::emit::text::value::Mask;
use crate::llvm::emit::text::{Label, Operand, put};

/// Steps that one vector takes before the next vector takes the same steps: their data stays in L1.
const STEPS_PER_VECTOR_PASS: usize = 16;

/// The range of columns of a row, and how its steps are written.
pub(crate) struct Columns {
    /// The first column.
    pub from: Operand,
    /// One past the last column.
    pub to: Operand,
    /// The columns away from boundaries.
    pub edges: Option<(Operand, Operand)>,
    /// Whether the body is written once, for any mask.
    pub once: bool,
    /// Whether only the last step of a row may have fewer lanes.
    pub whole: bool,
    /// Whether the vectors of full steps are computed one after the other, several steps each: their loop state is one
    /// vector each.
    pub by_vector: bool,
    /// Vectors of a masked step; fewer are less code.
    pub rest: usize,
    /// The same for remainders that fit into so few vectors.
    pub few: usize,
}

/// Loop-carried values, with their types.
#[derive(Clone, Default)]
pub(crate) struct LoopState(pub Vec<(Operand, String)>);

impl LoopState {
    pub(crate) fn with(&self, o: Operand, ty: &str) -> LoopState {
        let mut all = vec![(o, ty.to_string())];
        all.extend(self.0.iter().cloned());
        LoopState(all)
    }

    /// The first value, and the others.
    pub(crate) fn split(&self) -> (Operand, LoopState) {
        match self.0.split_first() {
            Some(((o, _), rest)) => (o.clone(), LoopState(rest.to_vec())),
            None => (Operand::int(0), LoopState::default()),
        }
    }

    /// Registers for phis of these values, to be defined by [`define_phis`](LoopState::define_phis).
    pub(crate) fn phi_registers(&self, e: &mut Emitter<'_>) -> LoopState {
        LoopState(self.0.iter().map(|(_, ty)| (e.w.reserve_register(), ty.clone())).collect())
    }

    /// Writes the phis of reserved registers at a text position.
    pub(crate) fn define_phis(&self, e: &mut Emitter<'_>, mark: usize, from: &[(LoopState, Label)]) {
        let mut lines = String::new();
        for (k, (register, ty)) in self.0.iter().enumerate() {
            let ends: Vec<String> = from.iter().map(|(s, l)| format!("[ {}, {l} ]", s.0[k].0)).collect();
            lines += &format!("  {register} = phi {ty} {}\n", ends.join(", "));
        }
        e.w.insert(mark, &lines);
    }
}

impl Emitter<'_> {
    /// Writes the steps of a row. Returns what they carry, valid in block `done`, which the caller starts.
    pub(crate) fn steps(
        &mut self,
        columns: &Columns,
        state: LoopState,
        done: Label,
        write: &mut dyn FnMut(&mut Self, &Operand, LoopState) -> LoopState,
    ) -> LoopState {
        let Columns { from, to, edges, once, whole, by_vector, rest, few } = columns;
        let step = self.width.step();
        let (head, choose, masked, before) = (self.w.label(), self.w.label(), self.w.label(), self.w.block);
        let first = state.with(from.clone(), "i64");
        self.w.jump(head);
        self.w.start(head);
        let here = first.phi_registers(self);
        let mark = self.w.position();
        let (j, carried) = here.split();
        let more = put!(self, "icmp slt i64 {j}, {to}");
        self.w.branch(&more, choose, done);
        self.w.start(choose);
        let mut arrivals = vec![(first, before)];
        let (mut lo, hi) = edges.clone().unwrap_or_else(|| (from.clone(), to.clone()));
        if self.stream && edges.is_some() {
            // Full vectors begin at cache lines.
            let line = self.line.clone().unwrap_or_else(|| Operand::int(0));
            lo = put!(self, "sub i64 {lo}, {line}");
            lo = put!(self, "add i64 {lo}, {}", CACHE_LINE_BYTES - 1);
            lo = put!(self, "and i64 {lo}, -{CACHE_LINE_BYTES}");
            lo = put!(self, "add i64 {lo}, {line}");
        }
        if !once || edges.is_some() {
            let inner = self.w.label();
            let end = put!(self, "add i64 {j}, {step}");
            let mut fits = put!(self, "icmp sle i64 {end}, {hi}");
            if edges.is_some() {
                let from = put!(self, "icmp sge i64 {j}, {lo}");
                fits = put!(self, "and i1 {from}, {fits}");
            }
            let from = self.w.block;
            self.w.branch(&fits, inner, masked);
            self.w.start(inner);
            let at = here.phi_registers(self);
            let inner_mark = self.w.position();
            let (i, carried) = at.split();
            self.inner = true;
            let (after, next) = if *by_vector {
                self.steps_by_vector([&i, &hi], carried, write)
            } else {
                (write(self, &i, carried), put!(self, "add i64 {i}, {step}"))
            };
            self.inner = false;
            let end = put!(self, "add i64 {next}, {step}");
            let again = put!(self, "icmp sle i64 {end}, {hi}");
            let last = self.w.block;
            self.w.branch(&again, inner, head);
            let after = after.with(next, "i64");
            at.define_phis(self, inner_mark, &[(here.clone(), from), (after.clone(), last)]);
            arrivals.push((after, last));
        } else {
            self.w.jump(masked);
        }
        self.w.start(masked);
        let mut end = to.clone();
        // Where lanes combine along a row, steps stay whole.
        if edges.is_some() && !whole {
            let early = put!(self, "icmp slt i64 {j}, {lo}");
            let until = put!(self, "call i64 @llvm.smin.i64(i64 {lo}, i64 {to})");
            end = put!(self, "select i1 {early}, i64 {until}, i64 {to}");
        }
        let parts = self.width.parts;
        let mut ways = vec![(self.w.label(), *rest)];
        if few < rest {
            let way = self.w.label();
            let left = put!(self, "sub i64 {end}, {j}");
            let fits = put!(self, "icmp sle i64 {left}, {}", few * self.width.lanes);
            self.w.branch(&fits, way, ways[0].0);
            ways.push((way, *few));
        } else {
            self.w.jump(ways[0].0);
        }
        for (way, vectors) in ways {
            self.w.start(way);
            self.width.parts = vectors;
            self.mask = self.first_lanes(&j, &end);
            let after = write(self, &j, carried.clone());
            self.mask = Mask::All;
            let next = put!(self, "add i64 {j}, {}", self.width.step());
            let next = put!(self, "call i64 @llvm.smin.i64(i64 {next}, i64 {end})");
            arrivals.push((after.with(next, "i64"), self.w.block));
            self.w.jump(head);
        }
        self.width.parts = parts;
        here.define_phis(self, mark, &arrivals);
        carried
    }

    /// Full steps from a column on, at most [`STEPS_PER_VECTOR_PASS`]: all of them for the first vectors, then for the
    /// second ones, and so on. Returns what they carry, and the next column.
    fn steps_by_vector(
        &mut self,
        [from, hi]: [&Operand; 2],
        LoopState(carried): LoopState,
        write: &mut dyn FnMut(&mut Self, &Operand, LoopState) -> LoopState,
    ) -> (LoopState, Operand) {
        let (parts, step) = (self.width.parts, self.width.step());
        let left = put!(self, "sub i64 {hi}, {from}");
        let left = put!(self, "call i64 @llvm.smin.i64(i64 {left}, i64 {})", step * STEPS_PER_VECTOR_PASS);
        let over = put!(self, "urem i64 {left}, {step}");
        let whole = put!(self, "sub i64 {left}, {over}");
        let end = put!(self, "add i64 {from}, {whole}");
        let mut after = carried.clone();
        self.width.parts = 1;
        for part in 0..parts {
            let first = put!(self, "add i64 {from}, {}", part * self.width.lanes);
            let own = carried.iter().skip(part).step_by(parts).cloned().collect();
            let next = self.counted_loop([&first, &end], step, LoopState(own), None, |e, column, state| {
                write(e, column, state).0.into_iter().map(|(o, _)| o).collect()
            });
            for ((to, _), o) in after.iter_mut().skip(part).step_by(parts).zip(next) {
                *to = o;
            }
        }
        self.width.parts = parts;
        (LoopState(after), end)
    }

    /// The lanes whose index is below `end`, counted from `first`.
    pub(crate) fn first_lanes(&mut self, first: &Operand, end: &Operand) -> Mask {
        let left = put!(self, "sub i64 {end}, {first}");
        Mask::Lanes(self.lanes_below(&left))
    }

    /// A counted loop from one index to below another, which is greater: `write` maps the index and the loop state to
    /// the next state. With a cost, each iteration polls the limits. Returns the state after the loop.
    pub(crate) fn counted_loop(
        &mut self,
        [from, to]: [&Operand; 2],
        by: usize,
        carried: LoopState,
        cost: Option<usize>,
        write: impl FnOnce(&mut Self, &Operand, LoopState) -> Vec<Operand>,
    ) -> Vec<Operand> {
        let state = carried.with(from.clone(), "i64");
        let (head, exit, before) = (self.w.label(), self.w.label(), self.w.block);
        self.w.jump(head);
        self.w.start(head);
        let here = state.phi_registers(self);
        let mark = self.w.position();
        let (t, carried) = here.split();
        let types: Vec<String> = carried.0.iter().map(|(_, ty)| ty.clone()).collect();
        let after = write(self, &t, carried);
        if let Some(cost) = cost {
            self.count_fuel(cost);
        }
        let next = put!(self, "add i64 {t}, {by}");
        let more = put!(self, "icmp slt i64 {next}, {to}");
        let last = self.w.block;
        self.w.branch(&more, head, exit);
        let arrived = LoopState(after.iter().cloned().zip(types).collect()).with(next, "i64");
        here.define_phis(self, mark, &[(state, before), (arrived, last)]);
        self.w.start(exit);
        after
    }
}
