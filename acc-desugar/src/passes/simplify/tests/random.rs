//! Soundness: random small programs mean the same before and after, rule by rule.

use crate::{RULES, Rules, simplify_with};
use acc_core::data::{ArrayData, EltType, Lit, Prim, ScalarType};
use acc_core::interp::Interpreter;
use acc_core::ir::{
    ArrayId, ArrayOp, ArrayType, Block, Foreign, Fun, Loc, Names, Node, PrimOp, Program, Read, Region, ScalarOp, Stmt,
    Val, Vals,
};
use acc_core::{Error, Executor, RunLimits};
use smallvec::smallvec;
use std::sync::Arc;

/// A small generator of numbers: the programs are the same on every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }
}

const TYPES: [ScalarType; 3] = [ScalarType::I32, ScalarType::F32, ScalarType::Bool];
const INTS: [i32; 6] = [0, 1, -1, 2, i32::MIN, 7];
const FLOATS: [f32; 7] = [0.0, -0.0, 1.0, -1.0, f32::NAN, f32::INFINITY, 2.5];

fn literal(ty: ScalarType, d: &mut Dice) -> Lit {
    match ty {
        ScalarType::F32 => d.pick(&FLOATS).lit(),
        ScalarType::Bool => (d.roll(2) == 0).lit(),
        ScalarType::I64 => (d.roll(4) as i64).lit(),
        _ => d.pick(&INTS).lit(),
    }
}

/// Makes a random function. It reads `a0`, a vector of `(i32, f32)`.
struct Maker<'d> {
    types: Vec<ScalarType>,
    dice: &'d mut Dice,
}

