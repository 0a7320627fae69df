//! Groups of primitive operations, as patterns: matches name the groups that they do not handle, so that no new
//! operation is forgotten.

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
/// Bitwise operations with two operands.
#[macro_export]
macro_rules! bitwise {
    () => {
        PrimOp::AndP | PrimOp::OrP | PrimOp::XorP
    };
}
/// Operations of two integers alone.
#[macro_export]
macro_rules! of_integers {
    () => {
        PrimOp::QuotP | PrimOp::RemP | PrimOp::DivFloorP | PrimOp::ModFloorP | PrimOp::ShlP | PrimOp::ShrP
    };
}
/// Operations of two floats alone.
#[macro_export]
macro_rules! of_floats {
    () => {
        PrimOp::DivP | PrimOp::FmodP | PrimOp::PowP | PrimOp::Atan2P
    };
}
/// Operations of one number.
#[macro_export]
macro_rules! of_a_number {
    () => {
        PrimOp::NegP | PrimOp::AbsP | PrimOp::SignumP
    };
}
/// Operations on the bits of one operand.
#[macro_export]
macro_rules! of_bits {
    () => {
        PrimOp::NotP | PrimOp::PopCountP | PrimOp::LeadingZerosP | PrimOp::TrailingZerosP
    };
}
/// Operations of one float alone.
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
/// All unary operations.
#[macro_export]
macro_rules! unary {
    () => {
        $crate::of_a_number!() | $crate::of_bits!() | $crate::of_a_float!()
    };
}
/// All operations that are no built-in operators of folds and scans.
#[macro_export]
macro_rules! no_reductions {
    () => {
        PrimOp::SubP | $crate::comparisons!() | $crate::of_integers!() | $crate::of_floats!() | $crate::unary!()
    };
}
