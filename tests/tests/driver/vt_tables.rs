//! Page tables on a real driver: what the pass paints is, entry by entry, what the host paints.

use std::sync::Arc;

use ash::vk::{BufferUsageFlags, ImageLayout};
use vasa::graph::{Access, FrameGraph, GraphOptions, Queue};
use vasa::vk::timeline::PresentSync;
use vasa::vk::{Buffer, Device, ImageRegion, Location, Site};
use vasa::vt::page_table::PageTable;
use vasa::vt::tables::{PageTableDesc, PageTables, TableError, TableTwin};
use vasa::vt::{Entry, EntryFormat, PageAddress, SpaceId, TableQuad, TableUpdate};
use vasa_tests::random::Random;
use vasa_tests::{Harness, labels, on_device};

/// A graph, page tables, and what should be in them.
struct Tables {
    graph: FrameGraph,
    tables: PageTables,
    twins: Vec<(SpaceId, PageTableDesc, TableTwin)>,
}

/// All mips of one image, one behind the other.
struct Readback {
    buffer: Buffer,
    copies: Vec<(u64, ImageRegion)>,
}

impl Tables {
    fn new(device: &Arc<Device>, in_flight: usize) -> Self {
        let graph = FrameGraph::new(device, in_flight, GraphOptions::default()).unwrap();
        Self { graph, tables: PageTables::new(device, in_flight).unwrap(), twins: Vec::new() }
    }

    fn create(&mut self, space: u8, side: u32, channels: u32, format: EntryFormat) {
        let (space, desc) = (SpaceId(space), PageTableDesc { side, channels, format });
        self.tables.create(space, desc).unwrap();
        self.twins.push((space, desc, TableTwin::new(space, desc).unwrap()));
    }

    fn destroy(&mut self, space: u8) {
        self.tables.destroy(SpaceId(space));
        self.twins.retain(|(twin, ..)| *twin != SpaceId(space));
    }

    /// A frame with these updates that reads nothing back.
    fn run(&mut self, updates: &[TableUpdate]) -> Result<(), vasa::graph::Error> {
        let submitted = self.submit(updates, &[]);
        if submitted.is_ok() {
            self.apply(updates);
        }
        submitted
    }

    fn apply(&mut self, updates: &[TableUpdate]) {
        for (_, _, twin) in &mut self.twins {
            updates.iter().for_each(|update| twin.apply(update).unwrap());
        }
    }

    fn submit(
        &mut self,
        updates: &[TableUpdate],
        readbacks: &[(SpaceId, u8, Readback)],
    ) -> Result<(), vasa::graph::Error> {
        let Self { graph, tables, .. } = self;
        graph.wait_for_place()?;
        tables.prepare(updates, graph.place()).unwrap();
        let submitted = declare_and_submit(graph, tables, readbacks);
        match submitted {
            Ok(()) => assert!(tables.submitted()),
            Err(_) => tables.keep_unsubmitted(),
        }
        submitted
    }

    /// Reads every mip of every image, and compares.
    fn check(&mut self, updates: &[TableUpdate]) {
        let mut readbacks = Vec::new();
        for (space, desc, _) in &self.twins {
            for texture in 0..desc.images() {
                let image = self.tables.image(*space, texture as u8).unwrap();
                let texel = desc.format.bytes() * u64::from(desc.image_channels(texture));
                let mut end = 0;
                let copies = (0..desc.mips()).map(|mip| {
                    let at = end;
                    end += (u64::from(desc.mip_side(mip)).pow(2) * texel).next_multiple_of(16);
                    (at, ImageRegion::mip(image, 0, mip))
                });
                let copies = copies.collect();
                let usage = BufferUsageFlags::TRANSFER_DST;
                let buffer =
                    Buffer::committed(image.device(), "Entries", end, usage, Location::Readback).unwrap();
                readbacks.push((*space, texture as u8, Readback { buffer, copies }));
            }
        }
        self.submit(updates, &readbacks).unwrap();
        self.apply(updates);
        self.graph.wait_for_all().unwrap();
        for (space, texture, readback) in &readbacks {
            let (_, desc, twin) = self.twins.iter().find(|(of, ..)| of == space).unwrap();
            let mapped = readback.buffer.mapped().unwrap();
            for (mip, (offset, _)) in (0..).zip(&readback.copies) {
                let expected = twin.bytes(u32::from(*texture), mip);
                let found = &mapped[*offset as usize..*offset as usize + expected.len()];
                if found != expected {
                    let wrong = found.iter().zip(&expected).filter(|(a, b)| a != b).count();
                    let first = found.iter().zip(&expected).position(|(a, b)| a != b).unwrap();
                    panic!("{space}, {desc:?}, image {texture}, mip {mip}: {wrong} bytes, the first {first}");
                }
            }
        }
    }
}

