//! Derivatives: one run of the function with tangents, or for adjoints one per scalar of the point.

use super::jet::{Jet, Jets};
use super::launch::{Output, Scalars};
use super::machine::Machine;
use super::number::{Number, Values};
use super::scalar::prim_error;
use super::{fault, internal};
use crate::ad::Arithmetic;
use crate::data::{Lit, Prim, ScalarType};
use crate::error::{Error, Fault};
use crate::eval::PrimError;
use crate::ir::{ArrayId, ArrayOp, Block, Mode, PrimOp, Stmt, TANGENT_EXTENTS};

pub(super) fn derivative<'p>(m: &mut Machine<'p, Jet>, s: &'p Stmt) -> Result<Vec<Values<Jet>>, Error> {
    let ArrayOp::Derivative { mode, at, along, f } = &s.op else {
        return Err(internal("no derivative"));
    };
    let point = at.iter().map(|&a| m.value(a)).collect::<Result<Vec<_>, _>>()?;
    let along = along.iter().map(|&a| m.value(a)).collect::<Result<Vec<_>, _>>()?;
    let level = m.derivatives;
    m.derivatives += 1;
    let results = match mode {
        Mode::Forward => forward(m, s, f, &point, &along, level),
        Mode::Reverse => reverse(m, s, f, &point, &along, level),
    };
    m.derivatives = level;
    results
}

fn forward<'p>(
    m: &mut Machine<'p, Jet>,
    s: &'p Stmt,
    f: &'p Block,
    point: &[Values<Jet>],
    along: &[Values<Jet>],
    level: u32,
) -> Result<Vec<Values<Jet>>, Error> {
    let mut along = along.iter();
    let mut args = Vec::new();
    for (k, x) in point.iter().enumerate() {
        if !x.data.elt().has_float() {
            args.push(x.clone());
            continue;
        }
        let dx = along.next().ok_or_else(|| internal("a point without a tangent"))?;
        if dx.shape() != x.shape() {
            return Err(other_extents(s));
        }
        let mut out = output(m, s, f.params[k], x)?;
        for position in 0..x.size() {
            m.step()?;
            let (element, mut tangents) = (x.element(position)?, dx.element(position)?.into_iter());
            let joined = element.into_iter().map(|x| {
                let t = if x.lit().ty.is_float() { tangents.next() } else { None };
                x.join(level, t)
            });
            out.push(&joined.collect::<Scalars<Jet>>())?;
        }
        args.push(out.finish()?);
    }
    let ys = m.block(f, &args)?;
    let (mut results, mut tangents) = (Vec::new(), Vec::new());
    for (k, y) in ys.into_iter().enumerate() {
        results.push(without(m, s, s.results[k], &y, level)?);
        if !y.data.elt().has_float() {
            continue;
        }
        let mut out = output(m, s, s.results[f.results.len() + tangents.len()], &y)?;
        for position in 0..y.size() {
            m.step()?;
            let floats = y.element(position)?.into_iter().filter(|x| x.lit().ty.is_float());
            let of = |x: Jet| x.split(level).1.unwrap_or_else(|| Jet::plain(Lit::zero(x.lit().ty)));
            out.push(&floats.map(of).collect::<Scalars<Jet>>())?;
        }
        tangents.push(out.finish()?);
    }
    results.extend(tangents);
    Ok(results)
}

fn reverse<'p>(
    m: &mut Machine<'p, Jet>,
    s: &'p Stmt,
    f: &'p Block,
    point: &[Values<Jet>],
    by: &[Values<Jet>],
    level: u32,
) -> Result<Vec<Values<Jet>>, Error> {
    let mut results = m.block(f, point)?;
    let with_adjoint = results.iter().filter(|y| y.data.elt().has_float());
    if with_adjoint.zip(by).any(|(y, ybar)| y.shape() != ybar.shape()) {
        return Err(other_extents(s));
    }
    let mut adjoints = Vec::new();
    for (k, x) in point.iter().enumerate().filter(|(_, x)| x.data.elt().has_float()) {
        let mut out = output(m, s, s.results[f.results.len() + adjoints.len()], x)?;
        for position in 0..x.size() {
            let element = x.element(position)?;
            let mut adjoint = Scalars::new();
            for leaf in (0..element.len()).filter(|&leaf| element[leaf].lit().ty.is_float()) {
                let one = Jet::plain(Lit::one(element[leaf].lit().ty));
                let mut varied = x.clone();
                element[leaf].clone().join(level, Some(one)).store(&mut varied.beside, position * element.len() + leaf);
                let args: Vec<_> =
                    point.iter().enumerate().map(|(j, x)| if j == k { varied.clone() } else { x.clone() }).collect();
                let ys = m.block(f, &args)?;
                adjoint.push(product(m, s, &ys, by, element[leaf].lit().ty, level)?);
            }
            out.push(&adjoint)?;
        }
        adjoints.push(out.finish()?);
    }
    results.extend(adjoints);
    Ok(results)
}

pub(super) fn other_extents(s: &Stmt) -> Error {
    fault(Fault::check_failed(TANGENT_EXTENTS, &[]), s.operation(), &s.loc)
}

/// The sum over all results of tangent times adjoint, as a number of type `ty`.
fn product<'p>(
    m: &mut Machine<'p, Jet>,
    s: &Stmt,
    ys: &[Values<Jet>],
    by: &[Values<Jet>],
    ty: ScalarType,
    level: u32,
) -> Result<Jet, Error> {
    let failed = |e: PrimError| prim_error(e, s.operation(), &s.loc);
    let mut sum = Jet::plain(0f64.lit());
    for (y, ybar) in ys.iter().filter(|y| y.data.elt().has_float()).zip(by) {
        for position in 0..y.size() {
            m.step()?;
            let floats = y.element(position)?.into_iter().filter(|x| x.lit().ty.is_float());
            for (y, ybar) in floats.zip(ybar.element(position)?) {
                let Some(tangent) = y.split(level).1 else { continue };
                let product = Jets.prim(PrimOp::MulP, &[tangent, ybar]).map_err(failed)?;
                let product = product.cast(ScalarType::F64).map_err(failed)?;
                sum = Jets.prim(PrimOp::AddP, &[sum, product]).map_err(failed)?;
            }
        }
    }
    sum.cast(ty).map_err(failed)
}

/// An array without its tangents at a level.
pub(super) fn without<'p>(
    m: &mut Machine<'p, Jet>,
    s: &Stmt,
    ty: ArrayId,
    y: &Values<Jet>,
    level: u32,
) -> Result<Values<Jet>, Error> {
    let mut out = output(m, s, ty, y)?;
    for position in 0..y.size() {
        m.step()?;
        let element = y.element(position)?.into_iter().map(|x| x.split(level).0);
        out.push(&element.collect::<Scalars<Jet>>())?;
    }
    out.finish()
}

/// An array of this one's extents, of the type of another.
pub(super) fn output<'p>(
    m: &Machine<'p, Jet>,
    s: &Stmt,
    ty: ArrayId,
    like: &Values<Jet>,
) -> Result<Output<Jet>, Error> {
    Output::new(like.shape().to_vec(), m.elt(ty), s, &m.meter)
}
