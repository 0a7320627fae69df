//! Convolutions: contractions of windows of a tensor with filters.
//!
//! The factor that is read by windows has an axis at the positions `start + i·stride + w·dilation`, of a place `i` of the
//! result and a position `w` in the window that is summed. The gradient of a filter is of this form, too: there the places
//! are those of the filter, and the window is as large as an image.

use super::views::varying;
use crate::analysis::contraction::Axes;
use crate::graph::builder::{Builder, Windows};
use crate::graph::{Numbers, Op, SizeOp, Value, Values};
use acc_core::data::{Prim, ScalarType};
use acc_core::ir::PrimOp;
use smallvec::SmallVec;

/// As many axes of windows as libtorch convolves.
const MAX_SPATIAL_AXES: usize = 3;
/// How many views a factor is followed through.
const MAX_VIEWS: usize = 32;

/// A contraction that is a convolution of its one factor with the other.
pub(super) fn rule(b: &mut Builder, op: &Op) -> Option<Value> {
    let Op::Contract { left, right, mask, axes } = *op else { return None };
    let both = [[left, right], [right, left]].map(|[x, filters]| Convolution::of(b, x, filters, axes as usize));
    let found = match both {
        [Some(one), Some(other)] if one.stores_windows(b) && !other.stores_windows(b) => other,
        [one, other] => one.or(other)?,
    };
    let factors = found.factors(b)?;
    Some(match mask {
        None => found.write(b, factors),
        Some(mask) => {
            let padded = [left, right].map(|x| viewed(b, x, true).is_some_and(|x| x.is_padded()));
            let of_finite = [left, right].into_iter().zip([padded[1], padded[0]]).filter(|(_, other)| *other);
            let of_finite: Values = of_finite.map(|(x, _)| x).collect();
            found.write_guarded(b, factors, &of_finite, |b| b.contract(left, right, Some(mask), axes))
        }
    })
}

/// How a dimension of a tensor follows the axes of the space of a contraction.
#[derive(Clone)]
pub(super) enum Along {
    /// It has an extent of 1.
    One,
    /// It is the axis.
    Axis(usize),
    /// Its positions are `start` and the sum of these terms, out of its extent zeros if it is padded.
    Window { start: Value, terms: SmallVec<[Term; 2]>, padded: bool, extent: Option<Value> },
}

/// The index along an axis times a step.
#[derive(Clone, Copy)]
pub(super) struct Term {
    pub(super) axis: usize,
    pub(super) len: Value,
    pub(super) step: i64,
}

/// A tensor that a factor is a view of.
#[derive(Clone)]
pub(super) struct Viewed {
    value: Value,
    pub(super) along: Vec<Along>,
    /// The checks that the factor waits for.
    pub(super) checked: Vec<Value>,
}

/// The tensor behind the views that a factor is, reads at windows among them or not.
pub(super) fn viewed(b: &Builder, factor: Value, windows: bool) -> Option<Viewed> {
    let plain = |axes: Axes| -> Vec<Along> { axes.into_iter().map(|a| a.map_or(Along::One, Along::Axis)).collect() };
    let mut at = Viewed { value: factor, along: plain(varying(b, factor).axes), checked: Vec::new() };
    // The last tensor that is read at windows, or else the first one.
    let mut found = (!windows).then(|| at.clone());
    for _ in 0..MAX_VIEWS {
        let is_window = matches!(b.def(at.value), Some(Op::Unfold { .. }));
        if !at.step(b, windows) {
            break;
        }
        if is_window || !windows {
            found = Some(at.clone());
        }
    }
    found
}

