//! What processes send each other, pinned: each program with its collectives and their bytes on a process.

use super::{Outcome, is_there};
use acc_core::data::ArrayData;
use acc_core::ir::Program;
use acc_core::prelude::*;
use backend_graph::specialise::{Argument, Cutting};
use backend_xla::{Collective, collectives};
use std::sync::Arc;

/// The processes that XLA compiles for.
const PROCESSES: u32 = 2;

/// A program, and what its literal extents are.
type Compiled = (Arc<Program>, Vec<Argument>);

fn compiled<Args, Out: acc_core::api::Arrays>(f: impl AccFn<Args, Out>) -> Result<Compiled, acc_core::Error> {
    let compiled = Interpreter::new().compile(f)?;
    let literal = |a: &ArrayData| a.element(0).and_then(|e| Some(Argument::Number(e.first()?.bits as i64)));
    Ok((compiled.program().clone(), compiled.embedded().iter().filter_map(literal).collect()))
}

/// The collectives of a program for arguments of these extents.
fn of(
    (program, literals): &Compiled,
    extents: &[&[i64]],
    axes: Option<&[Option<usize>]>,
) -> Result<Vec<Collective>, acc_core::Error> {
    let mut arguments: Vec<Argument> = extents.iter().map(|e| Argument::Extents(e.to_vec())).collect();
    arguments.extend(literals.iter().cloned());
    collectives(program, &arguments, Cutting::over(PROCESSES), axes)
}

/// How many there are of a kind, and their bytes together.
fn total(all: &[Collective], name: &str) -> (usize, u64) {
    let of_name = || all.iter().filter(|c| c.name == name);
    (of_name().count(), of_name().map(|c| c.bytes).sum())
}

fn none_but(all: &[Collective], names: &[&str]) {
    assert!(all.iter().all(|c| names.contains(&c.name.as_str())), "{all:?}");
}

#[test]
fn a_sum_of_products_is_one_number() -> Outcome {
    if !is_there() {
        return Ok(());
    }
    let dot = compiled(|xs: Acc<Vector<f64>>, ys: Acc<Vector<f64>>| xs.zip_with(&ys, |x, y| x * y).sum())?;
    let all = of(&dot, &[&[1 << 20], &[1 << 20]], None)?;
    assert_eq!(all, [Collective { name: "all-reduce".to_string(), bytes: 8 }]);
    Ok(())
}

#[test]
fn maps_send_nothing() -> Outcome {
    if !is_there() {
        return Ok(());
    }
    let saxpy = compiled(|a: Acc<Scalar<f32>>, xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| {
        xs.zip_with(&ys, |x, y| x * &a + y)
    })?;
    assert_eq!(of(&saxpy, &[&[], &[1 << 20], &[1 << 20]], None)?, []);
    Ok(())
}

#[test]
fn a_stencil_sends_its_halo() -> Outcome {
    if !is_there() {
        return Ok(());
    }
    let blur = compiled(|xs: Acc<Matrix<f32>>| {
        xs.stencil(Edge::Clamp, |s: Stencil3x3<f32>| {
            (s[(-1, 0)] + s[(1, 0)] + s[(0, -1)] + s[(0, 1)]) * 0.125 + s[(0, 0)] * 0.5
        })
    })?;
    let all = of(&blur, &[&[2048, 2048]], None)?;
    none_but(&all, &["collective-permute"]);
    let (_, bytes) = total(&all, "collective-permute");
    assert!(bytes <= 4 * 2052 * 4, "{all:?}");
    Ok(())
}

#[test]
fn a_product_of_matrices_sends_nothing_where_the_right_one_is_whole() -> Outcome {
    if !is_there() {
        return Ok(());
    }
    let product = compiled(|a: Acc<Matrix<f32>>, b: Acc<Matrix<f32>>| a.matmul(&b))?;
    assert_eq!(of(&product, &[&[512, 512], &[512, 512]], Some(&[Some(0), None]))?, []);
    Ok(())
}

#[test]
fn a_histogram_adds_its_bins() -> Outcome {
    if !is_there() {
        return Ok(());
    }
    let histogram = compiled(|xs: Acc<Vector<i32>>| {
        fill(xs.extent(), 1i64).permute(fill(256, 0i64), |a, b| a + b, |i| Some(xs.index(i).to::<i64>()))
    })?;
    let all = of(&histogram, &[&[1 << 20]], None)?;
    none_but(&all, &["all-reduce"]);
    let (_, bytes) = total(&all, "all-reduce");
    assert!((256 * 8..=256 * 8 + 16).contains(&bytes), "{all:?}");
    Ok(())
}

#[test]
fn sums_of_segments_add_a_number_for_each() -> Outcome {
    if !is_there() {
        return Ok(());
    }
    let sums = compiled(|xs: Acc<Vector<f64>>, lengths: Acc<Vector<i64>>| xs.fold_seg(&lengths, 0.0, |a, b| a + b))?;
    let all = of(&sums, &[&[1 << 20], &[1000]], None)?;
    // The ends of the scan that numbers the segments.
    assert!(total(&all, "all-gather").1 < 100, "{all:?}");
    let (_, bytes) = total(&all, "all-reduce");
    assert!((8000..10_000).contains(&bytes), "{all:?}");
    Ok(())
}

#[test]
fn scans_send_the_ends_of_parts() -> Outcome {
    if !is_there() {
        return Ok(());
    }
    let sums = compiled(|xs: Acc<Vector<i64>>| xs.scanl1(|a, b| a + b))?;
    let all = of(&sums, &[&[1 << 20]], None)?;
    assert!(all.iter().map(|c| c.bytes).sum::<u64>() < 100, "{all:?}");
    Ok(())
}

#[test]
fn a_step_of_k_means_adds_what_centres_have() -> Outcome {
    if !is_there() {
        return Ok(());
    }
    let step = compiled(|xs: Acc<Vector<f64>>, centres: Acc<Vector<f64>>| {
        let (points, clusters) = (xs.length(), centres.length());
        let distance = |x: Exp<f64>, c: Exp<f64>| (x - c) * (x - c);
        let distances = xs.replicate((All, clusters)).zip_with(centres.replicate((points, All)), distance);
        let (_, near) = distances.minimum_at();
        let none = centres.map(|_| (0.0f64, 0i64));
        let sums = xs.map(|x| (x, 1i64)).permute(none, |(x, n), (y, m)| (x + y, n + m), |i| Some(near.index(i)));
        sums.map(|(x, n)| x / n.max(1).to::<f64>())
    })?;
    let all = of(&step, &[&[1 << 18], &[16]], None)?;
    none_but(&all, &["all-reduce"]);
    let (_, bytes) = total(&all, "all-reduce");
    assert!((256..512).contains(&bytes), "{all:?}");
    Ok(())
}

#[test]
fn a_sort_gathers_everything() -> Outcome {
    if !is_there() {
        return Ok(());
    }
    let sorted = compiled(|xs: Acc<Vector<f32>>| xs.sort())?;
    let all = of(&sorted, &[&[1 << 18]], None)?;
    assert!(total(&all, "all-gather").1 >= 4 << 18, "{all:?}");
    Ok(())
}
