//! Jets: numbers with tangents, which give derivatives their meaning.
//!
//! A derivative around a number is a *level*, and a jet has for each set of levels perhaps a tangent: it is the number plus
//! the sum of its tangents times an infinitesimal per level, whose square is 0. A tangent that is not there is a zero that
//! multiplies nothing. Operations split their operands at the highest level there is, by the table of
//! [partial derivatives](crate::ad), which they compute with jets of the levels below: so derivatives nest to any depth
//! (Siskind and Pearlmutter, Nesting forward-mode AD in a functional framework, 2008).

use super::machine::Machine;
use super::number::{Number, Values};
use super::{derivative, ruled};
use crate::ad::{self, Arithmetic, Partial};
use crate::data::{Lit, ScalarType};
use crate::error::Error;
use crate::eval::{self, PrimError};
use crate::ir::{PrimOp, Stmt};
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::Arc;

/// A set of levels, one bit for each.
pub(super) type Levels = u32;

/// Tangents by their levels, of which there is at least one, in ascending order.
type Tangents = SmallVec<[(Levels, Lit); 1]>;

/// A number with its tangents.
#[derive(Clone)]
pub(super) struct Jet {
    value: Lit,
    tangents: Tangents,
}

impl Jet {
    /// The highest level at which it has a tangent.
    fn level(&self) -> Option<u32> {
        self.tangents.last().map(|(levels, _)| levels.ilog2())
    }
}

impl Number for Jet {
    /// The tangents of the scalars that have some.
    type Beside = Arc<HashMap<usize, Tangents>>;
    const BYTES_BESIDE: usize = 2 * size_of::<(usize, Tangents)>();

    fn plain(value: Lit) -> Jet {
        Jet { value, tangents: Tangents::new() }
    }
    fn lit(&self) -> Lit {
        self.value
    }
    fn load(value: Lit, beside: &Self::Beside, position: usize) -> Jet {
        Jet { value, tangents: beside.get(&position).cloned().unwrap_or_default() }
    }
    fn store(&self, beside: &mut Self::Beside, position: usize) {
        if !self.tangents.is_empty() {
            Arc::make_mut(beside).insert(position, self.tangents.clone());
        } else if beside.contains_key(&position) {
            Arc::make_mut(beside).remove(&position);
        }
    }
    fn prim(op: PrimOp, args: &[Jet]) -> Result<Jet, PrimError> {
        Jets.prim(op, args)
    }
    fn cast(&self, to: ScalarType) -> Result<Jet, PrimError> {
        let value = eval::eval_cast(self.value, to)?;
        if !to.is_float() {
            return Ok(Jet::plain(value));
        }
        let tangents = self.tangents.iter().map(|(levels, t)| Ok((*levels, eval::eval_cast(*t, to)?)));
        Ok(Jet { value, tangents: tangents.collect::<Result<_, _>>()? })
    }
    fn derivative<'p>(m: &mut Machine<'p, Jet>, s: &'p Stmt) -> Result<Vec<Values<Jet>>, Error> {
        derivative::derivative(m, s)
    }
    fn ruled<'p>(m: &mut Machine<'p, Jet>, s: &'p Stmt) -> Result<Vec<Values<Jet>>, Error> {
        ruled::ruled(m, s)
    }
    fn levels(&self) -> u32 {
        self.tangents.iter().fold(0, |all, (levels, _)| all | levels)
    }
    fn split(&self, level: u32) -> (Jet, Option<Jet>) {
        let bit = 1 << level;
        let (with, without): (Tangents, Tangents) =
            self.tangents.iter().copied().partition(|(levels, _)| levels & bit != 0);
        let mut value = None;
        let mut tangents = Tangents::new();
        for (levels, t) in &with {
            if *levels == bit {
                value = Some(*t);
            } else {
                tangents.push((levels & !bit, *t));
            }
        }
        let zero = Lit::zero(self.value.ty);
        let tangent = (!with.is_empty()).then(|| Jet { value: value.unwrap_or(zero), tangents });
        (Jet { value: self.value, tangents: without }, tangent)
    }
    fn join(mut self, level: u32, tangent: Option<Jet>) -> Jet {
        if let Some(t) = tangent {
            let bit = 1 << level;
            self.tangents.push((bit, t.value));
            self.tangents.extend(t.tangents.iter().map(|(levels, l)| (levels | bit, *l)));
        }
        self
    }
    fn times_slope(tangent: &Jet, slope: Jet) -> Result<Jet, PrimError> {
        let product = ad::scaled(&mut Jets, Partial::TimesSteep(slope), tangent, false)?;
        Ok(product.unwrap_or_else(|| Jet::plain(Lit::zero(tangent.value.ty))))
    }
}

/// Computes with jets.
pub(super) struct Jets;

impl Arithmetic for Jets {
    type Value = Jet;
    type Error = PrimError;

    fn ty(&self, x: &Jet) -> ScalarType {
        x.value.ty
    }
    fn literal(&mut self, l: Lit) -> Jet {
        Jet::plain(l)
    }
    fn prim(&mut self, op: PrimOp, args: &[Jet]) -> Result<Jet, PrimError> {
        let Some(level) = args.iter().filter_map(Jet::level).max() else {
            let args: SmallVec<[Lit; 2]> = args.iter().map(Jet::lit).collect();
            return Ok(Jet::plain(eval::eval_prim(op, &args)?));
        };
        let (args, tangents): (Vec<Jet>, Vec<Option<Jet>>) = args.iter().map(|x| x.split(level)).unzip();
        let y = self.prim(op, &args)?;
        let tangent = ad::tangent(self, op, &args, &y, &tangents, false)?;
        Ok(y.join(level, tangent))
    }
    fn select(&mut self, cond: &Jet, then: &Jet, else_: &Jet) -> Result<Jet, PrimError> {
        Ok(if cond.value.bits != 0 { then.clone() } else { else_.clone() })
    }
}
