//! From an array program to a plan: one step per statement, and kernels for those that compute.
//!
//! 1. [`fuse`] decides which statements are fused into their consumer and never stored.
//! 2. [`element`] builds the body of each kernel, fused producers inlined.
//! 3. [`compile`](crate::tile::compile::compile) readies the bodies for the tile executor.
//!
//! Nothing here depends on extents or data: a plan serves all of them.

mod element;
mod explain;
mod fuse;

use crate::kernel::{self, AxisKind, Body, Finish, Kernel, Op, Output, Update};
use crate::tile::compile::compile;
use crate::tile::machine::Code;
use crate::tile::scatter::supported;
use acc_core::Error;
use acc_core::data::ScalarType;
use acc_core::ir::{
    ArrayId, ArrayOp, ArrayType, Block, ForeignFun, Fun, Loc, PrimOp, Program, Stmt, arrays_needed, arrays_of_fun,
    strict_statements,
};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use fuse::{Fusion, decide};

/// A program ready to run.
pub(crate) struct Plan {
    /// Every statement, those of inner blocks included.
    pub steps: Vec<Step>,
    /// The step that defines an array; none for parameters.
    pub def: Vec<Option<usize>>,
    pub types: Vec<ArrayType>,
    pub body: BlockPlan,
    /// Arrays that one statement consumes and that are stored all the same, and why.
    pub kept: Vec<(ArrayId, &'static str)>,
}

/// A block's statements by step number.
pub(crate) struct BlockPlan {
    pub params: Vec<ArrayId>,
    pub steps: Vec<usize>,
    /// Whether the block's evaluation needs the step for sure.
    pub strict: Vec<bool>,
    /// The arrays that nothing needs any more once the step is evaluated.
    pub dead: Vec<Vec<ArrayId>>,
    pub results: Vec<ArrayId>,
}

/// One statement.
pub(crate) struct Step {
    pub results: Vec<ArrayId>,
    pub loc: Loc,
    pub op: &'static str,
    /// Arrays that its evaluation needs for sure.
    pub needs: Vec<ArrayId>,
    pub work: Work,
}

/// What a step does.
pub(crate) enum Work {
    /// An array operation: its closed functions, in order, then how its elements come about.
    Array {
        op: ArrayOp,
        closed: Vec<Closed>,
        how: How,
    },
    If {
        cond: Closed,
        then: BlockPlan,
        else_: BlockPlan,
    },
    While {
        init: Vec<ArrayId>,
        test: BlockPlan,
        step: BlockPlan,
    },
    Foreign {
        function: ForeignFun,
        xs: Vec<ArrayId>,
        fallback: BlockPlan,
    },
}

/// How the elements of an array come about.
pub(crate) enum How {
    /// Computed by the consumer; only the extents are computed here.
    Fused,
    /// The same columns under another shape.
    View,
    /// The positions that sort the operand.
    Sort,
    Launch(Box<Launch>),
}

/// A kernel ready to launch.
pub(crate) struct Launch {
    pub kernel: Kernel,
    pub element: Code,
    /// The combination of each output that has one.
    pub combine: Vec<Option<Code>>,
    /// Cost of a point, in units of one vectorised addition.
    pub cost: usize,
    /// Whether a combination can fault, demand an array or fail to end.
    pub combine_partial: bool,
    /// Whether an index out of bounds is a fault; else it stands for another one.
    pub checks: bool,
}

/// A closed function.
pub(crate) enum Closed {
    Known(Vec<u64>),
    Code(Box<Code>),
}

/// Lowers a program; `fused` tells whether producers are fused into consumers, `checks` whether an index out of bounds
/// is a fault.
pub(crate) fn lower(program: &Program, fused: bool, checks: bool) -> Result<Plan, Error> {
    let fusion = if fused { decide(program) } else { Fusion::none() };
    let mut plan = Plan {
        steps: Vec::new(),
        def: vec![None; program.types.len()],
        types: program.types.clone(),
        body: BlockPlan {
            params: Vec::new(),
            steps: Vec::new(),
            strict: Vec::new(),
            dead: Vec::new(),
            results: Vec::new(),
        },
        kept: fusion.kept.clone(),
    };
    let mut stmts: Vec<Option<&Stmt>> = vec![None; program.types.len()];
    index_statements(&program.body, &mut stmts);
    let lowering = Lowering { program, fusion: &fusion, checks, stmts, free_arrays: RefCell::default() };
    plan.body = lowering.block(&program.body, &mut plan)?;
    Ok(plan)
}

fn index_statements<'a>(b: &'a Block, out: &mut [Option<&'a Stmt>]) {
    for s in &b.stmts {
        for r in &s.results {
            out[r.index()] = Some(s);
        }
        for b in s.op.blocks() {
            acc_core::grow_stack(|| index_statements(b, out));
        }
    }
}

/// What lowering reads.
struct Lowering<'a> {
    program: &'a Program,
    fusion: &'a Fusion,
    checks: bool,
    /// The statement that defines an array.
    stmts: Vec<Option<&'a Stmt>>,
    /// The arrays that each block met so far uses from outside, by its address in the program.
    free_arrays: RefCell<HashMap<*const Block, Rc<[ArrayId]>>>,
}

