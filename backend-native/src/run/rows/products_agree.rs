//! Sums of products have the same bits by `gemm`, by machine code without it, in any order of loops, over tiles, and for any number
//! of threads.

use super::gemm::tests::REFUSED;
use crate::kernel::Kernel;
use crate::llvm::CodeCache;
use crate::prepare::Plan;
use crate::run::pool::thread_pool::ThreadPool;
use crate::run::scheduled::tests::{Random, shuffle};
use crate::run::testing::{evaluate, evaluate_with, has_llvm, lowered};
use crate::{Compile, llvm};
use acc_core::data::ArrayData;

/// Random products of one layout: a debug build takes too long for more.
const PRODUCTS_PER_LAYOUT: usize = if cfg!(debug_assertions) { 12 } else { 190 };
/// Orders of loops that each layout is computed in.
const ORDERS: usize = 6;

/// Whether loops are as lowered, or in a random order.
fn with_loops(plan: &mut Plan, before: &[Kernel], random: Option<&mut Random>) {
    let mut random = random;
    for (launch, kernel) in plan.launches_mut().zip(before) {
        launch.kernel.loops.clone_from(&kernel.loops);
        if let Some(random) = &mut random {
            shuffle(&mut launch.kernel, random);
        }
        launch.code.machine = CodeCache::default();
    }
}

fn without_gemm<T>(run: impl FnOnce() -> T) -> T {
    REFUSED.set(true);
    let result = run();
    REFUSED.set(false);
    result
}

/// Checks all ways to compute the runs of a program against each other.
fn compare(name: &str, plan: &mut Plan, runs: &[Vec<ArrayData>], pools: &[ThreadPool], random: &mut Random) {
    let kernels: Vec<Kernel> = plan.launches().map(|l| l.kernel.clone()).collect();
    let wanted: Vec<String> =
        runs.iter().map(|args| evaluate_with(plan, args, &pools[0], Compile::Never).unwrap()).collect();
    for order in 0..=ORDERS {
        with_loops(plan, &kernels, (order > 0).then_some(&mut *random));
        for (k, (args, want)) in runs.iter().zip(&wanted).enumerate() {
            // Each order is compared on some of the runs.
            if order > 0 && k % ORDERS != order - 1 {
                continue;
            }
            let pool = &pools[k % pools.len()];
            let shapes = || args.iter().map(|a| format!("{:?}", a.shape())).collect::<String>();
            let loops = || plan.launches().map(|l| l.kernel.to_string()).collect::<String>();
            let nest = without_gemm(|| evaluate(plan, args, pool)).unwrap();
            assert!(&nest == want, "machine code, {name}, {}\n{}", shapes(), loops());
            if order == 0 {
                assert!(&evaluate(plan, args, pool).unwrap() == want, "as a whole, {name}, {}", shapes());
            }
        }
    }
    assert_eq!(llvm::defects(), Vec::<String>::new());
}

#[test]
fn matrix_products_of_all_layouts_have_the_same_bits() {
    if !has_llvm() {
        return;
    }
    let pools = [1, 2, 7].map(|n| ThreadPool::new(n).unwrap());
    let mut random = Random(11);
    let (mut products, mut gemm) = (0, 0);
    for layout in 0..16 {
        let of = |bit: usize, [no, yes]: [&'static str; 2]| if layout & bit > 0 { yes } else { no };
        let ty = of(8, ["f32", "f64"]);
        let (a, b) = (of(1, ["%i, %t", "%t, %i"]), of(2, ["%t, %j", "%j, %t"]));
        // The result by columns.
        let (axes, extents) = (of(4, ["%i: i64, %j: i64", "%j: i64, %i: i64"]), of(4, ["m[], n[]", "n[], m[]"]));
        let program = format!(
            "program(a: [2]{ty}, b: [2]{ty}, m: [0]i64, n: [0]i64, k: [0]i64) {{
               p: [3]{ty} = generate(shape: || ({extents}, k[]), f: |{axes}, %t: i64| mul(a[{a}], b[{b}]))
               c: [2]{ty} = fold(p, f: |%x: {ty}, %y: {ty}| add(%x, %y), init: || 0.25{ty})
               yield c
             }}
             "
        );
        let runs: String = (0..PRODUCTS_PER_LAYOUT)
            .map(|_| {
                let mut below = |n: usize| random.below(n);
                // Small results with many terms, and results of several blocks.
                let [m, n, k] = match below(12) {
                    0 => [1 + below(8), 1 + below(300), 1 + below(600)],
                    1 => [16 + below(500), 4 + below(20), 1 + below(300)],
                    2 => [4 + below(30), 4 + below(30), 4000 + below(6000)],
                    3 => [4 + below(20), 4 + below(20), [256, 257, 258, 259, 512, 513, 514, 515][below(8)]],
                    _ => [1 + below(70), 1 + below(70), 1 + below(1500)],
                };
                products += 1;
                gemm += usize::from(m.min(n) >= 4 && k >= 64);
                let (rows, columns) = ([[m, k], [k, m]], [[k, n], [n, k]]);
                let (a, b) = (rows[layout & 1], columns[layout >> 1 & 1]);
                format!(
                    "run {{ a = {a:?} {ty} lcg({products}, -1.3, 1.7) b = {b:?} {ty} lcg({k}, -0.7, 0.9)
                       m = [] i64 {{ {m} }} n = [] i64 {{ {n} }} k = [] i64 {{ {k} }} expect agree }}\n"
                )
            })
            .collect();
        let (mut plan, runs) = lowered("product", &(program + &runs));
        compare(&format!("layout {layout}"), &mut plan, &runs, &pools, &mut random);
    }
    assert!(products >= 16 * PRODUCTS_PER_LAYOUT && gemm > products / 2, "{products} products, {gemm} large ones");
}

