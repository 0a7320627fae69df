//! Which nests of a kernel are compared.

use super::rules::{At, Rule};
use crate::kernel::{AxisKind, Kernel};
use acc_core::ir::{Loop, Mark, Schedule};
use std::collections::HashSet;

/// Nests that are enumerated at most.
const MAX_NESTS: usize = 20_000;

/// The rules that exchange loops.
const EXCHANGES: [&str; 4] = ["map_map", "map_rnz", "rnz_map", "rnz_rnz"];

/// All nests that exchanging neighbouring loops makes of a nest, itself first.
pub(crate) fn orders(kernel: &Kernel, of: Schedule) -> Vec<Schedule> {
    let rules: Vec<&Rule> = EXCHANGES.iter().filter_map(|name| Rule::named(name)).collect();
    let mut seen: HashSet<Schedule> = HashSet::from([of.clone()]);
    let mut found = vec![of];
    let mut next = 0;
    while let Some(nest) = found.get(next).cloned() {
        next += 1;
        for at in 0..nest.loops().len() {
            for rule in &rules {
                let place = At { kernel, nest: &nest, at, size: 1 };
                let Some(other) = rule.apply(place).filter(|other| !seen.contains(other)) else { continue };
                if found.len() == MAX_NESTS {
                    return found;
                }
                seen.insert(other.clone());
                found.push(other);
            }
        }
    }
    found
}

/// A nest with loops subdivided: for each the axis, and the iterations of a tile, from the points outwards.
pub(crate) fn subdivided(kernel: &Kernel, splits: &[(usize, usize)]) -> Option<Schedule> {
    let subdivide = Rule::named("subdivide")?;
    splits.iter().try_fold(Schedule::row_major(kernel.axes.len()), |nest, &(axis, size)| {
        let at = nest.loops().iter().position(|l| l.axis == axis)?;
        subdivide.apply(At { kernel, nest: &nest, at, size })
    })
}

/// Rows of a register tile.
const ROWS: [usize; 7] = [1, 2, 3, 4, 6, 7, 8];
/// Points along the lanes that all rows take before the next ones; 0 for all.
const PANELS: [usize; 4] = [0, 32, 64, 256];
/// Folded elements that all tiles take before the next ones; 0 for all.
const DEPTHS: [usize; 2] = [0, 256];

/// Nests in register tiles: some rows along one axis are unrolled within the lanes along another one, so that their partial
/// results stay in registers, in panels of lanes and of folded elements in every order.
pub(crate) fn register_tiles(kernel: &Kernel) -> Vec<Schedule> {
    let of = |kind: AxisKind| (0..kernel.axes.len()).filter(move |&axis| kernel.axes[axis] == kind);
    let folded: Vec<usize> = of(AxisKind::Reduction).collect();
    let mut found = Vec::new();
    for lanes in of(AxisKind::Parallel) {
        for rows in of(AxisKind::Parallel).filter(|&axis| axis != lanes || kernel.axes.len() == 1 + folded.len()) {
            for height in ROWS {
                for panel in PANELS {
                    for depth in DEPTHS {
                        found.extend(tiles(kernel, &folded, (lanes, panel), (rows, height), depth));
                    }
                }
            }
        }
    }
    let mut seen = HashSet::new();
    found.retain(|nest| seen.insert(nest.clone()));
    found
}

/// The nests of one shape of tiles, whose outer loops are in every order.
fn tiles(
    kernel: &Kernel,
    folded: &[usize],
    (lanes, panel): (usize, usize),
    (rows, height): (usize, usize),
    depth: usize,
) -> Vec<Schedule> {
    let plain = |axis: usize, step: usize| Loop { axis, step, mark: Mark::Sequential };
    let mut outer: Vec<Loop> = Vec::new();
    if let (Some(&first), true) = (folded.first(), depth > 0) {
        outer.push(plain(first, depth));
    }
    if panel > 0 {
        outer.push(plain(lanes, panel));
    }
    if rows != lanes {
        outer.push(plain(rows, height));
    }
    let parallel = (0..kernel.axes.len()).filter(|axis| kernel.axes[*axis] == AxisKind::Parallel);
    let others: Vec<Loop> = parallel.filter(|&axis| axis != lanes && axis != rows).map(|axis| plain(axis, 1)).collect();
    let mut inner = vec![Loop { mark: Mark::Lanes, ..plain(lanes, 1) }];
    inner.extend(folded.iter().map(|&axis| plain(axis, 1)));
    if rows != lanes && height > 1 {
        inner.push(Loop { mark: Mark::Unrolled, ..plain(rows, 1) });
    }
    permutations(&outer)
        .into_iter()
        .filter_map(|outer| {
            let loops = [&others[..], &outer, &inner].concat();
            let schedule = Schedule::new(loops).ok()?;
            kernel.accepts(&schedule).ok().map(|()| schedule)
        })
        .collect()
}

