//! One array of the GPU scene whose ranges come and go, and are compacted.

use std::ops::Range;

use super::column::Column;
use super::scatter::ScatterJob;
use crate::memory::UploadRing;
use crate::scene::error::{Error, Result};
use crate::scene::ranges::{RangeAllocator, RangeId};
use crate::sparse::{CommitPolicy, GrowableBuffer, SparseMemory};

/// A column with ranges.
#[derive(Debug)]
pub struct Table<T> {
    column: Column<T>,
    ranges: RangeAllocator,
}

impl<T: bytemuck::Pod> Table<T> {
    /// An empty table of at most `most` elements. Its growable buffer is called `name`.
    ///
    /// # Errors
    /// When the device has no addresses left.
    pub fn new(sparse: &SparseMemory, name: &str, policy: CommitPolicy, most: u32) -> Result<Self> {
        let column = Column::new(sparse, name, policy)?;
        let ranges = RangeAllocator::new(column.capacity().min(most));
        Ok(Self { column, ranges })
    }

    /// Adds elements; they lie together.
    ///
    /// # Errors
    /// When the buffer's addresses are full.
    pub fn add(&mut self, elements: &[T]) -> Result<RangeId> {
        let count = elements.len() as u32;
        let id = self.ranges.allocate(count).ok_or_else(|| Error::Full {
            what: self.column.buffer().name().into(),
            asked: u64::from(count),
            capacity: u64::from(self.ranges.capacity()),
        })?;
        let range = self.ranges.get(id)?;
        self.column.write(range.start, elements);
        Ok(id)
    }

    /// Overwrites the elements of a range, as many as are given and as it has.
    ///
    /// # Errors
    /// When the range is gone.
    pub fn write(&mut self, id: RangeId, elements: &[T]) -> Result<()> {
        let range = self.ranges.get(id)?;
        self.column.write(range.start, &elements[..elements.len().min(range.len())]);
        Ok(())
    }

    /// Removes a range and returns where it was.
    ///
    /// # Errors
    /// When the range is gone already.
    pub fn remove(&mut self, id: RangeId) -> Result<Range<u32>> {
        let range = self.ranges.free(id)?;
        self.column.clear(range.clone());
        Ok(range)
    }

    /// Where a range lies now. Compaction moves ranges: ask again each frame.
    ///
    /// # Errors
    /// When the range is gone.
    pub fn range(&self, id: RangeId) -> Result<Range<u32>> {
        Ok(self.ranges.get(id)?)
    }

    /// The elements up to the end, free ones included.
    pub fn elements(&self) -> &[T] {
        self.column.elements(self.len())
    }

    /// Changes elements in place where `change` returns true.
    pub fn update_each(&mut self, change: impl FnMut(&mut T) -> bool) {
        self.column.update_each(self.ranges.end(), change);
    }

    /// Elements up to the end of the last range: what shaders may touch.
    pub fn len(&self) -> u32 {
        self.ranges.end()
    }

    /// Whether no range is left.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Elements in ranges.
    pub fn used(&self) -> u32 {
        self.ranges.used()
    }

    /// Moves ranges from the tail into holes, at most `budget` elements, so that the watermark can come down.
    /// Returns what moved, old place and new.
    pub fn compact(&mut self, budget: u32) -> Vec<(Range<u32>, Range<u32>)> {
        let moves = self.ranges.plan_compaction(budget);
        let moved: Vec<_> = moves.into_iter().map(|m| (m.from, m.to)).collect();
        for (from, to) in &moved {
            self.column.relocate(from.clone(), to.clone());
        }
        moved
    }

    /// Makes the buffer as large as its policy wants for the elements there are.
    ///
    /// # Errors
    /// When the device has no memory; everything keeps its contents.
    pub fn commit(&mut self, frame: u64) -> Result<()> {
        self.column.commit(self.ranges.end(), frame)
    }

    /// Writes what changed into the upload ring.
    ///
    /// # Errors
    /// When there is no memory for the upload.
    pub(super) fn upload(&mut self, ring: &mut UploadRing, jobs: &mut Vec<ScatterJob>) -> Result<()> {
        self.column.upload(ring, jobs)
    }

    pub(super) fn submitted(&mut self) {
        self.column.submitted();
    }

    pub(super) fn keep_unsubmitted(&mut self) {
        self.column.keep_unsubmitted();
    }

    /// The growable buffer.
    pub fn buffer(&self) -> &GrowableBuffer {
        self.column.buffer()
    }

    /// Bytes ever uploaded.
    pub fn uploaded_bytes(&self) -> u64 {
        self.column.uploaded_bytes()
    }
}
