// Unit vectors as two signed numbers of 16 bits: an octahedron unfolded into a square (Meyer et al. 2010), y up.
fn octahedral(packed: u32) -> vec3<f32> {
    let p = unpack2x16snorm(packed);
    let y = 1.0 - abs(p.x) - abs(p.y);
    let fold = select(vec2(-1.0), vec2(1.0), p >= vec2(0.0)) * (1.0 - abs(p.yx));
    let xz = select(fold, p, y >= 0.0);
    return normalize(vec3(xz.x, y, xz.y));
}