impl Maker<'_> {
    fn fresh(&mut self, ty: ScalarType) -> Val {
        self.types.push(ty);
        Val(self.types.len() as u32 - 1)
    }

    /// A visible value of a type; a new literal where there is none, and now and then.
    fn value(&mut self, ty: ScalarType, visible: &mut Vec<Val>, nodes: &mut Vec<Node>) -> Val {
        let fits: Vec<Val> = visible.iter().copied().filter(|v| self.types[v.index()] == ty).collect();
        if !fits.is_empty() && self.dice.roll(4) > 0 {
            return self.dice.pick(&fits);
        }
        let lit = literal(ty, self.dice);
        self.push(ScalarOp::Const(lit), &[ty], visible, nodes)[0]
    }

    fn push(&mut self, op: ScalarOp, types: &[ScalarType], visible: &mut Vec<Val>, nodes: &mut Vec<Node>) -> Vals {
        let results: Vals = types.iter().map(|&t| self.fresh(t)).collect();
        visible.extend(results.iter().copied());
        nodes.push(Node { results: results.clone(), op, loc: Loc::unknown() });
        results
    }

    fn region(&mut self, params: Vec<Val>, around: &[Val], results: &[ScalarType], depth: usize) -> Region {
        let mut visible = around.to_vec();
        visible.extend(&params);
        let mut nodes = Vec::new();
        for _ in 0..self.dice.roll(5) + 1 {
            self.node(&mut visible, &mut nodes, depth);
        }
        let results = results.iter().map(|&t| self.value(t, &mut visible, &mut nodes)).collect();
        Region { params, nodes, results }
    }

    fn node(&mut self, visible: &mut Vec<Val>, nodes: &mut Vec<Node>, depth: usize) {
        let ty = self.dice.pick(&TYPES);
        match self.dice.roll(if depth > 0 { 11 } else { 7 }) {
            0..=3 => {
                let p = self.dice.pick(PrimOp::ALL);
                let from = self.dice.pick(&TYPES);
                if p.domain().contains(from) {
                    let args = (0..p.arity()).map(|_| self.value(from, visible, nodes)).collect();
                    self.push(ScalarOp::Prim(p, args), &[p.result_type(from)], visible, nodes);
                }
            }
            4 => {
                let cond = self.value(ScalarType::Bool, visible, nodes);
                let (then, else_) = (self.value(ty, visible, nodes), self.value(ty, visible, nodes));
                self.push(ScalarOp::Select { cond, then, else_ }, &[ty], visible, nodes);
            }
            5 => {
                let x = self.value(ScalarType::I32, visible, nodes);
                let op = if self.dice.roll(2) == 0 { ScalarOp::Cast(x) } else { ScalarOp::Bitcast(x) };
                self.push(op, &[ScalarType::F32], visible, nodes);
            }
            6 => {
                let index = self.value(ScalarType::I64, visible, nodes);
                let op = ScalarOp::Index(Read::new(ArrayId(0), [0, 1].as_slice(), [index].as_slice()));
                self.push(op, &[ScalarType::I32, ScalarType::F32], visible, nodes);
            }
            7 | 8 => {
                let cond = self.value(ScalarType::Bool, visible, nodes);
                let types = [ty, self.dice.pick(&TYPES)];
                let then = self.region(vec![], visible, &types, depth - 1);
                let else_ = self.region(vec![], visible, &types, depth - 1);
                self.push(ScalarOp::If { cond, then, else_ }, &types, visible, nodes);
            }
            9 => {
                let types = [ty, self.dice.pick(&TYPES)];
                let args = types.iter().map(|&t| self.value(t, visible, nodes)).collect();
                let params = types.iter().map(|&t| self.fresh(t)).collect();
                let fallback = self.region(params, visible, &types, depth - 1);
                self.push(
                    ScalarOp::Own(Foreign { name: "f".into(), args, fallback, partials: None }),
                    &types,
                    visible,
                    nodes,
                );
            }
            _ => self.counted_loop(ty, visible, nodes, depth),
        }
    }

    /// A loop of at most three steps, over a counter and two more components.
    fn counted_loop(&mut self, ty: ScalarType, visible: &mut Vec<Val>, nodes: &mut Vec<Node>, depth: usize) {
        let types = [ScalarType::I64, ty, ScalarType::I32];
        let init = types.iter().map(|&t| self.value(t, visible, nodes)).collect();
        let (three, one) = (ScalarOp::Const(3i64.lit()), ScalarOp::Const(1i64.lit()));
        let params: Vec<Val> = types.iter().map(|&t| self.fresh(t)).collect();
        let mut test = self.region(params.clone(), visible, &[ScalarType::Bool], depth - 1);
        let mut inside = Vec::new();
        let limit = self.push(three, &[ScalarType::I64], &mut inside, &mut test.nodes)[0];
        let below = ScalarOp::Prim(PrimOp::LtP, smallvec![params[0], limit]);
        let below = self.push(below, &[ScalarType::Bool], &mut inside, &mut test.nodes)[0];
        let both = ScalarOp::Prim(PrimOp::AndP, smallvec![below, test.results[0]]);
        test.results = self.push(both, &[ScalarType::Bool], &mut inside, &mut test.nodes).to_vec();

        let params: Vec<Val> = types.iter().map(|&t| self.fresh(t)).collect();
        let mut step = self.region(params.clone(), visible, &types, depth - 1);
        let one = self.push(one, &[ScalarType::I64], &mut inside, &mut step.nodes)[0];
        let next = ScalarOp::Prim(PrimOp::AddP, smallvec![params[0], one]);
        step.results[0] = self.push(next, &[ScalarType::I64], &mut inside, &mut step.nodes)[0];
        self.push(ScalarOp::While { init, test, step }, &types, visible, nodes);
    }
}

/// A map over a vector of `(i32, f32)`, indexed, reading that vector anywhere.
fn random_program(d: &mut Dice) -> Program {
    let elt = EltType::tuple([ScalarType::I32.into(), ScalarType::F32.into()]);
    let results = [ScalarType::I32, ScalarType::F32, ScalarType::Bool];
    let mut m = Maker { types: Vec::new(), dice: d };
    let params: Vec<Val> = [ScalarType::I64, ScalarType::I32, ScalarType::F32].iter().map(|&t| m.fresh(t)).collect();
    let body = m.region(params, &[], &results, 3);
    let f = Fun { types: m.types, body };
    let out = ArrayType { rank: 1, elt: EltType::tuple(results.map(EltType::from)) };
    let map = ArrayOp::Map { f, xs: vec![ArrayId(0)], indexed: true };
    let stmt = Stmt { results: smallvec![ArrayId(1)], op: map, loc: Loc::unknown() };
    Program {
        types: vec![ArrayType { rank: 1, elt }, out],
        names: Names::default(),
        body: Block { params: vec![ArrayId(0)], stmts: vec![stmt], results: vec![ArrayId(1)] },
    }
}

