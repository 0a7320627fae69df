//! Smaller programs at the level of arrays.

use super::{Proposal, Sample};
use acc_core::ir::{ArrayId, ArrayOp, Block, Program, Stmt};
use acc_core::{Executor, Interpreter, RunLimits};
use acc_desugar::map_op;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The proposals, by number: first those that drop most.
pub(super) fn proposals(s: &Sample, at: usize) -> Proposal {
    let p = &*s.program;
    let stmts = &p.body.stmts;
    let made: Vec<ArrayId> = stmts.iter().flat_map(|s| s.results.iter().copied()).collect();
    let mut at = at;
    // One array alone as the result.
    if at < made.len() {
        return Some(results(s, vec![made[at]]));
    }
    at -= made.len();
    // One result less.
    if at < p.body.results.len() {
        let mut less = p.body.results.clone();
        less.remove(at);
        return Some(if less.is_empty() { None } else { results(s, less) });
    }
    at -= p.body.results.len();
    // An array as an input, from the last one on.
    if at < made.len() {
        return Some(as_input(s, made[made.len() - 1 - at]));
    }
    at -= made.len();
    // A block of a conditional or of a loop in its place.
    if at < 2 * stmts.len() {
        return Some(inlined(s, at / 2, at % 2));
    }
    at -= 2 * stmts.len();
    // An array in place of another one, also inside of blocks.
    let n = p.types.len();
    let (from, to) = (at / n.max(1), at % n.max(1));
    if from >= n {
        return None;
    }
    let (from, to) = (ArrayId(from as u32), ArrayId(to as u32));
    let fits = from != to && p.ty(from) == p.ty(to) && !p.body.params.contains(&from);
    Some(fits.then(|| replaced(p, from, to)).and_then(|p| Sample::cleaned(&p, &s.args)))
}

fn results(s: &Sample, results: Vec<ArrayId>) -> Option<Sample> {
    let body = yielding(&s.program.body, results);
    Sample::cleaned(&Program { types: s.program.types.clone(), names: s.program.names.clone(), body }, &s.args)
}

/// The same program with one array in place of another wherever that is used.
fn replaced(p: &Program, from: ArrayId, to: ArrayId) -> Program {
    let new = |a: ArrayId| if a == from { to } else { a };
    fn block(b: &Block, new: &dyn Fn(ArrayId) -> ArrayId) -> Block {
        let stmts = b.stmts.iter().map(|s| Stmt {
            results: s.results.clone(),
            op: map_op(&s.op, &mut |f| f.map_arrays(&mut |a| new(*a)), &mut |a| new(a), &mut |b, _| block(b, new)),
            loc: s.loc.clone(),
        });
        let stmts = stmts.collect();
        Block { params: b.params.clone(), stmts, results: b.results.iter().map(|a| new(*a)).collect() }
    }
    Program { types: p.types.clone(), names: p.names.clone(), body: block(&p.body, &new) }
}

/// An array of the program's body becomes an input, with the value that the interpreter gives it.
fn as_input(s: &Sample, a: ArrayId) -> Option<Sample> {
    let alone = Program {
        types: s.program.types.clone(),
        names: s.program.names.clone(),
        body: yielding(&s.program.body, vec![a]),
    };
    let limits = RunLimits::none().deadline(Instant::now() + Duration::from_secs(5));
    let value = Interpreter::new().run_untyped(&Arc::new(alone), &s.args, &limits).ok()?.pop()?;
    let mut p = (*s.program).clone();
    let input = ArrayId(p.types.len() as u32);
    p.types.push(p.ty(a).clone());
    let mut p = replaced(&p, a, input);
    p.body.params.push(input);
    Sample::cleaned(&p, &[s.args.clone(), vec![value]].concat())
}

/// A conditional's branch in its place, or what a loop starts with or one step of it.
fn inlined(s: &Sample, stmt: usize, which: usize) -> Option<Sample> {
    let mut p = (*s.program).clone();
    let at = p.body.stmts.get(stmt)?.clone();
    let (inner, instead): (Vec<Stmt>, Vec<(ArrayId, ArrayId)>) = match &at.op {
        ArrayOp::If { then, else_, .. } => {
            let taken = if which == 0 { then } else { else_ };
            (taken.stmts.clone(), at.results.iter().copied().zip(taken.results.iter().copied()).collect())
        }
        ArrayOp::While { init, .. } if which == 0 => {
            (Vec::new(), at.results.iter().copied().zip(init.iter().copied()).collect())
        }
        ArrayOp::While { init, step, .. } => {
            let starts = step.params.iter().copied().zip(init.iter().copied());
            let ends = at.results.iter().copied().zip(step.results.iter().copied());
            (step.stmts.clone(), ends.chain(starts).collect())
        }
        _ => return None,
    };
    p.body.stmts.splice(stmt..=stmt, inner);
    for (from, to) in instead {
        p = replaced(&p, from, to);
    }
    Sample::cleaned(&p, &s.args)
}

/// Inputs that nothing reads go.
pub(super) fn without_unused_inputs(s: Sample) -> Sample {
    let params = s.program.body.params.clone();
    let mut best = s;
    for a in params.into_iter().rev() {
        let mut p = (*best.program).clone();
        let Some(k) = p.body.params.iter().position(|b| *b == a) else { continue };
        p.body.params.remove(k);
        if acc_core::verify::verify(&p, None).is_ok() {
            let mut args = best.args.clone();
            args.remove(k);
            best = Sample { program: Arc::new(p), args };
        }
    }
    Sample { program: Arc::new(acc_core::text::canonical(&best.program)), args: best.args }
}

/// The block with other results.
fn yielding(b: &Block, results: Vec<ArrayId>) -> Block {
    Block { params: b.params.clone(), stmts: b.stmts.clone(), results }
}
