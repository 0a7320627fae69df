//! Compiles bodies to bytecode: buffers for values, captures of regions.

use crate::kernel::{Body, Edge, Ix, KernelOp, Node, Op, OpExt as _, Region, is_partial, without_scales};
use crate::tile::bytecode::chain_builder::{Buffers, Writer};
use crate::tile::bytecode::chain_order::{Item, order};
use crate::tile::bytecode::loop_iteration::loop_iteration;
use crate::tile::bytecode::loop_uniform::{LoopParts, LoopUniform};
use crate::tile::bytecode::{
    Access, Branch, Bytecode, BytecodeIndex, Call, Captures, Inst, Loop, Operand, Slot, Slots,
};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Loc, Val};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Compiles a body.
pub(crate) fn compile(body: &Body) -> Bytecode {
    let body = &*without_scales(body);
    let mut c = Compiler {
        body,
        slots: Vec::new(),
        free: HashMap::new(),
        slot_of: vec![None; body.types.len()],
        groups: 0,
        plans: 0,
        arrays: Vec::new(),
        scalars: Vec::new(),
        in_group: false,
        same: LoopUniform::default(),
        read_whole: HashSet::new(),
        loads: HashSet::new(),
        direct: HashSet::new(),
        free_values: HashMap::new(),
    };
    let consts: Vec<(Slot, u64)> = body.consts.iter().map(|(v, l)| (c.define(*v), l.bits)).collect();
    let params: Vec<Slot> = body.region.params.iter().map(|&v| c.define(v)).collect();
    let code = c.code(&body.region, false);
    let results: Vec<Slot> = body.region.results.iter().map(|&v| c.at(v)).collect();
    let direct = body.region.results.iter().map(|v| c.direct.contains(v)).collect();
    let mut used = vec![false; body.types.len()];
    for v in &body.region.results {
        used[v.index()] = true;
    }
    for n in &body.region.nodes {
        c.uses(n, false, &mut |v| used[v.index()] = true);
    }
    let param_used = body.region.params.iter().map(|v| used[v.index()]).collect();
    Bytecode {
        slots: c.slots,
        consts,
        params,
        param_used,
        code,
        results,
        direct,
        groups: c.groups as usize,
        plans: c.plans as usize,
        arrays: c.arrays,
        scalars: c.scalars,
    }
}

struct Compiler<'a> {
    body: &'a Body,
    slots: Vec<ScalarType>,
    free: HashMap<ScalarType, Vec<Slot>>,
    slot_of: Vec<Option<Slot>>,
    groups: u32,
    plans: u32,
    arrays: Vec<ArrayId>,
    scalars: Vec<(ArrayId, u32)>,
    in_group: bool,
    same: LoopUniform,
    /// Values that are read by anything but chains, in the regions seen so far.
    read_whole: HashSet<Val>,
    /// Values that loads leave to chains alone.
    loads: HashSet<Val>,
    /// Results of the body that a chain writes and nothing else reads.
    direct: HashSet<Val>,
    /// The values that each region seen so far uses from outside, by its address in the body.
    free_values: HashMap<*const Region, Rc<[Val]>>,
}

/// The buffers of a chain.
struct ChainBuffers<'c, 'a> {
    compiler: &'c Compiler<'a>,
    written: HashMap<Val, Operand>,
}

impl Buffers for ChainBuffers<'_, '_> {
    fn read(&self, v: Val) -> Operand {
        let slot = self.compiler.at(v);
        if self.compiler.is_same(v) {
            return Operand::One(slot);
        }
        if self.compiler.loads.contains(&v) { Operand::Loaded(slot) } else { Operand::Read(slot) }
    }

    fn written(&self, v: Val) -> Option<Operand> {
        self.written.get(&v).copied()
    }
}