/// Sums of products that are no matrix products: what their elements are, over which axes, and how many axes are folded.
const SUMS: [(&str, &str, &str, usize); 9] = [
    ("squares of distances", "|%i, %j, %k|", "{ %d: f32 = sub(a[%i, %k], b[%j, %k]) yield mul(%d, %d) }", 1),
    ("a convolution", "|%y, %x, %r, %s|", "mul(a[add(%y, %r), add(%x, %s)], b[%r, %s])", 2),
    (
        "its gradient",
        "|%y, %x, %r, %s|",
        "{ %t: f32 = if and(le(%r, %y), le(%s, %x)) { yield mul(a[sub(%y, %r), sub(%x, %s)], b[%r, %s]) }
           else { yield 0.0f32 } yield %t }",
        2,
    ),
    ("a contraction of three", "|%i, %j, %k, %l|", "mul(mul(a[%i, %k], b[%k, %l]), a[%j, %l])", 2),
    ("three folded axes", "|%i, %j, %k, %l, %m|", "mul(a[add(%i, %k), %l], b[add(%l, %m), %j])", 3),
    ("sums of columns", "|%j, %k|", "mul(a[%k, %j], b[%k, 0i64])", 1),
    ("sums of rows", "|%i, %k|", "mul(a[%i, %k], b[0i64, %k])", 1),
    (
        "terms left out in a lane",
        "|%i, %j, %k|",
        "{ %t: f32 = select(lt(%k, %j), mul(a[%i, %k], b[%k, %j]), 0.0f32) yield %t }",
        1,
    ),
    ("negative zeros", "|%i, %j, %k|", "mul(min(a[%i, %k], 0.0f32), max(b[%k, %j], -0.0f32))", 1),
];

#[test]
fn other_sums_of_products_have_the_same_bits() {
    if !has_llvm() {
        return;
    }
    let pools = [1, 2, 7].map(|n| ThreadPool::new(n).unwrap());
    let mut random = Random(5);
    for (name, axes, term, folded) in SUMS {
        let names: Vec<&str> = axes.trim_matches('|').split(", ").collect();
        let rank = names.len();
        for has_init in [true, false] {
            let (fold, init) = if has_init { ("fold", ", init: || -0.0f32") } else { ("fold1", "") };
            let (typed, extents) = (names.join(": i64, ") + ": i64", (0..rank).map(|k| format!("n[{k}i64]")));
            let mut program = format!(
                "program(a: [2]f32, b: [2]f32, n: [1]i64) {{
                   s0: [{rank}]f32 = generate(shape: || ({}), f: |{typed}| {term})\n",
                extents.collect::<Vec<_>>().join(", ")
            );
            for k in 0..folded {
                let to = rank - k - 1;
                program += &format!("s{}: [{to}]f32 = {fold}(s{k}, f: |%x: f32, %y: f32| add(%x, %y){init})\n", k + 1);
            }
            program += &format!("yield s{folded} }}\n");
            for run in 0..24 {
                let extents: Vec<usize> = (0..rank)
                    .map(|axis| match (axis >= rank - folded, folded) {
                        (true, 1) => [3, 20, 64, 255, 258, 259, 514, 1100, 3000][random.below(9)],
                        (true, 2) => [1, 3, 5, 17, 40][random.below(5)],
                        (true, _) => [1, 3, 7, 12][random.below(4)],
                        (false, _) => {
                            let most = [3, 20, 70][random.below(3)];
                            1 + random.below(most)
                        }
                    })
                    .collect();
                let side = extents.iter().max().copied().unwrap_or(0)
                    + extents.iter().skip(rank - folded).max().copied().unwrap_or(0);
                let side = side.min(3100);
                program += &format!(
                    "run {{ a = [{side}, {side}] f32 lcg({run}, -1.3, 1.7) b = [{side}, {side}] f32 lcg({}, -0.7, 0.9)
                       n = [{rank}] i64 {{ {} }} expect agree }}\n",
                    run + 100,
                    extents.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
                );
            }
            let (mut plan, runs) = lowered(name, &program);
            assert!(plan.launches().any(|l| l.kernel.outputs.iter().any(|o| o.sink.is_fused())), "{name}");
            compare(name, &mut plan, &runs, &pools, &mut random);
        }
    }
}
