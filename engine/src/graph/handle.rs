//! Handles of one declaration: plain indices, with the version that was written last.

use serde::{Deserialize, Serialize};

/// A pass of a declaration, by the order it was declared in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PassId(pub u32);

/// A resource of a declaration, by the order it was declared in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceId(pub u32);

/// A resource as one pass left it. Every write makes the next version and moves the handle that it was declared with;
/// copies made before are stale from then on, and using one is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Handle {
    /// Which resource.
    pub(super) resource: ResourceId,
    /// Number of writes declared before.
    pub(super) version: u32,
    /// Number of the declaration that it belongs to: a handle of an earlier frame is stale.
    pub(super) declaration: u32,
}

impl Handle {
    /// The resource.
    pub fn resource(self) -> ResourceId {
        self.resource
    }

    /// Number of writes declared before it.
    pub fn version(self) -> u32 {
        self.version
    }
}

/// A [`Handle`] of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageHandle(pub(super) Handle);

/// A [`Handle`] of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BufferHandle(pub(super) Handle);

impl From<ImageHandle> for Handle {
    fn from(handle: ImageHandle) -> Self {
        handle.0
    }
}

impl From<BufferHandle> for Handle {
    fn from(handle: BufferHandle) -> Self {
        handle.0
    }
}

impl AsMut<Handle> for ImageHandle {
    fn as_mut(&mut self) -> &mut Handle {
        &mut self.0
    }
}

impl AsMut<Handle> for BufferHandle {
    fn as_mut(&mut self) -> &mut Handle {
        &mut self.0
    }
}
