//! The functions of LLVM's C interface that are used, resolved in one shared library.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;

/// A handle to an LLVM object.
pub(super) type Ref = *mut c_void;
type Text = *const c_char;
type Bool = c_int;

macro_rules! functions {
    ($($name:ident: fn($($arg:ty),*) $(-> $ret:ty)?;)*) => {
        /// The functions by name. The library is never unloaded: what it registers in the process refers to it.
        #[allow(non_snake_case, reason = "LLVM's names")]
        pub(super) struct Functions { $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?),* }

        impl Functions {
            #[cfg(unix)]
            pub(super) fn load(path: &Path) -> Result<Functions, String> {
                use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
                // SAFETY: loading runs the library's initialisers; LLVM's register options and passes of its own. Local
                // symbols keep it apart from another LLVM in the process.
                let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(reason)?;
                let library = std::mem::ManuallyDrop::new(library);
                // SAFETY: the types are those of LLVM's headers (llvm-c), the same in every version accepted.
                unsafe {
                    Ok(Functions { $($name: *library.get(concat!(stringify!($name), "\0").as_bytes()).map_err(reason)?),* })
                }
            }

            #[cfg(not(unix))]
            pub(super) fn load(_: &Path) -> Result<Functions, String> {
                Err("shared libraries of LLVM are used on Unix only".to_string())
            }
        }
    };
}

impl Functions {
    /// The path of the library's file as the system has it, with its size and modification time, which tell builds
    /// apart.
    #[cfg(unix)]
    pub(super) fn file(&self) -> Option<String> {
        use std::os::unix::{ffi::OsStrExt, fs::MetadataExt};
        // SAFETY: all fields of what it is about to be told are pointers, which may be null.
        let mut told: libc::Dl_info = unsafe { std::mem::zeroed() };
        // SAFETY: the address is of a function that is loaded for good; the loader writes to a place of the right type.
        let known = unsafe { libc::dladdr(self.LLVMGetVersion as *const c_void, &raw mut told) };
        if known == 0 || told.dli_fname.is_null() {
            return None;
        }
        // SAFETY: a C string that the loader keeps as long as the library is loaded.
        let name = unsafe { CStr::from_ptr(told.dli_fname) };
        let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes())).canonicalize().ok()?;
        let file = path.metadata().ok()?;
        Some(format!("{path:?} {} {}.{:09}", file.len(), file.mtime(), file.mtime_nsec()))
    }

    #[cfg(not(unix))]
    pub(super) fn file(&self) -> Option<String> {
        None
    }
}

#[cfg(unix)]
fn reason(e: libloading::Error) -> String {
    use std::error::Error;
    // The source has the dynamic loader's message.
    let mut text = e.to_string();
    let mut source = e.source();
    while let Some(e) = source {
        text = e.to_string();
        source = e.source();
    }
    text
}

