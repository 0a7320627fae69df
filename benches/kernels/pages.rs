//! Memory of the benchmark: large blocks are made of huge pages, as NumPy's are, so that the arrays of everything that is
//! compared lie in the same kind of memory.

use std::alloc::{GlobalAlloc, Layout, System};

/// A block that is larger than one is made of them.
const HUGE_PAGE: usize = 2 << 20;

/// The system's allocator, with huge pages for large blocks.
pub struct HugePages;

fn layout(of: Layout) -> Layout {
    let pages = Layout::from_size_align(of.size().next_multiple_of(HUGE_PAGE), HUGE_PAGE);
    if of.size() <= HUGE_PAGE { of } else { pages.unwrap_or(of) }
}

// SAFETY: the system's allocator gets the same layout for a block when it is made and when it is given back.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, of: Layout) -> *mut u8 {
        let of = layout(of);
        // SAFETY: by the contract of this function.
        let block = unsafe { System.alloc(of) };
        if of.align() == HUGE_PAGE && !block.is_null() {
            // SAFETY: the block has so many bytes and begins at a page. This is advice only: nobody asks whether it is
            // taken.
            unsafe { libc::madvise(block.cast(), of.size(), libc::MADV_HUGEPAGE) };
        }
        block
    }
    unsafe fn dealloc(&self, block: *mut u8, of: Layout) {
        // SAFETY: by the contract of this function.
        unsafe { System.dealloc(block, layout(of)) }
    }
}
