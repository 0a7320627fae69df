//! How a kernel's axes relate to memory.

use super::{Accesses, Ix, Kernel, Op};
use acc_desugar::analysis::access::Access;

impl Kernel {
    /// Whether the kernel's rows are columns in memory: more reads are contiguous along the second innermost axis than
    /// along the innermost one. Reads that depend on one of the two axes only, which are loop-invariant in the other,
    /// count if there are no others.
    pub(crate) fn is_column_major(&self) -> bool {
        let Some(outer) = self.axes.len().checked_sub(2) else { return false };
        let inner = outer + 1;
        let accesses = Accesses::of(&self.element);
        let (mut of_inner, mut of_outer) = ([0; 2], [0; 2]);
        self.element.region.visit(0, &mut |n, _| {
            let Op::Index(l) = &n.op else { return };
            let [along, across] = [inner, outer].map(|axis| accesses.access(&l.index, axis));
            if across == Access::Strided(1) {
                of_outer[usize::from(along == Access::Uniform)] += 1;
            }
            if along == Access::Strided(1) {
                of_inner[usize::from(across == Access::Uniform)] += 1;
            }
        });
        let of = if of_inner[0] + of_outer[0] > 0 { 0 } else { 1 };
        of_outer[of] > 0 && of_outer[of] >= of_inner[of]
    }

    /// Whether a load has a stride along an axis, as in a transposition.
    pub(crate) fn has_strided_access(&self, axis: usize) -> bool {
        let follows = |i: &Ix| matches!(i, Ix::Affine { axis: a, .. } if *a as usize == axis);
        let mut strides = false;
        self.element.region.visit(0, &mut |n, _| {
            if let Op::Index(l) = &n.op
                && let Some((last, outer)) = l.index.split_last()
            {
                strides |= !follows(last) && outer.iter().any(follows);
            }
        });
        strides
    }
}

#[cfg(test)]
mod tests {
    use crate::lower::of_text;

    /// Whether sums over `k` of a matrix read at an index are sums over columns in memory.
    fn across(index: &str) -> bool {
        let text = format!(
            "program(a: [2]f32, w: [1]f32) {{
               p: [2]f32 = generate(shape: || (extent(a, 1), extent(w, 0)), f: |%j: i64, %k: i64| mul(w[%k], a[{index}]))
               r: [1]f32 = fold1(p, f: |%x: f32, %y: f32| add(%x, %y))
               yield r
             }}"
        );
        let plan = of_text("test", &text);
        plan.launches().next().unwrap().kernel.is_column_major()
    }

    #[test]
    fn indices_that_are_computed_follow_memory_too() {
        assert!(across("%k, %j"));
        assert!(!across("%j, %k"));
        // Convolutions with a flattened window.
        assert!(across("quot(%k, 3i64), add(%j, rem(%k, 3i64))"));
        assert!(across("0i64, add(%j, %k)"));
        assert!(!across("%j, sub(extent(a, 1), %k)"));
        assert!(!across("%k, mul(%j, 2i64)"));
    }
}
