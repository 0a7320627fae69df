//! Reads of arrays: contiguous, strided, and gathered.

use crate::bind::Input;
use crate::kernel::Edge;
use crate::tile::access::position;
use crate::tile::bytecode::{Access, BytecodeIndex, Slot};
use crate::tile::lanes;
use crate::tile::machine::{AccessPattern, AccessPlan, LoadedLanes, Machine, Outcome, Stop, event};
use crate::tile::register_blocks::MAX_BLOCK_LANES;
use acc_core::Fault;
use acc_core::data::ColumnSlice;
use acc_core::ir::ArrayId;
use smallvec::SmallVec;

/// The index that one beyond a boundary stands for.
pub(crate) fn edge_index(edge: Edge, i: i64, n: usize) -> i64 {
    let n = n as i64;
    match edge {
        Edge::Clamp | Edge::Any => i.clamp(0, (n - 1).max(0)),
        Edge::Mirror if i < 0 => -i,
        Edge::Mirror if i >= n => 2 * (n - 1) - i,
        Edge::Wrap if i < 0 => i + n,
        Edge::Wrap if i >= n => i - n,
        Edge::Mirror | Edge::Wrap => i,
    }
}

/// A read of an array outside its bounds.
pub(crate) fn out_of_bounds(array: ArrayId, index: &[i64], shape: &[usize]) -> Fault {
    Fault::IndexOutOfBounds { array: array.into(), index: index.to_vec(), shape: shape.to_vec() }
}

/// Row-major strides.
fn row_major(shape: &[usize]) -> SmallVec<[i64; 4]> {
    let mut out: SmallVec<[i64; 4]> = smallvec::smallvec![1; shape.len()];
    for d in (1..shape.len()).rev() {
        out[d - 1] = out[d].wrapping_mul(shape[d] as i64);
    }
    out
}

impl<'a> Machine<'a> {
    fn input(&self, access: &Access) -> Result<&'a Input<'a>, Stop> {
        let bound = self.bound;
        bound.inputs[access.array as usize].as_ref().ok_or(Stop::Demand(self.bytecode.arrays[access.array as usize]))
    }

    /// Reads leaves of an array for each lane. Without leaves it only checks the bounds.
    pub(crate) fn load(
        &mut self,
        access: &'a Access,
        leaves: &[u32],
        outs: &[Slot],
        n: usize,
        contiguous: bool,
    ) -> Outcome {
        if let Some(marks) = self.window.of(self.bytecode.arrays[access.array as usize]) {
            // Each lane its own element: see `lower::flags`.
            let own = lanes::part(ColumnSlice::Bool(&marks.values), self.start - self.window.range.start, n);
            for &out in outs {
                lanes::copy(own, self.own[out as usize].out());
                self.refs[out as usize] = None;
            }
            return Ok(());
        }
        let input = match self.input(access) {
            Ok(i) => i,
            Err(stop) => return event(0, stop),
        };
        outs.iter().for_each(|&out| self.loaded[out as usize] = LoadedLanes::Plain);
        if access.edge == Some(Edge::Any) && input.shape.contains(&0) {
            for &out in outs {
                self.refs[out as usize] = None;
                self.own[out as usize].fill(n, 0);
            }
            return Ok(());
        }
        let plan = access.plan as usize;
        if contiguous {
            if matches!(self.plans[plan], AccessPlan::Unknown) {
                self.plans[plan] = self.plan(access, input.shape);
            }
            let plans = std::mem::take(&mut self.plans);
            let done = match &plans[plan] {
                AccessPlan::Affine { constant, coefficients, shape } => {
                    self.read(access, input, leaves, outs, n, *constant, coefficients, *shape);
                    true
                }
                AccessPlan::Boundary { strides } => {
                    self.load_boundary(access, input, strides, leaves, outs, n);
                    true
                }
                AccessPlan::Unknown | AccessPlan::PerLane => false,
            };
            self.plans = plans;
            if done {
                return Ok(());
            }
        }
        // Loop counters are uniform.
        let same = self.same_index(access, n);
        self.positions(access, input, if same { 1 } else { n })?;
        let same = self.at.first().copied().filter(|_| same);
        let filled = if same.is_some() { self.filled(access, outs, n) } else { n };
        for (&leaf, &out) in leaves.iter().zip(outs) {
            let (column, mut o) = (input.columns[leaf as usize].slice(), self.take(out));
            match same {
                Some(at) => lanes::fill_from(column, at, filled, &mut o),
                None => lanes::gather_at(column, &self.at[..n], o.out()),
            }
            self.put(out, o);
        }
        Ok(())
    }

