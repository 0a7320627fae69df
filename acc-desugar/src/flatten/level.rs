//! How much a scalar value varies: what need not be a tensor of the index space stays small.

use acc_core::data::ScalarType;
use acc_core::ir::{Fun, PrimOp, Region, ScalarOp, Val};

/// Where a scalar value lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Level {
    /// An integer on the host.
    Size,
    /// A rank-0 tensor.
    Uniform,
    /// A tensor over the index space.
    Varying,
}

/// The level of every value of a function, given those of its parameters.
pub(super) fn levels(f: &Fun, params: impl IntoIterator<Item = Level>) -> Vec<Level> {
    let mut env = vec![Level::Size; f.types.len()];
    for (p, level) in f.body.params.iter().zip(params) {
        env[p.index()] = level;
    }
    region(f, &f.body, &mut env);
    env
}

/// Whether the host computes this operation on sizes.
pub(super) fn on_host(p: PrimOp, ty: ScalarType) -> bool {
    use PrimOp as P;
    match ty {
        ScalarType::I64 => matches!(
            p,
            P::AddP
                | P::SubP
                | P::MulP
                | P::MinP
                | P::MaxP
                | P::EqP
                | P::NeP
                | P::LtP
                | P::LeP
                | P::GtP
                | P::GeP
                | P::NegP
        ),
        ScalarType::Bool => matches!(p, P::AndP | P::OrP | P::NotP),
        _ => false,
    }
}

/// Whether a conditional computes both branches and selects, instead of becoming a branch of the graph.
pub(super) fn selects(cond: Level, then: &Region, else_: &Region) -> bool {
    let trivial =
        |r: &Region| r.nodes.len() <= 4 && r.nodes.iter().all(|n| !n.op.is_partial() && n.op.regions().is_empty());
    match cond {
        Level::Varying => true,
        Level::Uniform => trivial(then) && trivial(else_),
        Level::Size => false,
    }
}

fn join(env: &[Level], vals: impl IntoIterator<Item = Val>) -> Level {
    vals.into_iter().map(|v| env[v.index()]).max().unwrap_or(Level::Size)
}

/// The levels of the values of a region, given those of its parameters and of what is around it.
pub(super) fn region(f: &Fun, r: &Region, env: &mut Vec<Level>) {
    for n in &r.nodes {
        let operands = join(env, n.op.operands());
        match &n.op {
            ScalarOp::Const(l) => {
                let host = l.ty == ScalarType::I64 || l.ty == ScalarType::Bool;
                env[n.results[0].index()] = if host { Level::Size } else { Level::Uniform };
            }
            ScalarOp::Extent { .. } => env[n.results[0].index()] = Level::Size,
            ScalarOp::Prim(p, args) => {
                let host = on_host(*p, f.ty(args[0]));
                env[n.results[0].index()] = if host { operands } else { operands.max(Level::Uniform) };
            }
            ScalarOp::Select { .. } => {
                let host = matches!(f.ty(n.results[0]), ScalarType::I64 | ScalarType::Bool);
                env[n.results[0].index()] = if host { operands } else { operands.max(Level::Uniform) };
            }
            ScalarOp::Cast(_) | ScalarOp::Bitcast(_) | ScalarOp::Index { .. } => {
                for v in &n.results {
                    env[v.index()] = operands.max(Level::Uniform);
                }
            }
            ScalarOp::If { cond, then, else_ } => {
                acc_core::grow_stack(|| region(f, then, env));
                acc_core::grow_stack(|| region(f, else_, env));
                let cond = env[cond.index()];
                // A branch of the graph may yield sizes; what is selected is a tensor.
                let least = if selects(cond, then, else_) { cond } else { Level::Size };
                for (k, v) in n.results.iter().enumerate() {
                    env[v.index()] = join(env, [then.results[k], else_.results[k]]).max(least);
                }
            }
            ScalarOp::Foreign { args, fallback, .. } => {
                for (p, a) in fallback.params.iter().zip(args) {
                    env[p.index()] = env[a.index()];
                }
                acc_core::grow_stack(|| region(f, fallback, env));
                for (v, r) in n.results.iter().zip(&fallback.results) {
                    env[v.index()] = env[r.index()];
                }
            }
            ScalarOp::While { init, test, step } => {
                let mut state: Vec<Level> = init.iter().map(|v| env[v.index()]).collect();
                // The state's levels only rise, so this ends.
                loop {
                    for (k, level) in state.iter().enumerate() {
                        env[test.params[k].index()] = *level;
                        env[step.params[k].index()] = *level;
                    }
                    acc_core::grow_stack(|| region(f, test, env));
                    acc_core::grow_stack(|| region(f, step, env));
                    let varying = join(env, test.results.iter().copied()) == Level::Varying;
                    let next: Vec<Level> = state
                        .iter()
                        .zip(&step.results)
                        .map(|(a, b)| if varying { Level::Varying } else { (*a).max(env[b.index()]) })
                        .collect();
                    if next == state {
                        break;
                    }
                    state = next;
                }
                for (v, level) in n.results.iter().zip(state) {
                    env[v.index()] = level;
                }
            }
        }
    }
}
