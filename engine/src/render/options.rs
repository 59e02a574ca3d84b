//! How frames are drawn: what is wanted of every effect.

use super::quality::Effects;
use crate::vk::capabilities::DeviceType;

/// Something that is on, off, or as suits the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    /// As suits the device.
    #[default]
    Auto,
    /// On.
    On,
    /// Off.
    Off,
}

impl Switch {
    /// Whether it is on, where left automatic it would be `automatic`.
    pub fn is_on(self, automatic: bool) -> bool {
        match self {
            Self::Auto => automatic,
            Self::On => true,
            Self::Off => false,
        }
    }

    fn resolved(self, automatic: bool) -> Self {
        if self.is_on(automatic) { Self::On } else { Self::Off }
    }
}

/// How the ground of a terrain is shaded: for comparing and measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GroundShading {
    /// With its virtual textures where it has them, otherwise directly.
    #[default]
    Auto,
    /// With the virtual texture of its surface alone: nothing is displaced, and nothing covers the foot of what stands on
    /// it. That is what is drawn directly, too.
    Surface,
    /// Its materials are evaluated in every pixel, whatever virtual textures it has.
    Direct,
    /// With one material everywhere and without ambient occlusion: what is left when the ground's materials cost nothing.
    Plain,
}

/// How frames are drawn. By default everything is automatic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RenderOptions {
    /// Samples a pixel: 1, 2, 4 or 8; 0 is automatic: 1 with anti-aliasing over time or on a software device, else 4.
    pub samples: u32,
    /// Largest anisotropy of the terrain's textures; 1 is none, 0 is automatic: 8, or none on a software device.
    pub anisotropy: u32,
    /// Light from the sky is taken away where near forms hide it.
    pub ambient_occlusion: Switch,
    /// What is brighter than white spreads over its neighbours.
    pub bloom: Switch,
    /// Anti-aliasing over time, in place of several samples and of blending along edges. Only the camera is taken to
    /// move.
    pub temporal: Switch,
    /// The exposure follows the light; that of the view is a compensation on top of it.
    pub auto_exposure: Switch,
    /// What can runs on a compute queue beside rendering, where there is one.
    pub async_compute: Switch,
}

impl RenderOptions {
    /// Everything as it is drawn without any effect, the same whatever was drawn before: for comparing pictures.
    pub const PLAIN: Self = Self {
        samples: 1,
        anisotropy: 0,
        ambient_occlusion: Switch::Off,
        bloom: Switch::Off,
        temporal: Switch::Off,
        auto_exposure: Switch::Off,
        async_compute: Switch::Auto,
    };

    /// The same with nothing left automatic, for a device of that type.
    pub fn resolved(self, device_type: DeviceType) -> Self {
        let is_software = device_type == DeviceType::Cpu;
        let temporal = self.temporal.resolved(true);
        let several = !is_software && temporal == Switch::Off;
        let samples = if several { 4 } else { 1 };
        let anisotropy = if is_software { 1 } else { 8 };
        Self {
            samples: if self.samples == 0 { samples } else { self.samples },
            anisotropy: if self.anisotropy == 0 { anisotropy } else { self.anisotropy },
            ambient_occlusion: self.ambient_occlusion.resolved(true),
            bloom: self.bloom.resolved(true),
            temporal,
            auto_exposure: self.auto_exposure.resolved(true),
            async_compute: self.async_compute.resolved(true),
        }
    }

    /// The effects that are wanted; what is left automatic is.
    pub fn effects(&self) -> Effects {
        Effects {
            ambient_occlusion: self.ambient_occlusion.is_on(true),
            bloom: self.bloom.is_on(true),
            temporal: self.temporal.is_on(true),
            auto_exposure: self.auto_exposure.is_on(true),
        }
    }
}
