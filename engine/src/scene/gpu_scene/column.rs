//! One column of the GPU scene: elements in a growable buffer, a shadow on the host, dirty ranges between.

use std::ops::Range;

use ash::vk::BufferUsageFlags;

use super::scatter::ScatterJob;
use crate::memory::UploadRing;
use crate::scene::dirty::DirtyRanges;
use crate::scene::error::Result;
use crate::sparse::{CommitPolicy, GrowableBuffer, GrowableDesc, SparseMemory};

/// Bytes of addresses that each of the GPU scene's buffers asks for; cut to the device's limits.
pub const COLUMN_CAPACITY: u64 = 2 << 30;

/// Dirty ranges closer than this are uploaded as one: a few wasted elements cost less than a range.
const MERGE_GAP: u32 = 4;

/// Elements that the GPU sees, without a say in where they lie: that is a [`Table`](super::Table)'s.
#[derive(Debug)]
pub struct Column<T> {
    buffer: GrowableBuffer,
    shadow: Vec<T>,
    dirty: DirtyRanges,
    /// Ranges in uploads that are not submitted yet.
    in_flight: Vec<Range<u32>>,
    uploaded_bytes: u64,
}

impl<T: bytemuck::Pod> Column<T> {
    /// An empty column. Its growable buffer is called `name`.
    ///
    /// # Errors
    /// When the device has no addresses left.
    pub fn new(sparse: &SparseMemory, name: &str, policy: CommitPolicy) -> Result<Self> {
        let usage = BufferUsageFlags::STORAGE_BUFFER;
        let desc = GrowableDesc { policy, ..GrowableDesc::new(name, COLUMN_CAPACITY, usage) };
        Ok(Self {
            buffer: GrowableBuffer::new(sparse, &desc)?,
            shadow: Vec::new(),
            dirty: DirtyRanges::new(MERGE_GAP),
            in_flight: Vec::new(),
            uploaded_bytes: 0,
        })
    }

    /// Elements that its addresses hold.
    pub fn capacity(&self) -> u32 {
        (self.buffer.capacity() / size_of::<T>() as u64).min(u64::from(u32::MAX)) as u32
    }

    /// Overwrites elements from `start` on.
    pub fn write(&mut self, start: u32, elements: &[T]) {
        let (first, end) = (start as usize, start as usize + elements.len());
        if self.shadow.len() < end {
            self.shadow.resize(end, T::zeroed());
        }
        self.shadow[first..end].copy_from_slice(elements);
        self.dirty.mark(start..end as u32);
    }

    /// Makes elements zero on the GPU too, so that a free place is seen as such.
    pub fn clear(&mut self, range: Range<u32>) {
        let end = (range.end as usize).min(self.shadow.len());
        if let Some(elements) = self.shadow.get_mut(range.start as usize..end) {
            elements.fill(T::zeroed());
            self.dirty.mark(range);
        }
    }

    /// Moves elements to a place that does not overlap, and clears where they were.
    pub fn relocate(&mut self, from: Range<u32>, to: Range<u32>) {
        self.shadow.copy_within(from.start as usize..from.end as usize, to.start as usize);
        self.dirty.mark(to);
        self.clear(from);
    }

    /// Changes the first `len` elements in place where `change` returns true.
    pub fn update_each(&mut self, len: u32, mut change: impl FnMut(&mut T) -> bool) {
        for (index, element) in self.shadow.iter_mut().take(len as usize).enumerate() {
            if change(element) {
                self.dirty.mark(index as u32..index as u32 + 1);
            }
        }
    }

    /// The first `len` elements, free ones included.
    pub fn elements(&self, len: u32) -> &[T] {
        &self.shadow[..(len as usize).min(self.shadow.len())]
    }

    /// Makes the buffer as large as its policy wants for `len` elements, and forgets what lies beyond.
    ///
    /// # Errors
    /// When the device has no memory; everything keeps its contents.
    pub fn commit(&mut self, len: u32, frame: u64) -> Result<()> {
        self.buffer.follow(u64::from(len) * size_of::<T>() as u64, frame)?;
        self.dirty.clear(len..u32::MAX);
        self.shadow.truncate(len as usize);
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
        let mut indices: Vec<u32> = Vec::with_capacity(elements);
        let mut data: Vec<T> = Vec::with_capacity(elements);
        // Until they are submitted they are to be uploaded again, whatever fails in between.
        self.in_flight.extend(ranges.iter().cloned());
        for range in ranges {
            data.extend_from_slice(&self.shadow[range.start as usize..range.end as usize]);
            indices.extend(range);
        }
        let bytes: &[u8] = bytemuck::cast_slice(&data);
        self.uploaded_bytes += bytes.len() as u64;
        jobs.push(ScatterJob {
            indices: ring.write(bytemuck::cast_slice(&indices))?,
            data: ring.write(bytes)?,
            target: self.buffer.shared_buffer(),
            elements: elements as u32,
            words_per_element: (size_of::<T>() / 4) as u32,
        });
        Ok(())
    }

    /// The uploads are submitted.
    pub(super) fn submitted(&mut self) {
        self.in_flight.clear();
    }

    /// The uploads were not submitted: their elements are dirty still.
    pub(super) fn keep_unsubmitted(&mut self) {
        for range in self.in_flight.drain(..) {
            self.dirty.mark(range);
        }
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
