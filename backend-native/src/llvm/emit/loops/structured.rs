//! Control flow around code of any kind.

use super::loop_state::LoopState;
use crate::llvm::emit::Emitter;
use crate::llvm::emit::text::value::Mask;
use crate::llvm::emit::text::vector_code::VectorCode;
use crate::llvm::emit::text::{Operand, put};

/// Writes code over lanes, perhaps that of nodes. Control flow passes itself on to what writes the code inside.
pub(crate) trait Structured: Sized {
    /// The code that control flow is written into.
    fn code(&mut self) -> &mut VectorCode;

    /// A counted loop from one index to below another, which is greater: `write` maps the index and the loop state to
    /// the next state. With a cost, each iteration polls the limits. Returns the state after the loop.
    fn counted_loop(
        &mut self,
        [from, to]: [&Operand; 2],
        by: usize,
        carried: LoopState,
        cost: Option<usize>,
        write: impl FnOnce(&mut Self, &Operand, LoopState) -> Vec<Operand>,
    ) -> Vec<Operand> {
        let state = carried.with(from.clone(), "i64");
        let w = &mut self.code().f.w;
        let (head, exit, before) = (w.label(), w.label(), w.block);
        w.jump(head);
        w.start(head);
        let here = state.phi_registers(w);
        let mark = w.position();
        let (t, carried) = here.split();
        let types: Vec<String> = carried.0.iter().map(|(_, ty)| ty.clone()).collect();
        let after = write(self, &t, carried);
        let code = self.code();
        if let Some(cost) = cost {
            code.count_fuel(cost);
        }
        let next = put!(code.f, "add i64 {t}, {by}");
        let more = put!(code.f, "icmp slt i64 {next}, {to}");
        let w = &mut code.f.w;
        let last = w.block;
        w.branch(&more, head, exit);
        let arrived = LoopState(after.iter().cloned().zip(types).collect()).with(next, "i64");
        here.define_phis(w, mark, &[(state, before), (arrived, last)]);
        w.start(exit);
        after
    }

    /// Code under a scalar condition; returns the values after it.
    fn if_then(
        &mut self,
        cond: &Operand,
        types: &[String],
        carried: Vec<Operand>,
        write: impl FnOnce(&mut Self, Vec<Operand>) -> Vec<Operand>,
    ) -> Vec<Operand> {
        self.if_else(cond, types, carried, write, |_, carried| carried)
    }

    /// Code under a scalar condition, and other code where it does not hold; returns the values after both.
    fn if_else(
        &mut self,
        cond: &Operand,
        types: &[String],
        carried: Vec<Operand>,
        then: impl FnOnce(&mut Self, Vec<Operand>) -> Vec<Operand>,
        otherwise: impl FnOnce(&mut Self, Vec<Operand>) -> Vec<Operand>,
    ) -> Vec<Operand> {
        let w = &mut self.code().f.w;
        let (yes, no, join) = (w.label(), w.label(), w.label());
        w.branch(cond, yes, no);
        w.start(yes);
        let after = then(self, carried.clone());
        let w = &mut self.code().f.w;
        let last = w.block;
        w.jump(join);
        w.start(no);
        let other = otherwise(self, carried);
        let f = &mut self.code().f;
        let from = f.w.block;
        f.w.jump(join);
        f.w.start(join);
        let ends = after.iter().zip(&other).zip(types);
        ends.map(|((x, y), ty)| put!(f, "phi {ty} [ {x}, {last} ], [ {y}, {from} ]")).collect()
    }

    /// A loop over the active lanes of a step, unrolled `at_once` times if all are active.
    fn each_lane(&mut self, at_once: usize, write: &mut dyn FnMut(&mut Self, &Operand)) {
        let code = self.code();
        let flags = match code.mask.clone() {
            Mask::All => None,
            Mask::Lanes(m) => {
                let (from, to) = (code.mask_type(), code.shape().of("i8"));
                let bytes = m.iter().map(|m| put!(code.f, "zext {from} {m} to {to}")).collect();
                Some(code.spill("i8", &bytes))
            }
        };
        let stride = if flags.is_none() { at_once } else { 1 };
        let w = &mut code.f.w;
        let (head, combine, next, done, before) = (w.label(), w.label(), w.label(), w.label(), w.block);
        w.jump(head);
        w.start(head);
        let k = w.reserve_register();
        let mark = w.position();
        match flags {
            None => w.jump(combine),
            Some(flags) => {
                let flag = code.f.one_of("i8", &flags, &k);
                let on = put!(code.f, "icmp ne i8 {flag}, 0");
                code.f.w.branch(&on, combine, next);
            }
        }
        code.f.w.start(combine);
        write(self, &k);
        for lane in 1..stride {
            let k = put!(self.code().f, "add i64 {k}, {lane}");
            write(self, &k);
        }
        let code = self.code();
        code.f.w.jump(next);
        code.f.w.start(next);
        let following = put!(code.f, "add i64 {k}, {stride}");
        let more = put!(code.f, "icmp slt i64 {following}, {}", code.width.step());
        let w = &mut code.f.w;
        w.branch(&more, head, done);
        w.insert(mark, &format!("  {k} = phi i64 [ 0, {before} ], [ {following}, {next} ]\n"));
        w.start(done);
    }

    /// Code with so many vectors per value, all lanes active.
    fn on_parts<T>(&mut self, parts: usize, write: impl FnOnce(&mut Self) -> T) -> T {
        let code = self.code();
        let parts = std::mem::replace(&mut code.width.parts, parts);
        let mask = std::mem::replace(&mut code.mask, Mask::All);
        let result = write(self);
        let code = self.code();
        code.width.parts = parts;
        code.mask = mask;
        result
    }
}

impl Structured for VectorCode {
    fn code(&mut self) -> &mut VectorCode {
        self
    }
}

impl Structured for Emitter<'_> {
    fn code(&mut self) -> &mut VectorCode {
        &mut self.code
    }
}
