//! How statements read arrays.

use super::compaction::Compaction;
use super::one_to_one::Sums;
use super::{COPIES, GATHER};
use crate::analysis::contraction::{Contraction, Definitions, contraction};
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, ArrayOp, Block, Boundary, Class, Fun, Program, Region, ScalarOp, Stmt, Val};

/// How a statement reads an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Read {
    /// At its own point: of its result, or of what it folds, scans or permutes.
    Point,
    /// As what a permute begins with.
    Initial,
    /// At other points, so many times for each element.
    Times(usize),
    /// As `Times`, with edges: only through maps that keep the extents.
    Window(usize),
    /// Once for a whole launch.
    Once,
    /// Only its extents.
    Measured,
    /// It must be stored, and why.
    Stored(&'static str),
}

/// Who reads an array.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    /// The statement of this number.
    Stmt(usize),
    /// The block of this number, which yields it.
    Block(usize),
}

/// A read of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub by: By,
    pub read: Read,
}

/// A statement, and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    pub stmt: &'a Stmt,
    /// The number of its block.
    pub block: usize,
    /// Whether the block's evaluation certainly needs it.
    pub strict: bool,
}

/// All statements, those of inner blocks before the statement that holds them, and the uses of every array.
pub(super) struct Uses<'a> {
    pub sites: Vec<Site<'a>>,
    /// The statement that defines an array.
    pub def: Vec<Option<usize>>,
    /// The statement that holds a block.
    holder: Vec<Option<usize>>,
    /// By array.
    pub of: Vec<Vec<Use>>,
}

/// Whether a contraction is worth more than a fold: numbers that processors multiply and add in vectors, and reused.
pub(super) fn is_matrix_product(c: &Contraction) -> bool {
    let [rows, columns, _] = c.roles();
    matches!(c.ty, ScalarType::F32 | ScalarType::F64) && !rows.is_empty() && !columns.is_empty()
}

