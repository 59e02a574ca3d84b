//! What a capture of a frame with virtual textures reads like: labels in their order, one inside the other, and names.

use vasa::vt::Options;
use vasa_tests::ground::{Ground, options};
use vasa_tests::labels::FEEDBACK;
use vasa_tests::{labels, on_device};

/// Labels of virtual textures, without what follows the words of a draw or update.
fn tree(seen: &[String]) -> Vec<String> {
    let is_of_textures = |label: &&String| {
        let word = label.trim_start();
        ["VirtualTexture", "PageTableUpdate", "Hash table", "Build feedback", "Compact feedback", "BasePass"]
            .iter()
            .any(|begin| word.starts_with(begin))
    };
    let words = seen.iter().filter(is_of_textures).map(|label| {
        let end = label.find(" (").unwrap_or(label.len());
        label[..end].to_owned()
    });
    words.collect()
}

/// The tree of a frame that makes pages: `first` before all, batches of draws, and of what brings each into its atlas.
fn check(seen: &[String], first: &[&str], copies: bool) -> usize {
    let tree = tree(seen);
    let mut rest = tree.iter().map(String::as_str).peekable();
    let begin = ["VirtualTextureBeginUpdate", "VirtualTextureClear", "VirtualTextureEndUpdate"];
    for expected in first.iter().chain(&begin).chain(&["VirtualTextureFinalizeRequests"]) {
        assert_eq!(rest.next(), Some(*expected), "{tree:#?}");
    }
    let mut pages = 0;
    while rest.peek() == Some(&"  VirtualTextureDraw") {
        let mut batch = 0;
        while rest.next_if_eq(&"  VirtualTextureDraw").is_some() {
            batch += 1;
        }
        assert!(batch <= 8, "{batch} pages in a batch");
        pages += batch;
        let mut is_compressed = false;
        while rest.next_if_eq(&"  VirtualTextureCompress").is_some() {
            is_compressed = true;
        }
        let mut count = 0;
        while rest.next_if_eq(&"  VirtualTextureCopy").is_some() {
            count += 1;
        }
        // Heights have nothing to compress; blocks are copied only where they are not written straight.
        assert!(is_compressed || count == 1, "{tree:#?}");
        assert_eq!(count > 0, copies || !is_compressed, "{tree:#?}");
    }
    assert_eq!(rest.next(), Some("VirtualTexturePageTableUpdates"), "{tree:#?}");
    let mut updates = 0;
    while rest.next_if_eq(&"  PageTableUpdate").is_some() {
        updates += 1;
    }
    assert!(updates > 0, "{tree:#?}");
    for expected in ["BasePass"].iter().chain(&FEEDBACK) {
        assert_eq!(rest.next(), Some(*expected), "{tree:#?}");
    }
    assert_eq!(rest.next(), None, "{tree:#?}");
    pages
}

#[test]
fn a_capture_of_a_frame_reads_in_the_order_of_what_is_done() {
    on_device(|h| {
        for direct_compress in [true, false] {
            let options = Options { direct_compress, ..options() };
            let mut ground = Ground::new(&h.device, options);
            let camera = ground.camera(0.05);
            labels::take();
            ground.draw(camera);
            let seen = labels::take();
            if seen.is_empty() {
                return h.skip("markers are not to be had");
            }
            // Atlases and page tables are new, all of them before anything else of virtual textures.
            check(&seen, &["VirtualTextureAllocate"], !direct_compress);
            let mut pages = 0;
            for _ in 0..8 {
                ground.draw(camera);
                let seen = labels::take();
                let drawn = ground.textures().plan().pages.len();
                if drawn > 0 {
                    assert_eq!(check(&seen, &[], !direct_compress), drawn);
                    pages += drawn;
                }
            }
            assert!(pages > 8, "more than one batch: {pages}");
            ground.settle(&[camera], 200);
            labels::take();
            ground.draw(camera);
            // A steady view draws nothing and paints nothing; feedback goes on.
            let begin =
                ["VirtualTextureBeginUpdate", "VirtualTextureClear", "VirtualTextureEndUpdate", "BasePass"];
            let expected: Vec<&str> = begin.into_iter().chain(FEEDBACK).collect();
            assert_eq!(tree(&labels::take()), expected);
        }
    });
}

/// Pages that a label of a batch names, if it is one: `WORD (kind or layer, N pages)`.
fn pages_of(label: &str, word: &str) -> Option<usize> {
    let about = label.trim_start().strip_prefix(word)?.strip_prefix(" (")?.strip_suffix(" pages)")?;
    about.split_once(", ")?.1.parse().ok()
}

#[test]
fn a_draw_says_which_page_of_which_texture_it_is() {
    on_device(|h| {
        let mut ground = Ground::new(&h.device, options());
        labels::take();
        ground.draw(ground.camera(0.05));
        let seen = labels::take();
        if seen.is_empty() {
            return h.skip("markers are not to be had");
        }
        let draws: Vec<&str> =
            seen.iter().filter_map(|label| label.trim_start().strip_prefix("VirtualTextureDraw ")).collect();
        let pages = &ground.textures().plan().pages;
        assert_eq!(draws.len(), pages.len());
        for (page, number) in pages.iter().map(|work| (work.page, work.texture)) {
            let name = ["Terrain", "Terrain.Height", "Terrain.Displacement"][number.index()];
            let label = format!("({name}, level {}, page {},{})", page.level, page.x, page.y);
            assert!(draws.contains(&label.as_str()), "{label} is not among {draws:?}");
        }
        // What brings them into their atlases says what it is about, too: batches have 8 pages at most.
        let compressed: usize =
            seen.iter().filter_map(|label| pages_of(label, "VirtualTextureCompress")).sum();
        let heights: usize = seen.iter().filter_map(|label| pages_of(label, "VirtualTextureCopy")).sum();
        assert_eq!((compressed > 0, compressed + heights), (true, pages.len()), "{seen:#?}");
        let textures = ground.textures();
        let (table, layers) = textures.images(ground.ground.surface).unwrap();
        assert!(table.name().starts_with("VirtualTexture_PageTable (R16_UINT) "), "{}", table.name());
        let names: Vec<&str> = layers.iter().map(|layer| layer.name()).collect();
        assert_eq!(
            names,
            [
                "VirtualTexture_Physical (BC3_UNORM_BLOCK) 1/3",
                "VirtualTexture_Physical (BC5_UNORM_BLOCK) 2/3",
                "VirtualTexture_Physical (BC3_UNORM_BLOCK) 3/3"
            ]
        );
    });
}