impl<'a> Lowering<'a> {
    fn block(&self, b: &Block, plan: &mut Plan) -> Result<BlockPlan, Error> {
        acc_core::grow_stack(|| self.statements(b, plan))
    }

    fn statements(&self, b: &Block, plan: &mut Plan) -> Result<BlockPlan, Error> {
        let mut steps = Vec::new();
        for s in &b.stmts {
            let work = match &s.op {
                ArrayOp::If { cond, then, else_ } => Work::If {
                    cond: self.closed(cond, &s.loc)?,
                    then: self.block(then, plan)?,
                    else_: self.block(else_, plan)?,
                },
                ArrayOp::While { init, test, step } => {
                    Work::While { init: init.clone(), test: self.block(test, plan)?, step: self.block(step, plan)? }
                }
                ArrayOp::Foreign { function, xs, fallback } => {
                    Work::Foreign { function: function.clone(), xs: xs.clone(), fallback: self.block(fallback, plan)? }
                }
                ArrayOp::Generate { .. }
                | ArrayOp::Map { .. }
                | ArrayOp::Fold { .. }
                | ArrayOp::Scan { .. }
                | ArrayOp::Permute { .. }
                | ArrayOp::Backpermute { .. }
                | ArrayOp::Stencil { .. }
                | ArrayOp::Argsort { .. }
                | ArrayOp::Check { .. }
                | ArrayOp::Reshape { .. }
                | ArrayOp::Replicate { .. }
                | ArrayOp::Slice { .. }
                | ArrayOp::Compute { .. } => self.array_step(s)?,
            };
            for r in &s.results {
                plan.def[r.index()] = Some(plan.steps.len());
            }
            steps.push(plan.steps.len());
            plan.steps.push(Step {
                results: s.results.to_vec(),
                loc: s.loc.clone(),
                op: s.op.name(),
                needs: arrays_needed(s),
                work,
            });
        }
        let strict = strict_statements(b);
        let dead = self.dead(b, &strict);
        Ok(BlockPlan { params: b.params.clone(), steps, strict, dead, results: b.results.clone() })
    }

    /// For each statement, the block's own arrays that are used last by it. What a statement on demand uses, and what
    /// the block yields, stays.
    fn dead(&self, b: &Block, strict: &[bool]) -> Vec<Vec<ArrayId>> {
        let own: HashSet<ArrayId> = b.stmts.iter().flat_map(|s| s.results.iter().copied()).collect();
        let mut kept: HashSet<ArrayId> = b.results.iter().copied().collect();
        for (s, _) in b.stmts.iter().zip(strict).filter(|(_, strict)| !**strict) {
            kept.extend(self.uses(s));
        }
        let mut dead = vec![Vec::new(); b.stmts.len()];
        for (k, s) in b.stmts.iter().enumerate().rev() {
            for a in self.uses(s) {
                if own.contains(&a) && kept.insert(a) {
                    dead[k].push(a);
                }
            }
        }
        dead
    }

    /// The arrays that evaluating a statement may read, through fused producers too.
    fn uses(&self, s: &Stmt) -> Vec<ArrayId> {
        let mut out = self.own_uses(s);
        let mut at = 0;
        while at < out.len() {
            if self.fusion.is_fused(out[at])
                && let Some(p) = self.stmts[out[at].index()]
            {
                out.extend(self.own_uses(p));
            }
            at += 1;
        }
        out
    }

