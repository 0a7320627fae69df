//! From an array program to a plan: one step per statement, and kernels for those that compute.
//!
//! 1. [`fuse`](acc_desugar::fuse) has decided which statements form a kernel, and which are inlined where they are
//!    read.
//! 2. [`group`] assembles a kernel; [`element`] builds its bodies, with fused producers inlined.
//!
//! Nothing here depends on extents or data: a plan serves all of them.

mod alternatives;
mod element;
mod flags;
mod group;
pub(crate) mod row_blocking;
pub(crate) mod row_reads;
mod schedules;
mod uses;
mod verify;

pub(crate) use alternatives::{Collapsed, Joined, Packed, Unguarded};

use crate::kernel::{self, Bits, Body, Kernel, Loads, Output, Sink};
use acc_core::data::ScalarType;
use acc_core::ir::{
    ArrayId, ArrayOp, ArrayType, Block, Class, ForeignFun, Fun, Loc, Program, Stmt, arrays_needed, strict_statements,
};
use acc_core::{Error, RunLimits};
use acc_desugar::analysis::contraction::{Contraction, Definitions};
use acc_desugar::fuse::{End, Fusion, Note, Selection};
use element::Elements;
#[cfg(test)]
pub(crate) use group::alone;
use row_blocking::RowBlocking;
use schedules::Schedules;
pub(crate) use schedules::refused_schedule;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// A program as steps. `K` is the code of kernels and `F` that of closed functions: nothing and bodies after lowering,
/// executable code once they are [prepared](crate::prepare).
pub(crate) struct Plan<K = (), F = Body> {
    /// Every statement, including those of nested blocks.
    pub steps: Vec<Step<K, F>>,
    /// The step that defines an array; none for parameters.
    pub def: Vec<Option<usize>>,
    pub types: Vec<ArrayType>,
    pub body: BlockPlan,
    /// Fusion decisions, and the reasons for them.
    pub notes: Vec<Note>,
}

impl<K, F> Plan<K, F> {
    /// The kernels, in order.
    pub(crate) fn launches(&self) -> impl Iterator<Item = &Launch<K>> {
        self.steps.iter().filter_map(|s| match &s.work {
            Work::Kernel { launch, .. } => Some(&**launch),
            Work::Array { .. } | Work::If { .. } | Work::While { .. } | Work::Foreign { .. } => None,
        })
    }

    /// All launches, mutable.
    #[cfg(test)]
    pub(crate) fn launches_mut(&mut self) -> impl Iterator<Item = &mut Launch<K>> {
        self.steps.iter_mut().filter_map(|s| match &mut s.work {
            Work::Kernel { launch, .. } => Some(&mut **launch),
            Work::Array { .. } | Work::If { .. } | Work::While { .. } | Work::Foreign { .. } => None,
        })
    }
}

/// The statements of a block, by step number.
pub(crate) struct BlockPlan {
    pub params: Vec<ArrayId>,
    pub steps: Vec<usize>,
    /// Whether evaluating the block always evaluates the step.
    pub strict: Vec<bool>,
    /// The arrays whose last use is the step.
    pub dead: Vec<Vec<ArrayId>>,
    /// The arrays from outside whose last use in the block is the step.
    pub last: Vec<Vec<ArrayId>>,
    /// Steps whose kernels may run with row blocking.
    pub row_blockings: Vec<RowBlocking>,
    pub results: Vec<ArrayId>,
}

/// One statement.
pub(crate) struct Step<K = (), F = Body> {
    pub results: Vec<ArrayId>,
    pub loc: Loc,
    pub op: &'static str,
    /// Arrays that its evaluation always needs.
    pub needs: Vec<ArrayId>,
    pub work: Work<K, F>,
}

impl<K, F> Step<K, F> {
    /// The nested blocks of a step, with their names.
    pub(crate) fn blocks(&self) -> Vec<(&'static str, &BlockPlan)> {
        match &self.work {
            Work::Array { .. } | Work::Kernel { .. } => Vec::new(),
            Work::If { then, else_, .. } => vec![("then", then), ("else", else_)],
            Work::While { test, step, .. } => vec![("test", test), ("step", step)],
            Work::Foreign { function: ForeignFun::Host(_), fallback, .. } => {
                vec![("without a host function of this name", fallback)]
            }
            Work::Foreign { function: ForeignFun::Trace(_), fallback, .. } => vec![("then", fallback)],
        }
    }
}

