//! Loop iterations as one region: test and step at once, where that is harmless.
//!
//! A lane that leaves computes one step in vain. What test and step both compute is computed once, and one chain covers
//! both.

use crate::kernel::{Body, KernelOp, Node, Op, Region};
use crate::tile::bytecode::chain_builder::chained;
use acc_core::data::ScalarType;
use acc_core::ir::Val;
use smallvec::SmallVec;
use std::collections::HashMap;

/// The nodes of a loop's regions merged into one region, which yields the condition and the next state, and an empty
/// region, which yields the next state. None if the loop contains anything but chain operations.
pub(crate) fn loop_iteration(body: &Body, test: &Region, step: &Region) -> Option<[Region; 2]> {
    let mut renamed: HashMap<Val, Val> = step.params.iter().copied().zip(test.params.iter().copied()).collect();
    let mut known: HashMap<(Op, SmallVec<[ScalarType; 2]>), &Node> = HashMap::new();
    let mut nodes: Vec<Node> = Vec::new();
    for n in test.nodes.iter().chain(&step.nodes) {
        let uniform = n.results.iter().all(|v| body.uniform[v.index()]);
        if !uniform && chained(body, n).is_none() {
            return None;
        }
        let op = with_operands(&n.op, |v| renamed.get(&v).copied().unwrap_or(v))?;
        let types = n.results.iter().map(|&v| body.ty(v)).collect();
        match known.get(&(op.clone(), types)) {
            Some(same) => renamed.extend(n.results.iter().copied().zip(same.results.iter().copied())),
            None => {
                let types = n.results.iter().map(|&v| body.ty(v)).collect();
                known.insert((op.clone(), types), n);
                nodes.push(Node { op, ..n.clone() });
            }
        }
    }
    let next: Vec<Val> = step.results.iter().map(|v| renamed.get(v).copied().unwrap_or(*v)).collect();
    let results = test.results.iter().copied().chain(next.iter().copied()).collect();
    let params = test.params.clone();
    Some([Region { params: params.clone(), nodes, results }, Region { params, nodes: Vec::new(), results: next }])
}

/// The same scalar operation with other operands; none for other operations.
fn with_operands(op: &Op, of: impl Fn(Val) -> Val) -> Option<Op> {
    match op {
        Op::Const(_) | Op::Prim(..) | Op::Cast(_) | Op::Bitcast(_) | Op::Select { .. } => {}
        Op::Own(KernelOp::Fma(..) | KernelOp::Scale(..) | KernelOp::Scalar { .. } | KernelOp::Unlikely(_)) => {}
        Op::If { .. } | Op::While { .. } | Op::Extent { .. } | Op::Index(_) => return None,
        Op::Own(KernelOp::Table { .. } | KernelOp::Call { .. }) => return None,
        Op::Own(KernelOp::Inside { .. } | KernelOp::Check { .. }) => return None,
    }
    let mut op = op.clone();
    op.visit_operands_mut(&mut |v| *v = of(*v));
    Some(op)
}

#[cfg(test)]
mod tests {
    use crate::lower::of_text;
    use crate::tile::bytecode::compile::compile;
    use crate::tile::bytecode::{Inst, Loop};
    use crate::tile::chain_ops::StepOp;

    /// The loop of a program's one kernel.
    fn of_loop<T>(text: &str, look: impl FnOnce(&Loop) -> T) -> T {
        let plan = of_text("test", text);
        let launch = plan.launches().next().unwrap();
        let bytecode = compile(&launch.kernel.element);
        let mut code = bytecode.code.iter();
        look(code.find_map(|i| if let Inst::While(l) = i { Some(l) } else { None }).unwrap())
    }

    fn escape(step: &str) -> String {
        format!(
            "program(a: [1]f32, t: [1]f32) {{
               r: [1]i32 = map(a, f: |%c: f32| {{
                 %z: f32, %k: i32 = while (0.0f32, 0i32)
                   test |%z: f32, %k: i32| {{ yield and(le(mul(%z, %z), 4.0f32), lt(%k, 50i32)) }}
                   step |%z: f32, %k: i32| {{ yield {step}, add(%k, 1i32) }}
                 yield %k
               }})
               yield r }}"
        )
    }

    #[test]
    fn test_and_step_are_one_chain_that_squares_once() {
        of_loop(&escape("add(mul(%z, %z), %c)"), |l| {
            assert!(l.ahead && l.step.is_empty());
            let [Inst::LoopUniform { .. }, Inst::Chain(chain)] = &l.test[..] else {
                panic!("the counter, and a chain")
            };
            assert_eq!(chain.steps.iter().filter(|s| s.does == StepOp::Square).count(), 1);
        });
    }

    #[test]
    fn what_can_fault_waits_for_the_test() {
        let text = escape("add(mul(%z, %c), t[cast(%k, i64)])");
        of_loop(&text, |l| assert!(!l.ahead && !l.step.is_empty()));
    }

    #[test]
    fn loops_that_all_lanes_leave_at_once_take_no_step_more() {
        let text = "program(a: [1]f32) {
           r: [1]f32 = map(a, f: |%c: f32| {
             %z: f32, %k: i32 = while (%c, 0i32)
               test |%z: f32, %k: i32| { yield lt(%k, 50i32) }
               step |%z: f32, %k: i32| { yield mul(%z, %c), add(%k, 1i32) }
             yield %z
           })
           yield r }";
        of_loop(text, |l| assert!(l.together && !l.ahead));
    }
}
