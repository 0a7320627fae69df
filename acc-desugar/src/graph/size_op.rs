//! Arithmetic on sizes.

/// Arithmetic on sizes, in 64 bits, wrapping; comparisons yield 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names say it")]
pub enum SizeOp {
    Add,
    Sub,
    Mul,
    /// Product that saturates: for numbers of elements.
    Count,
    /// Quotient rounded towards zero; 0 where the divisor is, as of the three that follow: the run then has a fault, or
    /// nobody looks.
    Quot,
    /// What the quotient rounded towards zero leaves.
    Rem,
    /// Quotient rounded down.
    Div,
    /// What the quotient rounded down leaves.
    Mod,
    Min,
    Max,
    Eq,
    Lt,
}

impl SizeOp {
    /// Every operation.
    pub const ALL: [SizeOp; 12] = [
        SizeOp::Add,
        SizeOp::Sub,
        SizeOp::Mul,
        SizeOp::Count,
        SizeOp::Quot,
        SizeOp::Rem,
        SizeOp::Div,
        SizeOp::Mod,
        SizeOp::Min,
        SizeOp::Max,
        SizeOp::Eq,
        SizeOp::Lt,
    ];

    /// The name in exports.
    pub fn name(self) -> &'static str {
        match self {
            SizeOp::Add => "add",
            SizeOp::Sub => "sub",
            SizeOp::Mul => "mul",
            SizeOp::Count => "count",
            SizeOp::Quot => "quot",
            SizeOp::Rem => "rem",
            SizeOp::Div => "div",
            SizeOp::Mod => "mod",
            SizeOp::Min => "min",
            SizeOp::Max => "max",
            SizeOp::Eq => "eq",
            SizeOp::Lt => "lt",
        }
    }

    /// The value.
    pub fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            SizeOp::Add => a.wrapping_add(b),
            SizeOp::Sub => a.wrapping_sub(b),
            SizeOp::Mul => a.wrapping_mul(b),
            SizeOp::Count => a.saturating_mul(b),
            SizeOp::Quot | SizeOp::Rem | SizeOp::Div | SizeOp::Mod if b == 0 => 0,
            SizeOp::Quot => a.wrapping_div(b),
            SizeOp::Rem => a.wrapping_rem(b),
            SizeOp::Div => a.wrapping_div(b) - i64::from(floor_rem(a, b) != a.wrapping_rem(b)),
            SizeOp::Mod => floor_rem(a, b),
            SizeOp::Min => a.min(b),
            SizeOp::Max => a.max(b),
            SizeOp::Eq => i64::from(a == b),
            SizeOp::Lt => i64::from(a < b),
        }
    }
}

/// The remainder that has the divisor's sign.
fn floor_rem(a: i64, b: i64) -> i64 {
    let rem = a.wrapping_rem(b);
    if rem != 0 && (rem < 0) != (b < 0) { rem + b } else { rem }
}

#[cfg(test)]
mod tests {
    use super::SizeOp;

    #[test]
    fn quotients_round_towards_zero_or_down_and_wrap() {
        for (a, b, [quot, rem, div, modulo]) in [
            (7, 2, [3, 1, 3, 1]),
            (-7, 2, [-3, -1, -4, 1]),
            (7, -2, [-3, 1, -4, -1]),
            (-7, -2, [3, -1, 3, -1]),
            (6, -3, [-2, 0, -2, 0]),
            (i64::MIN, -1, [i64::MIN, 0, i64::MIN, 0]),
            (i64::MIN, 3, [-3074457345618258602, -2, -3074457345618258603, 1]),
        ] {
            let got = [SizeOp::Quot, SizeOp::Rem, SizeOp::Div, SizeOp::Mod].map(|op| op.apply(a, b));
            assert_eq!(got, [quot, rem, div, modulo], "{a} by {b}");
        }
    }
}
