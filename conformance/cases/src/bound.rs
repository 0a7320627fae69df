//! How near the floats of a program's results must be, from what the program computes.
//!
//! Each operation has a bound on its own error in units in the last place; the bounds are added up along the data
//! flow of the program, to a first order (the error of an operand is passed on as it is):
//!
//! | operation | bound |
//! |---|---|
//! | `sqrt` | 1 |
//! | `+ - * /`, `fmod`, `abs`, `min`, rounding, conversions, ... | 0: exactly rounded in a fixed order |
//! | the same, on operands that carry a bound | 1 more than the greatest of theirs |
//! | `exp ln log2 log10 sin cos atan atan2 tanh` | 4 |
//! | `pow tan asin acos sinh cosh asinh acosh atanh` | 8 |
//! | a fold, scan or permute whose operator rounds, over n elements | 2 n, of the column's greatest magnitude |
//! | a counted loop that adds up floats | the same, for as many steps as a row has elements |
//!
//! A program with none of the inexact ones is held to equality bit for bit; with `min` or `max` of floats, zeros of
//! either sign are equal. A scalar or array loop that carries an inexact value has no bound of its own, nor has a derivative: the test file
//! must state one (`within`).

use crate::compare::Near;
use acc_core::data::{ArrayData, ScalarType};
use acc_core::ir::{
    ArrayId, ArrayOp, Block, CountedLoop, Foreign, Fun, PrimOp, Program, Read, Region, ScalarOp, Stmt, Val,
};

/// How near the results of a run must be; an error if the program has no bound of its own.
pub fn of_program(program: &Program, args: &[ArrayData]) -> Result<Near, &'static str> {
    let mut b = Bounds {
        arrays: vec![0; program.types.len()],
        // As many elements as any argument has may meet in one row; a replicated row repeats, but does not lengthen.
        elements: args.iter().map(ArrayData::size).max().unwrap_or(0).max(1) as u64,
        zeros: false,
        sums: false,
        unbounded: false,
    };
    b.block(&program.body);
    let ulps = program.body.results.iter().map(|r| b.arrays[r.index()]).max().unwrap_or(0);
    match ulps {
        _ if b.unbounded => Err(
            "an inexact value goes through a loop, or there is a derivative: the test file must state a bound (`within`)",
        ),
        0 if b.zeros => Ok(Near::Equal),
        0 => Ok(Near::Exact),
        n if b.sums => Ok(Near::ColumnUlp(n)),
        n => Ok(Near::Ulp(n)),
    }
}

struct Bounds {
    /// Of every array, in units in the last place.
    arrays: Vec<u64>,
    elements: u64,
    /// Whether a zero's sign may differ.
    zeros: bool,
    /// Whether a sum may be associated in another way.
    sums: bool,
    /// Whether something has no bound.
    unbounded: bool,
}

impl Bounds {
    fn block(&mut self, b: &Block) -> u64 {
        for s in &b.stmts {
            self.stmt(s);
        }
        b.results.iter().map(|r| self.arrays[r.index()]).max().unwrap_or(0)
    }

    fn stmt(&mut self, s: &Stmt) {
        let operands = s.op.arrays().iter().map(|a| self.arrays[a.index()]).max().unwrap_or(0);
        let mut bound = operands;
        for (role, f) in s.op.funs() {
            let repeated = s.op.class().reduces() && role == "f" || role == "combine";
            let own = self.fun(f, operands);
            if repeated && (own > operands || rounds(f)) {
                self.sums = true;
                // Once per element, in whatever order: twice, since two orders are compared.
                bound = bound.max(operands + own.max(1).saturating_sub(operands).max(1) * 2 * self.elements);
            } else {
                bound = bound.max(own);
            }
        }
        match &s.op {
            ArrayOp::If { then, else_, .. } => bound = bound.max(self.block(then)).max(self.block(else_)),
            ArrayOp::While { test, step, init } => {
                for p in test.params.iter().chain(&step.params) {
                    self.arrays[p.index()] = operands;
                }
                let _ = (init, self.block(test));
                let after = self.block(step);
                self.unbounded |= after > operands;
                bound = bound.max(after);
            }
            ArrayOp::Foreign { xs, fallback, .. } | ArrayOp::Ruled { at: xs, f: fallback, .. } => {
                for (p, x) in fallback.params.iter().zip(xs) {
                    self.arrays[p.index()] = self.arrays[x.index()];
                }
                bound = bound.max(self.block(fallback));
            }
            // Its code is not here to be looked at.
            ArrayOp::Derivative { .. } => self.unbounded = true,
            // Without blocks.
            _ => {}
        }
        for r in &s.results {
            self.arrays[r.index()] = bound;
        }
    }

