//! Counts of bits, by arithmetic on words of 32 or 64 bits.

pub(super) mod scatter;

use crate::torch::TorchError;
use crate::torch::numbers::WithNumber;
use acc_core::data::ScalarType;
use acc_core::ir::PrimOp;
use tch::{Kind, Tensor};

type Result<T> = std::result::Result<T, TorchError>;

/// How many one bits, leading zeros or trailing zeros there are in numbers of type `ty`, as `i32`.
pub(crate) fn count(p: PrimOp, x: &Tensor, ty: ScalarType) -> Result<Tensor> {
    let bits = i64::from(ty.bits());
    let word = if bits == 64 { Word::OF_64_BITS } else { Word::OF_32_BITS };
    // Zeros extend what is shorter.
    let mut x = x.f_to_kind(word.integer)?;
    if bits < 32 {
        x = x.and_number((1i64 << bits) - 1)?;
    }
    let counts = match p {
        PrimOp::PopCountP => word.ones(&x)?,
        PrimOp::LeadingZerosP if bits == word.bits => word.leading_zeros(&x)?,
        PrimOp::LeadingZerosP => word.leading_zeros(&x)?.sub_number(word.bits - bits)?,
        // Trailing zeros.
        _ => {
            // What is below the lowest one bit: of zero all of the word, of which the width counts.
            let below = x.f_bitwise_not()?.f_bitwise_and_tensor(&x.sub_number(1)?)?;
            let zeros = word.leading_zeros(&below)?.f_neg()?.add_number(word.bits)?;
            if bits == word.bits { zeros } else { zeros.min_number(bits)? }
        }
    };
    Ok(counts.f_to_kind(Kind::Int)?)
}

/// A word, and the floats of its size.
struct Word {
    integer: Kind,
    bits: i64,
    float: Kind,
    /// The bits of a float that are below its exponent.
    fraction_bits: i64,
    /// The exponent of 1, as a float's bits have it.
    exponent_of_one: i64,
}

impl Word {
    const OF_32_BITS: Word =
        Word { integer: Kind::Int, bits: 32, float: Kind::Float, fraction_bits: 23, exponent_of_one: 127 };
    const OF_64_BITS: Word =
        Word { integer: Kind::Int64, bits: 64, float: Kind::Double, fraction_bits: 52, exponent_of_one: 1023 };

    /// The number of one bits, by adding neighbours (Hacker's Delight, section 5-1).
    fn ones(&self, x: &Tensor) -> Result<Tensor> {
        // A byte in each byte of the word. The masks clear what a shift brings in from above.
        let each = |byte: i64| if self.bits == 64 { byte * 0x0101_0101_0101_0101 } else { byte * 0x0101_0101 };
        let pairs = x.f_sub(&x.shr_number(1)?.and_number(each(0x55))?)?;
        let fours = pairs.and_number(each(0x33))?.f_add(&pairs.shr_number(2)?.and_number(each(0x33))?)?;
        let bytes = fours.f_add(&fours.shr_number(4)?)?.and_number(each(0x0f))?;
        bytes.mul_number(each(1))?.shr_number(self.bits - 8)
    }

    /// The number of leading zeros, by the exponent of the word as a float (Hacker's Delight, section 5-3).
    fn leading_zeros(&self, x: &Tensor) -> Result<Tensor> {
        // With a zero below its first one bit no number is rounded up to the next power of two.
        let first = x.f_bitwise_and_tensor(&x.shr_number(1)?.f_bitwise_not()?)?;
        let float = first.f_to_kind(self.float)?.f_view_dtype(self.integer)?;
        let exponent = float.shr_number(self.fraction_bits)?;
        // The exponent of 0 is 0.
        let zeros = exponent.f_neg()?.add_number(self.exponent_of_one + self.bits - 1)?.min_number(self.bits)?;
        // A number with its first bit set is a negative one here.
        let positive = x.shr_number(self.bits - 1)?.f_bitwise_not()?;
        Ok(zeros.f_bitwise_and_tensor(&positive)?)
    }
}
