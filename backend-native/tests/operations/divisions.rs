//! Divisions and remainders, mostly with divisors that are uniform in a row: exact for all operands.

use crate::common::{Rng, agree, numbers};
use acc_core::data::{ArrayData, Prim, ScalarType};
use backend_native::Native;
use std::sync::Arc;

const TYPES: [ScalarType; 8] = {
    use ScalarType::*;
    [I8, U8, I16, U16, I32, U32, I64, U64]
};

/// The least and the greatest number of a type.
fn ends(ty: ScalarType) -> [i128; 2] {
    let bits = 8 * ty.size();
    let signed = matches!(ty, ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64);
    if signed { [-(1 << (bits - 1)), (1 << (bits - 1)) - 1] } else { [0, (1 << bits) - 1] }
}

/// Edge cases of a type, and other numbers.
fn edges(ty: ScalarType, r: &mut Rng) -> Vec<i128> {
    let [least, most] = ends(ty);
    let mut out = vec![least, least + 1, most - 1, most, 3, 7, 10, 100, 1000, 641];
    for power in 0..=64 {
        let x = 1i128 << power;
        out.extend([x - 1, x, x + 1, 3 * x]);
    }
    for _ in 0..40 {
        out.push(i128::from(r.next() >> (r.next() % 64)));
    }
    let negative: Vec<i128> = out.iter().map(|x| -x).collect();
    out.extend(negative);
    out.retain(|x| (least..=most).contains(x));
    out.sort_unstable();
    out.dedup();
    out
}

/// All four divisions of `x` by `y`, unless that is zero.
fn four(ty: ScalarType, x: &str, y: &str) -> String {
    let all = ["quot", "rem", "div_floor", "mod_floor"].map(|op| format!("{op}({x}, {y})"));
    format!("if eq({y}, 0{ty}) {{ yield 0{ty}, 0{ty}, 0{ty}, 0{ty} }} else {{ yield {} }}", all.join(", "))
}

/// Rows of dividends, each with its own divisor; and the same divisions one by one.
fn by_rows(ty: ScalarType, rows: &[(i128, Vec<i128>)]) {
    let (n, m) = (rows.len(), rows[0].1.len());
    let xs: Vec<i128> = rows.iter().flat_map(|(_, xs)| xs.iter().copied()).collect();
    let ys: Vec<i128> = rows.iter().map(|(y, _)| *y).collect();
    let each: Vec<i128> = rows.iter().flat_map(|(y, xs)| xs.iter().map(|_| *y)).collect();
    let four = four(ty, "%x", "%y");
    let text = format!(
        "program(xs: [2]{ty}, ys: [1]{ty}, each: [2]{ty}) {{
           r: [2]({ty}, {ty}, {ty}, {ty}) = generate(shape: || (extent(xs, 0), extent(xs, 1)), f: |%i: i64, %j: i64| {{
             %x: {ty} = xs[%i, %j]
             %y: {ty} = ys[%i]
             %a: {ty}, %b: {ty}, %c: {ty}, %d: {ty} = {four}
             yield %a, %b, %c, %d
           }})
           s: [2]({ty}, {ty}, {ty}, {ty}) = zip_with(xs, each, f: |%x: {ty}, %y: {ty}| {{
             %a: {ty}, %b: {ty}, %c: {ty}, %d: {ty} = {four}
             yield %a, %b, %c, %d
           }})
           yield r, s
         }}"
    );
    agree(&text, &[numbers(ty, &[n, m], &xs), numbers(ty, &[n], &ys), numbers(ty, &[n, m], &each)]);
}

#[test]
fn all_numbers_of_eight_bits() {
    for ty in [ScalarType::I8, ScalarType::U8] {
        let [least, most] = ends(ty);
        let rows: Vec<_> = (least..=most).map(|y| (y, (least..=most).collect())).collect();
        by_rows(ty, &rows);
    }
}

#[test]
fn numbers_at_which_something_changes() {
    let mut r = Rng(5);
    for ty in TYPES {
        let [least, most] = ends(ty);
        let rows: Vec<_> = edges(ty, &mut r)
            .into_iter()
            .map(|y| {
                let mut xs = edges(ty, &mut Rng(7));
                // Multiples of the divisor, and their neighbours.
                for _ in 0..100 {
                    let x = i128::from(r.next() >> (r.next() % 64)) * if r.next().is_multiple_of(2) { 1 } else { -1 };
                    let multiple = if y == 0 { x } else { x / y * y };
                    xs.extend([multiple - 1, multiple, multiple + 1].map(|x| x.clamp(least, most)));
                }
                (y, xs)
            })
            .collect();
        by_rows(ty, &rows);
    }
}

