//! Functions with rules for their derivatives.
//!
//! The tangents of the highest level come from a rule, which is given the numbers of the levels below; those below in the
//! same way. A forward rule runs once, a reverse rule once for each float of the results.

use super::derivative::{other_extents, output, without};
use super::internal;
use super::jet::{Jet, Jets, Levels};
use super::launch::Scalars;
use super::machine::Machine;
use super::number::{Number, Values};
use super::scalar::prim_error;
use crate::ad::{self, Arithmetic};
use crate::data::{Lit, Prim, ScalarType};
use crate::error::Error;
use crate::ir::{ArrayOp, Block, PrimOp, Stmt};

/// A function with a rule.
struct Ruled<'p> {
    s: &'p Stmt,
    f: &'p Block,
    jvp: Option<&'p Block>,
    vjp: Option<&'p Block>,
    /// How many of its results are no residuals.
    visible: usize,
}

/// The results of a function with rules.
pub(super) fn ruled<'p>(m: &mut Machine<'p, Jet>, s: &'p Stmt) -> Result<Vec<Values<Jet>>, Error> {
    let ArrayOp::Ruled { at, residuals, f, jvp, vjp } = &s.op else {
        return Err(internal("no function with rules"));
    };
    let args = m.all(at)?;
    if jvp.is_none() && vjp.is_none() {
        return m.block(f, &args);
    }
    let visible = f.results.len().saturating_sub(*residuals);
    let results = Ruled { s, f, jvp: jvp.as_ref(), vjp: vjp.as_ref(), visible }.at(m, &args)?;
    let given = levels(&args);
    if levels(&results) & !given != 0 {
        let active = |a| m.evaluated(a).is_some_and(|x| levels(std::slice::from_ref(x)) & !given != 0);
        let read = ad::active_capture(s, &active).unwrap_or_else(|| s.loc.clone());
        return Err(ad::captured((s.loc.clone(), read)));
    }
    Ok(results)
}

/// The levels at which any of these has a tangent.
fn levels(arrays: &[Values<Jet>]) -> Levels {
    arrays.iter().flat_map(|a| a.beside.values()).flatten().fold(0, |all, (levels, _)| all | levels)
}

impl<'p> Ruled<'p> {
    fn at(&self, m: &mut Machine<'p, Jet>, args: &[Values<Jet>]) -> Result<Vec<Values<Jet>>, Error> {
        let Some(level) = levels(args).checked_ilog2() else { return m.block(self.f, args) };
        let plain = args.iter().zip(&self.f.params).map(|(x, p)| without(m, self.s, *p, x, level));
        let plain = plain.collect::<Result<Vec<_>, _>>()?;
        let below = self.at(m, &plain)?;
        let tangents = match (self.jvp, self.vjp) {
            (Some(rule), _) => {
                let mut all = plain;
                all.extend(below[self.visible..].iter().cloned());
                let first = all.len();
                for (k, x) in args.iter().filter(|x| x.data.elt().has_float()).enumerate() {
                    let mut out = output(m, self.s, rule.params[first + k], x)?;
                    for position in 0..x.size() {
                        let tangent = |x: Jet| x.split(level).1.unwrap_or_else(|| Jet::plain(Lit::zero(x.lit().ty)));
                        out.push(&floats(x, position)?.into_iter().map(tangent).collect::<Scalars<Jet>>())?;
                    }
                    all.push(out.finish()?);
                }
                m.block(rule, &all)?
            }
            (None, Some(rule)) => self.by_adjoints(m, rule, args, &below, level)?,
            (None, None) => Vec::new(),
        };
        let mut tangents = tangents.into_iter();
        let mut results = Vec::new();
        for (k, y) in below.iter().enumerate().take(self.visible) {
            if !y.data.elt().has_float() {
                results.push(y.clone());
                continue;
            }
            let dy = tangents.next().ok_or_else(|| internal("a result without a tangent"))?;
            if dy.shape() != y.shape() {
                return Err(other_extents(self.s));
            }
            let mut out = output(m, self.s, self.f.results[k], y)?;
            for position in 0..y.size() {
                m.step()?;
                let mut dy = dy.element(position)?.into_iter();
                let joined = y.element(position)?.into_iter().map(|y| {
                    let t = if y.lit().ty.is_float() { dy.next() } else { None };
                    y.join(level, t)
                });
                out.push(&joined.collect::<Scalars<Jet>>())?;
            }
            results.push(out.finish()?);
        }
        if self.visible < self.f.results.len() {
            // Residuals are computed from the other results as these are now.
            let known: Vec<_> = self.f.results.iter().copied().zip(results.iter().cloned()).collect();
            results.extend(m.block_where(self.f, args, &known)?.into_iter().skip(self.visible));
        }
        Ok(results)
    }

