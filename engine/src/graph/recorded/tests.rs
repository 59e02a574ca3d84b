//! Recorded frames: what is written comes back, and faults are named.

use proptest::prelude::*;

use super::{CAPTURED, FRAMES, RecordedError, load, read, save, write};
use crate::graph::{
    Access, BufferInfo, Declaration, HeapKey, ImageInfo, ImportState, LeftState, MemoryNeeds, Origin, Pass,
    PassId, Queue, Resource, ResourceId, ResourceInfo, ShaderStages, Subresources, Use,
};
use crate::graph::{Compiler, HeapPlan, Options, Queues};

fn any_queue() -> impl Strategy<Value = Queue> {
    prop_oneof![Just(Queue::Graphics), Just(Queue::Compute), Just(Queue::Transfer), Just(Queue::Commit)]
}

fn any_access() -> impl Strategy<Value = Access> {
    let stages =
        prop_oneof![Just(ShaderStages::VERTEX), Just(ShaderStages::DRAW), Just(ShaderStages::COMPUTE)];
    prop_oneof![
        Just(Access::ColourAttachment),
        Just(Access::DepthTest),
        Just(Access::DepthResolve),
        Just(Access::CopySource),
        Just(Access::Present),
        stages.clone().prop_map(Access::Sampled),
        stages.clone().prop_map(Access::StorageRead),
        stages.prop_map(Access::StorageReadWrite),
    ]
}

fn any_state() -> impl Strategy<Value = ImportState> {
    let after = (any::<u64>(), any::<u64>(), any::<i32>(), any_queue(), any::<u8>()).prop_map(
        |(stages, accesses, layout, queue, beside)| {
            ImportState::After(LeftState { stages, accesses, layout, queue, beside })
        },
    );
    prop_oneof![Just(ImportState::Undefined), after]
}

fn any_origin() -> impl Strategy<Value = Origin> {
    prop_oneof![
        any::<bool>().prop_map(|may_alias| Origin::Transient { may_alias }),
        (any_state(), prop::option::of(any_access()))
            .prop_map(|(before, after)| Origin::Imported { before, after }),
        (any::<bool>(), any_state())
            .prop_map(|(is_valid, before)| Origin::HistoryPrevious { is_valid, before }),
        any_state().prop_map(|before| Origin::HistoryCurrent { before }),
    ]
}

fn any_resource() -> impl Strategy<Value = Resource> {
    let image = (any::<i32>(), any::<[u32; 3]>(), any::<[u32; 4]>()).prop_map(
        |(format, extent, [mips, layers, samples, usage])| {
            ResourceInfo::Image(ImageInfo { format, extent, mips, layers, samples, usage })
        },
    );
    let buffer = (any::<u64>(), any::<u32>())
        .prop_map(|(bytes, usage)| ResourceInfo::Buffer(BufferInfo { bytes, usage }));
    let needs = (any::<u64>(), 0..64u32, any::<u32>(), any::<bool>()).prop_map(
        |(bytes, power, memory_type, is_linear)| MemoryNeeds {
            bytes,
            alignment: 1 << power,
            heap: HeapKey { memory_type, is_linear },
        },
    );
    ("\\PC{0,12}", prop_oneof![image, buffer], any_origin(), prop::option::of(needs), 0..9u32).prop_map(
        |(name, info, origin, needs, versions)| Resource { name: name.into(), info, origin, needs, versions },
    )
}

/// A use of one of `resources`, of a part that fits it.
fn use_of(resources: &[Resource], pick: u32, access: Access, numbers: [u32; 4], is_optional: bool) -> Use {
    let index = pick as usize % resources.len();
    let [a, b, c, d] = numbers;
    let part = match resources[index].info {
        _ if a % 3 == 0 => Subresources::All,
        ResourceInfo::Image(_) => Subresources::Image { first_mip: a, mips: b, first_layer: c, layers: d },
        ResourceInfo::Buffer(_) => Subresources::Bytes { offset: a.into(), bytes: b.into() },
    };
    let version = b % (resources[index].versions + 1);
    Use { resource: ResourceId(index as u32), version, access, part, is_optional }
}

