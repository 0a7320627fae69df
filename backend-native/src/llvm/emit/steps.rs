//! The steps of a row, the loops that they are made of, and what is handed on from one to the next.

use super::Emitter;
use super::text::{Label, Operand, put};
use super::value::Mask;
use crate::buffer::LINE;

/// Steps that are walked by one vector each before the next vectors are: what they read stays in the nearest cache.
const TURN: usize = 16;

/// The columns of a row whose steps are written.
pub(super) struct Columns {
    /// The first.
    pub from: Operand,
    /// The one after the last.
    pub to: Operand,
    /// Those away from edges.
    pub edges: Option<(Operand, Operand)>,
    /// Whether the body is written once, for any mask.
    pub once: bool,
    /// Whether only the last step of a row may be of fewer lanes.
    pub whole: bool,
    /// Whether the vectors of full steps are walked one after the other, some steps at a time: what is handed on is of one
    /// vector each.
    pub apart: bool,
    /// Vectors of a step under a mask: fewer than of others are less code.
    pub rest: usize,
    /// The same where what is left of the columns fits so few, if that is fewer still.
    pub few: usize,
}

/// Values carried from step to step, with their types.
#[derive(Clone, Default)]
pub(super) struct State(pub Vec<(Operand, String)>);

impl State {
    pub(super) fn with(&self, o: Operand, ty: &str) -> State {
        let mut all = vec![(o, ty.to_string())];
        all.extend(self.0.iter().cloned());
        State(all)
    }

    /// The first value, and the others.
    pub(super) fn split(&self) -> (Operand, State) {
        match self.0.split_first() {
            Some(((o, _), rest)) => (o.clone(), State(rest.to_vec())),
            None => (Operand::int(0), State::default()),
        }
    }

    /// Registers for the same values at the start of a block, to be defined by [`arrive`](State::arrive).
    pub(super) fn promised(&self, e: &mut Emitter<'_>) -> State {
        State(self.0.iter().map(|(_, ty)| (e.w.promise(), ty.clone())).collect())
    }

    /// Writes the phis of promised registers at a mark.
    pub(super) fn arrive(&self, e: &mut Emitter<'_>, mark: usize, from: &[(State, Label)]) {
        let mut lines = String::new();
        for (k, (register, ty)) in self.0.iter().enumerate() {
            let ends: Vec<String> = from.iter().map(|(s, l)| format!("[ {}, {l} ]", s.0[k].0)).collect();
            lines += &format!("  {register} = phi {ty} {}\n", ends.join(", "));
        }
        e.w.insert(mark, &lines);
    }
}

impl Emitter<'_> {
    /// The steps of a row; yields what they carry, at the block where the row is done, which is to be started next.
    pub(super) fn steps(
        &mut self,
        columns: &Columns,
        state: State,
        done: Label,
        write: &mut dyn FnMut(&mut Self, &Operand, State) -> State,
    ) -> State {
        let Columns { from, to, edges, once, whole, apart, rest, few } = columns;
        let step = self.width.step();
        let (head, choose, masked, before) = (self.w.label(), self.w.label(), self.w.label(), self.w.block);
        let first = state.with(from.clone(), "i64");
        self.w.jump(head);
        self.w.start(head);
        let here = first.promised(self);
        let mark = self.w.mark();
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
            lo = put!(self, "add i64 {lo}, {}", LINE - 1);
            lo = put!(self, "and i64 {lo}, -{LINE}");
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
            let at = here.promised(self);
            let inner_mark = self.w.mark();
            let (i, carried) = at.split();
            self.inner = true;
            let (after, next) = if *apart {
                self.walk_apart([&i, &hi], carried, write)
            } else {
                (write(self, &i, carried), put!(self, "add i64 {i}, {step}"))
            };
            self.inner = false;
            let end = put!(self, "add i64 {next}, {step}");
            let again = put!(self, "icmp sle i64 {end}, {hi}");
            let last = self.w.block;
            self.w.branch(&again, inner, head);
            let after = after.with(next, "i64");
            at.arrive(self, inner_mark, &[(here.clone(), from), (after.clone(), last)]);
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
        here.arrive(self, mark, &arrivals);
        carried
    }

    /// Full steps from a column on, up to [`TURN`] of them before a last column: of all of them the first vectors, then the
    /// second ones, and so on. Yields what they hand on, and the column after them.
    fn walk_apart(
        &mut self,
        [from, hi]: [&Operand; 2],
        State(carried): State,
        write: &mut dyn FnMut(&mut Self, &Operand, State) -> State,
    ) -> (State, Operand) {
        let (parts, step) = (self.width.parts, self.width.step());
        let left = put!(self, "sub i64 {hi}, {from}");
        let left = put!(self, "call i64 @llvm.smin.i64(i64 {left}, i64 {})", step * TURN);
        let over = put!(self, "urem i64 {left}, {step}");
        let whole = put!(self, "sub i64 {left}, {over}");
        let end = put!(self, "add i64 {from}, {whole}");
        let mut after = carried.clone();
        self.width.parts = 1;
        for part in 0..parts {
            let first = put!(self, "add i64 {from}, {}", part * self.width.lanes);
            let own = carried.iter().skip(part).step_by(parts).cloned().collect();
            let next = self.along([&first, &end], step, State(own), None, |e, column, state| {
                write(e, column, state).0.into_iter().map(|(o, _)| o).collect()
            });
            for ((to, _), o) in after.iter_mut().skip(part).step_by(parts).zip(next) {
                *to = o;
            }
        }
        self.width.parts = parts;
        (State(after), end)
    }

    /// The lanes whose index is below `end`, from `first` on.
    pub(super) fn first_lanes(&mut self, first: &Operand, end: &Operand) -> Mask {
        let left = put!(self, "sub i64 {end}, {first}");
        Mask::Lanes(self.lanes_below(&left))
    }

    /// A loop from an index to below another, which is greater: `write` makes of an index and what is carried what is
    /// carried on. The operations of a turn, if it looks at the clock, cost so much. Yields what is carried out of it.
    pub(super) fn along(
        &mut self,
        [from, to]: [&Operand; 2],
        by: usize,
        carried: State,
        cost: Option<usize>,
        write: impl FnOnce(&mut Self, &Operand, State) -> Vec<Operand>,
    ) -> Vec<Operand> {
        let state = carried.with(from.clone(), "i64");
        let (head, exit, before) = (self.w.label(), self.w.label(), self.w.block);
        self.w.jump(head);
        self.w.start(head);
        let here = state.promised(self);
        let mark = self.w.mark();
        let (t, carried) = here.split();
        let types: Vec<String> = carried.0.iter().map(|(_, ty)| ty.clone()).collect();
        let after = write(self, &t, carried);
        if let Some(cost) = cost {
            self.tick(cost);
        }
        let next = put!(self, "add i64 {t}, {by}");
        let more = put!(self, "icmp slt i64 {next}, {to}");
        let last = self.w.block;
        self.w.branch(&more, head, exit);
        let arrived = State(after.iter().cloned().zip(types).collect()).with(next, "i64");
        here.arrive(self, mark, &[(state, before), (arrived, last)]);
        self.w.start(exit);
        after
    }
}
