//! Loops over blocks of a row, whose elements are combined at their ends.

use crate::llvm::emit::Emitter;
use crate::llvm::emit::loops::loop_state::{Columns, LoopState};
use crate::llvm::emit::sinks::sink::{Block, SinkEmitter};
use crate::llvm::emit::text::{Label, Operand, put};

/// Writes a step whose first column has a number.
type Step<'f, 'a> = &'f mut dyn FnMut(&mut Emitter<'a>, &mut SinkEmitter<'a>, &Operand, LoopState) -> LoopState;

impl<'a> Emitter<'a> {
    /// Writes the steps of a row, in blocks of the first kind those of the others. Returns what they carry, valid in block `done`,
    /// which the caller starts.
    pub(crate) fn blocks(
        &mut self,
        kinds: &[Block],
        columns: &Columns,
        sinks: &mut SinkEmitter<'a>,
        state: LoopState,
        done: Label,
        write: Step<'_, 'a>,
    ) -> LoopState {
        let Some((&kind, inner)) = kinds.split_first() else {
            return self.steps(columns, state, done, &mut |e, column, state| write(e, sinks, column, state));
        };
        let (head, body, before) = (self.code.f.w.label(), self.code.f.w.label(), self.code.f.w.block);
        let entry = state.with(columns.from.clone(), "i64");
        self.code.f.w.jump(head);
        self.code.f.w.start(head);
        let here = entry.phi_registers(&mut self.code.f.w);
        let mark = self.code.f.w.position();
        let (first, carried) = here.split();
        let more = put!(self.code.f, "icmp slt i64 {first}, {}", columns.to);
        self.code.f.w.branch(&more, body, done);
        self.code.f.w.start(body);
        let end = put!(self.code.f, "add i64 {first}, {}", kind.len());
        let end = put!(self.code.f, "call i64 @llvm.smin.i64(i64 {end}, i64 {})", columns.to);
        let edges = columns.edges.clone().map(|(lo, hi)| {
            let hi = put!(self.code.f, "call i64 @llvm.smin.i64(i64 {hi}, i64 {end})");
            (lo, hi)
        });
        let own = Columns { from: first.clone(), to: end.clone(), edges, ..*columns };
        match kind {
            Block::Fold => sinks.fold_block = first,
            Block::Scan => sinks.scan_block = first,
        }
        let combine = self.code.f.w.label();
        let state = self.blocks(inner, &own, sinks, carried.clone(), combine, write);
        self.code.f.w.start(combine);
        let after = match kind {
            Block::Fold => sinks.end_fold_block(self, state, &own),
            Block::Scan => sinks.end_scan_block(self, state, &own),
        };
        let after = after.with(end, "i64");
        let last = self.code.f.w.block;
        self.code.f.w.jump(head);
        here.define_phis(&mut self.code.f.w, mark, &[(entry, before), (after, last)]);
        carried
    }
}
