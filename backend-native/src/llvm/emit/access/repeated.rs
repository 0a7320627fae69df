//! Reads at quotients: `xs[i / 2]`, where `i` follows the lanes.
//!
//! Such a read takes each element so many times. If the first lane begins a new element, and the lanes of a vector hold whole
//! elements, each vector is a shorter one in memory, whose elements a shuffle repeats. Other steps, of rows that begin elsewhere,
//! gather.

use crate::kernel::{Ix, Load, Node};
use crate::llvm::emit::access::address::{Address, INPUT_SCOPE};
use crate::llvm::emit::text::value::{Mask, Parts, Shape, Value};
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, put, stored};
use crate::llvm::emit::{Emitter, KernelArg};
use acc_core::data::ScalarType;

impl Emitter<'_> {
    /// Writes a read that takes each element so many times; false if it is to be gathered.
    pub(crate) fn load_repeated(&mut self, n: &Node, l: &Load, times: i64) -> bool {
        let Some((last @ Ix::At(v), outer)) = l.index.split_last() else { return false };
        let Some(quotient) = self.quotient_along_lanes(*v) else { return false };
        let lanes = self.code.width.lanes;
        let Some(elements) = usize::try_from(times).ok().filter(|n| lanes.is_multiple_of(*n)).map(|n| lanes / n) else {
            return false;
        };
        let masked = matches!(self.code.mask, Mask::Lanes(_));
        if elements < 2 || (masked && !self.has_masked_loads(n)) {
            return false;
        }
        let mut at = if outer.is_empty() { Default::default() } else { self.checked_index(l.array, outer, None).0 };
        at.push(Value::Uniform(Operand::int(0)));
        let Address::Uniform(row) = self.code.address(l.array, &at) else { return false };
        if !self.is_proven(l.array, outer.len(), last) {
            let extent = self.code.f.arg(KernelArg::ArrayExtent(l.array, outer.len() as u32));
            let inside = self.quotients_below(&quotient, &extent);
            let beyond = self.code.inverted(&inside);
            beyond.iter().enumerate().for_each(|(part, lanes)| self.code.record_fault(part, lanes));
        }
        let first = self.first_of(&quotient.of);
        let phase = put!(self.code.f, "urem i64 {first}, {times}");
        let mut begins = put!(self.code.f, "icmp eq i64 {phase}, 0");
        let first = put!(self.code.f, "udiv i64 {first}, {times}");
        let start = put!(self.code.f, "add i64 {row}, {first}");
        // Where not all lanes run, the elements of the others are perhaps not there.
        let readable = masked.then(|| {
            let [from, to] =
                [KernelArg::ReadableStart(l.array), KernelArg::ReadableEnd(l.array)].map(|word| self.code.f.arg(word));
            let from = put!(self.code.f, "icmp sge i64 {start}, {from}");
            begins = put!(self.code.f, "and i1 {begins}, {from}");
            put!(self.code.f, "sub i64 {to}, {start}")
        });
        // Pending faults must be checked before control flow splits.
        self.code.bail_out_on_fault();
        let [run, any, join] = [(); 3].map(|()| self.code.f.w.label());
        self.code.f.w.branch(&begins, run, any);

        self.code.f.w.start(run);
        let repeated = self
            .load_path(n, l, join, |e, ty, column| e.code.load_short(ty, column, &start, readable.as_ref(), elements));

        self.code.f.w.start(any);
        self.load_at(n, l);
        self.code.bail_out_on_fault();
        let gathered: Vec<Parts> = n.results.iter().map(|&r| self.vectors(r)).collect();
        let end = self.code.f.w.block;
        self.code.f.w.jump(join);
        self.join_paths(n, join, &[repeated, (gathered, end)]);
        true
    }
}

impl VectorCode {
    /// Vectors of so many elements in memory, each of which fills several lanes; no more than there are, if that is known.
    fn load_short(
        &mut self,
        ty: ScalarType,
        column: &Operand,
        start: &Operand,
        readable: Option<&Operand>,
        elements: usize,
    ) -> Parts {
        let (mem, lanes) = (stored(ty), self.width.lanes);
        let vector = Shape::Vector(elements).of(mem);
        let order: Vec<String> = (0..lanes).map(|lane| format!("i32 {}", lane * elements / lanes)).collect();
        let start = put!(self.f, "getelementptr {mem}, ptr {column}, i64 {start}");
        let mut parts = Parts::new();
        for part in 0..self.width.parts {
            let p = put!(self.f, "getelementptr {mem}, ptr {start}, i64 {}", part * elements);
            let some = readable.map(|end| self.elements_below(end, part * elements, elements));
            let x = self.short_vector(ty, &p, elements, some.as_ref(), INPUT_SCOPE);
            let x = put!(self.f, "shufflevector {vector} {x}, {vector} poison, <{lanes} x i32> <{}>", order.join(", "));
            parts.push(self.register_form(ty, x));
        }
        parts
    }

    /// So many elements at an address, of which a mask perhaps leaves some out; `scope` names the alias scope.
    pub(crate) fn short_vector(
        &mut self,
        ty: ScalarType,
        p: &Operand,
        elements: usize,
        mask: Option<&Operand>,
        scope: &str,
    ) -> Operand {
        let (mem, size, short) = (stored(ty), ty.size(), Shape::Vector(elements));
        let (vector, suffix) = (short.of(mem), short.suffix(mem));
        match mask {
            None => put!(self.f, "load {vector}, ptr {p}, align {size}{scope}"),
            Some(m) => put!(
                self.f,
                "call {vector} @llvm.masked.load.{suffix}.p0(ptr {p}, i32 {size}, <{elements} x i1> {m}, {vector} zeroinitializer){scope}"
            ),
        }
    }

    /// Of so many elements from one on those whose number is less than another one.
    pub(crate) fn elements_below(&mut self, end: &Operand, from: usize, elements: usize) -> Operand {
        let end = put!(self.f, "call i64 @llvm.smin.i64(i64 {end}, i64 {})", from + elements);
        let end = put!(self.f, "call i64 @llvm.smax.i64(i64 {end}, i64 0)");
        let end = put!(self.f, "trunc i64 {end} to i32");
        let vector = Shape::Vector(elements).of("i32");
        let one = put!(self.f, "insertelement {vector} poison, i32 {end}, i64 0");
        let end = put!(self.f, "shufflevector {vector} {one}, {vector} poison, <{elements} x i32> zeroinitializer");
        let numbers: Vec<String> = (from..from + elements).map(|k| format!("i32 {k}")).collect();
        put!(self.f, "icmp slt {vector} <{}>, {end}", numbers.join(", "))
    }
}
