//! Evaluation of scalar functions.

use super::number::{Number, Values};
use super::{Host, internal};
use crate::data::Lit;
use crate::error::{Error, Fault};
use crate::eval::{self, PrimError};
use crate::grow_stack;
use crate::ir::{ArrayId, Foreign, Fun, Loc, Node, PrimOp, Read, Region, ScalarOp, Val};
use smallvec::SmallVec;

/// A few scalars.
pub(super) type Scalars<N> = SmallVec<[N; 4]>;

/// One scalar function during one launch: the evaluation of one array statement, or of a closed function.
///
/// Code that depends on no parameter is evaluated once per launch, when it is first reached: its values stay where
/// they are from call to call. Values are indexed without a check of our own: the program is verified (rule V1).
pub(super) struct Launch<'f, N: Number> {
    fun: &'f Fun,
    op: &'static str,
    loc: &'f Loc,
    /// The values, by [`Val::index`].
    values: Vec<N>,
    /// Whether a value depends on no parameter of the function.
    uniform: Vec<bool>,
    /// Whether a uniform value is computed already.
    ready: Vec<bool>,
    /// The arrays read so far.
    arrays: Vec<(ArrayId, Values<N>)>,
}

impl<'f, N: Number> Launch<'f, N> {
    /// A launch of `fun` in the array operation `op` that stands at `loc`.
    pub(super) fn new(fun: &'f Fun, op: &'static str, loc: &'f Loc) -> Self {
        let values = fun.types.iter().map(|&t| N::plain(Lit::zero(t))).collect();
        let ready = vec![false; fun.types.len()];
        Launch { fun, op, loc, values, uniform: Uniformity::of(fun), ready, arrays: Vec::new() }
    }

    /// Calls the function.
    pub(super) fn call(
        &mut self,
        args: impl IntoIterator<Item = N>,
        host: &mut dyn Host<N>,
    ) -> Result<Scalars<N>, Error> {
        for (&p, arg) in self.fun.body.params.iter().zip(args) {
            self.values[p.index()] = arg;
        }
        self.region(&self.fun.body, host)?;
        Ok(self.get(&self.fun.body.results))
    }

    fn get(&self, vals: &[Val]) -> Scalars<N> {
        vals.iter().map(|&v| self.values[v.index()].clone()).collect()
    }

    fn set(&mut self, vals: &[Val], scalars: &[N]) {
        for (v, x) in vals.iter().zip(scalars) {
            self.values[v.index()] = x.clone();
        }
    }

    fn is_true(&self, v: Val) -> bool {
        self.values[v.index()].lit().bits != 0
    }

    fn region(&mut self, region: &'f Region, host: &mut dyn Host<N>) -> Result<(), Error> {
        grow_stack(|| region.nodes.iter().try_for_each(|n| self.node(n, host)))
    }

    fn node(&mut self, node: &'f Node, host: &mut dyn Host<N>) -> Result<(), Error> {
        let first = node.results.first().map(|v| v.index());
        if first.is_some_and(|v| self.uniform[v] && self.ready[v]) {
            return Ok(());
        }
        host.tick()?;
        let results: Scalars<N> = match &node.op {
            ScalarOp::Const(l) => smallvec::smallvec![N::plain(*l)],
            ScalarOp::Prim(op, args) => {
                let args = self.get(args);
                smallvec::smallvec![N::prim(*op, &args).map_err(|e| self.prim_error(e, node))?]
            }
            ScalarOp::Cast(x) => {
                let cast = self.values[x.index()].cast(self.fun.ty(node.results[0]));
                smallvec::smallvec![cast.map_err(|e| self.prim_error(e, node))?]
            }
            ScalarOp::Bitcast(x) => {
                // Bits have no tangents.
                let cast = eval::eval_bitcast(self.values[x.index()].lit(), self.fun.ty(node.results[0]));
                smallvec::smallvec![N::plain(cast.map_err(|e| self.prim_error(e, node))?)]
            }
            ScalarOp::Select { cond, then, else_ } => self.get(&[if self.is_true(*cond) { *then } else { *else_ }]),
            ScalarOp::If { cond, then, else_ } => {
                let taken = if self.is_true(*cond) { then } else { else_ };
                self.region(taken, host)?;
                self.get(&taken.results)
            }
            ScalarOp::While { init, test, step } => {
                let mut state = self.get(init);
                loop {
                    host.tick()?;
                    self.set(&test.params, &state);
                    self.region(test, host)?;
                    if !test.results.iter().all(|&v| self.is_true(v)) {
                        break state;
                    }
                    self.set(&step.params, &state);
                    self.region(step, host)?;
                    state = self.get(&step.results);
                }
            }
            ScalarOp::Own(f) => {
                let args = self.get(&f.args);
                let levels = |all: &[N]| all.iter().fold(0, |levels, x| levels | x.levels());
                let results = self.foreign(f, &args, node, host)?;
                // Of the fallback, what it uses from around it has a part, too.
                if f.partials.is_some() && levels(&results) & !levels(&args) != 0 {
                    let loc = self.loc_of(node);
                    return Err(crate::ad::captured((loc.clone(), loc.clone())));
                }
                results
            }
            ScalarOp::Index(Read { array, leaves, index, .. }) => {
                let index: SmallVec<[i64; 4]> = index.iter().map(|&v| self.values[v.index()].int()).collect();
                let k = self.array(*array, host)?;
                let source = &self.arrays[k].1;
                match source.data.position(&index) {
                    Some(at) => leaves
                        .iter()
                        .map(|&l| source.leaf(l as usize, at))
                        .collect::<Option<Scalars<N>>>()
                        .ok_or_else(|| internal("a column is shorter than its array"))?,
                    None => return Err(self.fault(out_of_bounds(*array, &index, source.shape()), node)),
                }
            }
            ScalarOp::Extent { array, axis } => {
                let k = self.array(*array, host)?;
                let extent = self.arrays[k].1.shape()[*axis as usize];
                smallvec::smallvec![N::of_int(&(extent as i64))]
            }
        };
        self.set(&node.results, &results);
        if let Some(v) = first {
            self.ready[v] = true;
        }
        Ok(())
    }

