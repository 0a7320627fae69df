//! Every array operation on empty, small, odd and large arrays, against the interpreter.

use crate::common::{LENGTHS, Rng, agree, agree_on, agree_within, array};
use acc_core::data::{ArrayData, EltType, Prim, ScalarType};
use acc_core::ir::PrimOp;

fn on_lengths(text: &str) {
    for n in LENGTHS {
        agree_on(text, &[&[&[n], &[n], &[n]]]);
    }
}

fn on_matrices(text: &str) {
    for s in [[0, 0], [0, 3], [3, 0], [1, 1], [1, 7], [7, 1], [3, 5], [40, 3], [2, 300], [70, 70], [300, 9], [3, 1500]]
    {
        agree_on(text, &[&[&s, &s]]);
    }
}

/// Tolerance for the interpreter's result, which comes from the C library.
fn tolerance(op: PrimOp, ty: ScalarType) -> f64 {
    use PrimOp as P;
    match op {
        // The minimum of two zeros may be either.
        P::MinP | P::MaxP => 1e-30,
        P::PowP | P::Atan2P | P::ExpP | P::LnP | P::Log2P | P::Log10P | P::SinP | P::CosP | P::TanP | P::AsinP => {
            unit(ty)
        }
        P::AcosP | P::AtanP | P::SinhP | P::CoshP | P::TanhP | P::AsinhP | P::AcoshP | P::AtanhP => unit(ty),
        _ => 0.0,
    }
}

/// A few units in the last place of 1.
fn unit(ty: ScalarType) -> f64 {
    match ty {
        ScalarType::F16 => 1e-3,
        ScalarType::F32 => 4e-7,
        _ => 1e-15,
    }
}

#[test]
fn every_primitive_on_every_type() {
    for &op in PrimOp::ALL {
        for &ty in ScalarType::ALL {
            if !op.domain().contains(ty) {
                continue;
            }
            let out = op.result_type(ty);
            let text = if op.arity() == 1 {
                format!("program(a: [1]{ty}) {{ r: [1]{out} = map(a, f: |%x: {ty}| {}(%x)) yield r }}", op.name())
            } else {
                // Only divisors other than zero: faults have a test of their own.
                let body = if op.is_partial() {
                    let zero = acc_core::data::Lit::zero(ty);
                    format!("if eq(%y, {zero:?}) {{ yield %x }} else {{ yield {}(%x, %y) }}", op.name())
                } else {
                    format!("{}(%x, %y)", op.name())
                };
                format!(
                    "program(a: [1]{ty}, b: [1]{ty}) {{ r: [1]{out} = zip_with(a, b, f: |%x: {ty}, %y: {ty}| {body}) yield r }}"
                )
            };
            let mut r = Rng(99 + op as u64);
            for n in [1, 37, 3000] {
                let elt = EltType::Scalar(ty);
                let args = [array(&[n], &elt, &mut r), array(&[n], &elt, &mut r)];
                agree_within(&text, &args[..op.arity()], tolerance(op, ty));
            }
        }
    }
}

#[test]
fn every_cast_and_bitcast() {
    for &from in ScalarType::ALL {
        for &to in ScalarType::ALL {
            for (name, exists) in
                [("cast", acc_core::ir::cast_exists(from, to)), ("bitcast", acc_core::ir::bitcast_exists(from, to))]
            {
                if exists {
                    on_lengths(&format!(
                        "program(a: [1]{from}) {{ r: [1]{to} = map(a, f: |%x: {from}| {name}(%x, {to})) yield r }}"
                    ));
                }
            }
        }
    }
}

#[test]
fn generate_and_maps() {
    agree("program() { r: [0]i64 = generate(shape: || (), f: || 7i64) yield r }", &[]);
    for n in LENGTHS {
        agree(
            &format!("program() {{ r: [1]i64 = generate(shape: || {n}i64, f: |%i: i64| mul(%i, %i)) yield r }}"),
            &[],
        );
    }
    agree(
        "program() { r: [3](i64, i64, i64) = generate(shape: || (7i64, 1i64, 200i64), f: |%i: i64, %j: i64, %k: i64| (%i, %j, %k)) yield r }",
        &[],
    );
    on_lengths("program(a: [1]i32) { r: [1]i32 = map(a, f: |%x: i32| add(mul(%x, %x), 3i32)) yield r }");
    on_lengths("program(a: [1](i64, f64)) { r: [1](f64, i64) = map(a, f: |%x: i64, %y: f64| (%y, neg(%x))) yield r }");
    on_lengths("program(a: [1]i64) { r: [1](i64, i64) = imap(a, f: |%i: i64, %x: i64| (%i, %x)) yield r }");
    on_matrices(
        "program(a: [2]i64) { r: [2]i64 = imap(a, f: |%i: i64, %j: i64, %x: i64| add(mul(%i, 1000i64), add(%j, %x))) yield r }",
    );
    agree_on(
        "program(a: [2]i64, b: [2]i64) { r: [2]i64 = zip_with(a, b, f: |%x: i64, %y: i64| sub(%x, %y)) yield r }",
        &[&[&[3, 5], &[4, 2]], &[&[3, 5], &[3, 5]], &[&[300, 400], &[301, 220]], &[&[0, 5], &[4, 2]]],
    );
}

