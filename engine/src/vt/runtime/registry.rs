//! Who writes which runtime virtual texture, in which order; and which parts of the textures a change makes stale.

use std::collections::BTreeMap;

use glam::Vec3;
use slotmap::SlotMap;

use super::error::{Result, RuntimeError};
use super::footprint::Footprint;
use super::kind::KindOptions;
use super::volume::{PageShape, Volume};
use super::writer::{MainPass, Shape, WriterDesc};
use crate::vt::grid::Region;
use crate::vt::{Kind, Quality, TextureId};

slotmap::new_key_type! {
    /// A writer. Stale after it is removed: using it then is an error, never another writer.
    pub struct WriterId;
}

/// A texture whose pages are drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct RuntimeTexture {
    /// What it is called in markers and reports.
    pub name: String,
    /// What it covers.
    pub volume: Volume,
    /// Its pages.
    pub shape: PageShape,
    /// What each of its groups of layers stores, and how.
    pub groups: Vec<(Kind, KindOptions)>,
    /// Least and greatest displacement that [`Kind::Displacement`] stores, metres.
    pub displacements: [f32; 2],
}

impl RuntimeTexture {
    /// A texture that stores one kind.
    pub fn new(name: &str, volume: Volume, shape: PageShape, kind: Kind) -> Self {
        let groups = vec![(kind, KindOptions::default())];
        Self { name: name.into(), volume, shape, groups, displacements: [-0.5, 0.5] }
    }

    /// What 0 and 1 of a height of a kind stand for, metres.
    pub fn height_range(&self, kind: Kind) -> [f32; 2] {
        if kind == Kind::Displacement { self.displacements } else { self.volume.heights() }
    }
}

/// What happened to a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub enum Happened {
    /// It is new.
    Added,
    /// It lies elsewhere, or has another shape.
    Moved,
    /// It looks different.
    Changed,
    /// It is gone.
    Removed,
}

/// A part of a texture that shows something that is not so any more.
#[derive(Debug, Clone, PartialEq)]
pub struct Invalidation {
    /// Of which texture.
    pub texture: TextureId,
    /// Which part, in UV.
    pub region: Region,
    /// Whose doing it is.
    pub writer: WriterId,
    /// What happened to it.
    pub happened: Happened,
}

/// A writer and what follows from its description.
#[derive(Debug, Clone)]
pub struct Writer {
    /// As it was described.
    pub desc: WriterDesc,
    /// Where it lies.
    pub footprint: Footprint,
    sequence: u64,
}

/// Textures and writers.
#[derive(Debug, Default)]
pub struct Registry {
    textures: BTreeMap<TextureId, RuntimeTexture>,
    writers: SlotMap<WriterId, Writer>,
    /// In the order in which they are drawn.
    order: Vec<WriterId>,
    /// Of these, those that may lack something that they are drawn from.
    with_inputs: Vec<WriterId>,
    stale: Vec<Invalidation>,
    sequence: u64,
    revision: u64,
}

impl Registry {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a texture, or gives the one of this id another description; all of it is drawn by the planner then anyway,
    /// or is to be invalidated by the caller.
    pub fn set_texture(&mut self, id: TextureId, texture: RuntimeTexture) {
        self.revision += 1;
        self.textures.insert(id, texture);
    }

    /// Takes a texture out.
    pub fn remove_texture(&mut self, id: TextureId) -> Option<RuntimeTexture> {
        self.revision += 1;
        self.stale.retain(|stale| stale.texture != id);
        self.textures.remove(&id)
    }

    /// A texture.
    pub fn texture(&self, id: TextureId) -> Option<&RuntimeTexture> {
        self.textures.get(&id)
    }

    /// All textures.
    pub fn textures(&self) -> impl Iterator<Item = (TextureId, &RuntimeTexture)> {
        self.textures.iter().map(|(id, texture)| (*id, texture))
    }

    /// Adds a writer.
    ///
    /// # Errors
    /// A shape without extent, or numbers that are none.
    pub fn add(&mut self, desc: WriterDesc) -> Result<WriterId> {
        desc.check()?;
        let footprint = desc.shape.footprint();
        self.sequence += 1;
        let id = self.writers.insert(Writer { desc, footprint, sequence: self.sequence });
        self.note(id, Happened::Added);
        self.sort();
        Ok(id)
    }

    /// Gives a writer another shape or place: pages under the old one and under the new one are stale.
    ///
    /// # Errors
    /// A writer that was removed, or a shape without extent; it stays where it was.
    pub fn set_shape(&mut self, id: WriterId, shape: Shape) -> Result<()> {
        let desc = WriterDesc { shape, ..self.writer(id)?.desc.clone() };
        self.replace(id, desc, Happened::Moved)
    }

    /// Gives a writer another description.
    ///
    /// # Errors
    /// A writer that was removed, or a description that is refused; it stays as it was.
    pub fn set(&mut self, id: WriterId, desc: WriterDesc) -> Result<()> {
        let is_moved = self.writer(id)?.desc.shape != desc.shape;
        self.replace(id, desc, if is_moved { Happened::Moved } else { Happened::Changed })
    }

    fn replace(&mut self, id: WriterId, desc: WriterDesc, happened: Happened) -> Result<()> {
        desc.check()?;
        // What it leaves, by what it was; then what it covers, by what it is.
        self.note(id, happened);
        if let Some(writer) = self.writers.get_mut(id) {
            writer.footprint = desc.shape.footprint();
            writer.desc = desc;
        }
        self.note(id, happened);
        self.sort();
        Ok(())
    }

