//! The `driver` ring: behaviour on a real Vulkan driver, by exact readback, with validation on.
//!
//! Every test runs as it is and with `VASA_FALLBACK=1`. Where something exists only with sparse binding, the
//! fallback's equivalent is checked instead.

mod ahead;
mod batching;
mod cache;
mod checker;
mod chunked_images;
mod chunks;
mod contents;
mod defragmentation;
mod embedding;
mod faults;
mod frame_graph;
mod frames;
mod golden;
mod growth;
mod hot_reload;
mod injected_faults;
mod lifetime;
mod limits;
mod loss;
mod ordering;
mod paged_buffers;
mod pipelines;
mod post;
mod present;
mod pressure;
mod refused_frames;
mod residency;
mod residency_maps;
mod resident_images;
mod scene;
mod statistics;
mod storms;
mod stress;
mod terrain;
mod terrain_layers;
mod trace;
mod vt_capture;
mod vt_compress;
mod vt_feedback;
mod vt_inputs;
mod vt_page_atlas;
mod vt_page_world;
mod vt_pages;
mod vt_sampling;
mod vt_stress;
mod vt_stress_edits;
mod vt_stress_faults;
mod vt_stress_pictures;
mod vt_stress_pools;
mod vt_tables;
mod vt_view;