    /// The arrays that a statement itself may read.
    fn own_uses(&self, s: &Stmt) -> Vec<ArrayId> {
        let mut out = s.op.arrays().into_vec();
        for (_, f) in s.op.funs() {
            out.extend(arrays_of_fun(f).into_iter().map(|(a, _)| a));
        }
        for b in s.op.blocks() {
            out.extend(self.free_arrays(b).iter());
        }
        out
    }

    /// The arrays that a block may read from outside, each once. Blocks may be nested deep: each is looked at once.
    fn free_arrays(&self, b: &Block) -> Rc<[ArrayId]> {
        if let Some(known) = self.free_arrays.borrow().get(&std::ptr::from_ref(b)) {
            return known.clone();
        }
        let mut met: HashSet<ArrayId> = b.params.iter().copied().collect();
        let mut free: Vec<ArrayId> = Vec::new();
        for s in &b.stmts {
            let used = acc_core::grow_stack(|| self.own_uses(s));
            free.extend(used.into_iter().filter(|a| met.insert(*a)));
            met.extend(&s.results);
        }
        free.extend(b.results.iter().filter(|a| met.insert(**a)));
        let free: Rc<[ArrayId]> = free.into();
        self.free_arrays.borrow_mut().insert(b, free.clone());
        free
    }

    fn array_step(&self, s: &Stmt) -> Result<Work, Error> {
        let closed =
            s.op.funs()
                .iter()
                .filter(|(role, _)| {
                    matches!(*role, "shape" | "init" | "extents" | "ok") || (*role == "index" && is_slice(&s.op))
                })
                .map(|(_, f)| self.closed(f, &s.loc))
                .collect::<Result<Vec<_>, Error>>()?;
        let result = s.results[0];
        let how = if self.fusion.is_fused(result) {
            How::Fused
        } else if matches!(s.op, ArrayOp::Reshape { .. } | ArrayOp::Compute { .. } | ArrayOp::Check { .. }) {
            How::View
        } else if matches!(s.op, ArrayOp::Argsort { .. }) {
            How::Sort
        } else {
            How::Launch(Box::new(self.launch(s, result)?))
        };
        Ok(Work::Array { op: s.op.clone(), closed, how })
    }

    fn launch(&self, s: &Stmt, result: ArrayId) -> Result<Launch, Error> {
        let kernel = self.kernel(s, result)?;
        kernel::verify(&kernel).map_err(|message| Error::Backend {
            backend: crate::NAME,
            message: format!("defect: kernel of {result}: {message}\n{kernel}"),
        })?;
        let combines = || kernel.outputs.iter().filter_map(|o| o.finish.combine());
        let combine_partial = combines().any(Body::is_partial);
        let combine_cost: usize = combines().map(|c| kernel::region_cost(&c.region)).sum();
        let cost = kernel::region_cost(&kernel.element.region) + combine_cost + 1;
        let combine = kernel.outputs.iter().map(|o| o.finish.combine().map(code)).collect();
        Ok(Launch { element: code(&kernel.element), combine, cost, combine_partial, checks: self.checks, kernel })
    }

    fn kernel(&self, s: &Stmt, result: ArrayId) -> Result<Kernel, Error> {
        let rank = self.program.ty(result).rank;
        let leaves = self.program.ty(result).elt.leaves();
        let (axes, finish, body) = match &s.op {
            ArrayOp::Fold { f, init, xs } => {
                let mut axes = vec![AxisKind::Parallel; rank];
                axes.push(AxisKind::Reduction);
                let combine = self.operator(f, &leaves, &s.loc);
                let known = known_operator(&combine, leaves.len());
                (axes, Finish::Fold { combine, known, init: init.is_some() }, self.element_of(*xs, &s.loc)?)
            }
            ArrayOp::Scan { dir, f, init, xs } => {
                let mut axes = vec![AxisKind::Parallel; rank - 1];
                axes.push(AxisKind::Scan(*dir));
                let combine = self.operator(f, &leaves, &s.loc);
                let known = known_operator(&combine, leaves.len());
                (axes, Finish::Scan { combine, known, init: init.is_some() }, self.element_of(*xs, &s.loc)?)
            }
            ArrayOp::Permute { combine, defaults, target, xs } => {
                let source = self.program.ty(*xs).rank;
                let combine = self.operator(combine, &leaves, &s.loc);
                let known = known_update(&combine, leaves.len());
                let body = self.scatter_of(*xs, target, &s.loc)?;
                (vec![AxisKind::Parallel; source], Finish::Scatter { defaults: *defaults, combine, known, rank }, body)
            }
            ArrayOp::Generate { .. }
            | ArrayOp::Map { .. }
            | ArrayOp::Backpermute { .. }
            | ArrayOp::Stencil { .. }
            | ArrayOp::Argsort { .. }
            | ArrayOp::Check { .. }
            | ArrayOp::Reshape { .. }
            | ArrayOp::Replicate { .. }
            | ArrayOp::Slice { .. }
            | ArrayOp::Compute { .. }
            | ArrayOp::Foreign { .. }
            | ArrayOp::If { .. }
            | ArrayOp::While { .. } => (vec![AxisKind::Parallel; rank], Finish::Store, self.body_of(s, rank)?),
        };
        let element = self.finished(body);
        let values = 0..element.region.results.len();
        let output = Output { result, op: s.op.name(), loc: s.loc.clone(), values, finish };
        Ok(Kernel { axes, element, outputs: vec![output], fused: self.fusion.into(result) })
    }

