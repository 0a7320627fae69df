//! Soundness: random small programs mean the same before and after, rule by rule. Structure: what each rule leaves.

use crate::{RULES, Rules, simplify, simplify_with};
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
fn scalar_nodes(p: &Program) -> usize {
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

#[track_caller]
fn parse(text: &str) -> Program {
    let p = acc_core::text::parse("test.acc", text).unwrap_or_else(|e| panic!("{e}"));
    acc_core::verify::verify(&p, None).unwrap_or_else(|e| panic!("{e}"));
    p
}

/// The simplified program is this one.
#[track_caller]
fn becomes(from: &str, to: &str) {
    // Names of arrays and numbers of values are those that passes give.
    let numbered = Rules::none().with("dead_scalars").and_then(|r| r.with("dead_arrays")).unwrap();
    let (got, want) = (simplify(&parse(from)), simplify_with(&parse(to), &numbered));
    assert!(got == want, "got\n{got}\nwant\n{want}");
}

/// A map of `f`, whose parameter is `%x`, of a vector of `i64`.
fn map_i64(body: &str) -> String {
    format!("program(xs: [1]i64) {{ ys: [1]i64 = map(xs, f: |%x: i64| {body}) yield ys }}")
}

#[test]
fn identities_of_integers() {
    for unit in ["add(%x, 0i64)", "add(0i64, %x)", "mul(%x, 1i64)", "neg(neg(%x))", "and(%x, %x)", "xor(%x, 0i64)"] {
        becomes(&map_i64(&format!("mul({unit}, 3i64)")), &map_i64("mul(%x, 3i64)"));
    }
    becomes(&map_i64("add(%x, mul(2i64, 3i64))"), &map_i64("add(%x, 6i64)"));
}

#[test]
fn what_is_not_exact_of_floats_stays() {
    let map = |body: &str| format!("program(xs: [1]f32) {{ ys: [1]f32 = map(xs, f: |%x: f32| {body}) yield ys }}");
    for body in ["add(%x, 0.0f32)", "mul(%x, 0.0f32)", "sub(%x, %x)"] {
        becomes(&map(body), &map(body));
    }
    becomes(&map("mul(sub(%x, 0.0f32), 2.0f32)"), &map("mul(%x, 2.0f32)"));
}

#[test]
fn a_division_by_zero_stays() {
    becomes(&map_i64("add(%x, quot(1i64, 0i64))"), &map_i64("add(%x, quot(1i64, 0i64))"));
}

#[test]
fn maps_that_change_nothing_and_unused_statements_go() {
    becomes(
        "program(xs: [1]i64) {
           ys: [1]i64 = map(xs, f: |%x: i64| add(%x, 0i64))
           unused: [1]i64 = map(ys, f: |%x: i64| mul(%x, 2i64))
           zs: [1]i64 = map(ys, f: |%x: i64| add(%x, 2i64))
           yield zs
         }",
        "program(xs: [1]i64) { zs: [1]i64 = map(xs, f: |%x: i64| add(%x, 2i64)) yield zs }",
    );
}

#[test]
fn small_total_branches_become_a_select() {
    becomes(
        &map_i64("if lt(%x, 0i64) { yield neg(%x) } else { yield %x }"),
        &map_i64("{ %c = lt(%x, 0i64) %n = neg(%x) yield select(%c, %n, %x) }"),
    );
}

/// A read, a division, a measured array and a loop stay where they are demanded.
#[test]
fn what_is_not_total_stays_in_its_branch() {
    for partial in ["xs[%x]", "quot(1i64, %x)", "extent(other, 0)"] {
        let kept = format!(
            "program(xs: [1]i64, other: [1]i64) {{
               ys: [1]i64 = map(xs, f: |%x: i64| if lt(%x, 0i64) {{ yield {partial} }} else {{ yield %x }})
               yield ys
             }}"
        );
        becomes(&kept, &kept);
    }
}

