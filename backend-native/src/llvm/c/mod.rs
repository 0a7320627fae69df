//! LLVM's C interface behind safe functions: from the text of a module to machine code in memory.
//!
//! LLVM aborts the process on some invalid input. All input here is made by [`emit`](super::emit), and each module
//! passes LLVM's verifier first.

mod exit;
mod functions;

pub(super) use exit::watch_thread;

use super::Target;
use acc_core::timeline::{self, pass};
use functions::{Functions, Ref};
use std::ffi::{CStr, CString, c_char};
use std::path::{Path, PathBuf};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The name of a module's only function; each loaded copy gets a number in place of the zeros.
pub(super) const ENTRY: &str = "acc_kernel_0000000000000000";

/// A library, the machine it generates code for, and the code loaded.
pub(super) struct Engine {
    functions: Functions,
    pub path: PathBuf,
    pub version: (u32, u32, u32),
    pub cpu: String,
    pub features: String,
    pub target: Target,
    triple: CString,
    /// One module at a time: target machines are not thread-safe.
    machine: Mutex<Handle>,
    jit: Handle,
    dylib: Handle,
    symbols: Handle,
    compiled: AtomicU64,
    loaded: AtomicU64,
    /// How much code is in memory now.
    live: AtomicU64,
}

/// Kernels whose code is in memory at most: each takes two mappings of the process, of which Linux allows 65,530 if it is not told
/// otherwise, and where there is no other one, the next allocation fails.
const MAX_LIVE_KERNELS: u64 = 16_384;

/// An LLVM object that lives as long as the process.
struct Handle(NonNull<std::ffi::c_void>);

// SAFETY: handles are used under a lock (the target machine) or are of types that lock themselves (ORC's session,
// libraries and string pool).
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    fn new(raw: Ref, what: &str) -> Result<Handle, String> {
        NonNull::new(raw).map(Handle).ok_or_else(|| format!("LLVM made no {what}"))
    }

    fn raw(&self) -> Ref {
        self.0.as_ptr()
    }
}

/// Machine code for one module, as bytes of an object file.
pub(super) type Object = Vec<u8>;

/// The kind of output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Assembly = 0,
    Object = 1,
}

/// Code in memory; unloaded when dropped.
pub(super) struct Loaded {
    engine: Arc<Engine>,
    tracker: Handle,
    /// Where the function of the module starts.
    pub address: NonNull<std::ffi::c_void>,
}

