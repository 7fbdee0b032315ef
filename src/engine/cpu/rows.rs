//! A small matrix whose columns the members of the team fill in parallel.

/// `[rows, width]`, row-major.
pub struct Rows {
    /// Keeps the memory; read and written through `start` alone.
    data: Vec<f32>,
    start: *mut f32,
    width: usize,
}

// SAFETY: shared writes go through `put` and `add`, whose callers promise disjoint columns.
unsafe impl Send for Rows {}
// SAFETY: as above.
unsafe impl Sync for Rows {}

impl Rows {
    pub fn new(rows: usize, width: usize) -> Self {
        let mut data = vec![0.0; rows * width];
        let start = data.as_mut_ptr();
        Self { data, start, width }
    }

    pub fn row(&self, r: usize) -> &[f32] {
        assert!((r + 1) * self.width <= self.data.len());
        // SAFETY: inside the vector; through `start`, so that writes by `put` are seen.
        unsafe { std::slice::from_raw_parts(self.start.add(r * self.width), self.width) }
    }

    /// The first `n` rows.
    pub fn rows(&self, n: usize) -> &[f32] {
        assert!(n * self.width <= self.data.len());
        // SAFETY: inside the vector; through `start`, so that writes by `put` are seen.
        unsafe { std::slice::from_raw_parts(self.start, n * self.width) }
    }

    pub fn row_mut(&mut self, r: usize) -> &mut [f32] {
        assert!((r + 1) * self.width <= self.data.len());
        // SAFETY: inside the vector and exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(r * self.width), self.width) }
    }

    /// Writes `values` into row `r` from column `column` on.
    ///
    /// # Safety
    /// No reference to these elements may be alive, and no other thread may be in a call on them.
    pub unsafe fn put(&self, r: usize, column: usize, values: &[f32]) {
        // SAFETY: as promised by the caller.
        unsafe { self.part(r, column, values.len()).copy_from_slice(values) }
    }

    /// Adds `values` to row `r` from column `column` on.
    ///
    /// # Safety
    /// As for [`Rows::put`].
    pub unsafe fn add(&self, r: usize, column: usize, values: &[f32]) {
        // SAFETY: as promised by the caller.
        let part = unsafe { self.part(r, column, values.len()) };
        part.iter_mut().zip(values).for_each(|(x, v)| *x += v);
    }

    /// # Safety
    /// As for [`Rows::put`].
    #[allow(clippy::mut_from_ref)]
    unsafe fn part(&self, r: usize, column: usize, len: usize) -> &mut [f32] {
        assert!(column + len <= self.width && (r + 1) * self.width <= self.data.len());
        // SAFETY: inside the vector by the assertion, exclusive by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(r * self.width + column), len) }
    }
}
