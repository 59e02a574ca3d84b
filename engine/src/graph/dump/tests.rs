//! Dumps of a small frame, letter by letter, and of large ones.

use super::*;
use crate::graph::{Compiler, Options, Queues, recorded};

fn compile(declaration: &Declaration) -> Compiled {
    let queues = Queues { compute: true, transfer: true, commit: true };
    let options = Options { queues, granularity: 1024, ..Options::default() };
    Compiler::new().compile(declaration, &options).unwrap().clone()
}

/// A frame with a pass on another queue, one switched off, an imported target, and names that need care.
const SMALL: &str = r#"{"format":"vasa-frame","version":1,"resources":[
{"name":"Depth","info":{"Image":{"format":126,"extent":[64,64,1],"mips":1,"layers":1,"samples":1,"usage":0}},"origin":{"Transient":{"may_alias":false}},"needs":{"bytes":16384,"alignment":1024,"heap":{"memory_type":1,"is_linear":false}},"versions":1},
{"name":"Light <raw> & \"wide\"","info":{"Image":{"format":97,"extent":[64,64,1],"mips":1,"layers":1,"samples":1,"usage":0}},"origin":{"Transient":{"may_alias":true}},"needs":{"bytes":32768,"alignment":1024,"heap":{"memory_type":1,"is_linear":false}},"versions":1},
{"name":"Light.Blurred","info":{"Image":{"format":97,"extent":[64,64,1],"mips":1,"layers":1,"samples":1,"usage":0}},"origin":{"Transient":{"may_alias":true}},"needs":{"bytes":32768,"alignment":1024,"heap":{"memory_type":1,"is_linear":false}},"versions":1},
{"name":"Counts","info":{"Buffer":{"bytes":4096,"usage":0}},"origin":{"Transient":{"may_alias":true}},"needs":{"bytes":4096,"alignment":256,"heap":{"memory_type":1,"is_linear":true}},"versions":1},
{"name":"Swapchain","info":{"Image":{"format":43,"extent":[64,64,1],"mips":1,"layers":1,"samples":1,"usage":0}},"origin":{"Imported":{"before":"Undefined","after":"Present"}},"needs":null,"versions":1}],
"passes":[
{"name":"Cull","queue":"Compute","has_side_effects":false,"is_on":true,"uses":[{"resource":3,"version":0,"access":{"StorageWrite":4},"part":"All","is_optional":false}]},
{"name":"Draw","queue":"Graphics","has_side_effects":false,"is_on":true,"uses":[{"resource":3,"version":1,"access":"Indirect","part":"All","is_optional":false},{"resource":0,"version":0,"access":"DepthAttachment","part":"All","is_optional":false},{"resource":1,"version":0,"access":"ColourAttachment","part":"All","is_optional":false}]},
{"name":"Debug","queue":"Graphics","has_side_effects":false,"is_on":false,"uses":[{"resource":0,"version":1,"access":{"Sampled":2},"part":"All","is_optional":false}]},
{"name":"Blur","queue":"Graphics","has_side_effects":false,"is_on":true,"uses":[{"resource":1,"version":1,"access":{"Sampled":2},"part":"All","is_optional":false},{"resource":2,"version":0,"access":"ColourAttachment","part":"All","is_optional":false}]},
{"name":"Show","queue":"Graphics","has_side_effects":false,"is_on":true,"uses":[{"resource":2,"version":1,"access":{"Sampled":2},"part":"All","is_optional":false},{"resource":4,"version":0,"access":"ColourAttachment","part":"All","is_optional":false}]}],
"orders":[]}"#;

fn small() -> (Declaration, Compiled) {
    let declaration = recorded::read("small", SMALL).unwrap();
    let compiled = compile(&declaration);
    (declaration, compiled)
}