#[test]
fn small_numbers_alone_and_among_others() {
    // Steps with small integers are computed differently from those with large ones.
    let limit = 1i128 << 50;
    for ty in [ScalarType::I64, ScalarType::U64] {
        let mut rows = Vec::new();
        for y in [1, 2, 3, 1000, 0x7FFF_FFFF, limit - 1, limit, limit + 1, ends(ty)[1]] {
            for y in [y, -y] {
                let mut xs: Vec<i128> = (0..200).map(|k| y * (k / 3) + k % 3 - 1).collect();
                xs.extend((0..200).map(|k| limit - 100 + k));
                xs.extend((0..200).map(|k| -limit - 100 + k));
                xs.extend((0..100).map(|k| if k == 77 { ends(ty)[0] - 5 } else { k }));
                rows.push((y, xs));
            }
        }
        by_rows(ty, &rows);
    }
}

#[test]
fn positions_by_scalars_and_extents() {
    let four = ["quot", "rem", "div_floor", "mod_floor"].map(|op| format!("{op}(%p, w[])")).join(", ");
    let text = format!(
        "program(from: [0]i64, w: [0]i64, n: [0]i64, a: [1]u8) {{
           r: [1](i64, i64, i64, i64, i64) = generate(shape: || n[], f: |%i: i64| {{
             %p: i64 = add(%i, from[])
             yield {four}, quot(%p, extent(a, 0))
           }})
           s: [1](i64, i64) = generate(shape: || n[], f: |%i: i64| {{
             %p: i64 = sub(from[], mul(%i, 5i64))
             yield quot(%p, 7i64), mod_floor(%p, 1000i64)
           }})
           yield r, s
         }}"
    );
    let a = numbers(ScalarType::U8, &[9], &[0; 9]);
    let one = |x: i128| numbers(ScalarType::I64, &[], &[x]);
    let [least, most] = ends(ScalarType::I64);
    for from in [0, -5, 1 << 49, (1 << 50) - 70, -(1 << 50) - 70, 1 << 62, least, most - 70] {
        for w in [1, -1, 3, -3, 64, 1000, 1 << 40, (1 << 50) + 1, least, most, 0] {
            for n in [1, 150] {
                agree(&text, &[one(from), one(w), one(n), a.clone()]);
            }
        }
    }
}

#[test]
fn divisors_of_zero_where_nothing_is_divided() {
    let program = |body: &str| {
        format!(
            "program(a: [1]i32, w: [0]i32) {{
               r: [1]i32 = map(a, f: |%x: i32| if gt(%x, 5i32) {{ yield {body} }} else {{ yield %x }})
               yield r
             }}"
        )
    };
    let w = numbers(ScalarType::I32, &[], &[0]);
    for body in ["quot(%x, w[])", "mod_floor(%x, w[])", "rem(7i32, w[])"] {
        for last in [5, 6] {
            let xs: Vec<i128> = (0..100).map(|k| if k == 99 { last } else { k % 6 }).collect();
            agree(&program(body), &[numbers(ScalarType::I32, &[100], &xs), w.clone()]);
        }
    }
}

#[test]
fn what_is_the_same_for_all_is_divided_for_once() {
    for (ty, position) in [("i64", "%i"), ("i32", "a[%i]"), ("u32", "a[%i]"), ("u64", "a[%i]"), ("i16", "a[%i]")] {
        let program = format!(
            "program(a: [1]{ty}, w: [0]{ty}) {{
               r: [1]({ty}, {ty}) = generate(shape: || extent(a, 0), f: |%i: i64| {{
                 yield quot({position}, w[]), rem({position}, w[])
               }})
               yield r
             }}"
        );
        let program = Arc::new(acc_core::text::parse("divisions", &program).unwrap());
        let listing =
            acc_core::Backend::prepare(&Native::compiled(), &program, &acc_core::RunLimits::none()).unwrap().listing();
        // The module as emitted, and after LLVM's passes.
        let Some(code) = listing.split("define i64").nth(2) else {
            assert!(!listing.contains("define i64"), "{listing}");
            println!("not run: there is no LLVM");
            return;
        };
        let code = code.split("attributes").next().unwrap_or(code);
        // For 64 bits there are two reciprocals: a float, and an integer that is computed with two float divisions.
        let divisions = if ty.ends_with("64") { 3 } else { 1 };
        assert_eq!(code.matches(" fdiv ").count(), divisions, "{code}");
        for one_by_one in [" udiv ", " sdiv ", " urem ", " srem "] {
            assert!(!code.contains(one_by_one), "{code}");
        }
    }
}