// SAFETY: the address is of code, which any thread may run; the tracker is used once, when the value is dropped.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Engine {
    /// Loads a library and prepares it for this machine; the error says why it is of no use.
    pub(super) fn open(path: &Path) -> Result<Engine, String> {
        let _inside = exit::enter()?;
        let _settling = exit::settle();
        exit::watch();
        let functions = Functions::load(path)?;
        let f = &functions;
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: three places to write to.
        unsafe { (f.LLVMGetVersion)(&mut major, &mut minor, &mut patch) };
        if major < 17 {
            return Err(format!("version {major}.{minor}.{patch} is older than 17"));
        }
        functions::initialize(path)?;
        // SAFETY: each function yields a message that is its caller's to dispose.
        let (triple, cpu, features) = unsafe {
            let texts = [(f.LLVMGetDefaultTargetTriple)(), (f.LLVMGetHostCPUName)(), (f.LLVMGetHostCPUFeatures)()];
            let [triple, cpu, features] = texts.map(|t| message(f, t));
            (c_text(&triple)?, cpu, features)
        };
        let target = Target::of(&cpu, &features, major)?;
        set_options(f, target);
        let machine = machine(f, &triple, &c_text(&cpu)?, &c_text(&features)?)?;
        let mut jit = null_mut();
        // SAFETY: without a builder LLVM makes one for this machine, which is known to it by now.
        check(f, unsafe { (f.LLVMOrcCreateLLJIT)(&mut jit, null_mut()) })?;
        let jit = Handle::new(jit, "place for code")?;
        // SAFETY: parts of the JIT, which live as long as it does: for good.
        let (dylib, symbols) = unsafe {
            let session = (f.LLVMOrcLLJITGetExecutionSession)(jit.raw());
            let symbols = (f.LLVMOrcExecutionSessionGetSymbolStringPool)(session);
            ((f.LLVMOrcLLJITGetMainJITDylib)(jit.raw()), symbols)
        };
        Ok(Engine {
            path: path.to_path_buf(),
            version: (major, minor, patch),
            cpu,
            features,
            target,
            triple,
            machine: Mutex::new(machine),
            jit,
            dylib: Handle::new(dylib, "library")?,
            symbols: Handle::new(symbols, "string pool")?,
            compiled: AtomicU64::new(0),
            loaded: AtomicU64::new(0),
            live: AtomicU64::new(0),
            functions,
        })
    }

    /// Identifies the library among all of its version; none if that is impossible.
    pub(super) fn identity(&self) -> Option<String> {
        let (major, minor, patch) = self.version;
        self.functions.file().map(|file| format!("{major}.{minor}.{patch} {file}"))
    }

    /// What else the generated code depends on.
    pub(super) fn generation(&self) -> String {
        let Engine { triple, cpu, features, target, .. } = self;
        format!("{triple:?} {cpu} {features} {:?} {CODE_GENERATION:?}", options(*target))
    }

    /// Compiles a module after these passes; the error is a defect of the text.
    pub(super) fn object(&self, text: &str, passes: &str) -> Result<Object, String> {
        self.with_module(text, passes, |module, machine| self.emit(module, machine, Output::Object))
    }

    /// The module after the passes, and its assembly, for people.
    pub(super) fn listing(&self, text: &str, passes: &str) -> Result<(String, String), String> {
        self.with_module(text, passes, |module, machine| {
            // SAFETY: a verified module; the message is ours to dispose.
            let ir = unsafe { message(&self.functions, (self.functions.LLVMPrintModuleToString)(module)) };
            let assembly = self.emit(module, machine, Output::Assembly)?;
            Ok((ir, String::from_utf8_lossy(&assembly).into_owned()))
        })
    }

    /// Parses, verifies and optimises a module, then passes it on with the target machine.
    fn with_module<T>(
        &self,
        text: &str,
        passes: &str,
        then: impl FnOnce(Ref, Ref) -> Result<T, String>,
    ) -> Result<T, String> {
        let f = &self.functions;
        let _inside = exit::enter()?;
        let _settling = exit::settle_in_use(self.compiled.fetch_add(1, Ordering::Relaxed));
        let passes = c_text(passes)?;
        let machine = self.machine.lock().unwrap_or_else(PoisonError::into_inner);
        let context = Context::new(f);
        let module = pass("parse", || context.parse(text))?;
        // SAFETY: module, machine, layout and options are alive; what is made here is disposed here.
        unsafe {
            (f.LLVMSetTarget)(module.raw, self.triple.as_ptr());
            let layout = (f.LLVMCreateTargetDataLayout)(machine.raw());
            (f.LLVMSetModuleDataLayout)(module.raw, layout);
            (f.LLVMDisposeTargetData)(layout);
        }
        pass("verify module", || module.verify())?;
        // SAFETY: as above; a verified module, and names of passes.
        let done = pass("optimise", || unsafe {
            let options = (f.LLVMCreatePassBuilderOptions)();
            let done = (f.LLVMRunPasses)(module.raw, passes.as_ptr(), machine.raw(), options);
            (f.LLVMDisposePassBuilderOptions)(options);
            done
        });
        check(f, done)?;
        let result = pass("generate code", || then(module.raw, machine.raw()))?;
        context.errors()?;
        Ok(result)
    }

    fn emit(&self, module: Ref, machine: Ref, output: Output) -> Result<Vec<u8>, String> {
        let f = &self.functions;
        let (mut error, mut buffer) = (null_mut(), null_mut());
        // SAFETY: a verified module, a machine under its lock, and places to write to. The buffer's bytes are read
        // before it is disposed.
        unsafe {
            if (f.LLVMTargetMachineEmitToMemoryBuffer)(machine, module, output as i32, &mut error, &mut buffer) != 0 {
                return Err(message(f, error));
            }
            let bytes = std::slice::from_raw_parts((f.LLVMGetBufferStart)(buffer), (f.LLVMGetBufferSize)(buffer));
            let bytes = bytes.to_vec();
            (f.LLVMDisposeMemoryBuffer)(buffer);
            Ok(bytes)
        }
    }

    /// Whether no more code can be loaded before some is dropped.
    pub(super) fn is_full(&self) -> bool {
        self.live.load(Ordering::Relaxed) >= MAX_LIVE_KERNELS
    }

    /// Loads an object made by [`object`](Engine::object).
    pub(super) fn load(self: &Arc<Engine>, object: &[u8]) -> Result<Loaded, String> {
        let _span = timeline::span(timeline::Kind::Pass, || "load");
        let f = &self.functions;
        let _inside = exit::enter()?;
        let number = self.loaded.fetch_add(1, Ordering::Relaxed);
        let _settling = exit::settle_in_use(number);
        let (object, name) = named(object, number)?;
        // SAFETY: the buffer copies the bytes and goes to the JIT, which checks that they are an object file. The
        // tracker is released in `drop`, with the code.
        unsafe {
            let tracker = (f.LLVMOrcJITDylibCreateResourceTracker)(self.dylib.raw());
            let tracker = Handle::new(tracker, "resource tracker")?;
            self.live.fetch_add(1, Ordering::Relaxed);
            let mut loaded = Loaded { engine: self.clone(), tracker, address: NonNull::dangling() };
            let buffer =
                (f.LLVMCreateMemoryBufferWithMemoryRangeCopy)(object.as_ptr().cast(), object.len(), name.as_ptr());
            check(f, (f.LLVMOrcLLJITAddObjectFileWithRT)(self.jit.raw(), loaded.tracker.raw(), buffer))?;
            let mut address = 0u64;
            check(f, (f.LLVMOrcLLJITLookup)(self.jit.raw(), &mut address, name.as_ptr()))?;
            let address = std::ptr::with_exposed_provenance_mut(address as usize);
            loaded.address = NonNull::new(address).ok_or("the code has no address")?;
            Ok(loaded)
        }
    }
}

