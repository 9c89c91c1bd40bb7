//! The direction of dependencies between packages.

use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::{files, read};

/// The permitted dependencies between packages, except for those of tests and those of the packages in [`LAB`].
///
/// `callgate-core` must be trusted and nothing else needs to be, so it depends on nothing here.
///
/// Who may depend on `callgate` may also depend on what it is made of, see [`BELOW_CALLGATE`].
const ALLOWED: &[(&str, &[&str])] = &[
    ("callgate-core", &[]),
    ("callgate-bpf", &["callgate-core"]),
    ("callgate-codegen", &["callgate-bpf", "callgate-core"]),
    ("callgate-formats", &["callgate-bpf", "callgate-core", "callgate-codegen"]),
    ("callgate-trace", &["callgate-bpf", "callgate-core", "callgate-codegen", "callgate-formats"]),
    (
        "callgate",
        &[
            "callgate-bpf",
            "callgate-core",
            "callgate-codegen",
            "callgate-formats",
            "callgate-trace",
        ],
    ),
    ("callgate-elf", &[]),
    ("callgate-html", &["callgate", "callgate-requests"]),
    ("callgate-build", &["callgate"]),
    ("callgate-macros", &["callgate-build"]),
    ("callgate-example-build-time", &[]),
    ("callgate-example-configurations", &["callgate", "callgate-linux"]),
    ("callgate-example-macro", &["callgate-macros"]),
    ("callgate-vm", &["callgate-bpf", "callgate-core"]),
    ("callgate-requests", &["callgate"]),
    ("callgate-python", &["callgate-bpf", "callgate-core", "callgate-linux", "callgate-requests"]),
    ("callgate-linux", &["callgate"]),
    ("callgate-cheats", &["callgate", "callgate-linux"]),
    ("callgate-c", &["callgate", "callgate-linux", "callgate-requests"]),
    ("callgate-record", &["callgate", "callgate-linux"]),
    (
        "callgate-measure",
        &["callgate", "callgate-html", "callgate-linux", "callgate-requests", "callgate-vm"],
    ),
    (
        "callgate-cli",
        &[
            "callgate",
            "callgate-elf",
            "callgate-html",
            "callgate-linux",
            "callgate-measure",
            "callgate-record",
            "callgate-requests",
            "callgate-smt",
            "callgate-vm",
        ],
    ),
    ("callgate-testing", &["callgate-bpf", "callgate-core", "callgate-formats"]),
    ("callgate-seccomp", &["callgate"]),
    ("callgate-smt", &["callgate-bpf", "callgate-core"]),
    (
        "callgate-fuzz-targets",
        &[
            "callgate",
            "callgate-elf",
            "callgate-requests",
            "callgate-seccomp",
            "callgate-testing",
            "callgate-vm",
        ],
    ),
    ("callgate-fuzz", &["callgate-fuzz-targets"]),
    ("callgate-tasks", &[]),
    (
        "callgate-checks",
        &["callgate", "callgate-linux", "callgate-seccomp", "callgate-tasks", "callgate-testing"],
    ),
    ("xtask", &["callgate-tasks"]),
];

/// The crates whose types are in the interface of `callgate`.
const BELOW_CALLGATE: [&str; 5] =
    ["callgate-bpf", "callgate-core", "callgate-codegen", "callgate-formats", "callgate-trace"];

/// The directory of the packages with experiments. They may depend on any package, and only they depend on each other, in
/// tests as well.
const LAB: &str = "lab";

/// The directories of all packages.
pub(crate) fn packages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(&directory)
            .map_err(|why| format!("{}: {why}", directory.display()))?
            .flatten()
        {
            let path = entry.path();
            let name = entry.file_name();
            let is_source = !["src", "tests", "target"].iter().any(|other| name == *other);
            if path.is_dir() && is_source && !name.to_string_lossy().starts_with('.') {
                let manifest = std::fs::read_to_string(path.join("Cargo.toml"));
                // Others are those of workspaces.
                if manifest.is_ok_and(|text| text.lines().any(|line| line == "[package]")) {
                    found.push(path.clone());
                }
                open.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Dependencies that [`ALLOWED`] does not have, as messages.
pub(super) fn check(root: &Path) -> Result<Vec<String>> {
    let mut errors = Vec::new();
    let mut in_lab = Vec::new();
    let mut others = Vec::new();
    for package in packages(root)? {
        let manifest = files(&package, "toml")?
            .into_iter()
            .find(|path| path.ends_with("Cargo.toml"))
            .ok_or_else(|| format!("{}: no Cargo.toml", package.display()))?;
        let text = String::from_utf8_lossy(&read(&manifest)?).into_owned();
        let name = field(&text, "name").unwrap_or_default();
        if package.starts_with(root.join(LAB)) {
            in_lab.push(name);
            continue;
        }
        others.push((manifest.clone(), dependencies(&text, |_| true)));
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            errors.push(format!(
                "{}: the package {name} is not in the list of layers (xtask/checks/src/structure/layers.rs)",
                manifest.display()
            ));
            continue;
        };
        for dependency in dependencies(&text, |section| section == "[dependencies]") {
            let is_below =
                allowed.contains(&"callgate") && BELOW_CALLGATE.contains(&dependency.as_str());
            if !allowed.contains(&dependency.as_str()) && !is_below {
                errors.push(format!(
                    "{}: {name} may not depend on {dependency}; it may depend on: {}",
                    manifest.display(),
                    if allowed.is_empty() { "nothing here".to_owned() } else { allowed.join(", ") }
                ));
            }
        }
    }
    for (manifest, dependencies) in others {
        for dependency in dependencies.iter().filter(|name| in_lab.contains(name)) {
            errors.push(format!(
                "{}: only packages in {LAB}/ may depend on {dependency}",
                manifest.display()
            ));
        }
    }
    Ok(errors)
}

/// The string value of a key.
fn field(manifest: &str, key: &str) -> Option<String> {
    manifest.lines().find_map(|line| {
        let value = line.strip_prefix(key)?.trim_start().strip_prefix('=')?;
        Some(value.trim().trim_matches('"').to_owned())
    })
}

/// The packages of this tree in the sections with dependencies that `is_asked` accepts.
fn dependencies(manifest: &str, is_asked: impl Fn(&str) -> bool) -> Vec<String> {
    let mut is_inside = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            let section = line.trim();
            is_inside = section.ends_with("dependencies]") && is_asked(section);
        } else if is_inside {
            let name: String =
                line.chars().take_while(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
            if name.starts_with("callgate") || name == "xtask" {
                found.push(name);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_those_of_the_package_itself() {
        let manifest = "[package]\nname = \"a\"\n[dependencies]\ncallgate-bpf.workspace = true\nlibc = \"0.2\"\n\
                        callgate = { path = \"x\" }\n[dev-dependencies]\ncallgate-vm.workspace = true\n";
        assert_eq!(field(manifest, "name").as_deref(), Some("a"));
        let own = dependencies(manifest, |section| section == "[dependencies]");
        assert_eq!(own, ["callgate-bpf", "callgate"]);
        assert_eq!(dependencies(manifest, |_| true), ["callgate-bpf", "callgate", "callgate-vm"]);
    }
}
