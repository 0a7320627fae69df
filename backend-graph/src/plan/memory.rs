//! How much memory a plan's tensors take, before it runs.

use super::storage::{Memory, memory};
use super::{Plan, PlannedBody};
use acc_desugar::graph::{Body, Extent, Op, Shapes, Type, Value};
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Display, Formatter};

/// What a number of bytes is a multiple of: sizes of the graph, in order, or the number of elements of a tensor whose
/// extents only a run tells.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Product {
    Sizes(Vec<Value>),
    Elements(Value),
}

/// A number of bytes in terms of the graph's sizes: a sum of products.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Bytes(BTreeMap<Product, u64>);

impl Bytes {
    fn of(plan: &Plan, shapes: &Shapes, v: Value) -> Bytes {
        let Type::Tensor { scalar, .. } = plan.graph.ty(v) else { return Bytes::default() };
        let (mut count, mut sizes) = (scalar.size() as u64, Vec::new());
        let mut unknown = false;
        for extent in shapes.get(v) {
            match extent {
                Extent::Const(n) => count = count.saturating_mul(u64::try_from(*n).unwrap_or(0)),
                Extent::Size(s) => sizes.push(*s),
                Extent::Unknown => unknown = true,
            }
        }
        sizes.sort_unstable();
        Bytes(BTreeMap::from([match unknown {
            true => (Product::Elements(v), scalar.size() as u64),
            false => (Product::Sizes(sizes), count),
        }]))
    }

    fn add(&mut self, other: &Bytes) {
        for (product, n) in &other.0 {
            let sum = self.0.entry(product.clone()).or_default();
            *sum = sum.saturating_add(*n);
        }
    }

    fn subtract(&mut self, other: &Bytes) {
        for (product, n) in &other.0 {
            if let Some(left) = self.0.get_mut(product) {
                *left = left.saturating_sub(*n);
            }
        }
        self.0.retain(|_, n| *n > 0);
    }

    /// Whether it is at most the other one, whatever the sizes are.
    fn within(&self, other: &Bytes) -> bool {
        self.0.iter().all(|(product, n)| other.0.get(product).is_some_and(|m| n <= m))
    }
}

impl Display for Bytes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("0");
        }
        for (k, (product, n)) in self.0.iter().enumerate() {
            f.write_str(if k == 0 { "" } else { " + " })?;
            let mut factors = match product {
                Product::Sizes(sizes) => sizes.iter().map(Value::to_string).collect(),
                Product::Elements(v) => vec![format!("|{v}|")],
            };
            if *n != 1 || factors.is_empty() {
                factors.insert(0, n.to_string());
            }
            f.write_str(&factors.join("·"))?;
        }
        Ok(())
    }
}

/// The most memory that a plan's tensors take at once: the greatest of these, which depend on the sizes.
///
/// Counted is what steps define, for as long as it lives, without arguments, which are lent, and without what an
/// operation takes for itself while it runs. Loops count one iteration, branches both ways; what is evaluated on demand counts
/// from where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peak(Vec<Bytes>);

impl Peak {
    /// The amounts of which the greatest is the peak; none of them is certainly less than another.
    pub fn candidates(&self) -> &[Bytes] {
        &self.0
    }

    fn note(&mut self, bytes: &Bytes) {
        if self.0.iter().any(|known| bytes.within(known)) {
            return;
        }
        self.0.retain(|known| !known.within(bytes));
        self.0.push(bytes.clone());
    }
}

/// `8·t0 bytes`, or `the greatest of 8·t0, 4·t1 bytes`.
impl Display for Peak {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0[..] {
            [] => f.write_str("0 bytes"),
            [one] => write!(f, "{one} bytes"),
            several => {
                let several: Vec<String> = several.iter().map(Bytes::to_string).collect();
                write!(f, "the greatest of {} bytes", several.join(", "))
            }
        }
    }
}