    /// The greatest bound of a function's results, if its parameters have this one.
    fn fun(&mut self, f: &Fun, params: u64) -> u64 {
        let mut values = vec![0; f.types.len()];
        for p in &f.body.params {
            values[p.index()] = if f.ty(*p).is_float() { params } else { 0 };
        }
        self.region(f, &f.body, &mut values)
    }

    fn region(&mut self, f: &Fun, r: &Region, values: &mut Vec<u64>) -> u64 {
        for n in &r.nodes {
            let operands = greatest(&n.op.operands(), values);
            let bound = match &n.op {
                ScalarOp::Const(_) | ScalarOp::Extent { .. } => 0,
                ScalarOp::Prim(op, args) => {
                    let float = args.first().is_some_and(|&a| f.ty(a).is_float());
                    self.zeros |= float && matches!(op, PrimOp::MinP | PrimOp::MaxP);
                    if float { own_bound(*op, operands) } else { 0 }
                }
                ScalarOp::Cast(x) => n.results.first().map_or(operands, |r| cast_bound(operands, f.ty(*x), f.ty(*r))),
                ScalarOp::Bitcast(_) | ScalarOp::Select { .. } => operands,
                ScalarOp::Index(Read { array, .. }) => self.arrays[ArrayId::index(*array)],
                ScalarOp::If { then, else_, .. } => self.region(f, then, values).max(self.region(f, else_, values)),
                ScalarOp::Own(Foreign { args, fallback, .. }) => {
                    for (p, a) in fallback.params.iter().zip(args) {
                        values[p.index()] = values[a.index()];
                    }
                    self.region(f, fallback, values)
                }
                ScalarOp::While { test, step, .. } => {
                    for p in test.params.iter().chain(&step.params) {
                        values[p.index()] = if f.ty(*p).is_float() { operands } else { 0 };
                    }
                    self.region(f, test, values);
                    let after = self.region(f, step, values);
                    match CountedLoop::of(f, test, step) {
                        // Sums in any order, of as many numbers as a row has.
                        Some(counted) if counted.rounds(f, step) => {
                            self.sums = true;
                            after + after.saturating_sub(operands).max(1) * 2 * self.elements
                        }
                        Some(_) => after.max(operands),
                        None => {
                            self.unbounded |= after > operands;
                            after.max(operands)
                        }
                    }
                }
            };
            for v in &n.results {
                values[v.index()] = if f.ty(*v).is_float() { bound } else { 0 };
            }
        }
        greatest(&r.results, values)
    }
}

fn greatest(vals: &[Val], values: &[u64]) -> u64 {
    vals.iter().map(|v| values[v.index()]).max().unwrap_or(0)
}

/// Whether repeating the function in another order may give other floats.
fn rounds(f: &Fun) -> bool {
    let mut found = false;
    f.body.visit(0, &mut |n, _| {
        if let ScalarOp::Prim(op, args) = &n.op
            && args.first().is_some_and(|&a| f.ty(a).is_float())
        {
            found |= own_bound(*op, 1) > 1;
        }
    });
    found
}

/// The bound of a conversion: units in the last place of a wider float are smaller.
fn cast_bound(operand: u64, from: ScalarType, to: ScalarType) -> u64 {
    let digits = |ty: ScalarType| match ty {
        ScalarType::F16 => Some(11),
        ScalarType::F32 => Some(24),
        ScalarType::F64 => Some(53),
        _ => None,
    };
    match (digits(from), digits(to)) {
        (Some(a), Some(b)) if a < b => operand.saturating_mul(1 << (b - a)),
        (Some(a), Some(b)) if a > b && operand > 0 => operand.div_ceil(1 << (a - b)) + 1,
        _ => operand,
    }
}

