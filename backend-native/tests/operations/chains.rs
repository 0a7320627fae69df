//! Chains of operations on values of one width, as either operand of each other, against the interpreter.

use crate::common::{Rng, agree_within, array};
use acc_core::data::{ArrayData, Column, EltType, Prim, ScalarType};
use acc_core::ir::PrimOp;

const TYPES: [ScalarType; 6] =
    [ScalarType::F32, ScalarType::I32, ScalarType::U32, ScalarType::F64, ScalarType::I64, ScalarType::U64];

/// Less than a register block, whole blocks, and one lane more or less.
const LANES: [usize; 8] = [1, 31, 32, 33, 127, 128, 129, 3000];

/// Runs a body of `%x`, `%y` and `%z` on random lanes.
fn on_lanes(ty: ScalarType, out: &str, body: &str, tolerance: f64) {
    let outs: Vec<&str> = out.split(", ").collect();
    let out = if outs.len() == 1 { out.to_string() } else { format!("({out})") };
    let text = format!(
        "program(a: [1]{ty}, b: [1]{ty}, c: [1]{ty}) {{
           r: [1]{out} = zip_with(a, b, c, f: |%x: {ty}, %y: {ty}, %z: {ty}| {{ {body} }})
           yield r }}"
    );
    let mut r = Rng(7 + body.len() as u64);
    for n in LANES {
        let args = [(); 3].map(|()| array(&[n], &EltType::Scalar(ty), &mut r));
        agree_within(&text, &args, tolerance);
    }
}

/// The minimum of two zeros may be either.
fn tolerance(op: PrimOp) -> f64 {
    if matches!(op, PrimOp::MinP | PrimOp::MaxP) { 1e-30 } else { 0.0 }
}

#[test]
fn operators_on_either_side() {
    for &op in PrimOp::ALL {
        let transcendental = matches!(op, PrimOp::PowP | PrimOp::Atan2P);
        for ty in TYPES {
            if op.arity() != 2 || op.is_partial() || transcendental || !op.domain().contains(ty) {
                continue;
            }
            let (name, out) = (op.name(), op.result_type(ty).to_string());
            let body = format!(
                "%s = sub(%x, %y)
                 %left = {name}(%s, %z)
                 %t = sub(%y, %z)
                 %right = {name}(%x, %t)
                 %u = sub(%z, %x)
                 %both = {name}(%u, %u)
                 yield %left, %right, %both, %u"
            );
            on_lanes(ty, &format!("{out}, {out}, {out}, {ty}"), &body, tolerance(op));
        }
    }
}

#[test]
fn operators_of_one_operand() {
    for op in ["neg", "abs", "signum", "sqrt", "floor", "ceil", "round", "trunc", "is_nan", "not", "pop_count"] {
        let Some(&op) = PrimOp::ALL.iter().find(|p| p.name() == op) else { continue };
        for ty in TYPES.into_iter().filter(|ty| op.domain().contains(*ty)) {
            let (name, out) = (op.name(), op.result_type(ty));
            let body = format!("%s = sub(%x, %y) %a = {name}(%s) %b = {name}(%z) yield %a, %b, %s");
            on_lanes(ty, &format!("{out}, {out}, {ty}"), &body, 0.0);
        }
    }
}

#[test]
fn sums_of_products() {
    for ty in TYPES {
        for sum in ["add(%s, %p)", "add(%p, %s)", "sub(%s, %p)", "sub(%p, %s)"] {
            let out = ty.to_string();
            on_lanes(ty, &out, &format!("%s = add(%x, %y) %p = mul(%y, %z) %r = {sum} yield %r"), 0.0);
            on_lanes(ty, &out, &format!("%s = add(%x, %y) %p = mul(%s, %z) %r = {sum} yield %r"), 0.0);
            // The product is used again, in the chain or after it.
            let again = format!("%s = add(%x, %y) %p = mul(%y, %z) %r = {sum} %t = sub(%r, %p) yield %r, %t");
            on_lanes(ty, &format!("{out}, {out}"), &again, 0.0);
            let after = format!("%s = add(%x, %y) %p = mul(%y, %z) %r = {sum} yield %r, %p");
            on_lanes(ty, &format!("{out}, {out}"), &after, 0.0);
        }
    }
}

#[test]
fn choices() {
    for ty in TYPES {
        for cond in ["and(%c, %d)", "or(%c, %d)", "xor(%c, %d)", "not(%c)", "not(and(%d, not(%c)))"] {
            let body = format!(
                "%c = lt(%x, %y)
                 %d = ne(%y, %z)
                 %k = {cond}
                 %s = add(%x, %z)
                 %first = select(%k, %s, %y)
                 %t = sub(%x, %z)
                 %second = select(%k, %y, %t)
                 yield %first, %second, %k"
            );
            on_lanes(ty, &format!("{ty}, {ty}, bool"), &body, 0.0);
        }
    }
}

#[test]
fn bits_as_other_types() {
    use ScalarType as T;
    for types in [[T::F32, T::I32, T::U32], [T::F64, T::I64, T::U64]] {
        let [float, signed, unsigned] = types;
        let body = format!(
            "%s = add(%x, %y)
             %bits = bitcast(%s, {signed})
             %shifted = shr(%bits, bitcast(%z, {signed}))
             %word = bitcast(bitcast(%y, {signed}), {unsigned})
             %low = shr(%word, 3{unsigned})
             %number = cast(%bits, {float})
             %positive = cast(%low, {float})
             %mixed = bitcast(xor(%low, cast(%shifted, {unsigned})), {float})
             %masked = mul(select(lt(%bits, %shifted), %number, %positive), 2.0{float})
             yield %bits, %shifted, %low, %number, %positive, %mixed, %masked"
        );
        on_lanes(float, &format!("{signed}, {signed}, {unsigned}, {float}, {float}, {float}, {float}"), &body, 0.0);
    }
}

