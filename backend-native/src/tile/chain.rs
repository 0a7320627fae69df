//! Runs chains over the lanes of a tile.

use super::lanes::{self, Lanes};
use super::machine::{LoadedLanes, Machine, Outcome};
use super::register_blocks::{self, Place};
use crate::buffer::{AlignedVec, OutSlice};
use crate::tile::bytecode::{Chain, Operand, Slot};
use acc_core::data::{ColumnSlice, ScalarType};
use backend_native_lanes::all_types;
use smallvec::SmallVec;

/// Result buffers whose lanes a tile writes directly to memory.
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
    /// Evaluates the body for `n` lanes from lane position `start` on, and writes these results to memory; chains write
    /// theirs directly.
    pub(crate) fn tile_to(
        &mut self,
        (start, n): (usize, usize),
        results: &[usize],
        outs: &mut [OutSlice<'_>],
    ) -> Outcome {
        for (&r, out) in results.iter().zip(&mut *outs) {
            let (at, room) = start_of_memory(out);
            if self.bytecode.direct[r] && room >= n {
                self.memory.push((self.bytecode.results[r], at));
            }
        }
        let done = self.tile(start, n);
        let written = std::mem::take(&mut self.memory);
        done?;
        for (&r, out) in results.iter().zip(outs) {
            let slot = self.bytecode.results[r];
            if !written.iter().any(|(s, _)| *s == slot) {
                lanes::copy(self.get(slot, n), out.reborrow());
            }
        }
        Ok(())
    }

    /// Runs a chain. Buffers have room for whole blocks; the partial last block of other memory is copied.
    pub(super) fn chain(&mut self, chain: &Chain, n: usize) {
        let bytes = register_blocks::block_bytes();
        // Both are powers of two.
        let lanes = bytes >> chain.width.ilog2();
        let (whole, rest) = (n >> lanes.ilog2(), n & (lanes - 1));
        let pieces = whole + usize::from(rest != 0);
        // Scratch of the chain, and a block per operand for copies.
        let need = bytes * (usize::from(chain.scratch) + chain.operands.len());
        if self.pieces.len() * size_of::<u64>() < need {
            self.pieces = AlignedVec::new(need / size_of::<u64>());
        }
        let scratch = self.pieces.padded().cast::<u8>();
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        // Whether the first and the last block have operands elsewhere.
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
                    match self.loaded[s as usize] {
                        LoadedLanes::Plain => place,
                        LoadedLanes::Uniform => Place { stride: 0, ..place },
                        LoadedLanes::InPlace { memory, first: begins, last: ends } => {
                            first |= begins;
                            last |= ends || rest != 0;
                            Place { at: memory, ..place }
                        }
                    }
                }
                Operand::One(s) => Place { at: self.start(s), stride: 0 },
                // SAFETY: there is room for all scratch blocks of the chain.
                Operand::Scratch(at) => Place { at: unsafe { scratch.add(usize::from(at) * bytes) }, stride: 0 },
            });
        }
        let together = usize::from(first)..pieces - usize::from(last);
        if first {
            self.piece_apart(chain, &places, 0, (lanes, lanes));
        }
        // SAFETY: operands are as wide as the chain's lanes, or flags; buffers have room for whole blocks, and other
        // memory has all blocks but those that are run separately. Memory that is written has no other use.
        unsafe { register_blocks::run(chain.width, &chain.steps, &places, together) };
        if last {
            self.piece_apart(chain, &places, pieces - 1, (if rest == 0 { lanes } else { rest }, lanes));
        }
        self.places = places;
    }

    /// Runs a chain on the first or last block, of which `some` of `lanes` lanes exist, with operands that are
    /// elsewhere than for the other blocks.
    fn piece_apart(&mut self, chain: &Chain, places: &[Place], piece: usize, (some, lanes): (usize, usize)) {
        let scratch = self.pieces.padded().cast::<u8>();
        // SAFETY: behind the scratch of the chain there is room for a block of each operand.
        let apart =
            |k: usize| unsafe { scratch.add((usize::from(chain.scratch) + k) * register_blocks::block_bytes()) };
        let mut here: SmallVec<[Place; 16]> = SmallVec::from_slice(places);
        for (k, (operand, place)) in chain.operands.iter().zip(&mut here).enumerate() {
            let from = place.at.wrapping_add(place.stride * piece);
            let in_memory = match *operand {
                Operand::Read(s) => self.refs[s as usize].is_some(),
                Operand::Loaded(s) => match self.loaded[s as usize] {
                    LoadedLanes::InPlace { first, last, .. } if if piece == 0 { first } else { last } => {
                        place.at = self.start(s).wrapping_add(place.stride * piece);
                        continue;
                    }
                    LoadedLanes::InPlace { .. } => true,
                    LoadedLanes::Plain => self.refs[s as usize].is_some(),
                    LoadedLanes::Uniform => false,
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
                // SAFETY: so many lanes exist, and a scratch block has room for them.
                unsafe { place.at.copy_from_nonoverlapping(from, place.stride / lanes * some) };
            }
        }
        // SAFETY: as above; incomplete operands were copied into whole scratch blocks.
        unsafe { register_blocks::run(chain.width, &chain.steps, &here, 0..1) };
        for (operand, place) in chain.operands.iter().zip(&here).filter(|_| some < lanes) {
            if let Some(memory) = self.memory_of(operand) {
                let to = memory.wrapping_add(place.stride * piece);
                // SAFETY: the memory has room for all lanes of the tile, and a scratch block has these.
                unsafe { to.copy_from_nonoverlapping(place.at, place.stride / lanes * some) };
            }
        }
    }

    /// The memory to which a result is written directly.
    fn memory_of(&self, operand: &Operand) -> Option<*mut u8> {
        match *operand {
            Operand::Result(s) => self.memory.iter().find(|(slot, _)| *slot == s).map(|(_, at)| *at),
            _ => None,
        }
    }

    /// The address of a value's lanes.
    fn start(&mut self, s: Slot) -> *mut u8 {
        match self.refs[s as usize] {
            Some(r) => start_of(r).cast_mut(),
            None => start_of_buffer(&mut self.own[s as usize]),
        }
    }

    /// Where the blocks of a value lie: `bytes` apart, or so many flags.
    fn place(&mut self, s: Slot, bytes: usize, flags: usize) -> Place {
        let stride = if self.bytecode.slots[s as usize] == ScalarType::Bool { flags } else { bytes };
        Place { at: self.start(s), stride }
    }

    /// Whether an operand that is no buffer ends before `n` lanes.
    fn reads_beyond(&self, chain: &Chain, n: usize) -> bool {
        chain.operands.iter().any(|o| match *o {
            Operand::Read(s) | Operand::Loaded(s) => self.refs[s as usize].is_some_and(|r| r.len() < n),
            Operand::Written(_) | Operand::Result(_) | Operand::One(_) | Operand::Scratch(_) => false,
        })
    }
}