fn permutations(loops: &[Loop]) -> Vec<Vec<Loop>> {
    if loops.is_empty() {
        return vec![Vec::new()];
    }
    let each = |k: usize| {
        let mut rest = loops.to_vec();
        let first = rest.remove(k);
        permutations(&rest).into_iter().map(move |rest| [&[first][..], &rest].concat())
    };
    (0..loops.len()).flat_map(each).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::lower::of_text;

    /// A product of matrices.
    pub(crate) fn product() -> Kernel {
        let text = "program(a: [2]f64, b: [2]f64) {
            c: [3]f64 = generate(shape: || (extent(a, 0), extent(b, 1), extent(a, 1)),
              f: |%i: i64, %j: i64, %k: i64| mul(a[%i, %k], b[%k, %j]))
            m: [2]f64 = fold1(c, f: |%x: f64, %y: f64| add(%x, %y))
            yield m
          }";
        of_text("product", text).launches().next().map(|l| l.kernel.clone()).expect("a kernel")
    }

    /// The numbers of the paper: a product of matrices, with its fold subdivided, both maps, the fold twice, and all three.
    #[test]
    fn orders_of_a_product_of_matrices() {
        let kernel = product();
        let count = |splits: &[(usize, usize)]| {
            let nest = subdivided(&kernel, splits).expect("tiles that divide each other");
            let all = orders(&kernel, nest);
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
            all.len()
        };
        assert_eq!(count(&[]), 6);
        assert_eq!(count(&[(2, 16)]), 12);
        assert_eq!(count(&[(0, 16), (1, 16)]), 30);
        assert_eq!(count(&[(2, 16), (2, 4)]), 20);
        assert_eq!(count(&[(0, 16), (1, 16), (2, 16)]), 90);
    }

    /// A matrix times a vector: six orders, with one axis subdivided.
    #[test]
    fn six_forms_of_matvec() {
        let text = "program(a: [2]f64, x: [1]f64) {
            c: [2]f64 = imap(a, f: |%i: i64, %j: i64, %a: f64| mul(%a, x[%j]))
            y: [1]f64 = fold1(c, f: |%x: f64, %y: f64| add(%x, %y))
            yield y
          }";
        let plan = of_text("matvec", text);
        let kernel = &plan.launches().next().expect("a kernel").kernel;
        let shown = |splits| {
            let nest = subdivided(kernel, splits).expect("a nest");
            orders(kernel, nest).iter().map(Schedule::to_string).collect::<Vec<_>>()
        };
        let mut folded = shown(&[(1, 8)]);
        let mut mapped = shown(&[(0, 8)]);
        folded.sort();
        mapped.sort();
        assert_eq!(folded, ["[i0, i1 by 8, i1]", "[i1 by 8, i0, i1]", "[i1 by 8, i1, i0]"]);
        assert_eq!(mapped, ["[i0 by 8, i0, i1]", "[i0 by 8, i1, i0]", "[i1, i0 by 8, i0]"]);
    }

    /// Rule `collapse`: neighbouring axes that are both folded or both not.
    #[test]
    fn neighbouring_axes_are_collapsed() {
        let kernel = product();
        let collapse = Rule::named("collapse").expect("a rule");
        let at = |nest: &Schedule, at: usize| {
            collapse.apply(At { kernel: &kernel, nest, at, size: 1 }).map(|made| made.to_string())
        };
        let nest = |text: &str| acc_core::text::schedule_of(text).expect("a schedule");
        assert_eq!(at(&nest("[i0, i1, i2]"), 0).as_deref(), Some("[i0, i2] collapse i0 to i1"));
        assert_eq!(at(&nest("[i2, i0, i1]"), 1).as_deref(), Some("[i2, i0] collapse i0 to i1"));
        for (loops, place) in
            [("[i0, i1, i2]", 1), ("[i1, i0, i2]", 0), ("[i0 by 4, i0, i1, i2]", 1), ("[threads i0, i1, i2]", 0)]
        {
            assert_eq!(at(&nest(loops), place), None, "{loops}");
        }
        // Other rules leave axes collapsed.
        let one = nest("[i0, i2] collapse i0 to i1");
        let swapped =
            Rule::named("map_rnz").and_then(|rule| rule.apply(At { kernel: &kernel, nest: &one, at: 0, size: 1 }));
        assert_eq!(swapped.map(|made| made.to_string()).as_deref(), Some("[i2, i0] collapse i0 to i1"));
    }

    #[test]
    fn register_tiles_are_legal_and_few() {
        let kernel = product();
        let all = register_tiles(&kernel);
        assert!((100..1500).contains(&all.len()), "{}", all.len());
        let wanted = "[i2 by 256, i1 by 64, i0 by 4, lanes i1, i2, unrolled i0]";
        assert!(all.iter().any(|nest| nest.to_string() == wanted));
        // Two folds of floats are not exchanged.
        let orders: Vec<String> = orders(&kernel, Schedule::row_major(3)).iter().map(Schedule::to_string).collect();
        assert_eq!(orders.len(), 6);
        assert!(orders.contains(&"[i2, i1, i0]".to_string()));
    }
}
