//! Runs chains over the lanes of a tile.

use super::lanes::{self, Lanes};
use super::machine::Machine;
use super::pieces::{self, Place};
use super::tape::{Chain, Operand, Slot};
use crate::buffer::AlignedVec;
use crate::types::all_types;
use acc_core::data::{ColumnSlice, ScalarType};
use half::f16;

macro_rules! bytes {
    ($(($V:ident, $t:ty)),*) => {
        /// Where the lanes lie, and how many bytes each has.
        fn bytes_of(s: ColumnSlice<'_>) -> (*const u8, usize) {
            match s { $(ColumnSlice::$V(v) => (v.as_ptr().cast(), size_of::<$t>())),* }
        }

        /// Where a buffer lies, and how many bytes each lane has.
        fn buffer_of(lanes: &mut Lanes) -> (*mut u8, usize) {
            match lanes { $(Lanes::$V(v) => (v.padded().cast(), size_of::<$t>())),* }
        }
    };
}
all_types!(bytes);

impl Machine<'_> {
    /// Runs a chain. Buffers have room for whole pieces; what other arrays have of the last one is copied.
    pub(super) fn chain(&mut self, chain: &Chain, n: usize) {
        let bytes = pieces::piece();
        let lanes = bytes / chain.width;
        let (whole, rest) = (n / lanes, n % lanes);
        // Of the chain, and of the arrays whose last piece is not whole.
        let need = bytes * (usize::from(chain.scratch) + chain.operands.len());
        if self.pieces.len() * size_of::<u64>() < need {
            self.pieces = AlignedVec::new(need / size_of::<u64>());
        }
        let scratch = self.pieces.padded().cast::<u8>();
        // SAFETY: there is room for all of the chain's pieces of scratch, and one for each operand.
        let piece = |at: usize| unsafe { scratch.add(at * bytes) };
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        for operand in &chain.operands {
            places.push(match *operand {
                Operand::Read(s) => self.place(s, lanes),
                Operand::Written(s) => {
                    self.refs[s as usize] = None;
                    self.place(s, lanes)
                }
                Operand::Filled(s) => Place { stride: 0, ..self.place(s, lanes) },
                Operand::Same(s, at) => {
                    let at = piece(usize::from(at));
                    let width = if self.tape.slots[s as usize] == ScalarType::Bool { 1 } else { chain.width };
                    // SAFETY: as above.
                    unsafe { fill(at, width, lanes::first_bits(self.get(s, 1))) };
                    Place { at, stride: 0 }
                }
                Operand::Scratch(at) => Place { at: piece(usize::from(at)), stride: 0 },
            });
        }
        if rest == 0 || !self.reads_beyond(chain, n.next_multiple_of(lanes)) {
            // SAFETY: operands are as wide as the chain's lanes, or flags; buffers have room for whole pieces, and
            // what is not a buffer has enough lanes. What is written is a buffer that is not read otherwise.
            unsafe { pieces::run(chain.width, &chain.steps, &places, n.div_ceil(lanes)) };
        } else {
            // SAFETY: as above, for the whole pieces.
            unsafe { pieces::run(chain.width, &chain.steps, &places, whole) };
            for (k, (operand, place)) in chain.operands.iter().zip(&mut places).enumerate() {
                // SAFETY: there are `rest` lanes more after the whole pieces.
                let from = unsafe { place.at.add(place.stride * whole) };
                place.at = match *operand {
                    Operand::Read(s) if self.refs[s as usize].is_some() => {
                        let to = piece(usize::from(chain.scratch) + k);
                        // SAFETY: a piece of scratch is longer.
                        unsafe { to.copy_from_nonoverlapping(from, place.stride / lanes * rest) };
                        to
                    }
                    _ => from,
                };
            }
            // SAFETY: as above, now that all operands have a whole piece.
            unsafe { pieces::run(chain.width, &chain.steps, &places, 1) };
        }
        self.places = places;
    }

    /// Where the lanes of a value begin.
    fn place(&mut self, s: Slot, lanes: usize) -> Place {
        let (at, bytes) = match self.refs[s as usize] {
            Some(r) => {
                let (at, bytes) = bytes_of(r);
                (at.cast_mut(), bytes)
            }
            None => buffer_of(&mut self.own[s as usize]),
        };
        Place { at, stride: lanes * bytes }
    }

    /// Whether something that is read, and is not a buffer, ends before so many lanes.
    fn reads_beyond(&self, chain: &Chain, n: usize) -> bool {
        chain.operands.iter().any(|o| match *o {
            Operand::Read(s) => self.refs[s as usize].is_some_and(|r| r.len() < n),
            Operand::Written(_) | Operand::Filled(_) | Operand::Same(..) | Operand::Scratch(_) => false,
        })
    }
}

/// Makes all lanes of a piece, each of so many bytes, the same.
///
/// # Safety
///
/// There is room for a piece, at the start of a cache line.
unsafe fn fill(at: *mut u8, width: usize, bits: u64) {
    let bits = match width {
        1 => u64::from_ne_bytes([bits as u8; 8]),
        4 => bits << 32 | bits & u64::from(u32::MAX),
        _ => bits,
    };
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts_mut(at.cast::<u64>(), pieces::piece() / 8).fill(bits) };
}
