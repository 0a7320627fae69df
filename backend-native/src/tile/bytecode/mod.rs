//! Bytecode: instructions of the tile executor over numbered lane buffers.
//!
//! Values share buffers once they are dead. Constants and uniform values have buffers of their own, filled for all
//! lanes, so that any number of lanes finds them; other values used inside a branch or loop are *captured*: the region
//! has buffers of its own for them, which get the lanes that enter.

pub(super) mod chain_builder;
mod chain_order;
pub(crate) mod compile;
mod loop_iteration;
mod loop_uniform;

use super::chain_ops::Step;
use crate::kernel::Edge;
use acc_core::data::ScalarType;
use acc_core::ir::{ArrayId, Loc, PrimOp};
use smallvec::SmallVec;
use std::sync::Arc;

/// A lane buffer of a frame.
pub(crate) type Slot = u32;
pub(crate) type Slots = SmallVec<[Slot; 4]>;

/// A compiled body.
pub(crate) struct Bytecode {
    /// The type of each buffer.
    pub slots: Vec<ScalarType>,
    /// Buffers filled once, when a frame is made.
    pub consts: Vec<(Slot, u64)>,
    /// The parameters.
    pub params: Vec<Slot>,
    /// Whether anything reads the parameter.
    pub param_used: Vec<bool>,
    pub code: Vec<Inst>,
    pub results: Vec<Slot>,
    /// Which results are written by a chain and read by nothing else.
    pub direct: Vec<bool>,
    /// How many uniform groups there are.
    pub groups: usize,
    /// How many loads have a plan.
    pub plans: usize,
    /// The arrays read, by the numbers that instructions use.
    pub arrays: Vec<ArrayId>,
    /// The launch scalars, by the numbers that instructions use.
    pub scalars: Vec<(ArrayId, u32)>,
}

/// An index along one dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) enum BytecodeIndex {
    /// `lanes` holds the axis index, where lanes may have been compacted.
    Affine {
        axis: u32,
        scale: i64,
        offset: i64,
        base: Option<Slot>,
        lanes: Option<Slot>,
    },
    At(Slot),
}

/// Buffers of a region for outer values: (outer, inner).
pub(crate) type Captures = Vec<(Slot, Slot)>;

/// A load, or a test of bounds.
pub(crate) struct Access {
    pub array: u32,
    pub index: SmallVec<[BytecodeIndex; 4]>,
    pub edge: Option<Edge>,
    pub plan: u32,
    /// Whether only chains use what is read.
    pub for_chains: bool,
    pub loc: Loc,
}

pub(crate) struct Branch {
    pub captures: Captures,
    pub code: Vec<Inst>,
    pub results: Slots,
}

pub(crate) struct Loop {
    /// Initial values, outer buffers.
    pub init: Slots,
    /// The state: parameters of both regions.
    pub state: Slots,
    pub captures: Captures,
    /// The test; for a loop that runs `ahead` the step, too, and `step` is empty then.
    pub test: Vec<Inst>,
    pub ahead: bool,
    pub cond: Slot,
    pub step: Vec<Inst>,
    /// The next state.
    pub next: Slots,
    /// Where the next state is copied first, unless its buffers can be exchanged with the state's.
    pub shadow: SmallVec<[Option<Slot>; 4]>,
    pub results: Slots,
    /// Which parts of the state are uniform.
    pub same: SmallVec<[bool; 4]>,
    /// Whether the condition is uniform: then all lanes leave together.
    pub together: bool,
    /// Whether lanes that have left may run on until compaction pays.
    pub total: bool,
}

/// Operations applied one after the other to blocks of lanes: see `register_blocks`.
pub(crate) struct Chain {
    /// Bytes of a lane.
    pub width: usize,
    pub steps: Vec<Step>,
    /// By the numbers that steps use.
    pub operands: Vec<Operand>,
    /// Scratch blocks for values used in the chain alone.
    pub scratch: u16,
}

/// An operand or a result of a chain's step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    Read(Slot),
    /// A load for chains alone, which may be in several places.
    Loaded(Slot),
    Written(Slot),
    /// `Written`, for a result of the body that nothing else reads.
    Result(Slot),
    /// A uniform value, of which the first lane is read.
    One(Slot),
    Scratch(u16),
}

impl Operand {
    /// Whether all lanes are the same.
    pub(crate) fn is_one(&self) -> bool {
        match self {
            Operand::One(_) => true,
            Operand::Read(_) | Operand::Loaded(_) | Operand::Written(_) | Operand::Result(_) | Operand::Scratch(_) => {
                false
            }
        }
    }
}

/// A call of a host function, lane by lane.
pub(crate) struct Call {
    pub name: Arc<str>,
    pub params: Vec<ScalarType>,
    pub results: Vec<ScalarType>,
    pub args: Slots,
    pub outs: Slots,
    pub loc: Loc,
}

pub(crate) enum Inst {
    Unary {
        op: PrimOp,
        a: Slot,
        out: Slot,
    },
    Binary {
        op: PrimOp,
        a: Slot,
        b: Slot,
        out: Slot,
        loc: Loc,
    },
    Chain(Box<Chain>),
    Fma {
        a: Slot,
        b: Slot,
        c: Slot,
        out: Slot,
    },
    Table {
        words: Arc<[u64]>,
        a: Slot,
        out: Slot,
    },
    Cast {
        a: Slot,
        out: Slot,
    },
    Bitcast {
        a: Slot,
        out: Slot,
    },
    Select {
        c: Slot,
        a: Slot,
        b: Slot,
        out: Slot,
    },
    Call(Box<Call>),
    Scalar {
        scalar: u32,
        out: Slot,
    },
    Extent {
        array: u32,
        axis: u32,
        out: Slot,
    },
    Load {
        access: Box<Access>,
        leaves: SmallVec<[u32; 4]>,
        outs: Slots,
    },
    Inside {
        access: Box<Access>,
        out: Slot,
    },
    Check {
        access: Box<Access>,
    },
    If {
        cond: Slot,
        then: Box<Branch>,
        else_: Box<Branch>,
        outs: Slots,
    },
    While(Box<Loop>),
    /// Evaluated with one lane, since all lanes are equal; then these buffers are filled.
    LoopUniform {
        code: Vec<Inst>,
        filled: Slots,
    },
    /// Evaluated with one lane, once per launch, then broadcast to all lanes of `outs`.
    Uniform {
        group: u32,
        code: Vec<Inst>,
        outs: Slots,
    },
}
