//! Products of matrices in recordings: calls of `gemm` on memory that stays where it is.

use crate::buffer::AnyBuffer;
use crate::llvm::call::{CallOutcome, column_address, out_address};
use crate::run::launch::Job;
use crate::run::rows::gemm::{self, Number, Target};
use crate::run::rows::product::{Block, Plan};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::ArrayId;
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

/// Some blocks of a product, whose factors and result are in memory that lives as long as the recording.
pub(super) enum BoundProduct {
    F32(Blocks<f32>),
    F64(Blocks<f64>),
}

/// Memory: its address, and how many elements there are.
type Memory = (u64, usize);

pub(super) struct Blocks<T> {
    plan: Plan,
    blocks: Vec<Block>,
    init: T,
    factors: [Memory; 2],
    result: Memory,
}

/// The products of at most so many threads; none if `gemm` does not compute them. `column` is the address of a leaf of those arrays whose
/// memory is not that of the names.
pub(super) fn bind(
    job: &Job<'_>,
    plan: &Plan,
    out: &mut [Vec<AnyBuffer>],
    threads: usize,
    column: impl Fn(ArrayId, u32) -> Option<u64>,
) -> Option<Vec<BoundProduct>> {
    let ([o], Some(c), [result]) = (&job.outputs[..], &job.launch.product, out) else { return None };
    if !gemm::is_usable() {
        return None;
    }
    let factor = |k: usize| {
        let f = &c.factors[k];
        let input = job.names.input(f.array)?;
        let here = || input.columns.get(f.leaf as usize).map(|c| column_address(c.slice()));
        Some((column(f.array, f.leaf).or_else(here)?, input.shape.iter().product()))
    };
    let factors = [factor(0)?, factor(1)?];
    let init = o.init.as_ref().and_then(|bits| bits.first()).copied().unwrap_or(0);
    let all = plan.blocks().ok()?;
    let parts = if plan.is_parallel(job) { threads.min(all.len()) } else { 1 };
    let result = result.first_mut()?;
    let result = (out_address(&mut result.as_out()), result.as_slice().len());
    let of = |blocks: &[Block]| {
        let (plan, blocks) = (plan.clone(), blocks.to_vec());
        match o.types.first()? {
            ScalarType::F32 => {
                Some(BoundProduct::F32(Blocks { plan, blocks, init: f32::from_bits64(init), factors, result }))
            }
            ScalarType::F64 => {
                Some(BoundProduct::F64(Blocks { plan, blocks, init: f64::from_bits64(init), factors, result }))
            }
            _ => None,
        }
    };
    all.chunks(all.len().div_ceil(parts)).map(of).collect()
}

impl BoundProduct {
    /// Computes the blocks.
    pub(super) fn run(&self) -> CallOutcome {
        match self {
            BoundProduct::F32(blocks) => blocks.run(),
            BoundProduct::F64(blocks) => blocks.run(),
        }
    }
}

impl<T: Number> Blocks<T> {
    fn run(&self) -> CallOutcome {
        let slice = |(address, len): Memory| {
            // SAFETY: memory of so many elements of the factor's type, which is that of the result: the recording holds it, and no
            // launch writes what it reads.
            unsafe { std::slice::from_raw_parts(with_exposed_provenance::<T>(address as usize), len) }
        };
        let [a, b] = self.factors.map(slice);
        let (address, len) = self.result;
        // SAFETY: as above; each thread computes blocks of its own.
        let target = unsafe { Target::at(with_exposed_provenance_mut::<T>(address as usize), len, self.init) };
        // SAFETY: the blocks of a product do not overlap.
        let done = self.blocks.iter().all(|block| unsafe { self.plan.block(&target, a, b, block) });
        if done { CallOutcome::Done } else { CallOutcome::BailedOut }
    }
}
