//! Layered drawings of acyclic graphs, after Sugiyama, Tagawa and Toda (1981): nodes in layers by their longest path,
//! layers ordered by the means of their neighbours, long edges led around nodes.

/// The space between neighbours of a layer.
const GAP: f64 = 18.0;
/// The space between layers.
const LAYER_GAP: f64 = 34.0;
/// How often the layers are ordered and moved.
const SWEEPS: usize = 6;
/// Turning points of long edges at most: with more of them such edges are drawn straight.
const MAX_BENDS: usize = 20_000;

/// Where everything is.
#[derive(Debug, Default)]
pub struct Layout {
    /// The size of the whole.
    pub size: (f64, f64),
    /// The centre of each node.
    pub nodes: Vec<(f64, f64)>,
    /// The points of each edge, from the lower border of its first node to the upper border of the other.
    pub edges: Vec<Vec<(f64, f64)>>,
}

/// A node, or a turning point of an edge.
struct Slot {
    width: f64,
    layer: usize,
    x: f64,
    above: Vec<usize>,
    below: Vec<usize>,
}

/// Lays out nodes of these sizes. Edges go from nodes to later ones; others are not drawn.
pub fn layout(sizes: &[(f64, f64)], edges: &[(usize, usize)]) -> Layout {
    let is_edge = |&(a, b): &(usize, usize)| a < b && b < sizes.len();
    let layers = layers_of(sizes.len(), edges.iter().copied().filter(|e| is_edge(e)));
    let mut slots: Vec<Slot> = sizes
        .iter()
        .zip(&layers)
        .map(|(s, &layer)| Slot { width: s.0, layer, x: 0.0, above: Vec::new(), below: Vec::new() })
        .collect();
    let bends: usize = edges.iter().filter(|e| is_edge(e)).map(|&(a, b)| layers[b].saturating_sub(layers[a] + 1)).sum();
    let paths: Vec<Vec<usize>> = edges
        .iter()
        .map(|e| if is_edge(e) { path(&mut slots, &layers, *e, bends <= MAX_BENDS) } else { Vec::new() })
        .collect();
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); layers.iter().max().map_or(0, |m| m + 1)];
    for (k, s) in slots.iter().enumerate() {
        rows[s.layer].push(k);
    }
    for sweep in 0..SWEEPS {
        order(&mut rows, &mut slots, sweep % 2 == 0);
    }
    for sweep in 0..SWEEPS {
        straighten(&rows, &mut slots, sweep % 2 == 0);
    }
    place(sizes, &layers, &rows, &slots, &paths)
}

/// The layer of each node: below all that it needs, and not further above what needs it than it must.
fn layers_of(n: usize, edges: impl Iterator<Item = (usize, usize)> + Clone) -> Vec<usize> {
    let mut above: Vec<Vec<usize>> = vec![Vec::new(); n];
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (a, b) in edges {
        above[b].push(a);
        below[a].push(b);
    }
    let mut layers = vec![0; n];
    for k in 0..n {
        layers[k] = above[k].iter().map(|&a| layers[a] + 1).max().unwrap_or(0);
    }
    for k in (0..n).rev() {
        if above[k].is_empty()
            && let Some(next) = below[k].iter().map(|&b| layers[b]).min()
        {
            layers[k] = next - 1;
        }
    }
    layers
}

/// The slots that an edge goes through, a turning point in each layer between its ends.
fn path(slots: &mut Vec<Slot>, layers: &[usize], (a, b): (usize, usize), bent: bool) -> Vec<usize> {
    let mut path = vec![a];
    if bent {
        for layer in layers[a] + 1..layers[b] {
            path.push(slots.len());
            slots.push(Slot { width: 4.0, layer, x: 0.0, above: Vec::new(), below: Vec::new() });
        }
    }
    path.push(b);
    for w in path.windows(2) {
        slots[w[0]].below.push(w[1]);
        slots[w[1]].above.push(w[0]);
    }
    path
}

/// Orders layers by the mean positions of their neighbours, going down or up.
fn order(rows: &mut [Vec<usize>], slots: &mut [Slot], down: bool) {
    let mut each = |row: &mut Vec<usize>| {
        let mean = |k: usize, own: usize| {
            let near = if down { &slots[k].above } else { &slots[k].below };
            let sum: f64 = near.iter().map(|&n| slots[n].x).sum();
            if near.is_empty() { own as f64 } else { sum / near.len() as f64 }
        };
        let mut keyed: Vec<(f64, usize)> = row.iter().enumerate().map(|(at, &k)| (mean(k, at), k)).collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (at, (to, (_, k))) in row.iter_mut().zip(keyed).enumerate() {
            *to = k;
            slots[k].x = at as f64;
        }
    };
    if down { rows.iter_mut().for_each(&mut each) } else { rows.iter_mut().rev().for_each(&mut each) }
}

