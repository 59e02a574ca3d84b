//! One array of the GPU scene: elements in a growable buffer, a shadow on the host, dirty ranges between.

use std::ops::Range;

use ash::vk::BufferUsageFlags;

use super::super::dirty::DirtyRanges;
use super::super::ranges::{RangeAllocator, RangeId};
use super::scatter::ScatterJob;
use crate::memory::UploadRing;
use crate::scene::error::{Error, Result};
use crate::sparse::{CommitPolicy, GrowableBuffer, GrowableDesc, SparseMemory};

/// Bytes of addresses that each of the GPU scene's buffers asks for; cut to the device's limits.
pub const TABLE_CAPACITY: u64 = 2 << 30;

/// An array of `T` that the GPU sees, with ranges that come and go.
#[derive(Debug)]
pub struct Table<T> {
    buffer: GrowableBuffer,
    ranges: RangeAllocator,
    shadow: Vec<T>,
    dirty: DirtyRanges,
    uploaded_bytes: u64,
}

/// Dirty ranges closer than this are uploaded as one: a few wasted elements cost less than a range.
const MERGE_GAP: u32 = 4;

impl<T: bytemuck::Pod> Table<T> {
    /// An empty table. Its growable buffer is called `name`.
    ///
    /// # Errors
    /// When the device has no addresses left.
    pub fn new(sparse: &SparseMemory, name: &str, policy: CommitPolicy) -> Result<Self> {
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let desc = GrowableDesc { policy, ..GrowableDesc::new(name, TABLE_CAPACITY, usage) };
        let buffer = GrowableBuffer::new(sparse, &desc)?;
        let capacity = (buffer.capacity() / size_of::<T>() as u64).min(u64::from(u32::MAX)) as u32;
        Ok(Self {
            buffer,
            ranges: RangeAllocator::new(capacity),
            shadow: Vec::new(),
            dirty: DirtyRanges::new(MERGE_GAP),
            uploaded_bytes: 0,
        })
    }

    /// Adds elements; they lie together.
    ///
    /// # Errors
    /// When the buffer's addresses are full.
    pub fn add(&mut self, elements: &[T]) -> Result<RangeId> {
        let count = elements.len() as u32;
        let id = self.ranges.allocate(count).ok_or_else(|| Error::Full {
            what: self.buffer.name().into(),
            asked: u64::from(count),
            capacity: u64::from(self.ranges.capacity()),
        })?;
        self.write(id, elements)?;
        Ok(id)
    }

    /// Overwrites all elements of a range.
    ///
    /// # Errors
    /// When the range is gone.
    pub fn write(&mut self, id: RangeId, elements: &[T]) -> Result<()> {
        let range = self.ranges.get(id)?;
        let end = range.end as usize;
        if self.shadow.len() < end {
            self.shadow.resize(end, T::zeroed());
        }
        let count = elements.len().min(range.len());
        let start = range.start as usize;
        self.shadow[start..start + count].copy_from_slice(&elements[..count]);
        self.dirty.mark(range.start..range.start + count as u32);
        Ok(())
    }

    /// Removes a range; its elements become zero on the GPU too, so that a free slot is seen as such.
    ///
    /// # Errors
    /// When the range is gone already.
    pub fn remove(&mut self, id: RangeId) -> Result<()> {
        let range = self.ranges.free(id)?;
        self.shadow[range.start as usize..range.end as usize].fill(T::zeroed());
        self.dirty.mark(range);
        Ok(())
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
        &self.shadow[..self.len() as usize]
    }

    /// Changes elements in place where `change` returns true.
    pub fn update_each(&mut self, mut change: impl FnMut(&mut T) -> bool) {
        let end = self.ranges.end() as usize;
        for (index, element) in self.shadow[..end].iter_mut().enumerate() {
            if change(element) {
                self.dirty.mark(index as u32..index as u32 + 1);
            }
        }
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
        for m in &moves {
            let from = m.from.start as usize..m.from.end as usize;
            self.shadow.copy_within(from.clone(), m.to.start as usize);
            self.shadow[from].fill(T::zeroed());
            self.dirty.mark(m.to.clone());
            self.dirty.mark(m.from.clone());
        }
        moves.into_iter().map(|m| (m.from, m.to)).collect()
    }

    /// Makes the buffer as large as its policy wants for the elements there are.
    ///
    /// # Errors
    /// When the device has no memory; everything keeps its contents.
    pub fn commit(&mut self, frame: u64) -> Result<()> {
        let bytes = u64::from(self.len()) * size_of::<T>() as u64;
        self.buffer.follow(bytes, frame)?;
        let end = self.len() as usize;
        self.dirty.clear(self.len()..u32::MAX);
        self.shadow.truncate(end);
        Ok(())
    }

    /// Writes what changed into the upload ring, and says how to scatter it.
    ///
    /// # Errors
    /// When there is no memory for the upload.
    pub(super) fn upload(&mut self, ring: &mut UploadRing, jobs: &mut Vec<ScatterJob>) -> Result<()> {
        let ranges = self.dirty.drain();
        let elements: usize = ranges.iter().map(|r| r.len()).sum();
        if elements == 0 {
            return Ok(());
        }
        let words = size_of::<T>() / 4;
        let mut indices: Vec<u32> = Vec::with_capacity(elements);
        let mut data: Vec<T> = Vec::with_capacity(elements);
        for range in ranges {
            data.extend_from_slice(&self.shadow[range.start as usize..range.end as usize]);
            indices.extend(range);
        }
        let bytes: &[u8] = bytemuck::cast_slice(&data);
        self.uploaded_bytes += bytes.len() as u64;
        let index_upload = ring.write(bytemuck::cast_slice(&indices))?;
        let data_upload = ring.write(bytes)?;
        jobs.push(ScatterJob {
            target: self.buffer.shared_buffer(),
            indices: index_upload,
            data: data_upload,
            elements: elements as u32,
            words_per_element: words as u32,
        });
        Ok(())
    }

    /// The growable buffer.
    pub fn buffer(&self) -> &GrowableBuffer {
        &self.buffer
    }

    /// Bytes ever uploaded.
    pub fn uploaded_bytes(&self) -> u64 {
        self.uploaded_bytes
    }
}