fn argument() -> ArrayData {
    let elt = EltType::tuple([ScalarType::I32.into(), ScalarType::F32.into()]);
    let elements = INTS.iter().zip(&FLOATS).map(|(i, x)| [i.lit(), x.lit()]);
    ArrayData::from_leaves([INTS.len()], elt, elements).unwrap()
}

fn run(p: &Program) -> Result<Vec<ArrayData>, Error> {
    Interpreter::new().run_untyped(&Arc::new(p.clone()), &[argument()], &RunLimits::none())
}

/// Bit for bit, but for NaNs, whose bits mean nothing.
fn same(a: &ArrayData, b: &ArrayData) -> bool {
    let nan = |l: Lit| l.get::<f32>().is_some_and(f32::is_nan);
    let equal = |x: Lit, y: Lit| x == y || (nan(x) && nan(y));
    let element = |k| (a.element(k).unwrap(), b.element(k).unwrap());
    a.shape() == b.shape() && (0..a.size()).map(element).all(|(x, y)| x.iter().zip(&y).all(|(x, y)| equal(*x, *y)))
}

/// Runs programs before and after; where there was a value there is the same.
fn check(rules: &Rules, programs: usize, what: &str) {
    let mut d = Dice(7);
    let mut values = 0;
    for k in 0..programs {
        let before = random_program(&mut d);
        acc_core::verify::verify(&before, None).unwrap();
        let after = simplify_with(&before, rules);
        acc_core::verify::verify(&after, None).unwrap();
        if let Ok(want) = run(&before) {
            values += 1;
            let got = run(&after).unwrap_or_else(|e| panic!("{what} {k}: {e}\nbefore\n{before}\nafter\n{after}"));
            assert!(same(&want[0], &got[0]), "{what} {k}: {want:?} {got:?}\nbefore\n{before}\nafter\n{after}");
        }
    }
    assert!(values > programs / 10, "only {values} of {programs} programs have a value");
}

#[test]
fn all_rules_together_keep_the_meaning() {
    check(&Rules::all(), 3000, "all rules");
}

#[test]
fn each_rule_alone_keeps_the_meaning() {
    for r in RULES.iter().filter(|r| r.pass == "simplify") {
        check(&Rules::none().with(r.name).unwrap(), 400, r.name);
    }
}

#[test]
fn no_rule_is_no_change_but_of_numbers() {
    let mut d = Dice(3);
    let p = random_program(&mut d);
    let nodes = |p: &Program| scalar_nodes(p);
    assert_eq!(nodes(&simplify_with(&p, &Rules::none())), nodes(&p));
    assert!(Rules::all().without("no such rule").is_none());
}

/// The number of scalar nodes, literals aside.
pub(super) fn scalar_nodes(p: &Program) -> usize {
    fn block(b: &Block, n: &mut usize) {
        for s in &b.stmts {
            for (_, f) in s.op.funs() {
                f.body.visit(0, &mut |node, _| *n += usize::from(!matches!(node.op, ScalarOp::Const(_))));
            }
            s.op.blocks().into_iter().for_each(|b| block(b, n));
        }
    }
    let mut n = 0;
    block(&p.body, &mut n);
    n
}

#[test]
fn programs_do_not_grow() {
    let mut d = Dice(11);
    for _ in 0..500 {
        let p = random_program(&mut d);
        // A select per result of a small conditional takes the place of the conditional.
        let rules = Rules::all().without("small_branches").unwrap();
        let after = simplify_with(&p, &rules);
        assert!(scalar_nodes(&after) <= scalar_nodes(&p), "{p}\n{after}");
    }
}
