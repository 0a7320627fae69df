//! Raw memory blocks.
//!
//! With debug assertions on, a block ends at a guard page, so that machine code that accesses memory beyond a column
//! faults immediately.

use super::CACHE_LINE_BYTES;
use std::ptr::NonNull;

#[cfg(all(debug_assertions, unix))]
use guarded as memory;
#[cfg(not(all(debug_assertions, unix)))]
use plain as memory;

pub(super) use memory::size_class;

/// Memory from the system.
struct Place {
    base: NonNull<u8>,
    /// All of its bytes.
    size: usize,
    /// From `base` to the first usable one.
    offset: usize,
}

/// A raw block: zeroed when allocated, and since then written as values of one scalar type only.
pub(super) struct Block {
    place: Place,
    /// Usable bytes from the start.
    pub(super) bytes: usize,
}

// SAFETY: a block is plain memory owned by its holder; nothing in it is tied to a thread.
unsafe impl Send for Block {}
// SAFETY: shared access to a block reads it only through `Buffer`, which follows the borrow rules.
unsafe impl Sync for Block {}

impl Block {
    /// Allocates `bytes` bytes, which must be a [`size_class`].
    pub(super) fn new(bytes: usize) -> Option<Block> {
        memory::allocate(bytes).map(|place| Block { place, bytes })
    }

    /// The first byte, at the start of a cache line.
    pub(super) fn start(&self) -> *mut u8 {
        // SAFETY: `offset` bytes and `bytes` after them lie in the place.
        unsafe { self.place.base.as_ptr().add(self.place.offset) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        memory::free(&self.place);
    }
}

/// Blocks of few size classes, for reuse; large ones consist of huge pages.
#[cfg(any(test, not(all(debug_assertions, unix))))]
mod plain {
    use super::{CACHE_LINE_BYTES, NonNull, Place};
    use std::alloc::Layout;

    /// Blocks from this size on start at a huge page boundary: smaller ones would waste most of a page.
    const MIN_HUGE_PAGE_BLOCK_BYTES: usize = 4 << 20;
    /// The size of a huge page.
    const HUGE_PAGE_BYTES: usize = 2 << 20;
    /// The alignment requested from the allocator. Larger alignment is done here, which lets the allocator take zeroed
    /// pages from the system.
    const ALLOCATOR_ALIGN: usize = 16;

    /// The capacity for a request: a multiple of a quarter of a power of two, so that at most a fifth is unused.
    pub(crate) fn size_class(bytes: usize) -> Option<usize> {
        let bytes = bytes.max(CACHE_LINE_BYTES);
        let quarter = (bytes.checked_next_power_of_two()? / 8).max(CACHE_LINE_BYTES);
        bytes.checked_next_multiple_of(quarter)
    }

    pub(super) fn allocate(bytes: usize) -> Option<Place> {
        let align = if bytes >= MIN_HUGE_PAGE_BLOCK_BYTES { HUGE_PAGE_BYTES } else { CACHE_LINE_BYTES };
        let size = bytes.checked_add(align)?;
        let layout = Layout::from_size_align(size, ALLOCATOR_ALIGN).ok()?;
        // SAFETY: the layout's size is not zero, since `align` is not.
        let base = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
        let place = Place { base, size, offset: base.as_ptr().align_offset(align) };
        // `align_offset` gives up only where no offset exists; for bytes and a power of two it is below `align`.
        if place.offset >= align {
            free(&place);
            return None;
        }
        #[cfg(target_os = "linux")]
        if bytes >= MIN_HUGE_PAGE_BLOCK_BYTES {
            // Only advice: without huge pages the block works too. SAFETY: whole pages inside the block, whose contents
            // do not change.
            unsafe {
                let start = base.as_ptr().add(place.offset);
                libc::madvise(start.cast(), bytes & !(HUGE_PAGE_BYTES - 1), libc::MADV_HUGEPAGE)
            };
        }
        Some(place)
    }

    pub(super) fn free(place: &Place) {
        // SAFETY: allocated in `allocate` with this layout, which was valid then, and freed once.
        unsafe {
            let layout = Layout::from_size_align_unchecked(place.size, ALLOCATOR_ALIGN);
            std::alloc::dealloc(place.base.as_ptr(), layout);
        }
    }
}

/// Blocks that end at a guard page.
#[cfg(all(debug_assertions, unix))]
mod guarded {
    use super::{CACHE_LINE_BYTES, NonNull, Place};

    /// Rounds up to whole cache lines.
    pub(crate) fn size_class(bytes: usize) -> Option<usize> {
        bytes.max(CACHE_LINE_BYTES).checked_next_multiple_of(CACHE_LINE_BYTES)
    }

    pub(super) fn allocate(bytes: usize) -> Option<Place> {
        // SAFETY: returns a number.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
        let usable = bytes.checked_next_multiple_of(page)?;
        let size = usable.checked_add(page)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, which overlaps nothing.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), size, access, kind, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        let place = Place { base: NonNull::new(base.cast())?, size, offset: usable - bytes };
        // SAFETY: the last page of the mapping.
        if unsafe { libc::mprotect(base.byte_add(usable), page, libc::PROT_NONE) } != 0 {
            free(&place);
            return None;
        }
        Some(place)
    }

    pub(super) fn free(place: &Place) {
        // SAFETY: mapped in `allocate`, and unmapped once.
        let freed = unsafe { libc::munmap(place.base.as_ptr().cast(), place.size) };
        debug_assert_eq!(freed, 0, "{}", std::io::Error::last_os_error());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_the_allocator_are_zeroed_and_aligned() {
        for bytes in [1, 65, 5000, 3 << 20, 5 << 20] {
            let class = plain::size_class(bytes).unwrap();
            assert!(bytes <= class && 4 * class <= 5 * bytes + 4 * CACHE_LINE_BYTES, "{class} bytes for {bytes}");
            let place = plain::allocate(class).unwrap();
            // SAFETY: `class` bytes from the offset on are in the place, which nothing else uses.
            let block = unsafe { std::slice::from_raw_parts_mut(place.base.as_ptr().add(place.offset), class) };
            assert_eq!(block.as_ptr().align_offset(CACHE_LINE_BYTES), 0);
            assert!(block.iter().all(|byte| *byte == 0));
            block.fill(1);
            plain::free(&place);
        }
    }

    #[test]
    #[cfg(all(debug_assertions, unix))]
    fn nobody_reads_past_a_block() {
        use std::os::fd::AsRawFd;
        let (_reader, pipe) = std::io::pipe().unwrap();
        for bytes in [1, 64, 4096, 5000, 1 << 20] {
            let block = Block::new(size_class(bytes).unwrap()).unwrap();
            // SAFETY: the system checks whether it may read these bytes, and returns an error if not.
            let written = |at: usize| unsafe { libc::write(pipe.as_raw_fd(), block.start().byte_add(at).cast(), 1) };
            assert_eq!(written(block.bytes - 1), 1);
            assert_eq!(written(block.bytes), -1);
            assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::EFAULT));
            assert!(block.start().align_offset(CACHE_LINE_BYTES) == 0 && block.bytes < bytes + CACHE_LINE_BYTES);
        }
    }
}
