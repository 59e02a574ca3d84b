//! What reserved resources have in common: numbers to look at, and a way back when a bind is refused.

use std::sync::Arc;

use super::batch::Request;
use super::chunk::Chunk;
use super::paged::PagedBacking;
use super::stats::ResourceStats;
use crate::vk::{Buffer, Image};

/// A reserved resource, as the memory that owns all of them sees it.
pub(super) trait Resource: Send + Sync + std::fmt::Debug {
    /// Its number; no other resource of the device has it.
    fn id(&self) -> u64;

    /// Debug name.
    fn name(&self) -> String;

    /// Numbers to look at, without the name: these are added up with every flush.
    fn numbers(&self) -> ResourceStats;

    /// Numbers to look at.
    fn stats(&self) -> ResourceStats {
        ResourceStats { name: self.name(), ..self.numbers() }
    }

    /// What was queued since the last flush is bound.
    fn bound(&self);

    /// What was queued since the last flush is not bound, and never will be: back to what is.
    fn roll_back(&self);

    /// Its pages, if it has pages that come and go one by one.
    fn paged(&self) -> Option<&PagedBacking> {
        None
    }

    /// The same, shared.
    fn into_paged(self: Arc<Self>) -> Option<Arc<PagedBacking>> {
        None
    }
}

/// The Vulkan object that binds go to.
#[derive(Debug, Clone)]
pub(super) enum Target {
    Buffer(Arc<Buffer>),
    Image(Arc<Image>),
}

/// Commands that a commit needs beside its binds.
#[derive(Debug, Clone)]
pub(super) enum Command {
    /// Copy from the buffer's former self (fallback).
    Copy { from: Arc<Buffer>, bytes: u64 },
    /// Fill a range of bytes with a word.
    Fill { offset: u64, bytes: u64, word: u32 },
    /// The image's first layout. Its contents are undefined.
    Layout(ash::vk::ImageLayout),
}

/// What one resource wants from the next flush.
#[derive(Debug)]
pub(super) struct Work {
    /// Number of the resource.
    pub(super) id: u64,
    pub(super) resource: std::sync::Weak<dyn Resource>,
    pub(super) target: Target,
    pub(super) requests: Vec<Request>,
    /// Chunks that the requests name.
    pub(super) chunks: Vec<Arc<Chunk>>,
    /// Chunks that the unbinds free.
    pub(super) freed: Vec<Arc<Chunk>>,
    pub(super) commands: Vec<Command>,
    /// Nothing is left to bind: only commands.
    pub(super) is_bound: bool,
    /// What a resource cannot exist without: a flush that is refused leaves it for the next one.
    pub(super) retries: bool,
}

impl Work {
    pub(super) fn new(id: u64, resource: std::sync::Weak<dyn Resource>, target: Target) -> Self {
        Self {
            id,
            resource,
            target,
            requests: Vec::new(),
            chunks: Vec::new(),
            freed: Vec::new(),
            commands: Vec::new(),
            is_bound: false,
            retries: false,
        }
    }

    /// What is left when the binds are done.
    pub(super) fn without_binds(self) -> Self {
        Self { is_bound: true, requests: Vec::new(), chunks: Vec::new(), freed: Vec::new(), ..self }
    }
}
