//! An array that the program computes by several schedules is computed once for each: the same expression by different loops, as
//! several optimisation paths of it are.
//!
//! For each schedule but the first one the statements of the array's nest are repeated: its own, and the folds whose results it
//! reads element by element. What these read is inlined into each kernel, as it would be into one.
//!
//! What reads an array that is computed within the loops of its reader reads that array, and not what a statement hands on.

use crate::analysis::contraction::Definitions;
use crate::passes::simplify::map_op;
use crate::settings::Settings;
use acc_core::Error;
use acc_core::ir::{ArrayId, ArrayOp, ArrayType, Block, Class, Fun, Names, Program, Schedule, Stmt};
use smallvec::smallvec;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Repeats the nests of arrays with several schedules.
pub(crate) fn pass<'p>(program: &'p Program, _: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    if !has_schedules(&program.body) {
        return Ok(Cow::Borrowed(program));
    }
    let arrays = (0..program.types.len()).filter_map(|k| u32::try_from(k).ok().map(ArrayId));
    let mut p = Pass {
        defs: Definitions::new(program),
        types: program.types.clone(),
        names: arrays.map(|a| program.names.get(a).cloned()).collect(),
        first: HashMap::new(),
        handed_on: HashMap::new(),
        changes: false,
    };
    let body = p.block(&program.body);
    if !p.changes {
        return Ok(Cow::Borrowed(program));
    }
    Ok(Cow::Owned(Program { types: p.types, names: Names::new(p.names), body }))
}

fn has_schedules(b: &Block) -> bool {
    b.stmts.iter().any(|s| {
        matches!(s.op, ArrayOp::Compute { schedule: Some(_), .. })
            || s.op.blocks().into_iter().any(|b| acc_core::grow_stack(|| has_schedules(b)))
    })
}

struct Pass<'p> {
    defs: Definitions<'p>,
    types: Vec<ArrayType>,
    names: Vec<Option<Arc<str>>>,
    /// The schedule that each array has already.
    first: HashMap<ArrayId, Schedule>,
    /// The array that each one is which is handed on.
    handed_on: HashMap<ArrayId, ArrayId>,
    changes: bool,
}

impl Pass<'_> {
    fn block(&mut self, b: &Block) -> Block {
        let mut stmts = Vec::with_capacity(b.stmts.len());
        for s in &b.stmts {
            let mut s = s.clone();
            if !self.handed_on.is_empty() {
                s.op = self.reading(&s.op);
            }
            if let ArrayOp::Compute { xs, schedule: Some(schedule) } = &mut s.op
                && self.first.entry(*xs).or_insert_with(|| schedule.clone()) != schedule
            {
                *xs = self.repeat(*xs, &mut stmts);
                self.first.insert(*xs, schedule.clone());
            } else if !s.op.blocks().is_empty() {
                s.op = map_op(&s.op, &mut Fun::clone, &mut |a| a, &mut |b, _| acc_core::grow_stack(|| self.block(b)));
            }
            if let ArrayOp::Compute { xs, schedule: Some(schedule) } = &s.op
                && schedule.reader_loops() > 0
            {
                self.hand_on(*xs, s.results[0]);
            }
            stmts.push(s);
        }
        Block { params: b.params.clone(), stmts, results: b.results.clone() }
    }

    /// From now on `xs` is read where `result` was.
    fn hand_on(&mut self, xs: ArrayId, result: ArrayId) {
        if self.names[xs.index()].is_none() {
            self.names[xs.index()] = self.names[result.index()].clone();
        }
        self.handed_on.insert(result, xs);
        self.changes = true;
    }

    /// An operation that reads what is handed on; inner blocks are met later.
    fn reading(&self, op: &ArrayOp) -> ArrayOp {
        let array = |a: ArrayId| self.handed_on.get(&a).copied().unwrap_or(a);
        map_op(op, &mut |f| f.map_arrays(&mut |a| array(*a)), &mut |a| array(a), &mut |b, _| b.clone())
    }

    /// Repeats the statement of an array, and those of the folds that its nest has; the new array.
    fn repeat(&mut self, a: ArrayId, out: &mut Vec<Stmt>) -> ArrayId {
        let Some(of) = self.defs.get(a).cloned() else { return a };
        let nested = |x: &ArrayId| self.defs.get(*x).is_some_and(|s| s.op.class() == Class::Fold);
        let mut again: HashMap<ArrayId, ArrayId> = HashMap::new();
        if matches!(of.op.class(), Class::Pointwise | Class::Fold) {
            for x in of.op.arrays().into_iter().filter(nested).collect::<Vec<_>>() {
                again.insert(x, acc_core::grow_stack(|| self.repeat(x, out)));
            }
        }
        self.changes = true;
        let result = ArrayId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.types.push(self.types[a.index()].clone());
        self.names.push(self.names[a.index()].clone());
        let operand = &mut |x| again.get(&x).copied().unwrap_or(x);
        let op = map_op(&of.op, &mut Fun::clone, operand, &mut |b, _| b.clone());
        out.push(Stmt { results: smallvec![result], op: self.reading(&op), loc: of.loc });
        result
    }
}
