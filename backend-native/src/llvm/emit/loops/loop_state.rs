//! Loops along a row, and the values that they carry.

use crate::buffer::CACHE_LINE_BYTES;
use crate::llvm::emit::Emitter;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::text::Writer;
use crate::llvm::emit::text::value::Mask;
use crate::llvm::emit::text::vector_code::VectorCode;
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
    pub(crate) fn phi_registers(&self, w: &mut Writer) -> LoopState {
        LoopState(self.0.iter().map(|(_, ty)| (w.reserve_register(), ty.clone())).collect())
    }

    /// Writes the phis of reserved registers at a text position.
    pub(crate) fn define_phis(&self, w: &mut Writer, mark: usize, from: &[(LoopState, Label)]) {
        let mut lines = String::new();
        for (k, (register, ty)) in self.0.iter().enumerate() {
            let ends: Vec<String> = from.iter().map(|(s, l)| format!("[ {}, {l} ]", s.0[k].0)).collect();
            lines += &format!("  {register} = phi {ty} {}\n", ends.join(", "));
        }
        w.insert(mark, &lines);
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
        let step = self.code.width.step();
        let (head, choose, masked, before) =
            (self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.block);
        let first = state.with(from.clone(), "i64");
        self.code.f.w.jump(head);
        self.code.f.w.start(head);
        let here = first.phi_registers(&mut self.code.f.w);
        let mark = self.code.f.w.position();
        let (j, carried) = here.split();
        let more = put!(self.code.f, "icmp slt i64 {j}, {to}");
        self.code.f.w.branch(&more, choose, done);
        self.code.f.w.start(choose);
        let mut arrivals = vec![(first, before)];
        let (mut lo, hi) = edges.clone().unwrap_or_else(|| (from.clone(), to.clone()));
        if self.hints.stream && edges.is_some() {
            // Full vectors begin at cache lines.
            let line = self.hints.line.clone().unwrap_or_else(|| Operand::int(0));
            lo = put!(self.code.f, "sub i64 {lo}, {line}");
            lo = put!(self.code.f, "add i64 {lo}, {}", CACHE_LINE_BYTES - 1);
            lo = put!(self.code.f, "and i64 {lo}, -{CACHE_LINE_BYTES}");
            lo = put!(self.code.f, "add i64 {lo}, {line}");
        }
        if !once || edges.is_some() {
            let inner = self.code.f.w.label();
            let end = put!(self.code.f, "add i64 {j}, {step}");
            let mut fits = put!(self.code.f, "icmp sle i64 {end}, {hi}");
            if edges.is_some() {
                let from = put!(self.code.f, "icmp sge i64 {j}, {lo}");
                fits = put!(self.code.f, "and i1 {from}, {fits}");
            }
            let from = self.code.f.w.block;
            self.code.f.w.branch(&fits, inner, masked);
            self.code.f.w.start(inner);
            let at = here.phi_registers(&mut self.code.f.w);
            let inner_mark = self.code.f.w.position();
            let (i, carried) = at.split();
            self.code.inner = true;
            let (after, next) = if *by_vector {
                self.steps_by_vector([&i, &hi], carried, write)
            } else {
                (write(self, &i, carried), put!(self.code.f, "add i64 {i}, {step}"))
            };
            self.code.inner = false;
            let end = put!(self.code.f, "add i64 {next}, {step}");
            let again = put!(self.code.f, "icmp sle i64 {end}, {hi}");
            let last = self.code.f.w.block;
            self.code.f.w.branch(&again, inner, head);
            let after = after.with(next, "i64");
            at.define_phis(&mut self.code.f.w, inner_mark, &[(here.clone(), from), (after.clone(), last)]);
            arrivals.push((after, last));
        } else {
            self.code.f.w.jump(masked);
        }
        self.code.f.w.start(masked);
        let mut end = to.clone();
        // Where lanes combine along a row, steps stay whole.
        if edges.is_some() && !whole {
            let early = put!(self.code.f, "icmp slt i64 {j}, {lo}");
            let until = put!(self.code.f, "call i64 @llvm.smin.i64(i64 {lo}, i64 {to})");
            end = put!(self.code.f, "select i1 {early}, i64 {until}, i64 {to}");
        }
        let parts = self.code.width.parts;
        let mut ways = vec![(self.code.f.w.label(), *rest)];
        if few < rest {
            let way = self.code.f.w.label();
            let left = put!(self.code.f, "sub i64 {end}, {j}");
            let fits = put!(self.code.f, "icmp sle i64 {left}, {}", few * self.code.width.lanes);
            self.code.f.w.branch(&fits, way, ways[0].0);
            ways.push((way, *few));
        } else {
            self.code.f.w.jump(ways[0].0);
        }
        for (way, vectors) in ways {
            self.code.f.w.start(way);
            self.code.width.parts = vectors;
            self.code.mask = self.code.first_lanes(&j, &end);
            let after = write(self, &j, carried.clone());
            self.code.mask = Mask::All;
            let next = put!(self.code.f, "add i64 {j}, {}", self.code.width.step());
            let next = put!(self.code.f, "call i64 @llvm.smin.i64(i64 {next}, i64 {end})");
            arrivals.push((after.with(next, "i64"), self.code.f.w.block));
            self.code.f.w.jump(head);
        }
        self.code.width.parts = parts;
        here.define_phis(&mut self.code.f.w, mark, &arrivals);
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
        let (parts, step) = (self.code.width.parts, self.code.width.step());
        let left = put!(self.code.f, "sub i64 {hi}, {from}");
        let left = put!(self.code.f, "call i64 @llvm.smin.i64(i64 {left}, i64 {})", step * STEPS_PER_VECTOR_PASS);
        let over = put!(self.code.f, "urem i64 {left}, {step}");
        let whole = put!(self.code.f, "sub i64 {left}, {over}");
        let end = put!(self.code.f, "add i64 {from}, {whole}");
        let mut after = carried.clone();
        self.code.width.parts = 1;
        for part in 0..parts {
            let first = put!(self.code.f, "add i64 {from}, {}", part * self.code.width.lanes);
            let own = carried.iter().skip(part).step_by(parts).cloned().collect();
            let next = self.counted_loop([&first, &end], step, LoopState(own), None, |e, column, state| {
                write(e, column, state).0.into_iter().map(|(o, _)| o).collect()
            });
            for ((to, _), o) in after.iter_mut().skip(part).step_by(parts).zip(next) {
                *to = o;
            }
        }
        self.code.width.parts = parts;
        (LoopState(after), end)
    }
}

impl VectorCode {
    /// The lanes whose index is below `end`, counted from `first`.
    pub(crate) fn first_lanes(&mut self, first: &Operand, end: &Operand) -> Mask {
        let left = put!(self.f, "sub i64 {end}, {first}");
        Mask::Lanes(self.lanes_below(&left))
    }
}
