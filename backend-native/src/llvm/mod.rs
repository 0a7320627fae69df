//! The LLVM executor: kernels as machine code, compiled at run time.
//!
//! * `find` looks for a shared library of LLVM. Nothing is linked: without one the tile executor runs everything.
//! * `emit` writes a kernel as the text of an LLVM module.
//! * `compile` provides its machine code: from memory, from `disk`, or from LLVM, through its C
//!   interface (`c`).
//! * `call` binds the arguments of the code, and runs it on a part of an index space.
//!
//! Results are the same bits as those of the tile executor, which runs what is not compiled, and what code bails out of
//! because something in it faults.

mod c;
pub(crate) mod call;
mod compile;
mod disk;
mod emit;
mod find;
mod one_shot;

pub use compile::{Counts, counts};
pub use disk::machine_code_folder;
pub use emit::Unsupported;
pub(crate) use emit::{
    Emitted, KernelArg, MAX_BLOCK_ROWS, MAX_PANEL_COLUMNS, Variant, axes_between, can_stream_unaligned,
    elementwise_reads, has_divergent_loop, reads_interleaved, transposed_axis,
};

use crate::kernel::{Dependences, Kernel};
use acc_core::ir::ArrayId;
use acc_core::{RunLimits, timeline};
use call::Entry;
use compile::Slot;
use find::Found;
use smallvec::SmallVec;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What code is generated for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    /// Bytes of a vector register.
    pub register: usize,
    /// Whether this version knows the syntax `splat (...)`.
    pub splats: bool,
}

impl Target {
    /// Assumed for explanations where there is no library.
    const DEFAULT: Target = Target { register: 32, splats: true };

    /// The target of a library on a processor with these features; the error names a missing feature.
    fn of(cpu: &str, features: &str, version: u32) -> Result<Target, String> {
        let has = |feature: &str| features.split(',').any(|f| f.strip_prefix('+') == Some(feature));
        let register = if cfg!(target_arch = "x86_64") {
            for needed in ["avx2", "fma", "f16c"] {
                if !has(needed) {
                    return Err(format!("this processor ({cpu}) has no {needed}"));
                }
            }
            if ["avx512f", "avx512vl", "avx512bw", "avx512dq"].iter().all(|f| has(f)) { 64 } else { 32 }
        } else {
            16
        };
        Ok(Target { register, splats: version >= 18 })
    }

    /// Whether one instruction converts vectors of 64-bit integers to floats, which AVX2 lacks.
    fn converts_i64(self) -> bool {
        self.register != 32
    }

    /// Whether there are gather instructions.
    fn gathers(self) -> bool {
        self.register >= 32
    }

    /// The number of vector registers.
    fn registers(self) -> usize {
        if self.register == 32 { 16 } else { 32 }
    }

    /// Whether there are mask registers, as on AVX-512.
    fn has_mask_registers(self) -> bool {
        self.register == 64
    }
}

/// The LLVM that this process uses, if any.
#[derive(Clone, Debug)]
pub struct Status {
    /// The library in use.
    pub library: Option<Library>,
    /// The libraries that were tried before it and are of no use, each with the reason.
    pub refused: Vec<(PathBuf, String)>,
}

/// A library of LLVM.
#[derive(Clone, Debug)]
pub struct Library {
    /// The file, or the name that the dynamic loader resolves.
    pub path: PathBuf,
    /// Major, minor and patch number.
    pub version: (u32, u32, u32),
    /// The processor that code is generated for, as LLVM names it.
    pub cpu: String,
    /// Its features, as LLVM names them.
    pub features: String,
    /// The bits of its vector registers.
    pub vector_bits: usize,
}

/// Looks for an LLVM, once per process, and says what was found.
///
/// In order: the library that the environment variable `ACC_LLVM` names (an absolute path, or a name that the dynamic loader
/// looks for), and then no other (`off` for none); that of the Rust toolchain that built this crate; of the one whose `rustc`
/// is first on the search path, of those that rustup has; the system's, from version 22 down to 17. The first that compiles
/// and runs a small kernel is used. No program is run, and nothing is looked for in the current folder.
pub fn status() -> Status {
    let found = find::llvm();
    let library = found.engine.as_ref().map(|e| Library {
        path: e.path.clone(),
        version: e.version,
        cpu: e.cpu.clone(),
        features: e.features.clone(),
        vector_bits: e.target.register * 8,
    });
    Status { library, refused: found.refused.clone() }
}