    /// How many of `n` equal lanes are filled: one block, if only chains use them.
    fn filled(&mut self, access: &Access, outs: &[Slot], n: usize) -> usize {
        if !access.for_chains {
            return n;
        }
        outs.iter().for_each(|&out| self.loaded[out as usize] = LoadedLanes::Uniform);
        MAX_BLOCK_LANES
    }

    fn base(&self, base: Option<Slot>) -> i64 {
        base.map_or(0, |s| self.typed::<i64>(s, 1).first().copied().unwrap_or(0))
    }

    /// The smallest and largest value of an affine index over the launch, in exact arithmetic.
    fn range(&self, scale: i64, offset: i64, base: i64, axis: usize) -> Option<(i128, i128)> {
        let last = *self.space.extents.get(axis)? as i128 - 1;
        let at = |i: i128| i128::from(scale) * i + i128::from(offset) + i128::from(base);
        let (a, b) = (at(0), at(last.max(0)));
        Some((a.min(b), a.max(b)))
    }

    /// How this access is read in the whole launch.
    fn plan(&self, access: &Access, shape: &[usize]) -> AccessPlan {
        let strides = row_major(shape);
        let mut constant = 0i64;
        let mut coefficients: SmallVec<[i64; 4]> = smallvec::smallvec![0; self.space.extents.len()];
        let mut inside = true;
        for ((ix, &stride), &n) in access.index.iter().zip(&strides).zip(shape) {
            let BytecodeIndex::Affine { axis, scale, offset, base, .. } = *ix else { return AccessPlan::PerLane };
            let base = self.base(base);
            match self.range(scale, offset, base, axis as usize) {
                Some((lo, hi)) => inside &= lo >= 0 && hi < n as i128,
                None => return AccessPlan::PerLane,
            }
            if inside {
                // In bounds, so that nothing overflows.
                constant += stride.wrapping_mul(offset.wrapping_add(base));
                coefficients[axis as usize] += stride.wrapping_mul(scale);
            }
        }
        if !inside {
            let plain = |ix: &BytecodeIndex| matches!(ix, BytecodeIndex::Affine { scale: 1, base: None, .. });
            // Rows with boundaries: each dimension follows its own axis, so that at most one dimension varies in a row.
            let axes: SmallVec<[u32; 4]> = access
                .index
                .iter()
                .filter_map(|ix| if let BytecodeIndex::Affine { axis, .. } = ix { Some(*axis) } else { None })
                .collect();
            let distinct = axes.iter().enumerate().all(|(k, a)| !axes[..k].contains(a));
            let rows = access.edge.is_some() && access.index.iter().all(plain) && distinct;
            return if rows { AccessPlan::Boundary { strides } } else { AccessPlan::PerLane };
        }
        let (lo, hi) = (self.space.lo, self.space.hi);
        let want = row_major(self.space.lane_extents());
        let of_lanes = coefficients[lo..hi].iter().zip(self.space.lane_extents());
        // An axis of extent 1 may have any stride.
        let matches =
            |f: &dyn Fn(usize, i64) -> bool| of_lanes.clone().enumerate().all(|(k, (&c, &n))| n <= 1 || f(k, c));
        let pattern = if matches(&|k, c| c == want[k]) {
            AccessPattern::Contiguous
        } else if matches(&|_, c| c == 0) {
            AccessPattern::Uniform
        } else {
            AccessPattern::Strided
        };
        AccessPlan::Affine { constant, coefficients, shape: pattern }
    }

