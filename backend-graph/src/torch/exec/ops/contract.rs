//! Contractions: sums of products along the last axes, as matrix products where they are some.

use super::reduce::reduce;
use crate::torch::TorchError;
use crate::torch::transfer::kind;
use acc_core::data::ScalarType;
use acc_desugar::graph::ReduceOp;
use tch::Tensor;

type Result<T> = std::result::Result<T, TorchError>;

/// Which of the factors vary along an axis that is not summed, in the order in which a product of matrices has its axes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Batch,
    Row,
    Column,
}

/// Sums of products along the last axes: matrix products, a batch of them over the axes that both operands have. Where a
/// mask is false the first factor is 0, and the product whatever the second one is.
pub(crate) fn contract([a, b]: [&Tensor; 2], mask: Option<&Tensor>, axes: usize, ty: ScalarType) -> Result<Tensor> {
    if a.dim() == 1 && a.size() == b.size() && mask.is_none() {
        return Ok(a.f_dot(b)?);
    }
    let outer = a.dim() - axes;
    let full: Vec<i64> = a.size().iter().zip(b.size()).map(|(x, y)| together(*x, y)).take(outer).collect();
    let sums = match mask {
        // Zeros times what is no number are not 0.
        Some(mask) if !all_finite(b)? => {
            let zero = Tensor::f_zeros([0i64; 0], (a.f_kind()?, a.device()))?;
            summed(&a.f_mul(b)?.f_where_self(mask, &zero)?, outer, ty)?
        }
        _ => Contraction::new(&without_copies(a, outer)?, &without_copies(b, outer)?, outer, ty).run()?,
    };
    // Along an axis of neither operand all is the same.
    Ok(if sums.size() == full { sums } else { sums.f_expand(full, false)? })
}

/// The extent of an axis of two tensors together, one of which may repeat along it.
fn together(x: i64, y: i64) -> i64 {
    if x == 1 { y } else { x }
}

/// Sums that nobody else has, as those that begin with 0: none is -0.
pub(crate) fn begun_with_zero(mut sums: Tensor) -> Result<Tensor> {
    Ok(sums.f_add_scalar_(0.0)?)
}

/// Whether all numbers of a tensor are finite.
fn all_finite(t: &Tensor) -> Result<bool> {
    Ok(bool::try_from(t.f_isfinite()?.f_all()?)?)
}

/// The sums along all axes from `outer` on.
fn summed(t: &Tensor, outer: usize, ty: ScalarType) -> Result<Tensor> {
    if t.dim() == outer + 1 {
        return reduce(ReduceOp::Sum, t, ty);
    }
    let axes: Vec<i64> = (outer as i64..t.dim() as i64).collect();
    Ok(t.f_sum_dim_intlist(axes, false, kind(ty))?)
}

struct Contraction<'a> {
    factors: [&'a Tensor; 2],
    outer: usize,
    ty: ScalarType,
    /// Of the axes that are not summed.
    roles: Vec<Role>,
    /// Of these, too.
    extents: Vec<i64>,
}