impl<'a> Uses<'a> {
    pub(super) fn new(p: &'a Program, defs: &Definitions<'_>) -> Uses<'a> {
        let (def, of) = (vec![None; p.types.len()], vec![Vec::new(); p.types.len()]);
        let mut out = Uses { sites: Vec::new(), def, holder: Vec::new(), of };
        out.block(&p.body);
        for k in 0..out.sites.len() {
            if let Some(c) = contraction(defs, out.sites[k].stmt).filter(is_matrix_product) {
                for factor in &c.factors {
                    let read = Read::Stored("a matrix product takes it");
                    out.of[factor.array.index()].push(Use { by: By::Stmt(k), read });
                }
            }
            out.reads(p, k);
        }
        out
    }

    fn block(&mut self, b: &'a Block) -> usize {
        let block = self.holder.len();
        self.holder.push(None);
        let strict = acc_core::ir::strict_statements(&b.stmts, &b.results);
        for (s, strict) in b.stmts.iter().zip(strict) {
            let inner: Vec<usize> = s.op.blocks().into_iter().map(|b| acc_core::grow_stack(|| self.block(b))).collect();
            inner.into_iter().for_each(|b| self.holder[b] = Some(self.sites.len()));
            for r in &s.results {
                self.def[r.index()] = Some(self.sites.len());
            }
            self.sites.push(Site { stmt: s, block, strict });
        }
        for r in &b.results {
            self.of[r.index()].push(Use { by: By::Block(block), read: Read::Stored("it is a result") });
        }
        block
    }

    /// Forgets what a compaction does not compute: reads by what is absorbed, and reads of it.
    pub(super) fn absorb(&mut self, permute: usize, c: &Compaction) {
        let mut gone: Vec<usize> = c.absorbed.iter().chain([&c.defaults]).filter_map(|a| self.def[a.index()]).collect();
        for uses in &mut self.of {
            uses.retain(|u| !matches!(u.by, By::Stmt(by) if gone.contains(&by)));
        }
        gone.push(permute);
        for a in c.absorbed.iter().chain([&c.defaults]) {
            self.of[a.index()].retain(|u| !matches!(u.by, By::Stmt(by) if gone.contains(&by)));
        }
    }

    /// The statement of a block that a reader is, or stands in; none if it is the block itself or around it.
    pub(super) fn within(&self, by: By, block: usize) -> Option<usize> {
        let mut at = match by {
            By::Stmt(s) => Some(s),
            By::Block(b) => self.holder[b],
        };
        while let Some(s) = at.filter(|s| self.sites[*s].block != block) {
            at = self.holder[self.sites[s].block];
        }
        at
    }

    fn reads(&mut self, p: &Program, by: usize) {
        let s = self.sites[by].stmt;
        let mut all: Vec<(ArrayId, Read)> = s.op.arrays().into_iter().map(|a| (a, Read::Point)).collect();
        let every = |all: &mut Vec<(ArrayId, Read)>, read| all.iter_mut().for_each(|(_, r)| *r = read);
        let stored = match s.op.class() {
            Class::Pointwise | Class::Fold | Class::Scan | Class::Scatter => None,
            Class::Segments => {
                // The elements come first, then the offsets.
                let offsets = all.iter_mut().skip(1);
                offsets.for_each(|(_, read)| *read = Read::Stored("segments need it stored"));
                None
            }
            Class::Sort => Some("a sort needs it stored"),
            Class::View if matches!(s.op, ArrayOp::Compute { .. }) => Some("it is stored for a barrier"),
            Class::View => Some("a view needs it stored"),
            Class::Control if matches!(s.op, ArrayOp::Foreign { .. }) => Some("a foreign function takes it"),
            Class::Control => Some("a loop begins with it"),
        };
        if let Some(why) = stored {
            every(&mut all, Read::Stored(why));
        }
        match &s.op {
            ArrayOp::Permute { target, .. } => {
                let in_loop = self.holder[self.sites[by].block].map(|holder| &self.sites[holder].stmt.op);
                let is_row = || Sums::of_index(target).are_row(target.body.results.get(1..).unwrap_or_default());
                if let [defaults, xs, ..] = &mut all[..] {
                    defaults.1 = Read::Initial;
                    // Recorded loops put arrays into rows without a kernel.
                    if matches!(in_loop, Some(ArrayOp::While { .. })) && is_row() {
                        xs.1 = Read::Stored("a loop puts it into a row");
                    }
                }
            }
            ArrayOp::Backpermute { index, .. } => {
                let reads_once = Sums::of_index(index).are_one_to_one(&index.body.results);
                every(&mut all, Read::Times(if reads_once { 1 } else { GATHER }));
            }
            ArrayOp::Replicate { .. } => every(&mut all, Read::Times(COPIES)),
            ArrayOp::Slice { .. } => every(&mut all, Read::Times(1)),
            ArrayOp::Stencil { inputs, .. } => {
                for ((_, r), i) in all.iter_mut().zip(inputs) {
                    *r = match i.boundary {
                        Boundary::Clamp | Boundary::Mirror | Boundary::Wrap => Read::Window(i.neighbours()),
                        Boundary::Function(_) => Read::Times(i.neighbours()),
                    };
                }
            }
            // At their own point, or stored.
            _ => {}
        }
        for (role, f) in s.op.funs() {
            let folded = s.op.class().reduces() && role == "f";
            let apart = folded || role == "combine" || matches!(s.op, ArrayOp::If { .. } | ArrayOp::Foreign { .. });
            let window = match &s.op {
                ArrayOp::Stencil { inputs, .. } if role == "boundary" => inputs.iter().map(|i| i.neighbours()).sum(),
                _ => 1,
            };
            f.body.visit(0, &mut |n, _| {
                if let ScalarOp::Extent { array, .. } = &n.op {
                    all.push((*array, Read::Measured));
                }
            });
            let point = point(&s.op, role, f);
            let sums = Sums::at_points(p, s, role, f);
            indexed(&f.body, 1, &mut |a, index, times| {
                let read = match (apart, p.ty(a).rank, s.op.is_closed(role)) {
                    (true, ..) => Read::Stored("a combination or a condition reads it"),
                    (_, 0, _) | (_, _, true) => Read::Once,
                    _ if point == Some(index) => Read::Point,
                    _ if sums.as_ref().is_some_and(|sums| sums.are_one_to_one(index)) => Read::Times(times),
                    _ => Read::Times(times * GATHER * window),
                };
                all.push((a, read));
            });
        }
        let block = self.sites[by].block;
        for (a, read) in all {
            let inside = self.def[a.index()].is_none_or(|d| self.sites[d].block == block);
            let read = match read {
                Read::Measured => read,
                _ if inside => read,
                _ => Read::Stored("an inner block reads it"),
            };
            self.of[a.index()].push(Use { by: By::Stmt(by), read });
        }
    }
}

/// The parameters of a function that are the point of the statement's space at which it is called.
fn point<'f>(op: &ArrayOp, role: &str, f: &'f Fun) -> Option<&'f [Val]> {
    match op {
        ArrayOp::Generate { .. } if role == "f" => Some(&f.body.params),
        ArrayOp::Backpermute { .. } if role == "index" => Some(&f.body.params),
        ArrayOp::Permute { .. } if role == "target" => Some(&f.body.params),
        _ => None,
    }
}

/// Calls `f` on the arrays that a region reads, with the index and with how often it is taken to read them.
fn indexed(r: &Region, times: usize, f: &mut dyn FnMut(ArrayId, &[Val], usize)) {
    for n in &r.nodes {
        if let ScalarOp::Index(read) = &n.op {
            f(read.array, &read.index, times);
        }
        let inner = if matches!(n.op, ScalarOp::While { .. }) { times.max(COPIES) } else { times };
        n.op.regions().into_iter().for_each(|r| acc_core::grow_stack(|| indexed(r, inner, f)));
    }
}
