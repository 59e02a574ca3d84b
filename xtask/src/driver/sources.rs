//! Package sources: which mirror and which key this system uses for its own release.
//!
//! Both notations are read, the one-line `.list` and the deb822 `.sources` (sources.list(5)). They are the
//! truth even where no package list has ever been downloaded, and they keep options such as the mirror's
//! key. Where they name nothing for the release, what apt itself lists (`apt-get indextargets`) is taken.

/// One source of packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Where the packages are.
    pub uris: Vec<String>,
    /// Releases, as in `bookworm` or `bookworm-updates`.
    pub suites: Vec<String>,
    /// As in `main`.
    pub components: Vec<String>,
    /// Options in deb822 spelling (`Signed-By`, `Trusted`, `Check-Valid-Until`), in their order.
    pub options: Vec<(String, String)>,
}

/// Options that matter for fetching; the others (architectures, languages) we set ourselves.
const KEPT: [&str; 5] = ["Signed-By", "Trusted", "Check-Valid-Until", "Check-Date", "Allow-Insecure"];

impl Source {
    /// In deb822 notation, packages only.
    pub fn to_deb822(&self) -> String {
        let mut text = format!(
            "Types: deb\nURIs: {}\nSuites: {}\nComponents: {}\nTargets: Packages\n",
            self.uris.join(" "),
            self.suites.join(" "),
            self.components.join(" ")
        );
        for (name, value) in &self.options {
            text.push_str(&format!("{name}: {value}\n"));
        }
        text
    }
}

/// Parses a one-line-style file.
pub fn parse_list(text: &str) -> Vec<Source> {
    text.lines().filter_map(parse_list_line).collect()
}

fn parse_list_line(line: &str) -> Option<Source> {
    let line = line.split('#').next()?.trim();
    let mut rest = line.strip_prefix("deb").filter(|rest| rest.starts_with([' ', '\t', '[']))?.trim();
    let mut options = Vec::new();
    if let Some(inner) = rest.strip_prefix('[') {
        let (inside, after) = inner.split_once(']')?;
        options.extend(inside.split_whitespace().filter_map(|option| option.split_once('=')));
        rest = after;
    }
    let mut words = rest.split_whitespace().map(str::to_owned);
    let (uri, suite) = (words.next()?, words.next()?);
    Some(Source {
        uris: vec![uri],
        suites: vec![suite],
        components: words.collect(),
        options: kept(options.into_iter().map(|(name, value)| (name, value.replace(',', " ")))),
    })
}

/// Parses a deb822 file: stanzas of `Name: value`, continued by indented lines.
pub fn parse_deb822(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            sources.extend(stanza(&std::mem::take(&mut fields)));
        } else if line.starts_with([' ', '\t']) {
            // The inner line breaks of an embedded key belong to it.
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.to_owned(), value.trim().to_owned()));
        }
    }
    sources
}

fn stanza(fields: &[(String, String)]) -> Option<Source> {
    let get = |name: &str| {
        fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    };
    let words = |name: &str| -> Vec<String> {
        get(name).map(|value| value.split_whitespace().map(str::to_owned).collect()).unwrap_or_default()
    };
    let off = get("Enabled")
        .is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "no" | "false" | "0"));
    let source = Source {
        uris: words("URIs"),
        suites: words("Suites"),
        components: words("Components"),
        options: kept(fields.iter().map(|(name, value)| (name.as_str(), value.clone()))),
    };
    let whole = !source.uris.is_empty()
        && !source.suites.is_empty()
        && words("Types").iter().any(|kind| kind == "deb");
    (whole && !off).then_some(source)
}

fn kept<'a>(options: impl Iterator<Item = (&'a str, String)>) -> Vec<(String, String)> {
    options
        .filter_map(|(name, value)| {
            let kept = KEPT.into_iter().find(|kept| kept.eq_ignore_ascii_case(name))?;
            Some((kept.to_owned(), value))
        })
        .collect()
}

/// The format to ask of `apt-get indextargets`, read back by [`parse_indextargets`].
pub const INDEXTARGETS_FORMAT: &str = "$(SITE)|$(CODENAME)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(SIGNED_BY)";

/// Parses what `apt-get indextargets` printed, keeping what comes from the distribution itself.
pub fn parse_indextargets(text: &str) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let [site, codename, release, component, origin, key] = fields[..] else { continue };
        if site.is_empty() || !["Debian", "Ubuntu", "Debian Backports"].contains(&origin) {
            continue;
        }
        // A source may say `stable`; its Release file says what that is today.
        let suite = if codename.is_empty() { release } else { codename };
        let source = Source {
            uris: vec![site.to_owned()],
            suites: vec![suite.to_owned()],
            components: vec![component.to_owned()],
            options: kept([("Signed-By", key.to_owned())].into_iter().filter(|(_, key)| !key.is_empty())),
        };
        if !sources.contains(&source) {
            sources.push(source);
        }
    }
    sources
}

/// The parts of `sources` that belong to the release itself: `codename`, its updates, security and
/// backports, from `main` and, for Ubuntu, `universe`. Sources of others (`codename-theirs`) stay out.
pub fn of_release(sources: &[Source], codename: &str) -> Vec<Source> {
    let own = |suite: &String| {
        suite.strip_prefix(codename).is_some_and(|rest| {
            matches!(
                rest.trim_end_matches('/'),
                "" | "-updates" | "-security" | "-backports" | "-proposed-updates"
            )
        })
    };
    let mut kept: Vec<Source> = Vec::new();
    for source in sources {
        let suites: Vec<String> = source.suites.iter().filter(|suite| own(suite)).cloned().collect();
        let components: Vec<String> = source
            .components
            .iter()
            .filter(|name| matches!(name.as_str(), "main" | "universe"))
            .cloned()
            .collect();
        if !suites.is_empty() && !components.is_empty() {
            let source = Source { suites, components, ..source.clone() };
            if !kept.contains(&source) {
                kept.push(source);
            }
        }
    }
    kept
}

/// The backports of the release, on the mirror and with the key of the release itself. `None` if the
/// sources already have it or do not have the release.
pub fn backports(sources: &[Source], codename: &str) -> Option<Source> {
    let suite = format!("{codename}-backports");
    if sources.iter().any(|source| source.suites.contains(&suite)) {
        return None;
    }
    let base = sources.iter().find(|source| source.suites.iter().any(|suite| suite == codename))?;
    Some(Source { suites: vec![suite], components: vec!["main".to_owned()], ..base.clone() })
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