    #[allow(clippy::too_many_arguments, reason = "one call, the parts of one plan")]
    fn read(
        &mut self,
        access: &Access,
        input: &'a Input<'a>,
        leaves: &[u32],
        outs: &[Slot],
        n: usize,
        constant: i64,
        coefficients: &[i64],
        shape: AccessPattern,
    ) {
        let (lo, hi) = (self.space.lo, self.space.hi);
        let mut origin = constant;
        for (axis, &c) in coefficients.iter().enumerate() {
            if axis < lo || axis >= hi {
                origin += c * self.fixed[axis];
            }
        }
        match shape {
            AccessPattern::Contiguous => {
                let at = (origin + self.start as i64) as usize;
                for (&leaf, &out) in leaves.iter().zip(outs) {
                    self.refs[out as usize] = Some(lanes::part(input.columns[leaf as usize].slice(), at, n));
                }
            }
            AccessPattern::Uniform => {
                let n = self.filled(access, outs, n);
                for (&leaf, &out) in leaves.iter().zip(outs) {
                    let mut o = self.take(out);
                    lanes::fill_from(input.columns[leaf as usize].slice(), origin as usize, n, &mut o);
                    self.put(out, o);
                }
            }
            AccessPattern::Strided => {
                let extents = self.space.lane_extents();
                let (Some(&row), Some(&step)) = (extents.last(), coefficients[lo..hi].last()) else { return };
                let first = self.start % row.max(1);
                // A contiguous segment is read in place.
                if step == 1 && first + n <= row {
                    let at = (origin + self.outer(coefficients, self.start / row.max(1)) + first as i64) as usize;
                    for (&leaf, &out) in leaves.iter().zip(outs) {
                        self.refs[out as usize] = Some(lanes::part(input.columns[leaf as usize].slice(), at, n));
                    }
                    return;
                }
                let once = !access.index.iter().any(|ix| matches!(ix, BytecodeIndex::Affine { lanes: Some(_), .. }));
                let plan = (access.plan as usize, once);
                if first + n <= row && self.load_transposed(plan, (input, leaves, outs), n, origin, coefficients) {
                    return;
                }
                let mut taken: SmallVec<[_; 4]> = outs.iter().map(|&s| self.take(s)).collect();
                let (mut k, mut j, mut line) = (0, first, self.start / row.max(1));
                while k < n {
                    let len = (row - j).min(n - k);
                    let at = (origin + self.outer(coefficients, line) + step * j as i64) as usize;
                    for (&leaf, o) in leaves.iter().zip(&mut taken) {
                        let (_, to) = o.out().split_at(k);
                        lanes::strided(input.columns[leaf as usize].slice(), at, step as isize, len, to);
                    }
                    k += len;
                    j = 0;
                    line += 1;
                }
                for (&s, o) in outs.iter().zip(taken) {
                    self.put(s, o);
                }
            }
        }
    }

    /// The address offset of all lane axes but the last, for a line (a position over those axes).
    pub(crate) fn outer(&self, coefficients: &[i64], mut line: usize) -> i64 {
        let (lo, hi) = (self.space.lo, self.space.hi);
        let mut sum = 0;
        for axis in (lo..hi.saturating_sub(1)).rev() {
            let n = self.space.extents[axis].max(1);
            sum += coefficients[axis] * (line % n) as i64;
            line /= n;
        }
        sum
    }

    /// The index along one dimension, for each lane.
    fn index_lanes(&self, ix: &BytecodeIndex, n: usize, out: &mut Vec<i64>) {
        out.clear();
        match *ix {
            BytecodeIndex::At(s) => out.extend_from_slice(self.typed::<i64>(s, n)),
            BytecodeIndex::Affine { axis, scale, offset, base, lanes } => {
                match lanes {
                    Some(s) => out.extend_from_slice(self.typed::<i64>(s, n)),
                    None => {
                        out.resize(n, 0);
                        self.axis_index(axis as usize, out);
                    }
                }
                let base = self.base(base).wrapping_add(offset);
                if scale != 1 || base != 0 {
                    for i in out.iter_mut() {
                        *i = i.wrapping_mul(scale).wrapping_add(base);
                    }
                }
            }
        }
    }

    /// Whether all lanes have the same index.
    fn same_index(&self, access: &Access, n: usize) -> bool {
        access.index.iter().all(|ix| match *ix {
            BytecodeIndex::At(s) | BytecodeIndex::Affine { lanes: Some(s), .. } => {
                position::all_equal(self.typed::<i64>(s, n))
            }
            BytecodeIndex::Affine { axis, .. } => !(self.space.lo..self.space.hi).contains(&(axis as usize)),
        })
    }

