//! What the code written so far has defined for a body.

use super::access::transposed_load::TransposedLoad;
use super::loops::guarded_reads::Guarded;
use super::loops::masked_reads::MaskedReads;
use super::loops::narrow_induction::NarrowState;
use super::loops::nest::{Axis, Proven};
use super::loops::scheduled::row_pairs::RowPair;
use super::text::Operand;
use super::text::value::Value;
use crate::kernel::{Body, Node};
use acc_core::ir::Val;
use std::collections::{HashMap, HashSet};

/// The values of a body, and what holds at this point of the code.
pub(crate) struct Scope {
    pub values: Vec<Option<Value>>,
    /// How the axes are bound.
    pub axes: Vec<Axis>,
    /// Indices proven in bounds: everywhere, or in steps of full vectors away from boundaries.
    pub proven: Proven,
    /// Values that are carried in 32 instead of 64 bits.
    pub halved: NarrowState,
    /// Conditions that hardly any lane has.
    pub unlikely: HashSet<Val>,
    /// Conditionals that guard reads, by their first result.
    pub guarded: HashMap<Val, Guarded>,
    /// Conditionals of nothing but reads and checks that their condition proves in bounds.
    pub masked_reads: HashMap<*const Node, MaskedReads>,
    /// Factors of terms that are added under a mask, and the condition that the mask is.
    pub terms_under: HashMap<Val, Val>,
    /// The rows of vectors that hold two.
    pub pair: Option<RowPair>,
    /// Conditions that hold here, in all lanes.
    pub holding: Vec<Val>,
    /// Loads whose values were transposed into stack buffers.
    pub transposed: Vec<TransposedLoad>,
}

impl Scope {
    /// The scope at the start of a body.
    pub(crate) fn new(body: &Body) -> Scope {
        Scope {
            values: vec![None; body.types.len()],
            axes: Vec::new(),
            proven: Proven::default(),
            halved: NarrowState::default(),
            unlikely: HashSet::new(),
            guarded: HashMap::new(),
            masked_reads: HashMap::new(),
            terms_under: HashMap::new(),
            pair: None,
            holding: Vec::new(),
            transposed: Vec::new(),
        }
    }

    /// The value that was written for `v`. Verified bodies define values before their uses.
    pub(crate) fn value(&self, v: Val) -> Value {
        debug_assert!(self.values[v.index()].is_some(), "{v} is not written yet");
        self.values[v.index()].clone().unwrap_or_else(|| Value::Uniform(Operand::text("0")))
    }

    pub(crate) fn set(&mut self, v: Val, value: Value) {
        self.values[v.index()] = Some(value);
    }

    /// The scalar of a uniform value; of an affine one that of the first lane.
    pub(crate) fn scalar(&self, v: Val) -> Operand {
        match self.value(v) {
            Value::Uniform(o) | Value::Affine(o, _) => o,
            Value::Varying(parts) => {
                debug_assert!(false, "{v} differs from lane to lane");
                parts.first().cloned().unwrap_or_else(|| Operand::text("0"))
            }
        }
    }
}