impl Viewed {
    /// Goes to the operand of the view, if it is one that can be followed.
    fn step(&mut self, b: &Builder, windows: bool) -> bool {
        match b.def(self.value) {
            Some(Op::Checked { .. }) => {
                self.checked.push(self.value);
                self.value = b.beneath_checks(self.value);
            }
            Some(Op::InsertAxes(x, at)) => {
                let kept = self.along.iter().enumerate().filter(|(k, _)| !at.contains(&(*k as u32)));
                self.along = kept.map(|(_, along)| along.clone()).collect();
                self.value = *x;
            }
            Some(Op::Transpose(x, order)) => {
                let mut along = vec![Along::One; order.len()];
                for (from, to) in self.along.iter().zip(order) {
                    along[*to as usize] = from.clone();
                }
                (self.value, self.along) = (*x, along);
            }
            Some(Op::Broadcast(x, _)) => {
                for (k, along) in self.along.iter_mut().enumerate() {
                    if b.axes(*x) >> k & 1 == 0 {
                        *along = Along::One;
                    }
                }
                self.value = *x;
            }
            Some(Op::Slice { x, axis, start, len, step }) if windows => {
                let Along::Axis(k) = self.along[*axis as usize] else { return false };
                let term = Term { axis: k, len: *len, step: i64::from(*step) };
                let terms = SmallVec::from_iter([term]);
                self.along[*axis as usize] = Along::Window { start: *start, terms, padded: false, extent: None };
                self.value = *x;
            }
            Some(Op::Unfold { x, axis, start, lens, steps, padded }) if windows => {
                let (axis, end) = (*axis as usize, *axis as usize + lens.len());
                let mut terms = SmallVec::new();
                for (along, (len, step)) in self.along[axis..end].iter().zip(lens.iter().zip(steps)) {
                    match (along, b.const_size(*step)) {
                        (Along::Axis(k), Some(step)) => terms.push(Term { axis: *k, len: *len, step }),
                        (Along::One, _) => {}
                        _ => return false,
                    }
                }
                let extent = b.known_extent(*x, axis);
                let window = Along::Window { start: *start, terms, padded: *padded, extent };
                self.along.splice(axis..end, [window]);
                self.value = *x;
            }
            _ => return false,
        }
        true
    }

    /// The tensor, after what the factor waited for.
    pub(super) fn after_checks(&self, b: &mut Builder) -> Value {
        b.after_checks(self.value, self.checked.clone())
    }

    /// Whether it is read with zeros around it.
    fn is_padded(&self) -> bool {
        self.along.iter().any(|along| matches!(along, Along::Window { padded: true, .. }))
    }

    pub(super) fn has(&self, axis: usize) -> bool {
        self.along.iter().any(|along| match along {
            Along::One => false,
            Along::Axis(k) => *k == axis,
            Along::Window { terms, .. } => terms.iter().any(|t| t.axis == axis),
        })
    }
}

/// A dimension of windows: the position of the first one, the place in the result, and the position in the window.
struct Pair {
    dimension: usize,
    start: Value,
    place: Term,
    window: Term,
}

impl Pair {
    /// The least position, from which windows and their elements go forward.
    fn least(&self, b: &mut Builder) -> Value {
        let (mut least, one) = (self.start, b.size(1));
        for term in [self.place, self.window].iter().filter(|term| term.step < 0) {
            let (steps, width) = (b.size_op(SizeOp::Sub, term.len, one), b.size(term.step.abs()));
            let way = b.size_op(SizeOp::Mul, steps, width);
            least = b.size_op(SizeOp::Sub, least, way);
        }
        least
    }
}

/// What the axes of a space are to a convolution.
#[derive(Default)]
struct Roles {
    images: Vec<usize>,
    groups: Vec<usize>,
    filters: Vec<usize>,
    channels: Vec<usize>,
    /// Axes along which neither factor varies.
    ones: Vec<u32>,
}

/// A convolution that a contraction is.
struct Convolution {
    from: Viewed,
    filters: Value,
    of: Viewed,
    pairs: Vec<Pair>,
    roles: Roles,
    strides: Numbers,
    dilations: Numbers,
}

/// The operands of a convolution, and the extents of the axes of its images, groups and filters.
struct Factors {
    images: Value,
    filters: Value,
    extents: Values,
}

