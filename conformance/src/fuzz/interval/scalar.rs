//! Scalar functions in intervals.

use super::arrays::{Machine, Rounding, Sums};
use super::value::{self, Near};
use acc_core::data::{Prim, linear_index};
use acc_core::grow_stack;
use acc_core::ir::{CountedLoop, Foreign, Fun, Node, Part, PrimOp, Read, Region, ScalarOp, Val};

/// The values of a function's call.
struct Call<'f, 'm, 'p> {
    fun: &'f Fun,
    values: Vec<Option<Near>>,
    machine: &'m mut Machine<'p>,
}

/// How far the floats of one state lie from those of another; other values are what they are.
fn differences(to: &[Near], from: &[Near]) -> Option<Vec<Near>> {
    let difference = |(to, from): (&Near, &Near)| match to.lit.ty.is_float() {
        true => value::prim(PrimOp::SubP, &[*to, *from]),
        false => Some(*to),
    };
    to.iter().zip(from).map(difference).collect()
}

/// Calls a function; `None` if that cannot be said in intervals.
pub(super) fn call(machine: &mut Machine<'_>, fun: &Fun, args: &[Near]) -> Option<Vec<Near>> {
    let mut call = Call { fun, values: vec![None; fun.types.len()], machine };
    call.set(&fun.body.params, args);
    call.region(&fun.body)
}

impl Call<'_, '_, '_> {
    fn get(&self, vals: &[Val]) -> Option<Vec<Near>> {
        vals.iter().map(|v| self.values[v.index()]).collect()
    }

    fn set(&mut self, vals: &[Val], values: &[Near]) {
        for (v, x) in vals.iter().zip(values) {
            self.values[v.index()] = Some(*x);
        }
    }

    fn region(&mut self, region: &Region) -> Option<Vec<Near>> {
        grow_stack(|| region.nodes.iter().try_for_each(|n| self.node(n)))?;
        self.get(&region.results)
    }

    /// Whether a condition holds, and whether that is stable.
    fn condition(&mut self, v: Val) -> Option<(bool, bool)> {
        let c = self.values[v.index()]?;
        Some((c.lit.bits != 0, c.stable))
    }

    fn node(&mut self, node: &Node) -> Option<()> {
        let ty = |k: usize| node.results.get(k).map(|v| self.fun.ty(*v));
        let results: Vec<Near> = match &node.op {
            ScalarOp::Const(l) => vec![self.machine.zeros.of(Near::exact(*l))],
            ScalarOp::Prim(op, args) => vec![self.machine.zeros.of_prim(*op, value::prim(*op, &self.get(args)?)?)],
            ScalarOp::Cast(x) => vec![self.machine.zeros.of(value::cast(self.values[x.index()]?, ty(0)?)?)],
            ScalarOp::Bitcast(x) => vec![self.machine.zeros.of(value::bitcast(self.values[x.index()]?, ty(0)?)?)],
            ScalarOp::Select { cond, then, else_ } => {
                let (taken, stable) = self.condition(*cond)?;
                let chosen = self.values[if taken { *then } else { *else_ }.index()]?;
                vec![if stable { chosen } else { chosen.unstable() }]
            }
            ScalarOp::If { cond, then, else_ } => {
                let (taken, stable) = self.condition(*cond)?;
                let results = self.region(if taken { then } else { else_ })?;
                self.decided(stable, results)
            }
            ScalarOp::While { init, test, step } => {
                let mut state = self.get(init)?;
                let mut stable = true;
                let sums = CountedLoop::of(self.fun, test, step);
                let mut added = sums.as_ref().map(|_| Sums::new(&state));
                loop {
                    self.set(&test.params, &state);
                    let go_on = self.region(test)?;
                    stable &= go_on.iter().all(|c| c.stable);
                    if !go_on.iter().all(|c| c.lit.bits != 0) {
                        break;
                    }
                    self.set(&step.params, &state);
                    let next = self.region(step)?;
                    if let Some(added) = &mut added {
                        added.add(&differences(&next, &state)?);
                    }
                    state = next;
                }
                // Executors add up in any order.
                if let (Some(counted), Some(added)) = (sums, added) {
                    let widened = added.widen(state.clone(), Rounding::SUMS);
                    for ((x, wide), part) in state.iter_mut().zip(widened).zip(&counted.parts) {
                        *x = if *part == Part::Reduces(PrimOp::AddP) { wide } else { *x };
                    }
                }
                self.decided(stable, state)
            }
            ScalarOp::Own(Foreign { args, fallback, .. }) => {
                let args = self.get(args)?;
                self.set(&fallback.params, &args);
                self.region(fallback)?
            }
            ScalarOp::Index(Read { array, leaves, index, .. }) => {
                let index = self.get(index)?;
                let source = self.machine.array(*array)?;
                let at: Vec<i64> = index.iter().map(|i| i.lit.bits as i64).collect();
                let at = linear_index(&source.shape, &at)?;
                let element: Vec<Near> = leaves.iter().map(|&l| source.columns[l as usize][at]).collect();
                self.decided(index.iter().all(|i| i.stable), element)
            }
            ScalarOp::Extent { array, axis } => {
                let extent = self.machine.array(*array)?.shape[*axis as usize];
                vec![Near::exact((extent as i64).lit())]
            }
        };
        self.set(&node.results, &results);
        Some(())
    }

    /// Values that depend on a decision.
    fn decided(&mut self, stable: bool, values: Vec<Near>) -> Vec<Near> {
        if stable {
            return values;
        }
        self.machine.may_fault = true;
        values.into_iter().map(Near::unstable).collect()
    }
}
