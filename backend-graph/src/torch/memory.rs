//! The memory of a run: every tensor on the CPU that libtorch makes, as a result or inside of one of its operations, is
//! charged to the run before its memory is taken.
//!
//! libtorch takes memory through one allocator, which `memory.cpp` replaces by one that asks [`charge`] first. What a run
//! allows is a setting of its thread ([`Account`]). Views, and the arguments that a run lends to libtorch, take no memory
//! and count nothing; a tensor is charged until the last one that shares its memory is gone, which may be after the run.
//!
//! What this does not see: memory on other devices, what the libraries inside of libtorch take by themselves (the buffers
//! of a matrix product), and tensors that an operation makes on its helper threads.

use super::TorchError;
use acc_core::{Charge, Error, Meter, RunLimits};
use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Once;
use tch::{Kind, Tensor};

unsafe extern "C" {
    /// See `memory.cpp`.
    fn acc_torch_charge_memory(
        charge: extern "C" fn(usize, *mut bool) -> *mut c_void,
        release: extern "C" fn(*mut c_void),
    );
}

/// Makes libtorch ask [`charge`] for all further memory.
pub(super) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // SAFETY: called once; both functions may be called on any thread at any time, and do not unwind.
        unsafe { acc_torch_charge_memory(charge, release) }
    });
}

/// Less than this is never refused. A call that takes a number makes a tensor of it, and tch panics where such a call fails:
/// it must take no other memory.
const MIN_REFUSED_BYTES: usize = 4096;

struct Open {
    limits: RunLimits,
    meter: Meter,
    /// Whether memory is counted and not refused.
    granted: bool,
    /// Why memory was refused.
    refused: Option<Error>,
}

thread_local! {
    /// What the run on this thread allows.
    static OPEN: RefCell<Option<Open>> = const { RefCell::new(None) };
}

/// Memory that libtorch takes on this thread is a run's for as long as this lives.
#[must_use]
pub(super) struct Account {
    before: Option<Open>,
    // The setting is of one thread, so this must not leave it.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Account {
    pub(super) fn open(limits: &RunLimits, meter: &Meter) -> Account {
        let open = Open { limits: limits.clone(), meter: meter.clone(), granted: false, refused: None };
        Account { before: OPEN.replace(Some(open)), _not_send: std::marker::PhantomData }
    }

    /// Why memory was refused, if it was.
    pub(super) fn refused(&self) -> Option<Error> {
        OPEN.with_borrow_mut(|open| open.as_mut().and_then(|open| open.refused.take()))
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        OPEN.replace(self.before.take());
    }
}

/// Calls what would panic where memory is refused: there is room for a tensor, and none is refused until it returns.
pub(super) fn with_room<T>(
    shape: &[i64],
    options: (Kind, tch::Device),
    call: impl FnOnce() -> Result<T, TorchError>,
) -> Result<T, TorchError> {
    drop(Tensor::f_empty(shape, options)?);
    let grant = |granted: bool| {
        OPEN.with_borrow_mut(|open| open.as_mut().map(|open| std::mem::replace(&mut open.granted, granted)))
    };
    let before = grant(true);
    let result = call();
    grant(before.unwrap_or(false));
    result
}

/// Charges memory that libtorch is about to take, or refuses it. Returns what [`release`] gets when that is given back.
extern "C" fn charge(bytes: usize, refused: *mut bool) -> *mut c_void {
    // Where a thread ends, or this thread is in the middle of opening an account, no run is in progress.
    let charged = OPEN.try_with(|open| open.try_borrow_mut().ok().and_then(|mut open| open.as_mut()?.charge(bytes)));
    match charged.ok().flatten() {
        Some(Ok(charge)) => Box::into_raw(Box::new(charge)).cast(),
        Some(Err(Refused)) => {
            // SAFETY: the allocator passes the address of a variable of its own.
            unsafe { *refused = true };
            std::ptr::null_mut()
        }
        None => std::ptr::null_mut(),
    }
}

/// Memory was given back.
extern "C" fn release(charge: *mut c_void) {
    if !charge.is_null() {
        // SAFETY: it is from `charge`, and each block is freed once.
        drop(unsafe { Box::from_raw(charge.cast::<Charge>()) });
    }
}

struct Refused;

impl Open {
    /// Nothing if this need not be counted.
    fn charge(&mut self, bytes: usize) -> Option<Result<Charge, Refused>> {
        let granted = self.granted || bytes < MIN_REFUSED_BYTES;
        let in_time = if granted { Ok(()) } else { self.limits.check() };
        match in_time.and_then(|()| self.meter.charge(bytes as u64)) {
            Ok(charge) => self.meter.is_limited().then_some(Ok(charge)),
            Err(_) if granted => None,
            Err(e) => {
                self.refused = Some(e);
                Some(Err(Refused))
            }
        }
    }
}
