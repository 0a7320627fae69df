//! Reads at clamped positions: `xs[max(i - 1, 0)]`, or `xs[min(i + 1, n - 1)]`, where `i` follows the lanes.
//!
//! As long as no lane of a step is clamped, such a read is contiguous, which two scalar comparisons tell. The few other
//! steps, at the ends of rows, gather.

use crate::kernel::access::Index;
use crate::kernel::{Ix, Load, Node};
use crate::llvm::emit::access::address::{Address, INPUT_SCOPE};
use crate::llvm::emit::text::value::{Mask, Value};
use crate::llvm::emit::text::{Operand, element, put};
use crate::llvm::emit::{Emitter, KernelArg};
use acc_desugar::analysis::access::Bound;

impl Emitter<'_> {
    /// Writes a read at a clamped position; false if it is to be gathered.
    pub(crate) fn load_clamped(&mut self, n: &Node, l: &Load) -> bool {
        let Some((Ix::At(v), outer)) = l.index.split_last() else { return false };
        let Index::Clamped(clamped) = self.facts.accesses.index(*v) else { return false };
        if !self.is_whole(&clamped.of.base) {
            return false;
        }
        let mut at = if outer.is_empty() { Default::default() } else { self.checked_index(l.array, outer, None).0 };
        at.push(Value::Uniform(Operand::int(0)));
        let Address::Uniform(row) = self.code.address(l.array, &at) else { return false };
        // Pending faults must be checked before control flow splits.
        self.code.bail_out_on_fault();

        // All positions are within the row, those of inactive lanes included.
        let extent = self.code.f.arg(KernelArg::ArrayExtent(l.array, outer.len() as u32));
        let first = self.first_of(&clamped.of);
        let last = put!(self.code.f, "add i64 {first}, {}", self.code.width.step() - 1);
        let from = put!(self.code.f, "icmp sge i64 {first}, 0");
        let to = put!(self.code.f, "icmp ult i64 {last}, {extent}");
        let mut free = put!(self.code.f, "and i1 {from}, {to}");
        for bound in &clamped.bounds {
            let within = match bound {
                Bound::AtLeast(n) => {
                    let low = self.number(n);
                    put!(self.code.f, "icmp sge i64 {first}, {low}")
                }
                Bound::AtMost(n) => {
                    let high = self.number(n);
                    put!(self.code.f, "icmp sle i64 {last}, {high}")
                }
            };
            free = put!(self.code.f, "and i1 {free}, {within}");
        }
        let start = put!(self.code.f, "add i64 {row}, {first}");
        let masked = matches!(self.code.mask, Mask::All) || self.has_masked_loads(n);
        if !masked {
            let readable = self.is_readable(l.array, &start);
            free = put!(self.code.f, "and i1 {free}, {readable}");
        }
        let [run, any, join] = [(); 3].map(|()| self.code.f.w.label());
        self.code.f.w.branch(&free, run, any);

        self.code.f.w.start(run);
        let mask = self.code.mask.clone();
        if !masked {
            self.code.mask = Mask::All;
        }
        let neighbours = self
            .load_path(n, l, join, |e, ty, column| e.code.load_contiguous(ty, column, &start, 1, None, INPUT_SCOPE));
        self.code.mask = mask;

        self.code.f.w.start(any);
        let (index, _) = self.checked_index(l.array, &l.index, None);
        let positions = match self.code.address(l.array, &index) {
            Address::Gathered(positions) => self.code.readable_positions(l.array, index.len(), positions),
            // One of the indices varies.
            Address::Uniform(_) | Address::Contiguous(..) | Address::Strided(..) => return false,
        };
        let gathered = self.load_path(n, l, join, |e, ty, column| {
            let values = e.code.gather(ty, column, &positions, INPUT_SCOPE);
            e.code.broadcast(&values, element(ty))
        });
        self.join_paths(n, join, &[neighbours, gathered]);
        true
    }
}
