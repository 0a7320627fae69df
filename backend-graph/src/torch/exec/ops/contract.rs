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
/// mask is false one of the factors is 0, and the product whatever the other one is.
pub(crate) fn contract([a, b]: [&Tensor; 2], mask: Option<&Tensor>, axes: usize, ty: ScalarType) -> Result<Tensor> {
    if a.dim() == 1 && a.size() == b.size() && mask.is_none() {
        return Ok(a.f_dot(b)?);
    }
    let outer = a.dim() - axes;
    let full: Vec<i64> = a.size().iter().zip(b.size()).map(|(x, y)| together(*x, y)).take(outer).collect();
    let sums = match mask {
        // Zeros times what is no number are not 0.
        Some(mask) if !all_finite(a)? || !all_finite(b)? => {
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
pub(crate) fn all_finite(t: &Tensor) -> Result<bool> {
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

/// An axis of both factors.
struct Axis {
    number: i64,
    role: Role,
    /// That of the two factors together.
    extent: i64,
    sizes: [i64; 2],
    strides: [i64; 2],
}

/// What is said of one of the factors.
fn of([left, right]: [i64; 2], is_right: bool) -> i64 {
    if is_right { right } else { left }
}

struct Contraction<'a> {
    factors: [&'a Tensor; 2],
    ty: ScalarType,
    outer: Vec<Axis>,
    summed: Vec<Axis>,
}

impl Contraction<'_> {
    fn new<'a>(a: &'a Tensor, b: &'a Tensor, outer: usize, ty: ScalarType) -> Contraction<'a> {
        let both = a.size().into_iter().zip(b.size()).zip(a.stride().into_iter().zip(b.stride()));
        let mut axes: Vec<Axis> = both
            .zip(0..)
            .map(|(((x, y), (dx, dy)), number)| {
                let role = match (x, y) {
                    (1, _) => Role::Column,
                    (_, 1) => Role::Row,
                    _ => Role::Batch,
                };
                Axis { number, role, extent: together(x, y), sizes: [x, y], strides: [dx, dy] }
            })
            .collect();
        let summed = axes.split_off(outer.min(axes.len()));
        Contraction { factors: [a, b], ty, outer: axes, summed }
    }

    /// How many elements there are along the axes of a role.
    fn count(&self, role: Role) -> i64 {
        self.outer.iter().filter(|x| x.role == role).map(|x| x.extent).product()
    }

    fn run(mut self) -> Result<Tensor> {
        let [a, b] = self.factors;
        let m = self.summed.iter().map(|x| x.extent).product::<i64>();
        let [batch, rows, columns] = [Role::Batch, Role::Row, Role::Column].map(|role| self.count(role));
        let differ = self.summed.iter().any(|x| of(x.sizes, false) != of(x.sizes, true));
        let no_products = differ || m == 0 || batch * rows * columns == 0;
        if no_products || rows == 1 && columns == 1 || self.is_batch_innermost(rows, columns) {
            return summed(&a.f_mul(b)?, self.outer.len(), self.ty);
        }
        self.split_rows();
        self.products(m)
    }

    /// Whether the products are of matrices with vectors, and neighbours in memory belong to different ones: then the matrices
    /// would have to be moved, which takes longer than their products.
    fn is_batch_innermost(&self, rows: i64, columns: i64) -> bool {
        let right = columns != 1;
        let innermost = |x: &Axis| of(x.strides, right) == 1 && of(x.sizes, right) > 1 && x.role == Role::Batch;
        (rows == 1 || columns == 1) && self.outer.iter().any(innermost)
    }

    /// Lets products of matrices be a batch along the axes of a factor that lie outside of those that are summed, if others lie
    /// inside of them: the factor is then read where it is, and the other one, which is smaller, repeated.
    fn split_rows(&mut self) {
        let [a, b] = self.factors;
        for (right, own, t, other) in [(false, Role::Row, a, b), (true, Role::Column, b, a)] {
            let strides = || self.summed.iter().filter(|x| of(x.sizes, right) > 1).map(|x| of(x.strides, right));
            let (Some(least), Some(greatest)) = (strides().min(), strides().max()) else { continue };
            let is_own = |x: &Axis| x.role == own && of(x.sizes, right) > 1;
            let is_outside = |x: &Axis| is_own(x) && of(x.strides, right) > greatest;
            let copies = self.outer.iter().filter(|x| is_outside(x)).map(|x| x.extent).product::<i64>();
            let is_inside = |x: &Axis| is_own(x) && of(x.strides, right) < least;
            if self.outer.iter().any(is_inside) && other.numel() as i64 * copies <= t.numel() as i64 {
                self.outer.iter_mut().filter(|x| is_outside(x)).for_each(|x| x.role = Role::Batch);
            }
        }
    }

    /// As products of matrices with `m` terms.
    fn products(&self, m: i64) -> Result<Tensor> {
        let [a, b] = self.factors;
        let mut order: Vec<&Axis> = self.outer.iter().collect();
        order.sort_by_key(|x| x.role);
        let [batch, rows, columns] = [Role::Batch, Role::Row, Role::Column].map(|role| self.count(role));
        let matrices = |t: &Tensor, right: bool, count: i64| -> Result<Tensor> {
            let extent = |x: &Axis| if x.role == Role::Batch { x.extent } else { of(x.sizes, right) };
            let shape: Vec<i64> = self.outer.iter().map(extent).chain(self.summed.iter().map(|x| x.extent)).collect();
            let all: Vec<i64> = order.iter().copied().chain(&self.summed).map(|x| x.number).collect();
            Ok(t.f_expand(shape, false)?.f_permute(all)?.f_reshape([batch, count, m])?)
        };
        let (a, b) = (matrices(a, false, rows)?, matrices(b, true, columns)?.f_transpose(1, 2)?);
        let products = match batch {
            1 => a.f_select(0, 0)?.f_matmul(&b.f_select(0, 0)?)?,
            _ => a.f_bmm(&b)?,
        };
        // Of one term the product itself comes back.
        let products = if m == 1 { begun_with_zero(products)? } else { products };
        let products = products.f_reshape(order.iter().map(|x| x.extent).collect::<Vec<_>>())?;
        if order.is_sorted_by_key(|x| x.number) {
            return Ok(products);
        }
        let mut back: Vec<(i64, i64)> = order.iter().map(|x| x.number).zip(0..).collect();
        back.sort_unstable();
        Ok(products.f_permute(back.into_iter().map(|(_, k)| k).collect::<Vec<_>>())?)
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