/// The extents of an operand, and of what the result has its extents from, are known before any element is computed.
#[test]
fn conditions_on_known_extents_are_one_condition() {
    let program = |condition: &str| {
        format!(
            "program(xs: [2]f64) {{
               ys: [2]bool = generate(shape: || (extent(xs, 0), extent(xs, 1)), f: |%i: i64, %j: i64| {{ {condition} }})
               yield ys
             }}"
        )
    };
    becomes(
        &program(
            "%a: bool = if gt(%i, 0i64) { yield lt(%i, sub(extent(xs, 0), 1i64)) } else { yield false }
             %b: bool = if %a {
               %c: bool = if gt(%j, 0i64) { yield lt(%j, sub(extent(xs, 1), 1i64)) } else { yield false }
               yield %c
             } else { yield false }
             yield %b",
        ),
        &program(
            "%zero = 0i64
             %a = gt(%i, %zero)
             %n = extent(xs, 0)
             %one = 1i64
             %b = and(%a, lt(%i, sub(%n, %one)))
             %c = and(gt(%j, %zero), lt(%j, sub(extent(xs, 1), %one)))
             yield and(%b, %c)",
        ),
    );
}

#[test]
fn equal_reads_in_two_branches_are_not_one_read_before_them() {
    let kept = map_i64(
        "{ %c = lt(%x, 0i64)
           %a: i64 = if %c { yield xs[%x] } else { yield %x }
           %b: i64 = if lt(%x, 7i64) { yield xs[%x] } else { yield %x }
           yield add(%a, %b) }",
    );
    becomes(&kept, &kept);
}

#[test]
fn conditions_that_are_constant_choose_their_branch() {
    becomes(&map_i64("if lt(1i64, 2i64) { yield quot(%x, 3i64) } else { yield xs[%x] }"), &map_i64("quot(%x, 3i64)"));
    becomes(
        "program(xs: [1]i64) {
           ys: [1]i64 = acond(cond: || lt(1i64, 2i64), then: { yield xs }, else: {
             zs: [1]i64 = map(xs, f: |%x: i64| add(%x, 1i64))
             yield zs
           })
           yield ys
         }",
        "program(xs: [1]i64) { yield xs }",
    );
}

#[test]
fn invariant_total_code_leaves_a_loop_and_a_division_does_not() {
    let loop_of = |before: &str, add: &str| {
        map_i64(&format!(
            "{{ {before} %r: i64 = while (%x) test |%s: i64| {{ yield lt(%s, 9i64) }}
                step |%s: i64| {{ yield add(%s, {add}) }} yield %r }}"
        ))
    };
    becomes(&loop_of("", "mul(%x, %x)"), &loop_of("%m = mul(%x, %x)", "%m"));
    becomes(&loop_of("", "quot(7i64, %x)"), &loop_of("", "quot(7i64, %x)"));
}

#[test]
fn unused_components_of_a_loop_go() {
    becomes(
        &map_i64(
            "{ %i: i64, %u: i64, %s: i64 = while (0i64, %x, %x)
                 test |%i: i64, %u: i64, %s: i64| { yield lt(%i, 9i64) }
                 step |%i: i64, %u: i64, %s: i64| { yield add(%i, 1i64), mul(%u, %s), add(%s, %i) }
               yield %s }",
        ),
        &map_i64(
            "{ %i: i64, %s: i64 = while (0i64, %x)
                 test |%i: i64, %s: i64| { yield lt(%i, 9i64) }
                 step |%i: i64, %s: i64| { yield add(%i, 1i64), add(%s, %i) }
               yield %s }",
        ),
    );
}

#[test]
fn unused_leaves_of_a_read_go() {
    let p = |results: &str, leaves: &str| {
        format!(
            "program(xs: [1](i64, f32, i64), n: [0]i64) {{
               ys: [0]i64 = map(n, f: |%n: i64| {{ {results} = xs[%n]{leaves} yield %c }}) yield ys }}"
        )
    };
    becomes(&p("%a: i64, %b: f32, %c: i64", ""), &p("%c: i64", ".(2)"));
}

