//! Non-temporal stores where rows do not begin at cache lines.
//!
//! Then a panel of columns ends in the middle of a cache line, in each row at another place. Transposed buffers hold
//! some columns more than the panel, so that each row computes the columns from its first cache line inside the panel
//! to the first one after it. The ends of rows, whose lines are shared with other rows, are stored as usual.

use crate::buffer::CACHE_LINE_BYTES;
use crate::kernel::Kernel;
use crate::llvm::emit::text::function::Function;
use crate::llvm::emit::text::{Operand, put};
use crate::llvm::emit::{Emitter, KernelArg, Variant};

/// Whether panels of a kernel's rows may end at cache lines: stored elements have one size. Where loads are transposed, such a panel
/// is a cache line narrower than the buffer; elsewhere panels are whole rows.
pub(crate) fn can_stream_unaligned(kernel: &Kernel) -> bool {
    size(kernel).is_some()
}

/// The bytes of a stored element, if all have the same.
fn size(kernel: &Kernel) -> Option<usize> {
    let mut sizes = kernel.element.region.results.iter().map(|&v| kernel.element.ty(v).size());
    let first = sizes.next()?;
    sizes.all(|s| s == first).then_some(first)
}

/// The bytes of a stored element, if panels end at cache lines in this variant.
pub(crate) fn unaligned_element_size(kernel: &Kernel, variant: Variant) -> Option<usize> {
    size(kernel).filter(|_| variant == Variant::UnalignedStreaming)
}

impl Function {
    /// One past the last column that is loaded: the panel's end, or a cache line further.
    pub(crate) fn columns_loaded(&mut self, kernel: &Kernel, variant: Variant, lane: usize) -> Operand {
        let end = Operand::text("%c1");
        let Some(size) = unaligned_element_size(kernel, variant) else { return end };
        let extent = self.arg(KernelArg::Extent(lane as u32));
        let more = put!(self, "add i64 {end}, {}", CACHE_LINE_BYTES / size);
        put!(self, "call i64 @llvm.smin.i64(i64 {more}, i64 {extent})")
    }
}

impl Emitter<'_> {
    /// The columns of the panel in a row, rounded to cache lines; full vectors then begin at the first one.
    pub(crate) fn whole_line_columns(&mut self, row: &Operand, extent: &Operand, size: usize) -> [Operand; 2] {
        let out = self.code.f.arg(KernelArg::Output(0));
        let out = put!(self.code.f, "ptrtoint ptr {out} to i64");
        let start = put!(self.code.f, "mul i64 {row}, {size}");
        let start = put!(self.code.f, "add i64 {out}, {start}");
        let [first, end] = ["%c0", "%c1"].map(|column| {
            let at = put!(self.code.f, "mul i64 {column}, {size}");
            let at = put!(self.code.f, "add i64 {start}, {at}");
            let left = put!(self.code.f, "sub i64 0, {at}");
            let left = put!(self.code.f, "and i64 {left}, {}", CACHE_LINE_BYTES - 1);
            let left = put!(self.code.f, "udiv i64 {left}, {size}");
            let line = put!(self.code.f, "add i64 {column}, {left}");
            put!(self.code.f, "call i64 @llvm.smin.i64(i64 {line}, i64 {extent})")
        });
        let begins = put!(self.code.f, "icmp eq i64 %c0, 0");
        self.hints.line = Some(first.clone());
        [put!(self.code.f, "select i1 {begins}, i64 0, i64 {first}"), end]
    }
}
