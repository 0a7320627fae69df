//! Scatters whose operator may fault, not end, or read an array: machine code stops at the element, and what comes of it is what
//! sequential execution makes.

use crate::common::{Rng, agree, ints, parse};
use acc_core::exec::Ready;
use acc_core::{Executor, RunLimits};
use backend_native::{Compile, Native, Options};

/// Combines `%a`, the newer value, with `%b` at targets that `to` has; what is negative there is dropped.
fn scatter(combine: &str) -> String {
    format!(
        "program(xs: [1]i64, to: [1]i64, t: [1]i64) {{
           z: [1]i64 = generate(shape: || 7i64, f: |%g: i64| 1i64)
           r: [1]i64 = permute(xs, into: z, combine: |%a: i64, %b: i64| {{ {combine} }},
             target: |%k: i64| {{ %i: i64 = to[%k]
               %n: u8 = if ge(%i, 0i64) {{ yield 1u8 }} else {{ yield 0u8 }}
               yield %n, %i }})
           yield r }}"
    )
}

const OPERATORS: [&str; 4] = [
    "yield rem(add(mul(%b, 3i64), %a), add(%a, 2i64))",
    "yield add(t[and(%b, 15i64)], %a)",
    "%p: i64, %q: i64 = while (%a, %b) test |%x: i64, %y: i64| { yield ne(%y, 0i64) }
       step |%x: i64, %y: i64| { yield %y, rem(%x, %y) } yield %p",
    "yield if lt(%a, 0i64) { yield quot(%b, add(%a, 2i64)) } else { yield add(%b, t[%a]) }",
];

/// Elements, their targets, and the array that operators read.
fn args(n: usize, r: &mut Rng) -> (Vec<i64>, Vec<i64>, Vec<i64>) {
    let below = |r: &mut Rng, most: u64| (r.next() % most) as i64;
    let xs = (0..n).map(|_| below(r, 16)).collect();
    let to = (0..n).map(|_| below(r, 8) - 1).collect();
    (xs, to, (0..16).collect())
}

#[test]
fn what_is_combined_and_what_faults_is_as_in_order() {
    let mut r = Rng(53);
    for combine in OPERATORS {
        let text = scatter(combine);
        for n in [0, 1, 7, 64, 1000, 5001] {
            let (xs, to, t) = args(n, &mut r);
            agree(&text, &[ints(&xs), ints(&to), ints(&t)]);
            // A bad element anywhere in a step, with a target out of bounds somewhat later or before.
            for bad in [0, 1, 2, 5, 8, 63, 997].into_iter().filter(|bad| *bad < n) {
                for also in [None, Some(bad + 3), bad.checked_sub(2)] {
                    let (mut xs, mut to) = (xs.clone(), to.clone());
                    (xs[bad], to[bad]) = (-2, 3);
                    if let Some(place) = also.filter(|place| *place < n) {
                        to[place] = 7;
                    }
                    agree(&text, &[ints(&xs), ints(&to), ints(&t)]);
                    agree(&text, &[ints(&xs), ints(&to), ints(&t[..9])]);
                }
            }
        }
    }
}

#[test]
fn any_number_of_threads_yields_the_same() {
    let mut r = Rng(59);
    let (xs, to, t) = args(300_007, &mut r);
    let args = [ints(&xs), ints(&to), ints(&t)];
    for combine in OPERATORS {
        let program = parse(&scatter(combine));
        let on = |n| Native::with(Options::new().threads(n).compile(Compile::Now)).unwrap();
        let want = Native::tiles().run_untyped(&program, &args, &RunLimits::none()).unwrap();
        for threads in [1, 2, 7] {
            let got = on(threads).run_untyped(&program, &args, &RunLimits::none()).unwrap();
            assert_eq!(got[0].columns(), want[0].columns(), "{combine} on {threads}");
        }
    }
}

#[test]
fn they_are_machine_code() {
    for combine in OPERATORS {
        let ready = Ready::new(&Native::new(), &parse(&scatter(combine))).unwrap();
        assert!(ready.prepared().explain().kernels.iter().all(|k| k.on_tiles.is_none()), "{combine}");
    }
}