    /// A body as it will run.
    fn finished(&self, body: Body) -> Body {
        if self.checks { body } else { body.unchecked() }
    }

    /// A closed function, ready to run with one lane.
    fn closed(&self, f: &Fun, loc: &Loc) -> Result<Closed, Error> {
        let mut b = kernel::Builder::with_params(&[], loc.clone());
        let results = b.inline(f, &[]);
        let body = self.finished(b.finish(results));
        let known: Option<Vec<u64>> =
            body.region.results.iter().map(|v| body.consts.iter().find(|(c, _)| c == v).map(|(_, l)| l.bits)).collect();
        Ok(match known {
            Some(bits) if body.region.nodes.is_empty() => Closed::Known(bits),
            _ => Closed::Code(Box::new(Code::new(compile(&body), 1))),
        })
    }

    fn operator(&self, f: &Fun, leaves: &[ScalarType], loc: &Loc) -> Body {
        let mut b = kernel::Builder::with_params(&[leaves, leaves].concat(), loc.clone());
        let params = b.params();
        let results = b.inline(f, &params);
        self.finished(b.finish(results))
    }
}

fn is_slice(op: &ArrayOp) -> bool {
    matches!(op, ArrayOp::Slice { .. })
}

/// Compiles a body for the tile executor, its tiles small enough that all buffers stay in the second-level cache.
fn code(body: &Body) -> Code {
    const BYTES: usize = 192 << 10;
    const LANES: usize = 1024;
    let tape = compile(body);
    let bytes: usize = tape.slots.iter().map(|t| t.size()).sum::<usize>().max(1);
    let mut lanes = LANES;
    while lanes > 128 && lanes * bytes > BYTES {
        lanes /= 2;
    }
    Code::new(tape, lanes)
}

/// How result `k` of a body with `2 * n` parameters comes from parameters `k` and `n + k`, if simply.
fn simple_result(body: &Body, n: usize, k: usize) -> Option<Update> {
    let (new, old) = (body.region.params[k], body.region.params[n + k]);
    let v = body.region.results[k];
    if v == new {
        return Some(Update::New);
    }
    if v == old {
        return Some(Update::Old);
    }
    let node = body.region.nodes.iter().find(|node| node.results.contains(&v))?;
    match &node.op {
        Op::Prim(p, args) if args[..] == [new, old] => Some(Update::Prim(*p)),
        Op::Prim(p, args) if args[..] == [old, new] => Some(Update::PrimOldFirst(*p)),
        _ => None,
    }
}

/// The operations of a combination that is, leaf by leaf, one associative and commutative primitive.
fn known_operator(body: &Body, n: usize) -> Option<Vec<PrimOp>> {
    use PrimOp as P;
    let ops = (0..n).map(|k| match simple_result(body, n, k)? {
        Update::Prim(p) | Update::PrimOldFirst(p) => {
            matches!(p, P::AddP | P::MulP | P::MinP | P::MaxP | P::AndP | P::OrP | P::XorP).then_some(p)
        }
        Update::New | Update::Old => None,
    });
    ops.collect()
}

/// What each leaf of a scatter's combination does, where that is simple and cannot fault.
fn known_update(body: &Body, n: usize) -> Option<Vec<Update>> {
    if body.is_partial() {
        return None;
    }
    let simple = |k| simple_result(body, n, k).filter(|u| supported(*u, body.ty(body.region.results[k])));
    (0..n).map(simple).collect()
}