    /// Computes the row-major position that each lane reads, into `at`; an event at the first out of bounds.
    fn positions(&mut self, access: &'a Access, input: &'a Input<'a>, n: usize) -> Outcome {
        let mut at = std::mem::take(&mut self.at);
        let mut index = std::mem::take(&mut self.index);
        at.resize(n, 0);
        let mut bad = false;
        for (d, (ix, &extent)) in access.index.iter().zip(input.shape).enumerate() {
            if let (BytecodeIndex::At(s), None) = (ix, access.edge) {
                bad |= position::along(d, self.typed::<i64>(*s, n), extent, &mut at);
                continue;
            }
            self.index_lanes(ix, n, &mut index);
            match access.edge {
                Some(Edge::Any) => {
                    position::nearest(d, &index, extent, &mut at);
                    continue;
                }
                Some(edge) => index.iter_mut().for_each(|i| *i = edge_index(edge, *i, extent)),
                None => {}
            }
            bad |= position::along(d, &index, extent, &mut at);
        }
        if access.index.is_empty() {
            at.fill(0);
        }
        self.at = at;
        self.index = index;
        if bad { self.first_outside(access, input, n) } else { Ok(()) }
    }

    /// The event at the first lane whose index is out of bounds.
    fn first_outside(&mut self, access: &Access, input: &Input<'_>, n: usize) -> Outcome {
        let mut columns: Vec<Vec<i64>> = Vec::new();
        for (ix, &extent) in access.index.iter().zip(input.shape) {
            let mut index = Vec::new();
            self.index_lanes(ix, n, &mut index);
            if let Some(edge) = access.edge {
                index.iter_mut().for_each(|i| *i = edge_index(edge, *i, extent));
            }
            columns.push(index);
        }
        for lane in 0..n {
            let index: Vec<i64> = columns.iter().map(|c| c[lane]).collect();
            if index.iter().zip(input.shape).any(|(&i, &n)| i as u64 >= n as u64) {
                let array = self.bytecode.arrays[access.array as usize];
                let fault = out_of_bounds(array, &index, input.shape);
                return event(lane, Stop::Fault(fault, access.loc.clone()));
            }
        }
        Ok(())
    }

    /// Whether the index of each lane is in bounds.
    pub(crate) fn inside(&mut self, access: &'a Access, out: Slot, n: usize, contiguous: bool) -> Outcome {
        let input = match self.input(access) {
            Ok(i) => i,
            Err(stop) => return event(0, stop),
        };
        let mut o = self.take(out);
        let flags = &mut <bool as crate::tile::lanes::Lane>::of_mut(&mut o)[..n];
        flags.fill(true);
        for (ix, &extent) in access.index.iter().zip(input.shape) {
            if let BytecodeIndex::Affine { axis, scale, offset, base, .. } = *ix {
                let base = self.base(base);
                let range = self.range(scale, offset, base, axis as usize);
                if range.is_some_and(|(lo, hi)| lo >= 0 && hi < extent as i128) {
                    continue;
                }
                let (lo, hi) = (self.space.lo, self.space.hi);
                if contiguous && scale == 1 && base == 0 && (axis as usize) >= lo && (axis as usize) + 1 == hi {
                    self.inside_rows(flags, offset, extent);
                    continue;
                }
            }
            let mut index = std::mem::take(&mut self.index);
            self.index_lanes(ix, n, &mut index);
            for (f, &i) in flags.iter_mut().zip(&index) {
                *f &= (i as u64) < extent as u64;
            }
            self.index = index;
        }
        self.put(out, o);
        Ok(())
    }

    /// Clears the flags of the lanes whose index along the last lane axis, with an offset, is out of bounds.
    fn inside_rows(&self, flags: &mut [bool], offset: i64, extent: usize) {
        let row = self.space.lane_extents().last().copied().unwrap_or(1).max(1);
        let (mut k, mut j) = (0, self.start % row);
        while k < flags.len() {
            let len = (row - j).min(flags.len() - k);
            let a = (-offset).clamp(j as i64, (j + len) as i64) as usize;
            let b = (extent as i64 - offset).clamp(a as i64, (j + len) as i64) as usize;
            flags[k..k + (a - j)].fill(false);
            flags[k + (b - j)..k + len].fill(false);
            k += len;
            j = 0;
        }
    }
}
