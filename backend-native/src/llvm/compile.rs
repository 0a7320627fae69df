//! Compilation: one thread compiles, in the order of requests; code is looked up by its text.

use super::c::{Engine, Loaded};
use super::find::{self, Found};
use super::{disk, note_defect, passes};
use crate::cache::{Cache, Key};
use crate::fork;
use crate::llvm::call::Entry;
use crate::llvm::one_shot::OneShot;
use acc_core::{RunLimits, timeline};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Kernels whose code is retained after their programs are dropped.
const MAX_RETAINED_KERNELS: usize = 512;
/// Bytes of the retained kernels' texts.
const MAX_RETAINED_TEXT_BYTES: usize = 32 << 20;

/// LLVM recurses over its input, and callers may have little stack left.
const COMPILER_STACK_BYTES: usize = 64 << 20;

/// The machine code of a module, once it is compiled; none if LLVM refused it.
pub(super) type Slot = OneShot<Option<Entry>>;

struct Request {
    text: Arc<str>,
    slot: Arc<Slot>,
}

/// The code of this process.
struct Service {
    slots: Mutex<Slots>,
    /// Requests to the compiling thread; none if it could not be started.
    requests: Option<Mutex<Sender<Request>>>,
}

/// Code by the whole text of its module: a hash alone could make two modules share it.
#[derive(Default)]
struct Slots {
    slots: HashMap<Arc<str>, Arc<Slot>>,
    /// In the order of requests.
    order: VecDeque<Arc<str>>,
    /// Bytes of the texts.
    bytes: usize,
}

impl Slots {
    /// Adds the slot of a new text; the oldest ones make room.
    fn add(&mut self, text: Arc<str>, slot: Arc<Slot>) {
        self.bytes += text.len();
        self.slots.insert(text.clone(), slot);
        self.order.push_back(text);
        while self.order.len() > MAX_RETAINED_KERNELS || self.bytes > MAX_RETAINED_TEXT_BYTES {
            let Some(oldest) = self.order.pop_front() else { break };
            self.bytes -= oldest.len();
            self.slots.remove(&oldest);
        }
    }
}

static SERVICE: LazyLock<Service> = LazyLock::new(|| {
    let (sender, receiver) = channel::<Request>();
    let worker =
        std::thread::Builder::new().name("acc-compile".to_string()).stack_size(COMPILER_STACK_BYTES).spawn(move || {
            let llvm = find::llvm();
            let disk = disk::cache().as_ref().ok();
            for request in receiver {
                // The slot must be filled whatever happens, since somebody may wait for it.
                let code = catch_unwind(AssertUnwindSafe(|| {
                    llvm.engine.as_ref().and_then(|engine| code(engine, disk, &request))
                }));
                request.slot.set(code.ok().flatten().map(Entry::new));
            }
        });
    Service { slots: Mutex::default(), requests: worker.ok().map(|_| Mutex::new(sender)) }
});

/// The LLVM of this process, which the compiling thread looks for; none if it has not found out yet. With limits, waits
/// for it.
pub(super) fn llvm(wait: Option<&RunLimits>) -> Option<&'static Found> {
    super::c::watch_thread();
    if let Some(found) = find::known() {
        return Some(found);
    }
    if fork::is_child() {
        return None;
    }
    SERVICE.requests.as_ref()?;
    wait.and_then(find::wait)
}

/// The slot of a module's code, requested now if it is new; `None` if nobody can compile it.
pub(super) fn request(text: String) -> Option<Arc<Slot>> {
    if fork::is_child() {
        return None;
    }
    let service = &*SERVICE;
    let sender = service.requests.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
    let text: Arc<str> = text.into();
    let mut slots = service.slots.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = slots.slots.get(&text) {
        return Some(known.clone());
    }
    let slot = Arc::new(Slot::default());
    // A slot that nobody fills must not be found later.
    sender.send(Request { text: text.clone(), slot: slot.clone() }).ok()?;
    slots.add(text, slot.clone());
    Some(slot)
}

/// Part of the cache key. To be changed whenever the same text gets other code: with the arguments of entries, or the
/// object format.
const GENERATOR_VERSION: &str = concat!("acc ", env!("CARGO_PKG_VERSION"), " 5");

/// The code of a module: from the disk, or compiled and stored there.
fn code(engine: &Arc<Engine>, disk: Option<&Cache>, request: &Request) -> Option<Loaded> {
    // The tile executor runs what finds no room, until programs are dropped.
    if engine.is_full() {
        return None;
    }
    let passes = passes(engine.version.0);
    // All that the code depends on. A library that cannot be identified has no cache.
    let kept = disk.zip(engine.identity()).map(|(disk, library)| {
        let key = Key::new(&[GENERATOR_VERSION, &library, &engine.generation(), passes, &request.text]);
        (disk, key)
    });
    if let Some((disk, key)) = &kept
        && let Some(object) = disk.get(key)
    {
        match engine.load(&object) {
            Ok(loaded) => {
                READ.fetch_add(1, Ordering::Relaxed);
                return Some(loaded);
            }
            Err(_) => disk.forget(key),
        }
    }
    let span = timeline::span(timeline::Kind::Pass, || "compile");
    let start = Instant::now();
    let object = engine.object(&request.text, passes);
    let loaded = object.and_then(|object| {
        let loaded = engine.load(&object)?;
        if let Some((disk, key)) = &kept {
            disk.put(key, &object);
        }
        Ok(loaded)
    });
    drop(span);
    COMPILED.fetch_add(1, Ordering::Relaxed);
    MICROSECONDS.fetch_add(start.elapsed().as_micros() as u64, Ordering::Relaxed);
    loaded.map_err(|e| note_defect(format!("{e}\n{}", request.text))).ok()
}

/// What was compiled in this process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counts {
    /// Kernels that LLVM compiled.
    pub compiled: u64,
    /// How long that took.
    pub time: Duration,
    /// Kernels whose code was on the disk.
    pub read: u64,
}

/// What was compiled in this process so far.
pub fn counts() -> Counts {
    Counts {
        compiled: COMPILED.load(Ordering::Relaxed),
        time: Duration::from_micros(MICROSECONDS.load(Ordering::Relaxed)),
        read: READ.load(Ordering::Relaxed),
    }
}

static COMPILED: AtomicU64 = AtomicU64::new(0);
static MICROSECONDS: AtomicU64 = AtomicU64::new(0);
static READ: AtomicU64 = AtomicU64::new(0);