impl Convolution {
    fn of(b: &Builder, x: Value, filters: Value, summed: usize) -> Option<Convolution> {
        let outer = b.rank(x) - summed;
        let (from, of) = (viewed(b, x, true)?, viewed(b, filters, false)?);
        let pairs = pairs(&from, &of, outer)?;
        let roles = roles([&from, &of], &pairs, b.axes(x) | b.axes(filters), [outer, b.rank(x)])?;
        let apart = |step: fn(&Pair) -> i64| -> Option<Numbers> {
            pairs.iter().map(|p| u32::try_from(step(p).unsigned_abs()).ok()).collect()
        };
        let (strides, dilations) = (apart(|p| p.place.step)?, apart(|p| p.window.step)?);
        Some(Convolution { from, filters, of, pairs, roles, strides, dilations })
    }

    fn factors(&self, b: &mut Builder) -> Option<Factors> {
        let Convolution { pairs, roles, .. } = self;
        let from = self.from.read_single_positions(b);
        let places: Vec<usize> = pairs.iter().map(|p| p.dimension).collect();
        let (images, [image, group, _]) = from.arranged(b, [&roles.images, &roles.groups, &roles.channels], &places)?;
        let window: Vec<usize> = pairs.iter().map(|p| self.of.dimension(p.window.axis)).collect::<Option<_>>()?;
        let (filters, [_, filter, _]) =
            self.of.arranged(b, [&roles.groups, &roles.filters, &roles.channels], &window)?;
        let extents = image.into_iter().chain(group).chain(filter).collect();
        Some(Factors { images, filters, extents })
    }

    fn write(&self, b: &mut Builder, factors: Factors) -> Value {
        let Convolution { pairs, roles, .. } = self;
        let Factors { images, mut filters, extents } = factors;
        for (k, _) in pairs.iter().enumerate().filter(|(_, p)| p.window.step < 0) {
            filters = b.flip(filters, 3 + k as u32);
        }
        let starts: Values = pairs.iter().map(|p| p.least(b)).collect();
        let places: Values = pairs.iter().map(|p| p.place.len).collect();
        let between = [self.strides.clone(), self.dilations.clone()];
        let mut y = b.convolve([images, filters], [starts, places.clone()], between);
        for (k, _) in pairs.iter().enumerate().filter(|(_, p)| p.place.step < 0) {
            y = b.flip(y, 3 + k as u32);
        }
        let all: Values = extents.into_iter().chain(places).collect();
        let y = b.reshape(y, &all);
        let places = pairs.iter().map(|p| &p.place.axis);
        let axes: Vec<&usize> = roles.images.iter().chain(&roles.groups).chain(&roles.filters).chain(places).collect();
        let mut order: Vec<u32> = (0..axes.len() as u32).collect();
        order.sort_by_key(|k| axes[*k as usize]);
        let y = b.transpose(y, &order);
        b.insert_axes(y, roles.ones.as_slice().into())
    }

    /// Whether the filters are windows that overlap: the convolution would store each element several times.
    fn stores_windows(&self, b: &Builder) -> bool {
        let Some(of) = viewed(b, self.filters, true) else { return false };
        of.along.iter().any(|along| match along {
            Along::Window { terms, .. } => match terms[..] {
                [x, y] => ![(x, y), (y, x)].iter().any(|(inner, outer)| {
                    b.const_size(inner.len).is_some_and(|len| len * inner.step.abs() <= outer.step.abs())
                }),
                _ => terms.len() > 1,
            },
            Along::One | Along::Axis(_) => false,
        })
    }

