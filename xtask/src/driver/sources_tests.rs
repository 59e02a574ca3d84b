//! Tests of reading package sources.

use super::*;

const KEY: &str = "/usr/share/keyrings/archive.gpg";

fn source(uri: &str, suites: &[&str], components: &[&str], options: &[(&str, &str)]) -> Source {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Source {
        uris: vec![uri.to_owned()],
        suites: owned(suites),
        components: owned(components),
        options: options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    }
}

#[test]
fn one_line_sources_are_read() {
    let text = format!(
        "# a comment\ndeb http://m.test/debian bookworm main contrib # why\n\
         deb-src http://m.test/debian bookworm main\n\
         deb [arch=amd64,arm64 signed-by={KEY}] https://m.test/debian bookworm-updates main\n\
         deb [ trusted=yes ] file:/srv/repo ./\ndeb http://broken.test\ndebug x y z\n"
    );
    let expected = [
        source("http://m.test/debian", &["bookworm"], &["main", "contrib"], &[]),
        source("https://m.test/debian", &["bookworm-updates"], &["main"], &[("Signed-By", KEY)]),
        source("file:/srv/repo", &["./"], &[], &[("Trusted", "yes")]),
    ];
    assert_eq!(parse_list(&text), expected);
}

#[test]
fn deb822_sources_are_read() {
    let text = format!(
        "Types: deb deb-src\n# inner comment\nURIs: http://m.test/debian\nSuites: bookworm bookworm-updates\n\
         Components: main\nSigned-By: {KEY}\n\n\
         Types: deb\nEnabled: no\nURIs: http://off.test\nSuites: bookworm\nComponents: main\n\n\
         Types: deb-src\nURIs: http://src.test\nSuites: bookworm\nComponents: main\n\n\n\
         types: deb\nuris: http://k.test/\nsuites: bookworm-security\ncomponents: main\n\
         signed-by:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBGPL\n -----END PGP PUBLIC KEY BLOCK-----"
    );
    let sources = parse_deb822(&text);
    assert_eq!(sources.len(), 2);
    assert_eq!(
        sources[0],
        source("http://m.test/debian", &["bookworm", "bookworm-updates"], &["main"], &[("Signed-By", KEY)])
    );
    assert_eq!(sources[1].options[0].0, "Signed-By");
    assert!(sources[1].options[0].1.contains("\n .\n mQINBGPL\n"), "{:?}", sources[1].options);
}

#[test]
fn what_is_written_reads_back() {
    let original =
        source("http://m.test/debian", &["a", "a-updates"], &["main"], &[("Signed-By", "\n KEY\n .\n MORE")]);
    assert_eq!(parse_deb822(&original.to_deb822()), [original]);
}

#[test]
fn apts_own_list_is_read() {
    let text = format!(
        "http://m.test/debian|bookworm|stable|main|Debian|{KEY}\nhttp://m.test/debian|bookworm|stable|main|Debian|{KEY}\n\
         https://other.test|nodistro|nodistro|main|Other|\nhttp://m.test/debian||bookworm-updates|main|Debian|\nnoise\n"
    );
    let expected = [
        source("http://m.test/debian", &["bookworm"], &["main"], &[("Signed-By", KEY)]),
        source("http://m.test/debian", &["bookworm-updates"], &["main"], &[]),
    ];
    assert_eq!(parse_indextargets(&text), expected);
}

#[test]
fn only_the_releases_own_suites_are_kept() {
    let sources = [
        source("http://m.test/debian", &["bookworm", "bookworm-updates", "sid"], &["main", "non-free"], &[]),
        source("http://m.test/debian", &["bookworm", "bookworm-updates"], &["main"], &[]),
        source("http://db.test/apt", &["bookworm-pgdg"], &["main"], &[]),
        source("http://c.test/apt", &["bookworm"], &["stable"], &[]),
        source("http://s.test/security", &["bookworm-security"], &["main"], &[]),
        source("http://n.test/", &["bookwormish"], &["main"], &[]),
    ];
    let kept = of_release(&sources, "bookworm");
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[0].suites, ["bookworm", "bookworm-updates"]);
    assert_eq!(kept[0].components, ["main"]);
    assert_eq!(kept[1].suites, ["bookworm-security"]);
}

#[test]
fn backports_come_from_the_releases_own_mirror() {
    let security = source("http://s.test/security", &["bookworm-security"], &["main"], &[]);
    let base = source("http://m.test/debian", &["bookworm"], &["main"], &[("Signed-By", KEY)]);
    let added = backports(&[security.clone(), base.clone()], "bookworm").unwrap();
    assert_eq!(
        added,
        source("http://m.test/debian", &["bookworm-backports"], &["main"], &[("Signed-By", KEY)])
    );
    assert_eq!(backports(&[base, added], "bookworm"), None, "already there");
    assert_eq!(backports(&[security], "bookworm"), None, "no mirror to take it from");
}
