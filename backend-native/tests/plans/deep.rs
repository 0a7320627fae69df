//! Conditionals in conditionals: machine code at any depth.

use crate::common::{agree, ints, parse};
use acc_core::exec::Ready;
use backend_native::Native;

/// So many conditionals in each other, in the sides that are not taken, or in those that are, with reads and divisions.
fn nested(depth: usize, inside_then: bool) -> String {
    let (mut before, mut after) = (String::new(), String::new());
    for k in 0..depth {
        let own = format!("yield rem(t[rem(add(%x, {k}i64), 64i64)], sub(%x, {}i64))", 2 * depth);
        if inside_then {
            before += &format!("if ge(%x, {k}i64) {{ yield ");
            after = format!(" }} else {{ {own} }}{after}");
        } else {
            before += &format!("if lt(%x, {k}i64) {{ {own} }} else {{ yield ");
            after += " }";
        }
    }
    format!(
        "program(xs: [1]i64, t: [1]i64) {{ r: [1]i64 = map(xs, f: |%x: i64| {{ yield {before}-1i64{after} }}) yield r }}"
    )
}

#[test]
fn at_any_depth_they_are_machine_code() {
    for depth in [12, 13, 40, 150] {
        for inside_then in [false, true] {
            let text = nested(depth, inside_then);
            let ready = Ready::new(&Native::new(), &parse(&text)).unwrap();
            assert!(ready.prepared().explain().kernels.iter().all(|k| k.on_tiles.is_none()), "{depth}");
            let t: Vec<i64> = (0..64).map(|k| k * k).collect();
            for n in [1, 5, 1000, 3000] {
                let xs: Vec<i64> = (0..n).map(|k| k * 7 % (depth as i64 + 3)).collect();
                agree(&text, &[ints(&xs), ints(&t)]);
                agree(&text, &[ints(&xs), ints(&t[..40])]);
            }
        }
    }
}