    /// The same of a contraction whose products are 0 where the factor is that has zeros around it, whatever the other one is
    /// there: only if that is finite, its products with zeros are zeros.
    fn write_guarded(
        &self,
        b: &mut Builder,
        factors: Factors,
        of_finite: &[Value],
        contraction: impl FnOnce(&mut Builder) -> Value,
    ) -> Value {
        let mut bad: Option<Value> = None;
        for x in of_finite {
            let viewed = viewed(b, *x, true);
            let x = viewed.map_or(*x, |viewed| viewed.after_checks(b));
            let [nan, infinite] = [PrimOp::IsNanP, PrimOp::IsInfiniteP].map(|p| b.prim(p, &[x]));
            let own = b.prim(PrimOp::OrP, &[nan, infinite]);
            let own = b.any(own);
            bad = Some(bad.map_or(own, |bad| b.prim(PrimOp::OrP, &[bad, own])));
        }
        let Some(bad) = bad else { return self.write(b, factors) };
        b.open();
        let general = contraction(b);
        let general = b.close(vec![general]);
        b.open();
        let y = self.write(b, factors);
        let convolution = b.close(vec![y]);
        b.if_(bad, general, convolution)[0]
    }
}

/// Whether one of the factors is 0 wherever a condition fails, since all that it says is that positions are inside of a tensor
/// that the factor reads with zeros around it.
pub(super) fn are_zero_outside(b: &Builder, factors: &[Value], condition: Value) -> bool {
    let factors: Vec<Viewed> = factors.iter().filter_map(|x| viewed(b, *x, true)).collect();
    let mut all = vec![condition];
    while let Some(v) = all.pop() {
        let Some(Op::Prim(p, args)) = b.def(b.beneath_checks(v)) else { return false };
        let [x, y] = args[..] else { return false };
        match p {
            PrimOp::AndP => all.extend([x, y]),
            PrimOp::GeP | PrimOp::LtP => {
                let Some(index) = positions(b, x) else { return false };
                let ends = |along: &Along| reads_at(b, along, &index) && is_end(b, along, *p, y);
                if !factors.iter().any(|from| from.along.iter().any(ends)) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    true
}

/// Whether a dimension is read at these positions, with zeros around them.
fn reads_at(b: &Builder, along: &Along, (base, index): &(Value, Vec<Term>)) -> bool {
    let Along::Window { start, terms, padded: true, .. } = along else { return false };
    let is_term = |t: &Term, i: &Term| i.axis == t.axis && i.step == t.step && b.origin(i.len) == b.origin(t.len);
    start == base && terms.len() == index.len() && terms.iter().all(|t| index.iter().any(|i| is_term(t, i)))
}

/// Whether a bound of a comparison is that end of a dimension: 0, or the extent.
fn is_end(b: &Builder, along: &Along, p: PrimOp, bound: Value) -> bool {
    let Along::Window { extent, .. } = along else { return false };
    match (p, b.def(bound), extent) {
        (PrimOp::GeP, Some(Op::Const(least)), _) => *least == 0i64.lit(),
        (PrimOp::LtP, Some(Op::FromSize(n)), Some(extent)) => b.origin(*n) == b.origin(*extent),
        (PrimOp::LtP, Some(Op::Const(n)), Some(extent)) => b.const_size(*extent).is_some_and(|len| len.lit() == *n),
        _ => false,
    }
}

/// The sum of a size and indices along axes, times steps, that a tensor of positions is.
fn positions(b: &Builder, v: Value) -> Option<(Value, Vec<Term>)> {
    match b.def(v)? {
        Op::Prim(PrimOp::AddP, args) => {
            let [(x, mut terms), (y, others)] = [positions(b, args[0])?, positions(b, *args.get(1)?)?];
            terms.extend(others);
            let base = match (b.const_size(x), b.const_size(y)) {
                (_, Some(0)) => x,
                (Some(0), _) => y,
                _ => return None,
            };
            Some((base, terms))
        }
        Op::InsertAxes(x, at) => {
            let axis = (0..b.rank(v)).find(|k| !at.contains(&(*k as u32)))?;
            let (base, mut terms) = positions(b, *x)?;
            let [term] = &mut terms[..] else { return None };
            term.axis = axis;
            Some((base, terms))
        }
        Op::Iota { len, start, step, ty: ScalarType::I64 } => {
            Some((*start, vec![Term { axis: 0, len: *len, step: b.const_size(*step)? }]))
        }
        _ => None,
    }
}

/// The dimensions of windows, if each has one place that the filters do not follow, and one position in the window, along
/// which the filters are summed.
fn pairs(from: &Viewed, of: &Viewed, outer: usize) -> Option<Vec<Pair>> {
    let mut pairs = Vec::new();
    for (dimension, along) in from.along.iter().enumerate() {
        let Along::Window { start, terms, .. } = along else { continue };
        match terms[..] {
            [] | [_] => {}
            [a, b] => {
                let (place, window) = if a.axis < outer { (a, b) } else { (b, a) };
                let fits = place.axis < outer && window.axis >= outer && !of.has(place.axis);
                if !fits || place.step == 0 || window.step == 0 {
                    return None;
                }
                pairs.push(Pair { dimension, start: *start, place, window });
            }
            _ => return None,
        }
    }
    (1..=MAX_SPATIAL_AXES).contains(&pairs.len()).then_some(pairs)
}

/// What the axes are that are no places and not in windows. `varying` are those along which the factors have more than one
/// element, `outer` of all `rank` are not summed.
fn roles([from, of]: [&Viewed; 2], pairs: &[Pair], varying: u32, [outer, rank]: [usize; 2]) -> Option<Roles> {
    let mut roles = Roles::default();
    for axis in 0..rank {
        let list = match (from.has(axis), of.has(axis)) {
            _ if pairs.iter().any(|p| p.place.axis == axis) => continue,
            (true, true) if pairs.iter().any(|p| p.window.axis == axis) => continue,
            (true, true) if axis >= outer => &mut roles.channels,
            _ if axis >= outer => return None,
            (true, true) => &mut roles.groups,
            (true, false) => &mut roles.images,
            (false, true) => &mut roles.filters,
            (false, false) if varying >> axis & 1 == 0 => {
                roles.ones.push(axis as u32);
                continue;
            }
            (false, false) => return None,
        };
        list.push(axis);
    }
    Some(roles)
}

impl Viewed {
    /// The dimension that is an axis.
    fn dimension(&self, axis: usize) -> Option<usize> {
        self.along.iter().position(|along| matches!(along, Along::Axis(k) if *k == axis))
    }

    /// The same with dimensions read at their positions where these follow one axis, or none.
    fn read_single_positions(&self, b: &mut Builder) -> Viewed {
        let mut value = self.after_checks(b);
        let mut all = self.along.clone();
        for (k, along) in all.iter_mut().enumerate() {
            let Along::Window { start, terms, padded, .. } = along.clone() else { continue };
            let (start, len, step) = match terms[..] {
                [] => {
                    *along = Along::One;
                    (start, b.size(1), 1)
                }
                [term] => {
                    *along = Along::Axis(term.axis);
                    (start, term.len, term.step)
                }
                _ => continue,
            };
            let step = b.size(step);
            let (lens, steps) = (Values::from_slice(&[len]), Values::from_slice(&[step]));
            value = b.unfold(value, k as u32, Windows { start, lens, steps, padded });
        }
        Viewed { value, along: all, checked: Vec::new() }
    }

    /// The tensor with one dimension for the axes of each list, and then these dimensions; and the extents of the axes.
    fn arranged(&self, b: &mut Builder, lists: [&[usize]; 3], last: &[usize]) -> Option<(Value, [Values; 3])> {
        let value = self.after_checks(b);
        let mut order: Vec<u32> = Vec::new();
        let ones = self.along.iter().enumerate().filter(|(_, along)| matches!(along, Along::One));
        order.extend(ones.map(|(k, _)| k as u32));
        let mut extents: [Values; 3] = Default::default();
        let mut shape = Values::new();
        for (list, extents) in lists.into_iter().zip(&mut extents) {
            for axis in list {
                let k = self.dimension(*axis)? as u32;
                order.push(k);
                extents.push(b.extent(value, k));
            }
            shape.push(b.product(extents));
        }
        for k in last {
            order.push(*k as u32);
            shape.push(b.extent(value, *k as u32));
        }
        let value = b.transpose(value, &order);
        Some((b.reshape(value, &shape), extents))
    }
}
