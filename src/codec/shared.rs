//! Buffers that the members of a team write together, each its own part.

use std::marker::PhantomData;
use std::ops::Range;

/// A mutable slice that several threads write disjoint ranges of.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: a `Shared` is only a way to make `&mut` parts of a slice of `Send` values on other threads, and making one
// is unsafe: the maker promises that no two live parts overlap.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub fn new(slice: &'a mut [T]) -> Self {
        Self { start: slice.as_mut_ptr(), len: slice.len(), slice: PhantomData }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn as_ptr(&self) -> *mut T {
        self.start
    }

    /// # Safety
    /// No two parts alive at the same time may overlap, on any thread.
    ///
    /// # Panics
    /// If the range is not inside the slice.
    pub unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: inside the borrowed slice by the assertion, not aliased by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }
}