/// Moves nodes below, or above, the mean of their neighbours, as near as those beside them allow.
fn straighten(rows: &[Vec<usize>], slots: &mut [Slot], down: bool) {
    let mut each = |row: &Vec<usize>| {
        // Without the space that nodes take, only their order is left to keep.
        let mut offset = 0.0;
        let mut wanted = Vec::with_capacity(row.len());
        for (at, &k) in row.iter().enumerate() {
            let s = &slots[k];
            if at > 0 {
                offset += (slots[row[at - 1]].width + s.width) / 2.0 + GAP;
            }
            let near = if down { &s.above } else { &s.below };
            let sum: f64 = near.iter().map(|&n| slots[n].x).sum();
            wanted.push((if near.is_empty() { s.x } else { sum / near.len() as f64 }, offset));
        }
        let fitted = increasing(&wanted.iter().map(|(x, offset)| x - offset).collect::<Vec<_>>());
        for ((&k, x), (_, offset)) in row.iter().zip(fitted).zip(&wanted) {
            slots[k].x = x + offset;
        }
    };
    if down { rows.iter().for_each(&mut each) } else { rows.iter().rev().for_each(&mut each) }
}

/// The numbers that never decrease and are nearest to these, by least squares: neighbours that would decrease are pooled.
fn increasing(xs: &[f64]) -> Vec<f64> {
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for &x in xs {
        let mut pool = (x, 1);
        while let Some(&(sum, n)) = pools.last()
            && sum / n as f64 > pool.0 / pool.1 as f64
        {
            pool = (pool.0 + sum, pool.1 + n);
            pools.pop();
        }
        pools.push(pool);
    }
    pools.into_iter().flat_map(|(sum, n)| std::iter::repeat_n(sum / n as f64, n)).collect()
}

fn place(sizes: &[(f64, f64)], layers: &[usize], rows: &[Vec<usize>], slots: &[Slot], paths: &[Vec<usize>]) -> Layout {
    let mut heights = vec![0.0f64; rows.len()];
    for ((_, height), &layer) in sizes.iter().zip(layers) {
        heights[layer] = heights[layer].max(*height);
    }
    let mut middles = Vec::with_capacity(rows.len());
    let mut y = 0.0;
    for h in &heights {
        middles.push(y + h / 2.0);
        y += h + LAYER_GAP;
    }
    let left = slots.iter().map(|s| s.x - s.width / 2.0).fold(f64::INFINITY, f64::min);
    let left = if left.is_finite() { left } else { 0.0 };
    let right = slots.iter().map(|s| s.x + s.width / 2.0).fold(left, f64::max);
    let centre = |k: usize| (slots[k].x - left, middles[slots[k].layer]);
    let edges = paths.iter().map(|path| {
        let mut points: Vec<(f64, f64)> = path.iter().map(|&k| centre(k)).collect();
        if let ([first, .., last], [a, .., b]) = (&mut points[..], &path[..]) {
            first.1 += sizes.get(*a).map_or(0.0, |s| s.1 / 2.0);
            last.1 -= sizes.get(*b).map_or(0.0, |s| s.1 / 2.0);
        }
        points
    });
    let edges = edges.collect();
    Layout { size: (right - left, (y - LAYER_GAP).max(0.0)), nodes: (0..sizes.len()).map(centre).collect(), edges }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_hold_and_nothing_overlaps() {
        // A diamond with a long way around it, and a node apart.
        let sizes = [(80.0, 30.0), (60.0, 30.0), (100.0, 40.0), (50.0, 30.0), (50.0, 30.0), (70.0, 30.0)];
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 4), (3, 4)];
        let drawn = layout(&sizes, &edges);
        for (a, b) in edges {
            assert!(drawn.nodes[a].1 < drawn.nodes[b].1, "{drawn:?}");
        }
        for a in 0..sizes.len() {
            for b in 0..a {
                let apart = |p: f64, q: f64, s: f64, t: f64| (p - q).abs() >= (s + t) / 2.0;
                let (p, q) = (drawn.nodes[a], drawn.nodes[b]);
                assert!(
                    apart(p.0, q.0, sizes[a].0, sizes[b].0) || apart(p.1, q.1, sizes[a].1, sizes[b].1),
                    "{drawn:?}"
                );
            }
            let ((x, y), (w, h)) = (drawn.nodes[a], sizes[a]);
            assert!(x - w / 2.0 >= -1e-9 && x + w / 2.0 <= drawn.size.0 + 1e-9, "{drawn:?}");
            assert!(y - h / 2.0 >= -1e-9 && y + h / 2.0 <= drawn.size.1 + 1e-9, "{drawn:?}");
        }
        assert_eq!(drawn.edges[4].len(), 4, "the long edge bends in two layers");
        assert!(layout(&[], &[]).nodes.is_empty());
    }

    #[test]
    fn pools_are_nearest() {
        assert_eq!(increasing(&[1.0, 3.0, 2.0, 5.0, 4.0, 0.0]), [1.0, 2.5, 2.5, 3.0, 3.0, 3.0]);
        assert_eq!(increasing(&[3.0, 2.0, 1.0]), [2.0, 2.0, 2.0]);
    }
}