/// What a step computes.
pub(crate) enum Work<K = (), F = Body> {
    /// An array operation: its closed functions, in order, then how its elements are materialized.
    Array {
        op: ArrayOp,
        closed: Vec<Closed<F>>,
        materialization: Materialization,
    },
    /// A kernel, and the statements whose results it computes: those of its outputs, then those of its epilogue.
    Kernel {
        launch: Box<Launch<K>>,
        parts: Vec<Part<F>>,
    },
    If {
        cond: Closed<F>,
        then: BlockPlan,
        else_: BlockPlan,
    },
    While {
        init: Vec<ArrayId>,
        /// Those of these arrays that no step reads, and whether nothing else does.
        only_initial: Vec<(ArrayId, bool)>,
        test: BlockPlan,
        step: BlockPlan,
    },
    Foreign {
        function: ForeignFun,
        xs: Vec<ArrayId>,
        fallback: BlockPlan,
    },
}

/// How the elements of an array are materialized.
pub(crate) enum Materialization {
    /// Inlined in the consumer; only the extents are computed here.
    Fused,
    /// The same columns with another shape.
    View,
    /// The permutation that sorts the rows of the operand.
    Argsort,
    /// The sorted rows of the operand.
    Sort,
    /// Of the permutation that sorts the rows of the operand the part at an end of each row; the rest is not defined. A closed
    /// function says how many elements it has.
    Selection(End),
}

/// A statement of a kernel.
pub(crate) struct Part<F = Body> {
    pub result: ArrayId,
    pub name: &'static str,
    pub loc: Loc,
    pub op: ArrayOp,
    /// Its closed functions, in order.
    pub closed: Vec<Closed<F>>,
    /// The arrays that it needs once the preceding parts have extents.
    pub needs: Vec<ArrayId>,
}

/// A kernel and the facts about it that do not depend on extents. `K` is the executor's code for it.
pub(crate) struct Launch<K = ()> {
    pub kernel: Kernel,
    /// The array with the extents of the index space.
    pub over: ArrayId,
    /// Whether the epilogue is fused with the scan or compaction, element by element.
    pub fuses_epilogue: bool,
    /// Otherwise the epilogue as a launch over completed results.
    pub epilogue: Option<Box<Launch<K>>>,
    /// The kernel with an epilogue that stores with permuted axes, which machine code can fuse.
    pub permuted: Option<Box<Kernel>>,
    /// The cost of a point, in vectorised additions.
    pub cost: usize,
    /// Whether it has one point and so few operations that a launch does not pay off.
    pub is_trivial: bool,
    /// Whether its rows are [strided in memory](Kernel::is_column_major).
    pub column_major: bool,
    /// Whether a combination can fault, demand an array or diverge.
    pub combine_partial: bool,
    /// Whether an index out of bounds is a fault; otherwise it is clamped, which the tile executor does.
    pub checks: bool,
    /// The kernel's fold as a matrix product, if it is one.
    pub product: Option<Contraction>,
    /// The launch with packed operands, if the kernel has any.
    pub packed: Option<Box<Packed<K>>>,
    /// The launch in register tiles where all guards hold, if it needs them for that.
    pub unguarded: Option<Box<Unguarded<K>>>,
    /// The launch with neighbouring axes as one, if its schedule says so.
    pub collapsed: Option<Box<Collapsed<K>>>,
    /// The launch with its last axes as one, if it has any that are neighbours in memory.
    pub joined: Option<Box<Joined<K>>>,
    /// The arrays that its bodies, including the epilogue, load from or query for extents. Excludes the initial array
    /// of a scatter.
    pub arrays: Vec<ArrayId>,
    /// The boolean arrays of which each point of a scan reads its own element only.
    pub flags: Vec<ArrayId>,
    /// For a scatter that sets flags which only scans read, each at its own element: the launch that stores their
    /// positions.
    pub flag_positions: Option<Box<Launch<K>>>,
    pub code: K,
}

impl<K> Launch<K> {
    /// Whether its bodies read an array.
    pub(crate) fn reads(&self, a: ArrayId) -> bool {
        self.arrays.contains(&a)
    }

