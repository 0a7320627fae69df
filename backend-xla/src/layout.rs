//! What tensors on devices are: their extents, and which part of them a process of a mesh has.

use acc_core::data::ScalarType;
use acc_core::{Cause, Error};
use backend_graph::specialise::Cutting;

/// What a tensor is, and along which axis it is cut over the processes of a mesh.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Layout {
    pub(crate) extents: Vec<i64>,
    pub(crate) ty: ScalarType,
    pub(crate) cut: Option<usize>,
}

/// An error of XLA.
pub(crate) fn failed(message: impl Into<String>) -> Error {
    let message: String = message.into();
    let memory = ["RESOURCE_EXHAUSTED", "Out of memory"].iter().any(|text| message.contains(text));
    if memory {
        return Error::OutOfMemory { what: "a tensor on the device".to_string(), bytes: None, at: None };
    }
    Error::Library { library: "XLA", source: Cause::new(message), at: None }
}

pub(crate) fn product(extents: &[i64]) -> usize {
    extents.iter().map(|n| usize::try_from(*n).unwrap_or(0)).product()
}

impl Layout {
    /// What every process has.
    pub(crate) fn whole(extents: &[i64], ty: ScalarType) -> Layout {
        Layout { extents: extents.to_vec(), ty, cut: None }
    }

    /// The extents with the padding that makes parts equal.
    pub(crate) fn padded(&self, processes: u32) -> Vec<i64> {
        let cutting = Cutting::over(processes);
        let padded = |(axis, n): (usize, &i64)| if self.cut == Some(axis) { cutting.padded(*n) } else { *n };
        self.extents.iter().enumerate().map(padded).collect()
    }

    /// The bytes of a process's part.
    pub(crate) fn part_bytes(&self, processes: u32) -> u64 {
        let all = self.padded(processes).iter().fold(self.ty.size() as u64, |n, e| n.saturating_mul(*e as u64));
        if self.cut.is_some() { all / u64::from(processes) } else { all }
    }

    /// The positions of the axis along which it is cut that a process has, and how many they are with padding; how many
    /// elements there are for each of the axes before, and bytes for each position.
    pub(crate) fn part(&self, process: u32, processes: u32) -> Part {
        let Some(axis) = self.cut else {
            let bytes = product(&self.extents) * self.ty.size();
            return Part { outer: 1, first: 0, own: 1, room: 1, all: 1, bytes };
        };
        let (before, rest) = self.extents.split_at(axis.min(self.extents.len()));
        let all = rest.first().copied().unwrap_or(1);
        let room = Cutting::over(processes).part(all);
        let first = (room * i64::from(process)).min(all);
        let own = (all - first).min(room);
        let size = |n: i64| usize::try_from(n).unwrap_or(0);
        let bytes = product(rest.get(1..).unwrap_or(&[])) * self.ty.size();
        Part { outer: product(before), first: size(first), own: size(own), room: size(room), all: size(all), bytes }
    }
}

/// A process's part of a tensor's memory: for each of so many runs of positions its own ones, from the first one on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) outer: usize,
    pub(crate) first: usize,
    pub(crate) own: usize,
    /// How many positions there are with padding.
    pub(crate) room: usize,
    /// How many positions there are in all parts together, without padding.
    all: usize,
    /// The bytes of a position.
    pub(crate) bytes: usize,
}

impl Part {
    /// A part with its padding, of the bytes of the whole tensor or of the part without padding.
    pub(crate) fn cut_from(&self, elements: &[u8], is_whole: bool) -> Vec<u8> {
        let (positions, first) = if is_whole { (self.all, self.first) } else { (self.own, 0) };
        if self.room == self.own && (positions == self.own || self.outer == 1) {
            let start = first * self.bytes;
            let end = start + self.outer * self.own * self.bytes;
            return elements.get(start..end).unwrap_or(&[]).to_vec();
        }
        let mut out = Vec::with_capacity(self.outer * self.room * self.bytes);
        for k in 0..self.outer {
            let start = (k * positions + first) * self.bytes;
            out.extend_from_slice(elements.get(start..start + self.own * self.bytes).unwrap_or(&[]));
            out.resize(out.len() + (self.room - self.own) * self.bytes, 0);
        }
        out
    }

    /// Writes a part without its padding.
    pub(crate) fn copy_own(&self, padded: &[u8], into: &mut [u8]) -> Result<(), String> {
        let (own, room) = (self.own * self.bytes, self.room * self.bytes);
        if padded.len() != self.outer * room || into.len() != self.outer * own {
            return Err(format!("a part has {} bytes, and not {}", padded.len(), self.outer * room));
        }
        if own == 0 {
            return Ok(());
        }
        for (into, from) in into.chunks_exact_mut(own).zip(padded.chunks_exact(room)) {
            into.iter_mut().zip(from).for_each(|(i, f)| *i = *f);
        }
        Ok(())
    }
}
