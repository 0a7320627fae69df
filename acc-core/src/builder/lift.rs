//! Parts of a closure that become array operations of their own: what they depend on, and how they are taken out.

use super::frame::{Builder, ExpNode, ExpOp, ExpRef, with};
use super::nodes::Nodes;
use super::{AccOp, AccRef, Frozen, freeze};
use crate::data::EltType;
use crate::ir::Loc;
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// What an expression is made of.
#[derive(Default)]
pub(crate) struct Parts {
    /// The indices that it depends on.
    pub(crate) indices: HashSet<ExpRef>,
    /// Whether it depends on a variable that is none of the indices.
    pub(crate) foreign: bool,
    /// Whether it may fault or fail to end, the evaluation of arrays apart.
    pub(crate) partial: bool,
    /// Whether it reads or measures an array that is computed.
    pub(crate) computed: bool,
}

/// Looks at all that `root` reaches. Reads that are `inside` of their arrays do not fault.
pub(crate) fn parts(root: ExpRef, indices: &HashSet<ExpRef>, inside: &HashSet<ExpRef>) -> Parts {
    with(|b| {
        let (mut parts, mut seen, mut own) = (Parts::default(), HashSet::new(), HashSet::new());
        let mut stack = vec![root];
        while let Some(r) = stack.pop() {
            if !seen.insert(r) {
                continue;
            }
            if indices.contains(&r) {
                parts.indices.insert(r);
                continue;
            }
            let Some(node) = b.node(r) else {
                parts.foreign = true;
                continue;
            };
            match &node.op {
                ExpOp::While { test_param, step_param, .. } => {
                    own.extend([*test_param, *step_param]);
                    parts.partial = true;
                }
                ExpOp::Foreign { param, partials, .. } => {
                    own.insert(*param);
                    own.extend(partials.map(|(param, _)| param));
                    parts.partial = true;
                }
                ExpOp::Derivative { param, .. } => {
                    own.insert(*param);
                }
                ExpOp::Param(_) => parts.foreign |= !own.contains(&r),
                ExpOp::Prim(op, _) => parts.partial |= op.is_partial(),
                ExpOp::Index(..) => parts.partial |= !inside.contains(&r),
                ExpOp::Const(_)
                | ExpOp::Tuple(_)
                | ExpOp::Proj(..)
                | ExpOp::Cast(_)
                | ExpOp::Bitcast(_)
                | ExpOp::Cond(..)
                | ExpOp::Extent(..)
                | ExpOp::Poison(_) => {}
            }
            let given = |array: &AccRef| matches!(array.op, AccOp::Use(_) | AccOp::Param { .. });
            parts.computed |= node.op.array().is_some_and(|array| !given(array));
            node.op.children(&mut |c| stack.push(c));
        }
        parts
    })
}

/// What is certainly evaluated with these expressions. Of the ones in `bodies` it is what stands there.
pub(crate) fn certain(roots: &[ExpRef], bodies: &HashMap<ExpRef, ExpRef>) -> HashSet<ExpRef> {
    with(|b| {
        let (mut certain, mut stack) = (HashSet::new(), roots.to_vec());
        while let Some(r) = stack.pop() {
            if !certain.insert(r) {
                continue;
            }
            if let Some(body) = bodies.get(&r) {
                stack.push(*body);
                continue;
            }
            let Some(node) = b.node(r) else { continue };
            match &node.op {
                ExpOp::Cond(c, ..) => stack.push(*c),
                op => op.operands(&mut |r| stack.push(r)),
            }
        }
        certain
    })
}

/// An expression of the closure that is open as a function of some of what it depends on.
pub(crate) fn lifted(params: &[ExpRef], result: ExpRef, loc: &Loc) -> Frozen {
    with(|b| freeze::fun(b, params, result, loc))
}

/// Makes an expression the element of an array at these indices, wherever it is used.
pub(crate) fn replace_by_element(r: ExpRef, array: &AccRef, index: &[ExpRef]) {
    with(|b| {
        let now = b.programs();
        let Some(nodes) = nodes_of(b, r.frame) else { return };
        let at = match index {
            [one] => *one,
            _ => {
                let op = ExpOp::Tuple(index.iter().copied().collect::<SmallVec<_>>());
                let node = ExpNode { op, ty: EltType::index(index.len()), loc: array.loc.clone() };
                ExpRef { frame: r.frame, index: nodes.push(node, now) }
            }
        };
        if let Some(node) = nodes.get_mut(r.index) {
            node.op = ExpOp::Index(array.clone(), at);
        }
    });
}

/// Makes an expression the extent of an array along an axis, wherever it is used.
pub(crate) fn replace_by_extent(r: ExpRef, array: &AccRef, axis: u32) {
    with(|b| {
        if let Some(node) = nodes_of(b, r.frame).and_then(|nodes| nodes.get_mut(r.index)) {
            node.op = ExpOp::Extent(array.clone(), axis);
        }
    });
}

/// The expressions of a frame that is open, or of a loop inside one.
fn nodes_of(b: &mut Builder, frame: u64) -> Option<&mut Nodes> {
    b.frames_mut().find_map(|f| if f.serial == frame { Some(&mut f.nodes) } else { f.loops.get_mut(&frame) })
}
