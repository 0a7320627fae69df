//! Conditionals that guard reads by bounds of indices, as the interiors of stencils.

use crate::common::{Rng, agree, array, int, parse};
use acc_core::data::ArrayData;

/// A conjunct on an index; `%n` is a number that only the run knows.
fn conjunct(r: &mut Rng, axis: usize) -> String {
    let i = ["%i", "%j", "%k"][axis];
    let extent = format!("extent(xs, {axis})");
    match r.next() % 12 {
        0 => format!("gt({i}, 0i64)"),
        1 => format!("ge({i}, 1i64)"),
        2 => format!("lt({i}, sub({extent}, 1i64))"),
        3 => format!("le({i}, sub({extent}, 2i64))"),
        4 => format!("lt(add({i}, 2i64), {extent})"),
        5 => format!("ge(sub({i}, 2i64), 0i64)"),
        6 => format!("gt(sub({extent}, {i}), 1i64)"),
        7 => format!("le(0i64, sub({extent}, add({i}, 1i64)))"),
        8 => format!("eq({i}, 3i64)"),
        9 => format!("lt({i}, %n)"),
        10 => format!("ge(add({i}, %n), 1i64)"),
        _ => format!("ne({i}, 5i64)"),
    }
}

/// A read of an array of the same extents, or of other ones.
fn read(r: &mut Rng, rank: usize) -> String {
    let of = if r.next().is_multiple_of(4) { "other" } else { "xs" };
    let index = (0..rank).map(|axis| {
        let i = ["%i", "%j", "%k"][axis];
        match r.next() % 7 {
            0 => format!("sub({i}, 1i64)"),
            1 => format!("add({i}, 1i64)"),
            2 => format!("add({i}, 2i64)"),
            3 if axis + 1 < rank => "1i64".to_string(),
            4 if rank == 1 => "0i64".to_string(),
            _ => i.to_string(),
        }
    });
    format!("{of}[{}]", index.collect::<Vec<_>>().join(", "))
}

/// A program with two conditionals; whether reads are in bounds is left to the extents.
fn program(r: &mut Rng, rank: usize, ty: &str) -> String {
    let params: Vec<String> = (0..rank).map(|k| format!("{}: i64", ["%i", "%j", "%k"][k])).collect();
    let extents: Vec<String> = (0..rank).map(|k| format!("extent(xs, {k})")).collect();
    let mut body = String::new();
    for name in ["%u", "%v"] {
        let conjuncts: Vec<String> = (0..1 + r.next() % 4).map(|_| conjunct(r, (r.0 >> 7) as usize % rank)).collect();
        let all = conjuncts.into_iter().reduce(|a, b| format!("and({a}, {b})")).unwrap();
        let sum = (0..r.next() % 3).fold(read(r, rank), |sum, _| format!("add({sum}, {})", read(r, rank)));
        let other = if r.next().is_multiple_of(2) { "%here".to_string() } else { format!("mul(%here, 3{ty})") };
        body += &format!("{name}: {ty} = if {all} {{ yield {sum} }} else {{ yield {other} }}\n");
    }
    let point = ["%i", "%j", "%k"][..rank].join(", ");
    format!(
        "program(xs: [{rank}]{ty}, other: [{rank}]{ty}, n: [0]i64) {{
           ys: [{rank}]{ty} = generate(shape: || ({}), f: |{}| {{
             %n: i64 = n[]
             %here: {ty} = xs[{point}]
             {body}
             yield add(%u, %v)
           }})
           yield ys
         }}",
        extents.join(", "),
        params.join(", ")
    )
}

fn extents(r: &mut Rng, rank: usize) -> Vec<usize> {
    let rows = [1, 2, 3, 7, 8, 9, 16, 17, 31, 40, 70, 200];
    let mut extents: Vec<usize> = (0..rank).map(|_| [1, 2, 3, 5][r.next() as usize % 4]).collect();
    extents[rank - 1] = rows[r.next() as usize % rows.len()];
    extents
}

/// Values and faults are those of the interpreter, whatever is guarded.
#[test]
fn guarded_reads_agree() {
    let mut r = Rng(0x5eed_0000_1234_5677);
    for round in 0..60 {
        let rank = 1 + round % 3;
        let ty = ["i32", "i64", "u8", "i8", "i16"][round % 5];
        let text = program(&mut r, rank, ty);
        let elt = parse(&text).param_types().next().unwrap().elt.clone();
        for _ in 0..3 {
            let shape = extents(&mut r, rank);
            let mut other = shape.clone();
            if r.next().is_multiple_of(3) {
                other = extents(&mut r, rank);
            }
            let n = [0, 1, 3, 100, -2, i64::MAX, i64::MIN][r.next() as usize % 7];
            let args: [ArrayData; 3] = [array(&shape, &elt, &mut r), array(&other, &elt, &mut r), int(n)];
            agree(&text, &args);
        }
    }
}

/// A stencil away from the boundary, in one, two and three dimensions; every read is in bounds.
#[test]
fn interiors_agree() {
    let mut r = Rng(0x1357_2468_9abc_def1);
    for rank in 1..=3 {
        let index = ["%i", "%j", "%k"];
        let around = |axis: usize, by: &str| {
            let at: Vec<String> = (0..rank)
                .map(|k| if k == axis { format!("{by}({}, 1i64)", index[k]) } else { index[k].into() })
                .collect();
            format!("xs[{}]", at.join(", "))
        };
        let point = index[..rank].join(", ");
        let sum = (0..rank).fold(format!("xs[{point}]"), |sum, axis| {
            format!("add({sum}, add({}, {}))", around(axis, "sub"), around(axis, "add"))
        });
        let inside = |k: usize| format!("and(gt({0}, 0i64), lt({0}, sub(extent(xs, {k}), 1i64)))", index[k]);
        let inside = (0..rank).map(inside).reduce(|a, b| format!("and({a}, {b})")).unwrap();
        let params: Vec<String> = index[..rank].iter().map(|i| format!("{i}: i64")).collect();
        let shape: Vec<String> = (0..rank).map(|k| format!("extent(xs, {k})")).collect();
        let text = format!(
            "program(xs: [{rank}]f32) {{
               ys: [{rank}]f32 = generate(shape: || ({}), f: |{}| {{
                 %r: f32 = if {inside} {{ yield {sum} }} else {{ yield xs[{point}] }}
                 yield %r
               }})
               yield ys
             }}",
            shape.join(", "),
            params.join(", ")
        );
        let elt = parse(&text).param_types().next().unwrap().elt.clone();
        for last in [1, 2, 3, 8, 16, 17, 33, 64, 65, 1000, 2500] {
            let mut shape = vec![5; rank];
            shape[rank - 1] = last;
            agree(&text, &[array(&shape, &elt, &mut r)]);
        }
    }
}