    /// The outputs of the kernel, then those of the epilogue.
    pub(crate) fn outputs(&self) -> impl Iterator<Item = &Output> {
        let epilogue = self.whole().epilogue.iter().flat_map(|e| &e.outputs);
        self.kernel.outputs.iter().chain(epilogue)
    }

    /// The kernel together with its epilogue.
    pub(crate) fn whole(&self) -> &Kernel {
        self.permuted.as_deref().unwrap_or(&self.kernel)
    }

    /// Whether the kernel is a compaction.
    pub(crate) fn is_compaction(&self) -> bool {
        matches!(self.kernel.outputs.first().map(|o| &o.sink), Some(Sink::Compact))
    }
}

/// A closed function.
pub(crate) enum Closed<F = Body> {
    Known(Bits),
    Code(F),
}

/// How programs are lowered, from [`Options`](crate::Options).
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub fuse: bool,
    pub checks: bool,
    pub relaxed: bool,
    pub kept_states: usize,
}

/// Lowers a program after fusion, within the limits of a run.
pub(crate) fn lower(program: &Program, fusion: &Fusion, settings: Settings, limits: &RunLimits) -> Result<Plan, Error> {
    let mut plan = Plan {
        steps: Vec::new(),
        def: vec![None; program.types.len()],
        types: program.types.clone(),
        body: BlockPlan {
            params: Vec::new(),
            steps: Vec::new(),
            strict: Vec::new(),
            dead: Vec::new(),
            last: Vec::new(),
            row_blockings: Vec::new(),
            results: Vec::new(),
        },
        notes: fusion.notes.clone(),
    };
    let mut stmts: Vec<Option<&Stmt>> = vec![None; program.types.len()];
    index_statements(&program.body, &mut stmts);
    let products = settings.fuse.then(|| Definitions::new(program));
    let absorbed = fusion.compactions().flat_map(|(_, c)| c.absorbed.iter().chain([&c.defaults])).copied().collect();
    let free_arrays = RefCell::default();
    let schedules = if settings.fuse { Schedules::of(program, fusion)? } else { Schedules::default() };
    let lowering = Lowering { program, fusion, settings, limits, stmts, schedules, products, absorbed, free_arrays };
    plan.body = lowering.block(&program.body, &mut plan)?;
    lowering.flags(&mut plan);
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

/// The inputs of lowering.
struct Lowering<'a> {
    program: &'a Program,
    fusion: &'a Fusion,
    settings: Settings,
    limits: &'a RunLimits,
    /// The statement that defines an array.
    stmts: Vec<Option<&'a Stmt>>,
    /// The schedules that the program gives arrays; none where every statement is a kernel of its own.
    schedules: Schedules<'a>,
    /// The definitions that matrix products are recognised from; none where a kernel must remain a loop nest.
    products: Option<Definitions<'a>>,
    /// Arrays absorbed by a compaction, which no step computes.
    absorbed: HashSet<ArrayId>,
    /// The arrays that each block visited so far uses from outside, by its address in the program.
    free_arrays: RefCell<HashMap<*const Block, Rc<[ArrayId]>>>,
}

impl<'a> Lowering<'a> {
    fn block(&self, b: &Block, plan: &mut Plan) -> Result<BlockPlan, Error> {
        acc_core::grow_stack(|| self.statements(b, plan))
    }

