//! What operations cost.

use acc_core::ir::PrimOp;

/// The rough cost of a primitive, in units of one addition over a vector of lanes.
pub fn prim_cost(p: PrimOp) -> usize {
    use PrimOp as P;
    match p {
        P::AddP | P::SubP | P::MulP | P::MinP | P::MaxP | P::AndP | P::OrP | P::XorP | P::ShlP | P::ShrP => 1,
        P::EqP | P::NeP | P::LtP | P::LeP | P::GtP | P::GeP | P::NegP | P::AbsP | P::SignumP | P::NotP => 1,
        P::PopCountP | P::LeadingZerosP | P::TrailingZerosP | P::IsNanP | P::IsInfiniteP => 1,
        P::FloorP | P::CeilP | P::RoundP | P::TruncP => 1,
        P::DivP | P::SqrtP => 3,
        P::QuotP | P::RemP | P::DivFloorP | P::ModFloorP | P::FmodP => 8,
        P::PowP | P::Atan2P | P::ExpP | P::LnP | P::Log2P | P::Log10P | P::SinP | P::CosP | P::TanP => 30,
        P::AsinP | P::AcosP | P::AtanP | P::SinhP | P::CoshP | P::TanhP | P::AsinhP | P::AcoshP | P::AtanhP => 30,
    }
}
