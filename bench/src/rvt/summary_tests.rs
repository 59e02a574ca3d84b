//! Summaries of made-up rounds.

use super::*;
use crate::ground::Settled;

fn round(canary_ms: f64, base_ms: [f64; 6]) -> Vec<Times> {
    let times = |base_ms| Times { base_ms, textures_ms: 0.25, frame_ms: base_ms + 1.0, canary_ms, pages: 0 };
    base_ms.map(times).to_vec()
}

fn summary() -> Summary {
    let measured = Measured {
        layers: 8,
        extent: [1280, 720],
        settled: Settled { frames: 9, pages: 300, is_settled: true },
        rounds: vec![
            round(0.1, [1.0, 5.0, 1.25, 1.25, 1.5, 1.0]),
            // The clock had dropped.
            round(0.5, [5.0, 25.0, 6.0, 6.0, 7.0, 8.0]),
            round(0.1, [1.0, 5.0, 1.25, 1.25, 1.5, 1.0]),
        ],
        flip: vec![0.01, 0.015, 0.02, 0.03],
    };
    let sharp = vec![Sharp { budget: 2, frames: Some(40) }, Sharp { budget: 16, frames: None }];
    Summary::of(Plan::of(false, false, 5), vec![measured], sharp)
}

#[test]
fn ratios_are_of_rounds_in_which_the_clock_stood() {
    let summary = summary();
    let row = &summary.rows[0];
    assert_eq!((row.rounds, row.thrown_away), (2, 1));
    let rvt = &row.variants[place(Variant::Rvt)];
    let of = |value| Some(Spread { min: value, median: value, max: value });
    assert_eq!(rvt.base_ms, of(1.25));
    assert_eq!(rvt.direct_over_this, of(4.0));
    assert_eq!(rvt.direct_over_this_and_textures, of(5.0 / 1.5));
    assert_eq!(rvt.direct_over_this_less_plain, of(16.0));
    assert_eq!(rvt.flip, Some(0.01));
    let whole = &row.variants[place(Variant::RvtWhole)];
    assert_eq!(whole.direct_over_this_less_plain, None, "no dearer than plain: no ratio");
    let plain = &row.variants[place(Variant::Plain)];
    assert_eq!((plain.direct_over_this, plain.flip), (None, None));
}

#[test]
fn text_and_json_have_every_row() {
    let summary = summary();
    let text = summary.to_string();
    for part in ["1280 x 720, 8 layers", "+ near detail", "2 pages a frame): 40", "more than 1500", "0.0200"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains("not steady"), "{text}");
    let json = summary.json();
    assert_eq!(json["rows"][0]["variants"][2]["direct_over_this"]["median"], 4.0);
    assert_eq!(json["rows"][0]["measured"]["rounds"][1][0]["canary_ms"], 0.5);
    assert_eq!(json["frames_until_sharp"][0]["frames"], 40);
}