impl Plan {
    /// How much memory its tensors take at most.
    pub fn peak(&self) -> Peak {
        let shapes = Shapes::of(&self.graph);
        let (roots, blocks) = (HashMap::new(), HashMap::new());
        let mut m = Measure { plan: self, shapes, live: Bytes::default(), peak: Peak(Vec::new()), roots, blocks };
        m.body(&self.graph.body, &self.body);
        m.peak
    }
}

struct Measure<'a> {
    plan: &'a Plan,
    shapes: Shapes,
    live: Bytes,
    peak: Peak,
    /// The value that was first in the memory where a value is; none for arguments.
    roots: HashMap<Value, Value>,
    /// How many values are where one was first, and how large that is.
    blocks: HashMap<Value, (usize, Bytes)>,
}

impl Measure<'_> {
    fn body(&mut self, body: &Body, planned: &PlannedBody) {
        for n in &body.nodes {
            let step = n.results.first().and_then(|r| self.plan.definition(*r)).and_then(|id| self.plan.step(id));
            // Literals are made once, before any run.
            let Some(step) = step.filter(|_| !matches!(n.op, Op::Const(_))) else { continue };
            for (inner, planned) in n.op.bodies().into_iter().zip(&step.bodies) {
                acc_core::grow_stack(|| self.body(inner, planned));
            }
            for (k, r) in n.results.iter().enumerate().filter(|_| !step.is_inner) {
                let root = match (step.overwrites.map(|p| p.of), memory(&self.plan.graph, n, k)) {
                    (Some(of), _) | (None, Memory::Shared(of)) => self.roots.get(&of).copied(),
                    (None, Memory::Own | Memory::Foreign) => Some(*r),
                };
                if let Some(root) = root {
                    self.enter(*r, root);
                }
            }
            let live = self.live.clone();
            self.peak.note(&live);
            self.leave(&step.last_use_of);
        }
        self.leave(&planned.values);
    }

    /// A value is stored in the memory where another one was first.
    fn enter(&mut self, v: Value, root: Value) {
        self.roots.insert(v, root);
        let (plan, shapes, live) = (self.plan, &self.shapes, &mut self.live);
        let (values, _) = self.blocks.entry(root).or_insert_with(|| {
            let bytes = Bytes::of(plan, shapes, root);
            live.add(&bytes);
            (0, bytes)
        });
        *values += 1;
    }

    fn leave(&mut self, values: &[Value]) {
        for v in values {
            let Some(root) = self.roots.remove(v) else { continue };
            if let Some((left, _)) = self.blocks.get_mut(&root) {
                *left -= 1;
                if *left == 0
                    && let Some((_, bytes)) = self.blocks.remove(&root)
                {
                    self.live.subtract(&bytes);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::Plan;
    use acc_core::prelude::*;

    fn peak<A: Arrays>(program: impl IntoAcc<A>) -> String {
        let program = program.into_acc().program().unwrap().program;
        Plan::new(crate::graph_of(&program).unwrap()).peak().to_string()
    }

    fn floats() -> Acc<Vector<f32>> {
        use_(&Vector::from([1.0f32, 2.0, 3.0]))
    }

    #[test]
    fn a_chain_in_place_takes_one_tensor() {
        assert_eq!(peak(floats().map(|x| (x * 2.0 + 1.0).sin())), "4·t0 bytes");
        assert_eq!(peak(floats()), "0 bytes");
    }

    #[test]
    fn what_lives_at_once_adds_up_and_views_take_nothing() {
        let doubled = floats().map(|x| x * 2.0).compute();
        assert_eq!(peak((doubled.clone(), doubled.map(|x| x + 1.0))), "8·t0 bytes");
        assert_eq!(peak(floats().map(|x| x * 2.0).replicate((7, All))), "4·t0 bytes");
        assert_eq!(peak(floats().map(|x| x * 2.0).sum()), "4 + 4·t0 bytes");
    }

    #[test]
    fn what_only_a_run_tells_is_named() {
        let kept = peak(floats().filter(|x| x.gt(1.0)));
        assert!(kept.contains("·|t"), "{kept}");
    }
}