fn declare_and_submit(
    graph: &mut FrameGraph,
    tables: &PageTables,
    readbacks: &[(SpaceId, u8, Readback)],
) -> Result<(), vasa::graph::Error> {
    let mut frame = graph.begin();
    let handles = tables.declare(&mut frame);
    for (space, texture, readback) in readbacks {
        let handle = handles.get(*space, *texture).unwrap();
        let mut out = frame.import_buffer(&readback.buffer, Some(Access::HostRead));
        let read = frame
            .pass("Read", Queue::Graphics)
            .read(handle, Access::CopySource)
            .write(&mut out, Access::CopyDestination);
        read.record(move |pass| {
            let (encoder, resources) = pass.split();
            let layout = ImageLayout::TRANSFER_SRC_OPTIMAL;
            encoder.copy_regions_to_buffer(
                resources.image(handle)?,
                layout,
                &readback.buffer,
                &readback.copies,
            );
            Ok(())
        });
    }
    frame.compile()?.record()?.submit(&[], PresentSync::default())?;
    Ok(())
}

fn entry(random: &mut Random, format: EntryFormat) -> Entry {
    let side = if format == EntryFormat::Bits16 { 64 } else { 256 };
    Entry { level: random.below(13) as u8, page: [random.below(side) as u8, random.below(side) as u8] }
}

/// Quads anywhere in a mip, of any size, in any order.
fn update(random: &mut Random, space: SpaceId, desc: &PageTableDesc, most: u64) -> TableUpdate {
    let channel = random.below(u64::from(desc.channels)) as u8;
    let mip = random.below(u64::from(desc.mips())) as u8;
    let log2_side = desc.mip_side(u32::from(mip)).ilog2();
    let quads = (0..1 + random.below(most)).map(|_| {
        let log2_size = random.below(u64::from(log2_side) + 1) as u8;
        // Most are small, as a planner's are.
        let log2_size = if random.once_in(3) { log2_size } else { log2_size / 3 };
        let places = 1u64 << (log2_side - u32::from(log2_size));
        let [x, y] = [(); 2].map(|()| (random.below(places) << log2_size) as u16);
        TableQuad { x, y, log2_size, entry: entry(random, desc.format) }
    });
    TableUpdate { space, texture: channel / 4, mip, channel: channel % 4, quads: quads.collect() }
}

fn updates(random: &mut Random, tables: &Tables, count: u64, most: u64) -> Vec<TableUpdate> {
    let one = |_| {
        let (space, desc, _) = random.pick(&tables.twins).cloned()?;
        Some(update(random, space, &desc, most))
    };
    (0..count).filter_map(one).collect()
}

#[test]
fn random_updates_paint_what_the_host_paints() {
    on_device(|h| {
        for in_flight in 1..=3 {
            let random = &mut Random::new(40 + in_flight as u64);
            let mut tables = Tables::new(&h.device, in_flight);
            let formats = [EntryFormat::Bits16, EntryFormat::Bits32];
            let channels = [1, 2, 3, 4, 6];
            for (space, (format, channels)) in
                (0..).zip(formats.into_iter().flat_map(|format| channels.map(|channels| (format, channels))))
            {
                tables.create(space, [64, 16, 128, 1][usize::from(space) % 4], channels, format);
            }
            for round in 0..12 {
                // Some frames have nothing to paint, some are read only later.
                let count = [0, 1, 7, 40][random.below(4) as usize];
                let list = updates(random, &tables, count, 40);
                if round % 4 == 3 { tables.check(&list) } else { tables.run(&list).unwrap() }
            }
        }
    });
}

#[test]
fn the_largest_table_is_painted_to_its_edges() {
    on_device(|h| {
        let mut tables = Tables::new(&h.device, 2);
        tables.create(2, 4096, 1, EntryFormat::Bits16);
        let quad =
            |x, y, log2_size, level| TableQuad { x, y, log2_size, entry: Entry { level, page: [63, 62] } };
        let of_mip = |mip, quads| TableUpdate { space: SpaceId(2), texture: 0, mip, channel: 0, quads };
        let corners =
            vec![quad(4095, 4095, 0, 1), quad(0, 4095, 0, 2), quad(4095, 0, 0, 3), quad(0, 0, 0, 4)];
        let list = [
            of_mip(0, [vec![quad(0, 0, 12, 12), quad(2048, 1024, 10, 10)], corners].concat()),
            of_mip(12, vec![quad(0, 0, 0, 12)]),
            of_mip(5, vec![quad(127, 127, 0, 5), quad(64, 0, 6, 6)]),
        ];
        tables.check(&list);
    });
}