impl Contraction<'_> {
    fn new<'a>(a: &'a Tensor, b: &'a Tensor, outer: usize, ty: ScalarType) -> Contraction<'a> {
        let pairs: Vec<(i64, i64)> = a.size().into_iter().zip(b.size()).take(outer).collect();
        let role = |pair: &(i64, i64)| match pair {
            (1, _) => Role::Column,
            (_, 1) => Role::Row,
            _ => Role::Batch,
        };
        let (roles, extents) = pairs.iter().map(|p| (role(p), together(p.0, p.1))).unzip();
        Contraction { factors: [a, b], outer, ty, roles, extents }
    }

    /// How many elements there are along the axes of a role.
    fn count(&self, role: Role) -> i64 {
        self.roles.iter().zip(&self.extents).filter(|(r, _)| **r == role).map(|(_, n)| n).product()
    }

    fn run(mut self) -> Result<Tensor> {
        let [a, b] = self.factors;
        let (left, right) = (a.size(), b.size());
        let m = left[self.outer..].iter().product::<i64>();
        let [batch, rows, columns] = [Role::Batch, Role::Row, Role::Column].map(|role| self.count(role));
        let no_products = left[self.outer..] != right[self.outer..] || m == 0 || batch * rows * columns == 0;
        if no_products || rows == 1 && columns == 1 || self.is_batch_innermost(rows, columns) {
            return summed(&a.f_mul(b)?, self.outer, self.ty);
        }
        self.split_rows();
        self.products(m)
    }

    /// Whether the products are of matrices with vectors, and neighbours in memory belong to different ones: then the matrices
    /// would have to be moved, which takes longer than their products.
    fn is_batch_innermost(&self, rows: i64, columns: i64) -> bool {
        let [a, b] = self.factors;
        let matrices = if columns == 1 { a } else { b };
        let innermost = |((stride, size), role): ((i64, i64), &Role)| stride == 1 && size > 1 && *role == Role::Batch;
        (rows == 1 || columns == 1)
            && matrices.stride().into_iter().zip(matrices.size()).zip(&self.roles).any(innermost)
    }

    /// Lets products of matrices be a batch along the axes of a factor that lie outside of those that are summed, if others lie
    /// inside of them: the factor is then read where it is, and the other one, which is smaller, repeated.
    fn split_rows(&mut self) {
        let [a, b] = self.factors;
        for (t, other, own) in [(a, b, Role::Row), (b, a, Role::Column)] {
            let (strides, sizes) = (t.stride(), t.size());
            let summed = || strides[self.outer..].iter().zip(&sizes[self.outer..]).filter(|(_, n)| **n > 1);
            let (Some((least, _)), Some((greatest, _))) =
                (summed().min_by_key(|(s, _)| **s), summed().max_by_key(|(s, _)| **s))
            else {
                continue;
            };
            let all = || (0..self.outer).filter(|k| self.roles[*k] == own && sizes[*k] > 1);
            let outside: Vec<usize> = all().filter(|k| strides[*k] > *greatest).collect();
            let copies = outside.iter().map(|k| sizes[*k]).product::<i64>();
            let pays = all().any(|k| strides[k] < *least) && other.numel() as i64 * copies <= t.numel() as i64;
            if pays {
                outside.into_iter().for_each(|k| self.roles[k] = Role::Batch);
            }
        }
    }

    /// As products of matrices with `m` terms.
    fn products(&self, m: i64) -> Result<Tensor> {
        let [a, b] = self.factors;
        let mut axes: Vec<usize> = (0..self.outer).collect();
        axes.sort_by_key(|k| self.roles[*k]);
        let [batch, rows, columns] = [Role::Batch, Role::Row, Role::Column].map(|role| self.count(role));
        let matrices = |t: &Tensor, count: i64| -> Result<Tensor> {
            let mut shape = t.size();
            for (k, n) in self.extents.iter().enumerate().filter(|(k, _)| self.roles[*k] == Role::Batch) {
                shape[k] = *n;
            }
            let all: Vec<i64> = axes.iter().map(|k| *k as i64).chain(self.outer as i64..t.dim() as i64).collect();
            Ok(t.f_expand(shape, false)?.f_permute(all)?.f_reshape([batch, count, m])?)
        };
        let (a, b) = (matrices(a, rows)?, matrices(b, columns)?.f_transpose(1, 2)?);
        let products = match batch {
            1 => a.f_select(0, 0)?.f_matmul(&b.f_select(0, 0)?)?,
            _ => a.f_bmm(&b)?,
        };
        // Of one term the product itself comes back.
        let products = if m == 1 { begun_with_zero(products)? } else { products };
        let products = products.f_reshape(axes.iter().map(|k| self.extents[*k]).collect::<Vec<_>>())?;
        if axes.is_sorted() {
            return Ok(products);
        }
        let mut back: Vec<i64> = (0..axes.len() as i64).collect();
        back.sort_by_key(|k| axes[*k as usize]);
        Ok(products.f_permute(back)?)
    }
}

/// A tensor with one element along each of its first `outer` axes along which all are the same one in memory.
fn without_copies(t: &Tensor, outer: usize) -> Result<Tensor> {
    let mut t = t.shallow_clone();
    for (axis, (size, stride)) in t.size().into_iter().zip(t.stride()).take(outer).enumerate() {
        if stride == 0 && size > 1 {
            t = t.f_narrow(axis as i64, 0, 1)?;
        }
    }
    Ok(t)
}
