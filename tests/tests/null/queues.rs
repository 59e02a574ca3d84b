//! Which queue binds: by rule, on every arrangement of families that drivers have shipped.

use vasa::vk::capabilities::{Capabilities, DeviceType, QueueFamily};
use vasa::vk::queue_policy::{QueuePlan, plan};
use vasa::vk::{FeatureMask, SparseQueuePolicy};
use vasa_tests::invented::{self, family};

fn device(families: &[QueueFamily]) -> Capabilities {
    invented::device("Invented", DeviceType::Discrete, families)
}

/// Plans, and checks what must hold of every plan.
fn planned(capabilities: &Capabilities, policy: SparseQueuePolicy) -> QueuePlan {
    let plan = plan(capabilities, policy).unwrap();
    let families = &capabilities.queue_families;
    for choice in
        [Some(plan.graphics), plan.sparse, Some(plan.transfer), Some(plan.compute)].into_iter().flatten()
    {
        let family = families[choice.family as usize];
        assert!(choice.index < family.count, "queue {} of a family of {}", choice.index, family.count);
        assert!(plan.families().iter().any(|(f, count)| *f == choice.family && *count > choice.index));
    }
    assert!(families[plan.graphics.family as usize].graphics);
    assert!(families[plan.transfer.family as usize].transfer);
    assert!(families[plan.compute.family as usize].compute);
    assert_eq!(plan.sparse.is_some(), capabilities.sparse.binding);
    assert!(plan.sparse.is_none_or(|choice| families[choice.family as usize].sparse));
    plan
}

fn reasons(families: &[QueueFamily], policy: SparseQueuePolicy) -> String {
    planned(&device(families), policy).reasons.join("\n")
}

use SparseQueuePolicy::{Auto, Graphics, Side};

