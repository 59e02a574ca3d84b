//! The knobs of everything but virtual textures.

use vasa::sparse::ChunkPolicy;
use vasa::vk::SparseQueuePolicy;

use super::{Knob, SWITCHES, When, knob, number, on_off, one_of, store, switch};

/// In order of their names.
pub const KNOBS: &[Knob] = &[
    knob!(
        "camera.field_of_view",
        Live,
        "10 to 120",
        "vertical field of view, degrees",
        |s| s.field_of_view.to_string(),
        |s, t| store(&mut s.field_of_view, number(t, 10.0, 120.0))
    ),
    knob!(
        "frame.in_flight",
        StartUp,
        "1 to 3",
        "frames recorded before the first of them must be done",
        |s| s.frames_in_flight.to_string(),
        |s, t| store(&mut s.frames_in_flight, number(t, 1, 3))
    ),
    knob!(
        "frame.upload_mib",
        StartUp,
        "1 to 1024",
        "size of the upload ring, MiB",
        |s| (s.upload_bytes >> 20).to_string(),
        |s, t| store(&mut s.upload_bytes, number::<u64>(t, 1, 1024).map(|mib| mib << 20))
    ),
    knob!(
        "frame.vsync",
        StartUp,
        "on, off",
        "wait for the display (windows only)",
        |s| if s.vsync { "on" } else { "off" }.to_owned(),
        |s, t| store(&mut s.vsync, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "light.exposure",
        Live,
        "0.01 to 100",
        "multiplies light before tone mapping",
        |s| s.exposure.to_string(),
        |s, t| store(&mut s.exposure, number(t, 0.01, 100.0))
    ),
    knob!(
        "light.haze_km",
        Live,
        "1 to 10000",
        "distance at which haze takes 63% of the light, kilometres",
        |s| s.haze_kilometres.to_string(),
        |s, t| store(&mut s.haze_kilometres, number(t, 1.0, 10_000.0))
    ),
    knob!(
        "light.sun_azimuth",
        StartUp,
        "0 to 360",
        "compass direction of the sun, degrees (90 is east)",
        |s| s.sun_azimuth.to_string(),
        |s, t| store(&mut s.sun_azimuth, number(t, 0.0, 360.0))
    ),
    knob!(
        "light.sun_elevation",
        StartUp,
        "1 to 90",
        "elevation of the sun above the horizon, degrees",
        |s| s.sun_elevation.to_string(),
        |s, t| store(&mut s.sun_elevation, number(t, 1.0, 90.0))
    ),
    knob!(
        "render.ambient_occlusion",
        StartUp,
        "auto, on, off",
        "take light from the sky away where near forms hide it",
        |s| switch(s.render.ambient_occlusion),
        |s, t| store(&mut s.render.ambient_occlusion, one_of(t, SWITCHES))
    ),
    knob!(
        "render.anisotropy",
        StartUp,
        "0 to 16",
        "largest anisotropy of textures; 0 is automatic",
        |s| s.render.anisotropy.to_string(),
        |s, t| store(&mut s.render.anisotropy, number(t, 0, 16))
    ),
    knob!(
        "render.async_compute",
        StartUp,
        "auto, on, off",
        "compute beside rendering, where there is a queue for it",
        |s| switch(s.render.async_compute),
        |s, t| store(&mut s.render.async_compute, one_of(t, SWITCHES))
    ),
    knob!(
        "render.auto_exposure",
        StartUp,
        "auto, on, off",
        "let the exposure follow the light",
        |s| switch(s.render.auto_exposure),
        |s, t| store(&mut s.render.auto_exposure, one_of(t, SWITCHES))
    ),
    knob!(
        "render.bloom",
        StartUp,
        "auto, on, off",
        "let bright light spread over its neighbours",
        |s| switch(s.render.bloom),
        |s, t| store(&mut s.render.bloom, one_of(t, SWITCHES))
    ),
    knob!(
        "render.samples",
        StartUp,
        "0, 1, 2, 4, 8",
        "samples a pixel; 0 is automatic: 1 with render.temporal or in software, else 4",
        |s| s.render.samples.to_string(),
        |s, t| store(&mut s.render.samples, one_of(t, &[("0", 0), ("1", 1), ("2", 2), ("4", 4), ("8", 8)]))
    ),
    knob!(
        "render.temporal",
        StartUp,
        "auto, on, off",
        "smooth edges over time, from what frames before saw",
        |s| switch(s.render.temporal),
        |s, t| store(&mut s.render.temporal, one_of(t, SWITCHES))
    ),
    knob!(
        "residency.bias",
        Live,
        "0 to 8",
        "levels by which everything is coarser than it could be",
        |s| s.residency_bias.to_string(),
        |s, t| store(&mut s.residency_bias, number(t, 0.0, 8.0))
    ),
    knob!(
        "residency.budget_mib",
        StartUp,
        "1 to 4096",
        "memory for the tiles of the streamed image, MiB",
        |s| (s.residency_budget >> 20).to_string(),
        |s, t| store(&mut s.residency_budget, number::<u64>(t, 1, 4096).map(|mib| mib << 20))
    ),
    knob!(
        "residency.inset",
        Live,
        "on, off",
        "draw the residency map into the picture's corner",
        |s| if s.residency_inset { "on" } else { "off" }.to_owned(),
        |s, t| store(&mut s.residency_inset, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "residency.keep_frames",
        StartUp,
        "0 to 10000",
        "frames that a tile stays after the last request",
        |s| s.residency_keep_frames.to_string(),
        |s, t| store(&mut s.residency_keep_frames, number(t, 0, 10_000))
    ),
    knob!(
        "residency.maps",
        StartUp,
        "0 to 1024",
        "tiles mapped in one frame at most",
        |s| s.residency_maps.to_string(),
        |s, t| store(&mut s.residency_maps, number(t, 0, 1024))
    ),
    knob!(
        "residency.taps",
        StartUp,
        "1 to 16",
        "samples along a pixel's footprint at most",
        |s| s.residency_taps.to_string(),
        |s, t| store(&mut s.residency_taps, number(t, 1, 16))
    ),
    knob!(
        "residency.tint",
        Live,
        "0 to 1",
        "how much every place shows the colour of its resident mip",
        |s| s.residency_tint.to_string(),
        |s, t| store(&mut s.residency_tint, number(t, 0.0, 1.0))
    ),
    knob!(
        "sparse.cache_frames",
        StartUp,
        "1 to 100000",
        "frames after which a ready chunk that nobody took is freed",
        |s| s.sparse.cache_frames.to_string(),
        |s, t| store(&mut s.sparse.cache_frames, number(t, 1, 100_000))
    ),
    knob!(
        "sparse.cached_chunks",
        StartUp,
        "0 to 64",
        "most full chunks kept ready when buffers shrink",
        |s| s.sparse.cached_chunks.to_string(),
        |s, t| store(&mut s.sparse.cached_chunks, number(t, 0, 64))
    ),
    knob!(
        "sparse.capture_friendly",
        StartUp,
        "on, off",
        "small reservations and residency flags, for capture tools",
        |s| on_off(s.sparse.capture_friendly),
        |s, t| store(&mut s.sparse.capture_friendly, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "sparse.check",
        StartUp,
        "on, off",
        "check every bind and every use against a shadow page table",
        |s| on_off(s.sparse.check),
        |s, t| store(&mut s.sparse.check, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "sparse.chunk_mib",
        StartUp,
        "16, 32, 64",
        "size of a full chunk, MiB",
        |s| (s.sparse.chunk_bytes >> 20).to_string(),
        |s, t| {
            let sizes = [("16", 16 << 20), ("32", 32 << 20), ("64", 64 << 20)];
            store(&mut s.sparse.chunk_bytes, one_of(t, &sizes))
        }
    ),
    knob!(
        "sparse.chunk_policy",
        StartUp,
        "whole, exact",
        "whether a chunk is allocated whole or only as needed",
        |s| s.sparse.chunk_policy.to_string(),
        |s, t| {
            let policies = [("whole", ChunkPolicy::Whole), ("exact", ChunkPolicy::Exact)];
            store(&mut s.sparse.chunk_policy, one_of(t, &policies))
        }
    ),
    knob!(
        "sparse.commit_ahead",
        StartUp,
        "on, off",
        "a worker commits ahead of need",
        |s| on_off(s.sparse.commit_ahead),
        |s, t| store(&mut s.sparse.commit_ahead, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "sparse.poison",
        StartUp,
        "on, off",
        "fill new bytes whose contents are undefined",
        |s| on_off(s.sparse.poison),
        |s, t| store(&mut s.sparse.poison, one_of(t, &[("on", true), ("off", false)]))
    ),
    knob!(
        "sparse.queue",
        StartUp,
        "auto, graphics, side",
        "the queue that binds memory",
        |s| match s.sparse_queue {
            SparseQueuePolicy::Auto => "auto",
            SparseQueuePolicy::Graphics => "graphics",
            SparseQueuePolicy::Side => "side",
        }
        .to_owned(),
        |s, t| store(&mut s.sparse_queue, t.parse().ok())
    ),
    knob!(
        "terrain.layers",
        StartUp,
        "1 to 16",
        "layers of material: eight kinds of ground, then variants of them",
        |s| s.terrain_layers.to_string(),
        |s, t| store(&mut s.terrain_layers, number(t, 1, 16))
    ),
    knob!(
        "terrain.quads",
        StartUp,
        "16, 32, 64",
        "cells along a side of a chunk",
        |s| s.terrain_quads.to_string(),
        |s, t| store(&mut s.terrain_quads, one_of(t, &[("16", 16), ("32", 32), ("64", 64)]))
    ),
    knob!(
        "terrain.reach",
        StartUp,
        "1.5 to 8",
        "reach of a level of detail, in sizes of the next coarser chunk",
        |s| s.terrain_reach.to_string(),
        |s, t| store(&mut s.terrain_reach, number(t, 1.5, 8.0))
    ),
    knob!(
        "terrain.roads",
        StartUp,
        "0 to 12",
        "roads over the ground at most, with what lies beside them; 0 for none",
        |s| s.terrain_roads.to_string(),
        |s, t| store(&mut s.terrain_roads, number(t, 0, 12))
    ),
    knob!(
        "terrain.rocks",
        StartUp,
        "0 to 2000",
        "distance up to which rocks lie around the camera, metres",
        |s| s.terrain_rocks.to_string(),
        |s, t| store(&mut s.terrain_rocks, number(t, 0.0, 2000.0))
    ),
];
