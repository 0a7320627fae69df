//! Rule `dead_arrays`: unused statements, results of conditionals, components of loops.
//!
//! After the pass every array but the parameters is one that the results depend on, and ids have no gaps.

use super::walk::map_op;
use crate::settings::Settings;
use acc_core::ir::{ArrayId, ArrayOp, Block, Names, Program, Stmt, arrays_of_fun};
use acc_core::{Error, grow_stack};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    if !rules.on("dead_arrays") {
        return Ok(Cow::Borrowed(p));
    }
    let live = live_arrays(&p.body);
    limits.check()?;
    let swept = Program { types: p.types.clone(), names: p.names.clone(), body: sweep(&p.body, &live) };
    limits.check()?;
    Ok(Cow::Owned(renumber(&swept)))
}

/// A statement, or a component of a loop's state seen from inside.
enum Definition<'a> {
    Stmt(&'a Stmt, usize),
    State(&'a Stmt, usize),
}

fn define<'a>(b: &'a Block, out: &mut HashMap<ArrayId, Definition<'a>>) {
    for s in &b.stmts {
        out.extend(s.results.iter().enumerate().map(|(k, a)| (*a, Definition::Stmt(s, k))));
        if let ArrayOp::While { test, step, .. } = &s.op {
            for inner in [test, step] {
                out.extend(inner.params.iter().enumerate().map(|(k, a)| (*a, Definition::State(s, k))));
            }
        }
        s.op.blocks().into_iter().for_each(|inner| grow_stack(|| define(inner, out)));
    }
}

fn live_arrays(body: &Block) -> HashSet<ArrayId> {
    let mut definitions = HashMap::new();
    define(body, &mut definitions);
    let mut live: HashSet<ArrayId> = HashSet::new();
    let mut todo = body.results.clone();
    while let Some(a) = todo.pop() {
        if !live.insert(a) {
            continue;
        }
        let (s, k) = match definitions.get(&a) {
            None => continue,
            Some(Definition::State(s, k)) => {
                todo.extend(s.results.get(*k));
                continue;
            }
            Some(Definition::Stmt(s, k)) => (s, *k),
        };
        for (_, f) in s.op.funs() {
            todo.extend(arrays_of_fun(f).into_iter().map(|(a, _)| a));
        }
        match &s.op {
            ArrayOp::If { then, else_, .. } => {
                todo.extend(then.results.get(k));
                todo.extend(else_.results.get(k));
            }
            ArrayOp::While { init, test, step } => {
                todo.extend(&test.results);
                for part in [init, &step.results, &test.params, &step.params] {
                    todo.extend(part.get(k));
                }
            }
            // The host function wants all its arguments and gives all its results.
            ArrayOp::Foreign { xs, fallback, .. } => {
                for part in [xs, &fallback.results, &fallback.params] {
                    todo.extend(part);
                }
                todo.extend(&s.results);
            }
            // What is differentiated is all of the function.
            ArrayOp::Derivative { at, along, f, .. } => {
                for part in [at, along, &f.results, &f.params] {
                    todo.extend(part);
                }
                todo.extend(&s.results);
            }
            ArrayOp::Ruled { at, f, jvp, vjp, .. } => {
                todo.extend(at);
                for b in std::iter::once(f).chain(jvp).chain(vjp) {
                    todo.extend(b.results.iter().chain(&b.params));
                }
                todo.extend(&s.results);
            }
            // Without blocks: one result, of all operands.
            op => todo.extend(op.arrays()),
        }
    }
    live
}

fn sweep(b: &Block, live: &HashSet<ArrayId>) -> Block {
    let mut stmts = Vec::new();
    for s in &b.stmts {
        let keep: Vec<bool> = s.results.iter().map(|a| live.contains(a)).collect();
        if !keep.contains(&true) {
            continue;
        }
        let kept = |all: &[ArrayId]| all.iter().zip(&keep).filter(|(_, k)| **k).map(|(a, _)| *a).collect::<Vec<_>>();
        let branch = |b: &Block| {
            let mut out = grow_stack(|| sweep(b, live));
            out.results = kept(&out.results);
            out
        };
        let op = match &s.op {
            ArrayOp::If { cond, then, else_ } => {
                ArrayOp::If { cond: cond.clone(), then: branch(then), else_: branch(else_) }
            }
            ArrayOp::While { init, test, step } => {
                let (mut test, mut step) = (grow_stack(|| sweep(test, live)), branch(step));
                test.params = kept(&test.params);
                step.params = kept(&step.params);
                ArrayOp::While { init: kept(init), test, step }
            }
            ArrayOp::Foreign { function, xs, fallback } => ArrayOp::Foreign {
                function: function.clone(),
                xs: xs.clone(),
                fallback: grow_stack(|| sweep(fallback, live)),
            },
            ArrayOp::Derivative { mode, at, along, f } => ArrayOp::Derivative {
                mode: *mode,
                at: at.clone(),
                along: along.clone(),
                f: grow_stack(|| sweep(f, live)),
            },
            ArrayOp::Ruled { at, residuals, f, jvp, vjp } => {
                let swept = |b: &Block| grow_stack(|| sweep(b, live));
                ArrayOp::Ruled {
                    at: at.clone(),
                    residuals: *residuals,
                    f: swept(f),
                    jvp: jvp.as_ref().map(swept),
                    vjp: vjp.as_ref().map(swept),
                }
            }
            without_blocks => without_blocks.clone(),
        };
        stmts.push(Stmt { results: kept(&s.results).into_iter().collect(), op, loc: s.loc.clone() });
    }
    Block { params: b.params.clone(), stmts, results: b.results.clone() }
}

fn renumber(p: &Program) -> Program {
    fn visit(b: &Block, order: &mut Vec<ArrayId>) {
        order.extend(&b.params);
        for s in &b.stmts {
            s.op.blocks().into_iter().for_each(|inner| grow_stack(|| visit(inner, order)));
            order.extend(s.results.iter().copied());
        }
    }
    let mut order = Vec::new();
    visit(&p.body, &mut order);
    let number: HashMap<ArrayId, ArrayId> = order.iter().enumerate().map(|(i, a)| (*a, ArrayId(i as u32))).collect();
    Program {
        types: order.iter().map(|a| p.ty(*a).clone()).collect(),
        names: Names::new(order.iter().map(|a| p.names.get(*a).cloned())),
        body: block(&p.body, &number),
    }
}

fn block(b: &Block, number: &HashMap<ArrayId, ArrayId>) -> Block {
    let all = |v: &[ArrayId]| v.iter().map(|a| number[a]).collect::<Vec<_>>();
    let stmts = b.stmts.iter().map(|s| Stmt {
        results: s.results.iter().map(|a| number[a]).collect(),
        op: map_op(&s.op, &mut |f| f.map_arrays(&mut |a| number[a]), &mut |a| number[&a], &mut |b, _| block(b, number)),
        loc: s.loc.clone(),
    });
    Block { params: all(&b.params), stmts: stmts.collect(), results: all(&b.results) }
}
