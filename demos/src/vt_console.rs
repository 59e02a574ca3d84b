//! Console commands of virtual textures, and the page that lies at a place.

use vasa::Engine;
use vasa::inspect::virtual_textures::{events_text, page_text};
use vasa::vt::{PageAddress, TextureId, VirtualTextures};

/// Events that `vt history` prints.
const EVENTS: usize = 40;

/// What there is to say without virtual textures.
pub const NONE: &str = "this scene has no virtual textures";

/// `vt flush`.
pub fn flush(engine: &mut Engine) -> String {
    let Some(textures) = engine.textures_mut() else { return NONE.into() };
    textures.flush();
    "pages go with the next frame, if there is one; locked ones stay, and are drawn again if \
     vt.produce_locked_on_flush says so"
        .into()
}

/// `vt history`.
pub fn history(engine: &Engine) -> String {
    let Some(textures) = engine.textures() else { return NONE.into() };
    events_text(textures.planner(), &textures.planner().events(EVENTS))
}

/// `vt page TEXTURE LEVEL X Y`. The texture is named, or numbered as in the order of `vt usage`.
///
/// # Errors
/// A line that says what is wrong with the arguments, and which textures there are.
pub fn page(engine: &Engine, arguments: &str) -> Result<String, String> {
    let (name, page) = parse(arguments)?;
    let Some(textures) = engine.textures() else { return Ok(NONE.into()) };
    let known = textures.planner().usage().textures;
    let numbered = name.parse().ok().and_then(|index: usize| known.get(index));
    let found = known.iter().find(|usage| usage.name.eq_ignore_ascii_case(name)).or(numbered);
    let Some(found) = found else {
        let names: Vec<_> = known.iter().map(|usage| usage.name.as_str()).collect();
        return Err(format!("there is no virtual texture `{name}`; known: {}", names.join(", ")));
    };
    Ok(page_text(textures.planner(), found.texture, page))
}

/// Name and page. Names may have spaces: the last three words are numbers.
fn parse(arguments: &str) -> Result<(&str, PageAddress), String> {
    let wrong = || {
        format!(
            "`vt page {arguments}` names no page: write vt page TEXTURE LEVEL X Y, such as vt page Terrain 4 7 3"
        )
    };
    let mut words = arguments.trim().rsplitn(4, char::is_whitespace);
    let mut next = || words.next().ok_or_else(wrong);
    let (y, x, level, name) = (next()?, next()?, next()?, next()?);
    let number = |text: &str| text.parse::<u16>().map_err(|_| wrong());
    let level = level.parse::<u8>().map_err(|_| wrong())?;
    Ok((name.trim(), PageAddress::new(level, number(x)?, number(y)?)))
}

/// The finest page that is mapped at a place (x and z, metres), and why it is there; nothing outside of the texture.
pub fn page_under(textures: &VirtualTextures, texture: TextureId, place: [f32; 2]) -> Option<String> {
    let uv = textures.writers().texture(texture)?.volume.uv(place.into()).to_array();
    let tiles = textures.planner().placement(texture)?.grid.tiles();
    let at = |axis: usize| {
        let page = (uv[axis] * tiles[axis] as f32).floor();
        (page >= 0.0 && page < tiles[axis] as f32).then_some(page as u16)
    };
    let finest = PageAddress::new(0, at(0)?, at(1)?);
    let found = textures.planner().lookup(texture, 0, finest).map_or(finest, |(found, _)| found);
    Some(page_text(textures.planner(), texture, found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_by_texture_level_and_place() {
        let page = PageAddress::new(3, 40, 7);
        assert_eq!(parse("Terrain 3 40 7"), Ok(("Terrain", page)));
        assert_eq!(parse(" my  ground 3 40 7 "), Ok(("my  ground", page)));
        for wrong in
            ["", "Terrain", "3 40 7", "Terrain 3 40", "Terrain 3 -1 7", "Terrain x 1 2", "T 3 70000 1"]
        {
            assert!(parse(wrong).unwrap_err().contains("vt page Terrain 4 7 3"), "{wrong}");
        }
    }
}