/// The object with a unique name for its function.
fn named(object: &[u8], number: u64) -> Result<(Vec<u8>, CString), String> {
    let name = format!("acc_kernel_{number:016x}");
    let at = object.windows(ENTRY.len()).position(|w| w == ENTRY.as_bytes());
    let at = at.ok_or("the object has no function of the name that kernels have")?;
    let mut object = object.to_vec();
    object[at..at + name.len()].copy_from_slice(name.as_bytes());
    Ok((object, c_text(&name)?))
}

impl Drop for Loaded {
    fn drop(&mut self) {
        self.engine.live.fetch_sub(1, Ordering::Relaxed);
        // At the end of the process everything goes anyway.
        let Ok(_inside) = exit::enter() else { return };
        let f = &self.engine.functions;
        // SAFETY: the tracker of this code alone; nobody runs the code, since whoever does holds this value.
        unsafe {
            let removed = (f.LLVMOrcResourceTrackerRemove)(self.tracker.raw());
            // Code that cannot be removed stays.
            let _ = check(f, removed);
            (f.LLVMOrcReleaseResourceTracker)(self.tracker.raw());
            if self.engine.loaded.load(Ordering::Relaxed).is_multiple_of(256) {
                (f.LLVMOrcSymbolStringPoolClearDeadEntries)(self.engine.symbols.raw());
            }
        }
    }
}

fn c_text(s: &str) -> Result<CString, String> {
    CString::new(s).map_err(|e| e.to_string())
}

/// Copies and disposes a message of LLVM's.
///
/// # Safety
///
/// `raw` is null, or a message that LLVM gave away.
unsafe fn message(f: &Functions, raw: *mut c_char) -> String {
    if raw.is_null() {
        return "LLVM gives no reason".to_string();
    }
    // SAFETY: a C string, by the contract above, copied before it is disposed.
    unsafe {
        let text = CStr::from_ptr(raw).to_string_lossy().into_owned();
        (f.LLVMDisposeMessage)(raw);
        text
    }
}

/// An error value of LLVM's as a result.
fn check(f: &Functions, error: Ref) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: an error that is not null is its receiver's to consume, and the message to dispose.
    unsafe {
        let raw = (f.LLVMGetErrorMessage)(error);
        let text = CStr::from_ptr(raw).to_string_lossy().into_owned();
        (f.LLVMDisposeErrorMessage)(raw);
        Err(text)
    }
}

/// Options that LLVM has on its command line alone; versions that do not know one ignore it.
fn options(target: Target) -> Vec<&'static CStr> {
    /// Disables passes that take time without gain, since the text is written as it should run. Loop strength reduction
    /// is a third of code generation; sinking addresses, scheduling before register allocation, copy propagation and
    /// reassociation are a sixth of the rest. Without them loops are no longer, and spill less.
    const OPTIONS: [&CStr; 6] = [
        c"acc",
        c"-disable-lsr",
        c"-disable-cgp",
        c"-enable-misched=false",
        c"-disable-copyprop",
        c"-x86-machine-combiner=false",
    ];
    /// With sixteen vector registers: constants and hoisted values stay where they are, since moving them takes
    /// registers of inner loops.
    const OPTIONS_OF_SIXTEEN_REGISTERS: [&CStr; 2] = [c"-disable-machine-licm", c"-disable-machine-sink"];
    let few: &[&CStr] = if target.registers() <= 16 { &OPTIONS_OF_SIXTEEN_REGISTERS } else { &[] };
    OPTIONS.iter().chain(few).copied().collect()
}