    fn statements(&self, b: &Block, plan: &mut Plan) -> Result<BlockPlan, Error> {
        let strict = strict_statements(&b.stmts, &b.results);
        let mut steps = Vec::new();
        let mut step_is_strict = Vec::new();
        let units = self.units(b);
        for (number, unit) in units.iter().enumerate() {
            self.limits.check()?;
            let stmts: Vec<&Stmt> = unit.iter().map(|&k| &b.stmts[k]).collect();
            let mut work = match stmts[..] {
                [s] => self.work(s, plan)?,
                _ => self.kernel_of(&stmts)?,
            };
            if let (Work::While { only_initial, .. }, [s]) = (&mut work, &stmts[..]) {
                *only_initial = self.only_initial(s, b, &units, number);
            }
            let mut results: Vec<ArrayId> = stmts.iter().flat_map(|s| s.results.iter().copied()).collect();
            // The initial array of a compaction has extents, which are those of its result.
            let begun = results.iter().filter_map(|&r| self.fusion.compaction(r)).map(|c| c.defaults);
            results.extend(begun.collect::<Vec<_>>());
            for r in &results {
                plan.def[r.index()] = Some(plan.steps.len());
            }
            let mut needs: Vec<ArrayId> = stmts.iter().flat_map(|s| arrays_needed(s)).collect();
            needs.retain(|a| stmts.len() == 1 || !self.follows(*a, &results));
            needs.retain(|a| results.iter().all(|r| !self.is_absorbed_by(*r, *a)));
            let (loc, op) = stmts.first().map_or((Loc::unknown(), ""), |s| (s.loc.clone(), s.operation()));
            steps.push(plan.steps.len());
            step_is_strict.push(unit.iter().any(|&k| strict[k]));
            plan.steps.push(Step { results, loc, op, needs, work });
        }
        let (dead, last) = self.dead(b, &units, &step_is_strict);
        let (params, results) = (b.params.clone(), b.results.clone());
        let mut block =
            BlockPlan { params, steps, strict: step_is_strict, dead, last, row_blockings: Vec::new(), results };
        if self.settings.fuse {
            let within = |a: ArrayId| self.schedules.within(a);
            block.row_blockings =
                row_blocking::row_blockings(plan, &block, &within, |a, steps| self.is_used(b, &units, a, steps));
            self.schedules.check_within(
                b.stmts.iter().flat_map(|s| s.results.iter().copied()),
                |a| block.row_blockings.iter().any(|r| r.transient.contains(&a)),
                |a| row_blocking::why_not_within(plan, &block, a),
            )?;
        }
        Ok(block)
    }

    /// The statements of a block in evaluation order, those of one kernel together.
    fn units(&self, b: &Block) -> Vec<Vec<usize>> {
        let mut number: HashMap<ArrayId, usize> =
            b.stmts.iter().enumerate().flat_map(|(k, s)| s.results.iter().map(move |r| (*r, k))).collect();
        let absorbed = |s: &Stmt| !s.results.is_empty() && s.results.iter().all(|r| self.absorbed.contains(r));
        let mut done: Vec<bool> = b.stmts.iter().map(absorbed).collect();
        for (permute, c) in self.fusion.compactions() {
            if let Some(&k) = number.get(&permute) {
                number.insert(c.defaults, k);
            }
        }
        let mut units = Vec::new();
        for k in 0..b.stmts.len() {
            self.unit(b, k, &number, false, &mut done, &mut units);
        }
        units
    }

    /// Adds the unit of a statement after the units that it needs. If it is scheduled `ahead` of its position, the
    /// units that it needs may still be missing.
    fn unit(
        &self,
        b: &Block,
        k: usize,
        number: &HashMap<ArrayId, usize>,
        ahead: bool,
        done: &mut [bool],
        units: &mut Vec<Vec<usize>>,
    ) {
        if done[k] {
            return;
        }
        let group = b.stmts[k].results.first().and_then(|&r| self.fusion.kernel(r));
        let mut unit: Vec<usize> = match group {
            Some(g) => g.main.iter().chain(&g.epilogue).filter_map(|a| number.get(a).copied()).collect(),
            None => vec![k],
        };
        if unit.is_empty() {
            unit.push(k);
        }
        unit.iter().for_each(|&k| done[k] = true);
        if ahead || unit.len() > 1 {
            let results: Vec<ArrayId> = unit.iter().flat_map(|&k| b.stmts[k].results.iter().copied()).collect();
            for &member in &unit {
                for a in self.uses(&b.stmts[member]) {
                    if let Some(&d) = number.get(&a).filter(|_| !self.follows(a, &results)) {
                        acc_core::grow_stack(|| self.unit(b, d, number, true, done, units));
                    }
                }
            }
        }
        units.push(unit);
    }

    /// Whether an array is absorbed by the compaction with this result.
    fn is_absorbed_by(&self, result: ArrayId, a: ArrayId) -> bool {
        self.fusion.compaction(result).is_some_and(|c| c.defaults == a || c.absorbed.contains(&a))
    }

    /// Whether an array is one of `results`, or is fused and computed from one of them.
    fn follows(&self, a: ArrayId, results: &[ArrayId]) -> bool {
        let inlined = || self.stmts[a.index()].filter(|_| self.fusion.is_inlined(a));
        results.contains(&a) || inlined().is_some_and(|s| self.uses(s).iter().any(|u| results.contains(u)))
    }

