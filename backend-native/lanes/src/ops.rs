//! The operations in groups, as patterns: what a match does not do it names, so that a new operation is missed nowhere.

/// Comparisons.
#[macro_export]
macro_rules! comparisons {
    () => {
        PrimOp::EqP | PrimOp::NeP | PrimOp::LtP | PrimOp::LeP | PrimOp::GtP | PrimOp::GeP
    };
}
/// Sums, differences and products.
#[macro_export]
macro_rules! sums {
    () => {
        PrimOp::AddP | PrimOp::SubP | PrimOp::MulP
    };
}
/// Minima and maxima.
#[macro_export]
macro_rules! extremes {
    () => {
        PrimOp::MinP | PrimOp::MaxP
    };
}
/// Bit by bit, of two operands.
#[macro_export]
macro_rules! bitwise {
    () => {
        PrimOp::AndP | PrimOp::OrP | PrimOp::XorP
    };
}
/// Of two integers alone.
#[macro_export]
macro_rules! of_integers {
    () => {
        PrimOp::QuotP | PrimOp::RemP | PrimOp::DivFloorP | PrimOp::ModFloorP | PrimOp::ShlP | PrimOp::ShrP
    };
}
/// Of two floats alone.
#[macro_export]
macro_rules! of_floats {
    () => {
        PrimOp::DivP | PrimOp::FmodP | PrimOp::PowP | PrimOp::Atan2P
    };
}
/// Of one number.
#[macro_export]
macro_rules! of_a_number {
    () => {
        PrimOp::NegP | PrimOp::AbsP | PrimOp::SignumP
    };
}
/// Of the bits of one operand.
#[macro_export]
macro_rules! of_bits {
    () => {
        PrimOp::NotP | PrimOp::PopCountP | PrimOp::LeadingZerosP | PrimOp::TrailingZerosP
    };
}
/// Of one float alone.
#[macro_export]
macro_rules! of_a_float {
    () => {
        PrimOp::SqrtP
            | PrimOp::ExpP
            | PrimOp::LnP
            | PrimOp::Log2P
            | PrimOp::Log10P
            | PrimOp::SinP
            | PrimOp::CosP
            | PrimOp::TanP
            | PrimOp::AsinP
            | PrimOp::AcosP
            | PrimOp::AtanP
            | PrimOp::SinhP
            | PrimOp::CoshP
            | PrimOp::TanhP
            | PrimOp::AsinhP
            | PrimOp::AcoshP
            | PrimOp::AtanhP
            | PrimOp::FloorP
            | PrimOp::CeilP
            | PrimOp::RoundP
            | PrimOp::TruncP
            | PrimOp::IsNanP
            | PrimOp::IsInfiniteP
    };
}
/// All that have one operand.
#[macro_export]
macro_rules! unary {
    () => {
        $crate::of_a_number!() | $crate::of_bits!() | $crate::of_a_float!()
    };
}
/// All that no fold, scan or scatter is known by.
#[macro_export]
macro_rules! no_reductions {
    () => {
        PrimOp::SubP | $crate::comparisons!() | $crate::of_integers!() | $crate::of_floats!() | $crate::unary!()
    };
}