#[test]
fn one_queue_does_everything() {
    insta::assert_snapshot!(reasons(&[family("gcts", 1)], Auto), @r"
    graphics: family 0 (draws and dispatches)
    sparse: family 0 queue 0 (the graphics queue binds too)
    transfer: the graphics queue
    compute: the graphics queue
    ");
    let plan = planned(&device(&[family("gcts", 1)]), Side);
    assert_eq!(plan.sparse, Some(plan.graphics), "a side queue cannot be made up");
    assert_eq!(plan.families(), [(0, 1)]);
}

#[test]
fn a_copy_family_that_binds_is_preferred_over_compute() {
    insta::assert_snapshot!(reasons(&[family("gcts", 16), family("cts", 8), family("ts", 2)], Auto), @r"
    graphics: family 0 (draws and dispatches)
    sparse: family 2 queue 0 (beside rendering)
    transfer: family 2 (copies only)
    compute: family 1 (beside rendering)
    ");
}

#[test]
fn a_family_that_can_only_bind_is_used() {
    insta::assert_snapshot!(reasons(&[family("gct", 1), family("ct", 4), family("s", 1)], Auto), @r"
    graphics: family 0 (draws and dispatches)
    sparse: family 2 queue 0 (beside rendering)
    transfer: the graphics queue
    compute: family 1 (beside rendering)
    ");
}

#[test]
fn a_second_queue_of_the_graphics_family_is_a_side_queue() {
    insta::assert_snapshot!(reasons(&[family("gcts", 2)], Auto), @r"
    graphics: family 0 (draws and dispatches)
    sparse: family 0 queue 1 (beside rendering)
    transfer: the graphics queue
    compute: the graphics queue
    ");
    assert_eq!(planned(&device(&[family("gcts", 2)]), Auto).families(), [(0, 2)]);
}

#[test]
fn the_graphics_queue_binds_when_told_to() {
    insta::assert_snapshot!(reasons(&[family("gcts", 16), family("ts", 2)], Graphics), @r"
    graphics: family 0 (draws and dispatches)
    sparse: family 0 queue 0 (the graphics queue binds too)
    transfer: family 1 (copies only)
    compute: the graphics queue
    ");
}

#[test]
fn a_graphics_queue_that_cannot_bind_goes_in_lockstep() {
    insta::assert_snapshot!(reasons(&[family("gct", 1), family("ts", 1)], Graphics), @r"
    graphics: family 0 (draws and dispatches)
    sparse: family 1 queue 0 (the graphics queue cannot bind: lockstep with this one)
    transfer: family 1 (copies only)
    compute: the graphics queue
    ");
}

#[test]
fn no_family_binds() {
    insta::assert_snapshot!(reasons(&[family("gct", 1), family("t", 1)], Auto), @r"
    graphics: family 0 (draws and dispatches)
    sparse: none (no sparse binding)
    transfer: family 1 (copies only)
    compute: the graphics queue
    ");
}

#[test]
fn sparse_on_graphics_only_stays_there() {
    let plan = planned(&device(&[family("gcts", 1), family("ct", 4), family("t", 1)]), Auto);
    assert_eq!(plan.sparse, Some(plan.graphics));
    assert_eq!(plan.transfer.family, 2);
}

#[test]
fn a_graphics_family_that_binds_wins_over_one_that_does_not() {
    let plan = planned(&device(&[family("gct", 1), family("gcts", 1)]), Auto);
    assert_eq!(plan.graphics.family, 1);
}

#[test]
fn masked_side_queues_are_not_used_unless_they_are_the_only_ones_that_bind() {
    let mask = FeatureMask::parse("async_queues").unwrap();
    let mut both = invented::discrete();
    mask.apply(&mut both);
    for policy in [Auto, Side, Graphics] {
        let plan = planned(&both, policy);
        assert_eq!((plan.sparse, plan.transfer), (Some(plan.graphics), plan.graphics));
        assert_eq!(plan.compute, plan.graphics);
    }
    let mut only = device(&[family("gct", 1), family("s", 1)]);
    mask.apply(&mut only);
    assert_eq!(planned(&only, Auto).sparse.map(|choice| choice.family), Some(1));
}

#[test]
fn a_masked_device_has_no_sparse_queue() {
    let mut device = invented::discrete();
    FeatureMask::fallback().apply(&mut device);
    for policy in [Auto, Side, Graphics] {
        assert_eq!(planned(&device, policy).sparse, None);
    }
}

#[test]
fn a_device_that_cannot_draw_is_an_error_and_no_plan() {
    for families in [&[family("cts", 1), family("ts", 1)][..], &[family("gcts", 0)], &[]] {
        let error = plan(&device(families), Auto).unwrap_err();
        assert!(error.contains("draw"), "{error}");
    }
}

#[test]
fn policies_have_names() {
    for (text, policy) in [("auto", Auto), ("graphics", Graphics), ("side", Side)] {
        assert_eq!(text.parse(), Ok(policy));
    }
    let error = "both".parse::<SparseQueuePolicy>().unwrap_err();
    assert!(error.contains("`both`") && error.contains("auto, graphics, side"), "{error}");
}

proptest::proptest! {
    #[test]
    fn any_arrangement_gives_a_plan_that_holds_or_an_error(
        families in proptest::collection::vec(("g?c?t?s?", 0u32..3), 0..5),
        policy in proptest::sample::select(vec![Auto, Graphics, Side]),
        fallback: bool,
    ) {
        let families: Vec<_> = families.iter().map(|(letters, count)| family(letters, *count)).collect();
        let mut device = device(&families);
        device.sparse.binding = families.iter().any(|f| f.sparse && f.count > 0);
        if fallback {
            FeatureMask::fallback().apply(&mut device);
        }
        let can_draw = families.iter().any(|f| f.graphics && f.compute && f.count > 0);
        proptest::prop_assert_eq!(plan(&device, policy).is_ok(), can_draw);
        if can_draw {
            planned(&device, policy);
        }
    }
}
