//! Results that are written past the caches although their rows do not begin at lines of these.
//!
//! A panel of columns ends in the middle of a line, at another place in each row. What is turned is there for some more
//! columns than those of the panel: of each row those are computed that begin at the first line inside the panel, and end
//! before the first one after it. The ends of rows, whose lines they share with other rows, are written as usual.

use super::text::{Operand, put};
use super::{Emitter, Form, Word, axis_turned};
use crate::buffer::LINE;
use crate::kernel::Kernel;

/// Whether panels of a kernel's rows may end with lines, wherever these begin: elements are turned, and of one size. Such a
/// panel is by a line narrower than what is turned at once.
pub(crate) fn has_own_lines(kernel: &Kernel) -> bool {
    axis_turned(kernel).is_some() && size(kernel).is_some()
}

/// The bytes of each element that is stored, if all have as many.
fn size(kernel: &Kernel) -> Option<usize> {
    let mut sizes = kernel.element.region.results.iter().map(|&v| kernel.element.ty(v).size());
    let first = sizes.next()?;
    sizes.all(|s| s == first).then_some(first)
}

impl Emitter<'_> {
    /// The bytes of an element of results whose panels end with lines.
    pub(super) fn lines_of(&self, kernel: &Kernel, form: Form) -> Option<usize> {
        size(kernel).filter(|_| form == Form::OwnLines)
    }

    /// The column before which those end that are read: that of the panel, or with the line that follows it.
    pub(super) fn columns_read(&mut self, kernel: &Kernel, form: Form, lane: usize) -> Operand {
        let end = Operand::text("%c1");
        let Some(size) = self.lines_of(kernel, form) else { return end };
        let extent = self.word(Word::Extent(lane as u32));
        let more = put!(self, "add i64 {end}, {}", LINE / size);
        put!(self, "call i64 @llvm.smin.i64(i64 {more}, i64 {extent})")
    }

    /// The columns of the panel in a row at a position, and that its lines begin at the first one.
    pub(super) fn whole_lines(&mut self, row: &Operand, extent: &Operand, size: usize) -> [Operand; 2] {
        let out = self.word(Word::Out(0));
        let out = put!(self, "ptrtoint ptr {out} to i64");
        let start = put!(self, "mul i64 {row}, {size}");
        let start = put!(self, "add i64 {out}, {start}");
        let [first, end] = ["%c0", "%c1"].map(|column| {
            let at = put!(self, "mul i64 {column}, {size}");
            let at = put!(self, "add i64 {start}, {at}");
            let left = put!(self, "sub i64 0, {at}");
            let left = put!(self, "and i64 {left}, {}", LINE - 1);
            let left = put!(self, "udiv i64 {left}, {size}");
            let line = put!(self, "add i64 {column}, {left}");
            put!(self, "call i64 @llvm.smin.i64(i64 {line}, i64 {extent})")
        });
        let begins = put!(self, "icmp eq i64 %c0, 0");
        self.line = Some(first.clone());
        [put!(self, "select i1 {begins}, i64 0, i64 {first}"), end]
    }
}
