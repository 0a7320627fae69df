//! Rule `dead_scalars`: unused nodes, leaves of reads, results of conditionals, components of loops.
//!
//! After the pass every value but the function's parameters is one that the results depend on.

use super::walk::try_map_funs;
use crate::settings::Settings;
use acc_core::Error;
use acc_core::grow_stack;
use acc_core::ir::{Foreign, Fun, Node, Program, Read, Region, ScalarOp, Val};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    if !rules.on("dead_scalars") {
        return Ok(Cow::Borrowed(p));
    }
    try_map_funs(p, &mut |f| {
        limits.check()?;
        let live = live_values(f);
        Ok(renumber(&Fun { types: f.types.clone(), body: sweep(&f.body, &live) }))
    })
    .map(Cow::Owned)
}

/// A node, or a component of a loop's state seen from inside.
enum Definition<'a> {
    Node(&'a Node, usize),
    State(&'a Node, usize),
}

fn define<'a>(r: &'a Region, out: &mut HashMap<Val, Definition<'a>>) {
    for n in &r.nodes {
        out.extend(n.results.iter().enumerate().map(|(k, v)| (*v, Definition::Node(n, k))));
        if let ScalarOp::While { test, step, .. } = &n.op {
            for inner in [test, step] {
                out.extend(inner.params.iter().enumerate().map(|(k, v)| (*v, Definition::State(n, k))));
            }
        }
        n.op.regions().into_iter().for_each(|inner| grow_stack(|| define(inner, out)));
    }
}

fn live_values(f: &Fun) -> HashSet<Val> {
    let mut definitions = HashMap::new();
    define(&f.body, &mut definitions);
    let mut live: HashSet<Val> = HashSet::new();
    let mut todo: Vec<Val> = f.body.results.clone();
    while let Some(v) = todo.pop() {
        if !live.insert(v) {
            continue;
        }
        match definitions.get(&v) {
            // A parameter of the function.
            None => {}
            Some(Definition::State(n, k)) => todo.extend(n.results.get(*k)),
            Some(Definition::Node(n, k)) => match &n.op {
                ScalarOp::If { cond, then, else_ } => {
                    todo.push(*cond);
                    todo.extend(then.results.get(*k));
                    todo.extend(else_.results.get(*k));
                }
                ScalarOp::While { init, test, step } => {
                    // How often it runs decides every component.
                    todo.extend(&test.results);
                    todo.extend(init.get(*k));
                    todo.extend(step.results.get(*k));
                    todo.extend(test.params.get(*k));
                    todo.extend(step.params.get(*k));
                }
                // The host function wants all its arguments and gives all its results.
                ScalarOp::Own(Foreign { args, fallback, .. }) => {
                    todo.extend(args);
                    todo.extend(&fallback.results);
                    todo.extend(&n.results);
                    todo.extend(&fallback.params);
                }
                ScalarOp::Const(_)
                | ScalarOp::Prim(..)
                | ScalarOp::Cast(_)
                | ScalarOp::Bitcast(_)
                | ScalarOp::Select { .. }
                | ScalarOp::Index(_)
                | ScalarOp::Extent { .. } => todo.extend(n.op.operands()),
            },
        }
    }
    live
}

fn sweep(r: &Region, live: &HashSet<Val>) -> Region {
    let mut nodes = Vec::new();
    for n in &r.nodes {
        let keep: Vec<bool> = n.results.iter().map(|v| live.contains(v)).collect();
        if !keep.contains(&true) {
            continue;
        }
        let op = match &n.op {
            ScalarOp::If { cond, then, else_ } => {
                ScalarOp::If { cond: *cond, then: branch(then, &keep, live), else_: branch(else_, &keep, live) }
            }
            ScalarOp::While { init, test, step } => {
                let (mut test, mut step) = (grow_stack(|| sweep(test, live)), branch(step, &keep, live));
                test.params = kept(&test.params, &keep);
                step.params = kept(&step.params, &keep);
                ScalarOp::While { init: kept(init, &keep).into_iter().collect(), test, step }
            }
            ScalarOp::Own(Foreign { name, args, fallback }) => {
                let fallback = grow_stack(|| sweep(fallback, live));
                ScalarOp::Own(Foreign { name: name.clone(), args: args.clone(), fallback })
            }
            ScalarOp::Index(read) => {
                ScalarOp::Index(Read::new(read.array, kept(&read.leaves, &keep), read.index.clone()))
            }
            ScalarOp::Const(_)
            | ScalarOp::Prim(..)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::Select { .. }
            | ScalarOp::Extent { .. } => n.op.clone(),
        };
        nodes.push(Node { results: kept(&n.results, &keep).into_iter().collect(), op, loc: n.loc.clone() });
    }
    Region { params: r.params.clone(), nodes, results: r.results.clone() }
}

/// A region with fewer results.
fn branch(r: &Region, keep: &[bool], live: &HashSet<Val>) -> Region {
    let mut out = grow_stack(|| sweep(r, live));
    out.results = kept(&out.results, keep);
    out
}

fn kept<T: Copy>(all: &[T], keep: &[bool]) -> Vec<T> {
    all.iter().zip(keep).filter(|(_, k)| **k).map(|(x, _)| *x).collect()
}

/// Values numbered in order of definition, so that equal functions are equal, and the type table has no gaps.
fn renumber(f: &Fun) -> Fun {
    fn visit(r: &Region, order: &mut Vec<Val>) {
        order.extend(&r.params);
        for n in &r.nodes {
            n.op.regions().into_iter().for_each(|inner| grow_stack(|| visit(inner, order)));
            order.extend(n.results.iter().copied());
        }
    }
    let mut order = Vec::new();
    visit(&f.body, &mut order);
    let number: HashMap<Val, Val> = order.iter().enumerate().map(|(i, v)| (*v, Val(i as u32))).collect();
    Fun { types: order.iter().map(|v| f.ty(*v)).collect(), body: f.body.map(&mut |a| *a, &mut |v| number[&v]) }
}
