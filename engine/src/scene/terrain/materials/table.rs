//! The layers' table: which kind each is, how large its tiles are, what it looks like from far away.

use crate::vk::layout::gpu_struct;

/// The most layers a terrain has.
pub const MAX_LAYERS: usize = 16;
/// Kinds of ground. Further layers are variants of them, in the same order.
pub const GROUND_KINDS: usize = 8;

/// A kind of ground, in the order of the layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroundKind {
    /// Jointed rock with lichen.
    Rock,
    /// Cut stones, fallen.
    Scree,
    /// Straw.
    DryGrass,
    /// Meadow.
    GreenGrass,
    /// Snow that the wind shaped.
    Snow,
    /// Mud, cracked where it dried.
    Mud,
    /// Round stones.
    Gravel,
    /// Leaves, needles, moss.
    ForestFloor,
}

impl GroundKind {
    /// All kinds, in the order of the layers.
    pub const ALL: [Self; GROUND_KINDS] = [
        Self::Rock,
        Self::Scree,
        Self::DryGrass,
        Self::GreenGrass,
        Self::Snow,
        Self::Mud,
        Self::Gravel,
        Self::ForestFloor,
    ];

    /// The kind of a layer.
    pub fn of_layer(layer: usize) -> Self {
        Self::ALL[layer % GROUND_KINDS]
    }

    /// Height of the relief of a tile as a share of its side: what its normals are made with.
    pub fn relief(self) -> f32 {
        match self {
            Self::Rock => 0.075,
            Self::Scree => 0.062,
            Self::DryGrass => 0.034,
            Self::GreenGrass => 0.036,
            Self::Snow => 0.030,
            Self::Mud => 0.022,
            Self::Gravel => 0.046,
            Self::ForestFloor => 0.034,
        }
    }
}

gpu_struct! {
    /// How shaders lay one layer of material: see `shaders/lib/terrain_materials.wgsl`.
    pub struct MaterialLayer {
        /// Multiplies the colour of its kind.
        pub tint: [f32; 3],
        /// Side of a near tile, metres.
        pub near_period: f32,
        /// Cosine and sine of the near tile's turn.
        pub near_turn: [f32; 2],
        /// Of the far one's.
        pub far_turn: [f32; 2],
        /// Side of a far tile, metres.
        pub far_period: f32,
        /// Strength of the far tile's heights and slopes beside the near one's.
        pub far_strength: f32,
        /// Multiplies slopes.
        pub bump: f32,
        /// Metres between the lowest and the highest of a near tile.
        pub displacement: f32,
        /// Where no tile shows.
        pub roughness: f32,
        /// Reflectance straight on, in units of 0.08.
        pub specular: f32,
        /// Least footprint that a far tile is sampled with, in tiles: leaves and blades do not look like themselves
        /// when they are ten times as large.
        pub far_least: f32,
        /// To 64 bytes.
        pub padding: f32,
    }
}

/// What differs from kind to kind.
struct Row {
    near: f32,
    far: f32,
    far_strength: f32,
    bump: f32,
    roughness: f32,
    specular: f32,
    far_least: f32,
}

fn row(kind: GroundKind) -> Row {
    let row = |near, far, far_strength, bump, roughness, specular, far_least| Row {
        near,
        far,
        far_strength,
        bump,
        roughness,
        specular,
        far_least,
    };
    match kind {
        GroundKind::Rock => row(6.1, 43.0, 0.75, 0.9, 0.84, 0.45, 0.0),
        GroundKind::Scree => row(4.3, 27.0, 0.60, 1.0, 0.88, 0.40, 0.0),
        GroundKind::DryGrass => row(2.7, 17.0, 0.45, 0.50, 0.84, 0.25, 0.030),
        GroundKind::GreenGrass => row(2.3, 14.0, 0.45, 0.50, 0.76, 0.30, 0.034),
        GroundKind::Snow => row(7.0, 51.0, 0.60, 0.7, 0.58, 0.45, 0.0),
        GroundKind::Mud => row(3.9, 23.0, 0.50, 0.8, 0.60, 0.50, 0.012),
        GroundKind::Gravel => row(3.1, 19.0, 0.50, 0.9, 0.78, 0.42, 0.016),
        GroundKind::ForestFloor => row(2.9, 16.0, 0.50, 0.8, 0.84, 0.28, 0.036),
    }
}

/// Cosines and sines of turns, from right triangles with whole sides: no two hosts differ.
const TURNS: [[f32; 2]; 8] = [
    [4.0 / 5.0, 3.0 / 5.0],
    [12.0 / 13.0, -5.0 / 13.0],
    [8.0 / 17.0, 15.0 / 17.0],
    [20.0 / 29.0, -21.0 / 29.0],
    [24.0 / 25.0, 7.0 / 25.0],
    [35.0 / 37.0, -12.0 / 37.0],
    [9.0 / 41.0, 40.0 / 41.0],
    [28.0 / 53.0, -45.0 / 53.0],
];

/// The first `count` layers, at most [`MAX_LAYERS`]: the eight kinds, then a variant of each that is a little larger
/// and of another shade.
pub fn material_layers(count: usize) -> Vec<MaterialLayer> {
    (0..count.min(MAX_LAYERS))
        .map(|layer| {
            let kind = GroundKind::of_layer(layer);
            let (row, variant) = (row(kind), layer / GROUND_KINDS);
            let larger = 1.0 + 0.31 * variant as f32;
            let tint = if variant == 0 { [1.0; 3] } else { [1.07, 0.99, 0.90] };
            MaterialLayer {
                tint,
                near_period: row.near * larger,
                near_turn: TURNS[layer % TURNS.len()],
                far_turn: TURNS[(layer + 3 + variant) % TURNS.len()],
                far_period: row.far * larger,
                far_strength: row.far_strength,
                bump: row.bump,
                displacement: kind.relief() * row.near * larger,
                roughness: row.roughness,
                specular: row.specular,
                far_least: row.far_least,
                padding: 0.0,
            }
        })
        .collect()
}
