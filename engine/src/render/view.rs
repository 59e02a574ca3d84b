//! What a frame is seen from, and in what light.

use glam::Vec3;

use crate::scene::Camera;

/// Sun, sky and haze.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Atmosphere {
    /// Unit vector towards the sun.
    pub sun: Vec3,
    /// Linear colour of sunlight on a surface that faces it.
    pub sun_colour: Vec3,
    /// Linear colour of the zenith.
    pub sky_colour: Vec3,
    /// Optical depth of haze a metre, at `haze_base`.
    pub haze_density: f32,
    /// Height over which haze thins to 1/e, metres.
    pub haze_height: f32,
    /// Height from which haze is measured, metres.
    pub haze_base: f32,
    /// Multiplies linear light before tone mapping.
    pub exposure: f32,
}

impl Atmosphere {
    /// Azimuth and elevation of the morning's sun, in degrees, for [`Atmosphere::sun_at`].
    pub const MORNING_SUN: (f32, f32) = (118.0, 15.0);

    /// A clear morning: the sun low in the south-east.
    pub fn morning() -> Self {
        Self {
            sun: Self::sun_at(Self::MORNING_SUN.0, Self::MORNING_SUN.1),
            sun_colour: Vec3::new(3.9, 2.86, 1.78),
            sky_colour: Vec3::new(0.235, 0.43, 0.86),
            haze_density: 1.0 / 18_000.0,
            haze_height: 1900.0,
            haze_base: 0.0,
            exposure: 1.12,
        }
    }

    /// Direction of a sun at a compass azimuth (0 north, 90 east) and elevation, in degrees.
    pub fn sun_at(azimuth: f32, elevation: f32) -> Vec3 {
        let (sin_a, cos_a) = azimuth.to_radians().sin_cos();
        let (sin_e, cos_e) = elevation.to_radians().sin_cos();
        Vec3::new(sin_a * cos_e, sin_e, -cos_a * cos_e)
    }
}

/// What a frame is seen from, when, and in what light.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// The camera.
    pub camera: Camera,
    /// Sun, sky and haze.
    pub atmosphere: Atmosphere,
    /// Seconds since the start.
    pub time: f32,
}
