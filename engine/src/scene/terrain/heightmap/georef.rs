//! From GeoTIFF tags to the size of a pixel in metres.
//!
//! Tags and keys are those of the OGC GeoTIFF 1.1 standard. Only distances matter here, not where on
//! Earth the map lies; so an affine transform and the latitude of its centre are enough.

/// What the tags of a GeoTIFF say, unread: empty where a tag is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GeoTags {
    /// ModelPixelScaleTag 33550.
    pub(super) pixel_scale: Vec<f64>,
    /// ModelTiepointTag 33922.
    pub(super) tiepoints: Vec<f64>,
    /// ModelTransformationTag 34264.
    pub(super) transformation: Vec<f64>,
    /// GeoKeyDirectoryTag 34735.
    pub(super) keys: Vec<u16>,
    /// GeoDoubleParamsTag 34736.
    pub(super) doubles: Vec<f64>,
}

/// What they mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Georeference {
    /// (east-west, north-south) in metres at the map's centre, if the file places its pixels.
    pub(super) pixel_size: Option<(f64, f64)>,
    /// Rows go from south to north.
    pub(super) south_up: bool,
    /// Columns go from east to west.
    pub(super) east_first: bool,
    /// Metres a unit of the values, if the file says so.
    pub(super) unit_metres: Option<f64>,
}

const MODEL_TYPE: u16 = 1024;
const MODEL_PROJECTED: u16 = 1;
const MODEL_GEOGRAPHIC: u16 = 2;
const ANGULAR_UNITS: u16 = 2054;
const LINEAR_UNITS: u16 = 3076;
const LINEAR_UNIT_SIZE: u16 = 3077;
const VERTICAL_UNITS: u16 = 4099;
const GEO_DOUBLE_PARAMS: u16 = 34736;

/// WGS 84: semi-major axis in metres and first eccentricity squared.
const SEMI_MAJOR: f64 = 6_378_137.0;
const ECCENTRICITY_SQUARED: f64 = 0.006_694_379_990_141_33;

/// Metres along (a parallel, a meridian) for one radian, at a latitude in radians on WGS 84.
pub(super) fn metres_per_radian(latitude: f64) -> (f64, f64) {
    let (sin, cos) = latitude.sin_cos();
    let w2 = 1.0 - ECCENTRICITY_SQUARED * sin * sin;
    let normal = SEMI_MAJOR / w2.sqrt();
    let meridional = SEMI_MAJOR * (1.0 - ECCENTRICITY_SQUARED) / (w2 * w2.sqrt());
    (normal * cos, meridional)
}

/// The value of a key that is stored in the directory itself.
fn short_key(tags: &GeoTags, key: u16) -> Option<u16> {
    tags.keys.chunks_exact(4).skip(1).find(|entry| entry[0] == key && entry[1] == 0).map(|entry| entry[3])
}

/// The value of a key that is stored among the doubles.
fn double_key(tags: &GeoTags, key: u16) -> Option<f64> {
    let entry = tags.keys.chunks_exact(4).skip(1).find(|e| e[0] == key && e[1] == GEO_DOUBLE_PARAMS)?;
    tags.doubles.get(usize::from(entry[3])).copied()
}

/// EPSG codes of lengths, in metres.
fn linear_unit(code: u16) -> Option<f64> {
    match code {
        9001 => Some(1.0),
        9002 => Some(0.3048),
        9003 => Some(1200.0 / 3937.0),
        9036 => Some(1000.0),
        9093 => Some(1609.344),
        _ => None,
    }
}

/// EPSG codes of angles, in radians.
fn angular_unit(code: u16) -> Option<f64> {
    match code {
        9101 => Some(1.0),
        9102 => Some(1.0_f64.to_radians()),
        9103 => Some((1.0_f64 / 60.0).to_radians()),
        9104 => Some((1.0_f64 / 3600.0).to_radians()),
        9105 | 9106 => Some(0.9_f64.to_radians()),
        _ => None,
    }
}

/// Where column `i` and row `j` lie: x = a i + b j + c, y = d i + e j + f.
#[derive(Clone, Copy)]
struct Affine {
    a: f64,
    b: f64,
    c: f64,
    d: f64,
    e: f64,
    f: f64,
}

fn affine(tags: &GeoTags) -> Option<Affine> {
    let affine = if let [a, b, _, c, d, e, _, f, ..] = tags.transformation[..] {
        Affine { a, b, c, d, e, f }
    } else {
        let [scale_x, scale_y, ..] = tags.pixel_scale[..] else { return None };
        // Without a tiepoint the map lies nowhere, but its pixels still have a size.
        let (i, j, x, y) = match tags.tiepoints[..] {
            [i, j, _, x, y, _, ..] => (i, j, x, y),
            _ => (0.0, 0.0, 0.0, 0.0),
        };
        Affine { a: scale_x, b: 0.0, c: x - i * scale_x, d: 0.0, e: -scale_y, f: y + j * scale_y }
    };
    let Affine { a, b, c, d, e, f } = affine;
    [a, b, c, d, e, f].iter().all(|v| v.is_finite()).then_some(affine)
}

/// Reads the tags for a map of `width` x `height` samples.
///
/// A file with a transform but without keys is taken for degrees if it fits on the globe with pixels
/// under a tenth of a degree, and for metres otherwise. Ground control points alone (tiepoints without
/// a scale) give no size.
pub(super) fn interpret(tags: &GeoTags, width: u32, height: u32) -> Georeference {
    let unit_metres = short_key(tags, VERTICAL_UNITS).and_then(linear_unit);
    let Some(affine) = affine(tags) else {
        return Georeference { pixel_size: None, south_up: false, east_first: false, unit_metres };
    };
    let Affine { a, b, c, d, e, f } = affine;
    let (centre_i, centre_j) = (f64::from(width) / 2.0, f64::from(height) / 2.0);
    let centre_x = a * centre_i + b * centre_j + c;
    let centre_y = d * centre_i + e * centre_j + f;
    let (step_x, step_y) = (a.hypot(d), b.hypot(e));

    let geographic = match short_key(tags, MODEL_TYPE) {
        Some(MODEL_GEOGRAPHIC) => true,
        Some(MODEL_PROJECTED) => false,
        _ => centre_x.abs() <= 360.0 && centre_y.abs() <= 90.0 && step_x.max(step_y) < 0.1,
    };
    let (x_metres, y_metres) = if geographic {
        let unit = short_key(tags, ANGULAR_UNITS).and_then(angular_unit).unwrap_or(1.0_f64.to_radians());
        let latitude = (centre_y * unit).clamp(-1.5, 1.5);
        let (parallel, meridian) = metres_per_radian(latitude);
        (parallel * unit, meridian * unit)
    } else {
        let unit = double_key(tags, LINEAR_UNIT_SIZE)
            .filter(|size| size.is_finite() && *size > 0.0)
            .or_else(|| short_key(tags, LINEAR_UNITS).and_then(linear_unit))
            .unwrap_or(1.0);
        (unit, unit)
    };
    Georeference {
        pixel_size: Some(((a * x_metres).hypot(d * y_metres), (b * x_metres).hypot(e * y_metres))),
        south_up: e > 0.0,
        east_first: a < 0.0,
        unit_metres,
    }
}
