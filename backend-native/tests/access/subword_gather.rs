//! Gathers of elements of one and two bytes, which are loaded as words.

use crate::common::{LENGTHS, Rng, agree, array, int, ints};
use acc_core::data::{ArrayData, ScalarType};

const NARROW: [ScalarType; 6] =
    [ScalarType::I8, ScalarType::U8, ScalarType::I16, ScalarType::U16, ScalarType::F16, ScalarType::Bool];

/// Positions below `n`, including the first and the last one.
fn positions(len: usize, n: usize, r: &mut Rng) -> ArrayData {
    let any = |k: usize, r: &mut Rng| match k {
        0 => n as i64 - 1,
        1 => 0,
        _ => (r.next() % n as u64) as i64,
    };
    ints(&(0..len).map(|k| any(k, r)).collect::<Vec<_>>())
}

/// Runs a program over a table and positions, with tables of every narrow type and length.
fn each(text: &str, beyond: bool) {
    let mut r = Rng(71);
    for ty in NARROW {
        let text = text.replace('T', &ty.to_string());
        for n in [1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 4095, 4097] {
            for len in LENGTHS.into_iter().filter(|len| *len < 2000) {
                let mut at = vec![positions(len, n, &mut r)];
                if beyond && len > 0 {
                    let mut wrong: Vec<i64> = (0..len as i64).map(|k| k % n as i64).collect();
                    wrong[len / 2] = if len % 2 == 0 { -1 } else { n as i64 };
                    at.push(ints(&wrong));
                }
                for at in at {
                    agree(&text, &[array(&[n], &ty.into(), &mut r), at]);
                }
            }
        }
    }
}

#[test]
fn tables() {
    each("program(t: [1]T, at: [1]i64) { r: [1]T = map(at, f: |%i: i64| t[%i]) yield r }", true);
}

/// Inactive lanes load nothing, not even at a position beyond the table.
#[test]
fn reads_of_some_lanes() {
    each(
        "program(t: [1]T, at: [1]i64) {
           r: [1]T = map(at, f: |%i: i64| {
             %x: T = if ne(rem(%i, 3i64), 1i64) { yield t[%i] } else { yield t[quot(%i, 2i64)] }
             yield %x
           })
           s: [1]i64 = map(at, f: |%i: i64| {
             %y: i64 = if lt(%i, 2i64) { yield 5i64 } else { yield at[rem(%i, extent(at, 0))] }
             yield %y
           })
           yield r, s
         }",
        false,
    );
    let text = "program(t: [1]T, at: [1]i64) {
       z: [1]T = map(at, f: |%i: i64| {
         %x: T = if ge(%i, 0i64) { yield t[%i] } else { yield t[0i64] }
         yield %x
       })
       yield z
     }";
    let mut r = Rng(73);
    for ty in NARROW {
        let text = text.replace('T', &ty.to_string());
        for n in [1, 3, 64, 4097] {
            let at: Vec<i64> = (0..999).map(|_| (r.next() % (2 * n)) as i64 - n as i64).collect();
            agree(&text, &[array(&[n as usize], &ty.into(), &mut r), ints(&at)]);
        }
    }
}

/// Arrays that begin in the middle of a word: slices from an odd element on, and rows of odd length.
#[test]
fn arrays_that_begin_anywhere() {
    let mut r = Rng(79);
    for ty in NARROW {
        let text = "program(t: [2]T, at: [1]i64, k: [0]i64) {
           u: [2]T = backpermute(t, shape: || (extent(t, 1), extent(t, 0)), index: |%i: i64, %j: i64| (%j, %i))
           s: [1]T = slice(u, axes: [fixed, all], index: || k[])
           r: [1]T = map(at, f: |%i: i64| s[%i])
           v: [1]T = map(at, f: |%i: i64| u[k[], %i])
           w: [1]T = map(at, f: |%i: i64| t[%i, k[]])
           yield r, v, w, u
         }"
        .replace('T', &ty.to_string());
        for (rows, columns) in [(1, 5), (37, 7), (4099, 3)] {
            for k in [0, 1, columns as i64 - 1] {
                let at = positions(777, rows, &mut r);
                agree(&text, &[array(&[rows, columns], &ty.into(), &mut r), at, int(k)]);
            }
        }
    }
}
