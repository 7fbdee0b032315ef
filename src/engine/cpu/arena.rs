//! Blocks of memory asked for once: weights in huge pages where the system has them, caches in small ones.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use memmap2::MmapMut;

const ALIGN: usize = 64;

/// Plain numbers: any bytes are a value, zero included.
///
/// # Safety
/// The type must have no padding and no invalid bit pattern, and an alignment of at most [`ALIGN`].
pub unsafe trait Plain: Copy + Send + Sync + 'static {}
// SAFETY: plain numbers.
unsafe impl Plain for f32 {}
// SAFETY: a transparent u16.
unsafe impl Plain for half::f16 {}
// SAFETY: a transparent u16.
unsafe impl Plain for half::bf16 {}
// SAFETY: a plain number.
unsafe impl Plain for i8 {}

pub struct Arena {
    block: Arc<Block>,
    used: usize,
}

struct Block {
    map: MmapMut,
    base: *mut u8,
}

// SAFETY: the block is only reached through `ArenaSlice`s, which do not overlap and follow Rust's borrowing.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

/// Which pages an arena is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// For what is filled whole and read in long streams.
    Huge,
    /// For what is filled little by little: a huge page would be taken and zeroed at its first byte.
    Small,
}

impl Arena {
    /// Reserves `bytes`; pages are taken when first written.
    pub fn new(bytes: usize, pages: Pages) -> std::io::Result<Self> {
        // The slack lets the first slice start on a huge page.
        let mut map = MmapMut::map_anon(bytes.max(1) + HUGE_PAGE)?;
        let offset = map.as_ptr().align_offset(HUGE_PAGE);
        #[cfg(target_os = "linux")]
        // A kernel without huge pages says no; the arena then works with small ones.
        let _ = map.advise(match pages {
            Pages::Huge => memmap2::Advice::HugePage,
            Pages::Small => memmap2::Advice::NoHugePage,
        });
        let base = map[offset..].as_mut_ptr();
        Ok(Self { block: Arc::new(Block { map, base }), used: 0 })
    }

    pub fn padded(bytes: usize) -> usize {
        bytes.next_multiple_of(ALIGN)
    }

    /// The next `len` elements, zeroed.
    ///
    /// # Panics
    /// When the arena was created too small: sizes are added up from the same dimensions beforehand.
    pub fn take<T: Plain>(&mut self, len: usize) -> ArenaSlice<T> {
        let bytes = Self::padded(len * size_of::<T>());
        assert!(self.used + bytes <= self.block.map.len() - HUGE_PAGE, "the arena is sized from the same dimensions");
        // SAFETY: the offset is inside the block, by the assertion.
        let start = unsafe { self.block.base.add(self.used) }.cast();
        self.used += bytes;
        ArenaSlice { start, len, _block: self.block.clone(), elements: PhantomData }
    }
}

const HUGE_PAGE: usize = 2 << 20;

/// A part of the arena that nobody else has.
pub struct ArenaSlice<T> {
    start: *mut T,
    len: usize,
    _block: Arc<Block>,
    elements: PhantomData<T>,
}

// SAFETY: owns its part of the block, as a `Vec<T>` would.
unsafe impl<T: Plain> Send for ArenaSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Plain> Sync for ArenaSlice<T> {}

impl<T: Plain> Deref for ArenaSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `take` gave this range to this slice alone, zeroed and aligned, and the block lives as long.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T: Plain> DerefMut for ArenaSlice<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl<T: Plain> ArenaSlice<T> {
    pub fn rows_mut(&mut self, stride: usize) -> Vec<&mut [T]> {
        self.chunks_exact_mut(stride).collect()
    }
}