#[test]
fn equal_operations_are_done_once_and_unused_arrays_leave_a_loop() {
    let p = |more_init: &str, more: &str, more_next: &str, copy: &str| {
        format!(
            "program(n: [0]i64, xs: [1]i64) {{
               m: [0]i64, s: [1]i64 {} = awhile(n, xs {more_init},
                 test: |i: [0]i64, a: [1]i64 {more}| {{ b: [0]bool = map(i, f: |%i: i64| lt(%i, 3i64)) yield b }},
                 step: |i: [0]i64, a: [1]i64 {more}| {{
                   j: [0]i64 = map(i, f: |%i: i64| add(%i, 1i64))
                   c: [1]i64 = map(a, f: |%x: i64| mul(%x, 2i64))
                   {copy}
                   yield j, c {more_next}
                 }})
               yield s
             }}",
            if more.is_empty() { "" } else { ", t: [1]i64" },
        )
    };
    let copy = "d: [1]i64 = map(a, f: |%x: i64| mul(%x, 2i64))
                e: [1]i64 = zip_with(c, d, f: |%x: i64, %y: i64| sub(%x, %y))";
    becomes(&p(", xs", ", t: [1]i64", ", e", copy), &p("", "", "", ""));
}

#[test]
fn traces_are_not_merged_and_go_only_where_nothing_needs_them() {
    let trace = |name: &str| format!("{name}: [1]i64 = trace(xs, message: \"m\", fallback: |p: [1]i64| {{ yield p }})");
    let sum = "r: [1]i64 = zip_with(a, b, f: |%x: i64, %y: i64| add(%x, %y)) yield r";
    let text = |traces: &[&str]| {
        let traces: Vec<String> = traces.iter().map(|t| trace(t)).collect();
        format!("program(xs: [1]i64) {{ {} {sum} }}", traces.join(" "))
    };
    becomes(&text(&["a", "b", "c"]), &text(&["a", "b"]));
    // Equal operations beside them are merged.
    becomes(
        "program(xs: [1]i64) { a: [1]i64 = compute(xs) b: [1]i64 = compute(xs)
           r: [1]i64 = zip_with(a, b, f: |%x: i64, %y: i64| add(%x, %y)) yield r }",
        "program(xs: [1]i64) { a: [1]i64 = compute(xs)
           r: [1]i64 = zip_with(a, a, f: |%x: i64, %y: i64| add(%x, %y)) yield r }",
    );
}

#[test]
fn a_foreign_function_keeps_its_arguments_and_results() {
    let text = "program(xs: [1]i64) { ys: [1]i64 = map(xs, f: |%x: i64| {
        %one = 1i64
        %a, %b = foreign \"f\" (%x, %one) |%p: i64, %q: i64| { yield %p, %p }
        yield %a
      }) yield ys }";
    becomes(text, text);
    let arrays = "program(xs: [1]i64) {
        one: [0]i64 = generate(shape: || (), f: || 1i64)
        a: [1]i64, b: [0]i64 = foreign(xs, one, name: \"f\", fallback: |p: [1]i64, q: [0]i64| { yield p, q })
        yield a }";
    becomes(arrays, arrays);
}

#[test]
fn a_reshape_to_the_own_shape_goes() {
    becomes(
        "program(xs: [1]i64) { ys: [1]i64 = reshape(xs, shape: || extent(xs, 0)) yield ys }",
        "program(xs: [1]i64) { yield xs }",
    );
}

#[test]
fn a_transposition_back_goes() {
    let transposed = |name: &str, of: &str| {
        format!(
            "{name}: [2]f32 = backpermute({of}, shape: || (extent({of}, 1), extent({of}, 0)), \
             index: |%i: i64, %j: i64| (%j, %i))"
        )
    };
    becomes(
        &format!("program(a: [2]f32) {{ {} {} yield u }}", transposed("t", "a"), transposed("u", "t")),
        "program(a: [2]f32) { yield a }",
    );
    // Of the last one there are other rows than there were.
    let part = "u: [2]f32 = backpermute(t, shape: || (extent(t, 1), 1i64), index: |%i: i64, %j: i64| (%j, %i))";
    let kept = format!("program(a: [2]f32) {{ {} {part} yield u }}", transposed("t", "a"));
    becomes(&kept, &kept);
}

/// Nesting is no limit of the stack.
#[test]
fn deeply_nested_branches() {
    const DEPTH: usize = 1_500;
    let open: String = (0..DEPTH).map(|k| format!("{{ yield if lt(%x, {k}i64) ")).collect();
    let text = map_i64(&format!("{open}{{ yield xs[%x] }}{}", " else { yield %x } }".repeat(DEPTH)));
    let p = parse(&text);
    let after = simplify(&p);
    assert_eq!(scalar_nodes(&after), scalar_nodes(&p));
}
