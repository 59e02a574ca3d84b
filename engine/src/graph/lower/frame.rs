//! A frame under declaration: what the pure declaration says, with what each pass records and what imports are.

use ash::vk::Handle as _;

use super::context::PassContext;
use super::error::{PassError, Result};
use super::frame_graph::FrameGraph;
use super::states::ImportKey;
use crate::graph::{
    Access, BufferHandle, BufferInfo, Handle, ImageHandle, ImageInfo, ImportState, LeftState, Origin, PassId,
    Queue, ResourceId, ResourceInfo, Subresources,
};
use crate::vk::{Buffer, Image, Point};

/// Records the commands of a pass.
pub(super) type RecordFn<'f> = Box<dyn FnOnce(&mut PassContext<'_>) -> Result<(), PassError> + 'f>;
/// Executes the binds of a commit; the moment when they are done, `None` when there was nothing to bind.
pub(super) type CommitFn<'f> = Box<dyn FnOnce() -> Result<Option<Point>, PassError> + 'f>;

/// Is told of each submission that uses a resource.
pub(super) type UsedFn<'f> = Box<dyn Fn(Point) + 'f>;

/// What a pass does.
pub(super) enum Work<'f> {
    Nothing,
    Record(RecordFn<'f>),
    Commit(CommitFn<'f>),
}

/// What an imported resource is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Imported<'f> {
    Image(&'f Image),
    Buffer(&'f Buffer),
    Raw { image: ash::vk::Image, view: ash::vk::ImageView },
}

/// Things of a declared frame that are no plain data.
pub(super) struct Attached<'f> {
    pub(super) work: Vec<Work<'f>>,
    pub(super) names: Vec<&'static str>,
    pub(super) groups: Vec<Option<&'static str>>,
    pub(super) abouts: Vec<Option<String>>,
    pub(super) imports: Vec<(ResourceId, Imported<'f>, ImportKey)>,
    /// Name, and the previous frame's resource and this frame's.
    pub(super) history: Vec<(&'static str, ResourceId, ResourceId)>,
    pub(super) used: Vec<(ResourceId, UsedFn<'f>)>,
}

/// A frame under declaration.
pub struct Frame<'g, 'f> {
    pub(super) graph: &'g mut FrameGraph,
    attached: Attached<'f>,
}

/// A frame whose order, places and barriers are known.
pub struct Ready<'g, 'f> {
    pub(super) graph: &'g mut FrameGraph,
    pub(super) attached: Attached<'f>,
}

impl<'g, 'f> Frame<'g, 'f> {
    pub(super) fn new(graph: &'g mut FrameGraph) -> Self {
        let attached = Attached {
            work: Vec::new(),
            names: Vec::new(),
            groups: Vec::new(),
            abouts: Vec::new(),
            imports: Vec::new(),
            history: Vec::new(),
            used: Vec::new(),
        };
        Self { graph, attached }
    }

    /// Place of this frame among those in flight.
    pub fn place(&self) -> usize {
        self.graph.place()
    }

    /// An image of this frame only.
    pub fn image(&mut self, name: &'static str, info: ImageInfo) -> ImageHandle {
        self.graph.declaration.image(name, info)
    }

    /// A buffer of this frame only.
    pub fn buffer(&mut self, name: &'static str, info: BufferInfo) -> BufferHandle {
        self.graph.declaration.buffer(name, info)
    }

    /// Lets a depth image share memory with others, which is not the default.
    pub fn may_alias(&mut self, handle: impl Into<Handle>) {
        self.graph.declaration.may_alias(handle);
    }

    /// Somebody else's image. `first` is its state if no frame has touched it yet; `after` the one it has to be in
    /// when the frame is over.
    pub fn import_image(
        &mut self,
        image: &'f Image,
        first: ImportState,
        after: Option<Access>,
    ) -> ImageHandle {
        let key = ImportKey { handle: image.raw().as_raw(), name: image.name().to_owned() };
        let before = self.graph.states.before(&key, first);
        let name = image.name().to_owned();
        let handle = self.graph.declaration.import_image(name, ImageInfo::from(image.desc()), before, after);
        self.attached.imports.push((Handle::from(handle).resource(), Imported::Image(image), key));
        handle
    }

    /// An image of a swapchain: nothing of it is kept, and it is shown when the frame is over.
    pub fn import_swapchain_image(
        &mut self,
        image: ash::vk::Image,
        view: ash::vk::ImageView,
        extent: [u32; 2],
    ) -> ImageHandle {
        let key = ImportKey { handle: image.as_raw(), name: "Swapchain".into() };
        // Ordered after the acquire, whose semaphore is waited for at these stages.
        let acquired = LeftState {
            stages: (Access::CopyDestination.stages() | Access::ColourAttachment.stages()).as_raw(),
            accesses: 0,
            layout: ash::vk::ImageLayout::UNDEFINED.as_raw(),
            queue: Queue::Graphics,
            beside: 0,
        };
        // The format does not matter: the graph makes nothing of it.
        let info = ImageInfo::new_2d(ash::vk::Format::B8G8R8A8_UNORM, extent);
        let handle = self.graph.declaration.import_image(
            "Swapchain",
            info,
            ImportState::After(acquired),
            Some(Access::Present),
        );
        self.attached.imports.push((Handle::from(handle).resource(), Imported::Raw { image, view }, key));
        handle
    }

    /// Somebody else's buffer. One that no frame has touched yet may have been written by any queue's last submission
    /// before this frame, if the caller waits for it.
    pub fn import_buffer(&mut self, buffer: &'f Buffer, after: Option<Access>) -> BufferHandle {
        let key = ImportKey { handle: buffer.raw().as_raw(), name: buffer.name().to_owned() };
        let anything = LeftState {
            stages: ash::vk::PipelineStageFlags2::ALL_COMMANDS.as_raw(),
            accesses: (ash::vk::AccessFlags2::MEMORY_READ | ash::vk::AccessFlags2::MEMORY_WRITE).as_raw(),
            layout: 0,
            queue: Queue::Graphics,
            beside: 0,
        };
        let before = self.graph.states.before(&key, ImportState::After(anything));
        let info = BufferInfo::new(buffer.bytes());
        let name = buffer.name().to_owned();
        let handle = self.graph.declaration.import_buffer(name, info, before, after);
        self.attached.imports.push((Handle::from(handle).resource(), Imported::Buffer(buffer), key));
        handle
    }

    /// An image that lives across frames: what the last frame wrote, and what this one writes. Whether the last frame
    /// wrote it is told to passes by [`PassResources::is_valid`](super::PassResources::is_valid).
    pub fn history_image(&mut self, name: &'static str, info: ImageInfo) -> (ImageHandle, ImageHandle) {
        let found = self.graph.history.find(name, info, self.graph.frame);
        let (previous, current) =
            self.graph.declaration.history_image(name, info, found.previous, found.current);
        let ids = (Handle::from(previous).resource(), Handle::from(current).resource());
        self.attached.history.push((name, ids.0, ids.1));
        (previous, current)
    }

    /// Has `tell` called with the moment of each submission that uses a resource, once it is made: for those who keep
    /// account of uses, as the checker of sparse memory does.
    pub fn when_used(&mut self, handle: impl Into<Handle>, tell: impl Fn(Point) + 'f) {
        self.attached.used.push((handle.into().resource(), Box::new(tell)));
    }

    /// Declares a pass. The name is that of its GPU marker and its time.
    pub fn pass(&mut self, name: &'static str, queue: Queue) -> PassBuilder<'_, 'g, 'f> {
        let id = self.graph.declaration.pass(name, queue);
        self.attached.work.push(Work::Nothing);
        self.attached.names.push(name);
        self.attached.groups.push(None);
        self.attached.abouts.push(None);
        PassBuilder { frame: self, id }
    }

    /// Works out order, places and barriers.
    ///
    /// # Errors
    /// The first mistake of the declaration, or an image that the device cannot make.
    pub fn compile(self) -> Result<Ready<'g, 'f>> {
        let Self { graph, attached } = self;
        let is_shared = graph.queues.compute || graph.queues.transfer;
        graph.needs.fill(&graph.device, &mut graph.declaration, is_shared)?;
        for (name, previous, current) in &attached.history {
            make_history(graph, name, *previous, *current)?;
        }
        let options = graph.compile_options();
        graph.compiled += 1;
        graph.compiler.compile(&graph.declaration, &options)?;
        Ok(Ready { graph, attached })
    }
}

/// A pass under declaration.
pub struct PassBuilder<'b, 'g, 'f> {
    frame: &'b mut Frame<'g, 'f>,
    id: PassId,
}

impl<'f> PassBuilder<'_, '_, 'f> {
    /// The pass reads all of a resource.
    #[must_use]
    pub fn read(self, handle: impl Into<Handle>, access: Access) -> Self {
        self.frame.graph.declaration.read(self.id, handle, access);
        self
    }

    /// The pass reads a resource, and can do without.
    #[must_use]
    pub fn read_optional(self, handle: impl Into<Handle>, access: Access) -> Self {
        self.frame.graph.declaration.read_optional(self.id, handle, access);
        self
    }

    /// The pass reads a part of a resource.
    #[must_use]
    pub fn read_part(self, handle: impl Into<Handle>, access: Access, part: Subresources) -> Self {
        self.frame.graph.declaration.read_part(self.id, handle, access, part);
        self
    }

    /// The pass reads several resources in one way.
    #[must_use]
    pub fn read_all<H: Into<Handle>>(self, handles: impl IntoIterator<Item = H>, access: Access) -> Self {
        for handle in handles {
            self.frame.graph.declaration.read(self.id, handle, access);
        }
        self
    }

    /// The pass writes all of a resource; the handle moves on.
    #[must_use]
    pub fn write<H: AsMut<Handle>>(self, handle: &mut H, access: Access) -> Self {
        self.frame.graph.declaration.write(self.id, handle, access);
        self
    }

    /// The pass writes a part of a resource; the handle moves on.
    #[must_use]
    pub fn write_part<H: AsMut<Handle>>(self, handle: &mut H, access: Access, part: Subresources) -> Self {
        self.frame.graph.declaration.write_part(self.id, handle, access, part);
        self
    }

    /// The pass does something that no resource of the graph shows.
    #[must_use]
    pub fn side_effects(self) -> Self {
        self.frame.graph.declaration.side_effects(self.id);
        self
    }

    /// The pass stands in a group: passes of one that follow each other are under one label of that name in captures. Order,
    /// barriers and times are what they are without.
    #[must_use]
    pub fn group(self, name: &'static str) -> Self {
        if let Some(group) = self.frame.attached.groups.last_mut() {
            *group = Some(name);
        }
        self
    }

    /// What the pass is about, after its name in captures: its time goes by the name alone.
    #[must_use]
    pub fn about(self, text: String) -> Self {
        if let Some(about) = self.frame.attached.abouts.last_mut() {
            *about = Some(text);
        }
        self
    }

    /// The pass takes part only if `is_on`.
    #[must_use]
    pub fn when(self, is_on: bool) -> Self {
        self.frame.graph.declaration.when(self.id, is_on);
        self
    }

    /// What the pass records. It may fail; the frame is not submitted then.
    pub fn record(self, record: impl FnOnce(&mut PassContext<'_>) -> Result<(), PassError> + 'f) -> PassId {
        self.frame.attached.work[self.id.0 as usize] = Work::Record(Box::new(record));
        self.id
    }

    /// What a pass on [`Queue::Commit`] binds: returns the moment when it is done.
    pub fn commit(self, commit: impl FnOnce() -> Result<Option<Point>, PassError> + 'f) -> PassId {
        self.frame.attached.work[self.id.0 as usize] = Work::Commit(Box::new(commit));
        self.id
    }
}

/// Makes the images of one history. New ones hold nothing, whatever was declared of those before.
fn make_history(
    graph: &mut FrameGraph,
    name: &'static str,
    previous: ResourceId,
    current: ResourceId,
) -> Result<()> {
    let (Some(before), Some(info)) = (declared_image(graph, previous), declared_image(graph, current)) else {
        return Ok(());
    };
    // The two change places with every frame.
    let info = ImageInfo { usage: before.usage | info.usage, ..info };
    if graph.history.make(&graph.device, name, info)? {
        let before = ImportState::Undefined;
        let origins = [
            (previous, Origin::HistoryPrevious { is_valid: false, before }),
            (current, Origin::HistoryCurrent { before }),
        ];
        for (id, origin) in origins {
            if let Some(resource) = graph.declaration.resources.get_mut(id.0 as usize) {
                resource.origin = origin;
            }
        }
    }
    Ok(())
}

/// Usage that a declared image has, complete once all passes are declared.
fn declared_image(graph: &FrameGraph, id: ResourceId) -> Option<ImageInfo> {
    match graph.declaration.resources.get(id.0 as usize)?.info {
        ResourceInfo::Image(info) => Some(info),
        ResourceInfo::Buffer(_) => None,
    }
}
