//! Which operations can be in chains, and the steps of chains.

use crate::kernel::{Body, KernelOp, Node, Op};
use crate::tile::bytecode::{Chain, Operand};
use crate::tile::chain_ops::{NO_OPERAND, Step, StepOp, is_float, width};
use acc_core::data::ScalarType;
use acc_core::ir::{PrimOp, Val};
use std::collections::HashMap;

/// The lane bytes of the chains that an operation can be in; 0 for any.
pub(crate) fn chained(body: &Body, n: &Node) -> Option<usize> {
    let [result] = n.results[..] else { return None };
    let ty = body.ty(result);
    match &n.op {
        Op::Prim(op, v) => {
            let from = body.ty(v[0]);
            let known = match (from, v.len()) {
                (ScalarType::Bool, _) => return StepOp::flags(*op).map(|_| 0),
                (_, 1) => StepOp::unary(*op, from).is_some(),
                _ => StepOp::binary(*op, from).is_some(),
            };
            if known { width(from) } else { None }
        }
        Op::Own(KernelOp::Fma(..)) => width(ty),
        Op::Select { .. } => width(ty),
        Op::Cast(v) => StepOp::cast(body.ty(*v), ty).and(width(ty)),
        Op::Bitcast(v) => width(body.ty(*v)).filter(|w| width(ty) == Some(*w)),
        Op::Const(_) | Op::Extent { .. } | Op::Index(_) | Op::If { .. } | Op::While { .. } | Op::Own(_) => None,
    }
}

/// For each product of floats whose only use is a sum or difference: the number of that node.
fn sums_of_products(body: &Body, nodes: &[&Node]) -> Vec<Option<usize>> {
    let mut used_by: HashMap<Val, Vec<usize>> = HashMap::new();
    for (k, n) in nodes.iter().enumerate() {
        n.op.visit_operands(&mut |v| used_by.entry(v).or_default().push(k));
    }
    let sum = |n: &Node| {
        let Op::Prim(PrimOp::MulP, factors) = &n.op else { return None };
        let [at] = used_by.get(&n.results[0])?[..] else { return None };
        let is_sum = matches!(&nodes[at].op, Op::Prim(PrimOp::AddP | PrimOp::SubP, _));
        (is_sum && is_float(body.ty(factors[0]))).then_some(at)
    };
    nodes.iter().map(|n| sum(n)).collect()
}

/// How a chain reads values from outside, and stores those that are used after it.
pub(crate) trait Buffers {
    /// The buffer of a value from outside.
    fn read(&self, v: Val) -> Operand;
    /// The buffer of a value of the chain, if it is used after the chain.
    fn written(&self, v: Val) -> Option<Operand>;
}

/// Builds the steps of a chain.
pub(crate) struct Writer<'b, B> {
    body: &'b Body,
    buffers: B,
    steps: Vec<Step>,
    operands: Vec<Operand>,
    /// The operand of a value.
    numbers: HashMap<Val, u16>,
    /// The step that computes a value.
    computed: HashMap<Val, usize>,
    /// Values with the same bits as another one.
    same_bits: HashMap<Val, Val>,
    /// The value in the accumulator.
    acc: Option<Val>,
}

