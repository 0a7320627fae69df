//! An allocator that counts, and that refuses what a test wants refused.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Which allocations of a thread are refused.
#[derive(Clone, Copy)]
struct Refusal {
    /// Smaller ones are always granted.
    least: usize,
    /// How many of those that are not smaller are granted before the first refusal.
    granted: usize,
}

thread_local! {
    static REFUSAL: Cell<Option<Refusal>> = const { Cell::new(None) };
    static REFUSED: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // A thread that ends has no thread-local variables any more: nothing is refused.
    let _ = HELD.try_with(|held| held.set(held.get() + bytes));
}

/// Counts the bytes that each thread takes and gives back, and refuses as [`refusing`] says.
pub struct Watched;

fn refused(bytes: usize) -> bool {
    // As above: nothing is refused.
    let refusal = REFUSAL.try_with(Cell::get).ok().flatten();
    let Some(Refusal { least, granted }) = refusal.filter(|r| bytes >= r.least) else { return false };
    REFUSAL.set(Some(Refusal { least, granted: granted.saturating_sub(1) }));
    if granted == 0 {
        REFUSED.set(REFUSED.get() + 1);
    }
    granted == 0
}

// SAFETY: every call goes to the system's allocator unchanged, or refused by a null pointer, which the contract
// of `GlobalAlloc` allows at any time. The variables used have no destructors and take no memory when first used.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refused(layout.size()) {
            return std::ptr::null_mut();
        }
        count(layout.size() as isize);
        // SAFETY: the caller's layout, which the caller vouches for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refused(layout.size()) {
            return std::ptr::null_mut();
        }
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: every block comes from `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && refused(size) {
            return std::ptr::null_mut();
        }
        count(size as isize - layout.size() as isize);
        // SAFETY: as above; `size` is not zero, as the caller vouches.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// The bytes that this thread has taken and not given back.
#[allow(dead_code, reason = "each test file uses a part")]
pub fn held() -> isize {
    HELD.get()
}

/// Runs `f` while this thread's allocations of `least` bytes and more are refused, but for the first `granted` of them; also
/// gives how many were refused.
#[allow(dead_code, reason = "each test file uses a part")]
pub fn refusing<T>(least: usize, granted: usize, f: impl FnOnce() -> T) -> (T, usize) {
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            REFUSAL.set(None);
        }
    }
    REFUSED.set(0);
    REFUSAL.set(Some(Refusal { least, granted }));
    let end = End;
    let result = f();
    drop(end);
    (result, REFUSED.get())
}