functions! {
    LLVMGetVersion: fn(*mut c_uint, *mut c_uint, *mut c_uint);
    LLVMParseCommandLineOptions: fn(c_int, *const Text, Text);
    LLVMContextCreate: fn() -> Ref;
    LLVMContextDispose: fn(Ref);
    LLVMContextSetDiagnosticHandler: fn(Ref, unsafe extern "C" fn(Ref, Ref), Ref);
    LLVMGetDiagInfoDescription: fn(Ref) -> *mut c_char;
    LLVMGetDiagInfoSeverity: fn(Ref) -> c_int;
    LLVMCreateMemoryBufferWithMemoryRangeCopy: fn(Text, usize, Text) -> Ref;
    LLVMDisposeMemoryBuffer: fn(Ref);
    LLVMGetBufferStart: fn(Ref) -> *const u8;
    LLVMGetBufferSize: fn(Ref) -> usize;
    LLVMParseIRInContext: fn(Ref, Ref, *mut Ref, *mut *mut c_char) -> Bool;
    LLVMVerifyModule: fn(Ref, c_int, *mut *mut c_char) -> Bool;
    LLVMPrintModuleToString: fn(Ref) -> *mut c_char;
    LLVMDisposeModule: fn(Ref);
    LLVMDisposeMessage: fn(*mut c_char);
    LLVMGetDefaultTargetTriple: fn() -> *mut c_char;
    LLVMGetHostCPUName: fn() -> *mut c_char;
    LLVMGetHostCPUFeatures: fn() -> *mut c_char;
    LLVMGetTargetFromTriple: fn(Text, *mut Ref, *mut *mut c_char) -> Bool;
    LLVMCreateTargetMachine: fn(Ref, Text, Text, Text, c_int, c_int, c_int) -> Ref;
    LLVMCreateTargetDataLayout: fn(Ref) -> Ref;
    LLVMDisposeTargetData: fn(Ref);
    LLVMSetModuleDataLayout: fn(Ref, Ref);
    LLVMSetTarget: fn(Ref, Text);
    LLVMCreatePassBuilderOptions: fn() -> Ref;
    LLVMDisposePassBuilderOptions: fn(Ref);
    LLVMRunPasses: fn(Ref, Text, Ref, Ref) -> Ref;
    LLVMGetErrorMessage: fn(Ref) -> *mut c_char;
    LLVMDisposeErrorMessage: fn(*mut c_char);
    LLVMTargetMachineEmitToMemoryBuffer: fn(Ref, Ref, c_int, *mut *mut c_char, *mut Ref) -> Bool;
    LLVMOrcCreateLLJIT: fn(*mut Ref, Ref) -> Ref;
    LLVMOrcLLJITGetMainJITDylib: fn(Ref) -> Ref;
    LLVMOrcLLJITGetExecutionSession: fn(Ref) -> Ref;
    LLVMOrcExecutionSessionGetSymbolStringPool: fn(Ref) -> Ref;
    LLVMOrcSymbolStringPoolClearDeadEntries: fn(Ref);
    LLVMOrcJITDylibCreateResourceTracker: fn(Ref) -> Ref;
    LLVMOrcResourceTrackerRemove: fn(Ref) -> Ref;
    LLVMOrcReleaseResourceTracker: fn(Ref);
    LLVMOrcLLJITAddObjectFileWithRT: fn(Ref, Ref, Ref) -> Ref;
    LLVMOrcLLJITLookup: fn(Ref, *mut u64, Text) -> Ref;
}

/// The functions that register the code generator of this machine's architecture.
#[cfg(target_arch = "x86_64")]
const INITIALIZERS: [&CStr; 4] = [
    c"LLVMInitializeX86TargetInfo",
    c"LLVMInitializeX86Target",
    c"LLVMInitializeX86TargetMC",
    c"LLVMInitializeX86AsmPrinter",
];
#[cfg(target_arch = "aarch64")]
const INITIALIZERS: [&CStr; 4] = [
    c"LLVMInitializeAArch64TargetInfo",
    c"LLVMInitializeAArch64Target",
    c"LLVMInitializeAArch64TargetMC",
    c"LLVMInitializeAArch64AsmPrinter",
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const INITIALIZERS: [&CStr; 0] = [];

/// Registers the code generator of this machine's architecture in a loaded library.
#[cfg(unix)]
pub(super) fn initialize(path: &Path) -> Result<(), String> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    if INITIALIZERS.is_empty() {
        return Err("no code is generated for this architecture".to_string());
    }
    // SAFETY: loaded already, so that nothing is run.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(reason)?;
    for name in INITIALIZERS {
        // SAFETY: the type is that of LLVM's header; these functions may be called at any time.
        unsafe {
            let initialize = library.get::<unsafe extern "C" fn()>(name.to_bytes_with_nul()).map_err(reason)?;
            initialize();
        }
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn initialize(_: &Path) -> Result<(), String> {
    Err("shared libraries of LLVM are used on Unix only".to_string())
}
