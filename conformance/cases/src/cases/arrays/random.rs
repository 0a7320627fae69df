//! Counter-based random numbers.

use crate::cases::{Case, case};
use crate::compare::Near;
use acc_core::prelude::*;

type Block = (u32, u32, u32, u32);

pub fn cases() -> Vec<Case> {
    vec![
        // From the known-answer tests of the Random123 library.
        case("random/philox-known-answers", "NUM-04 BIT-03", |t| {
            let ones = u32::MAX;
            let rows: [((u32, u32), Block, Block); 3] = [
                ((0, 0), (0, 0, 0, 0), (0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8)),
                ((ones, ones), (ones, ones, ones, ones), (0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd)),
                (
                    (0xa409_3822, 0x299f_31d0),
                    (0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344),
                    (0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1),
                ),
            ];
            t.maps2(|key: ExpOf<(u32, u32)>, counter: ExpOf<Block>| philox(key, counter), &rows);
        }),
        case("random/arrays", "NUM-04 BIT-03", |t| {
            // The first words of the blocks 0, 1, ... of the key 0.
            let zeros: Vector<u32> = Vector::from([0x6627_e8d5]);
            t.gives(random_u32(0, 1), zeros);
            t.gives(random_u64(0, 1), Vector::from([0xe169_c58d_6627_e8d5_u64]));
            t.gives(random_f32(0, 1), Vector::from([f64::from(0x6627_e8d5_u32 >> 8) as f32 / 16_777_216.0]));
            t.gives(
                random_f64(0, 1),
                Vector::from([(0xe169_c58d_6627_e8d5_u64 >> 11) as f64 / 9_007_199_254_740_992.0]),
            );
            t.gives(random_u32(7, (0, 5)), Matrix::from([[0u32; 5]; 0]));
            t.shape(random_f64(7, (3, 4)), [3, 4]);
            // Element i is the same in every shape, and another for another seed.
            t.gives(
                random_u32(7, (3, 4)).flatten().zip_with(random_u32(7, 12), |a, b| a.eq(b)).fold(true, |a, b| a & b),
                Scalar::scalar(true),
            );
            t.gives(
                random_u32(7, 12).zip_with(random_u32(8, 12), |a, b| a.ne(b)).fold(true, |a, b| a & b),
                Scalar::scalar(true),
            );
            t.agrees(random_u64(1 << 40, 1000));
            t.agrees(random_f32(3, (20, 30)));
            t.agrees(random_f64(3, (20, 30)));
        }),
        case("random/distributions", "NUM-04 BIT-03", |t| {
            let n = 20_000.0;
            let uniform = random_f64(2024, 20_000);
            t.gives(uniform.map(|x| x.ge(0.0) & x.lt(1.0)).fold(true, |a, b| a & b), Scalar::scalar(true));
            // Within five standard deviations of the mean's estimate.
            t.gives_within(
                uniform.sum().map(|s| s / n),
                Scalar::scalar(0.5),
                Near::Absolute(5.0 * (1.0 / 12.0 / n).sqrt()),
            );
            let normal = random_normal(2024, 20_000);
            t.gives_within(normal.sum().map(|s| s / n), Scalar::scalar(0.0), Near::Absolute(5.0 / n.sqrt()));
            t.gives_within(
                normal.map(|x| x * x).sum().map(|s| s / n),
                Scalar::scalar(1.0),
                Near::Absolute(5.0 * (2.0 / n).sqrt()),
            );
            t.gives(normal.map(|x| x.is_nan() | x.is_infinite()).fold(false, |a, b| a | b), Scalar::scalar(false));
        }),
    ]
}
