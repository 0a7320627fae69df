//! How much a scalar value varies over the index space: one that does not vary is no tensor of the space.

use crate::graph::builder::is_size_prim;
use acc_core::data::ScalarType;
use acc_core::ir::{Foreign, Fun, PrimOp, Region, ScalarOp, Val};

/// Where a scalar value lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Uniformity {
    /// An integer on the host.
    Host,
    /// A rank-0 tensor.
    Uniform,
    /// A tensor over the index space.
    Varying,
}

/// The uniformity of every value of a function, given those of its parameters.
pub(crate) fn uniformities(f: &Fun, params: impl IntoIterator<Item = Uniformity>) -> Vec<Uniformity> {
    let mut env = vec![Uniformity::Host; f.types.len()];
    for (p, uniformity) in f.body.params.iter().zip(params) {
        env[p.index()] = uniformity;
    }
    region(f, &f.body, &mut env);
    env
}

/// Whether the host computes this operation on sizes.
pub(crate) fn on_host(p: PrimOp, ty: ScalarType) -> bool {
    matches!(ty, ScalarType::I64 | ScalarType::Bool) && is_size_prim(p, ty)
}

/// Whether a conditional computes both branches and selects, instead of becoming a branch of the graph.
pub(crate) fn selects(cond: Uniformity, then: &Region, else_: &Region) -> bool {
    let trivial =
        |r: &Region| r.nodes.len() <= 4 && r.nodes.iter().all(|n| !n.op.is_partial() && n.op.regions().is_empty());
    match cond {
        Uniformity::Varying => true,
        Uniformity::Uniform => trivial(then) && trivial(else_),
        Uniformity::Host => false,
    }
}

fn join(env: &[Uniformity], vals: impl IntoIterator<Item = Val>) -> Uniformity {
    vals.into_iter().map(|v| env[v.index()]).max().unwrap_or(Uniformity::Host)
}

/// The uniformities of the values of a region, given those of its parameters and of what is around it.
pub(crate) fn region(f: &Fun, r: &Region, env: &mut Vec<Uniformity>) {
    for n in &r.nodes {
        let operands = join(env, n.op.operands());
        match &n.op {
            ScalarOp::Const(l) => {
                let host = l.ty == ScalarType::I64 || l.ty == ScalarType::Bool;
                env[n.results[0].index()] = if host { Uniformity::Host } else { Uniformity::Uniform };
            }
            ScalarOp::Extent { .. } => env[n.results[0].index()] = Uniformity::Host,
            ScalarOp::Prim(p, args) => {
                let host = on_host(*p, f.ty(args[0]));
                env[n.results[0].index()] = if host { operands } else { operands.max(Uniformity::Uniform) };
            }
            ScalarOp::Select { .. } => {
                let host = matches!(f.ty(n.results[0]), ScalarType::I64 | ScalarType::Bool);
                env[n.results[0].index()] = if host { operands } else { operands.max(Uniformity::Uniform) };
            }
            ScalarOp::Cast(_) | ScalarOp::Bitcast(_) | ScalarOp::Index(_) => {
                for v in &n.results {
                    env[v.index()] = operands.max(Uniformity::Uniform);
                }
            }
            ScalarOp::If { cond, then, else_ } => {
                acc_core::grow_stack(|| region(f, then, env));
                acc_core::grow_stack(|| region(f, else_, env));
                let cond = env[cond.index()];
                // A branch of the graph may yield sizes; what is selected is a tensor.
                let least = if selects(cond, then, else_) { cond } else { Uniformity::Host };
                for (k, v) in n.results.iter().enumerate() {
                    env[v.index()] = join(env, [then.results[k], else_.results[k]]).max(least);
                }
            }
            ScalarOp::Own(Foreign { args, fallback, .. }) => {
                for (p, a) in fallback.params.iter().zip(args) {
                    env[p.index()] = env[a.index()];
                }
                acc_core::grow_stack(|| region(f, fallback, env));
                for (v, r) in n.results.iter().zip(&fallback.results) {
                    env[v.index()] = env[r.index()];
                }
            }
            ScalarOp::While { init, test, step } => {
                let mut state: Vec<Uniformity> = init.iter().map(|v| env[v.index()]).collect();
                // The state's uniformities only rise, so this ends.
                loop {
                    for (k, uniformity) in state.iter().enumerate() {
                        env[test.params[k].index()] = *uniformity;
                        env[step.params[k].index()] = *uniformity;
                    }
                    acc_core::grow_stack(|| region(f, test, env));
                    acc_core::grow_stack(|| region(f, step, env));
                    let varying = join(env, test.results.iter().copied()) == Uniformity::Varying;
                    let next: Vec<Uniformity> = state
                        .iter()
                        .zip(&step.results)
                        .map(|(a, b)| if varying { Uniformity::Varying } else { (*a).max(env[b.index()]) })
                        .collect();
                    if next == state {
                        break;
                    }
                    state = next;
                }
                for (v, uniformity) in n.results.iter().zip(state) {
                    env[v.index()] = uniformity;
                }
            }
        }
    }
}