#[test]
fn a_new_table_is_cleared_whatever_its_memory_held() {
    on_device(|h| {
        let mut tables = Tables::new(&h.device, 2);
        for round in 0..3 {
            tables.create(0, 256, 2, EntryFormat::Bits32);
            // Not painted at all in its first frame, or at once.
            let quads = vec![TableQuad { x: 0, y: 0, log2_size: 8, entry: Entry { level: 3, page: [7, 9] } }];
            let all = TableUpdate { space: SpaceId(0), texture: 0, mip: 0, channel: 1, quads };
            tables.check(if round == 1 { std::slice::from_ref(&all) } else { &[] });
            tables.check(&[all]);
            tables.destroy(0);
            tables.run(&[]).unwrap();
            h.settle();
        }
    });
}

#[test]
fn a_steady_frame_paints_nothing_and_makes_nothing() {
    on_device(|h| {
        let mut tables = Tables::new(&h.device, 3);
        tables.create(0, 64, 1, EntryFormat::Bits16);
        tables.create(1, 64, 4, EntryFormat::Bits16);
        let passes = |tables: &mut Tables| {
            let (declaration, compiled) = tables.graph.last().unwrap();
            let name =
                |plan: &vasa::graph::PassPlan| declaration.passes[plan.pass.0 as usize].name.to_string();
            compiled.order.iter().map(name).collect::<Vec<_>>()
        };
        tables.run(&[]).unwrap();
        assert_eq!(passes(&mut tables), ["VirtualTextureAllocate"]);
        let random = &mut Random::new(3);
        for _ in 0..4 {
            let list = updates(random, &tables, 3, 10);
            tables.run(&list).unwrap();
            assert_eq!(passes(&mut tables), ["VirtualTexturePageTableUpdates"]);
        }
        let made = h.device.object_counts().created;
        for _ in 0..10 {
            tables.run(&[]).unwrap();
            assert_eq!(passes(&mut tables), [""; 0]);
        }
        for _ in 0..10 {
            let list = updates(random, &tables, 3, 10);
            tables.run(&list).unwrap();
        }
        assert_eq!(h.device.object_counts().created, made, "small updates fit what is there");
        tables.check(&[]);
    });
}

#[test]
fn upload_memory_grows_under_frames_in_flight() {
    on_device(|h| {
        for in_flight in 1..=3 {
            let mut tables = Tables::new(&h.device, in_flight);
            tables.create(0, 512, 2, EntryFormat::Bits16);
            let random = &mut Random::new(77);
            for most in [4, 3000, 9, 20_000, 100, 20_000] {
                let list = updates(random, &tables, 4, most);
                tables.run(&list).unwrap();
            }
            tables.check(&[]);
        }
    });
}

#[test]
fn a_refused_frame_is_painted_by_the_next() {
    on_device(|h| {
        let mut tables = Tables::new(&h.device, 2);
        tables.create(0, 64, 2, EntryFormat::Bits16);
        let random = &mut Random::new(21);
        // The frame that would clear, and later one that would paint only.
        for _ in 0..2 {
            let list = updates(random, &tables, 5, 20);
            h.device.faults().refuse(Site::Submit, 0);
            tables.run(&list).unwrap_err();
            tables.check(&list);
        }
        // A frame that was declared and dropped before it was submitted.
        let list = updates(random, &tables, 5, 20);
        tables.graph.wait_for_place().unwrap();
        tables.tables.prepare(&list, tables.graph.place()).unwrap();
        let mut frame = tables.graph.begin();
        tables.tables.declare(&mut frame);
        drop(frame.compile().unwrap().record().unwrap());
        assert!(!tables.tables.submitted(), "nothing of it was");
        tables.check(&list);
    });
}

#[test]
fn a_lost_device_is_an_error_and_no_more() {
    on_device(|h: &Harness| {
        let device = Device::open(h.device.instance(), &h.device_options()).unwrap();
        let mut tables = Tables::new(&device, 2);
        tables.create(0, 64, 1, EntryFormat::Bits16);
        let update = TableUpdate {
            space: SpaceId(0),
            texture: 0,
            mip: 0,
            channel: 0,
            quads: vec![TableQuad { x: 0, y: 0, log2_size: 0, entry: Entry::NONE }],
        };
        device.faults().refuse(Site::Lose, 0);
        tables.run(std::slice::from_ref(&update)).unwrap_err();
        assert!(tables.tables.prepare(&[update], 1).is_err(), "no memory is to be had");
        let desc = PageTableDesc { side: 4, channels: 1, format: EntryFormat::Bits16 };
        assert!(tables.tables.create(SpaceId(1), desc).is_err());
    });
}