#[test]
fn literals_of_64_bits() {
    for ty in [ScalarType::I64, ScalarType::U64] {
        let ys = edges(ty, &mut Rng(11));
        let xs: Vec<i128> = ys
            .iter()
            .flat_map(|&y| [y, y.wrapping_mul(3) - 1, y.saturating_mul(y)].map(|x| x.clamp(ends(ty)[0], ends(ty)[1])))
            .collect();
        let mut r = Rng(13);
        let random = (0..200).map(|_| (i128::from(r.next()) + ends(ty)[0]).min(ends(ty)[1]));
        let xs: Vec<i128> = xs.into_iter().chain(random).collect();
        // A few of them per program.
        for ys in ys.chunks(8) {
            let all: Vec<String> = ys
                .iter()
                .filter(|y| **y != 0)
                .flat_map(|y| ["quot", "rem", "div_floor", "mod_floor"].map(|op| format!("{op}(%x, {y}{ty})")))
                .collect();
            let leaves = vec![ty.to_string(); all.len()].join(", ");
            let text = format!(
                "program(xs: [1]{ty}) {{
                   r: [1]({leaves}) = map(xs, f: |%x: {ty}| {{ yield {} }})
                   yield r
                 }}",
                all.join(", ")
            );
            agree(&text, &[numbers(ty, &[xs.len()], &xs)]);
        }
    }
}

/// Zeros, infinities, NaN, the least and the greatest numbers of both kinds, and numbers of all sizes.
fn floats(ty: ScalarType, r: &mut Rng) -> Vec<f64> {
    let bits = if ty == ScalarType::F32 { 32 } else { 64 };
    let mut out = vec![0.0, 1.0, 3.0, f64::INFINITY, f64::NAN];
    let of =
        |bits_of: u64| if bits == 32 { f64::from(f32::from_bits(bits_of as u32)) } else { f64::from_bits(bits_of) };
    let (digits, infinity) = if bits == 32 { (23, 0x7f80_0000) } else { (52, f64::INFINITY.to_bits()) };
    out.extend([1, 2, 3, (1 << digits) - 1, 1 << digits, (1 << digits) + 1, infinity - 1, infinity - 2].map(of));
    out.extend((0..300).map(|_| of((r.next() >> (64 - bits)) & (infinity | ((1 << digits) - 1)))));
    // Near multiples of the divisors.
    out.extend(
        (0..200).map(|k| of((f64::from(k) * if bits == 32 { 1.0 } else { 0.1 }).max(1.0).to_bits() >> (64 - bits))),
    );
    let negative: Vec<f64> = out.iter().map(|x| -x).collect();
    out.extend(negative);
    out
}

/// Floats are divided by one number for all lanes without a division, and as one would round it: by constants, and by one for each
/// row, near zero and large ones among them.
#[test]
fn floats_by_one_number_for_all_lanes() {
    let mut r = Rng(41);
    for ty in [ScalarType::F32, ScalarType::F64] {
        let xs = floats(ty, &mut r);
        let ys: Vec<f64> = floats(ty, &mut r).into_iter().chain((2..60).map(f64::from)).collect();
        let lits = |xs: &[f64]| {
            let lit = |x: &f64| match ty {
                ScalarType::F32 => [(*x as f32).lit()],
                _ => [x.lit()],
            };
            xs.iter().map(lit).collect::<Vec<_>>()
        };
        let x = ArrayData::from_leaves([xs.len()], ty.into(), lits(&xs)).unwrap();
        let y = ArrayData::from_leaves([ys.len()], ty.into(), lits(&ys)).unwrap();
        let each: Vec<f64> = ys.iter().flat_map(|y| std::iter::repeat_n(*y, xs.len())).collect();
        let each = ArrayData::from_leaves([ys.len(), xs.len()], ty.into(), lits(&each)).unwrap();
        agree(
            &format!(
                "program(x: [1]{ty}, y: [1]{ty}, each: [2]{ty}) {{
                   r: [2]{ty} = generate(shape: || (extent(y, 0), extent(x, 0)), f: |%i: i64, %j: i64| div(x[%j], y[%i]))
                   s: [2]{ty} = imap(each, f: |%i: i64, %j: i64, %y: {ty}| div(x[%j], %y))
                   yield r, s }}"
            ),
            &[x.clone(), y, each],
        );
        for by in
            ["3.0", "5.0", "7.0", "9.0", "-10.0", "49.0", "100.0", "255.0", "0.1", "0.75", "1.0e-3", "3.0e15", "8.0"]
        {
            agree(
                &format!("program(x: [1]{ty}) {{ r: [1]{ty} = map(x, f: |%x: {ty}| div(%x, {by}{ty})) yield r }}"),
                std::slice::from_ref(&x),
            );
        }
    }
}
