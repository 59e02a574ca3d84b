//! What sampling asks for: words, who speaks, and what finds no room.

use vasa::vt::SpaceId;
use vasa::vt::feedback::NONE;
use vasa::vt::sampling::{self, Reservoir, SampledTexture, VirtualTextureFrame, VtProbe, probe_flags};
use vasa_tests::on_device;
use vasa_tests::random::Random;
use vasa_tests::virtual_textures::{Content, Model, Rig};

use super::{any_sample, texture};

/// Probes of all pixels of a picture that write feedback of `count` textures.
fn picture([w, h]: [u32; 2], count: u32, random: &mut Random) -> Vec<VtProbe> {
    (0..w * h)
        .map(|i| {
            let probe = any_sample(random);
            VtProbe { pixel: [i % w, i / w], flags: probe_flags::FEEDBACK, count, ..probe }
        })
        .collect()
}

/// What the twin says that feedback holds: words of the pixels that speak, sorted. Places and levels are the shader's.
fn spoken(rig: &Rig<'_>, number: u32, probes: &[VtProbe], words: &[Vec<u32>]) -> Vec<u32> {
    let frame = VirtualTextureFrame { frame: number, ..rig.frame() };
    let mut said = Vec::new();
    for (i, probe) in probes.iter().enumerate() {
        let mut kept = Reservoir::default();
        for of_texture in words {
            kept.add(of_texture[i], probe.pixel, number);
        }
        if sampling::gives_feedback(&frame, probe.pixel) && kept.word != NONE {
            said.push(kept.word);
        }
    }
    said.sort_unstable();
    said
}

#[test]
fn feedback_is_what_the_twin_says() {
    on_device(|h| {
        let first = texture();
        let silent = SampledTexture { space: None, ..first };
        let third = SampledTexture { space: Some(SpaceId(14)), bias: -3.5, ..first };
        // Nothing is resident: it asks all the same.
        let mut model = Model::new(first, Content::Smooth, 3, &mut Random::new(2));
        model.resident.clear();
        let extent = [70, 45];
        let frame = VirtualTextureFrame::new(extent, 8, 2);
        let rig = Rig::new(h, &model, &[first, silent, third, first], frame);
        let probes = picture(extent, 4, &mut Random::new(6));
        // Alone, without feedback, each texture tells its word.
        let words: Vec<Vec<u32>> = (0..4)
            .map(|texture| {
                let alone: Vec<_> =
                    probes.iter().map(|p| VtProbe { texture, count: 1, flags: 0, ..*p }).collect();
                rig.probe(&alone).iter().map(|found| found.word).collect()
            })
            .collect();
        assert!(words[1].iter().all(|word| *word == NONE));
        assert_eq!(rig.said(), (0, vec![]));
        let levels = words[2].iter().filter_map(|word| vasa::vt::feedback::Word::unpack(*word));
        assert!(levels.clone().any(|word| word.level == -3) && levels.clone().any(|word| word.level == -1));
        let mut all = 0;
        for number in [0, 1, 2, 63, 64, 1000] {
            rig.begin_frame(number);
            let found = rig.probe(&probes);
            assert!(found.iter().all(|found| found.is_resident == 0 && found.layer0 == first.fallback[0]));
            let expected = spoken(&rig, number, &probes, &words);
            let (asked, said) = rig.said();
            assert_eq!(asked as usize, expected.len());
            assert_eq!(said, expected, "frame {number}");
            all += said.len();
        }
        // One a block, and blocks at the edge of the picture now and then none.
        assert!(all > 5 * 8 * 5 && all <= 6 * 9 * 6, "{all}");
    });
}

#[test]
fn feedback_beyond_the_room_is_counted() {
    on_device(|h| {
        let texture = texture();
        let model = Model::new(texture, Content::Smooth, 3, &mut Random::new(2));
        let extent = [64, 64];
        let frame = VirtualTextureFrame { feedback_capacity: 100, ..VirtualTextureFrame::new(extent, 1, 1) };
        let rig = Rig::new(h, &model, &[texture], frame);
        let probes = picture(extent, 1, &mut Random::new(6));
        let words: Vec<u32> = rig.probe(&probes).iter().map(|found| found.word).collect();
        let (asked, said) = rig.said();
        assert_eq!((asked, said.len()), (64 * 64, 100));
        assert!(said.iter().all(|word| words.contains(word)));
    });
}
