//! Derivatives become ordinary code: what an executor runs has none.
//!
//! A derivative inside another one is expanded first; then the outer one finds ordinary code. `jvp` becomes the function and
//! beside each statement one for its tangents ([`dual`]); `vjp` the function and, from the last statement to the first,
//! what takes the adjoint of a result to those of what it was computed from ([`pullback`]). What does not depend smoothly on
//! the point ([`Activity`](acc_core::ad::Activity)) has neither. Statements keep the locations of what they come from.
//!
//! The interpreter computes derivatives of the program as it was written, by jets: the two must agree.

mod dual;
mod indices;
mod notes;
mod pullback;
mod sweep;
mod writer;

pub use notes::Note;

use crate::settings::Settings;
use acc_core::ad::Code;
use acc_core::ir::{
    ArrayId, ArrayOp, Block, Closed, Fun, Ir, Mapper, Mode, PrimOp, Program, ScalarOp, Stmt, TANGENT_EXTENTS,
};
use acc_core::{Error, grow_stack};
use std::borrow::Cow;
use std::collections::HashMap;
use std::convert::Infallible;
use writer::Writer;

/// Expands all derivatives.
pub(crate) fn pass<'p>(program: &'p Program, settings: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    if !program.has_derivatives() {
        return Ok(Cow::Borrowed(program));
    }
    let mut e = Expander { w: Writer::new(program.types.clone(), settings), known: HashMap::new() };
    let body = e.block(&program.body)?;
    Ok(Cow::Owned(Program { types: e.w.types, names: program.names.clone(), body }))
}

/// How the derivatives of a verified program are computed: an entry for each operation that has tangents or adjoints, in the
/// order in which they are computed.
///
/// ```
/// use acc_core::{RunLimits, text};
/// let program = text::parse("p.acc", "
///     program(x: [1]f64, one: [0]f64) {
///       y: [0]f64, g: [1]f64 = vjp(x, by: [one], f: |x: [1]f64| {
///         m: [0]f64 = fold1(x, f: |%a: f64, %b: f64| max(%a, %b))
///         yield m
///       })
///       yield g
///     }")?;
/// let (rules, limits) = (acc_desugar::Rules::all(), RunLimits::none());
/// let notes = acc_desugar::explain_derivatives(&program, &acc_desugar::Settings::new(&rules, &limits))?;
/// assert_eq!((notes[0].operation, notes[0].how.as_str()), ("fold1", "of each result, the element that it is"));
/// # Ok::<(), acc_core::Error>(())
/// ```
pub fn explain(program: &Program, settings: &Settings<'_>) -> Result<Vec<Note>, Error> {
    let mut e = Expander { w: Writer::new(program.types.clone(), settings), known: HashMap::new() };
    e.block(&program.body)?;
    Ok(e.w.into_notes())
}

struct Expander<'a> {
    w: Writer<'a>,
    /// What the results of derivatives are now.
    known: HashMap<ArrayId, ArrayId>,
}

impl Expander<'_> {
    fn block(&mut self, b: &Block) -> Result<Block, Error> {
        let around = std::mem::take(&mut self.w.stmts);
        for s in &b.stmts {
            self.w.limits.check()?;
            grow_stack(|| self.stmt(s))?;
        }
        let stmts = std::mem::replace(&mut self.w.stmts, around);
        let results = b.results.iter().map(|r| renamed(&self.known, *r)).collect();
        Ok(Block { params: b.params.clone(), stmts, results })
    }

    fn stmt(&mut self, s: &Stmt) -> Result<(), Error> {
        let op = s.op.try_map(self)?;
        self.w.loc = s.loc.clone();
        let ArrayOp::Derivative { mode, at, along, f } = op else {
            self.w.stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
            return Ok(());
        };
        // The parameters stay arrays of their own: the function may read the point's arrays, too, as constants.
        for (p, x) in f.params.iter().zip(&at) {
            let c = self.w.code(self.w.elt(*x).leaves());
            let same = c.params();
            let op = ArrayOp::Map { xs: vec![*x], f: c.done(same), indexed: false };
            self.w.stmts.push(Stmt { results: [*p].into_iter().collect(), op, loc: s.loc.clone() });
        }
        let inside = |e: Error| e.during(s.operation(), &s.loc);
        let results = match mode {
            Mode::Forward => {
                let along = self.given(&f.params, &along);
                dual::derivative(&mut self.w, &f, &along).map_err(inside)?
            }
            Mode::Reverse => {
                self.w.stmts.extend(f.stmts.iter().cloned());
                let by = self.given(&f.results, &along);
                pullback::derivative(&mut self.w, &f, &by).map_err(inside)?
            }
        };
        self.known.extend(s.results.iter().copied().zip(results));
        Ok(())
    }

    /// Tangents or adjoints of arrays that have one, with a check of their extents.
    fn given(&mut self, of: &[ArrayId], tangents: &[ArrayId]) -> Vec<ArrayId> {
        let floats: Vec<ArrayId> = of.iter().copied().filter(|a| self.w.ty(*a).elt.has_float()).collect();
        let checked = |(a, t): (ArrayId, &ArrayId)| {
            let ty = self.w.ty(*t).clone();
            if ty.rank == 0 {
                return *t;
            }
            let mut c = Code::new([], &self.w.loc);
            let mut ok = c.truth(true);
            for axis in 0..ty.rank {
                let (n, m) = (c.extent(a, axis), c.extent(*t, axis));
                let same = c.two(PrimOp::EqP, n, m);
                ok = c.two(PrimOp::AndP, ok, same);
            }
            let op = ArrayOp::Check { xs: *t, ok: c.done([ok]), message: TANGENT_EXTENTS.into() };
            self.w.add(ty, op)
        };
        floats.into_iter().zip(tangents).map(checked).collect()
    }
}

