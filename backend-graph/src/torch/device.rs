//! Where a graph runs.

use super::setup;
use std::fmt;

/// A device of libtorch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Device {
    /// The CPU.
    #[default]
    Cpu,
    /// A CUDA device, by its number.
    Cuda(usize),
}

impl Device {
    /// The devices that this libtorch finds on this machine: the CPU first, then each CUDA device.
    ///
    /// A libtorch without CUDA, such as the one that `scripts/libtorch.sh` brings, finds the CPU alone.
    pub fn available() -> Vec<Device> {
        setup::ensure();
        let cuda = if tch::Cuda::is_available() { usize::try_from(tch::Cuda::device_count()).unwrap_or(0) } else { 0 };
        std::iter::once(Device::Cpu).chain((0..cuda).map(Device::Cuda)).collect()
    }

    pub(crate) fn tch(self) -> tch::Device {
        match self {
            Device::Cpu => tch::Device::Cpu,
            Device::Cuda(number) => tch::Device::Cuda(number),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu => f.write_str("cpu"),
            Device::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_the_first_device() {
        assert_eq!(Device::available().first(), Some(&Device::Cpu));
    }
}