#[test]
fn folds() {
    for (op, ty) in
        [("add", "i64"), ("mul", "u8"), ("min", "i32"), ("max", "f64"), ("xor", "u16"), ("or", "bool"), ("min", "char")]
    {
        for init in ["", ", init: || %INIT"] {
            let literal = match ty {
                "bool" => "false".to_string(),
                "char" => "'z'".to_string(),
                "f64" => "3.0f64".to_string(),
                _ => format!("3{ty}"),
            };
            let init = init.replace("%INIT", &literal);
            let fold = format!(
                "fold{}(a, f: |%x: {ty}, %y: {ty}| {op}(%x, %y){init})",
                if init.is_empty() { "1" } else { "" }
            );
            on_lengths(&format!("program(a: [1]{ty}) {{ r: [0]{ty} = {fold} yield r }}"));
            on_matrices(&format!("program(a: [2]{ty}) {{ r: [1]{ty} = {fold} yield r }}"));
        }
    }
}

/// Composition of affine maps: associative and not commutative.
const AFFINE: &str = "f: |%a: i64, %b: i64, %c: i64, %d: i64| (mul(%a, %c), add(mul(%b, %c), %d))";

#[test]
fn folds_with_an_operator_that_does_not_commute() {
    for init in ["", ", init: || (3i64, 5i64)"] {
        let name = if init.is_empty() { "fold1" } else { "fold" };
        on_lengths(&format!("program(a: [1](i64, i64)) {{ r: [0](i64, i64) = {name}(a, {AFFINE}{init}) yield r }}"));
        on_matrices(&format!("program(a: [2](i64, i64)) {{ r: [1](i64, i64) = {name}(a, {AFFINE}{init}) yield r }}"));
    }
    agree_on(
        &format!("program(a: [1](i64, i64)) {{ r: [0](i64, i64) = fold1(a, {AFFINE}) yield r }}"),
        &[&[&[70_000]], &[&[200_001]]],
    );
}

#[test]
fn scans() {
    for (dir, operator) in [("l", AFFINE.to_string()), ("r", AFFINE.to_string())] {
        for init in ["", ", init: || (3i64, 5i64)"] {
            let name = format!("scan{dir}{}", if init.is_empty() { "1" } else { "" });
            on_lengths(&format!(
                "program(a: [1](i64, i64)) {{ r: [1](i64, i64) = {name}(a, {operator}{init}) yield r }}"
            ));
            on_matrices(&format!(
                "program(a: [2](i64, i64)) {{ r: [2](i64, i64) = {name}(a, {operator}{init}) yield r }}"
            ));
            agree_on(
                &format!("program(a: [1](i64, i64)) {{ r: [1](i64, i64) = {name}(a, {operator}{init}) yield r }}"),
                &[&[&[70_000]], &[&[140_001]]],
            );
        }
        for init in ["", ", init: || 3i32"] {
            let name = format!("scan{dir}{}", if init.is_empty() { "1" } else { "" });
            let text = format!(
                "program(a: [1]i32) {{ r: [1]i32 = {name}(a, f: |%x: i32, %y: i32| add(%x, %y){init}) yield r }}"
            );
            on_lengths(&text);
            agree_on(&text, &[&[&[200_000]]]);
            on_matrices(&format!(
                "program(a: [2]i32) {{ r: [2]i32 = {name}(a, f: |%x: i32, %y: i32| max(%x, %y){init}) yield r }}"
            ));
        }
    }
}

#[test]
fn permutes() {
    // A histogram, an overwrite, a difference (whose order matters), and a combination with control flow.
    for combine in [
        "add(%new, %old)",
        "%new",
        "%old",
        "sub(%new, %old)",
        "sub(mul(%old, 3i64), %new)",
        "if lt(%new, %old) { yield quot(%old, 2i64) } else { yield add(mul(%old, 5i64), %new) }",
    ] {
        for n in LENGTHS {
            let text = format!(
                "program(d: [1]i64, a: [1]i64) {{
                   r: [1]i64 = permute(a, into: d, combine: |%new: i64, %old: i64| {combine},
                     target: |%i: i64| (if eq(rem(%i, 5i64), 0i64) {{ yield 0u8 }} else {{ yield 1u8 }}, rem(mul(%i, 7i64), 13i64)))
                   yield r
                 }}"
            );
            agree_on(&text, &[&[&[13], &[n]]]);
        }
    }
    agree_on(
        "program(d: [2](f32, i8), a: [2](f32, i8)) {
           r: [2](f32, i8) = permute(a, into: d, combine: |%n: f32, %p: i8, %o: f32, %q: i8| (%n, add(%p, %q)),
             target: |%i: i64, %j: i64| (1u8, %j, %i))
           yield r
         }",
        &[&[&[5, 3], &[3, 5]], &[&[300, 40], &[40, 300]], &[&[0, 3], &[3, 0]]],
    );
}

