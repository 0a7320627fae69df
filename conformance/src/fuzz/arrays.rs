//! Random array operations.

use super::generate::{ArrayVar, Generator, Mode, elt};
use acc_core::data::ScalarType as T;
use std::fmt::Write;

/// The operations, and how often each is chosen.
const OPERATIONS: &[(usize, Op)] = &[
    (3, Op::Generate),
    (5, Op::Map),
    (4, Op::ZipWith),
    (5, Op::Fold),
    (3, Op::FoldSeg),
    (5, Op::Scan),
    (4, Op::Permute),
    (4, Op::Backpermute),
    (4, Op::Stencil),
    (2, Op::Reshape),
    (2, Op::Replicate),
    (2, Op::Slice),
    (2, Op::Argsort),
    (1, Op::Check),
    (1, Op::Compute),
    (3, Op::Acond),
    (2, Op::Awhile),
    (1, Op::Foreign),
    (6, Op::Ruled),
    (3, Op::Idiom),
];

#[derive(Clone, Copy)]
enum Op {
    Generate,
    Map,
    ZipWith,
    Fold,
    FoldSeg,
    Scan,
    Permute,
    Backpermute,
    Stencil,
    Reshape,
    Replicate,
    Slice,
    Argsort,
    Check,
    Compute,
    Acond,
    Awhile,
    Foreign,
    Ruled,
    Idiom,
}

/// The most elements an array gets, where the generator can know.
const MAX_ELEMENTS: usize = 500;

fn size(dims: &[Option<usize>]) -> Option<usize> {
    dims.iter().try_fold(1usize, |n, d| n.checked_mul((*d)?))
}

impl Generator {
    /// Writes a statement and gives the arrays it defines; none if the operation chosen does not fit.
    pub(super) fn statement(&mut self, arrays: &[ArrayVar], text: &mut String) -> Vec<ArrayVar> {
        let op = self.choices.weighted(OPERATIONS);
        let a = self.choices.pick(arrays).clone();
        let made = match op {
            Op::Generate => self.generate(arrays),
            Op::Map => self.map(&[a], arrays),
            Op::ZipWith => {
                let same: Vec<&ArrayVar> = arrays.iter().filter(|b| b.rank() == a.rank()).collect();
                let others = 1 + self.choices.below(2);
                let picked: Vec<ArrayVar> = (0..others).map(|_| (*self.choices.pick(&same)).clone()).collect();
                self.map(&[vec![a], picked].concat(), arrays)
            }
            Op::Fold => self.fold(&a, arrays),
            Op::FoldSeg => return self.fold_seg(&a, arrays, text),
            Op::Scan => self.scan(&a, arrays),
            Op::Permute if self.choices.chance(10) => return self.permute_many(&a, arrays, text),
            Op::Permute => self.permute(&a, arrays),
            Op::Backpermute => self.backpermute(&a, arrays),
            Op::Stencil => self.stencil(&a, arrays),
            Op::Reshape => self.reshape(&a),
            Op::Replicate => self.replicate(&a),
            Op::Slice => self.slice(&a),
            Op::Argsort => Self::argsort(&a),
            Op::Check => self.check(&a, arrays),
            Op::Compute => Some((a.leaves.clone(), a.dims.clone(), format!("compute({})", a.name))),
            Op::Acond if self.blocks < 2 => return self.acond(arrays, text),
            Op::Awhile if self.blocks < 2 => return self.awhile(arrays, text),
            Op::Foreign if self.blocks < 2 => return self.foreign(arrays, text),
            Op::Ruled if self.blocks < 2 => return self.ruled(arrays, text),
            Op::Idiom if self.blocks == 0 => return self.idiom(text),
            Op::Acond | Op::Awhile | Op::Foreign | Op::Ruled | Op::Idiom => None,
        };
        let Some((leaves, dims, operation)) = made else { return Vec::new() };
        let name = self.array_name();
        let _ = writeln!(text, "  {name}: [{}]{} = {operation}", dims.len(), elt(&leaves));
        vec![ArrayVar { name, leaves, dims }]
    }