#[test]
fn dot_of_a_small_frame() {
    let (declaration, compiled) = small();
    insta::assert_snapshot!(dot(&declaration, &compiled), @r##"
    digraph frame {
      rankdir=LR; compound=true; fontname="sans-serif"; nodesep=0.15; ranksep=0.5;
      node [shape=box, style=filled, fontname="sans-serif", fontsize=11];
      edge [fontname="sans-serif", fontsize=9, color="#707a8a", fontcolor="#505a6a"];
      subgraph cluster_0 { label="0: compute"; color="#78c478";
        p0 [label="Cull", fillcolor="#78c47860"];
      }
      subgraph cluster_1 { label="1: graphics"; color="#609ce6";
        p1 [label="Draw\n2 barriers", fillcolor="#609ce660"];
        p3 [label="Blur\n2 barriers", fillcolor="#609ce660"];
        p4 [label="Show\n2 barriers", fillcolor="#609ce660"];
      }
      subgraph cluster_culled { label="takes no part"; color="#b0b4bc"; style=dashed;
        p2 [label="Debug\nswitched off", fillcolor="#e4e6ea"];
      }
      r4 [label="Swapchain", shape=oval, fillcolor="#f4ecd8"];
      p0 -> p1 [label="Counts"];
      p1 -> p3 [label="Light <raw> & \"wide\""];
      p3 -> p4 [label="Light.Blurred"];
      p4 -> r4;
      p0 -> p1 [style=dashed, color="#c03040", penwidth=1.5, ltail=cluster_0, lhead=cluster_1];
    }
    "##);
}

#[test]
fn json_of_a_small_frame() {
    let (declaration, compiled) = small();
    let text = json(&declaration, &compiled);
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["totals"]["passes"], 4);
    assert_eq!(document["submissions"][1]["passes"][0]["name"], "Draw");
    let head: Vec<&str> = text.lines().take(75).collect();
    insta::assert_snapshot!(head.join("\n"), @r#"
    {
      "format": "vasa-compiled-frame",
      "version": 1,
      "totals": {
        "passes": 4,
        "culled": 1,
        "submissions": 2,
        "waits": 1,
        "barriers": 7,
        "take_overs": 0,
        "transients": 4,
        "heap_bytes": 86016,
        "bound_bytes": 86016,
        "unaliased_bytes": 86016
      },
      "heaps": [
        {
          "key": {
            "memory_type": 1,
            "is_linear": false
          },
          "bytes": 81920,
          "bound": 81920,
          "unaliased": 81920
        },
        {
          "key": {
            "memory_type": 1,
            "is_linear": true
          },
          "bytes": 4096,
          "bound": 4096,
          "unaliased": 4096
        }
      ],
      "submissions": [
        {
          "queue": "compute",
          "waits": [],
          "passes": [
            {
              "pass": 0,
              "name": "Cull",
              "asked_for": "compute",
              "barriers": [],
              "uses": [
                {
                  "resource": 3,
                  "name": "Counts",
                  "access": {
                    "StorageWrite": 4
                  },
                  "part": "All"
                }
              ]
            }
          ],
          "barriers_after": []
        },
        {
          "queue": "graphics",
          "waits": [
            {
              "submission": 0,
              "stages": 65536
            }
          ],
          "passes": [
            {
              "pass": 1,
              "name": "Draw",
              "asked_for": "graphics",
              "barriers": [
                {
                  "resource": 0,
    "#);
    insta::assert_snapshot!(document["resources"][1], @r#"{"info":{"Image":{"extent":[64,64,1],"format":97,"layers":1,"mips":1,"samples":1,"usage":0}},"is_shared":false,"lifetime":{"first":1,"last":2},"name":"Light <raw> & \"wide\"","origin":"transient","placement":{"bytes":32768,"heap":0,"offset":0},"resource":1}"#);
    insta::assert_snapshot!(document["culled"], @r#"[{"name":"Debug","pass":2,"reason":"SwitchedOff"}]"#);
}

#[test]
fn chart_of_a_small_frame() {
    let (declaration, compiled) = small();
    insta::assert_snapshot!(lifetime_chart_svg(&declaration, &compiled), @r##"
    <svg xmlns="http://www.w3.org/2000/svg" width="760" height="1082" viewBox="0 0 760 1082" font-family="'Inter', 'Segoe UI', 'DejaVu Sans', Helvetica, sans-serif">
    <rect width="100%" height="100%" fill="#101319"/>
    <text x="28.0" y="44.0" font-size="20" fill="#e6eaf0">Lifetimes of transients</text>
    <text x="28.0" y="66.0" font-size="13" fill="#96a0af">4 transients in 4 passes: 84 KiB without sharing, 84 KiB packed (0% saved); lower bound 84 KiB, 1.000x</text>
    <text x="670.0" y="42.0" font-size="12" fill="#96a0af">compute</text>
    <rect x="653.0" y="32.0" width="11.0" height="11.0" fill="#78c478" rx="2"/>
    <text x="582.0" y="42.0" font-size="12" fill="#96a0af">graphics</text>
    <rect x="565.0" y="32.0" width="11.0" height="11.0" fill="#609ce6" rx="2"/>
    <text transform="translate(147.0 100.9) rotate(-60)" font-size="9" fill="#96a0af">Cull</text>
    <rect x="112.5" y="105.9" width="63.0" height="8.0" fill="#78c478"><title>Cull: compute, 0 barriers</title></rect>
    <text transform="translate(211.0 100.9) rotate(-60)" font-size="9" fill="#96a0af">Draw</text>
    <rect x="176.5" y="105.9" width="63.0" height="8.0" fill="#609ce6"><title>Draw: graphics, 2 barriers</title></rect>
    <text transform="translate(275.0 100.9) rotate(-60)" font-size="9" fill="#96a0af">Blur</text>
    <rect x="240.5" y="105.9" width="63.0" height="8.0" fill="#609ce6"><title>Blur: graphics, 2 barriers</title></rect>
    <text transform="translate(339.0 100.9) rotate(-60)" font-size="9" fill="#96a0af">Show</text>
    <rect x="304.5" y="105.9" width="63.0" height="8.0" fill="#609ce6"><title>Show: graphics, 2 barriers</title></rect>
    <text x="28.0" y="143.9" font-size="13" fill="#e6eaf0">Heap 0: images, memory type 1</text>
    <text x="256.9" y="143.9" font-size="12" fill="#96a0af">3 transients, 80 KiB without sharing</text>
    <rect x="112.0" y="153.9" width="256.0" height="620.0" fill="#1c212a"/>
    <line x1="112.0" y1="153.9" x2="368.0" y2="153.9" stroke="#343c4a"/>
    <text x="104.0" y="157.9" font-size="10.5" fill="#96a0af" text-anchor="end">0 B</text>
    <line x1="112.0" y1="215.9" x2="368.0" y2="215.9" stroke="#343c4a"/>
    <text x="104.0" y="219.9" font-size="10.5" fill="#96a0af" text-anchor="end">8 KiB</text>
    <line x1="112.0" y1="277.9" x2="368.0" y2="277.9" stroke="#343c4a"/>
    <text x="104.0" y="281.9" font-size="10.5" fill="#96a0af" text-anchor="end">16 KiB</text>
    <line x1="112.0" y1="339.9" x2="368.0" y2="339.9" stroke="#343c4a"/>
    <text x="104.0" y="343.9" font-size="10.5" fill="#96a0af" text-anchor="end">24 KiB</text>
    <line x1="112.0" y1="401.9" x2="368.0" y2="401.9" stroke="#343c4a"/>
    <text x="104.0" y="405.9" font-size="10.5" fill="#96a0af" text-anchor="end">32 KiB</text>
    <line x1="112.0" y1="463.9" x2="368.0" y2="463.9" stroke="#343c4a"/>
    <text x="104.0" y="467.9" font-size="10.5" fill="#96a0af" text-anchor="end">40 KiB</text>
    <line x1="112.0" y1="525.9" x2="368.0" y2="525.9" stroke="#343c4a"/>
    <text x="104.0" y="529.9" font-size="10.5" fill="#96a0af" text-anchor="end">48 KiB</text>
    <line x1="112.0" y1="587.9" x2="368.0" y2="587.9" stroke="#343c4a"/>
    <text x="104.0" y="591.9" font-size="10.5" fill="#96a0af" text-anchor="end">56 KiB</text>
    <line x1="112.0" y1="649.9" x2="368.0" y2="649.9" stroke="#343c4a"/>
    <text x="104.0" y="653.9" font-size="10.5" fill="#96a0af" text-anchor="end">64 KiB</text>
    <line x1="112.0" y1="711.9" x2="368.0" y2="711.9" stroke="#343c4a"/>
    <text x="104.0" y="715.9" font-size="10.5" fill="#96a0af" text-anchor="end">72 KiB</text>
    <rect x="176.5" y="153.9" width="127.0" height="247.0" fill="#cc5c7d" rx="2"><title>Light &lt;raw&gt; &amp; "wide": 32 KiB at 0 B, from Draw to Blur</title></rect>
    <text x="181.0" y="275.5" font-size="10.5" fill="#0c0e12">Light &lt;raw&gt; &amp; "wide"</text>
    <text x="181.0" y="287.5" font-size="9" fill="#262c36">32 KiB</text>
    <rect x="240.5" y="401.9" width="127.0" height="247.0" fill="#5ccc5c" rx="2"><title>Light.Blurred: 32 KiB at 32 KiB, from Blur to Show</title></rect>
    <text x="245.0" y="523.5" font-size="10.5" fill="#0c0e12">Light.Blurred</text>
    <text x="245.0" y="535.5" font-size="9" fill="#262c36">32 KiB</text>
    <rect x="112.5" y="649.9" width="255.0" height="123.0" fill="#5c9dcc" rx="2"><title>Depth: 16 KiB at 64 KiB, from Cull to Show</title></rect>
    <text x="117.0" y="709.5" font-size="10.5" fill="#0c0e12">Depth</text>
    <text x="117.0" y="721.5" font-size="9" fill="#262c36">16 KiB</text>
    <line x1="106.0" y1="773.9" x2="374.0" y2="773.9" stroke="#e6eaf0" stroke-width="1.5"/>
    <line x1="106.0" y1="773.9" x2="374.0" y2="773.9" stroke="#f0b446" stroke-width="1.5" stroke-dasharray="7 4"/>
    <text x="378.0" y="749.9" font-size="11" fill="#f0b446">bound 80 KiB</text>
    <text x="378.0" y="769.9" font-size="11" fill="#e6eaf0">height 80 KiB</text>
    <text x="378.0" y="783.9" font-size="11" fill="#96a0af">1.000x</text>
    <text x="104.0" y="817.9" font-size="10.5" fill="#96a0af" text-anchor="end">alive</text>
    <rect x="112.5" y="831.9" width="63.0" height="10.0" fill="#546278"><title>Cull: 16 KiB alive</title></rect>
    <rect x="176.5" y="811.9" width="63.0" height="30.0" fill="#546278"><title>Draw: 48 KiB alive</title></rect>
    <rect x="240.5" y="791.9" width="63.0" height="50.0" fill="#f0b446"><title>Blur: 80 KiB alive</title></rect>
    <rect x="304.5" y="811.9" width="63.0" height="30.0" fill="#546278"><title>Show: 48 KiB alive</title></rect>
    <line x1="112.0" y1="841.9" x2="368.0" y2="841.9" stroke="#343c4a"/>
    <line x1="112.0" y1="791.9" x2="368.0" y2="791.9" stroke="#f0b446" stroke-dasharray="3 4" stroke-opacity="0.7"/>
    <text x="28.0" y="865.9" font-size="13" fill="#e6eaf0">Heap 1: buffers, memory type 1</text>
    <text x="264.3" y="865.9" font-size="12" fill="#96a0af">1 transients, 4 KiB without sharing</text>
    <rect x="112.0" y="875.9" width="256.0" height="110.0" fill="#1c212a"/>
    <line x1="112.0" y1="875.9" x2="368.0" y2="875.9" stroke="#343c4a"/>
    <text x="104.0" y="879.9" font-size="10.5" fill="#96a0af" text-anchor="end">0 B</text>
    <line x1="112.0" y1="930.9" x2="368.0" y2="930.9" stroke="#343c4a"/>
    <text x="104.0" y="934.9" font-size="10.5" fill="#96a0af" text-anchor="end">2 KiB</text>
    <rect x="112.5" y="875.9" width="127.0" height="109.0" fill="#7d5ccc" rx="2"><title>Counts: 4 KiB at 0 B, from Cull to Draw</title></rect>
    <text x="117.0" y="928.5" font-size="10.5" fill="#0c0e12">Counts</text>
    <text x="117.0" y="940.5" font-size="9" fill="#262c36">4 KiB</text>
    <line x1="106.0" y1="985.9" x2="374.0" y2="985.9" stroke="#e6eaf0" stroke-width="1.5"/>
    <line x1="106.0" y1="985.9" x2="374.0" y2="985.9" stroke="#f0b446" stroke-width="1.5" stroke-dasharray="7 4"/>
    <text x="378.0" y="961.9" font-size="11" fill="#f0b446">bound 4 KiB</text>
    <text x="378.0" y="981.9" font-size="11" fill="#e6eaf0">height 4 KiB</text>
    <text x="378.0" y="995.9" font-size="11" fill="#96a0af">1.000x</text>
    <text x="104.0" y="1029.9" font-size="10.5" fill="#96a0af" text-anchor="end">alive</text>
    <rect x="112.5" y="1003.9" width="63.0" height="50.0" fill="#f0b446"><title>Cull: 4 KiB alive</title></rect>
    <rect x="176.5" y="1003.9" width="63.0" height="50.0" fill="#f0b446"><title>Draw: 4 KiB alive</title></rect>
    <rect x="240.5" y="1053.9" width="63.0" height="0.0" fill="#546278"><title>Blur: 0 B alive</title></rect>
    <rect x="304.5" y="1053.9" width="63.0" height="0.0" fill="#546278"><title>Show: 0 B alive</title></rect>
    <line x1="112.0" y1="1053.9" x2="368.0" y2="1053.9" stroke="#343c4a"/>
    <line x1="112.0" y1="1003.9" x2="368.0" y2="1003.9" stroke="#f0b446" stroke-dasharray="3 4" stroke-opacity="0.7"/>
    </svg>
    "##);
}

/// The map with a letter a colour, a cell each.
fn letters(map: &OccupancyMap) -> String {
    let mut known: Vec<&[u8]> = Vec::new();
    let (width, pitch) = (map.width as usize, 8);
    let mut text = format!("{} x {}, {} bytes a cell\n", map.width, map.height, map.cell_bytes);
    for y in (1..map.height as usize).step_by(pitch) {
        for x in (1..width).step_by(pitch) {
            let at = (y * width + x) * 4;
            let colour = &map.pixels[at..at + 4];
            let index = known.iter().position(|other| *other == colour).unwrap_or_else(|| {
                known.push(colour);
                known.len() - 1
            });
            text.push(char::from(b'a' + index as u8));
        }
        text.push('\n');
    }
    text
}

#[test]
fn map_of_a_small_frame() {
    let (declaration, compiled) = small();
    let images = 0;
    assert_eq!(peak_place(&declaration, &compiled, images), Some(2));
    let map = occupancy_map(&declaration, &compiled, images, 1).unwrap();
    assert_eq!(map.pixels.len(), map.width as usize * map.height as usize * 4);
    insta::assert_snapshot!(letters(&map), @r"
    769 x 33, 256 bytes a cell
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
    bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbcccccccccccccccccccccccccccccccc
    ccccccccccccccccccccccccccccccccdddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd
    ");
    let later = occupancy_map(&declaration, &compiled, images, 3).unwrap();
    assert_ne!(map, later);
    assert_eq!(occupancy_map(&declaration, &compiled, 2, 0), None);
    assert_eq!(peak_place(&declaration, &compiled, 2), None);
}

#[test]
fn recorded_frames_can_be_drawn() {
    for frame in recorded::FRAMES {
        let declaration = frame.declaration().unwrap();
        let compiled = compile(&declaration);
        let chart = lifetime_chart_svg(&declaration, &compiled);
        let titles = chart.matches("<title>").count();
        let transients = compiled.placements.iter().flatten().count();
        // A transient each, and for every pass its name and once a heap what is alive.
        assert_eq!(titles, transients + compiled.order.len() * (1 + compiled.heaps.len()), "{}", frame.name);
        assert_eq!(chart, lifetime_chart_svg(&declaration, &compiled));
        let text = dot(&declaration, &compiled);
        assert_eq!(text.matches('{').count(), text.matches('}').count());
        assert!(serde_json::from_str::<serde_json::Value>(&json(&declaration, &compiled)).is_ok());
        for heap in 0..compiled.heaps.len() as u32 {
            let peak = peak_place(&declaration, &compiled, heap).unwrap();
            assert!(occupancy_map(&declaration, &compiled, heap, peak).is_some());
        }
    }
}

#[test]
fn a_frame_of_another_declaration_is_no_panic() {
    let (declaration, _) = small();
    let other = recorded::FRAMES[0].declaration().unwrap();
    let compiled = compile(&other);
    dot(&declaration, &compiled);
    json(&declaration, &compiled);
    lifetime_chart_svg(&declaration, &compiled);
    occupancy_map(&declaration, &compiled, 0, 1_000);
    let nothing = (Declaration::default(), Compiled::default());
    lifetime_chart_svg(&nothing.0, &nothing.1);
    assert!(dot(&nothing.0, &nothing.1).starts_with("digraph"));
}
