//! Builds kernels from groups of statements.

use super::element::Elements;
use super::schedules::Wanted;
use super::{Collapsed, Joined, Launch, Lowering, Packed, Part, Unguarded, Work};
use crate::kernel::grouping;
use crate::kernel::{
    self, AxisKind, Body, Builder, Epilogue, Initial, Kernel, Op, Output, SegmentOperator, Sink, Update,
};
use acc_core::Error;
use acc_core::data::{Lit, ScalarType};
use acc_core::ir::{ArrayId, ArrayOp, Dir, Loc, PrimOp, Stmt, Val, arrays_needed};
use acc_desugar::analysis::choice::Choice;
use acc_desugar::analysis::segmented_operator::segmented_operator;
use acc_desugar::fuse::{Group, matrix_product};

impl Lowering<'_> {
    /// The kernel of statements, those of its epilogue last.
    pub(super) fn kernel_of(&self, stmts: &[&Stmt]) -> Result<Work, Error> {
        let mut kernel = self.kernel(stmts)?;
        self.limits.check()?;
        let check = |kernel: &Kernel| {
            kernel::verify(kernel)
                .map_err(|message| defect(format!("kernel of {}: {message}\n{kernel}", stmts[0].results[0])))
        };
        check(&kernel)?;
        // With permuted axes there are two versions: one fused with the scan, and one elementwise after it.
        let is_permuted = kernel.epilogue.as_ref().is_some_and(|e| e.order.is_some());
        let permuted = is_permuted.then(|| Box::new(kernel.clone()));
        let mut permuting = None;
        if is_permuted && let Some(e) = kernel.epilogue.take() {
            kernel.outputs.iter_mut().for_each(|o| o.stored = true);
            check(&kernel)?;
            permuting = Some(self.epilogue_launch(self.stored(&stmts[stmts.len() - e.outputs.len()..])?)?);
        }
        let combines = || kernel.outputs.iter().filter_map(|o| o.sink.combine());
        let combine_partial = combines().any(Body::is_partial);
        let combine_cost: usize = combines().map(|c| kernel::region_cost(&c.region)).sum();
        let cost = kernel::region_cost(&kernel.element.region) + combine_cost + 1;
        let scans = matches!(kernel.axes.last(), Some(AxisKind::Scan(_)));
        let fuses_epilogue = scans || kernel.outputs.iter().any(|o| matches!(o.sink, Sink::Compact));
        let epilogue = kernel
            .epilogue
            .as_ref()
            .filter(|_| !fuses_epilogue)
            .map(|e| self.epilogue_launch(e.kernel(&kernel.outputs)));
        let epilogue = epilogue.transpose()?.or(permuting).map(Box::new);
        let part = |s: &&Stmt| {
            let (closed, mut needs) = (self.closed_functions(s)?, arrays_needed(s));
            needs.retain(|a| !self.absorbed.contains(a));
            Ok(Part { result: s.results[0], name: s.operation(), loc: s.loc.clone(), op: s.op.clone(), closed, needs })
        };
        let parts = stmts.iter().map(part).collect::<Result<Vec<_>, Error>>()?;
        let checks = self.settings.checks;
        // The fold that an epilogue may follow, if it is the kernel's only output.
        let fold = stmts.first().filter(|_| kernel.outputs.len() == 1);
        let product = fold.zip(self.products.as_ref()).and_then(|(s, d)| matrix_product(d, s));
        // All have the same index space: that of the folded, scanned or scattered statement, if there is one.
        let of = |(s, o): &(&&Stmt, &Output)| (self.over(s).0, o.sink.is_combined());
        let mut spaces: Vec<(ArrayId, bool)> = stmts.iter().zip(&kernel.outputs).map(|x| of(&x)).collect();
        spaces.sort_by_key(|(_, combined)| !combined);
        let over = spaces[0].0;
        let packed = self.packed(&kernel, over)?;
        let collapsed = self.collapsed(stmts, &kernel, over)?;
        let unguarded = if product.is_none() { self.unguarded(&kernel, over)? } else { None };
        let joined = self.joined(&kernel, over)?;
        let launch = Launch {
            over,
            arrays: arrays(&kernel, fuses_epilogue, epilogue.as_deref()),
            product,
            packed,
            unguarded,
            collapsed,
            joined,
            fuses_epilogue,
            epilogue,
            permuted,
            cost,
            is_trivial: is_trivial_point(&kernel),
            column_major: kernel.is_column_major(),
            combine_partial,
            checks,
            flags: Vec::new(),
            flag_positions: None,
            kernel,
            code: (),
        };
        Ok(Work::Kernel { launch: Box::new(launch), parts })
    }

    /// The launch with packed operands.
    fn packed(&self, kernel: &Kernel, over: ArrayId) -> Result<Option<Box<Packed>>, Error> {
        let packed = if kernel.has_schedule { None } else { kernel.packed() };
        let Some((kernel, arrays)) = packed else { return Ok(None) };
        Ok(Some(Box::new(Packed { launch: self.alternative(kernel, over)?, arrays })))
    }

    /// The launch in register tiles where all guards hold, if they prevent those.
    fn unguarded(&self, kernel: &Kernel, over: ArrayId) -> Result<Option<Box<Unguarded>>, Error> {
        if kernel.folded() == 0 || kernel.has_schedule {
            return Ok(None);
        }
        let Some((kernel, guards)) = kernel.unguarded() else { return Ok(None) };
        let kernel = kernel.register_tiled();
        if !kernel.is_scheduled() {
            return Ok(None);
        }
        let packed = self.packed(&kernel, over)?;
        let launch = Launch { packed, ..self.alternative(kernel, over)? };
        Ok(Some(Box::new(Unguarded { launch, guards })))
    }

    /// The launch with neighbouring axes as one, if a schedule of these statements' kernel says so.
    fn collapsed(&self, stmts: &[&Stmt], kernel: &Kernel, over: ArrayId) -> Result<Option<Box<Collapsed>>, Error> {
        let wanted = stmts.iter().find_map(|s| self.schedules.of_array(s.results[0]));
        let Some(schedule) = wanted.and_then(Wanted::collapsing).filter(|_| kernel.has_schedule) else {
            return Ok(None);
        };
        let (kernel, pairs) = kernel.collapsed(schedule, over);
        Ok(Some(Box::new(Collapsed { launch: self.alternative(kernel, over)?, pairs, schedule: schedule.clone() })))
    }

    /// The launch with the last axes as one.
    fn joined(&self, kernel: &Kernel, over: ArrayId) -> Result<Option<Box<Joined>>, Error> {
        let Some((kernel, pairs)) = kernel.joined(over) else { return Ok(None) };
        Ok(Some(Box::new(Joined { launch: self.alternative(kernel, over)?, pairs })))
    }

    /// The launch of a kernel that runs in place of the one it is made of, where extents allow it.
    fn alternative(&self, kernel: Kernel, over: ArrayId) -> Result<Launch, Error> {
        kernel::verify(&kernel)
            .map_err(|message| defect(format!("an alternative of a kernel: {message}\n{kernel}")))?;
        let epilogue = kernel.epilogue.as_ref().map(|e| self.epilogue_launch(e.kernel(&kernel.outputs)));
        Ok(Launch { epilogue: epilogue.transpose()?.map(Box::new), ..self.alone(over, kernel) })
    }

    /// The launch of an epilogue over completed results.
    fn epilogue_launch(&self, kernel: Kernel) -> Result<Launch, Error> {
        kernel::verify(&kernel).map_err(|message| defect(format!("an epilogue: {message}\n{kernel}")))?;
        let over = kernel.outputs[0].result;
        let joined = self.joined(&kernel, over)?;
        Ok(Launch { joined, ..self.alone(over, kernel) })
    }

    /// The launch of an elementwise kernel, over the index space of an array.
    pub(super) fn alone(&self, over: ArrayId, kernel: Kernel) -> Launch {
        alone(over, kernel, self.settings.checks)
    }

    fn kernel(&self, stmts: &[&Stmt]) -> Result<Kernel, Error> {
        let first = stmts[0];
        let group = self.fusion.kernel(first.results[0]).cloned().unwrap_or_default();
        let is_main = |s: &&&Stmt| group.main.contains(&s.results[0]);
        let main: Vec<&Stmt> = stmts.iter().filter(is_main).copied().collect();
        let last: Vec<&Stmt> = stmts.iter().filter(|s| !is_main(s)).copied().collect();
        let axes = self.axes(&main);
        let mut b = Builder::over_axes(axes.len(), first.loc.clone());
        let point = b.params();
        let mut elements = Elements::new(self, point.clone(), &group.main);
        let mut results: Vec<Val> = Vec::new();
        let mut outputs = Vec::new();
        for s in main {
            let from = results.len();
            let result = s.results[0];
            results.extend(match &s.op {
                ArrayOp::Fold { .. } | ArrayOp::Scan { .. } | ArrayOp::FoldSeg { .. } => {
                    elements.read(&mut b, self.over(s).0, &point)?
                }
                ArrayOp::Permute { target, xs, .. } => {
                    let element = elements.read(&mut b, *xs, &point)?;
                    b.at(&s.loc);
                    let compaction = self.fusion.compaction(result);
                    for &count in compaction.iter().flat_map(|c| &c.counts) {
                        // The targets of a compaction follow from which elements are kept.
                        let zero = b.constant(Lit { ty: ScalarType::I64, bits: 0 });
                        elements.bind(count, vec![zero]);
                    }
                    let mut values = b.inline(target, &point, &mut elements)?;
                    if compaction.is_some() {
                        values.truncate(1);
                    }
                    values.extend(element);
                    values
                }
                // Elementwise.
                _ => elements.compute(&mut b, s, &point, None)?,
            });
            let stored = !group.transient.contains(&result);
            outputs.push(self.output(s, from..results.len(), self.sink(s)?, stored));
        }
        let element = self.finished(b, results)?;
        let epilogue = if last.is_empty() { None } else { Some(self.epilogue(&outputs, &last, &group)?) };
        let mut fused: Vec<ArrayId> = Vec::new();
        for s in stmts {
            fused.extend(self.uses(s).into_iter().filter(|a| self.fusion.is_inlined(*a)));
        }
        fused.sort_unstable();
        fused.dedup();
        let loops = kernel::row_major(axes.len());
        let kernel =
            Kernel { axes, loops, has_schedule: false, collapsed: Vec::new(), element, outputs, epilogue, fused }
                .with_fused_terms();
        let kernel = match stmts.iter().find_map(|s| self.schedules.of_array(s.results[0])) {
            Some(wanted) => wanted.apply(kernel)?,
            None => kernel.register_tiled(),
        };
        Ok(kernel.forward_loads())
    }

    fn output(&self, s: &Stmt, values: std::ops::Range<usize>, sink: Sink, stored: bool) -> Output {
        Output { result: s.results[0], op: s.operation(), loc: s.loc.clone(), values, sink, stored }
    }

    /// The array with the extents of a statement's index space, and the number of innermost axes that it folds.
    fn over(&self, s: &Stmt) -> (ArrayId, usize) {
        match &s.op {
            ArrayOp::Fold { xs, .. } => {
                let nested = self.fusion.nested(s.results[0]);
                let elements = |a: &ArrayId| match self.stmts[a.index()].map(|s| &s.op) {
                    Some(ArrayOp::Fold { xs, .. }) => Some(*xs),
                    _ => None,
                };
                (nested.last().and_then(elements).unwrap_or(*xs), nested.len() + 1)
            }
            ArrayOp::Scan { xs, .. } | ArrayOp::Permute { xs, .. } | ArrayOp::FoldSeg { xs, .. } => (*xs, 0),
            // Elementwise.
            _ => (s.results[0], 0),
        }
    }

    /// The axes of a kernel's index space, by what its statements do along the innermost ones.
    fn axes(&self, main: &[&Stmt]) -> Vec<AxisKind> {
        let mut axes = Vec::new();
        for s in main {
            let (over, folded) = self.over(s);
            axes.resize(self.program.ty(over).rank, AxisKind::Parallel);
            for inner in axes.iter_mut().rev().take(folded).filter(|kind| **kind == AxisKind::Parallel) {
                *inner = AxisKind::Reduction;
            }
            if let (Some(inner), ArrayOp::Scan { dir, .. }) = (axes.last_mut(), &s.op) {
                *inner = AxisKind::Scan(*dir);
            }
        }
        axes
    }

    /// The sink of a statement.
    fn sink(&self, s: &Stmt) -> Result<Sink, Error> {
        let ty = self.program.ty(s.results[0]);
        let leaves = ty.elt.leaves();
        Ok(match &s.op {
            ArrayOp::Fold { f, init, .. } => {
                let combine = self.operator(f, &leaves, &s.loc)?;
                let builtin = builtin_operator(&combine, leaves.len());
                Sink::Fold { combine, builtin, init: init.is_some(), fused: false }
            }
            ArrayOp::Scan { dir, f, init, .. } => {
                let combine = self.operator(f, &leaves, &s.loc)?;
                let builtin = builtin_operator(&combine, leaves.len());
                let segmented = segmented_operator(f, *dir);
                let runs = builtin.is_none() && segmented.is_none() && grouping::scans_runs(&combine);
                Sink::Scan { combine, builtin, segmented, runs, init: init.is_some() }
            }
            ArrayOp::FoldSeg { f, init, offsets, .. } => {
                let combine = self.operator(f, &leaves, &s.loc)?;
                let unknown = || defect(format!("`{}` at {} is a loop here", s.op.name(), s.loc));
                let builtin = builtin_operator(&combine, leaves.len()).map(SegmentOperator::Builtin);
                let choice = || Choice::of_either(f, Dir::Left).map(SegmentOperator::Choice);
                let operator = builtin.or_else(choice).ok_or_else(unknown)?;
                Sink::Segments { combine, operator, init: init.is_some(), offsets: *offsets }
            }
            ArrayOp::Permute { .. } if self.fusion.compaction(s.results[0]).is_some() => Sink::Compact,
            ArrayOp::Permute { combine, defaults, .. } => {
                let combine = self.operator(combine, &leaves, &s.loc)?;
                let builtin = builtin_update(&combine, leaves.len());
                Sink::Scatter { initial: self.initial(*defaults, &s.loc)?, combine, builtin, rank: ty.rank }
            }
            // Elementwise.
            _ => Sink::Store,
        })
    }

    fn initial(&self, defaults: ArrayId, loc: &Loc) -> Result<Initial, Error> {
        if !self.fusion.is_inlined(defaults) {
            return Ok(Initial::Array(defaults));
        }
        let mut b = Builder::over_axes(self.program.ty(defaults).rank, loc.clone());
        let point = b.params();
        let results = Elements::new(self, point.clone(), &[]).read(&mut b, defaults, &point)?;
        Ok(Initial::Computed(self.finished(b, results)?))
    }

    /// The elementwise kernel of an epilogue over completed results.
    fn stored(&self, last: &[&Stmt]) -> Result<Kernel, Error> {
        let rank = self.program.ty(last[0].results[0]).rank;
        let own: Vec<ArrayId> = last.iter().map(|s| s.results[0]).collect();
        let mut b = Builder::over_axes(rank, last[0].loc.clone());
        let point = b.params();
        let mut elements = Elements::new(self, point.clone(), &own);
        let (results, outputs) = self.points(&mut b, &mut elements, &point, last)?;
        let (axes, loops) = (vec![AxisKind::Parallel; rank], kernel::row_major(rank));
        let element = self.finished(b, results)?;
        Ok(Kernel {
            axes,
            loops,
            has_schedule: false,
            collapsed: Vec::new(),
            element,
            outputs,
            epilogue: None,
            fused: Vec::new(),
        })
    }

    /// Computes elementwise statements at a point, and stores them.
    fn points(
        &self,
        b: &mut Builder,
        elements: &mut Elements<'_, '_>,
        point: &[Val],
        stmts: &[&Stmt],
    ) -> Result<(Vec<Val>, Vec<Output>), Error> {
        let (mut results, mut outputs) = (Vec::new(), Vec::new());
        for s in stmts {
            let from = results.len();
            results.extend(elements.compute(b, s, point, None)?);
            outputs.push(self.output(s, from..results.len(), Sink::Store, true));
        }
        Ok((results, outputs))
    }

    fn epilogue(&self, outputs: &[Output], last: &[&Stmt], group: &Group) -> Result<Epilogue, Error> {
        let combined: Vec<&Output> = outputs.iter().filter(|o| o.sink.is_combined()).collect();
        let leaves = |o: &Output| self.program.ty(o.result).elt.leaves();
        let types: Vec<ScalarType> = combined.iter().flat_map(|o| leaves(o).to_vec()).collect();
        let rank = self.program.ty(last[0].results[0]).rank;
        let mut b = Builder::over_axes_and(rank, &types, last[0].loc.clone());
        let params = b.params();
        let (place, mut rest) = params.split_at(rank);
        // The index into a result, whose axes may be permuted.
        let axes = group.order.clone().unwrap_or_else(|| (0..rank).collect());
        let point: Vec<Val> = axes.iter().map(|&axis| place[axis]).collect();
        let mut elements = Elements::new(self, point.clone(), &group.epilogue);
        for o in combined {
            let (given, after) = rest.split_at(leaves(o).len());
            elements.bind_at(o.result, place.to_vec(), given.to_vec());
            rest = after;
        }
        let (results, outputs) = self.points(&mut b, &mut elements, &point, last)?;
        let order = group.order.clone();
        Ok(Epilogue { body: self.finished(b, results)?, leaves: types.len(), outputs, order })
    }
}

