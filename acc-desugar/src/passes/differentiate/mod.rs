//! Derivatives become ordinary code: what an executor runs has none.
//!
//! A derivative inside another one is expanded first; then the outer one finds ordinary code. `jvp` becomes the function and
//! beside each statement one for its tangents ([`dual`]); `vjp` the function and, from the last statement to the first,
//! what takes the adjoint of a result to those of what it was computed from ([`pullback`]). What does not depend smoothly on
//! the point ([`Activity`](acc_core::ad::Activity)) has neither. Statements keep the locations of what they come from.
//!
//! Functions with rules stay what they are until no derivative is left, so that each of those around them finds the rules
//! ([`ruled`]); then they are written in their place ([`inline`]).
//!
//! The interpreter computes derivatives of the program as it was written, by jets: the two must agree.

mod assumed;
mod dual;
mod extents;
mod indices;
mod inline;
mod notes;
mod pullback;
mod ruled;
mod sweep;
mod writer;

pub use notes::Note;

use crate::settings::Settings;
use acc_core::ir::{
    ArrayId, ArrayOp, Block, Closed, Fun, Ir, Mapper, Mode, Program, Stmt, arrays_needed, arrays_on_demand,
};
use acc_core::{Error, grow_stack};
use assumed::{Equal, equal_axes, with_equal_extents};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use writer::Writer;

/// Expands all derivatives.
pub(crate) fn pass<'p>(program: &'p Program, settings: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    expand(program, settings, false)
}

/// The same, where derivatives also evaluate no more than the function does, at the price of more operations. What an array
/// would contribute that the function may not have evaluated is computed where its adjoint is not all 0, but in a derivative
/// of which another one is taken.
pub(crate) fn exact<'p>(program: &'p Program, settings: &Settings<'_>) -> Result<Cow<'p, Program>, Error> {
    expand(program, settings, true)
}

fn expand<'p>(program: &'p Program, settings: &Settings<'_>, exact: bool) -> Result<Cow<'p, Program>, Error> {
    if !program.has_derivatives() && !program.has_rules() {
        return Ok(Cow::Borrowed(program));
    }
    let mut e = Expander::new(program, settings, exact);
    let body = e.block(&program.body)?;
    let expanded = Program { types: e.w.types, names: program.names.clone(), body };
    inline::pass(expanded, settings.limits).map(Cow::Owned)
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
    let mut e = Expander::new(program, settings, false);
    e.block(&program.body)?;
    Ok(e.w.into_notes())
}

struct Expander<'a> {
    w: Writer<'a>,
    /// What the results of derivatives are now.
    known: HashMap<ArrayId, ArrayId>,
    /// How many derivatives the block is in.
    derivatives: usize,
}

impl<'a> Expander<'a> {
    fn new(program: &Program, settings: &Settings<'a>, exact: bool) -> Expander<'a> {
        let w = Writer::new(program.types.clone(), settings, !exact);
        Expander { w, known: HashMap::new(), derivatives: 0 }
    }
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
        let op = match &s.op {
            // Outside of derivatives nobody asks for rules.
            ArrayOp::Ruled { at, f, .. } if self.derivatives == 0 => ArrayOp::Ruled {
                at: self.arrays(at)?,
                residuals: 0,
                f: Expander::block(self, f)?,
                jvp: None,
                vjp: None,
            },
            ArrayOp::Derivative { mode, at, along, f } => {
                self.derivatives += 1;
                let f = Expander::block(self, &pruned(f));
                self.derivatives -= 1;
                ArrayOp::Derivative { mode: *mode, at: self.arrays(at)?, along: self.arrays(along)?, f: f? }
            }
            op => op.try_map(self)?,
        };
        self.w.at(s);
        let ArrayOp::Derivative { mode, at, along, f } = op else {
            self.w.stmts.push(Stmt { results: s.results.clone(), op, loc: s.loc.clone() });
            return Ok(());
        };
        // An adjoint that is 0 at the point may have tangents that are not.
        self.w.exact = !self.w.assumes && self.derivatives == 0;
        let assumes = mode == Mode::Reverse && self.w.assumes && self.w.histories;
        let equal = if assumes { equal_axes(&self.w, &f) } else { Equal::new() };
        let f = with_equal_extents(&mut self.w, f, &at, &equal);
        let inside = |e: Error| e.during(s.operation(), &s.loc);
        let results = match mode {
            Mode::Forward => {
                let along = self.w.given(&f.params, &along);
                dual::derivative(&mut self.w, &f, &along).map_err(inside)?
            }
            Mode::Reverse => {
                self.w.stmts.extend(f.stmts.iter().cloned());
                let by = self.w.given(&f.results, &along);
                pullback::derivative(&mut self.w, &f, &by).map_err(inside)?
            }
        };
        self.known.extend(s.results.iter().copied().zip(results));
        Ok(())
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

/// A block without statements that its results do not need.
fn pruned(b: &Block) -> Block {
    let mut needed: HashSet<ArrayId> = b.results.iter().copied().collect();
    let mut stmts = Vec::new();
    for s in b.stmts.iter().rev() {
        if s.results.iter().any(|r| needed.contains(r)) {
            needed.extend(arrays_needed(s));
            needed.extend(arrays_on_demand(s));
            stmts.push(s.clone());
        }
    }
    stmts.reverse();
    Block { params: b.params.clone(), stmts, results: b.results.clone() }
}

/// A copy of a block with new arrays for all that it defines, but for its parameters, in whose place stand `args`.
fn copy(w: &mut Writer<'_>, b: &Block, args: &[ArrayId]) -> Block {
    copy_where(w, b, b.params.iter().copied().zip(args.iter().copied()).collect())
}

/// A copy of a block with new arrays for all that it defines, and other names for some that it uses.
fn copy_where(w: &mut Writer<'_>, b: &Block, mut names: HashMap<ArrayId, ArrayId>) -> Block {
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
    define(w, b, &mut names);
    rename(b, &names)
}

/// Whether a function has nothing but literals as results: those of a scalar operation, all 0.
fn is_zero(f: &Fun) -> bool {
    f.body.results.iter().all(|r| f.body.literal(*r).is_some_and(|l| l.bits == 0))
}
