//! Which statements are fused into their consumer.
//!
//! A producer is fused when all of this holds:
//!
//! * it computes each element from its index: `generate`, `map`, `backpermute`, `replicate`, `slice`, `stencil`;
//! * exactly one statement of the same block takes it as operand, and nothing else reads it (its extents may be read);
//! * the consumer reads each of its elements at most about once (`map`, `fold`, `scan`, `permute`'s source, `slice`),
//!   or computing an element costs little next to reading it (`backpermute`, `replicate`). A stencil reads each
//!   element as often as its window is large, so that its operand is always stored;
//! * no fault can be lost to an endless loop: a producer that can fault is not fused into a consumer that loops or
//!   that reads an array on demand;
//! * the kernel stays small.

use acc_core::ir::{
    ArrayId, ArrayOp, Block, Fun, Program, ScalarOp, StencilInput, Stmt, arrays_of_fun, arrays_on_demand,
};
use std::collections::HashMap;

/// Nodes of a kernel's body at most.
const KERNEL_NODES: usize = 600;
/// Cost of an element that a `backpermute` may compute again.
const CHEAP_GATHER: usize = 8;
/// Cost of an element that a `replicate` computes again for each copy.
const CHEAP_COPY: usize = 2;

/// The fused arrays, each with its consumer and why.
pub(crate) struct Fusion {
    into: HashMap<ArrayId, ArrayId>,
    /// The same from the consumer's side.
    direct: HashMap<ArrayId, Vec<ArrayId>>,
    /// Producers that stay stored although one statement consumes them, and why.
    pub kept: Vec<(ArrayId, &'static str)>,
}

impl Fusion {
    /// Nothing fused.
    pub(crate) fn none() -> Fusion {
        Fusion { into: HashMap::new(), direct: HashMap::new(), kept: Vec::new() }
    }

    pub(crate) fn is_fused(&self, a: ArrayId) -> bool {
        self.into.contains_key(&a)
    }

