//! Blocks of terms of fused folds (`kernel::grouping`) in register tiles: partial results of a block are in registers, the sum of the
//! blocks before is in memory.

use crate::kernel::Kernel;
use crate::kernel::grouping::{MORE_TERMS_OF_LAST_BLOCK, TERMS_PER_BLOCK};
use crate::llvm::emit::loops::loop_state::LoopState;
use crate::llvm::emit::loops::structured::Structured;
use crate::llvm::emit::text::{Operand, put};
use crate::llvm::emit::{Emitter, KernelArg};

/// How the first folded axis is divided into blocks.
#[derive(Clone)]
pub(super) struct TermBlocks {
    /// Indices of a block.
    len: Operand,
    /// How many more the last one may have.
    more: usize,
    /// Whether there may be several blocks inside the loops around the registers.
    pub in_a_loop: bool,
}

impl Emitter<'_> {
    /// The blocks of a kernel's terms; none if no fold is fused, or what is given to a call is part of a block.
    pub(super) fn term_blocks(&mut self, kernel: &Kernel) -> Option<TermBlocks> {
        if !kernel.outputs.iter().any(|o| o.sink.is_fused()) || !kernel.adds_term_blocks() {
            return None;
        }
        let (rank, registers) = (kernel.axes.len(), kernel.register_loop(kernel.lane_loop()?));
        let first = rank - kernel.folded();
        let whole = kernel.loops[registers..].iter().find(|l| l.axis == first);
        // Unrolled loops have fewer terms than a block.
        let in_a_loop = !whole.is_some_and(|l| l.is_unrolled());
        if kernel.folded() == 1 {
            return Some(TermBlocks {
                len: Operand::int(TERMS_PER_BLOCK as i64),
                more: MORE_TERMS_OF_LAST_BLOCK,
                in_a_loop,
            });
        }
        let f = &mut self.code.f;
        let mut terms = Operand::int(1);
        for axis in first + 1..rank {
            let extent = f.arg(KernelArg::Extent(axis as u32));
            terms = put!(f, "mul i64 {terms}, {extent}");
        }
        let terms = put!(f, "call i64 @llvm.umax.i64(i64 {terms}, i64 1)");
        let len = put!(f, "udiv i64 {TERMS_PER_BLOCK}, {terms}");
        let len = put!(f, "call i64 @llvm.umax.i64(i64 {len}, i64 1)");
        Some(TermBlocks { len, more: 0, in_a_loop })
    }

    /// A loop over the blocks of a range that is not empty.
    pub(super) fn each_term_block(
        &mut self,
        blocks: &TermBlocks,
        [from, to]: &[Operand; 2],
        write: &mut dyn FnMut(&mut Self, [Operand; 2]),
    ) {
        let limit = self.last_block_limit(blocks, [from, to]);
        let len = &blocks.len;
        let all = put!(self.code.f, "sub i64 {limit}, {from}");
        let all = put!(self.code.f, "add i64 {all}, {len}");
        let all = put!(self.code.f, "sub i64 {all}, 1");
        let count = put!(self.code.f, "udiv i64 {all}, {len}");
        self.counted_loop([&Operand::int(0), &count], 1, LoopState::default(), None, |e, number, _| {
            let before = put!(e.code.f, "mul i64 {number}, {len}");
            let first = put!(e.code.f, "add i64 {from}, {before}");
            let end = put!(e.code.f, "add i64 {first}, {len}");
            let end = e.block_end([&end, &limit, to]);
            write(e, [first, end]);
            Vec::new()
        });
    }

    /// The index from which on no further block begins.
    pub(super) fn last_block_limit(&mut self, blocks: &TermBlocks, [from, to]: [&Operand; 2]) -> Operand {
        if blocks.more == 0 {
            return to.clone();
        }
        let last = put!(self.code.f, "sub i64 {to}, {}", blocks.more);
        let least = put!(self.code.f, "add i64 {from}, 1");
        put!(self.code.f, "call i64 @llvm.smax.i64(i64 {last}, i64 {least})")
    }

    /// Where a block ends: at `end`, or with the range if no other begins there.
    pub(super) fn block_end(&mut self, [end, limit, to]: [&Operand; 3]) -> Operand {
        let is_last = put!(self.code.f, "icmp sge i64 {end}, {limit}");
        put!(self.code.f, "select i1 {is_last}, i64 {to}, i64 {end}")
    }
}