    /// The tangents of the results, each the product of the adjoint that the rule makes of it alone and the tangent of the
    /// arguments.
    fn by_adjoints(
        &self,
        m: &mut Machine<'p, Jet>,
        rule: &'p Block,
        args: &[Values<Jet>],
        below: &[Values<Jet>],
        level: u32,
    ) -> Result<Vec<Values<Jet>>, Error> {
        let (visible, residuals) = below.split_at(self.visible);
        let with_adjoint: Vec<&Values<Jet>> = visible.iter().filter(|y| y.data.elt().has_float()).collect();
        let mut tangents = Vec::new();
        for (k, y) in with_adjoint.iter().enumerate() {
            let mut out = output(m, self.s, rule.params[residuals.len() + k], y)?;
            for position in 0..y.size() {
                let mut tangent = Scalars::new();
                for leaf in 0..floats(y, position)?.len() {
                    let mut all = residuals.to_vec();
                    for (j, z) in with_adjoint.iter().enumerate() {
                        let one = (j == k).then_some((position, leaf));
                        all.push(self.unit(m, rule.params[residuals.len() + j], z, one)?);
                    }
                    let adjoints = m.block(rule, &all)?;
                    let ty = floats(y, position)?[leaf].lit().ty;
                    tangent.push(self.product(m, args, &adjoints, ty, level)?);
                }
                out.push(&tangent)?;
            }
            tangents.push(out.finish()?);
        }
        Ok(tangents)
    }

    /// An adjoint of an array: 1 at a float of an element, if it is this one's, and 0 elsewhere.
    fn unit(
        &self,
        m: &mut Machine<'p, Jet>,
        ty: crate::ir::ArrayId,
        like: &Values<Jet>,
        one: Option<(usize, usize)>,
    ) -> Result<Values<Jet>, Error> {
        let mut out = output(m, self.s, ty, like)?;
        for position in 0..like.size() {
            m.step()?;
            let of = |(leaf, x): (usize, Jet)| {
                let ty = x.lit().ty;
                Jet::plain(if one == Some((position, leaf)) { Lit::one(ty) } else { Lit::zero(ty) })
            };
            out.push(&floats(like, position)?.into_iter().enumerate().map(of).collect::<Scalars<Jet>>())?;
        }
        out.finish()
    }

    /// The sum over the arguments of their tangents times these adjoints, as a number of type `ty`. What has an adjoint of 0
    /// contributes nothing, whatever its tangent.
    fn product(
        &self,
        m: &mut Machine<'p, Jet>,
        args: &[Values<Jet>],
        adjoints: &[Values<Jet>],
        ty: ScalarType,
        level: u32,
    ) -> Result<Jet, Error> {
        let failed = |e| prim_error(e, self.s.operation(), &self.s.loc);
        let mut sum = Jet::plain(0f64.lit());
        for (x, xbar) in args.iter().filter(|x| x.data.elt().has_float()).zip(adjoints) {
            if x.shape() != xbar.shape() {
                return Err(other_extents(self.s));
            }
            for position in 0..x.size() {
                m.step()?;
                for (x, xbar) in floats(x, position)?.into_iter().zip(xbar.element(position)?) {
                    let Some(dx) = x.split(level).1 else { continue };
                    let product = Jet::times_slope(&xbar, dx).map_err(failed)?;
                    let product = product.cast(ScalarType::F64).map_err(failed)?;
                    sum = Jets.prim(PrimOp::AddP, &[sum, product]).map_err(failed)?;
                }
            }
        }
        sum.cast(ty).map_err(failed)
    }
}

/// The floats of an element.
fn floats(a: &Values<Jet>, position: usize) -> Result<Scalars<Jet>, Error> {
    Ok(a.element(position)?.into_iter().filter(|x| x.lit().ty.is_float()).collect())
}
