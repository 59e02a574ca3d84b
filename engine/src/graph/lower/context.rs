//! What a pass finds while it records: an encoder, and exactly the resources that it declared.

use super::frame::Imported;
use super::history::History;
use super::transients::{Made, Transients};
use crate::graph::{Access, BufferHandle, Declaration, GraphError, Handle, ImageHandle, Origin, PassId, Use};
use crate::vk::{Buffer, CommandEncoder, Image};

/// Where the resources of a frame are found.
pub(super) struct Resolver<'r> {
    pub(super) declaration: &'r Declaration,
    /// By resource.
    pub(super) imports: Vec<Option<Imported<'r>>>,
    /// By resource: name, and whether it is the previous frame's.
    pub(super) history: Vec<Option<(&'static str, bool)>>,
    pub(super) images: &'r History,
    pub(super) transients: &'r Transients,
    /// Optional uses that find nothing.
    pub(super) absent: &'r [u32],
}

/// A resource of any origin.
#[derive(Clone, Copy)]
pub(super) enum Found<'r> {
    Image(&'r Image),
    Buffer(&'r Buffer),
    Raw { image: ash::vk::Image, view: ash::vk::ImageView },
}

impl<'r> Resolver<'r> {
    pub(super) fn get(&self, resource: usize) -> Option<Found<'r>> {
        if let Some(Some(import)) = self.imports.get(resource) {
            return Some(match *import {
                Imported::Image(image) => Found::Image(image),
                Imported::Buffer(buffer) => Found::Buffer(buffer),
                Imported::Raw { image, view } => Found::Raw { image, view },
            });
        }
        if let Some(Some((name, is_previous))) = self.history.get(resource) {
            let [previous, current] = self.images.images(name)?;
            return Some(Found::Image(if *is_previous { previous } else { current }));
        }
        match self.transients.get(resource)? {
            Made::Image(image) => Some(Found::Image(image)),
            Made::Buffer(buffer) => Some(Found::Buffer(buffer)),
        }
    }
}

/// What a pass records with.
pub struct PassContext<'c> {
    pub(super) encoder: &'c mut CommandEncoder,
    pub(super) resolver: &'c Resolver<'c>,
    pub(super) pass: PassId,
}

impl<'c> PassContext<'c> {
    /// The encoder.
    pub fn encoder(&mut self) -> &mut CommandEncoder {
        self.encoder
    }

    /// Encoder and resources at once, where a call needs both.
    pub fn split(&mut self) -> (&mut CommandEncoder, PassResources<'c>) {
        (self.encoder, PassResources { resolver: self.resolver, pass: self.pass })
    }

    /// The resources.
    pub fn resources(&self) -> PassResources<'c> {
        PassResources { resolver: self.resolver, pass: self.pass }
    }
}

/// The resources that a pass declared.
#[derive(Clone, Copy)]
pub struct PassResources<'c> {
    resolver: &'c Resolver<'c>,
    pass: PassId,
}

impl<'c> PassResources<'c> {
    /// An image that the pass declared.
    ///
    /// # Errors
    /// When it did not, or for an image of a swapchain, which has no handle of ours.
    pub fn image(&self, handle: ImageHandle) -> Result<&'c Image, GraphError> {
        match self.found(handle.into())? {
            Found::Image(image) => Ok(image),
            _ => Err(self.undeclared(handle.into())),
        }
    }

    /// An image that the pass can do without: `None` where whoever writes it is switched off.
    ///
    /// # Errors
    /// When the pass did not declare it.
    pub fn optional_image(&self, handle: ImageHandle) -> Result<Option<&'c Image>, GraphError> {
        let (index, _) = self.declared(handle.into())?;
        if self.resolver.absent.binary_search(&index).is_ok() {
            return Ok(None);
        }
        self.image(handle).map(Some)
    }

    /// A buffer that the pass declared.
    ///
    /// # Errors
    /// When it did not.
    pub fn buffer(&self, handle: BufferHandle) -> Result<&'c Buffer, GraphError> {
        match self.found(handle.into())? {
            Found::Buffer(buffer) => Ok(buffer),
            _ => Err(self.undeclared(handle.into())),
        }
    }

    /// Raw image and view of an image that the pass declared, of a swapchain too.
    ///
    /// # Errors
    /// When it did not.
    pub fn raw_image(&self, handle: ImageHandle) -> Result<(ash::vk::Image, ash::vk::ImageView), GraphError> {
        match self.found(handle.into())? {
            Found::Image(image) => Ok((image.raw(), image.view())),
            Found::Raw { image, view } => Ok((image, view)),
            Found::Buffer(_) => Err(self.undeclared(handle.into())),
        }
    }

    /// Whether the last frame wrote an image with history. When not, its contents are undefined.
    pub fn is_valid(&self, previous: ImageHandle) -> bool {
        let resource = Handle::from(previous).resource();
        let resource = self.resolver.declaration.resources.get(resource.0 as usize);
        !matches!(resource.map(|r| r.origin), Some(Origin::HistoryPrevious { is_valid: false, .. }))
    }

    /// How the pass declared it.
    ///
    /// # Errors
    /// When it did not.
    pub fn access(&self, handle: impl Into<Handle>) -> Result<Access, GraphError> {
        self.declared(handle.into()).map(|(_, usage)| usage.access)
    }

    fn declared(&self, handle: Handle) -> Result<(u32, &'c Use), GraphError> {
        let declaration = self.resolver.declaration;
        let pass = declaration.passes.get(self.pass.0 as usize);
        let uses = pass.map(|pass| pass.uses.clone()).unwrap_or_default();
        let found = uses.zip(declaration.uses_of(self.pass)).find(|(_, usage)| {
            // The version that it finds, or the one that it leaves.
            let versions = usage.version..=usage.version + u32::from(usage.access.writes());
            usage.resource == handle.resource() && versions.contains(&handle.version())
        });
        found.ok_or_else(|| self.undeclared(handle))
    }

    fn found(&self, handle: Handle) -> Result<Found<'c>, GraphError> {
        self.declared(handle)?;
        let found = self.resolver.get(handle.resource().0 as usize);
        found.ok_or_else(|| self.undeclared(handle))
    }

    fn undeclared(&self, handle: Handle) -> GraphError {
        self.resolver.declaration.undeclared(self.pass, handle)
    }
}
