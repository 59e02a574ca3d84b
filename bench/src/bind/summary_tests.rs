//! Summaries of made-up runs.

use super::*;
use crate::bind::{Ours, Times};

fn times(call_us: f64, usable_us: f64) -> Times {
    Times { call_us, usable_us }
}

fn measured(name: &str, operation: &'static str, ours: Option<f64>, bare: f64) -> Measured {
    let work = Work { queue: Queue::Graphics, name: name.into(), operation, binds: 4, bytes: 64 << 20 };
    let ours = ours.map(|us| Ours { times: times(us, us * 2.0), planning_us: us / 4.0, calls: 1, binds: 4 });
    Measured { work, ours, bare: times(bare, bare * 2.0) }
}

fn run(canary: f64, ours: f64) -> RunFigures {
    let mut figures = RunFigures {
        canary_ms: vec![1.0, canary],
        measured: vec![
            measured("4 chunks of 16 MiB", "bind", Some(ours), 10.0),
            measured("one bind of 64 KiB", "bind", None, 3.0),
            measured("one bind of 64 KiB", "unbind", None, 5.0),
        ],
        allocated: vec![Allocated {
            bytes: 1 << 20,
            first_us: 9.0,
            more_us: 4.0,
            again_us: 2.0,
            free_us: 1.0,
        }],
        skipped: Vec::new(),
    };
    figures.skip("side queue", "the device has no side queue that binds");
    figures
}

fn summary() -> Summary {
    // The last run was made on a machine that had slowed down.
    let runs = vec![run(1.0, 10.0), run(1.1, 11.0), run(1.0, 12.0), run(9.0, 999.0)];
    Summary::of(Plan::new(false), json!({ "sparse": "all of it" }), runs)
}

#[test]
fn ratios_are_of_the_same_run_and_moved_canaries_count_not() {
    let summary = summary();
    assert_eq!(summary.thrown_away(), 1);
    let ours = summary.rows[0].ours.as_ref().unwrap();
    assert_eq!(ours.call_ratio, Spread { min: 1.0, median: 1.1, max: 1.2 });
    assert_eq!(ours.times.usable_us, Spread { min: 20.0, median: 22.0, max: 24.0 });
    assert_eq!(ours.planning_part, Spread { min: 0.25, median: 0.25, max: 0.25 });
    assert_eq!(summary.rows[0].each_run.len(), 3);
}

#[test]
fn the_table_has_a_line_a_work_with_units_and_what_was_left_out() {
    let text = summary().to_string();
    let line = |start: &str| text.lines().find(|l| l.starts_with(start)).unwrap_or_default();
    let compared: Vec<&str> = line("bind 4 chunks of 16 MiB").split_whitespace().collect();
    let expected =
        "bind 4 chunks of 16 MiB graphics 1 4 11.0 10.0 1.00 / 1.10 / 1.20 22.0 20.0 1.00 / 1.10 / 1.20";
    assert!(compared.join(" ").starts_with(expected), "{text}");
    assert!(line("bind 4 chunks").ends_with("25%"), "{text}");
    let cost: Vec<&str> = line("one bind of 64 KiB").split_whitespace().collect();
    let expected = "one bind of 64 KiB graphics 4 3.0 6.0 / 6.0 / 6.0 1.50 5.0 10.0 / 10.0 / 10.0";
    assert_eq!(cost.join(" "), expected, "binding and unbinding in one line");
    assert!(line("1 MiB").contains("9.0 / 9.0 / 9.0"), "{text}");
    assert!(text.contains("microseconds") && text.contains("1 thrown away"), "{text}");
    assert_eq!(text.matches("skipped: side queue").count(), 1, "once, however many runs");
}

#[test]
fn binds_that_differ_are_no_comparison_and_are_shown() {
    let mut run = run(1.0, 10.0);
    run.measured[0].work.binds = 5;
    let text = Summary::of(Plan::new(true), Value::Null, vec![run]).to_string();
    assert!(text.contains("4 against 5"), "{text}");
}

#[test]
fn the_same_name_compared_and_alone_are_two_rows() {
    let mut run = run(1.0, 10.0);
    run.measured.push(measured("4 chunks of 16 MiB", "bind", None, 5.0));
    let summary = Summary::of(Plan::new(true), Value::Null, vec![run]);
    assert_eq!((summary.compared().count(), summary.rows.len()), (1, 4));
}

#[test]
fn json_has_its_keys() {
    let json = summary().json();
    let compared = &json["compared"][0];
    assert_eq!(compared["name"], "4 chunks of 16 MiB");
    assert_eq!((&compared["queue"], &compared["operation"]), (&json!("graphics"), &json!("bind")));
    assert_eq!(compared["ours"]["call_ratio"]["median"], 1.1);
    assert_eq!(compared["ours"]["calls"], 1);
    assert_eq!(compared["bare"]["usable_us"]["min"], 20.0);
    assert_eq!(compared["each_run"].as_array().map(Vec::len), Some(3));
    assert_eq!(json["costs"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["allocations"][0]["first_us"]["max"], 9.0);
    assert_eq!(json["device_report"]["sparse"], "all of it");
    assert_eq!(json["runs"][3]["kept"], false);
    assert_eq!(json["skipped"][0]["name"], "side queue");
}

#[test]
fn a_device_that_binds_nothing_has_allocations_only() {
    let mut run = run(1.0, 1.0);
    run.measured.clear();
    run.canary_ms.clear();
    let summary = Summary::of(Plan::new(true), Value::Null, vec![run]);
    let text = summary.to_string();
    assert!(!text.contains("The driver alone") && text.contains("vkAllocateMemory"), "{text}");
}
