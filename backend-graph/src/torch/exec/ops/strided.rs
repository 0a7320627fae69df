//! Reductions of rows whose elements do not lie next to one another in memory: of the columns of a matrix.

use crate::torch::TorchError;
use acc_desugar::graph::ReduceOp;
use tch::{Device, Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// So many elements of each row are reduced first,
const ROWS_PER_BLOCK: i64 = 32;
/// so many where a product sums them, after another,
const ROWS_PER_BLOCK_OF_PRODUCTS: i64 = 256;
/// of rows that have at least so many,
const MIN_ROW_ELEMENTS: i64 = 512;
/// if the tensor has more bytes than this and is in no cache anyhow.
const MIN_BYTES: usize = 8 << 20;
/// Tensors of so few rows, of which libtorch takes little at a time, gain from it as soon as they have
const MAX_ROWS_OF_SMALL_TENSORS: i64 = 32;
/// more bytes than this.
const MIN_BYTES_OF_FEW_ROWS: usize = 1 << 20;

/// Whether the rows are reduced in blocks, by [`in_blocks`].
///
/// libtorch walks a few neighbouring rows from one end to the other before it goes on to the next ones. A line of memory in
/// which one group of rows ends and the next one begins has then left L1 and L2, and is read twice, which is so of
/// each line unless the memory begins at one; and each step is in another page. A block of elements of all rows stays near.
pub(crate) fn are_apart(t: &Tensor) -> bool {
    let (Some((n, outer)), Some((step, steps))) = (split_last(t.size()), split_last(t.stride())) else { return false };
    let rows = outer.iter().product::<i64>();
    let beside = outer.iter().zip(&steps).any(|(n, step)| *n > 1 && *step == 1);
    let bytes = t.numel() * t.kind().elt_size_in_bytes();
    let far = if rows < MAX_ROWS_OF_SMALL_TENSORS { MIN_BYTES_OF_FEW_ROWS } else { MIN_BYTES };
    beside && step > 1 && n >= MIN_ROW_ELEMENTS && bytes > far && t.device() == Device::Cpu
}

/// The sum of each row of each block as the product of a row of ones with the block, which reads a line of memory once
/// wherever it begins. `full` is of the rows' axes, the blocks' and that of their elements, `out` of all but the last.
fn sums_by_products(full: &Tensor, out: &Tensor) -> Result<()> {
    let outer = full.dim() as i64 - 2;
    let flat = |t: &Tensor| Ok::<_, TorchError>(t.f_movedim_int(outer, 0)?.f_flatten(1, outer)?);
    let (full, out) = (flat(full)?, flat(out)?);
    let blocks = out.size().first().copied().unwrap_or(1);
    let ones = Tensor::f_ones([1, 1, ROWS_PER_BLOCK_OF_PRODUCTS], (full.f_kind()?, full.device()))?;
    let ones = ones.f_expand([blocks, 1, ROWS_PER_BLOCK_OF_PRODUCTS], false)?;
    let _ = ones.f_bmm_out(&out.f_unsqueeze(1)?, &full.f_transpose(1, 2)?)?;
    Ok(())
}

fn split_last(mut of: Vec<i64>) -> Option<(i64, Vec<i64>)> {
    let last = of.pop()?;
    Some((last, of))
}

/// The reduction of each row, in which blocks are reduced first.
pub(crate) fn in_blocks(k: ReduceOp, t: &Tensor, kind: Kind) -> Result<Tensor> {
    let Some((n, outer)) = split_last(t.size()) else { return Err(TorchError::new("a reduction of no axis")) };
    // The rows are neighbours in memory, in their order, if their first elements are.
    let by_products = k == ReduceOp::Sum
        && matches!(kind, Kind::Float | Kind::Double)
        && t.kind() == kind
        && t.f_select(-1, 0)?.is_contiguous();
    let block = if by_products { ROWS_PER_BLOCK_OF_PRODUCTS } else { ROWS_PER_BLOCK };
    let (blocks, rest) = (n / block, n % block);
    // The results of blocks lie as their elements do: the rows side by side.
    let shape: Vec<i64> = std::iter::once(blocks + i64::from(rest > 0)).chain(outer).collect();
    let back: Vec<i64> = (1..shape.len() as i64).chain([0]).collect();
    let all = Tensor::f_empty(shape, (kind, t.device()))?.f_permute(back)?;
    let full = t.f_narrow(-1, 0, blocks * block)?.f_unflatten(-1, [blocks, block])?;
    let out = all.f_narrow(-1, 0, blocks)?;
    if by_products {
        sums_by_products(&full, &out)?;
    } else {
        let _ = last_axis(k, &full, kind, Some(&out))?;
    }
    if rest > 0 {
        let _ = last_axis(k, &t.f_narrow(-1, n - rest, rest)?, kind, Some(&all.f_select(-1, blocks)?))?;
    }
    last_axis(k, &all, kind, None)
}

/// The reduction of each row in one call, into a tensor or a new one. Truth values and unsigned numbers have an order as
/// [`ordered`](super::reduce::ordered) says.
pub(crate) fn last_axis(k: ReduceOp, t: &Tensor, kind: Kind, out: Option<&Tensor>) -> Result<Tensor> {
    let axis = [-1i64];
    Ok(match (k, out) {
        (ReduceOp::Sum, None) => t.f_sum_dim_intlist(axis.as_slice(), false, kind)?,
        (ReduceOp::Sum, Some(out)) => t.f_sum_intlist_out(out, axis.as_slice(), false, kind)?,
        (ReduceOp::Product, None) => t.f_prod_dim_int(-1, false, kind)?,
        (ReduceOp::Product, Some(out)) => t.f_prod_int_out(out, -1, false, kind)?,
        (ReduceOp::Min | ReduceOp::All, None) => t.f_amin(axis, false)?,
        (ReduceOp::Min | ReduceOp::All, Some(out)) => t.f_amin_out(out, axis, false)?,
        (ReduceOp::Max | ReduceOp::Any, None) => t.f_amax(axis, false)?,
        (ReduceOp::Max | ReduceOp::Any, Some(out)) => t.f_amax_out(out, axis, false)?,
    })
}
