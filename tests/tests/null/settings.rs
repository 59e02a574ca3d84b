//! The harness reads its own environment right: a CI that forbids skips must not be told otherwise.

use vasa_tests::settings::Settings;

#[test]
fn unset_empty_and_zero_mean_no() {
    assert_eq!(Settings::read(|_| None), Settings::default());
    assert_eq!(Settings::read(|_| Some(String::new())), Settings::default());
    let zero = Settings::read(|name| (name != "VASA_DEVICE").then(|| "0".into()));
    assert_eq!(zero, Settings::default());
}

#[test]
fn every_variable_is_read() {
    let value = |name: &str| match name {
        "VASA_DEVICE" => "llvmpipe",
        "VASA_VALIDATE" => "gpu",
        _ => "1",
    };
    let all = Settings::read(|name| Some(value(name).into()));
    assert!(all.gpu_assisted && all.instance().gpu_assisted);
    assert!(all.require_driver && all.no_skips && all.fallback);
    assert_eq!(all.device.as_deref(), Some("llvmpipe"));
    assert_eq!(all.instance().validation, vasa::vk::Validation::Required);
    assert_eq!(all.device().mask, vasa::vk::FeatureMask::fallback());
}

#[test]
#[should_panic(expected = "VASA_NO_SKIPS is set")]
fn a_skip_fails_where_skips_are_forbidden() {
    Settings { no_skips: true, ..Default::default() }.skip("no device");
}