    fn inner(&mut self, r: &'f Region, args: &[N], host: &mut dyn Host<N>) -> Result<Scalars<N>, Error> {
        self.set(&r.params, args);
        self.region(r, host)?;
        Ok(self.get(&r.results))
    }

    /// The results of a foreign function: of its fallback, with tangents by its partial derivatives if it has its own. Those
    /// of the highest level come of the numbers of the levels below, and these in the same way.
    fn foreign(
        &mut self,
        f: &'f Foreign,
        args: &[N],
        node: &Node,
        host: &mut dyn Host<N>,
    ) -> Result<Scalars<N>, Error> {
        let level = args.iter().fold(0, |levels, x| levels | x.levels()).checked_ilog2();
        let (Some(partials), Some(level)) = (&f.partials, level) else { return self.inner(&f.fallback, args, host) };
        let (below, tangents): (Vec<N>, Vec<Option<N>>) = args.iter().map(|x| x.split(level)).unzip();
        let results = self.foreign(f, &below, node, host)?;
        let all: Vec<N> = below.iter().chain(&results).cloned().collect();
        let mut partials = self.inner(partials, &all, host)?.into_iter();
        let failed = |e| prim_error(e, self.op, self.loc_of(node));
        let mut joined = Scalars::new();
        for y in results {
            let ty = y.lit().ty;
            let mut sum: Option<N> = None;
            let floats = below.iter().zip(&tangents).filter(|(x, _)| ty.is_float() && x.lit().ty.is_float());
            for (_, tangent) in floats {
                let (Some(slope), Some(tangent)) = (partials.next(), tangent) else { continue };
                let part = N::times_slope(tangent, slope).and_then(|t| t.cast(ty)).map_err(failed)?;
                sum = Some(match sum {
                    Some(sum) => N::prim(PrimOp::AddP, &[sum, part]).map_err(failed)?,
                    None => part,
                });
            }
            joined.push(y.join(level, sum));
        }
        Ok(joined)
    }

    /// The position of an array in `self.arrays`; it is evaluated now if nobody needed it before.
    fn array(&mut self, a: ArrayId, host: &mut dyn Host<N>) -> Result<usize, Error> {
        if let Some(k) = self.arrays.iter().position(|(id, _)| *id == a) {
            return Ok(k);
        }
        self.arrays.push((a, host.array(a)?));
        Ok(self.arrays.len() - 1)
    }

    fn fault(&self, fault: Fault, node: &Node) -> Error {
        super::fault(fault, self.op, self.loc_of(node))
    }

    fn prim_error(&self, error: PrimError, node: &Node) -> Error {
        prim_error(error, self.op, self.loc_of(node))
    }

    fn loc_of<'a>(&'a self, node: &'a Node) -> &'a Loc {
        if node.loc.is_known() { &node.loc } else { self.loc }
    }
}

/// The error of a primitive operation in the array operation `op`.
pub(super) fn prim_error(error: PrimError, op: &'static str, loc: &Loc) -> Error {
    match error {
        PrimError::DivisionByZero => super::fault(Fault::DivisionByZero, op, loc),
        PrimError::IllTyped => internal(format!("{op} at {loc}: {error}")),
    }
}

/// The fault of a read or write out of bounds.
pub(super) fn out_of_bounds(array: ArrayId, index: &[i64], shape: &[usize]) -> Fault {
    Fault::IndexOutOfBounds { array: array.into(), index: index.to_vec(), shape: shape.to_vec() }
}

/// Which values depend on no parameter of a function.
///
/// Each value has a level, that of the outermost parameter on which it depends: 0 for parameters of the function, 1 for
/// those of a loop or fallback in it, and so on. The results of a loop do not depend on its own parameters.
struct Uniformity {
    levels: Vec<u32>,
}

/// The level of what depends on no parameter at all.
const UNIFORM: u32 = u32::MAX;

impl Uniformity {
    fn of(fun: &Fun) -> Vec<bool> {
        let mut u = Uniformity { levels: vec![UNIFORM; fun.types.len()] };
        for p in &fun.body.params {
            u.levels[p.index()] = 0;
        }
        u.region(&fun.body, 0);
        u.levels.into_iter().map(|l| l == UNIFORM).collect()
    }

    fn of_all(&self, vals: &[Val]) -> u32 {
        vals.iter().map(|v| self.levels[v.index()]).min().unwrap_or(UNIFORM)
    }

    /// The least level of all that is used in a region that stands in `depth` loops and fallbacks.
    fn region(&mut self, r: &Region, depth: u32) -> u32 {
        grow_stack(|| {
            let mut least = self.of_all(&r.results);
            for n in &r.nodes {
                let mut level = self.of_all(&n.op.operands());
                let binds = matches!(n.op, ScalarOp::While { .. } | ScalarOp::Own(_));
                let inner = if binds { depth + 1 } else { depth };
                for part in n.op.regions() {
                    for p in &part.params {
                        self.levels[p.index()] = inner;
                    }
                    level = level.min(self.region(part, inner));
                }
                if binds && level >= inner {
                    level = UNIFORM;
                }
                for v in &n.results {
                    self.levels[v.index()] = level;
                }
                least = least.min(level);
            }
            least.min(self.of_all(&r.results))
        })
    }
}