    fn work(&self, s: &Stmt, plan: &mut Plan) -> Result<Work, Error> {
        Ok(match &s.op {
            ArrayOp::If { cond, then, else_ } => Work::If {
                cond: self.closed(cond, &s.loc)?,
                then: self.block(then, plan)?,
                else_: self.block(else_, plan)?,
            },
            ArrayOp::While { init, test, step } => {
                let (init, test, step) = (init.clone(), self.block(test, plan)?, self.block(step, plan)?);
                Work::While { init, only_initial: Vec::new(), test, step }
            }
            ArrayOp::Foreign { function, xs, fallback } => {
                Work::Foreign { function: function.clone(), xs: xs.clone(), fallback: self.block(fallback, plan)? }
            }
            ArrayOp::Backpermute { .. } if self.fusion.is_sorted(s.results[0]) => {
                self.without_kernel(s, Materialization::Sort)?
            }
            op => match op.class() {
                Class::View => self.without_kernel(s, Materialization::View)?,
                _ if self.fusion.is_inlined(s.results[0]) => self.without_kernel(s, Materialization::Fused)?,
                Class::Sort => match self.fusion.selection(s.results[0]) {
                    Some(Selection { end, count }) => Work::Array {
                        op: s.op.clone(),
                        closed: vec![self.closed(count, &s.loc)?],
                        materialization: Materialization::Selection(*end),
                    },
                    None => self.without_kernel(s, Materialization::Argsort)?,
                },
                _ if self.fusion.kernel(s.results[0]).is_some() => self.kernel_of(&[s])?,
                _ => self.without_kernel(s, Materialization::View)?,
            },
        })
    }

    /// A statement outside of any kernel.
    fn without_kernel(&self, s: &Stmt, materialization: Materialization) -> Result<Work, Error> {
        Ok(Work::Array { op: s.op.clone(), closed: self.closed_functions(s)?, materialization })
    }

    fn closed_functions(&self, s: &Stmt) -> Result<Vec<Closed>, Error> {
        s.op.closed().into_iter().map(|f| self.closed(f, &s.loc)).collect()
    }

    /// A finished body, simplified unless fusion is off: then all faults occur where its functions have them.
    fn finished(&self, b: kernel::Builder, results: Vec<acc_core::ir::Val>) -> Result<Body, Error> {
        // Bodies may be long, so poll the limits.
        self.limits.check()?;
        let keep = if self.settings.fuse { kernel::Keep::Checks } else { kernel::Keep::Partial };
        let body = b.finish(results, keep);
        self.limits.check()?;
        let mut body = kernel::expand(body);
        body.relaxed = self.settings.relaxed;
        self.limits.check()?;
        Ok(if self.settings.checks { body } else { body.unchecked() })
    }

    /// A closed function, compiled for one lane.
    fn closed(&self, f: &Fun, loc: &Loc) -> Result<Closed, Error> {
        let mut b = kernel::Builder::with_params(&[], loc.clone());
        let results = b.inline(f, &[], &mut Elements::new(self, Vec::new(), &[]))?;
        let body = self.finished(b, results)?;
        let known: Option<Bits> =
            body.region.results.iter().map(|v| body.consts.iter().find(|(c, _)| c == v).map(|(_, l)| l.bits)).collect();
        Ok(match known {
            Some(bits) if body.region.nodes.is_empty() => Closed::Known(bits),
            _ => Closed::Code(body),
        })
    }

    fn operator(&self, f: &Fun, leaves: &[ScalarType], loc: &Loc) -> Result<Body, Error> {
        let mut b = kernel::Builder::with_params(&[leaves, leaves].concat(), loc.clone());
        let params = b.params();
        let results = b.inline(f, &params, &mut Loads)?;
        self.finished(b, results)
    }
}

/// The kernels of a program, fused but not simplified, for tests.
#[cfg(test)]
pub(crate) fn of_text(name: &str, text: &str) -> Plan {
    let program = acc_core::text::parse(name, text).unwrap();
    let settings = crate::Options::default().settings();
    lower(&program, &acc_desugar::fuse(&program), settings, &RunLimits::none()).unwrap()
}