#[test]
fn both_widths_alternate() {
    let body = "%a = mul(%x, %y)
         %less = lt(%a, %z)
         %wide = cast(%a, f64)
         %b = add(%wide, 1.5f64)
         %c = mul(%b, %b)
         %kept = select(%less, %b, %c)
         %narrow = cast(%kept, f32)
         %d = sub(%narrow, %a)
         yield %d, %kept, %less";
    on_lanes(ScalarType::F32, "f32, f64, bool", body, 0.0);
}

#[test]
fn what_is_the_same_in_all_lanes_of_a_loop() {
    // The counter, values computed from it and elements loaded at it are either operand, as numbers and as flags.
    let text = "program(a: [1]f32, ks: [1]i32, table: [1]f32) {
        r: [1](f32, i32) = zip_with(a, ks, f: |%x: f32, %k: i32| {
          %i: i64, %s: f32, %n: i32 = while (0i64, %x, %k)
            test |%i: i64, %s: f32, %n: i32| { yield lt(%i, 20i64) }
            step |%i: i64, %s: f32, %n: i32| {
              %t = table[%i]
              %d = sub(%t, %s)
              %late = gt(%i, 9i64)
              %near = lt(mul(%d, %d), 9.0f32)
              %next = select(and(%near, %late), add(%d, %t), div(%s, 2.0f32))
              %j = cast(%i, i32)
              %m = select(%near, %j, sub(%n, %j))
              yield add(%i, 1i64), %next, %m
            }
          yield %s, %n
        })
        yield r }";
    let mut r = Rng(77);
    for n in LANES {
        let args = [
            array(&[n], &ScalarType::F32.into(), &mut r),
            array(&[n], &ScalarType::I32.into(), &mut r),
            array(&[20], &ScalarType::F32.into(), &mut r),
        ];
        agree_within(text, &args, 0.0);
    }
}

#[test]
fn reads_that_are_the_same_in_all_lanes_of_a_row() {
    // One element of a row for all columns: as either operand, as a condition, alone, and stored.
    let text = "program(a: [1]f32, b: [1]f32, c: [1]bool) {
        r: [2](f32, f32, f32, bool) = generate(shape: || (extent(a, 0), extent(b, 0)), f: |%i: i64, %j: i64| {
          %x = a[%i]
          %y = b[%j]
          %c = c[%i]
          %t = sub(%x, %y)
          %u = select(%c, %t, %y)
          %v = select(lt(%x, %y), mul(%x, %x), %t)
          yield sub(%y, %x), %u, add(%v, %u), and(%c, lt(%u, %v))
        })
        s: [2](f32, bool) = generate(shape: || (extent(a, 0), extent(b, 0)), f: |%i: i64, %j: i64| (a[%i], c[%i]))
        yield r, s }";
    let mut r = Rng(78);
    for n in LANES {
        let args = [
            array(&[3], &ScalarType::F32.into(), &mut r),
            array(&[n], &ScalarType::F32.into(), &mut r),
            array(&[3], &ScalarType::Bool.into(), &mut r),
        ];
        agree_within(text, &args, 0.0);
    }
}

/// Small floats.
fn finite(n: usize, offset: usize) -> ArrayData {
    let values = (0..n).map(|k| (((k * 37 + offset) % 97) as f32 / 8.0 - 4.0).lit());
    let column = Column::from_lits(ScalarType::F32, values);
    ArrayData::new([n], ScalarType::F32.into(), [column]).unwrap()
}

#[test]
fn loops_that_lanes_leave_one_by_one() {
    // Test and step form one chain. The state is swapped, kept, a flag, the condition itself; results are of the
    // previous iteration.
    let text = "program(a: [1]f32, b: [1]f32) {
        r: [1](f32, f32, f32, i32, bool) = zip_with(a, b, f: |%a: f32, %b: f32| {
          %x: f32, %y: f32, %z: f32, %k: i32, %c: bool = while (%a, %b, %b, 0i32, true)
            test |%x: f32, %y: f32, %z: f32, %k: i32, %c: bool| {
              yield and(and(lt(mul(%x, %x), 30.0f32), lt(%k, 40i32)), %c)
            }
            step |%x: f32, %y: f32, %z: f32, %k: i32, %c: bool| {
              %p = mul(%x, %x)
              yield %y, add(mul(%x, 1.125f32), mul(%b, 0.25f32)), %z, add(%k, 1i32), ne(%p, 4.0f32)
            }
          yield %x, %y, %z, %k, %c
        })
        yield r }";
    let nested = "program(a: [1]f32, b: [1]f32) {
        r: [1]f32 = zip_with(a, b, f: |%a: f32, %b: f32| {
          %least = max(%a, 0.0f32)
          %r: f32 = if lt(%a, %b) {
            %n: f32, %s: f32 = while (%b, 0.0f32)
              test |%n: f32, %s: f32| { yield gt(%n, 0.5f32) }
              step |%n: f32, %s: f32| {
                %x: f32 = while (%n)
                  test |%x: f32| { yield gt(%x, %least) }
                  step |%x: f32| { yield sub(mul(%x, 0.75f32), 0.125f32) }
                yield mul(%n, 0.5f32), add(%s, %x)
              }
            yield %s
          } else { yield %b }
          yield %r
        })
        yield r }";
    let mut r = Rng(79);
    for n in LANES {
        let args = [(); 2].map(|()| array(&[n], &ScalarType::F32.into(), &mut r));
        agree_within(text, &args, 0.0);
        // Finite, so that all loops end.
        agree_within(nested, &[finite(n, 3), finite(n, 41)], 0.0);
    }
}
