//! What benches of the processor share: a clock for short calls, and which processor it is.

use std::time::{Duration, Instant};

/// Repeat a call for so long before its time is taken as one sample.
const SAMPLE: Duration = Duration::from_millis(2);

/// Samples of a run.
const SAMPLES: u32 = 9;

/// Microseconds of a call: nine samples a run, each the mean of as many calls as fill two milliseconds, after one such
/// round that is not measured.
pub(crate) fn microseconds(runs: u32, mut call: impl FnMut()) -> Vec<f64> {
    let mut calls = 1u32;
    loop {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        if start.elapsed() >= SAMPLE || calls >= 1 << 20 {
            break;
        }
        calls *= 2;
    }
    let sample = |_| {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
    };
    (0..runs.max(1).saturating_mul(SAMPLES)).map(sample).collect()
}

/// Heap allocations that a call makes on this thread.
pub(crate) fn allocations(call: impl FnOnce()) -> u64 {
    allocation_counter::measure(call).count_total
}

/// The processor's name, as far as the system tells.
pub(crate) fn processor() -> String {
    let told = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    told.unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_timed_and_allocations_counted() {
        let times = microseconds(3, || std::thread::sleep(Duration::from_micros(100)));
        assert!(times.len() == 27 && times.iter().all(|us| *us >= 100.0), "{times:?}");
        assert_eq!(allocations(|| ()), 0);
        assert_eq!(allocations(|| drop(std::hint::black_box(vec![1u8; 100]))), 1);
        assert!(!processor().is_empty());
    }
}