/// The passes that optimise a module: few, since the text is written as it should run.
fn passes(version: u32) -> &'static str {
    // Since version 18, `instcombine` in a pass list aborts the process if it reaches no fixed point, unless told not
    // to check.
    if version >= 18 {
        "function(mem2reg,early-cse,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn,adce)"
    } else {
        "function(mem2reg,early-cse,instcombine,simplifycfg,loop-mssa(licm),gvn,adce)"
    }
}

/// A compiled kernel, or one being compiled.
pub(crate) struct Compiled {
    /// The arguments of its function, in order.
    pub args: Vec<KernelArg>,
    /// The arrays that they name, in order.
    pub arrays: Vec<ArrayId>,
    slot: Arc<Slot>,
}

impl Compiled {
    /// The function, once it is compiled.
    pub(crate) fn entry(&self) -> Option<&Entry> {
        self.slot.get()?.as_ref()
    }

    /// The same, if it is compiled; with limits, waits for it.
    fn ready(&self, wait: Option<&RunLimits>) -> Option<&Compiled> {
        if let Some(limits) = wait {
            self.slot.wait(limits);
        }
        self.entry().map(|_| self)
    }
}

/// Why tiles compute a kernel, or some variant of it, in spite of an LLVM; none if they do not.
pub(crate) fn left_to_tiles(kernel: &Kernel) -> Option<Unsupported> {
    let target = find::llvm().engine.as_ref().map_or(Target::DEFAULT, |e| e.target);
    emit::unsupported(kernel, &target)
}

/// The bytes of a vector register of the processor, or of the one that explanations assume.
pub(crate) fn register_bytes() -> usize {
    find::llvm().engine.as_ref().map_or(Target::DEFAULT.register, |e| e.target.register)
}

/// Why machine code cannot follow the loops of a kernel, on whatever machine; none if it can.
pub(crate) fn unsupported_loops(kernel: &Kernel) -> Option<Unsupported> {
    emit::unsupported_loops(kernel, &Target::DEFAULT)
}

/// Requests the code of a kernel; none without an LLVM or a thread that compiles, and of what machine code does not do.
fn compile(kernel: &Kernel, variant: Variant, llvm: &Found) -> Option<Compiled> {
    let engine = llvm.engine.as_ref()?;
    let Emitted { text, args } = timeline::pass("emit", || emit::emit(kernel, variant, &engine.target)).ok()?;
    let slot = compile::request(text)?;
    let mut arrays: Vec<ArrayId> = args
        .iter()
        .filter_map(|word| match *word {
            KernelArg::ArrayExtent(a, _) | KernelArg::Evaluated(a) | KernelArg::Column(a, _) => Some(a),
            KernelArg::ReadableStart(a) | KernelArg::ReadableEnd(a) => Some(a),
            KernelArg::Poll
            | KernelArg::PollContext
            | KernelArg::Extent(_)
            | KernelArg::Scalar(..)
            | KernelArg::Output(_)
            | KernelArg::OutputStart => None,
            KernelArg::RangeStart
            | KernelArg::RangeEnd
            | KernelArg::PrefetchDistance
            | KernelArg::CarryIn(_)
            | KernelArg::HasCarryIn(_)
            | KernelArg::Total(_)
            | KernelArg::RunTotals(_) => None,
            KernelArg::TargetExtent(_) | KernelArg::Progress => None,
        })
        .collect();
    arrays.sort_unstable();
    arrays.dedup();
    Some(Compiled { args, arrays, slot })
}

/// The machine code of one kernel, in the variants requested so far.
#[derive(Default)]
pub(crate) struct CodeCache {
    variants: [OnceLock<Option<Compiled>>; Variant::COUNT],
    /// The kernel in register tiles, and what its elements depend on.
    tiled: OnceLock<(Kernel, Dependences)>,
    /// The register tiles for such extents as were seen first.
    tiles: [OnceLock<RegisterTiles>; MAX_TILE_SHAPES],
}

