//! Summaries of made-up runs.

use super::*;

const MIB: u64 = 1 << 20;

fn run(canary: f64, slowest: f64, grow_us: &[f64], peak_mib: u64, data_mib: u64) -> RunFigures {
    let mut frames_ms = vec![1.0; 19];
    frames_ms.push(slowest);
    RunFigures {
        canary_ms: vec![1.0, canary],
        frames_ms,
        grow_us: grow_us.to_vec(),
        peak_memory_bytes: peak_mib * MIB,
        data_bytes: data_mib * MIB,
        bind_calls: grow_us.len() as u64,
        bind_calls_ahead: 0,
        frames_waited: 3,
    }
}

fn summary() -> Summary {
    let variants = vec![
        (Variant::NoGrowth, vec![run(1.0, 1.5, &[], 64, 64), run(1.0, 2.0, &[], 64, 64)]),
        (
            Variant::RecreateAndCopy,
            vec![run(1.0, 30.0, &[900.0, 1000.0], 240, 128), run(1.0, 40.0, &[1000.0, 2000.0], 240, 128)],
        ),
        // Its second run was made on a machine that had slowed down.
        (
            Variant::GraphicsQueue,
            vec![run(1.1, 3.0, &[10.0, 20.0], 128, 128), run(5.0, 99.0, &[9000.0], 128, 128)],
        ),
    ];
    let skipped = vec![Skipped { name: "bind on the side queue", reason: "no such queue".into() }];
    Summary::of(Plan::of(true, false), WorkSize::whole(16 * MIB, 1), variants, skipped)
}

#[test]
fn runs_with_a_moved_canary_count_nowhere_but_in_their_number() {
    let summary = summary();
    assert_eq!(summary.thrown_away(), 1);
    let ours = &summary.rows[2];
    assert_eq!((ours.runs, ours.thrown_away, ours.ours), (1, 1, true));
    assert_eq!(ours.frame_ms.unwrap().max, 3.0, "not the 99 of the run thrown away");
    assert_eq!(ours.grow_call_us, Some(CallTimes { median: 10.0, max: 20.0 }));
}

#[test]
fn costs_and_ratios_are_of_runs_beside_each_other() {
    let summary = summary();
    assert_eq!(
        summary.rows[1].frame_p99_over_no_growth_ms,
        Some(Spread { min: 28.5, median: 28.5, max: 38.0 })
    );
    assert_eq!(summary.rows[0].frame_p99_over_no_growth_ms, None, "nothing costs more than itself");
    // Only the first pair was kept on both sides.
    let copy = summary.comparisons.iter().find(|c| c.alternative == "recreate + copy").unwrap();
    assert_eq!(copy.frame_p99, Some(Spread { min: 0.1, median: 0.1, max: 0.1 }));
    assert_eq!(copy.grow_call_median.unwrap().median, 10.0 / 900.0);
    assert_eq!(copy.peak_over_data, Some(1.0 / 1.875), "accounting counts in every run");
    let floor = summary.comparisons.iter().find(|c| c.alternative == "no growth").unwrap();
    assert_eq!(floor.grow_call_median, None, "it never grew");
}

#[test]
fn peak_memory_is_told_as_a_multiple_of_the_data() {
    let summary = summary();
    let multiples: Vec<_> = summary.rows.iter().map(|r| r.peak_over_data.unwrap()).collect();
    assert_eq!(multiples, [1.0, 1.875, 1.0]);
}

#[test]
fn json_has_its_keys() {
    let json = summary().json();
    assert_eq!(json["ours"], "bind on the graphics queue");
    assert_eq!(json["thrown_away"], 1);
    assert_eq!(json["skipped"][0]["name"], "bind on the side queue");
    let variant = &json["variants"][1];
    assert_eq!(variant["name"], "recreate + copy");
    for key in ["median", "p95", "p99", "max"] {
        assert!(variant["frame_ms"][key].is_f64(), "{key} in {variant}");
    }
    assert_eq!(variant["grow_call_us"]["median"], 1000.0);
    assert_eq!(variant["grow_call_us"]["max"], 2000.0);
    assert_eq!(variant["peak_memory_bytes"], 240 * MIB);
    assert_eq!(variant["runs"], 2);
    assert_eq!(variant["each_run"][0]["kept"], true);
    assert_eq!(variant["frames_waited"]["median"], 3.0);
    assert!(json["variants"][0]["grow_call_us"].is_null());
}

#[test]
fn the_table_names_every_variant_and_what_was_left_out() {
    let text = summary().to_string();
    let row = |name: &str| text.lines().find(|l| l.starts_with(name)).unwrap_or_default().to_string();
    assert!(row("no growth").contains("64.0"), "{text}");
    assert!(row("recreate + copy").contains("28.500 / 28.500 / 38.000"), "{text}");
    assert!(text.contains("1 of 6 runs thrown away"), "{text}");
    assert!(text.contains("skipped: bind on the side queue (no such queue)"), "{text}");
}

#[test]
fn a_variant_without_a_steady_run_has_no_figures() {
    let variants = vec![
        (Variant::NoGrowth, vec![run(1.0, 1.0, &[], 64, 64), run(1.0, 1.0, &[], 64, 64)]),
        (Variant::GraphicsQueue, vec![run(9.0, 1.0, &[1.0], 80, 80)]),
    ];
    let work = WorkSize::whole(16 * MIB, 1);
    let summary = Summary::of(Plan::of(true, true), work, variants, Vec::new());
    assert_eq!(summary.rows[1].frame_ms, None);
    assert_eq!(summary.json()["variants"][1]["runs"], 0);
    assert!(summary.to_string().contains('-'));
}
