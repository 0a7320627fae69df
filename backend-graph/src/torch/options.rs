//! Options of the executor on libtorch.

use super::Device;
use acc_desugar::{KEPT_STATES, Rules};

/// How the executor flattens and runs programs.
///
/// ```
/// use acc_core::prelude::*;
/// use backend_graph::{Libtorch, Options};
/// let unchecked = Libtorch::with(Options::new().checks(false))?;
/// assert_eq!(unchecked.run(generate(4, |i| i).sum())?.value(), 6);
/// # Ok::<(), acc_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Where tensors are and operations run.
    pub device: Device,
    /// The rules of simplification.
    pub rules: Rules,
    /// Whether faults are looked for. Without checks an index out of bounds stands for some index in bounds, and a divisor of
    /// 0 for 1: programs that have no fault run faster, the others yield unspecified values where they would have stopped,
    /// or an error of libtorch for a shape that cannot be. Nothing outside of arrays is ever read or written.
    pub checks: bool,
    /// On a CPU a block of rows goes through a chain of operations while it is in L2, if all that the chain makes is larger
    /// than 128 blocks. It has about so many bytes of the widest array: 256 KiB, if nothing else is said; rows that are
    /// longer go one after the other. With 0 each operation goes through whole arrays.
    pub block_bytes: usize,
    /// How many states of an array loop (`awhile`) its reverse derivative keeps at a time, beside the first one: 8, if nothing
    /// else is said. With fewer, steps are computed again more often; results are the same.
    pub kept_states: usize,
}

/// Several values of so many bytes fit L2, and libtorch's calls take little beside their work.
const BLOCK_BYTES: usize = 256 << 10;

impl Options {
    /// On the CPU, as [`Libtorch::cpu`](super::Libtorch::cpu).
    pub fn new() -> Options {
        Options {
            device: Device::Cpu,
            rules: Rules::all(),
            checks: true,
            block_bytes: BLOCK_BYTES,
            kept_states: KEPT_STATES,
        }
    }

    /// On a device.
    #[must_use]
    pub fn device(self, device: Device) -> Options {
        Options { device, ..self }
    }

    /// With these rules of simplification.
    #[must_use]
    pub fn rules(self, rules: Rules) -> Options {
        Options { rules, ..self }
    }

    /// With or without [checks for faults](Options#structfield.checks).
    #[must_use]
    pub fn checks(self, checks: bool) -> Options {
        Options { checks, ..self }
    }

    /// With [blocks](Options#structfield.block_bytes) of another size.
    #[must_use]
    pub fn block_bytes(self, block_bytes: usize) -> Options {
        Options { block_bytes, ..self }
    }

    /// With room for so many [states of loops](Options#structfield.kept_states).
    #[must_use]
    pub fn kept_states(self, kept_states: usize) -> Options {
        Options { kept_states, ..self }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options::new()
    }
}