/// A kernel in register tiles.
struct RegisterTiles {
    kernel: Kernel,
    code: Option<Compiled>,
    /// What the shape of the tiles was chosen for: extents, and whether calls fold a part of the first folded axis.
    chosen_for: (SmallVec<[usize; 8]>, bool),
}

/// Codes for register tiles of different shapes; a kernel with more extents uses the one for any.
const MAX_TILE_SHAPES: usize = 3;

impl CodeCache {
    /// Whether code of any variant was asked for.
    #[cfg(test)]
    pub(crate) fn was_asked(&self) -> bool {
        self.variants.iter().any(|v| v.get().is_some()) || self.tiles.iter().any(|t| t.get().is_some())
    }

    /// The code of a variant, requested now if it is new; none if it cannot be compiled, or is not compiled yet. With
    /// limits, waits for it.
    pub(crate) fn get(&self, variant: Variant, kernel: &Kernel, wait: Option<&RunLimits>) -> Option<&Compiled> {
        let code = self.variants.get(variant.number())?;
        let compiled = match code.get() {
            Some(asked) => asked,
            None => {
                let llvm = compile::llvm(wait)?;
                code.get_or_init(|| compile(kernel, variant, llvm))
            }
        };
        compiled.as_ref()?.ready(wait)
    }

    /// The code that follows a kernel's loops, in register tiles of a shape for these extents; also the kernel with
    /// these loops. `parts` tells whether calls fold a part of the first folded axis.
    pub(crate) fn in_tiles<'c>(
        &'c self,
        kernel: &'c Kernel,
        extents: &[usize],
        parts: bool,
        wait: Option<&RunLimits>,
    ) -> Option<(&'c Compiled, &'c Kernel)> {
        let llvm = compile::llvm(wait)?;
        let ready = |tiles: &'c RegisterTiles| tiles.code.as_ref()?.ready(wait).map(|code| (code, &tiles.kernel));
        let known = self.tiles.iter().filter_map(OnceLock::get);
        if let Some(tiles) = known.into_iter().find(|t| t.chosen_for.0[..] == *extents && t.chosen_for.1 == parts) {
            return ready(tiles);
        }
        let target = llvm.engine.as_ref().map(|e| e.target)?;
        let (tiled, dependences) = self.tiled.get_or_init(|| {
            let tiled = kernel.speculated().unwrap_or_else(|| kernel.clone());
            let dependences = tiled.dependences();
            (tiled, dependences)
        });
        if let Some(loops) = emit::tile_shape(tiled, dependences, extents, parts, &target) {
            for tile in &self.tiles {
                let tile = tile.get_or_init(|| {
                    let kernel = Kernel { loops: loops.clone(), ..tiled.clone() };
                    let code = compile(&kernel, Variant::Scheduled, llvm);
                    RegisterTiles { kernel, code, chosen_for: (extents.into(), parts) }
                });
                if tile.kernel.loops == loops {
                    return ready(tile);
                }
            }
        }
        self.get(Variant::Scheduled, kernel, wait).map(|compiled| (compiled, kernel))
    }
}

/// A variant of a kernel: its module before and after LLVM's passes, and its assembly.
pub(crate) fn listing(kernel: &Kernel, variant: Variant) -> Result<String, String> {
    let engine = find::llvm().engine.as_ref().ok_or("no LLVM is found")?;
    let Emitted { text, args } = emit::emit(kernel, variant, &engine.target).map_err(|e| e.to_string())?;
    let (optimised, assembly) = engine.listing(&text, passes(engine.version.0))?;
    Ok(format!("arguments: {args:?}\n\n{text}\nafter LLVM's passes:\n\n{optimised}\n{assembly}"))
}

/// Modules that LLVM refused, which are defects of this executor. Tiles ran their kernels.
static DEFECTS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn note_defect(defect: String) {
    const MAX_RECORDED_DEFECTS: usize = 16;
    let mut defects = DEFECTS.lock().unwrap_or_else(PoisonError::into_inner);
    if defects.len() < MAX_RECORDED_DEFECTS {
        defects.push(defect);
    }
}

/// The first modules that LLVM refused in this process, and why.
pub fn defects() -> Vec<String> {
    DEFECTS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