/// The arrays that the bodies of a launch load from or query for extents.
fn arrays(kernel: &Kernel, fuses_epilogue: bool, after: Option<&Launch>) -> Vec<ArrayId> {
    let combine = kernel.outputs.iter().filter_map(|o| o.sink.combine());
    let epilogue = kernel.epilogue.iter().filter(|_| fuses_epilogue).map(|e| &e.body);
    let after = after.map(|after| &after.kernel.element);
    let bodies = [&kernel.element].into_iter().chain(combine).chain(epilogue).chain(after);
    bodies.flat_map(Body::arrays).collect()
}

/// Whether a kernel has one point, and so few operations that a launch does not pay off.
fn is_trivial_point(kernel: &Kernel) -> bool {
    let stores = |o: &Output| matches!(o.sink, Sink::Store);
    kernel.axes.is_empty() && kernel.outputs.iter().all(stores) && kernel.element.is_trivial()
}

fn defect(message: String) -> Error {
    Error::defect(crate::NAME, message)
}

/// How result `k` of a body with `2 * n` parameters depends on parameters `k` and `n + k`, if simply.
fn simple_result(body: &Body, n: usize, k: usize) -> Option<Update> {
    let (new, old) = (body.region.params[k], body.region.params[n + k]);
    let v = body.region.results[k];
    if v == new {
        return Some(Update::New);
    }
    if v == old {
        return Some(Update::Old);
    }
    match &body.region.definition(v)?.op {
        Op::Prim(p, args) if args[..] == [new, old] => Some(Update::Prim(*p)),
        Op::Prim(p, args) if args[..] == [old, new] => Some(Update::PrimOldFirst(*p)),
        _ => None,
    }
}