    /// The arrays fused into the kernel of `a`, also through others.
    pub(crate) fn into(&self, a: ArrayId) -> Vec<ArrayId> {
        let mut out = Vec::new();
        let mut work = vec![a];
        while let Some(c) = work.pop() {
            let direct = self.direct.get(&c).into_iter().flatten();
            work.extend(direct.clone());
            out.extend(direct);
        }
        out.sort();
        out
    }
}

/// How an array is used.
#[derive(Default, Clone)]
struct Uses {
    /// Statements that take it as operand, by their first result.
    operand_of: Vec<ArrayId>,
    /// Read in a function, yielded by a block, or a loop's state.
    other: bool,
}

/// Decides for a whole program.
pub(crate) fn decide(program: &Program) -> Fusion {
    let mut uses = vec![Uses::default(); program.types.len()];
    count(&program.body, &mut uses);
    let mut fusion = Fusion::none();
    block(&program.body, &uses, &mut fusion);
    fusion
}

fn count(b: &Block, uses: &mut [Uses]) {
    for s in &b.stmts {
        for a in s.op.arrays() {
            match s.op {
                ArrayOp::While { .. } | ArrayOp::Foreign { .. } => uses[a.index()].other = true,
                _ if !uses[a.index()].operand_of.contains(&s.results[0]) => {
                    uses[a.index()].operand_of.push(s.results[0]);
                }
                _ => {}
            }
        }
        for (_, f) in s.op.funs() {
            f.body.visit(0, &mut |n, _| {
                if let ScalarOp::Index { array, .. } = &n.op {
                    uses[array.index()].other = true;
                }
            });
        }
        for b in s.op.blocks() {
            acc_core::grow_stack(|| count(b, uses));
        }
    }
    for r in &b.results {
        uses[r.index()].other = true;
    }
}

/// What is known of a statement whose elements could be computed elsewhere.
#[derive(Clone, Copy, Default)]
struct Facts {
    cost: usize,
    nodes: usize,
    can_fault: bool,
    loops: bool,
}

fn facts(s: &Stmt) -> Facts {
    let mut out = Facts::default();
    for (role, f) in s.op.funs() {
        if matches!(role, "shape" | "init" | "extents" | "ok") || matches!(s.op, ArrayOp::Slice { .. }) {
            continue;
        }
        let window = match &s.op {
            ArrayOp::Stencil { inputs, .. } if role == "boundary" => reads(inputs),
            _ => 1,
        };
        add(f, window, &mut out);
    }
    if let ArrayOp::Stencil { inputs, .. } = &s.op {
        let reads = reads(inputs);
        out.cost += 2 * reads;
        out.nodes += 3 * reads;
    }
    if let ArrayOp::Backpermute { .. } = s.op {
        out.can_fault = true;
    }
    out
}

/// How many elements a stencil reads for one of its result.
fn reads(inputs: &[StencilInput]) -> usize {
    inputs.iter().map(StencilInput::neighbours).sum()
}

fn add(f: &Fun, times: usize, out: &mut Facts) {
    f.body.visit(0, &mut |n, _| {
        out.nodes += times;
        match &n.op {
            ScalarOp::Prim(p, _) => {
                out.cost += times * crate::kernel::prim_cost(*p);
                out.can_fault |= p.is_partial();
            }
            ScalarOp::Index { .. } => {
                out.cost += 4 * times;
                out.can_fault = true;
            }
            ScalarOp::While { .. } => {
                out.cost += 100 * times;
                out.loops = true;
            }
            // A host function may do anything, but is expected to end.
            ScalarOp::Foreign { .. } => {
                out.cost += 100 * times;
                out.can_fault = true;
            }
            ScalarOp::If { .. } => out.cost += 4 * times,
            ScalarOp::Cast(_) | ScalarOp::Bitcast(_) | ScalarOp::Select { .. } => out.cost += times,
            ScalarOp::Const(_) | ScalarOp::Extent { .. } => {}
        }
    });
}

fn block(b: &Block, uses: &[Uses], fusion: &mut Fusion) {
    // In order: when a statement is looked at, what is fused into it is known.
    let mut known: HashMap<ArrayId, Facts> = HashMap::new();
    let mut producers: HashMap<ArrayId, &Stmt> = HashMap::new();
    for s in &b.stmts {
        for inner in s.op.blocks() {
            acc_core::grow_stack(|| block(inner, uses, fusion));
        }
        let mut all = facts(s);
        for p in s.op.arrays() {
            let (Some(&producer), Some(&of)) = (producers.get(&p), known.get(&p)) else { continue };
            if uses[p.index()].other || uses[p.index()].operand_of[..] != [s.results[0]] {
                continue;
            }
            match refusal(producer, &of, s, p, &all) {
                None => {
                    fusion.into.insert(p, s.results[0]);
                    fusion.direct.entry(s.results[0]).or_default().push(p);
                    all.cost += of.cost;
                    all.nodes += of.nodes;
                    all.can_fault |= of.can_fault;
                    all.loops |= of.loops;
                }
                Some(why) => fusion.kept.push((p, why)),
            }
        }
        if let Some(&r) = s.results.first() {
            known.insert(r, all);
            producers.insert(r, s);
        }
    }
}

/// Why a producer with one consumer is not fused, if so.
fn refusal(producer: &Stmt, of: &Facts, consumer: &Stmt, p: ArrayId, all: &Facts) -> Option<&'static str> {
    match &producer.op {
        ArrayOp::Generate { .. }
        | ArrayOp::Map { .. }
        | ArrayOp::Backpermute { .. }
        | ArrayOp::Replicate { .. }
        | ArrayOp::Slice { .. }
        | ArrayOp::Stencil { .. } => {}
        ArrayOp::Fold { .. } | ArrayOp::Scan { .. } | ArrayOp::Permute { .. } | ArrayOp::Argsort { .. } => {
            return Some("its elements depend on each other");
        }
        ArrayOp::Reshape { .. } | ArrayOp::Check { .. } => return Some("a view costs nothing"),
        ArrayOp::Compute { .. } => return Some("it is a barrier"),
        ArrayOp::Foreign { .. } => return Some("it is a foreign function"),
        ArrayOp::If { .. } | ArrayOp::While { .. } => return Some("it is control flow"),
    }
    match &consumer.op {
        ArrayOp::Map { .. } | ArrayOp::Fold { .. } | ArrayOp::Scan { .. } | ArrayOp::Slice { .. } => {}
        ArrayOp::Permute { defaults, .. } if *defaults == p => return Some("the result starts as a copy of it"),
        ArrayOp::Permute { .. } => {}
        ArrayOp::Backpermute { .. } if of.cost <= CHEAP_GATHER => {}
        ArrayOp::Replicate { .. } if of.cost <= CHEAP_COPY => {}
        ArrayOp::Backpermute { .. } | ArrayOp::Replicate { .. } => {
            return Some("its elements would be computed more than once");
        }
        ArrayOp::Stencil { .. } => return Some("a stencil reads its elements many times"),
        ArrayOp::Argsort { .. } => return Some("a sort needs it stored"),
        ArrayOp::Reshape { .. } | ArrayOp::Check { .. } => return Some("a view needs it stored"),
        ArrayOp::Compute { .. } => return Some("it is stored for a barrier"),
        ArrayOp::Generate { .. } | ArrayOp::If { .. } | ArrayOp::While { .. } | ArrayOp::Foreign { .. } => {
            return Some("it is not an operand");
        }
    }
    if all.nodes + of.nodes > KERNEL_NODES {
        return Some("the kernel would become too large");
    }
    if of.can_fault && (all.loops || reads_on_demand(consumer)) {
        return Some("its fault could be lost to a loop");
    }
    None
}

/// Whether a statement's functions read arrays beside its operands.
fn reads_on_demand(s: &Stmt) -> bool {
    let read = s.op.funs().iter().flat_map(|(_, f)| arrays_of_fun(f)).next().is_some();
    read && !arrays_on_demand(s).is_empty()
}
