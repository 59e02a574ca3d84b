//! Compression of pages on the GPU: from the targets that they are drawn into to blocks in the atlas.
//!
//! ```text
//! RenderTexture0/1/2 (8 array layers) --VirtualTextureCompress--> atlas, through views of its blocks
//!                                      \-> CompressTexture0/1/2 --VirtualTextureCopy--> atlas (the copy path)
//! without BC:          --VirtualTextureCompress--> atlas, or CopyTexture0/1/2 --VirtualTextureCopy--> atlas
//! heights, low quality: --VirtualTextureCopy--> atlas
//! ```
//!
//! [`Kind`] says what is packed into which layer. The twin does the same on the CPU, for tests.

mod compressor;
mod kind;
mod texels;
pub mod twin;

pub use crate::vt::Kind;
pub use compressor::{BATCH_PAGES, Batch, CompressError, CompressPush, Compressor};
pub use kind::Storage;
pub use texels::{PageTexels, PageTexelsPush};
