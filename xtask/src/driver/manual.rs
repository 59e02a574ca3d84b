//! What to type where the driver cannot be fetched for the user.

use super::release::Release;

/// The commands for the distributions that people have, the user's own first.
pub fn instructions(release: &Release) -> String {
    let mut ways = [
        (
            "Debian 13 or later",
            "sudo apt-get update && sudo apt-get install mesa-vulkan-drivers libvulkan1 vulkan-validationlayers",
            release.is_debian() && release.version != "12",
        ),
        (
            "Debian 12 (after adding the suite bookworm-backports to its package sources)",
            "sudo apt-get update && sudo apt-get install -t bookworm-backports mesa-vulkan-drivers libvulkan1 \
             vulkan-validationlayers",
            release.is_debian() && release.version == "12",
        ),
        (
            "Ubuntu 24.04 or later (22.04 has no Mesa 24.2: upgrade, or use a machine with a GPU)",
            "sudo apt-get update && sudo apt-get install mesa-vulkan-drivers libvulkan1 vulkan-validationlayers",
            release.is_ubuntu(),
        ),
        (
            "Fedora 41 or later",
            "sudo dnf install mesa-vulkan-drivers vulkan-loader vulkan-validation-layers",
            release.id == "fedora",
        ),
        (
            "Arch",
            "sudo pacman -S vulkan-swrast vulkan-icd-loader vulkan-validation-layers",
            release.id == "arch" || release.id_like.iter().any(|id| id == "arch"),
        ),
    ];
    ways.sort_by_key(|(_, _, own)| !own);
    let mut text = "Mesa's software driver (24.2 or later) by hand:\n".to_owned();
    for (system, command, _) in ways {
        text.push_str(&format!("  {system}:\n    {command}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_distributions_and_the_users_own_first() {
        let fedora = instructions(&Release::parse("ID=fedora\nVERSION_ID=42"));
        for word in ["Debian", "Ubuntu", "Fedora", "Arch", "apt-get", "dnf", "pacman"] {
            assert!(fedora.contains(word), "{word}");
        }
        assert!(fedora.lines().nth(1).unwrap().contains("Fedora"), "{fedora}");
        let ubuntu = instructions(&Release::parse("ID=ubuntu\nID_LIKE=debian\nVERSION_ID=22.04"));
        assert!(ubuntu.lines().nth(1).unwrap().contains("Ubuntu"), "{ubuntu}");
    }
}
