//! Which device is taken, and what the report says about the others.

use ash::vk::API_VERSION_1_2;
use vasa::vk::FeatureMask;
use vasa::vk::capabilities::{Capabilities, DeviceType, MemoryHeap};
use vasa::vk::select::{DeviceReport, Wanted, select};
use vasa_tests::invented::{self, family};

fn best(all: &[Capabilities]) -> DeviceReport {
    select(all, &Wanted::default())
}

fn integrated() -> Capabilities {
    invented::device("Integrated", DeviceType::Integrated, &[family("gcts", 1)])
}

#[test]
fn a_graphics_card_is_taken_wherever_it_stands() {
    let mut all = vec![invented::software(), integrated(), invented::discrete()];
    for _ in 0..all.len() {
        let report = best(&all);
        assert_eq!(all[report.chosen.unwrap()].device_type, DeviceType::Discrete);
        all.rotate_left(1);
    }
}

#[test]
fn a_real_gpu_without_sparse_is_taken_before_a_software_driver_with_it() {
    let mut card = invented::discrete();
    FeatureMask::fallback().apply(&mut card);
    assert_eq!(best(&[invented::software(), card.clone()]).chosen, Some(1));
    assert_eq!(best(&[card, invented::discrete()]).chosen, Some(1), "sparse decides between two of a kind");
}

#[test]
fn memory_decides_between_equals_and_the_first_wins_a_tie() {
    let mut larger = invented::discrete();
    larger.heaps = vec![MemoryHeap { bytes: 24 << 30, device_local: true }];
    assert_eq!(best(&[invented::discrete(), larger]).chosen, Some(1));
    assert_eq!(best(&[invented::discrete(), invented::discrete()]).chosen, Some(0));
}

#[test]
fn no_amount_of_memory_makes_a_software_driver_a_gpu() {
    let mut huge = invented::software();
    huge.heaps = vec![MemoryHeap { bytes: 1 << 42, device_local: true }];
    assert_eq!(best(&[huge, integrated()]).chosen, Some(1));
}

#[test]
fn a_device_is_taken_by_part_of_its_name() {
    let wanted = Wanted { name: Some("soft".into()), present: false };
    let report = select(&[invented::discrete(), invented::software()], &wanted);
    assert_eq!(report.chosen, Some(1));
    insta::assert_snapshot!(report, @r"
       Discrete One [Discrete], Invented 1.0, Vulkan 1.3.0, sparse tier 3: refused: the name does not contain `soft`
    -> Software [Cpu], Invented 1.0, Vulkan 1.3.0, sparse tier 1: taken: score 1508
    ");
}

#[test]
fn every_refusal_names_what_is_missing() {
    let mut old = integrated();
    (old.api, old.api_version) = ("1.2.0".into(), API_VERSION_1_2);
    old.missing = vec!["Vulkan 1.3"];
    let mut poor = integrated();
    poor.missing = vec!["timelineSemaphore", "synchronization2"];
    let copies_only = invented::device("Copier", DeviceType::Other, &[family("ts", 1)]);
    let report = best(&[old, poor, copies_only]);
    assert_eq!(report.chosen, None);
    insta::assert_snapshot!(report, @r"
       Integrated [Integrated], Invented 1.0, Vulkan 1.2.0, sparse tier 3: refused: Vulkan 1.2.0 is older than 1.3
       Integrated [Integrated], Invented 1.0, Vulkan 1.3.0, sparse tier 3: refused: lacks timelineSemaphore, synchronization2
       Copier [Other], Invented 1.0, Vulkan 1.3.0, sparse tier 3: refused: no queue family can both draw and dispatch
    ");
}

#[test]
fn the_table_has_every_device_and_every_reason() {
    let mut poor = integrated();
    poor.missing = vec!["timelineSemaphore", "synchronization2"];
    let mut plain = invented::software();
    FeatureMask::fallback().apply(&mut plain);
    insta::assert_snapshot!(best(&[poor, invented::discrete(), plain]).table(), @r"
        device        kind           Vulkan  sparse tier  score  driver
        Integrated    integrated     1.3.0   3            3508   Invented 1.0
          refused: lacks timelineSemaphore, synchronization2
    ->  Discrete One  graphics card  1.3.0   3            4508   Invented 1.0
          taken: score 4508
        Software      software       1.3.0   none         1008   Invented 1.0
          usable, score 1008 is not the highest
          no sparse binding: buffers grow by recreate and copy
    ");
}

#[test]
fn no_memory_while_a_device_is_opened_is_not_called_unsupported() {
    use vasa::vk::null::{Fault, NullConfig, NullDriver};
    let driver = NullDriver::new(NullConfig::default());
    driver.fail_nth(Fault::CreateBuffer, 1);
    let error = crate::devices::open(&driver, &Default::default()).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    let device = crate::devices::open(&driver, &Default::default()).unwrap();
    assert!(device.capabilities().sparse.growable_buffers(), "it has what it said");
    drop(device);
    driver.assert_clean();
}

#[test]
fn a_device_that_cannot_present_is_refused_only_for_windows() {
    let mut blind = invented::discrete();
    blind.optional.swapchain = false;
    let all = [blind, invented::software()];
    assert_eq!(best(&all).chosen, Some(0));
    let report = select(&all, &Wanted { name: None, present: true });
    assert_eq!(report.chosen, Some(1));
    assert!(report.to_string().contains("lacks VK_KHR_swapchain"), "{report}");
}

#[test]
fn the_fallback_is_said_in_the_report() {
    let mut device = invented::software();
    FeatureMask::fallback().apply(&mut device);
    insta::assert_snapshot!(best(&[device, integrated()]), @r"
       Software [Cpu], Invented 1.0, Vulkan 1.3.0, sparse tier none: usable, score 1008 is not the highest; no sparse binding: buffers grow by recreate and copy
    -> Integrated [Integrated], Invented 1.0, Vulkan 1.3.0, sparse tier 3: taken: score 3508
    ");
}

#[test]
fn no_device_at_all_is_said() {
    let report = best(&[]);
    assert_eq!((report.chosen, report.to_string().as_str()), (None, "no Vulkan device was found"));
}