    /// The extent of an axis: text, and its value in the first run.
    fn extent(&mut self, arrays: &[ArrayVar]) -> (String, Option<usize>) {
        let axes: Vec<(&ArrayVar, usize)> = arrays.iter().flat_map(|a| (0..a.rank()).map(move |k| (a, k))).collect();
        if axes.is_empty() || self.choices.chance(30) {
            let n = *self.choices.pick(&[0, 1, 2, 3, 5, 8, 17]);
            return (format!("{n}i64"), Some(n));
        }
        let (a, k) = self.choices.pick(&axes);
        let (x, n) = (format!("extent({}, {k})", a.name), a.dims[*k]);
        match self.choices.below(6) {
            0 => {
                let (y, m) = self.extent(arrays);
                (format!("min({x}, {y})"), n.zip(m).map(|(n, m)| n.min(m)))
            }
            1 => (format!("max(0i64, sub({x}, 1i64))"), n.map(|n| n.saturating_sub(1))),
            _ => (x, n),
        }
    }

    /// The extents of a new array of at most [`MAX_ELEMENTS`] elements.
    fn shape(&mut self, rank: usize, arrays: &[ArrayVar]) -> (String, Vec<Option<usize>>) {
        let mut extents: Vec<(String, Option<usize>)> = (0..rank).map(|_| self.extent(arrays)).collect();
        let dims: Vec<Option<usize>> = extents.iter().map(|e| e.1).collect();
        if rank > 1 && size(&dims).is_none_or(|n| n > MAX_ELEMENTS) {
            extents = (0..rank).map(|_| (format!("min(4i64, {})", "3i64"), Some(3))).collect();
        }
        let text: Vec<String> = extents.iter().map(|e| e.0.clone()).collect();
        (format!("|| ({})", text.join(", ")), extents.into_iter().map(|e| e.1).collect())
    }

    fn rank(&mut self) -> usize {
        self.choices.weighted(&[(8, 0), (50, 1), (25, 2), (10, 3), (7, 4)])
    }

    fn generate(&mut self, arrays: &[ArrayVar]) -> Made {
        let rank = self.rank();
        let (shape, dims) = self.shape(rank, arrays);
        let leaves = self.leaves();
        let f = self.function(&vec![T::I64; rank], &leaves, arrays);
        Some((leaves, dims, format!("generate(shape: {shape}, f: {f})")))
    }