/// The built-in operators of a combination: one associative and commutative primitive per leaf.
fn builtin_operator(body: &Body, n: usize) -> Option<Vec<PrimOp>> {
    let ops = (0..n).map(|k| match simple_result(body, n, k)? {
        Update::Prim(p) | Update::PrimOldFirst(p) => p.is_reduction().then_some(p),
        Update::New | Update::Old => None,
    });
    ops.collect()
}

/// The built-in operation of each leaf of a scatter's combination, if it is simple and cannot fault.
fn builtin_update(body: &Body, n: usize) -> Option<Vec<Update>> {
    if body.is_partial() {
        return None;
    }
    let simple = |k| simple_result(body, n, k).filter(|u| u.has_loop(body.ty(body.region.results[k])));
    (0..n).map(simple).collect()
}

/// The launch of a kernel over the index space of an array, without an epilogue.
pub(crate) fn alone(over: ArrayId, kernel: Kernel, checks: bool) -> Launch {
    Launch {
        over,
        arrays: arrays(&kernel, false, None),
        fuses_epilogue: false,
        epilogue: None,
        permuted: None,
        cost: kernel::region_cost(&kernel.element.region) + 1,
        is_trivial: is_trivial_point(&kernel),
        column_major: kernel.is_column_major(),
        combine_partial: false,
        checks,
        product: None,
        packed: None,
        unguarded: None,
        collapsed: None,
        joined: None,
        flags: Vec::new(),
        flag_positions: None,
        kernel,
        code: (),
    }
}
