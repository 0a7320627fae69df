//! Compiling kernels: one thread compiles, in the order asked; code is kept by the text it comes from.

use super::c::{Engine, Loaded};
use super::code::Entry;
use super::disk::Disk;
use super::hash::hash;
use super::{find, note_defect, passes};
use acc_core::timeline;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Kernels whose code is kept though no program in use has it.
const KEPT: usize = 512;

/// LLVM recurses over what it compiles, and callers may have little stack left.
const STACK: usize = 64 << 20;

/// The machine code of a module, once it is there; none if LLVM refused it.
pub(super) type Slot = OnceLock<Option<Entry>>;

struct Request {
    text: String,
    key: u128,
    slot: Arc<Slot>,
}

/// The code of this process.
struct Service {
    cache: Mutex<Cache>,
    /// To the thread that compiles; none if it could not be started.
    requests: Option<Mutex<Sender<Request>>>,
}

#[derive(Default)]
struct Cache {
    slots: HashMap<u128, Arc<Slot>>,
    /// From the first asked for to the last.
    order: VecDeque<u128>,
}

static SERVICE: LazyLock<Service> = LazyLock::new(|| {
    let (sender, receiver) = channel::<Request>();
    let worker = std::thread::Builder::new().name("acc-compile".to_string()).stack_size(STACK).spawn(move || {
        let disk = Disk::open();
        for request in receiver {
            // Somebody may wait for the slot, whatever happens.
            let code = catch_unwind(AssertUnwindSafe(|| {
                find::llvm().engine.as_ref().and_then(|engine| code(engine, disk.as_ref(), &request))
            }));
            let _ = request.slot.set(code.ok().flatten().map(Entry::new));
        }
    });
    Service { cache: Mutex::default(), requests: worker.ok().map(|_| Mutex::new(sender)) }
});

/// The code of a module, asked for now if it was not before; `None` if there is nobody to compile it.
pub(super) fn request(engine: &Engine, text: String) -> Option<Arc<Slot>> {
    let (major, minor, patch) = engine.version;
    let machine = format!("{major}.{minor}.{patch} {} {} {}", engine.cpu, engine.features, passes(major));
    let key = hash(&[GENERATOR, &machine, &text]);
    let service = &*SERVICE;
    let slot = {
        let mut cache = service.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = cache.slots.get(&key) {
            return Some(known.clone());
        }
        let slot = Arc::new(Slot::new());
        cache.slots.insert(key, slot.clone());
        cache.order.push_back(key);
        if cache.order.len() > KEPT
            && let Some(oldest) = cache.order.pop_front()
        {
            cache.slots.remove(&oldest);
        }
        slot
    };
    let sender = service.requests.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
    sender.send(Request { text, key, slot: slot.clone() }).ok()?;
    Some(slot)
}

/// Changes whenever the same text comes to mean other code: with the arguments of entries, or how objects are kept.
const GENERATOR: &str = concat!("acc ", env!("CARGO_PKG_VERSION"), " 4");

/// The code of a module: from the disk, or compiled and kept there.
fn code(engine: &Arc<Engine>, disk: Option<&Disk>, request: &Request) -> Option<Loaded> {
    if let Some(object) = disk.and_then(|d| d.get(request.key)) {
        match engine.load(&object) {
            Ok(loaded) => {
                READ.fetch_add(1, Ordering::Relaxed);
                return Some(loaded);
            }
            Err(_) => disk.into_iter().for_each(|d| d.forget(request.key)),
        }
    }
    let span = timeline::span(timeline::Kind::Pass, || "compile");
    let start = Instant::now();
    let object = engine.object(&request.text, passes(engine.version.0));
    let loaded = object.and_then(|object| {
        let loaded = engine.load(&object)?;
        disk.into_iter().for_each(|d| d.put(request.key, &object));
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
