//! The canonical numbering of a program: arrays and scalars in the order in which the text form defines them.

use crate::grow_stack;
use crate::ir::{ArrayId, ArrayOp, Block, Boundary, Fun, Names, Program, Region, StencilInput, Stmt, Val};

/// The same program with arrays and scalar values numbered from 0 in the order in which its text defines them, and
/// nothing unused in the type tables. Two programs with the same text are structurally equal in this form.
///
/// The program must be verified, or at least define what it uses.
pub fn canonical(program: &Program) -> Program {
    let mut n = Numbering { new: vec![None; program.types.len()], next: 0 };
    n.define_block(&program.body);
    let body = n.block(&program.body);
    let (mut types, mut names) = (vec![None; n.next as usize], vec![None; n.next as usize]);
    for (old, new) in n.new.iter().enumerate() {
        if let Some(new) = new {
            types[*new as usize] = program.types.get(old).cloned();
            names[*new as usize] = program.names.get(ArrayId(old as u32)).cloned();
        }
    }
    Program { types: types.into_iter().flatten().collect(), names: Names::new(names), body }
}

fn canonical_fun(f: &Fun, arrays: &mut Numbering) -> Fun {
    let mut n = Numbering { new: vec![None; f.types.len()], next: 0 };
    n.define_region(&f.body);
    let mut types = vec![None; n.next as usize];
    for (old, new) in n.new.iter().enumerate() {
        if let Some(new) = new {
            types[*new as usize] = f.types.get(old).copied();
        }
    }
    let body = grow_stack(|| f.body.map(&mut |&a| arrays.array(a), &mut |v| Val(n.get(v.0))));
    Fun { types: types.into_iter().flatten().collect(), body }
}

/// New numbers by old ones.
struct Numbering {
    new: Vec<Option<u32>>,
    next: u32,
}

impl Numbering {
    fn define(&mut self, old: usize) {
        if let Some(slot @ None) = self.new.get_mut(old) {
            *slot = Some(self.next);
            self.next += 1;
        }
    }

    /// What was never defined keeps its number, for the verifier to complain about.
    fn get(&self, old: u32) -> u32 {
        self.new.get(old as usize).copied().flatten().unwrap_or(old)
    }

    fn array(&self, a: ArrayId) -> ArrayId {
        ArrayId(self.get(a.0))
    }

    fn define_region(&mut self, r: &Region) {
        grow_stack(|| {
            r.params.iter().for_each(|p| self.define(p.index()));
            for n in &r.nodes {
                n.results.iter().for_each(|v| self.define(v.index()));
                n.op.regions().into_iter().for_each(|r| self.define_region(r));
            }
        });
    }

    fn define_block(&mut self, b: &Block) {
        grow_stack(|| {
            b.params.iter().for_each(|p| self.define(p.index()));
            for s in &b.stmts {
                s.results.iter().for_each(|a| self.define(a.index()));
                s.op.blocks().into_iter().for_each(|b| self.define_block(b));
            }
        });
    }

    fn block(&mut self, b: &Block) -> Block {
        grow_stack(|| Block {
            params: b.params.iter().map(|&a| self.array(a)).collect(),
            stmts: b
                .stmts
                .iter()
                .map(|s| Stmt {
                    results: s.results.iter().map(|&a| self.array(a)).collect(),
                    op: self.op(&s.op),
                    loc: s.loc.clone(),
                })
                .collect(),
            results: b.results.iter().map(|&a| self.array(a)).collect(),
        })
    }

    fn fun(&mut self, f: &Fun) -> Fun {
        canonical_fun(f, self)
    }

    fn op(&mut self, op: &ArrayOp) -> ArrayOp {
        match op {
            ArrayOp::Generate { shape, f } => ArrayOp::Generate { shape: self.fun(shape), f: self.fun(f) },
            ArrayOp::Map { f, xs, indexed } => {
                ArrayOp::Map { f: self.fun(f), xs: xs.iter().map(|&a| self.array(a)).collect(), indexed: *indexed }
            }
            ArrayOp::Fold { f, init, xs } => {
                ArrayOp::Fold { f: self.fun(f), init: init.as_ref().map(|i| self.fun(i)), xs: self.array(*xs) }
            }
            ArrayOp::Scan { dir, f, init, xs } => ArrayOp::Scan {
                dir: *dir,
                f: self.fun(f),
                init: init.as_ref().map(|i| self.fun(i)),
                xs: self.array(*xs),
            },
            ArrayOp::Permute { combine, defaults, target, xs } => ArrayOp::Permute {
                combine: self.fun(combine),
                defaults: self.array(*defaults),
                target: self.fun(target),
                xs: self.array(*xs),
            },
            ArrayOp::Backpermute { shape, index, xs } => {
                ArrayOp::Backpermute { shape: self.fun(shape), index: self.fun(index), xs: self.array(*xs) }
            }
            ArrayOp::Stencil { f, inputs } => {
                let f = self.fun(f);
                let input = |i: &StencilInput| StencilInput {
                    xs: self.array(i.xs),
                    window: i.window.clone(),
                    boundary: match &i.boundary {
                        Boundary::Clamp => Boundary::Clamp,
                        Boundary::Mirror => Boundary::Mirror,
                        Boundary::Wrap => Boundary::Wrap,
                        Boundary::Function(b) => Boundary::Function(self.fun(b)),
                    },
                };
                ArrayOp::Stencil { f, inputs: inputs.iter().map(input).collect() }
            }
            ArrayOp::FoldSeg { f, init, xs, offsets } => ArrayOp::FoldSeg {
                f: self.fun(f),
                init: init.as_ref().map(|i| self.fun(i)),
                xs: self.array(*xs),
                offsets: self.array(*offsets),
            },
            ArrayOp::Argsort { xs } => ArrayOp::Argsort { xs: self.array(*xs) },
            ArrayOp::Check { ok, message, xs } => {
                ArrayOp::Check { ok: self.fun(ok), message: message.clone(), xs: self.array(*xs) }
            }
            ArrayOp::Reshape { shape, xs } => ArrayOp::Reshape { shape: self.fun(shape), xs: self.array(*xs) },
            ArrayOp::Replicate { axes, extents, xs } => {
                ArrayOp::Replicate { axes: axes.clone(), extents: self.fun(extents), xs: self.array(*xs) }
            }
            ArrayOp::Slice { axes, index, xs } => {
                ArrayOp::Slice { axes: axes.clone(), index: self.fun(index), xs: self.array(*xs) }
            }
            ArrayOp::Compute { xs } => ArrayOp::Compute { xs: self.array(*xs) },
            ArrayOp::Foreign { function, xs, fallback } => ArrayOp::Foreign {
                function: function.clone(),
                xs: xs.iter().map(|&a| self.array(a)).collect(),
                fallback: self.block(fallback),
            },
            ArrayOp::If { cond, then, else_ } => {
                ArrayOp::If { cond: self.fun(cond), then: self.block(then), else_: self.block(else_) }
            }
            ArrayOp::While { init, test, step } => ArrayOp::While {
                init: init.iter().map(|&a| self.array(a)).collect(),
                test: self.block(test),
                step: self.block(step),
            },
        }
    }
}
