//! Tests of the address budget.

use proptest::prelude::*;

use super::addresses::*;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn the_address_budget_is_a_sum(
        limit in 0..2000u64,
        warn_past in 0..2000u64,
        steps in prop::collection::vec((any::<bool>(), 0..700u64), 1..50),
    ) {
        let mut budget = AddressBudget::new(limit, warn_past);
        let mut live: Vec<(ReservationId, u64)> = Vec::new();
        let mut warnings = 0;
        let mut passed = false;
        for (index, (take, bytes)) in steps.into_iter().enumerate() {
            let sum: u64 = live.iter().map(|l| l.1).sum();
            if take || live.is_empty() {
                match budget.reserve(&format!("buffer {index}"), bytes) {
                    Ok((id, warning)) => {
                        prop_assert!(bytes > 0 && sum + bytes <= limit);
                        live.push((id, bytes));
                        passed |= sum + bytes > warn_past;
                        warnings += u32::from(warning.is_some());
                    }
                    Err(AddressBudgetError::Zero { .. }) => prop_assert_eq!(bytes, 0),
                    Err(error) => {
                        prop_assert!(sum + bytes > limit, "refused without need: {}", error);
                        if let AddressBudgetError::Exceeded { reserved, holders, .. } = error {
                            prop_assert_eq!(reserved, sum);
                            prop_assert_eq!(holders.len(), live.len());
                            prop_assert!(holders.is_sorted_by(|a, b| a.bytes >= b.bytes));
                        }
                    }
                }
            } else {
                let (id, bytes) = live.swap_remove(index % live.len());
                prop_assert_eq!(budget.release(id).unwrap().bytes, bytes);
                prop_assert_eq!(budget.release(id), Err(AddressBudgetError::NotLive(id)));
            }
            prop_assert_eq!(budget.reserved(), live.iter().map(|l| l.1).sum::<u64>());
            prop_assert_eq!(warnings, u32::from(passed), "one warning, when the threshold is first passed");
        }
    }
}

#[test]
fn a_refused_reservation_names_the_holders() {
    let mut budget = AddressBudget::new(2 * GIB, DEFAULT_ADDRESS_WARNING);
    budget.reserve("Terrain.Vertices", 128 * MIB).unwrap();
    budget.reserve("GPUScene.InstanceSceneData", GIB + GIB / 2).unwrap();
    let error = budget.reserve("Streaming.ClusterPageData", 512 * MIB).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`Streaming.ClusterPageData` asked for 512 MiB of sparse address space, but the device's limit is 2 GiB \
         and 1.625 GiB are reserved (by `GPUScene.InstanceSceneData` 1.500 GiB, `Terrain.Vertices` 128 MiB): \
         reserve less, or release one of these first"
    );
    let full = budget.reserve("X", u64::MAX).unwrap_err();
    assert!(matches!(full, AddressBudgetError::Exceeded { reserved, .. } if reserved == 1664 * MIB));

    let mut wide = AddressBudget::new(1 << 40, DEFAULT_ADDRESS_WARNING);
    assert_eq!(wide.reserve("a", 256 * GIB).unwrap().1, None);
    let warning = wide.reserve("b", 1).unwrap().1.unwrap();
    assert_eq!(
        warning.to_string(),
        "256.000 GiB of sparse address space are reserved by 2 resources, past the warning threshold of \
         256 GiB: is something never released?"
    );
}