impl<'b, B: Buffers> Writer<'b, B> {
    pub(crate) fn new(body: &'b Body, buffers: B) -> Writer<'b, B> {
        Writer {
            body,
            buffers,
            steps: Vec::new(),
            operands: Vec::new(),
            numbers: HashMap::new(),
            computed: HashMap::new(),
            same_bits: HashMap::new(),
            acc: None,
        }
    }

    /// The chain of some operations with lanes of `width` bytes.
    pub(crate) fn chain(mut self, width: usize, nodes: &[&Node]) -> Chain {
        let sums = sums_of_products(self.body, nodes);
        for (k, n) in nodes.iter().enumerate() {
            let sum =
                sums[k].map(|at| nodes[at]).filter(|_| !n.results.iter().any(|&v| self.buffers.written(v).is_some()));
            if n.results.iter().any(|v| self.computed.contains_key(v)) || sum.is_some_and(|sum| self.sum(n, sum)) {
                continue;
            }
            self.node(n);
        }
        let scratch = self.share_scratch();
        Chain { width, steps: self.steps, operands: self.operands, scratch }
    }

    fn bits(&self, v: Val) -> Val {
        self.same_bits.get(&v).copied().unwrap_or(v)
    }

    fn new_operand(&mut self, v: Val, operand: Operand) -> u16 {
        let number = self.operands.len() as u16;
        self.operands.push(operand);
        self.numbers.insert(v, number);
        number
    }

    /// The operand of a value. One that was in the accumulator alone is stored from now on.
    fn operand(&mut self, v: Val) -> u16 {
        if let Some(&known) = self.numbers.get(&v) {
            return known;
        }
        match self.computed.get(&v) {
            Some(&step) => {
                let number = self.new_operand(v, Operand::Scratch(0));
                self.steps[step].out = number;
                number
            }
            None => self.new_operand(v, self.buffers.read(v)),
        }
    }

    fn step(&mut self, does: StepOp, operands: [Option<Val>; 2]) {
        let [a, b] = operands.map(|v| v.map_or(NO_OPERAND, |v| self.operand(v)));
        let one = [a, b].map(|o| self.operands.get(usize::from(o)).is_some_and(Operand::is_one));
        self.steps.push(Step { does, a, b, one, out: NO_OPERAND });
    }

    fn load(&mut self, v: Val) {
        if self.acc != Some(v) {
            self.step(StepOp::Load, [Some(v), None]);
            self.acc = Some(v);
        }
    }

    /// Records that the latest step computes a value.
    fn define(&mut self, v: Val, flags: bool) {
        let step = self.steps.len() - 1;
        self.computed.insert(v, step);
        if let Some(buffer) = self.buffers.written(v) {
            self.steps[step].out = self.new_operand(v, buffer);
        } else if flags {
            self.steps[step].out = self.new_operand(v, Operand::Scratch(0));
        }
        if !flags {
            self.acc = Some(v);
        }
    }

    fn node(&mut self, n: &Node) {
        let Some(&result) = n.results.first() else { return };
        let of = |w: &Self, v: &Val| w.bits(*v);
        match &n.op {
            Op::Prim(op, v) => {
                let ty = self.body.ty(v[0]);
                let x = of(self, &v[0]);
                let y = v.get(1).map(|y| of(self, y));
                if ty == ScalarType::Bool {
                    let Some(does) = StepOp::flags(*op) else { return };
                    self.step(does, [Some(x), Some(y.unwrap_or(x))]);
                    return self.define(result, true);
                }
                let Some(y) = y else {
                    let Some(does) = StepOp::unary(*op, ty) else { return };
                    self.load(x);
                    self.step(does, [None; 2]);
                    return self.define(result, false);
                };
                let Some((left, right)) = StepOp::binary(*op, ty) else { return };
                self.binary((left, right), x, y);
                self.define(result, left.makes_flags());
            }
            Op::Own(KernelOp::Fma(a, b, c)) => {
                let [a, b, c] = [a, b, c].map(|v| of(self, v));
                let acc = self.acc;
                if acc == Some(c) && acc != Some(a) && acc != Some(b) {
                    self.step(StepOp::FmaOnto, [Some(a), Some(b)]);
                } else if acc == Some(b) {
                    self.step(StepOp::Fma, [Some(a), Some(c)]);
                } else {
                    self.load(a);
                    self.step(StepOp::Fma, [Some(b), Some(c)]);
                }
                self.define(result, false);
            }
            Op::Select { cond, then, else_ } => {
                let [c, x, y] = [cond, then, else_].map(|v| of(self, v));
                if self.acc == Some(y) {
                    self.step(StepOp::SelectNot, [Some(x), Some(c)]);
                } else {
                    self.load(x);
                    self.step(StepOp::Select, [Some(y), Some(c)]);
                }
                self.define(result, false);
            }
            Op::Cast(v) => match StepOp::cast(self.body.ty(*v), self.body.ty(result)) {
                Some(StepOp::Keep) | None => self.rename(*v, result),
                Some(does) => {
                    self.load(of(self, v));
                    self.step(does, [None; 2]);
                    self.define(result, false);
                }
            },
            Op::Bitcast(v) => self.rename(*v, result),
            _ => debug_assert!(false, "a step of a chain that is none"),
        }
    }

    fn binary(&mut self, (left, right): (StepOp, Option<StepOp>), x: Val, y: Val) {
        let of_one = match left {
            StepOp::Add => Some(StepOp::Double),
            StepOp::Mul => Some(StepOp::Square),
            _ => None,
        };
        match (of_one, right) {
            (Some(of_one), _) if x == y => {
                self.load(x);
                self.step(of_one, [None; 2]);
            }
            (_, Some(right)) if self.acc == Some(y) => self.step(right, [Some(x), None]),
            _ => {
                self.load(x);
                self.step(left, [Some(y), None]);
            }
        }
    }

    /// A product and the sum that uses it as one step, if the other term is in the accumulator and the sum is wanted
    /// there; false if not.
    fn sum(&mut self, product: &Node, sum: &Node) -> bool {
        let (Op::Prim(_, factors), Op::Prim(op, terms)) = (&product.op, &sum.op) else { return false };
        let [a, b] = [0, 1].map(|k| self.bits(factors[k]));
        let first = terms[0] == product.results[0];
        let other = self.bits(terms[usize::from(first)]);
        if self.acc != Some(other) || other == a || other == b {
            return false;
        }
        let does = match (op, first) {
            (PrimOp::AddP, _) => StepOp::AddProduct,
            (_, false) => StepOp::SubProduct,
            (_, true) => StepOp::SubFromProduct,
        };
        self.step(does, [Some(a), Some(b)]);
        self.define(sum.results[0], false);
        true
    }

    /// A result with the bits of another value: no step, unless it is used after the chain.
    fn rename(&mut self, v: Val, result: Val) {
        let v = self.bits(v);
        if self.buffers.written(result).is_some() {
            self.load(v);
            self.step(StepOp::Keep, [None; 2]);
            self.define(result, false);
        } else {
            self.same_bits.insert(result, v);
        }
    }

    /// Assigns scratch blocks, reusing those that are dead; returns their number.
    fn share_scratch(&mut self) -> u16 {
        let mut last = vec![0; self.operands.len()];
        for (k, s) in self.steps.iter().enumerate() {
            for o in [s.a, s.b, s.out].into_iter().filter(|&o| o != NO_OPERAND) {
                last[usize::from(o)] = k;
            }
        }
        let (mut free, mut pieces) = (Vec::new(), 0);
        for (k, s) in self.steps.iter().enumerate() {
            // Operands are read before the result is written: a dying one can share its block.
            for o in [s.a, s.b] {
                if o != NO_OPERAND
                    && last[usize::from(o)] == k
                    && s.a != s.b
                    && let Operand::Scratch(at) = self.operands[usize::from(o)]
                {
                    free.push(at);
                }
            }
            if s.out != NO_OPERAND
                && let Operand::Scratch(at) = &mut self.operands[usize::from(s.out)]
            {
                *at = free.pop().unwrap_or_else(|| {
                    pieces += 1;
                    pieces - 1
                });
            }
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use crate::kernel::{Builder, Keep, Op};
    use crate::tile::bytecode::compile::compile;
    use crate::tile::bytecode::{Chain, Inst};
    use crate::tile::chain_ops::{NO_OPERAND, StepOp};
    use acc_core::data::{Prim, ScalarType};
    use acc_core::ir::{Loc, PrimOp, Val};

    /// The one instruction of a body over two floats, a chain.
    fn chain(build: impl FnOnce(&mut dyn FnMut(PrimOp, Val, Val) -> Val, Val, Val, Val) -> Val) -> Chain {
        let mut b = Builder::with_params(&[ScalarType::F32; 2], Loc::unknown());
        let [x, y] = b.params()[..] else { panic!("two parameters") };
        let half = b.constant(0.5f32.lit());
        let mut prim = |op, x, y| b.emit1(Op::Prim(op, smallvec::smallvec![x, y]), ScalarType::F32);
        let result = build(&mut prim, x, y, half);
        let mut bytecode = compile(&b.finish(vec![result], Keep::Checks));
        match (bytecode.code.pop(), bytecode.code.is_empty()) {
            (Some(Inst::Chain(chain)), true) => *chain,
            _ => panic!("a chain alone"),
        }
    }

    fn does(chain: &Chain) -> Vec<StepOp> {
        chain.steps.iter().map(|s| s.does).collect()
    }

    #[test]
    fn a_polynomial_stores_its_result_alone() {
        let c = chain(|prim, x, y, half| {
            let scaled = prim(PrimOp::MulP, x, half);
            let square = prim(PrimOp::MulP, scaled, scaled);
            let sum = prim(PrimOp::AddP, y, square);
            prim(PrimOp::SubP, half, sum)
        });
        assert_eq!(does(&c), [StepOp::Load, StepOp::Mul, StepOp::Square, StepOp::Add, StepOp::SubFrom]);
        assert_eq!(c.steps.iter().filter(|s| s.out != NO_OPERAND).count(), 1);
        assert_eq!(c.scratch, 0);
    }

    #[test]
    fn sums_of_products_stay_in_the_accumulator() {
        let c = chain(|prim, x, y, half| {
            let xx = prim(PrimOp::MulP, x, x);
            let yy = prim(PrimOp::MulP, y, y);
            let sum = prim(PrimOp::AddP, xx, yy);
            let xy = prim(PrimOp::MulP, x, y);
            let less = prim(PrimOp::SubP, sum, xy);
            prim(PrimOp::MulP, less, half)
        });
        assert_eq!(does(&c), [StepOp::Load, StepOp::Square, StepOp::AddProduct, StepOp::SubProduct, StepOp::Mul]);
        assert_eq!(c.scratch, 0);
    }

    #[test]
    fn what_is_used_again_is_kept_in_a_piece_of_scratch() {
        let c = chain(|prim, x, y, half| {
            let sum = prim(PrimOp::AddP, x, y);
            let scaled = prim(PrimOp::MulP, sum, half);
            let rest = prim(PrimOp::SubP, scaled, sum);
            let more = prim(PrimOp::AddP, rest, half);
            prim(PrimOp::MulP, more, rest)
        });
        assert_eq!(does(&c), [StepOp::Load, StepOp::Add, StepOp::Mul, StepOp::Sub, StepOp::Add, StepOp::Mul]);
        assert_eq!(c.scratch, 1);
    }
}