impl Compiler<'_> {
    fn alloc(&mut self, ty: ScalarType) -> Slot {
        if let Some(s) = self.free.get_mut(&ty).and_then(Vec::pop) {
            return s;
        }
        self.slots.push(ty);
        self.slots.len() as Slot - 1
    }

    fn release(&mut self, s: Slot) {
        let ty = self.slots[s as usize];
        self.free.entry(ty).or_default().push(s);
    }

    fn define(&mut self, v: Val) -> Slot {
        let global = self.body.uniform[v.index()];
        let ty = self.body.ty(v);
        let s = if global {
            // Never shared: it keeps its value from tile to tile.
            self.slots.push(ty);
            self.slots.len() as Slot - 1
        } else {
            self.alloc(ty)
        };
        self.slot_of[v.index()] = Some(s);
        s
    }

    /// The buffer of a value. Verified bodies define values before their uses; slot 0 never stands for a missing one.
    fn at(&self, v: Val) -> Slot {
        debug_assert!(self.slot_of[v.index()].is_some(), "{v} has no buffer");
        self.slot_of[v.index()].unwrap_or(0)
    }

    fn is_global(&self, v: Val) -> bool {
        self.body.uniform[v.index()]
    }

    /// Whether a value is equal in all active lanes.
    fn is_same(&self, v: Val) -> bool {
        self.is_global(v) || self.same.has(v)
    }

    /// The values a node uses, those that its regions use from outside included.
    fn uses(&mut self, n: &Node, nested: bool, f: &mut dyn FnMut(Val)) {
        n.op.visit_operands(f);
        if nested {
            for i in n.op.index() {
                if let Ix::Affine { axis, .. } = i {
                    f(self.body.region.params[*axis as usize]);
                }
            }
        }
        for r in n.op.regions() {
            self.free_values(r).iter().for_each(|&v| f(v));
        }
    }

    /// The values that a region uses from outside, each once, in order of first use.
    fn free_values(&mut self, r: &Region) -> Rc<[Val]> {
        if let Some(known) = self.free_values.get(&std::ptr::from_ref(r)) {
            return known.clone();
        }
        // Values defined inside, or noted already.
        let mut met: HashSet<Val> = r.params.iter().copied().collect();
        let mut free: Vec<Val> = Vec::new();
        let mut note = |met: &mut HashSet<Val>, v: Val| {
            if met.insert(v) {
                free.push(v);
            }
        };
        for n in &r.nodes {
            acc_core::grow_stack(|| self.uses(n, true, &mut |v| note(&mut met, v)));
            met.extend(&n.results);
        }
        r.results.iter().for_each(|&v| note(&mut met, v));
        let free: Rc<[Val]> = free.into();
        self.free_values.insert(r, free.clone());
        free
    }

    fn array(&mut self, a: ArrayId) -> u32 {
        let k = self.arrays.iter().position(|&x| x == a).unwrap_or_else(|| {
            self.arrays.push(a);
            self.arrays.len() - 1
        });
        k as u32
    }

    /// Code of a region.
    fn code(&mut self, r: &Region, nested: bool) -> Vec<Inst> {
        let items = self.items(r);
        let mut last: HashMap<Val, usize> = HashMap::new();
        let mut read_whole = std::mem::take(&mut self.read_whole);
        for (at, item) in items.iter().enumerate() {
            let chain = matches!(item, Item::Chain(..));
            for k in item.nodes() {
                self.uses(&r.nodes[k], nested, &mut |v| {
                    last.insert(v, at);
                    if !chain {
                        read_whole.insert(v);
                    }
                });
            }
        }
        let single = |v: &Val| r.results.iter().filter(|w| *w == v).count() == 1;
        let once: HashSet<Val> = r.results.iter().filter(|v| !nested && single(v)).copied().collect();
        let used_until = last.clone();
        for &v in &r.results {
            last.insert(v, usize::MAX);
            read_whole.insert(v);
        }
        self.read_whole = read_whole;
        let mut owned: Vec<Val> = Vec::new();
        let mut out = Vec::new();
        for (at, item) in items.iter().enumerate() {
            match item {
                Item::Uniform(nodes) => {
                    out.push(self.group(&r.nodes[nodes.clone()], nested));
                    continue;
                }
                Item::Chain(width, nodes) => {
                    let nodes: Vec<&Node> = nodes.iter().map(|&k| &r.nodes[k]).collect();
                    let direct = |v| once.contains(&v) && used_until.get(&v).is_none_or(|&l| l <= at);
                    out.push(self.chain(*width, &nodes, |v| last.get(&v).is_some_and(|&l| l > at), direct));
                }
                Item::One(k) => {
                    let n = &r.nodes[*k];
                    let inst = self.inst(n, nested);
                    if !self.in_group && self.same.computes_uniform(n) {
                        let filled = n.results.iter().filter(|&&v| self.same.is_filled(v)).map(|&v| self.at(v));
                        match out.last_mut() {
                            Some(Inst::LoopUniform { code, filled: others }) => {
                                code.push(inst);
                                others.extend(filled);
                            }
                            _ => out.push(Inst::LoopUniform { code: vec![inst], filled: filled.collect() }),
                        }
                    } else {
                        out.push(inst);
                    }
                }
            }
            owned.extend(item.nodes().flat_map(|k| &r.nodes[k].results).copied().filter(|&v| !self.is_global(v)));
            owned.retain(|&v| {
                let dead = last.get(&v).is_none_or(|&l| l <= at);
                if dead && let Some(s) = self.slot_of[v.index()].take() {
                    let ty = self.slots[s as usize];
                    self.free.entry(ty).or_default().push(s);
                }
                !dead
            });
        }
        out
    }

    /// The units in which a region runs.
    fn items(&mut self, r: &Region) -> Vec<Item> {
        if self.in_group {
            return (0..r.nodes.len()).map(Item::One).collect();
        }
        let (body, same) = (self.body, std::mem::take(&mut self.same));
        let is_uniform = |n: &Node| !n.results.is_empty() && n.results.iter().all(|&v| body.uniform[v.index()]);
        let items = order(body, r, is_uniform, |v| same.has(v), |n, f| self.uses(n, true, f));
        self.same = same;
        items
    }

    /// Operations as one chain; results that are used after it have buffers.
    fn chain(
        &mut self,
        width: usize,
        nodes: &[&Node],
        used_after: impl Fn(Val) -> bool,
        direct: impl Fn(Val) -> bool,
    ) -> Inst {
        let results = nodes.iter().flat_map(|n| &n.results).copied().filter(|&v| used_after(v));
        let written = results.map(|v| {
            let slot = self.define(v);
            if direct(v) {
                self.direct.insert(v);
                (v, Operand::Result(slot))
            } else {
                (v, Operand::Written(slot))
            }
        });
        let written = written.collect();
        let buffers = ChainBuffers { compiler: self, written };
        Inst::Chain(Box::new(Writer::new(self.body, buffers).chain(width, nodes)))
    }

    /// Releases the buffers of a region.
    fn leave(&mut self, r: &Region) {
        for v in r.nodes.iter().flat_map(|n| n.results.iter()) {
            if !self.is_global(*v)
                && let Some(s) = self.slot_of[v.index()].take()
            {
                self.release(s);
            }
        }
    }

    /// Gives captured values their outer buffers back.
    fn restore(&mut self, outer: Vec<(Val, Slot)>) {
        for (v, s) in outer {
            if let Some(inner) = self.slot_of[v.index()].replace(s) {
                self.release(inner);
            }
        }
    }

    fn group(&mut self, nodes: &[Node], nested: bool) -> Inst {
        self.in_group = true;
        let code = nodes.iter().map(|n| self.inst(n, nested)).collect();
        self.in_group = false;
        let outs = nodes.iter().flat_map(|n| n.results.iter().map(|&v| self.at(v))).collect();
        self.groups += 1;
        Inst::Uniform { group: self.groups - 1, code, outs }
    }

    fn access(&mut self, array: ArrayId, index: &[Ix], edge: Option<Edge>, nested: bool, loc: &Loc) -> Box<Access> {
        let index = index
            .iter()
            .map(|i| match *i {
                Ix::Affine { axis, scale, offset, base } => BytecodeIndex::Affine {
                    axis,
                    scale,
                    offset,
                    base: base.map(|v| self.at(v)),
                    lanes: nested.then(|| self.at(self.body.region.params[axis as usize])),
                },
                Ix::At(v) => BytecodeIndex::At(self.at(v)),
            })
            .collect();
        self.plans += 1;
        let array = self.array(array);
        Box::new(Access { array, index, edge, plan: self.plans - 1, for_chains: false, loc: loc.clone() })
    }

    fn inst(&mut self, n: &Node, nested: bool) -> Inst {
        let loc = n.loc.clone();
        match &n.op {
            Op::Const(none) => match *none {},
            Op::Prim(op, v) => {
                let a = self.at(v[0]);
                match v.get(1).map(|&b| self.at(b)) {
                    Some(b) => Inst::Binary { op: *op, a, b, out: self.define(n.results[0]), loc },
                    None => Inst::Unary { op: *op, a, out: self.define(n.results[0]) },
                }
            }
            Op::Cast(v) => Inst::Cast { a: self.at(*v), out: self.define(n.results[0]) },
            Op::Bitcast(v) => Inst::Bitcast { a: self.at(*v), out: self.define(n.results[0]) },
            Op::Own(KernelOp::Fma(a, b, c)) => {
                let [a, b, c] = [a, b, c].map(|v| self.at(*v));
                Inst::Fma { a, b, c, out: self.define(n.results[0]) }
            }
            Op::Own(KernelOp::Table { words, index }) => {
                Inst::Table { words: words.clone(), a: self.at(*index), out: self.define(n.results[0]) }
            }
            Op::Select { cond, then, else_ } => Inst::Select {
                c: self.at(*cond),
                a: self.at(*then),
                b: self.at(*else_),
                out: self.define(n.results[0]),
            },
            Op::Own(KernelOp::Call { name, args }) => {
                let types = |v: &[Val]| v.iter().map(|&v| self.body.ty(v)).collect();
                let (params, results) = (types(args), types(&n.results));
                let args = args.iter().map(|&v| self.at(v)).collect();
                let outs = n.results.iter().map(|&v| self.define(v)).collect();
                Inst::Call(Box::new(Call { name: name.clone(), params, results, args, outs, loc }))
            }
            Op::Own(KernelOp::Scalar { array, position }) => {
                let key = (*array, *position);
                let scalar = self.scalars.iter().position(|&s| s == key).unwrap_or_else(|| {
                    self.scalars.push(key);
                    self.scalars.len() - 1
                });
                Inst::Scalar { scalar: scalar as u32, out: self.define(n.results[0]) }
            }
            Op::Extent { array, axis } => {
                Inst::Extent { array: self.array(*array), axis: *axis, out: self.define(n.results[0]) }
            }
            Op::Index(l) => {
                let mut access = self.access(l.array, &l.index, l.edge, nested, &loc);
                access.for_chains = !self.in_group && n.results.iter().all(|v| !self.read_whole.contains(v));
                if access.for_chains {
                    self.loads.extend(&n.results);
                }
                let outs = n.results.iter().map(|&v| self.define(v)).collect();
                Inst::Load { access, leaves: l.leaves.clone(), outs }
            }
            Op::Own(KernelOp::Inside { array, index }) => {
                let access = self.access(*array, index, None, nested, &loc);
                Inst::Inside { access, out: self.define(n.results[0]) }
            }
            Op::Own(KernelOp::Check { array, index }) => {
                Inst::Check { access: self.access(*array, index, None, nested, &loc) }
            }
            Op::If { cond, then, else_ } => {
                let cond = self.at(*cond);
                let outs: Slots = n.results.iter().map(|&v| self.define(v)).collect();
                let then = Box::new(self.branch(then));
                let else_ = Box::new(self.branch(else_));
                Inst::If { cond, then, else_, outs }
            }
            Op::While { init, test, step } => self.loop_(n, init, test, step),
            Op::Own(KernelOp::Unlikely(x)) => Inst::Bitcast { a: self.at(*x), out: self.define(n.results[0]) },
            Op::Own(KernelOp::Scale(x, _)) => {
                debug_assert!(false, "scales are written out before");
                Inst::Bitcast { a: self.at(*x), out: self.define(n.results[0]) }
            }
        }
    }

    /// Gives captured values buffers of their own; returns what to restore.
    fn capture(&mut self, regions: &[&Region]) -> (Captures, Vec<(Val, Slot)>) {
        let mut seen: HashSet<Val> = HashSet::new();
        let mut used: Vec<Val> = Vec::new();
        for r in regions {
            used.extend(self.free_values(r).iter().filter(|v| seen.insert(**v)));
        }
        used.retain(|&v| !self.is_global(v));
        let mut captures = Captures::new();
        let mut outer = Vec::new();
        for v in used {
            let from = self.at(v);
            let to = self.alloc(self.body.ty(v));
            self.slot_of[v.index()] = Some(to);
            captures.push((from, to));
            outer.push((v, from));
        }
        (captures, outer)
    }

    fn branch(&mut self, r: &Region) -> Branch {
        // The region never reuses the buffers of its captures: they may be the outer ones, lent to it.
        let (captures, outer) = self.capture(&[r]);
        let code = acc_core::grow_stack(|| self.code(r, true));
        let results = r.results.iter().map(|&v| self.at(v)).collect();
        self.leave(r);
        self.restore(outer);
        Branch { captures, code, results }
    }

    fn loop_(&mut self, n: &Node, init: &[Val], test: &Region, step: &Region) -> Inst {
        let captured = [test, step];
        let mut ahead = None;
        if !self.in_group {
            let mut same = std::mem::take(&mut self.same);
            // If all lanes take the step or none does, there is nothing to gain by taking it early.
            let together =
                |v: Val| self.is_global(v) || same.of_loop(self.body, &LoopParts { init, test, step }).contains(&v);
            if !test.results.iter().any(|&v| together(v)) {
                ahead = loop_iteration(self.body, test, step);
            }
            let [test, step] = ahead.as_ref().map_or([test, step], |[iteration, rest]| [iteration, rest]);
            same.enter(self.body, &LoopParts { init, test, step }, |n, f| self.uses(n, true, f));
            self.same = same;
        }
        let [test, step] = ahead.as_ref().map_or([test, step], |[iteration, rest]| [iteration, rest]);
        let init: Slots = init.iter().map(|&v| self.at(v)).collect();
        let results: Slots = n.results.iter().map(|&v| self.define(v)).collect();
        let state: Slots = test.params.iter().map(|&v| self.alloc(self.body.ty(v))).collect();
        let (captures, outer) = self.capture(&captured);
        // State and captures live through the whole loop: neither region releases them.
        let bind = |c: &mut Self, params: &[Val]| {
            for (&p, &s) in params.iter().zip(&state) {
                c.slot_of[p.index()] = Some(s);
            }
        };
        bind(self, &test.params);
        let test_code = acc_core::grow_stack(|| self.code(test, true));
        let cond = self.at(test.results[0]);
        if ahead.is_none() {
            self.leave(test);
        }
        bind(self, &step.params);
        let step_code = acc_core::grow_stack(|| self.code(step, true));
        let next: Slots = step.results.iter().map(|&v| self.at(v)).collect();
        let computing = if ahead.is_some() { test } else { step };
        let own = |v: &Val| computing.definition(*v).is_some() && !self.is_global(*v);
        let plain: Vec<bool> =
            step.results.iter().enumerate().map(|(k, v)| own(v) && !step.results[..k].contains(v)).collect();
        let shadow: SmallVec<[Option<Slot>; 4]> =
            plain.iter().zip(&state).map(|(&plain, &s)| (!plain).then(|| self.alloc(self.slots[s as usize]))).collect();
        self.leave(computing);
        for s in shadow.iter().flatten().chain(&state) {
            self.release(*s);
        }
        for p in test.params.iter().chain(&step.params) {
            self.slot_of[p.index()] = None;
        }
        self.restore(outer);
        let consts = &self.body.consts;
        let total = !is_partial(test, consts) && !is_partial(step, consts);
        let same = step.params.iter().map(|&v| self.same.has(v)).collect();
        let together = self.is_same(test.results[0]);
        Inst::While(Box::new(Loop {
            init,
            state,
            captures,
            test: test_code,
            ahead: ahead.is_some(),
            cond,
            step: step_code,
            next,
            shadow,
            results,
            same,
            together,
            total,
        }))
    }
}
