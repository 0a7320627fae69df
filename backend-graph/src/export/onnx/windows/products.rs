//! Sums of products: `MatMul` of floats, and `Conv` of `f32`, the only float that onnxruntime convolves.

use crate::export::onnx::Unsupported;
use crate::export::onnx::body::Exporter;
use crate::export::onnx::proto::DataType;
use crate::export::onnx::writer::{Name, along, int_attribute, ints_attribute};
use acc_core::data::ScalarType as T;
use acc_desugar::graph::{Extent, Op, Value};

/// What the axes of a contraction are to a product of matrices.
#[derive(Default)]
struct Roles {
    /// Both factors vary along these.
    batches: Vec<usize>,
    rows: Vec<usize>,
    columns: Vec<usize>,
    sums: Vec<usize>,
    /// Neither factor varies along these, which are not summed.
    ones: Vec<i64>,
}

impl Exporter<'_> {
    /// A contraction of floats by `MatMul`; none if it has a mask, or if a factor does not vary along an axis that is summed.
    pub(super) fn matmul(&mut self, op: &Op) -> Result<Option<Name>, Unsupported> {
        let Op::Contract { left, right, mask: None, axes } = op else { return Ok(None) };
        let rank = self.rank(*left);
        let outer = rank - *axes as usize;
        if !matches!(self.scalar(*left), T::F32 | T::F64) {
            return Ok(None);
        }
        let [of_left, of_right] = [*left, *right].map(|v| self.varying(v));
        let mut roles = Roles::default();
        for axis in 0..rank {
            match (of_left.contains(&axis), of_right.contains(&axis)) {
                (true, true) if axis >= outer => roles.sums.push(axis),
                (true, true) => roles.batches.push(axis),
                (true, false) if axis < outer => roles.rows.push(axis),
                (false, true) if axis < outer => roles.columns.push(axis),
                (false, false) if axis < outer => roles.ones.push(axis as i64),
                _ => return Ok(None),
            }
        }
        let (x, y) = (self.value(*left)?, self.value(*right)?);
        let first = self.matrices(&x, rank, [&roles.batches, &roles.rows, &roles.sums]);
        let second = self.matrices(&y, rank, [&roles.batches, &roles.sums, &roles.columns]);
        let product = self.w.op2("MatMul", &first, &second);
        let all = [&roles.batches[..], &roles.rows, &roles.columns].concat();
        let product = if roles.rows.len().max(roles.columns.len()) <= 1 {
            let batches = roles.batches.len();
            let missing = [(&roles.rows, batches), (&roles.columns, batches + 1)].into_iter();
            self.squeezed(&product, missing.filter(|(axes, _)| axes.is_empty()).map(|(_, at)| at).collect())
        } else {
            let lists = [(&x, &roles.batches), (&x, &roles.rows), (&y, &roles.columns)].into_iter();
            let extents: Vec<Name> =
                lists.filter(|(_, axes)| !axes.is_empty()).map(|(x, axes)| self.extents(x, axes)).collect();
            self.reshaped(&product, &extents)
        };
        let mut order: Vec<i64> = (0..all.len() as i64).collect();
        order.sort_by_key(|k| all[*k as usize]);
        let product = self.transposed(&product, order);
        Ok(Some(self.unsqueezed(&product, &roles.ones)))
    }

    /// A tensor as matrices: axes of a batch, one axis for those of the second list, and one for those of the third.
    fn matrices(&mut self, x: &Name, rank: usize, lists: [&[usize]; 3]) -> Name {
        let order = lists.concat();
        let kept = self.squeezed(x, (0..rank).filter(|k| !order.contains(k)).collect());
        let rest: Vec<usize> = (0..rank).filter(|k| order.contains(k)).collect();
        let places = order.iter().filter_map(|axis| rest.iter().position(|k| k == axis)).map(|k| k as i64).collect();
        let arranged = self.transposed(&kept, places);
        if lists[1..].iter().all(|axes| axes.len() <= 1) {
            let missing = lists[1..].iter().enumerate().filter(|(_, axes)| axes.is_empty());
            let at: Vec<i64> = missing.map(|(k, _)| (lists[0].len() + k) as i64).collect();
            return self.unsqueezed(&arranged, &at);
        }
        let mut shape: Vec<Name> = Vec::new();
        if !lists[0].is_empty() {
            shape.push(self.extents(x, lists[0]));
        }
        for axes in &lists[1..] {
            let extents = self.extents(x, axes);
            let none = self.w.ints(&[1]);
            let all = self.w.node("Concat", &[&extents, &none], along(0));
            shape.push(self.w.node("ReduceProd", &[&all], Vec::new()));
        }
        self.reshaped(&arranged, &shape)
    }

    /// The extents of a tensor along axes, a vector.
    fn extents(&mut self, x: &Name, axes: &[usize]) -> Name {
        let (shape, at) = (self.w.op1("Shape", x), self.w.ints(&axes.iter().map(|k| *k as i64).collect::<Vec<_>>()));
        self.w.op2("Gather", &shape, &at)
    }

    /// A tensor with the extents that these vectors list.
    fn reshaped(&mut self, x: &Name, extents: &[Name]) -> Name {
        let none = self.w.ints(&[]);
        let parts: Vec<&Name> = if extents.is_empty() { vec![&none] } else { extents.iter().collect() };
        let shape = self.w.node("Concat", &parts, along(0));
        self.w.node("Reshape", &[x, &shape], vec![int_attribute("allowzero", 1)])
    }

    fn transposed(&mut self, x: &Name, order: Vec<i64>) -> Name {
        if order.is_sorted() {
            return x.clone();
        }
        self.w.node("Transpose", &[x], vec![ints_attribute("perm", order)])
    }

    /// The axes along which a tensor may have other than one element.
    fn varying(&self, v: Value) -> Vec<usize> {
        let extents = self.shapes.get(v).iter().enumerate();
        extents.filter(|(_, e)| !matches!(e, Extent::Const(1))).map(|(k, _)| k).collect()
    }

    fn squeezed(&mut self, x: &Name, axes: Vec<usize>) -> Name {
        if axes.is_empty() {
            return x.clone();
        }
        let axes = self.w.ints(&axes.into_iter().map(|k| k as i64).collect::<Vec<_>>());
        self.w.op2("Squeeze", x, &axes)
    }

    /// A convolution of `f32` by `Conv`; none of other types, and where the number of groups, which is an attribute, is not known.
    pub(super) fn conv(&mut self, op: &Op) -> Result<Option<Name>, Unsupported> {
        let Op::Convolve { x, filters, starts, places, strides, dilations } = op else { return Ok(None) };
        let (T::F32, Some(Extent::Const(groups))) = (self.scalar(*x), self.shapes.get(*x).get(1).copied()) else {
            return Ok(None);
        };
        if groups < 1 {
            return Ok(None);
        }
        let (rank, from, of) = (self.rank(*x), self.value(*x)?, self.value(*filters)?);
        let (images, by) = (self.joined(&from, rank, 1, groups), self.joined(&of, rank, 0, groups));
        // Windows and places may be none, which `Conv` does not know: then it sees zeros, and its places are left out.
        let spatial = 0..places.len() as i64;
        let one = self.w.int(1);
        let (mut windows, mut extents) = (Vec::new(), Vec::new());
        for (k, place) in spatial.clone().zip(places) {
            let (window, place) = (self.w.extent(&by, 2 + k), self.value(*place)?);
            let [window, place] = [window, place].map(|n| self.w.greater(&n, &one));
            let mut extent = one.clone();
            for (n, step) in [(&window, dilations[k as usize]), (&place, strides[k as usize])] {
                let (before, step) = (self.w.op2("Sub", n, &one), self.w.int(i64::from(step)));
                let way = self.w.op2("Mul", &before, &step);
                extent = self.w.op2("Add", &extent, &way);
            }
            windows.push(window);
            extents.push(extent);
        }
        let by = self.at_least(&by, &[], &windows);
        let from_first = starts.iter().all(|n| matches!(self.shapes.size(*n), Extent::Const(0)));
        let starts = if from_first { Vec::new() } else { self.values(starts)? };
        let images = self.at_least(&images, &starts, &extents);
        let numbers = |all: &[u32]| all.iter().map(|n| i64::from(*n)).collect();
        let attributes = vec![
            ints_attribute("strides", numbers(strides)),
            ints_attribute("dilations", numbers(dilations)),
            int_attribute("group", groups),
        ];
        let y = self.w.node("Conv", &[&images, &by], attributes);
        let ends = self.shape(places)?;
        let (starts, axes) = (vec![0; places.len()], spatial.map(|k| 2 + k).collect::<Vec<i64>>());
        let (starts, axes) = (self.w.ints(&starts), self.w.ints(&axes));
        let y = self.w.node("Slice", &[&y, &starts, &ends, &axes], Vec::new());
        Ok(Some(self.parted(&y, places.len(), &of, groups)))
    }

    /// A tensor whose axis of groups and the next one are one.
    fn joined(&mut self, x: &Name, rank: usize, at: usize, groups: i64) -> Name {
        if groups == 1 {
            return self.squeezed(x, vec![at]);
        }
        let inner = self.extents(x, &[at + 1]);
        let groups = self.w.int(groups);
        let both = self.w.op2("Mul", &inner, &groups);
        let mut shape = vec![both, self.extents(x, &(at + 2..rank).collect::<Vec<_>>())];
        if at > 0 {
            shape.insert(0, self.extents(x, &(0..at).collect::<Vec<_>>()));
        }
        self.reshaped(x, &shape)
    }

    /// The result of `Conv` with an axis of groups and one of the filters of each.
    fn parted(&mut self, y: &Name, spatial: usize, filters: &Name, groups: i64) -> Name {
        if groups == 1 {
            return self.unsqueezed(y, &[1]);
        }
        let places = self.extents(y, &(2..2 + spatial).collect::<Vec<_>>());
        let shape = [self.extents(y, &[0]), self.extents(filters, &[0, 1]), places];
        self.reshaped(y, &shape)
    }

    /// Floats with zeros before and behind them along the axes from the third one on: from these positions on, or from the first
    /// one, at least so many elements.
    fn at_least(&mut self, x: &Name, starts: &[Name], extents: &[Name]) -> Name {
        let (zero, at) = (self.w.int(0), self.w.ints(&[0]));
        let (mut before, mut behind) = (Vec::new(), Vec::new());
        for (k, least) in extents.iter().enumerate() {
            let mut n = self.w.extent(x, 2 + k as i64);
            let mut first = zero.clone();
            if let Some(start) = starts.get(k) {
                // Less than no zeros cut elements off.
                let start = self.w.lesser(start, &n);
                first = self.w.op2("Sub", &zero, &start);
                n = self.w.op2("Sub", &n, &start);
            }
            let more = self.w.op2("Sub", least, &n);
            let more = self.w.greater(&more, &zero);
            before.push(self.w.op2("Unsqueeze", &first, &at));
            behind.push(self.w.op2("Unsqueeze", &more, &at));
        }
        let amounts: Vec<&Name> = before.iter().chain(&behind).collect();
        let amounts = self.w.node("Concat", &amounts, along(0));
        let axes = self.w.ints(&(0..extents.len() as i64).map(|k| 2 + k).collect::<Vec<_>>());
        let none = self.w.constant(DataType::Float, &[], 0f32.to_le_bytes().to_vec());
        self.w.node("Pad", &[x, &amounts, &none, &axes], Vec::new())
    }
}