/// Sets the options, for all users of this library in the process.
fn set_options(f: &Functions, target: Target) {
    let options: Vec<_> = options(target).into_iter().map(CStr::as_ptr).collect();
    // SAFETY: as many C strings as it says, and a text that is not shown: errors go nowhere.
    unsafe { (f.LLVMParseCommandLineOptions)(options.len() as i32, options.as_ptr(), c"".as_ptr()) };
}

/// The optimisation level (less: kernels are as fast as with more), the relocation model (PIC), and the code model
/// (default).
const CODE_GENERATION: (i32, i32, i32) = (1, 2, 0);

fn machine(f: &Functions, triple: &CStr, cpu: &CStr, features: &CStr) -> Result<Handle, String> {
    let (mut target, mut error) = (null_mut(), null_mut());
    // SAFETY: C strings that live through the calls, and places to write to.
    unsafe {
        if (f.LLVMGetTargetFromTriple)(triple.as_ptr(), &mut target, &mut error) != 0 {
            return Err(message(f, error));
        }
        let (cpu, features) = (cpu.as_ptr(), features.as_ptr());
        let machine = (f.LLVMCreateTargetMachine)(
            target,
            triple.as_ptr(),
            cpu,
            features,
            CODE_GENERATION.0,
            CODE_GENERATION.1,
            CODE_GENERATION.2,
        );
        Handle::new(machine, "target machine")
    }
}

/// A context that collects errors, on which LLVM would otherwise abort the process.
struct Context<'a> {
    f: &'a Functions,
    raw: Ref,
    report: Box<Report<'a>>,
}

struct Report<'a> {
    f: &'a Functions,
    errors: Mutex<Vec<String>>,
}

unsafe extern "C" fn diagnose(info: Ref, report: Ref) {
    const ERROR: i32 = 0;
    // SAFETY: `report` is the one given with this function, alive as long as its context; `info` is LLVM's for the
    // time of the call.
    unsafe {
        let report = &*report.cast::<Report<'_>>();
        if (report.f.LLVMGetDiagInfoSeverity)(info) == ERROR {
            let text = message(report.f, (report.f.LLVMGetDiagInfoDescription)(info));
            report.errors.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        }
    }
}

impl<'a> Context<'a> {
    fn new(f: &'a Functions) -> Context<'a> {
        let report = Box::new(Report { f, errors: Mutex::new(Vec::new()) });
        // SAFETY: the report is boxed, so that it stays where it is until the context is disposed.
        unsafe {
            let raw = (f.LLVMContextCreate)();
            (f.LLVMContextSetDiagnosticHandler)(raw, diagnose, std::ptr::from_ref(&*report).cast_mut().cast());
            Context { f, raw, report }
        }
    }

    fn parse(&self, text: &str) -> Result<Module<'_>, String> {
        let f = self.f;
        let (mut module, mut error) = (null_mut(), null_mut());
        // SAFETY: the buffer copies the text and is consumed by the parser, whether that succeeds or not.
        let failed = unsafe {
            let start = text.as_ptr().cast();
            let buffer = (f.LLVMCreateMemoryBufferWithMemoryRangeCopy)(start, text.len(), c"kernel".as_ptr());
            (f.LLVMParseIRInContext)(self.raw, buffer, &mut module, &mut error)
        };
        if failed != 0 {
            // SAFETY: the parser gives a message where it fails.
            return Err(unsafe { message(f, error) });
        }
        Ok(Module { f, raw: module, _context: self })
    }

    fn errors(&self) -> Result<(), String> {
        let errors = self.report.errors.lock().unwrap_or_else(PoisonError::into_inner);
        if errors.is_empty() { Ok(()) } else { Err(errors.join("; ")) }
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, disposed once, after its modules, which borrow it.
        unsafe { (self.f.LLVMContextDispose)(self.raw) }
    }
}

struct Module<'a> {
    f: &'a Functions,
    raw: Ref,
    _context: &'a Context<'a>,
}

impl Module<'_> {
    fn verify(&self) -> Result<(), String> {
        const RETURN_STATUS: i32 = 2;
        let mut error = null_mut();
        // SAFETY: a module and a place to write to; the message is ours whether there is an error or not.
        unsafe {
            let broken = (self.f.LLVMVerifyModule)(self.raw, RETURN_STATUS, &mut error) != 0;
            let text = message(self.f, error);
            if broken { Err(text) } else { Ok(()) }
        }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the parser, disposed once.
        unsafe { (self.f.LLVMDisposeModule)(self.raw) }
    }
}
