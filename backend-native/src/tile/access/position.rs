//! Row-major positions of indices, lane by lane.

use backend_native_lanes::multiversion;

#[inline(always)]
fn first_impl(index: &[i64], extent: usize, at: &mut [usize]) -> bool {
    let mut bad = false;
    for (p, &i) in at.iter_mut().zip(index) {
        bad |= i < 0 || i >= extent as i64;
        *p = i as usize;
    }
    bad
}

#[inline(always)]
fn next_impl(index: &[i64], extent: usize, at: &mut [usize]) -> bool {
    let mut bad = false;
    for (p, &i) in at.iter_mut().zip(index) {
        bad |= i < 0 || i >= extent as i64;
        *p = p.wrapping_mul(extent).wrapping_add(i as usize);
    }
    bad
}

multiversion!(
    /// Positions along the first dimension; whether any is out of bounds.
    first, first_impl, (index: &[i64], extent: usize, at: &mut [usize]) -> bool
);
multiversion!(
    /// Positions with one dimension more; whether any is out of bounds along it.
    next, next_impl, (index: &[i64], extent: usize, at: &mut [usize]) -> bool
);

#[inline(always)]
fn count_impl(first: i64, out: &mut [i64]) {
    for (o, k) in out.iter_mut().zip(first..) {
        *o = k;
    }
}

multiversion!(
    /// `out[k] = first + k`
    count, count_impl, (first: i64, out: &mut [i64]) -> ()
);

#[inline(always)]
fn nearest_impl(index: &[i64], extent: usize, at: &mut [usize]) -> bool {
    for (p, &i) in at.iter_mut().zip(index) {
        *p = *p * extent + i.clamp(0, extent as i64 - 1) as usize;
    }
    false
}

multiversion!(
    /// Positions with one dimension more, its index clamped to the bounds.
    next_nearest, nearest_impl, (index: &[i64], extent: usize, at: &mut [usize]) -> bool
);

/// Positions along dimension `d`, after those before it, with the index clamped. The extent is not 0.
pub(crate) fn nearest(d: usize, index: &[i64], extent: usize, at: &mut [usize]) {
    if d == 0 {
        at.fill(0);
    }
    next_nearest(index, extent, at);
}

/// Positions along dimension `d`, after those before it.
pub(crate) fn along(d: usize, index: &[i64], extent: usize, at: &mut [usize]) -> bool {
    if d == 0 { first(index, extent, at) } else { next(index, extent, at) }
}

#[inline(always)]
fn all_equal_impl(index: &[i64]) -> bool {
    // In pieces: the first one rejects most.
    let first = index.first().copied().unwrap_or(0);
    index.chunks(64).all(|piece| piece.iter().fold(0, |differs, p| differs | (p ^ first)) == 0)
}

multiversion!(
    /// Whether all lanes have one index.
    all_equal, all_equal_impl, (index: &[i64]) -> bool
);
