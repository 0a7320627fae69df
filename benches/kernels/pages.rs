//! Memory of the benchmark: large blocks are made of huge pages, as NumPy's are, so that the arrays of everything that is
//! compared lie in the same kind of memory.

use std::alloc::{GlobalAlloc, Layout, System};

/// From here on a block is one of huge pages, as in NumPy.
const LARGE: usize = 4 << 20;
const HUGE_PAGE: usize = 2 << 20;

/// The system's allocator, with huge pages for large blocks.
pub struct HugePages;

fn layout(of: Layout) -> Layout {
    if of.size() < LARGE { of } else { of.align_to(HUGE_PAGE).unwrap_or(of) }
}

// SAFETY: the system's allocator gets the same layout for a block when it is made and when it is given back.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, of: Layout) -> *mut u8 {
        // SAFETY: by the contract of this function.
        let block = unsafe { System.alloc(layout(of)) };
        if of.size() >= LARGE && !block.is_null() {
            // SAFETY: the block has so many bytes and begins at a page. That this is advice only is why nobody asks for
            // the result.
            unsafe { libc::madvise(block.cast(), of.size() & !(HUGE_PAGE - 1), libc::MADV_HUGEPAGE) };
        }
        block
    }
    unsafe fn dealloc(&self, block: *mut u8, of: Layout) {
        // SAFETY: by the contract of this function.
        unsafe { System.dealloc(block, layout(of)) }
    }
}