impl Mapper<Ir, Ir> for Expander<'_> {
    type Error = Error;

    fn array(&mut self, a: &ArrayId) -> Result<ArrayId, Error> {
        Ok(renamed(&self.known, *a))
    }
    fn arrays(&mut self, all: &Vec<ArrayId>) -> Result<Vec<ArrayId>, Error> {
        Ok(all.iter().map(|a| renamed(&self.known, *a)).collect())
    }
    fn fun(&mut self, _: Closed, f: &Fun) -> Result<Fun, Error> {
        Ok(f.map_arrays(&mut |a| renamed(&self.known, *a)))
    }
    fn block(&mut self, b: &Block) -> Result<Block, Error> {
        Expander::block(self, b)
    }
}

fn renamed(names: &HashMap<ArrayId, ArrayId>, a: ArrayId) -> ArrayId {
    names.get(&a).copied().unwrap_or(a)
}

/// A block with other arrays in place of some.
fn rename(b: &Block, names: &HashMap<ArrayId, ArrayId>) -> Block {
    let all = |v: &[ArrayId]| v.iter().map(|a| renamed(names, *a)).collect::<Vec<_>>();
    let stmts = b.stmts.iter().map(|s| Stmt {
        results: s.results.iter().map(|a| renamed(names, *a)).collect(),
        op: grow_stack(|| s.op.map(&mut Rename(names))),
        loc: s.loc.clone(),
    });
    Block { params: all(&b.params), stmts: stmts.collect(), results: all(&b.results) }
}

struct Rename<'a>(&'a HashMap<ArrayId, ArrayId>);

impl Mapper<Ir, Ir> for Rename<'_> {
    type Error = Infallible;

    fn array(&mut self, a: &ArrayId) -> Result<ArrayId, Infallible> {
        Ok(renamed(self.0, *a))
    }
    fn arrays(&mut self, all: &Vec<ArrayId>) -> Result<Vec<ArrayId>, Infallible> {
        Ok(all.iter().map(|a| renamed(self.0, *a)).collect())
    }
    fn fun(&mut self, _: Closed, f: &Fun) -> Result<Fun, Infallible> {
        Ok(f.map_arrays(&mut |a| renamed(self.0, *a)))
    }
    fn block(&mut self, b: &Block) -> Result<Block, Infallible> {
        Ok(rename(b, self.0))
    }
}

/// A copy of a block with new arrays for all that it defines, but for its parameters, in whose place stand `args`.
fn copy(w: &mut Writer<'_>, b: &Block, args: &[ArrayId]) -> Block {
    fn define(w: &mut Writer<'_>, b: &Block, names: &mut HashMap<ArrayId, ArrayId>) {
        for s in &b.stmts {
            for inner in s.op.blocks() {
                for p in &inner.params {
                    names.insert(*p, w.array(w.ty(*p).clone()));
                }
                grow_stack(|| define(w, inner, names));
            }
            for r in &s.results {
                names.insert(*r, w.array(w.ty(*r).clone()));
            }
        }
    }
    let mut names: HashMap<ArrayId, ArrayId> = b.params.iter().copied().zip(args.iter().copied()).collect();
    define(w, b, &mut names);
    rename(b, &names)
}

/// Whether a function has nothing but literals as results: those of a scalar operation, all 0.
fn is_zero(f: &Fun) -> bool {
    let literal = |r| f.body.nodes.iter().find(|n| n.results.contains(r)).map(|n| &n.op);
    f.body.results.iter().all(|r| matches!(literal(r), Some(ScalarOp::Const(l)) if l.bits == 0))
}