/// The bound of an operation on floats whose operands have the bound `operands`.
pub fn own_bound(op: PrimOp, operands: u64) -> u64 {
    use PrimOp as P;
    let rounded = if operands == 0 { 0 } else { operands + 1 };
    match op {
        P::AddP | P::SubP | P::MulP | P::DivP | P::FmodP => rounded,
        P::SqrtP => operands + 1,
        P::NegP | P::AbsP | P::MinP | P::MaxP | P::SignumP | P::FloorP | P::CeilP | P::RoundP | P::TruncP => operands,
        P::ExpP | P::LnP | P::Log2P | P::Log10P | P::SinP | P::CosP | P::AtanP | P::Atan2P | P::TanhP => operands + 4,
        P::PowP | P::TanP | P::AsinP | P::AcosP | P::SinhP | P::CoshP | P::AsinhP | P::AcoshP | P::AtanhP => {
            operands + 8
        }
        // They yield no float.
        P::EqP | P::NeP | P::LtP | P::LeP | P::GtP | P::GeP | P::IsNanP | P::IsInfiniteP => 0,
        // They take no float.
        P::QuotP
        | P::RemP
        | P::DivFloorP
        | P::ModFloorP
        | P::AndP
        | P::OrP
        | P::XorP
        | P::ShlP
        | P::ShrP
        | P::NotP
        | P::PopCountP
        | P::LeadingZerosP
        | P::TrailingZerosP => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use acc_core::data::{Prim, ScalarType};

    fn bound(program: &str) -> Result<Near, &'static str> {
        let p = acc_core::text::parse("bound.acc", program).unwrap_or_else(|e| panic!("{e}"));
        let xs = ArrayData::from_leaves([3], ScalarType::F32.into(), [1f32, 2.0, 3.0].map(|x| [x.lit()])).unwrap();
        of_program(&p, &[xs])
    }

    fn map(body: &str) -> Result<Near, &'static str> {
        bound(&format!("program(xs: [1]f32) {{ ys: [1]f32 = map(xs, f: |%x: f32| {body}) yield ys }}"))
    }

    #[test]
    fn exact_operations_are_compared_exactly() {
        assert_eq!(map("floor(div(mul(%x, %x), add(%x, 1.0f32)))"), Ok(Near::Exact));
        assert_eq!(map("max(%x, 0.0f32)"), Ok(Near::Equal));
    }

    #[test]
    fn transcendental_functions_add_up() {
        assert_eq!(map("sin(%x)"), Ok(Near::Ulp(4)));
        assert_eq!(map("mul(pow(%x, 2.0f32), exp(%x))"), Ok(Near::Ulp(9)));
        assert_eq!(map("if lt(sin(%x), 0.0f32) { yield 1.0f32 } else { yield 2.0f32 }"), Ok(Near::Exact));
    }

    #[test]
    fn sums_grow_with_their_length() {
        let fold = |f: &str| {
            bound(&format!("program(xs: [1]f32) {{ y: [0]f32 = fold1(xs, f: |%a: f32, %b: f32| {f}) yield y }}"))
        };
        assert_eq!(fold("add(%a, %b)"), Ok(Near::ColumnUlp(6)));
        assert_eq!(fold("max(%a, %b)"), Ok(Near::Equal));
    }

    #[test]
    fn counted_sums_grow_like_folds() {
        let body = |step: &str| {
            format!(
                "{{ %n: i64, %r: f32 = while (0i64, %x) test |%k: i64, %s: f32| {{ yield lt(%k, 3i64) }} \
                 step |%k: i64, %s: f32| {{ yield add(%k, 1i64), {step} }} yield %r }}"
            )
        };
        assert_eq!(map(&body("add(%s, xs[%k])")), Ok(Near::ColumnUlp(6)));
        assert_eq!(map(&body("max(%s, xs[%k])")), Ok(Near::Equal));
        assert_eq!(map(&body("mul(%s, xs[%k])")), Ok(Near::Exact));
        // What each step makes of the last one's sum is in order.
        assert_eq!(map(&body("add(%s, mul(%s, xs[%k]))")), Ok(Near::Exact));
    }

    #[test]
    fn loops_have_no_bound_of_their_own() {
        let body = |step: &str| {
            format!(
                "{{ %r: f32 = while (%x) test |%s: f32| {{ yield lt(%s, 100.0f32) }} step |%s: f32| {{ yield {step} }} yield %r }}"
            )
        };
        assert_eq!(map(&body("mul(%s, 2.0f32)")), Ok(Near::Exact));
        assert!(map(&body("exp(%s)")).is_err());
    }
}
