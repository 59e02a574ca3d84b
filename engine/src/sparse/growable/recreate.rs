//! The fallback: a new buffer of the target size, and a copy of what stays.

use std::sync::Arc;

use super::GrowableBuffer;
use super::commit::apply;
use crate::sparse::error::Result;
use crate::sparse::resource::{Command, Resource, Target, Work};
use crate::sparse::watermark::{DEFAULT_TILE_BYTES, Plan};
use crate::vk::{Buffer, Location};

impl GrowableBuffer {
    /// Recreates the buffer for a plan, with a new slot; the copy goes with the next flush.
    pub(super) fn recreate(&mut self, plan: &Plan) -> Result<()> {
        let layout = *self.backing.state().watermark.layout();
        let bytes = layout.bytes(plan.target_tiles).max(DEFAULT_TILE_BYTES);
        let device = self.device().clone();
        let fresh = Buffer::committed(&device, &self.name, bytes, self.usage, Location::Device)?;
        let fresh = Arc::new(fresh);
        let slot = self.make_slot(&fresh)?;
        let kept = layout.bytes(plan.target_tiles.min(plan.from_tiles));
        let grown = layout.bytes(plan.target_tiles.saturating_sub(plan.from_tiles));
        let mut inner = self.shared.lock();
        apply(&mut self.backing.state().watermark, plan, &self.name)?;
        let from = std::mem::replace(&mut self.buffer, fresh.clone());
        self.slot = slot;
        let resource: Arc<dyn Resource> = self.backing.clone();
        let mut work = Work::new(self.id, Arc::downgrade(&resource), Target::Buffer(fresh));
        work.is_bound = true;
        work.commands.push(Command::Copy { from, bytes: kept });
        if let Some(word) = self.contents.fill(self.shared.knobs.poison)
            && grown > 0
        {
            work.commands.push(Command::Fill { offset: kept, bytes: grown, word });
        }
        inner.work.push(work);
        Ok(())
    }
}
