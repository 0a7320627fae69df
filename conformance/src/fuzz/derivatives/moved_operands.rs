//! Programs whose functions are evaluated beside the points at which their slopes are infinite, or none.
//!
//! Where such a slope follows on another one of 0, as in `asin(pow(x, 0))`, the function is constant, and a derivative is a
//! number or none by the order in which slopes are multiplied (`docs/SEMANTICS.md`). No point nearby shows that, since the
//! function has the same values there; with its operands moved it does.

use acc_core::data::{Lit, Prim, ScalarType};
use acc_core::eval::eval_cast;
use acc_core::ir::{ArrayId, Block, Closed, Fun, Ir, Loc, Mapper, Node, PrimOp, Program, Region, ScalarOp, Stmt, Val};
use std::convert::Infallible;

/// The factor and the summand of each way to move operands: at -1, 0 and 1 the one leads where the other does not.
const MOVES: [(f64, f64); 2] = [(0.99, 1e-4), (1.01, 1e-4)];

/// The program with the operands of functions whose slope is infinite somewhere moved, in each way; and with their sums in the
/// place of these functions, but for those in branches: there an infinite slope may come from one that is not taken.
pub(super) fn moved_operands(program: &Program) -> [Program; 3] {
    let ways = [Way::Moved(MOVES[0]), Way::Moved(MOVES[1]), Way::Sums];
    ways.map(|way| Program { body: way.moved(&program.body), ..program.clone() })
}

/// What becomes of functions whose slope is infinite somewhere.
#[derive(Clone, Copy)]
enum Way {
    /// Their operands are multiplied with the first and added to the second number.
    Moved((f64, f64)),
    /// They are sums.
    Sums,
}

impl Way {
    fn moved(self, b: &Block) -> Block {
        let stmt = |s: &Stmt| Stmt { op: s.op.map(&mut { self }), ..s.clone() };
        Block { params: b.params.clone(), stmts: b.stmts.iter().map(stmt).collect(), results: b.results.clone() }
    }

    fn region(self, r: &mut Region, types: &mut Vec<ScalarType>) {
        let mut nodes = Vec::new();
        for mut n in std::mem::take(&mut r.nodes) {
            if !matches!((&n.op, self), (ScalarOp::If { .. }, Way::Sums)) {
                n.op.regions_mut().into_iter().for_each(|inner| self.region(inner, types));
            }
            if let ScalarOp::Prim(op, args) = &mut n.op
                && has_infinite_slopes(*op)
            {
                match self {
                    Way::Moved(by) => {
                        for v in args {
                            *v = beside(*v, by, types, &n.loc, &mut nodes);
                        }
                    }
                    Way::Sums => {
                        let both = [args.first().copied(), args.last().copied()].into_iter().flatten().collect();
                        n.op = ScalarOp::Prim(PrimOp::AddP, both);
                    }
                }
            }
            nodes.push(n);
        }
        r.nodes = nodes;
    }
}

/// The value times the factor, plus the summand.
fn beside(v: Val, by: (f64, f64), types: &mut Vec<ScalarType>, loc: &Loc, nodes: &mut Vec<Node>) -> Val {
    let ty = types[v.index()];
    let mut add = |op: ScalarOp| {
        types.push(ty);
        let result = Val(types.len() as u32 - 1);
        nodes.push(Node { results: [result].into_iter().collect(), op, loc: loc.clone() });
        result
    };
    let number = |x: f64| ScalarOp::Const(eval_cast(x.lit(), ty).unwrap_or_else(|_| Lit::zero(ty)));
    let (factor, summand) = (add(number(by.0)), add(number(by.1)));
    let product = add(ScalarOp::Prim(PrimOp::MulP, [v, factor].into_iter().collect()));
    add(ScalarOp::Prim(PrimOp::AddP, [product, summand].into_iter().collect()))
}

impl Mapper<Ir, Ir> for Way {
    type Error = Infallible;

    fn array(&mut self, a: &ArrayId) -> Result<ArrayId, Infallible> {
        Ok(*a)
    }
    fn arrays(&mut self, all: &Vec<ArrayId>) -> Result<Vec<ArrayId>, Infallible> {
        Ok(all.clone())
    }
    fn fun(&mut self, _: Closed, f: &Fun) -> Result<Fun, Infallible> {
        let mut f = f.clone();
        self.region(&mut f.body, &mut f.types);
        Ok(f)
    }
    fn block(&mut self, b: &Block) -> Result<Block, Infallible> {
        Ok(self.moved(b))
    }
}

fn has_infinite_slopes(op: PrimOp) -> bool {
    use PrimOp as P;
    let inverse = [P::AsinP, P::AcosP, P::AcoshP, P::AtanhP, P::Atan2P];
    let others = [P::DivP, P::PowP, P::SqrtP, P::LnP, P::Log2P, P::Log10P];
    inverse.contains(&op) || others.contains(&op)
}

#[cfg(test)]
mod tests {
    use super::moved_operands;
    use acc_core::text::parse;

    #[test]
    fn operands_of_functions_with_infinite_slopes_are_moved() {
        let source = "program(a: [1]f64) { b: [1]f64 = map(a, f: |%x: f64| {
            yield if gt(%x, 0.0f64) { yield sqrt(%x) } else { yield sin(%x) } }) yield b }";
        let p = parse("p.acc", source).unwrap();
        let texts = moved_operands(&p).map(|moved| {
            acc_core::verify::verify(&moved, None).unwrap();
            moved.to_string()
        });
        for text in &texts[..2] {
            assert!(text.matches("mul(").count() == 1 && text.matches("add(").count() == 1, "{text}");
        }
        // In a branch it stays, outside there is a sum in its place.
        assert!(texts[2].contains("sqrt("), "{}", texts[2]);
        let source = "program(a: [1]f64) { b: [1]f64 = map(a, f: |%x: f64| pow(%x, fmod(%x, %x))) yield b }";
        let sums = &moved_operands(&parse("p.acc", source).unwrap())[2];
        acc_core::verify::verify(sums, None).unwrap();
        assert!(sums.to_string().contains("add(") && !sums.to_string().contains("pow("), "{sums}");
    }
}