type RawPass = (String, Queue, bool, bool, Vec<(u32, Access, [u32; 4], bool)>);

fn any_declaration() -> impl Strategy<Value = Declaration> {
    let uses = prop::collection::vec((any::<u32>(), any_access(), any::<[u32; 4]>(), any::<bool>()), 0..4);
    let pass = ("\\PC{0,12}", any_queue(), any::<bool>(), any::<bool>(), uses);
    let passes = prop::collection::vec(pass, 0..8);
    let orders = prop::collection::vec((any::<u32>(), any::<u32>()), 0..3);
    (prop::collection::vec(any_resource(), 1..6), passes, orders).prop_map(
        |(resources, passes, orders): (_, Vec<RawPass>, Vec<(u32, u32)>)| {
            let mut declaration = Declaration { resources, ..Declaration::default() };
            let count = passes.len() as u32;
            for (name, queue, has_side_effects, is_on, uses) in passes {
                let start = declaration.uses.len() as u32;
                for (pick, access, numbers, is_optional) in uses {
                    let one = use_of(&declaration.resources, pick, access, numbers, is_optional);
                    declaration.uses.push(one);
                }
                let uses = start..declaration.uses.len() as u32;
                declaration.passes.push(Pass { name: name.into(), queue, has_side_effects, is_on, uses });
            }
            if count > 0 {
                let pass = |raw: u32| PassId(raw % count);
                declaration.orders.extend(orders.into_iter().map(|(a, b)| (pass(a), pass(b))));
            }
            declaration
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_comes_back(declaration in any_declaration()) {
        let text = write(&declaration);
        let back = read("a.json", &text).unwrap();
        prop_assert_eq!(&back.resources, &declaration.resources);
        prop_assert_eq!(&back.passes, &declaration.passes);
        prop_assert_eq!(&back.uses, &declaration.uses);
        prop_assert_eq!(&back.orders, &declaration.orders);
        prop_assert_eq!(write(&back), text);
    }

    #[test]
    fn cut_files_are_errors(declaration in any_declaration(), share in 0.0..1.0f64) {
        let text = write(&declaration);
        let whole = text.trim_end().chars().count();
        let cut: String = text.chars().take((whole as f64 * share) as usize).collect();
        prop_assert!(read("a.json", &cut).is_err());
    }
}

const SMALL: &str = r#"{
"format": "vasa-frame",
"version": 1,
"resources": [
{"name":"Counts","info":{"Buffer":{"bytes":64,"usage":0}},"origin":{"Transient":{"may_alias":true}},"needs":{"bytes":64,"alignment":256,"heap":{"memory_type":1,"is_linear":true}},"versions":1}],
"passes": [
{"name":"Clear","queue":"Graphics","has_side_effects":false,"is_on":true,"uses":[
  {"resource":0,"version":0,"access":"CopyDestination","part":"All","is_optional":false}]}],
"orders": []
}
"#;

#[test]
fn the_format_stays() {
    let declaration = read("small.json", SMALL).unwrap();
    assert_eq!(declaration.passes[0].name, "Clear");
    assert_eq!(write(&declaration), SMALL);
}

#[test]
fn faults_are_named() {
    let swapped = |from: &str, to: &str| {
        assert!(SMALL.contains(from), "{from}");
        read("small.json", &SMALL.replacen(from, to, 1)).unwrap_err().to_string()
    };
    let said = [
        swapped("vasa-frame", "a-frame"),
        swapped("\"version\": 1", "\"version\": 2"),
        swapped(",\"versions\":1", ""),
        swapped("\"is_on\":true", "\"is_on\":1"),
        swapped("\"Graphics\"", "\"Video\""),
        swapped("\"orders\": []", "\"orders\": [], \"extra\": 1"),
        swapped("\"alignment\":256", "\"alignment\":96"),
        swapped("\"resource\":0", "\"resource\":1"),
        swapped("\"version\":0", "\"version\":2"),
        swapped(
            "\"part\":\"All\"",
            "\"part\":{\"Image\":{\"first_mip\":0,\"mips\":1,\"first_layer\":0,\"layers\":1}}",
        ),
        swapped("\"orders\": []", "\"orders\": [[0,1]]"),
        read("empty.json", "").unwrap_err().to_string(),
        read("other.json", "{\"benches\":[]}").unwrap_err().to_string(),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    small.json: `format` is "a-frame", not "vasa-frame"; record a frame with --dump-graph
    small.json: `version` is 2, and this build reads 1; record the frame again
    small.json: not a recorded frame: missing field `versions` at line 5 column 179
    small.json: not a recorded frame: invalid type: integer `1`, expected a boolean at line 7 column 69
    small.json: not a recorded frame: unknown variant `Video`, expected one of `Graphics`, `Compute`, `Transfer`, `Commit` at line 7 column 31
    small.json: not a recorded frame: unknown field `extra`, expected one of `format`, `version`, `resources`, `passes`, `orders` at line 9 column 21
    small.json: `resources[0].needs.alignment`: 96 of "Counts" is no power of two
    small.json: `passes[0].uses[0].resource`: 1 of 1 resources, used by "Clear"
    small.json: `passes[0].uses[0].version`: 2 of "Counts", which has 1
    small.json: `passes[0].uses[0].part`: bytes of an image, or mips of a buffer: "Counts"
    small.json: `orders[0]`: pass 1 of 1
    empty.json: not a recorded frame: EOF while parsing a value at line 1 column 0
    other.json: not a recorded frame: missing field `format` at line 1 column 14
    "#);
}

#[test]
fn files_are_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frame.json");
    let declaration = read("small.json", SMALL).unwrap();
    save(&declaration, &path).unwrap();
    assert_eq!(write(&load(&path).unwrap()), SMALL);
    let error = load(&folder.path().join("none.json")).unwrap_err();
    assert!(
        matches!(&error, RecordedError::Read { .. }) && error.to_string().contains("none.json"),
        "{error}"
    );
    let error = save(&declaration, folder.path()).unwrap_err();
    assert!(matches!(error, RecordedError::Write { .. }), "{error}");
}

#[test]
fn frames_of_the_engine_are_whole() {
    for frame in FRAMES {
        assert!((30..=200).contains(&frame.declaration().unwrap().passes.len()), "{}", frame.name);
    }
    for frame in FRAMES.iter().chain(CAPTURED) {
        let declaration = frame.declaration().unwrap();
        assert_eq!(write(&declaration), frame.text, "{} is not as `write` writes it", frame.name);
        // What a handle would have seen: every use finds the version that the writes before it left.
        let mut versions = vec![0; declaration.resources.len()];
        for one in &declaration.uses {
            let version = &mut versions[one.resource.0 as usize];
            assert_eq!(one.version, *version, "{}: {one:?}", frame.name);
            *version += u32::from(one.access.writes());
        }
        for (resource, version) in declaration.resources.iter().zip(versions) {
            assert_eq!(resource.versions, version, "{}: {}", frame.name, resource.name);
            let is_transient = matches!(resource.origin, Origin::Transient { .. });
            assert_eq!(resource.needs.is_some(), is_transient, "{}: {}", frame.name, resource.name);
        }
    }
}

/// The packer's aims on frames as they are: a mean of 1.02 times the bound, and never more than 1.10 times.
#[test]
fn transients_of_whole_frames_take_little_more_than_what_is_alive() {
    let queues = Queues { compute: true, transfer: true, commit: true };
    let mut ratios = Vec::new();
    for frame in FRAMES.iter().chain(CAPTURED) {
        let declaration = frame.declaration().unwrap();
        let mut compiler = Compiler::new();
        for queues in [Queues::default(), queues] {
            let compiled = compiler.compile(&declaration, &Options { queues, ..Options::default() }).unwrap();
            let sum = |of: fn(&HeapPlan) -> u64| compiled.heaps.iter().map(of).sum::<u64>() as f64;
            let ratio = sum(|heap| heap.bytes) / sum(|heap| heap.bound);
            assert!((1.0..=1.10).contains(&ratio), "{}: {ratio}", frame.name);
            assert!(sum(|heap| heap.unaliased) > 1.2 * sum(|heap| heap.bytes), "{} shares", frame.name);
            ratios.push(ratio);
        }
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!(mean <= 1.02, "{mean}: {ratios:?}");
}
