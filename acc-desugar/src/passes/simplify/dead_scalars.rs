//! Rule `dead_scalars`: unused nodes, leaves of reads, results of conditionals, components of loops.
//!
//! After the pass every value but the function's parameters is one that the results depend on.

use super::walk::try_map_funs;
use crate::settings::Settings;
use acc_core::Error;
use acc_core::grow_stack;
use acc_core::ir::{Foreign, Fun, Node, Program, Region, ScalarOp, Val};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

pub(crate) fn pass<'p>(
    p: &'p Program,
    &Settings { rules, limits, .. }: &Settings<'_>,
) -> Result<Cow<'p, Program>, Error> {
    if !rules.on("dead_scalars") {
        return Ok(Cow::Borrowed(p));
    }
    try_map_funs(p, &mut |_, f| {
        limits.check()?;
        // Equal functions are equal, and the type table has no gaps.
        Ok(live(f).renumbered())
    })
    .map(Cow::Owned)
}

/// The function without what its results do not depend on.
pub(crate) fn live(f: &Fun) -> Fun {
    let live = live_values(f);
    let mut f = f.clone();
    sweep(&mut f.body, &live);
    f
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
                ScalarOp::Own(Foreign { args, fallback, partials, .. }) => {
                    todo.extend(args);
                    todo.extend(&n.results);
                    for r in std::iter::once(fallback).chain(partials) {
                        todo.extend(r.results.iter().chain(&r.params));
                    }
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

fn sweep(r: &mut Region, live: &HashSet<Val>) {
    for mut n in std::mem::take(&mut r.nodes) {
        let keep: Vec<bool> = n.results.iter().map(|v| live.contains(v)).collect();
        if !keep.contains(&true) {
            continue;
        }
        n.op.regions_mut().into_iter().for_each(|inner| grow_stack(|| sweep(inner, live)));
        match &mut n.op {
            ScalarOp::If { then, else_, .. } => {
                then.results = kept(&then.results, &keep);
                else_.results = kept(&else_.results, &keep);
            }
            ScalarOp::While { init, test, step } => {
                *init = kept(init, &keep).into();
                test.params = kept(&test.params, &keep);
                step.params = kept(&step.params, &keep);
                step.results = kept(&step.results, &keep);
            }
            ScalarOp::Index(read) => read.leaves = kept(&read.leaves, &keep).into(),
            // A host function gives all its results.
            ScalarOp::Own(_) => {}
            ScalarOp::Const(_)
            | ScalarOp::Prim(..)
            | ScalarOp::Cast(_)
            | ScalarOp::Bitcast(_)
            | ScalarOp::Select { .. }
            | ScalarOp::Extent { .. } => {}
        }
        n.results = kept(&n.results, &keep).into();
        r.nodes.push(n);
    }
}

fn kept<T: Copy>(all: &[T], keep: &[bool]) -> Vec<T> {
    all.iter().zip(keep).filter(|(_, k)| **k).map(|(x, _)| *x).collect()
}
