//! Runs chains over the lanes of a tile.

use super::lanes::{self, Lanes};
use super::machine::{Lies, Machine, Outcome};
use super::pieces::{self, Place};
use super::tape::{Chain, Operand, Slot};
use crate::buffer::{AlignedVec, OutSlice};
use acc_core::data::{ColumnSlice, ScalarType};
use backend_native_lanes::all_types;
use smallvec::SmallVec;

/// Where a tile leaves the lanes of results at once, by their buffers.
pub(super) type Direct = SmallVec<[(Slot, *mut u8); 4]>;

macro_rules! starts {
    ($(($V:ident, $t:ty)),*) => {
        pub(super) fn start_of(s: ColumnSlice<'_>) -> *const u8 {
            match s { $(ColumnSlice::$V(v) => v.as_ptr().cast()),* }
        }

        fn start_of_memory(out: &mut OutSlice<'_>) -> (*mut u8, usize) {
            match out { $(OutSlice::$V(v) => (v.as_mut_ptr().cast(), v.len())),* }
        }

        fn start_of_buffer(lanes: &mut Lanes) -> *mut u8 {
            match lanes { $(Lanes::$V(v) => v.padded().cast()),* }
        }
    };
}
all_types!(starts);

impl Machine<'_> {
    /// Evaluates the body for `n` lanes from lane position `start` on, and writes these results to memory: those that chains
    /// compute at once.
    pub(crate) fn tile_to(
        &mut self,
        (start, n): (usize, usize),
        results: &[usize],
        outs: &mut [OutSlice<'_>],
    ) -> Outcome {
        for (&r, out) in results.iter().zip(&mut *outs) {
            let (at, room) = start_of_memory(out);
            if self.tape.direct[r] && room >= n {
                self.memory.push((self.tape.results[r], at));
            }
        }
        let done = self.tile(start, n);
        let written = std::mem::take(&mut self.memory);
        done?;
        for (&r, out) in results.iter().zip(outs) {
            let slot = self.tape.results[r];
            if !written.iter().any(|(s, _)| *s == slot) {
                lanes::copy(self.get(slot, n), out.reborrow());
            }
        }
        Ok(())
    }

    /// Runs a chain. Buffers have room for whole pieces; what other memory has of the last one is copied.
    pub(super) fn chain(&mut self, chain: &Chain, n: usize) {
        let bytes = pieces::piece();
        // Both are powers of two.
        let lanes = bytes >> chain.width.ilog2();
        let (whole, rest) = (n >> lanes.ilog2(), n & (lanes - 1));
        let pieces = whole + usize::from(rest != 0);
        // Of the chain, and one of each operand, whose last one may be apart.
        let need = bytes * (usize::from(chain.scratch) + chain.operands.len());
        if self.pieces.len() * size_of::<u64>() < need {
            self.pieces = AlignedVec::new(need / size_of::<u64>());
        }
        let scratch = self.pieces.padded().cast::<u8>();
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        // Whether the first piece and the last one are apart.
        let (mut first, mut last) = (false, rest != 0 && self.reads_beyond(chain, n + lanes - rest));
        for operand in &chain.operands {
            places.push(match *operand {
                Operand::Read(s) => self.place(s, chain.width * lanes, lanes),
                Operand::Written(s) | Operand::Result(s) => {
                    self.refs[s as usize] = None;
                    let buffer = self.place(s, chain.width * lanes, lanes);
                    let memory = self.memory_of(operand);
                    last |= rest != 0 && memory.is_some();
                    Place { at: memory.unwrap_or(buffer.at), ..buffer }
                }
                Operand::Loaded(s) => {
                    let place = self.place(s, chain.width * lanes, lanes);
                    match self.lies[s as usize] {
                        Lies::Whole => place,
                        Lies::Alike => Place { stride: 0, ..place },
                        Lies::Within { memory, first: begins, last: ends } => {
                            first |= begins;
                            last |= ends || rest != 0;
                            Place { at: memory, ..place }
                        }
                    }
                }
                Operand::One(s) => Place { at: self.start(s), stride: 0 },
                // SAFETY: there is room for all of the chain's pieces.
                Operand::Scratch(at) => Place { at: unsafe { scratch.add(usize::from(at) * bytes) }, stride: 0 },
            });
        }
        let together = usize::from(first)..pieces - usize::from(last);
        if first {
            self.piece_apart(chain, &places, 0, (lanes, lanes));
        }
        // SAFETY: operands are as wide as the chain's lanes, or flags; buffers have room for whole pieces, and what is not a
        // buffer has them but for those that are apart. What is written is not read otherwise.
        unsafe { pieces::run(chain.width, &chain.steps, &places, together) };
        if last {
            self.piece_apart(chain, &places, pieces - 1, (if rest == 0 { lanes } else { rest }, lanes));
        }
        self.places = places;
    }

    /// Runs a chain on the first or last piece, of which there are so many lanes, where some of it lies elsewhere than the rest.
    fn piece_apart(&mut self, chain: &Chain, places: &[Place], piece: usize, (some, lanes): (usize, usize)) {
        let scratch = self.pieces.padded().cast::<u8>();
        // SAFETY: there is room for a piece of each operand after those of the chain.
        let apart = |k: usize| unsafe { scratch.add((usize::from(chain.scratch) + k) * pieces::piece()) };
        let mut here: SmallVec<[Place; 16]> = SmallVec::from_slice(places);
        for (k, (operand, place)) in chain.operands.iter().zip(&mut here).enumerate() {
            let from = place.at.wrapping_add(place.stride * piece);
            let in_memory = match *operand {
                Operand::Read(s) => self.refs[s as usize].is_some(),
                Operand::Loaded(s) => match self.lies[s as usize] {
                    Lies::Within { first, last, .. } if if piece == 0 { first } else { last } => {
                        place.at = self.start(s).wrapping_add(place.stride * piece);
                        continue;
                    }
                    Lies::Within { .. } => true,
                    Lies::Whole => self.refs[s as usize].is_some(),
                    Lies::Alike => false,
                },
                Operand::Result(_) if some < lanes && self.memory_of(operand).is_some() => {
                    place.at = apart(k);
                    continue;
                }
                _ => false,
            };
            place.at = from;
            if in_memory && some < lanes {
                place.at = apart(k);
                // SAFETY: so many lanes are there, and a piece of scratch has room for them.
                unsafe { place.at.copy_from_nonoverlapping(from, place.stride / lanes * some) };
            }
        }
        // SAFETY: as for all pieces, now that all operands have a whole one.
        unsafe { pieces::run(chain.width, &chain.steps, &here, 0..1) };
        for (operand, place) in chain.operands.iter().zip(&here).filter(|_| some < lanes) {
            if let Some(memory) = self.memory_of(operand) {
                let to = memory.wrapping_add(place.stride * piece);
                // SAFETY: the memory has room for all lanes of the tile, and a piece of scratch has these.
                unsafe { to.copy_from_nonoverlapping(place.at, place.stride / lanes * some) };
            }
        }
    }

    /// The memory that takes the lanes of a result at once.
    fn memory_of(&self, operand: &Operand) -> Option<*mut u8> {
        match *operand {
            Operand::Result(s) => self.memory.iter().find(|(slot, _)| *slot == s).map(|(_, at)| *at),
            _ => None,
        }
    }

    /// Where the lanes of a value begin.
    fn start(&mut self, s: Slot) -> *mut u8 {
        match self.refs[s as usize] {
            Some(r) => start_of(r).cast_mut(),
            None => start_of_buffer(&mut self.own[s as usize]),
        }
    }

    /// Where pieces of the lanes of a value lie, of so many bytes, or of so many flags.
    fn place(&mut self, s: Slot, bytes: usize, flags: usize) -> Place {
        let stride = if self.tape.slots[s as usize] == ScalarType::Bool { flags } else { bytes };
        Place { at: self.start(s), stride }
    }

    /// Whether something that is read, and is not a buffer, ends before so many lanes.
    fn reads_beyond(&self, chain: &Chain, n: usize) -> bool {
        chain.operands.iter().any(|o| match *o {
            Operand::Read(s) | Operand::Loaded(s) => self.refs[s as usize].is_some_and(|r| r.len() < n),
            Operand::Written(_) | Operand::Result(_) | Operand::One(_) | Operand::Scratch(_) => false,
        })
    }
}