#[test]
fn wrong_updates_are_refused_as_a_whole() {
    on_device(|h| {
        let mut tables = Tables::new(&h.device, 1);
        tables.create(4, 64, 2, EntryFormat::Bits16);
        let quad = TableQuad { x: 1, y: 1, log2_size: 0, entry: Entry { level: 0, page: [1, 1] } };
        let good = TableUpdate { space: SpaceId(4), texture: 0, mip: 0, channel: 0, quads: vec![quad] };
        let outside = TableQuad { x: 63, log2_size: 1, ..quad };
        let wrong = [
            TableUpdate { space: SpaceId(5), ..good.clone() },
            TableUpdate { texture: 1, ..good.clone() },
            TableUpdate { channel: 2, ..good.clone() },
            TableUpdate { mip: 7, ..good.clone() },
            TableUpdate { quads: vec![outside], ..good.clone() },
        ];
        for wrong in wrong {
            let error = tables.tables.prepare(&[good.clone(), wrong], 0).unwrap_err();
            println!("{error}");
            let mut frame = tables.graph.begin();
            tables.tables.declare(&mut frame);
            drop(frame.compile().unwrap());
        }
        let desc = PageTableDesc { side: 64, channels: 2, format: EntryFormat::Bits16 };
        let again = tables.tables.create(SpaceId(4), desc);
        assert!(matches!(again, Err(TableError::Taken { space: SpaceId(4) })));
        tables.check(&[]);
    });
}

#[test]
fn what_the_planner_paints_shows_the_nearest_mapped_page() {
    on_device(|h| {
        let mut tables = Tables::new(&h.device, 3);
        tables.create(1, 128, 3, EntryFormat::Bits16);
        let random = &mut Random::new(5);
        let mut channels = [(); 3].map(|()| PageTable::new(7));
        for frame in 0..40 {
            let mut list = Vec::new();
            for (channel, table) in (0..).zip(&mut channels) {
                for _ in 0..random.below(30) {
                    let level = random.below(8) as u8;
                    let [x, y] = [(); 2].map(|()| random.below(128 >> level) as u16);
                    let page = PageAddress::new(level, x, y);
                    if random.once_in(3) {
                        table.unmap(page);
                    } else {
                        table.map(page, Entry { level, ..entry(random, EntryFormat::Bits16) });
                    }
                }
                table.paint(SpaceId(1), channel, &mut Vec::new(), &mut list);
            }
            if frame % 8 == 7 { tables.check(&list) } else { tables.run(&list).unwrap() }
        }
    });
}

#[test]
fn a_capture_names_every_update() {
    on_device(|h| {
        let mut tables = Tables::new(&h.device, 1);
        tables.create(3, 64, 5, EntryFormat::Bits16);
        let names = [0, 1].map(|image| tables.tables.image(SpaceId(3), image).unwrap().name());
        assert_eq!(
            names,
            ["VirtualTexture_PageTable (R16G16B16A16_UINT) 1/2", "VirtualTexture_PageTable (R16_UINT) 2/2"]
        );
        let quads = vec![TableQuad { x: 0, y: 0, log2_size: 0, entry: Entry::NONE }];
        let update = |texture, mip, channel| TableUpdate {
            space: SpaceId(3),
            texture,
            mip,
            channel,
            quads: quads.clone(),
        };
        let empty = TableUpdate { quads: Vec::new(), ..update(0, 5, 0) };
        labels::take();
        tables.run(&[update(0, 4, 1), update(0, 2, 1), update(1, 2, 0), empty, update(0, 4, 3)]).unwrap();
        let seen = labels::take();
        if seen.is_empty() {
            h.skip("markers are not to be had");
        } else {
            assert_eq!(
                seen,
                [
                    "VirtualTextureAllocate",
                    "VirtualTexturePageTableUpdates",
                    "  PageTableUpdate (Id: 3, Tex 0, Mip: 2)",
                    "  PageTableUpdate (Id: 3, Tex 0, Mip: 4)",
                    "  PageTableUpdate (Id: 3, Tex 0, Mip: 4)",
                    "  PageTableUpdate (Id: 3, Tex 1, Mip: 2)",
                ]
            );
        }
    });
}
