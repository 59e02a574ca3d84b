// What auto exposure keeps from frame to frame, as in engine/src/render/exposure.rs.

struct ExposureState {
    // Multiplies linear light.
    exposure: f32,
    // Mean brightness of the last frame, as a power of two.
    brightness: f32,
    padding: vec2<f32>,
}