    fn map(&mut self, xs: &[ArrayVar], arrays: &[ArrayVar]) -> Made {
        let indexed = self.choices.chance(30);
        let rank = xs[0].rank();
        let dims =
            (0..rank).map(|k| xs.iter().map(|x| x.dims[k]).reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))).flatten());
        let dims: Vec<Option<usize>> = dims.collect();
        let mut params = if indexed { vec![T::I64; rank] } else { Vec::new() };
        params.extend(xs.iter().flat_map(|x| &x.leaves));
        let leaves = self.leaves();
        let f = self.function(&params, &leaves, arrays);
        let name = match (xs.len(), indexed) {
            (1, false) => "map",
            (1, true) => "imap",
            (_, false) => "zip_with",
            (_, true) => "izip_with",
        };
        let names: Vec<&str> = xs.iter().map(|x| x.name.as_str()).collect();
        Some((leaves, dims, format!("{name}({}, f: {f})", names.join(", "))))
    }

    fn fold(&mut self, a: &ArrayVar, arrays: &[ArrayVar]) -> Made {
        let (_, outer) = a.dims.split_last()?;
        let f = self.associative(&a.leaves);
        let text = if a.at_least(outer.len(), 1) && self.choices.chance(40) {
            format!("fold1({}, f: {f})", a.name)
        } else {
            let init = self.function(&[], &a.leaves, arrays);
            format!("fold({}, f: {f}, init: {init})", a.name)
        };
        Some((a.leaves.clone(), outer.to_vec(), text))
    }

    /// Segments of various lengths, some of them empty, and a fold of them.
    fn fold_seg(&mut self, a: &ArrayVar, arrays: &[ArrayVar], text: &mut String) -> Vec<ArrayVar> {
        let Some((inner, outer)) = a.dims.split_last() else { return Vec::new() };
        let count = *self.choices.pick(&[0, 1, 1, 2, 3, 5, 9]);
        let (n, k) = (format!("extent({}, {})", a.name, outer.len()), self.fresh());
        let (offset, full) = match self.choices.below(4) {
            // All elements, more of them in later segments.
            0 => (format!("quot(mul(mul({k}, {k}), {n}), {}i64)", (count * count).max(1)), false),
            // From a random position on, at most to the end.
            1 => {
                let (first, length) = (self.choices.below(4), self.choices.below(5));
                let full = inner.is_some_and(|n| length > 0 && first + count * length <= n);
                (format!("min({n}, add({first}i64, mul({k}, {length}i64)))"), full)
            }
            // Evenly.
            _ => {
                let full = inner.is_some_and(|n| n >= count);
                (format!("quot(mul({k}, {n}), {}i64)", count.max(1)), full)
            }
        };
        let [offsets, result] = [self.array_name(), self.array_name()];
        let _ = writeln!(text, "  {offsets}: [1]i64 = generate(shape: || {}i64, f: |{k}: i64| {offset})", count + 1);
        let f = self.associative(&a.leaves);
        let (name, init) = if full && self.choices.chance(40) {
            ("fold1_seg", String::new())
        } else {
            ("fold_seg", format!(", init: {}", self.function(&[], &a.leaves, arrays)))
        };
        let dims = [outer, &[Some(count)]].concat();
        let ty = format!("[{}]{}", dims.len(), a.elt());
        let _ = writeln!(text, "  {result}: {ty} = {name}({}, offsets: {offsets}, f: {f}{init})", a.name);
        let of = |name: String, leaves: Vec<T>, dims| ArrayVar { name, leaves, dims };
        vec![of(offsets, vec![T::I64], vec![Some(count + 1)]), of(result, a.leaves.clone(), dims)]
    }

    fn scan(&mut self, a: &ArrayVar, arrays: &[ArrayVar]) -> Made {
        let (inner, outer) = a.dims.split_last()?;
        let f = self.associative(&a.leaves);
        let dir = *self.choices.pick(&["scanl", "scanr"]);
        let mut dims = outer.to_vec();
        let text = if self.choices.chance(50) {
            dims.push(*inner);
            format!("{dir}1({}, f: {f})", a.name)
        } else {
            dims.push(inner.map(|n| n + 1));
            let init = self.function(&[], &a.leaves, arrays);
            format!("{dir}({}, f: {f}, init: {init})", a.name)
        };
        Some((a.leaves.clone(), dims, text))
    }

    /// What combines the elements of a permutation: any function, since the order is that of the source; but one of floats
    /// may be a sum, whose association is free.
    fn combination(&mut self, leaves: &[T], arrays: &[ArrayVar]) -> String {
        let free = self.mode == Mode::Exact && leaves.iter().any(|t| t.is_float());
        match self.choices.below(3) {
            0 if !free => self.function(&[leaves, leaves].concat(), leaves, arrays),
            _ => self.associative(leaves),
        }
    }

    /// An array of hundreds of elements, most of which go to one place of `into`.
    fn permute_many(&mut self, into: &ArrayVar, arrays: &[ArrayVar], text: &mut String) -> Vec<ArrayVar> {
        let [xs, result] = [self.array_name(), self.array_name()];
        let f = self.function(&[T::I64], &into.leaves, arrays);
        let n = MAX_ELEMENTS - self.choices.below(100);
        let _ = writeln!(text, "  {xs}: [1]{} = generate(shape: || {n}i64, f: {f})", into.elt());
        let combine = self.combination(&into.leaves, arrays);
        let i = self.fresh();
        let place = match self.choices.below(3) {
            0 => format!("quot({i}, 300i64)"),
            1 => format!("quot(rem({i}, 5i64), 4i64)"),
            _ => "0i64".to_string(),
        };
        let extents = (0..into.rank()).map(|k| format!("extent({}, {k})", into.name));
        let any =
            extents.clone().fold(format!("ne(rem({i}, 11i64), 3i64)"), |any, n| format!("and({any}, gt({n}, 0i64))"));
        let target: Vec<String> = extents.map(|n| format!("mod_floor({place}, max(1i64, {n}))")).collect();
        let target = [vec![format!("cast({any}, u8)")], target].concat().join(", ");
        let ty = format!("[{}]{}", into.rank(), into.elt());
        let _ = writeln!(
            text,
            "  {result}: {ty} = permute({xs}, into: {}, combine: {combine}, target: |{i}: i64| ({target}))",
            into.name
        );
        let of = |name: String, dims| ArrayVar { name, leaves: into.leaves.clone(), dims };
        vec![of(xs, vec![Some(n)]), of(result, into.dims.clone())]
    }

    fn permute(&mut self, a: &ArrayVar, arrays: &[ArrayVar]) -> Made {
        let fitting: Vec<&ArrayVar> = arrays.iter().filter(|d| d.leaves == a.leaves).collect();
        let into = (*self.choices.pick(&fitting)).clone();
        let combine = self.combination(&a.leaves, arrays);
        let index: Vec<(String, T)> = (0..a.rank()).map(|_| (self.fresh(), T::I64)).collect();
        let mut r = super::scalar::Region::new(&index);
        self.budget = 8;
        let keep = self.value(T::Bool, &mut r, arrays);
        let mut any = keep;
        let mut target = Vec::new();
        for k in 0..into.rank() {
            let to = self.value(T::I64, &mut r, arrays);
            let least = format!("max(1i64, extent({}, {k}))", into.name);
            target.push(format!("mod_floor({to}, {least})"));
            any = format!("and({any}, gt(extent({}, {k}), 0i64))", into.name);
        }
        let results = [vec![format!("cast({any}, u8)")], target].concat();
        let f = format!("|{}| {}", super::generate::list(&index), r.close(&results));
        let text = format!("permute({}, into: {}, combine: {combine}, target: {f})", a.name, into.name);
        Some((a.leaves.clone(), into.dims, text))
    }

    fn backpermute(&mut self, a: &ArrayVar, arrays: &[ArrayVar]) -> Made {
        let rank = a.rank();
        if rank > 0 && (size(&a.dims).is_none_or(|n| n == 0) || self.choices.chance(40)) {
            // A permutation of axes, some of them reversed: in bounds for all extents.
            let mut order: Vec<usize> = (0..rank).collect();
            order.rotate_left(self.choices.below(rank));
            let shape: Vec<String> = order.iter().map(|k| format!("extent({}, {k})", a.name)).collect();
            let index: Vec<String> = (0..rank).map(|_| self.fresh()).collect();
            let from = (0..rank).map(|k| {
                let i = order.iter().position(|&o| o == k).map_or("0i64", |p| index[p].as_str());
                match self.choices.chance(40) {
                    true => format!("sub(sub(extent({}, {k}), 1i64), {i})", a.name),
                    false => i.to_string(),
                }
            });
            let from: Vec<String> = from.collect();
            let params: Vec<String> = index.iter().map(|i| format!("{i}: i64")).collect();
            let dims = order.iter().map(|&k| a.dims[k]).collect();
            let text = format!(
                "backpermute({}, shape: || ({}), index: |{}| ({}))",
                a.name,
                shape.join(", "),
                params.join(", "),
                from.join(", ")
            );
            return Some((a.leaves.clone(), dims, text));
        }
        let rank = self.rank();
        let (shape, dims) = self.shape(rank, arrays);
        let index: Vec<(String, T)> = (0..rank).map(|_| (self.fresh(), T::I64)).collect();
        let mut r = super::scalar::Region::new(&index);
        self.budget = 6;
        let mut from = Vec::new();
        for k in 0..a.rank() {
            let i = self.value(T::I64, &mut r, arrays);
            from.push(format!("mod_floor({i}, max(1i64, extent({}, {k})))", a.name));
        }
        let f = format!("|{}| {}", super::generate::list(&index), r.close(&from));
        Some((a.leaves.clone(), dims, format!("backpermute({}, shape: {shape}, index: {f})", a.name)))
    }

    fn stencil(&mut self, a: &ArrayVar, arrays: &[ArrayVar]) -> Made {
        let rank = a.rank();
        if rank == 0 || rank > 3 || a.leaves.len() > 2 {
            return None;
        }
        let widths: &[usize] = if rank == 1 { &[1, 3, 3, 5, 7, 9] } else { &[1, 3, 3, 5] };
        let window: Vec<usize> = (0..rank).map(|_| *self.choices.pick(widths)).collect();
        if window.iter().product::<usize>() > 30 {
            return None;
        }
        let radius = |k: usize| window[k] / 2;
        let mirrors = (0..rank).all(|k| a.at_least(k, radius(k) + 1));
        let wraps = (0..rank).all(|k| a.at_least(k, radius(k)));
        let boundary = match self.choices.below(5) {
            0 if mirrors => "mirror".to_string(),
            1 if wraps => "wrap".to_string(),
            2 => self.function(&vec![T::I64; rank], &a.leaves, arrays),
            _ => "clamp".to_string(),
        };
        let count = window.iter().product();
        let mut params: Vec<T> = std::iter::repeat_n(&a.leaves, count).flatten().copied().collect();
        // Now and then over a second array, on the intersection of both.
        let others: Vec<&ArrayVar> =
            arrays.iter().filter(|b| rank < 3 && b.rank() == rank && b.leaves.len() == 1).collect();
        let second = if others.is_empty() || self.choices.chance(75) {
            None
        } else {
            Some((*self.choices.pick(&others)).clone())
        };
        let mut dims = a.dims.clone();
        if let Some(b) = &second {
            params.extend(vec![b.leaves[0]; 3usize.pow(rank as u32)]);
            dims = dims.iter().zip(&b.dims).map(|(m, n)| m.zip(*n).map(|(m, n)| m.min(n))).collect();
        }
        let leaves = self.leaves();
        let f = self.function(&params, &leaves, arrays);
        let window = window.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let text = match second {
            Some(b) => format!(
                "stencil({}, {}, windows: [[{window}], [{}]], boundaries: [{boundary}, clamp], f: {f})",
                a.name,
                b.name,
                vec!["3"; rank].join(", ")
            ),
            None => format!("stencil({}, window: [{window}], boundary: {boundary}, f: {f})", a.name),
        };
        Some((leaves, dims, text))
    }

    fn reshape(&mut self, a: &ArrayVar) -> Made {
        let extents: Vec<String> = (0..a.rank()).map(|k| format!("extent({}, {k})", a.name)).collect();
        let total = extents.iter().fold("1i64".to_string(), |p, e| format!("mul({p}, {e})"));
        let (shape, dims): (Vec<String>, Vec<Option<usize>>) = match self.choices.below(3) {
            0 => (vec![total], vec![size(&a.dims)]),
            1 if a.rank() > 1 => (extents.into_iter().rev().collect(), a.dims.iter().rev().copied().collect()),
            _ if a.rank() < 4 => {
                let at = self.choices.below(a.rank() + 1);
                let (mut shape, mut dims) = (extents, a.dims.clone());
                shape.insert(at, "1i64".into());
                dims.insert(at, Some(1));
                (shape, dims)
            }
            _ => return None,
        };
        Some((a.leaves.clone(), dims, format!("reshape({}, shape: || ({}))", a.name, shape.join(", "))))
    }

    fn replicate(&mut self, a: &ArrayVar) -> Made {
        if a.rank() >= 4 || size(&a.dims).is_none_or(|n| n * 3 > MAX_ELEMENTS) {
            return None;
        }
        let (at, n) = (self.choices.below(a.rank() + 1), *self.choices.pick(&[0, 1, 2, 3]));
        let mut axes = vec!["all"; a.rank()];
        axes.insert(at, "fixed");
        let mut dims = a.dims.clone();
        dims.insert(at, Some(n));
        let text = format!("replicate({}, axes: [{}], extents: || {n}i64)", a.name, axes.join(", "));
        Some((a.leaves.clone(), dims, text))
    }

    fn slice(&mut self, a: &ArrayVar) -> Made {
        let mut positions = Vec::new();
        let (mut axes, mut dims) = (Vec::new(), Vec::new());
        for k in 0..a.rank() {
            if a.at_least(k, 1) && self.choices.chance(60) {
                let below = a.dims[k].unwrap_or(1);
                let at = self.choices.below(below);
                positions.push(match self.choices.chance(50) {
                    true => format!("{at}i64"),
                    false => format!("mod_floor({at}i64, extent({}, {k}))", a.name),
                });
                axes.push("fixed");
            } else {
                axes.push("all");
                dims.push(a.dims[k]);
            }
        }
        let index = if positions.is_empty() { "()".into() } else { format!("({})", positions.join(", ")) };
        Some((a.leaves.clone(), dims, format!("slice({}, axes: [{}], index: || {index})", a.name, axes.join(", "))))
    }

    fn argsort(a: &ArrayVar) -> Made {
        let sortable = a.rank() > 0 && !a.leaves.is_empty();
        sortable.then(|| (vec![T::I64], a.dims.clone(), format!("argsort({})", a.name)))
    }

    /// A check that holds, since it is of something or the other way round.
    fn check(&mut self, a: &ArrayVar, arrays: &[ArrayVar]) -> Made {
        let mut r = super::scalar::Region::new(&[]);
        self.budget = 4;
        let c = self.value(T::Bool, &mut r, arrays);
        let holds = r.close(&[format!("or({c}, not({c}))")]);
        Some((a.leaves.clone(), a.dims.clone(), format!("check({}, ok: || {holds}, message: \"never\")", a.name)))
    }
}

/// Leaves, extents and text of an operation.
type Made = Option<(Vec<T>, Vec<Option<usize>>, String)>;