    /// What a writer is drawn from has changed without its description: a mesh, a texture, the terrain's material.
    ///
    /// # Errors
    /// A writer that was removed.
    pub fn touch(&mut self, id: WriterId) -> Result<()> {
        self.writer(id)?;
        self.note(id, Happened::Changed);
        Ok(())
    }

    /// The origin of the world's coordinates is another one from now on: what was at `by` is at 0. Textures and writers move
    /// with it and keep their pages, which hold the same as before.
    ///
    /// # Errors
    /// Where terrain or a calibration pattern is among the writers: both are drawn by absolute coordinates. Nothing has
    /// changed then.
    pub fn shift_origin(&mut self, by: Vec3) -> Result<()> {
        let is_fixed = |writer: &Writer| matches!(writer.desc.shape, Shape::Terrain(_) | Shape::Pattern(_));
        if let Some((_, writer)) = self.writers.iter().find(|(_, writer)| is_fixed(writer)) {
            return Err(RuntimeError::Origin { name: writer.desc.name.clone() });
        }
        for runtime in self.textures.values_mut() {
            runtime.volume = runtime.volume.moved(-by);
        }
        for (_, writer) in &mut self.writers {
            writer.desc.shape = writer.desc.shape.moved(-by);
            writer.desc.look.height -= by.y;
            writer.footprint = writer.desc.shape.footprint();
        }
        self.revision += 1;
        Ok(())
    }

    /// Says how good what a writer is drawn from is now. When that rises, pages that show it are drawn again as far as they
    /// were drawn from worse; unlike a [`touch`](Self::touch), the rest stays.
    ///
    /// # Errors
    /// A writer that was removed.
    pub fn set_quality(&mut self, id: WriterId, quality: Quality) -> Result<()> {
        let writer = self.writers.get_mut(id).ok_or(RuntimeError::Gone { what: "writer" })?;
        writer.desc.quality = quality;
        self.find_inputs();
        Ok(())
    }

    /// Writers that are drawn from what the scene has, or from inputs that are not as good as they will be.
    pub fn with_inputs(&self) -> impl Iterator<Item = (WriterId, &Writer)> {
        self.with_inputs.iter().filter_map(|id| self.writers.get(*id).map(|writer| (*id, writer)))
    }

    /// Removes a writer.
    ///
    /// # Errors
    /// When it was removed already.
    pub fn remove(&mut self, id: WriterId) -> Result<WriterDesc> {
        self.note(id, Happened::Removed);
        let writer = self.writers.remove(id).ok_or(RuntimeError::Gone { what: "writer" })?;
        self.sort();
        Ok(writer.desc)
    }

    /// A writer.
    ///
    /// # Errors
    /// When it was removed.
    pub fn writer(&self, id: WriterId) -> Result<&Writer> {
        self.writers.get(id).ok_or(RuntimeError::Gone { what: "writer" })
    }

    /// All writers in the order in which they are drawn.
    pub fn writers(&self) -> impl Iterator<Item = (WriterId, &Writer)> {
        self.order.iter().filter_map(|id| self.writers.get(*id).map(|writer| (*id, writer)))
    }

    /// Changes whenever a writer or a texture does.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The parts of textures that changes since the last call made stale: old and new footprints, as they are, one a
    /// rectangle. What to merge is the planner's to decide.
    pub fn take_invalidations(&mut self) -> Vec<Invalidation> {
        std::mem::take(&mut self.stale)
    }

    /// Whether the main pass draws a writer's primitive: see [`MainPass`].
    ///
    /// # Errors
    /// A writer that was removed.
    pub fn is_in_main_pass(&self, id: WriterId) -> Result<bool> {
        let writer = self.writer(id)?;
        let hides = |(texture, runtime): (TextureId, &RuntimeTexture)| {
            let stored = runtime
                .groups
                .iter()
                .any(|(kind, _)| !kind.attributes().and(writer.desc.attributes).is_empty());
            let lies_in = !writer.footprint.regions(&runtime.volume).is_empty();
            runtime.volume.hide_primitives && writer.desc.into.has(texture) && stored && lies_in
        };
        Ok(match writer.desc.main_pass {
            MainPass::Never => false,
            MainPass::Always => true,
            MainPass::FromVirtualTexture => !self.textures().any(hides),
        })
    }

    fn note(&mut self, id: WriterId, happened: Happened) {
        self.revision += 1;
        let Some(writer) = self.writers.get(id) else { return };
        for (texture, runtime) in &self.textures {
            if !writer.desc.into.has(*texture) {
                continue;
            }
            for region in writer.footprint.regions(&runtime.volume) {
                let stale = Invalidation { texture: *texture, region, writer: id, happened };
                // A writer whose look alone changed leaves and covers the same place.
                if self.stale.last() != Some(&stale) && !self.stale.contains(&stale) {
                    self.stale.push(stale);
                }
            }
        }
    }

    fn sort(&mut self) {
        self.order = self.writers.keys().collect();
        let writers = &self.writers;
        self.order.sort_by_key(|id| writers.get(*id).map(|writer| writer.desc.key(writer.sequence)));
        self.find_inputs();
    }

    fn find_inputs(&mut self) {
        let writers = &self.writers;
        let has_inputs = |id: &&WriterId| {
            writers.get(**id).is_some_and(|writer| {
                writer.desc.quality < Quality::FULL
                    || matches!(writer.desc.shape, Shape::Terrain(_) | Shape::Mesh { .. })
            })
        };
        self.with_inputs.clear();
        self.with_inputs.extend(self.order.iter().filter(has_inputs));
    }
}
