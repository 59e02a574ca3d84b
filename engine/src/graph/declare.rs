//! Declaring a frame. Nothing here fails: the first mistake is kept, and compiling gives it.

use ash::vk::Format;

use super::access::Access;
use super::declaration::{
    BufferInfo, Declaration, ImageInfo, ImportState, LeftState, MemoryNeeds, Name, Origin, Pass, Queue,
    Resource, ResourceInfo, Subresources, Use,
};
use super::error::GraphError;
use super::handle::{BufferHandle, Handle, ImageHandle, PassId, ResourceId};

/// Whether a format has depth or stencil.
fn is_depth(format: i32) -> bool {
    (Format::D16_UNORM.as_raw()..=Format::D32_SFLOAT_S8_UINT.as_raw()).contains(&format)
}

fn index(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

impl Declaration {
    /// Starts the next frame: everything is forgotten but the memory it took. Handles of before are stale.
    pub fn reset(&mut self) {
        self.serial = self.serial.wrapping_add(1);
        self.passes.clear();
        self.resources.clear();
        self.uses.clear();
        self.orders.clear();
        self.mistake = None;
    }

    /// An image that lives within the frame and may share memory with others, unless it has a depth format (see
    /// [`may_alias`](Self::may_alias)).
    pub fn image(&mut self, name: impl Into<Name>, info: ImageInfo) -> ImageHandle {
        let origin = Origin::Transient { may_alias: !is_depth(info.format) };
        ImageHandle(self.resource(name.into(), ResourceInfo::Image(info), origin))
    }

    /// A buffer that lives within the frame and may share memory with others.
    pub fn buffer(&mut self, name: impl Into<Name>, info: BufferInfo) -> BufferHandle {
        let origin = Origin::Transient { may_alias: true };
        BufferHandle(self.resource(name.into(), ResourceInfo::Buffer(info), origin))
    }

    /// Gives a transient memory of its own for the whole frame.
    pub fn keep_apart(&mut self, handle: impl Into<Handle>) {
        self.set_may_alias(handle.into(), false);
    }

    /// Lets a transient share memory with others that never live beside it. Needed only for depth images.
    pub fn may_alias(&mut self, handle: impl Into<Handle>) {
        self.set_may_alias(handle.into(), true);
    }

    /// Somebody else's image. `before` is its state when the frame begins; `after` is the state that it has to be in
    /// when the frame ends, if a pass used it at all.
    pub fn import_image(
        &mut self,
        name: impl Into<Name>,
        info: ImageInfo,
        before: ImportState,
        after: Option<Access>,
    ) -> ImageHandle {
        ImageHandle(self.resource(name.into(), ResourceInfo::Image(info), Origin::Imported { before, after }))
    }

    /// Somebody else's buffer; see [`import_image`](Self::import_image).
    pub fn import_buffer(
        &mut self,
        name: impl Into<Name>,
        info: BufferInfo,
        before: ImportState,
        after: Option<Access>,
    ) -> BufferHandle {
        BufferHandle(self.resource(
            name.into(),
            ResourceInfo::Buffer(info),
            Origin::Imported { before, after },
        ))
    }

    /// An image that lives across frames: what last frame left (`previous`; `None` while nobody has written it, then
    /// its contents are undefined and passes can tell), and what this frame leaves (`current` says how the frame before
    /// last left that memory).
    pub fn history_image(
        &mut self,
        name: impl Into<Name>,
        info: ImageInfo,
        previous: Option<LeftState>,
        current: ImportState,
    ) -> (ImageHandle, ImageHandle) {
        let name = name.into();
        let before = previous.map_or(ImportState::Undefined, ImportState::After);
        let origin = Origin::HistoryPrevious { is_valid: previous.is_some(), before };
        let old = self.resource(name.clone(), ResourceInfo::Image(info), origin);
        let new = self.resource(name, ResourceInfo::Image(info), Origin::HistoryCurrent { before: current });
        (ImageHandle(old), ImageHandle(new))
    }

    /// A pass. Its uses are declared next, before any other pass.
    pub fn pass(&mut self, name: impl Into<Name>, queue: Queue) -> PassId {
        let start = index(self.uses.len());
        let id = PassId(index(self.passes.len()));
        self.passes.push(Pass {
            name: name.into(),
            queue,
            has_side_effects: false,
            is_on: true,
            uses: start..start,
        });
        id
    }

    /// The pass reads all of a resource.
    pub fn read(&mut self, pass: PassId, handle: impl Into<Handle>, access: Access) {
        self.add_read(pass, handle.into(), access, Subresources::All, false);
    }

    /// The pass reads a part of a resource.
    pub fn read_part(&mut self, pass: PassId, handle: impl Into<Handle>, access: Access, part: Subresources) {
        self.add_read(pass, handle.into(), access, part, false);
    }

    /// The pass reads all of a resource, and can do without where whoever writes it is switched off.
    pub fn read_optional(&mut self, pass: PassId, handle: impl Into<Handle>, access: Access) {
        self.add_read(pass, handle.into(), access, Subresources::All, true);
    }

    /// The pass writes all of a resource. Moves the handle to the next version.
    pub fn write<H: AsMut<Handle>>(&mut self, pass: PassId, handle: &mut H, access: Access) {
        self.add_write(pass, handle.as_mut(), access, Subresources::All);
    }

    /// The pass writes a part of a resource and keeps the rest. Moves the handle to the next version.
    pub fn write_part<H: AsMut<Handle>>(
        &mut self,
        pass: PassId,
        handle: &mut H,
        access: Access,
        part: Subresources,
    ) {
        self.add_write(pass, handle.as_mut(), access, part);
    }

    /// The pass does something that no resource shows: it is never culled.
    pub fn side_effects(&mut self, pass: PassId) {
        if let Some(pass) = self.pass_mut(pass) {
            pass.has_side_effects = true;
        }
    }

    /// Switches a pass on or off. What a pass that is off would write stays what it was before.
    pub fn when(&mut self, pass: PassId, is_on: bool) {
        if let Some(pass) = self.pass_mut(pass) {
            pass.is_on = is_on;
        }
    }

    /// One pass has to come before another, whatever they touch.
    pub fn before(&mut self, first: PassId, then: PassId) {
        if self.pass_mut(first).is_some() && self.pass_mut(then).is_some() {
            self.orders.push((first, then));
        }
    }

    /// Transients that some pass writes: those whose memory needs have to be set before compiling.
    pub fn transients(&self) -> impl Iterator<Item = (ResourceId, &Resource)> {
        self.resources
            .iter()
            .enumerate()
            .filter(|(_, resource)| {
                matches!(resource.origin, Origin::Transient { .. }) && resource.versions > 0
            })
            .map(|(id, resource)| (ResourceId(index(id)), resource))
    }

    /// What a transient needs of memory.
    pub fn set_needs(&mut self, id: ResourceId, needs: MemoryNeeds) {
        let resources = index(self.resources.len());
        match self.resources.get_mut(id.0 as usize) {
            Some(resource) => resource.needs = Some(needs),
            None => self.mistake(GraphError::UnknownResource { resource: id.0, resources }),
        }
    }

    /// The first mistake made so far; compiling gives it.
    pub fn first_mistake(&self) -> Option<&GraphError> {
        self.mistake.as_ref()
    }

    fn mistake(&mut self, error: GraphError) {
        self.mistake.get_or_insert(error);
    }

    fn resource(&mut self, name: Name, info: ResourceInfo, origin: Origin) -> Handle {
        let resource = ResourceId(index(self.resources.len()));
        self.resources.push(Resource { name, info, origin, needs: None, versions: 0 });
        Handle { resource, version: 0, declaration: self.serial }
    }

    fn set_may_alias(&mut self, handle: Handle, may: bool) {
        if handle.declaration != self.serial {
            let error = GraphError::OtherFrame { pass: String::from("(none)"), resource: handle.resource.0 };
            return self.mistake(error);
        }
        if let Some(Resource { origin: Origin::Transient { may_alias }, .. }) =
            self.resources.get_mut(handle.resource.0 as usize)
        {
            *may_alias = may;
        }
    }

    fn pass_mut(&mut self, id: PassId) -> Option<&mut Pass> {
        if id.0 as usize >= self.passes.len() {
            self.mistake(GraphError::UnknownPass { pass: id.0, passes: index(self.passes.len()) });
        }
        self.passes.get_mut(id.0 as usize)
    }

    fn add_read(
        &mut self,
        pass: PassId,
        handle: Handle,
        access: Access,
        part: Subresources,
        is_optional: bool,
    ) {
        match self.check_handle(pass, handle) {
            Err(error) => self.mistake(error),
            Ok(()) if access.writes() => {
                let (pass, resource) = self.names(pass, handle);
                self.mistake(GraphError::NotARead { pass, resource, access });
            }
            Ok(()) => self.add_use(handle, access, part, is_optional),
        }
    }

    fn add_write(&mut self, pass: PassId, handle: &mut Handle, access: Access, part: Subresources) {
        match self.check_handle(pass, *handle) {
            Err(error) => self.mistake(error),
            Ok(()) if !access.writes() => {
                let (pass, resource) = self.names(pass, *handle);
                self.mistake(GraphError::NotAWrite { pass, resource, access });
            }
            Ok(()) => {
                self.add_use(*handle, access, part, false);
                handle.version = handle.version.saturating_add(1);
                if let Some(resource) = self.resources.get_mut(handle.resource.0 as usize) {
                    resource.versions = handle.version;
                }
            }
        }
    }

    fn add_use(&mut self, handle: Handle, access: Access, part: Subresources, is_optional: bool) {
        let Handle { resource, version, .. } = handle;
        self.uses.push(Use { resource, version, access, part, is_optional });
        if let Some(pass) = self.passes.last_mut() {
            pass.uses.end = index(self.uses.len());
        }
        match self.resources.get_mut(resource.0 as usize).map(|resource| &mut resource.info) {
            Some(ResourceInfo::Image(info)) => info.usage |= access.image_usage().as_raw(),
            Some(ResourceInfo::Buffer(info)) => info.usage |= access.buffer_usage().as_raw(),
            None => {}
        }
    }

    /// The name of a pass and of the resource of a handle, for messages.
    fn names(&self, pass: PassId, handle: Handle) -> (String, String) {
        let pass = self.passes.get(pass.0 as usize).map_or_else(String::new, |pass| pass.name.to_string());
        let resource = self.resources.get(handle.resource.0 as usize);
        (pass, resource.map_or_else(String::new, |resource| resource.name.to_string()))
    }

    fn check_handle(&self, pass: PassId, handle: Handle) -> Result<(), GraphError> {
        if pass.0 as usize >= self.passes.len() {
            return Err(GraphError::UnknownPass { pass: pass.0, passes: index(self.passes.len()) });
        }
        let Some(resource) =
            self.resources.get(handle.resource.0 as usize).filter(|_| handle.declaration == self.serial)
        else {
            let pass = self.names(pass, handle).0;
            return Err(GraphError::OtherFrame { pass, resource: handle.resource.0 });
        };
        if pass.0 as usize + 1 != self.passes.len() {
            let (pass, resource) = self.names(pass, handle);
            let last = self.passes.last().map_or_else(String::new, |pass| pass.name.to_string());
            return Err(GraphError::LateUse { pass, resource, last });
        }
        if handle.version != resource.versions {
            let (pass, name) = self.names(pass, handle);
            return Err(GraphError::StaleHandle {
                pass,
                resource: name,
                version: handle.version,
                current: resource.versions,
                writer: self.writer_of(handle.resource, resource.versions),
            });
        }
        Ok(())
    }

    /// The pass that wrote a version.
    fn writer_of(&self, resource: ResourceId, version: u32) -> String {
        let wrote = |usage: &Use| {
            usage.resource == resource
                && usage.access.writes()
                && usage.version.checked_add(1) == Some(version)
        };
        let Some(at) = self.uses.iter().rposition(wrote) else { return String::new() };
        let pass = self.passes.iter().find(|pass| pass.uses.contains(&index(at)));
        pass.map_or_else(String::new, |pass| pass.name.to_string())
    }
}