#[test]
fn moves() {
    on_lengths(
        "program(a: [1]i64) { r: [1]i64 = backpermute(a, shape: || extent(a, 0), index: |%i: i64| sub(sub(extent(a, 0), 1i64), %i)) yield r }",
    );
    on_matrices(
        "program(a: [2]i64) { r: [2]i64 = backpermute(a, shape: || (extent(a, 1), extent(a, 0)), index: |%i: i64, %j: i64| (%j, %i)) yield r }",
    );
    on_matrices(
        "program(a: [2]i64) { r: [1]i64 = backpermute(a, shape: || div_floor(extent(a, 0), 2i64), index: |%i: i64| (mul(%i, 2i64), 0i64)) yield r }",
    );
    on_matrices("program(a: [2]i64) { r: [1]i64 = reshape(a, shape: || mul(extent(a, 1), extent(a, 0))) yield r }");
    on_matrices(
        "program(a: [2]i64) { r: [4]i64 = replicate(a, axes: [fixed, all, fixed, all], extents: || (2i64, 3i64)) yield r }",
    );
    on_matrices("program(a: [2]i64) { r: [1]i64 = slice(a, axes: [fixed, all], index: || 2i64) yield r }");
    on_matrices("program(a: [2]i64) { r: [1]i64 = slice(a, axes: [all, fixed], index: || 1i64) yield r }");
}

/// Matrix products of all layouts, with small extents and with extents that are split into blocks and parts, agree with
/// the interpreter, which adds in order.
#[test]
fn matrix_products() {
    let plain = "program(a: [2]F, b: [2]F) {
        l: [3]F = replicate(a, axes: [all, fixed, all], extents: || extent(b, 1))
        t: [2]F = backpermute(b, shape: || (extent(b, 1), extent(b, 0)), index: |%i: i64, %j: i64| (%j, %i))
        r: [3]F = replicate(t, axes: [fixed, all, all], extents: || extent(a, 0))
        p: [3]F = zip_with(l, r, f: |%x: F, %y: F| mul(%x, %y))
        c: [2]F = fold(p, f: |%x: F, %y: F| add(%x, %y), init: || 2.0F)
        yield c }";
    let transposed = "program(a: [2]F, b: [2]F) {
        p: [3]F = generate(shape: || (extent(a, 1), extent(b, 0), extent(a, 0)),
          f: |%i: i64, %j: i64, %k: i64| mul(a[%k, %i], b[%j, %k]))
        c: [2]F = fold(p, f: |%x: F, %y: F| add(%y, %x), init: || 0.0F)
        d: [2]F = map(c, f: |%x: F| add(%x, 1.0F))
        yield d }";
    let batched = "program(a: [3]F, b: [3]F) {
        p: [4]F = generate(shape: || (extent(a, 0), extent(a, 1), extent(b, 2), extent(a, 2)),
          f: |%b: i64, %i: i64, %j: i64, %k: i64| mul(b[%b, %k, %j], a[%b, %i, %k]))
        c: [3]F = fold(p, f: |%x: F, %y: F| add(%x, %y), init: || 0.0F)
        yield c }";
    for ty in ["f32", "f64"] {
        let tolerance = if ty == "f32" { 2e-4 } else { 1e-12 };
        let mut r = crate::common::Rng(77);
        let mut matrix = |shape: &[usize]| {
            let n: usize = shape.iter().product();
            let values = (0..n).map(|_| (r.next() % 64) as f64 / 16.0 - 2.0);
            let lit = |x: f64| if ty == "f32" { [(x as f32).lit()] } else { [x.lit()] };
            let elt = if ty == "f32" { ScalarType::F32 } else { ScalarType::F64 };
            ArrayData::from_leaves(shape.iter().copied(), elt.into(), values.map(lit)).unwrap()
        };
        for [m, n, k] in [[1, 1, 1], [3, 5, 2], [4, 4, 4], [7, 65, 33], [64, 64, 64], [130, 9, 17], [5, 6, 9000]] {
            let text = |t: &str| t.replace('F', ty);
            crate::common::agree_within(&text(plain), &[matrix(&[m, k]), matrix(&[k, n])], tolerance);
            crate::common::agree_within(&text(transposed), &[matrix(&[k, m]), matrix(&[n, k])], tolerance);
            if k < 100 {
                crate::common::agree_within(&text(batched), &[matrix(&[2, m, k]), matrix(&[2, k, n])], tolerance);
                crate::common::agree_within(&text(batched), &[matrix(&[3, m, k]), matrix(&[2, k, n])], tolerance);
            }
        }
    }
}
