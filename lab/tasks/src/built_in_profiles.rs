//! `cargo lab built-in-profiles`: compares the tables of built-in profiles with the originals.

use std::collections::BTreeMap;
use std::path::Path;

use callgate::source::{Reading, SourceContent, SourceFormat, SourceText, read};
use callgate::{Arch, SeccompData};
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::diagram::Store;
use callgate_formats::{BuiltIn, CapSet};
use callgate_tasks::Result;

pub(crate) const HELP: &str = "\
usage: cargo lab built-in-profiles DIR

Compares the built-in profiles of container engines with the originals in a directory: for
each file, the filter of the original and that of the same version in the table must be the
same function, on x86-64 and aarch64, with no and with all capabilities, on Linux 4.7 and 6.18.
The files are

  NAME@VERSION.json             a profile with conditions, as Docker and Podman read it:
                                profiles/seccomp/default.json of moby/moby at the tag of
                                VERSION, seccomp/default.json of moby/profiles,
                                pkg/seccomp/seccomp.json of containers/common, the default
                                profile of CRI-O as JSON; of Flatpak, the rules of setup_seccomp in
                                common/flatpak-run.c as such a profile
  NAME@VERSION.src              a profile of a snap without interfaces, as snapd writes it
  NAME@VERSION.ARCH.CAPS.json   a profile that a runtime made for ARCH, x86_64 or aarch64,
                                and CAPS, none or all, on Linux 4.8 or later: what
                                DefaultProfile of containerd returns, as JSON

example: cargo lab built-in-profiles originals
";

const KERNELS: [KernelVersion; 2] =
    [KernelVersion { major: 4, minor: 7 }, KernelVersion { major: 6, minor: 18 }];
const ARCHES: [Arch; 2] = [Arch::X86_64, Arch::Aarch64];
const CAPS: [&str; 2] = ["none", "all"];

/// What was compared of a built-in profile.
#[derive(Default)]
struct Count {
    originals: usize,
    comparisons: usize,
    differences: usize,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [directory] = arguments else {
        return Err(format!("unexpected arguments {arguments:?}; try --help"));
    };
    let failed = |error: std::io::Error| format!("{directory}: {error}");
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let is_original = |path: &&std::path::PathBuf| {
        path.extension().is_some_and(|one| one == "json" || one == "src")
    };
    for path in paths.iter().filter(is_original) {
        let original = Original::named(path)?;
        let count = counts.entry(original.built_in.name).or_default();
        count.originals += 1;
        for case in original.cases() {
            count.comparisons += 1;
            if let Some(difference) = original.difference(&case)? {
                count.differences += 1;
                println!("{}: {difference}", path.display());
            }
        }
    }
    for (name, count) in &counts {
        let Count { originals, comparisons, differences } = count;
        println!(
            "{name}: {originals} originals, {comparisons} comparisons, {differences} differences"
        );
    }
    match counts.values().map(|count| count.differences).sum::<usize>() {
        _ if counts.is_empty() => Err(format!("{directory}: no originals")),
        0 => Ok(()),
        differences => Err(format!("{differences} differences")),
    }
}

/// An original.
struct Original {
    built_in: &'static BuiltIn,
    /// The name with a version.
    source: String,
    /// The machine for which a runtime made it.
    made_for: Option<(Arch, &'static str)>,
    text: String,
}

/// A machine and a process.
struct Case {
    arch: Arch,
    caps: &'static str,
    kernel: KernelVersion,
}

impl Original {
    fn named(path: &Path) -> Result<Original> {
        let unknown = || format!("{}: not the name of an original; try --help", path.display());
        let stem = path.file_stem().and_then(|stem| stem.to_str()).ok_or_else(unknown)?;
        let (name, version) = stem.split_once('@').ok_or_else(unknown)?;
        let built_in = BuiltIn::named(name).ok_or_else(unknown)?;
        let suffix = ARCHES.iter().flat_map(|arch| CAPS.map(|caps| (*arch, caps)));
        let mut found = suffix.filter_map(|(arch, caps)| {
            let version = version.strip_suffix(&format!(".{}.{caps}", arch.name()))?;
            Some((version, (arch, caps)))
        });
        let (version, made_for) = match found.next() {
            Some((version, made_for)) => (version, Some(made_for)),
            None => (version, None),
        };
        let source = format!("{name}@{version}");
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Original { built_in, source, made_for, text })
    }

    fn cases(&self) -> Vec<Case> {
        let all = ARCHES.iter().flat_map(|arch| {
            let of = |caps| KERNELS.map(|kernel| Case { arch: *arch, caps, kernel });
            CAPS.into_iter().flat_map(of)
        });
        all.filter(|case| match self.made_for {
            Some((arch, caps)) => {
                (case.arch, case.caps) == (arch, caps) && case.kernel == KERNELS[1]
            }
            None => true,
        })
        .collect()
    }

    /// The first syscall for which the original and the table differ.
    fn difference(&self, case: &Case) -> Result<Option<String>> {
        let reading = Reading {
            kernel: Some(case.kernel),
            caps: Some(if case.caps == "all" { CapSet::all() } else { CapSet::none() }),
            ..Reading::new(case.arch)
        };
        let text = SourceText {
            format: SourceFormat::from_name(self.built_in.language.name()),
            ..SourceText::new(SourceContent::Text(self.text.clone()), reading.clone())
        };
        let built_in = SourceText::new(SourceContent::Preset(self.source.clone()), reading);
        let mut store = Store::default();
        let [original, table] = [text, built_in].map(|source| {
            let of = |messages: callgate::source::Messages| {
                format!("{}: {}", self.source, messages[0].diagnostic)
            };
            let stack = read(&source, &mut Vec::new()).map_err(of)?;
            stack.combined_diagram(&mut store, &mut Vec::new()).map_err(of)
        });
        let (original, table) = (original?, table?);
        if original == table {
            return Ok(None);
        }
        let start = SeccompData { arch: case.arch.token(), ..SeccompData::default() };
        let failed = |error: callgate_core::diagram::DiagramError| error.to_string();
        let witness = store.witness(original, table, start).map_err(failed)?;
        let Some(data) = witness else { return Ok(None) };
        let verdicts = [original, table].map(|func| store.evaluate(func, &data));
        let Case { arch, caps, kernel } = case;
        Ok(Some(format!(
            "{arch}, capabilities {caps}, Linux {kernel}: original and table return {verdicts:?} for {data:?}"
        )))
    }
}

#[cfg(test)]
mod tests {
    use callgate_formats::built_in;

    use super::*;

    /// The text of the table stands for an original: no other project's file is in the tree.
    #[test]
    fn a_changed_original_is_a_difference() {
        let directory =
            std::env::temp_dir().join(format!("callgate-built-in-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("docker-default@24.0.0.json");
        let text = built_in("docker-default@24.0.0").unwrap().unwrap().text.into_owned();
        let arguments = [directory.to_str().unwrap().to_owned()];
        std::fs::write(&path, &text).unwrap();
        assert_eq!(run(&arguments), Ok(()));
        std::fs::write(&path, text.replace("\"io_uring_setup\",", "")).unwrap();
        assert_eq!(run(&arguments), Err("8 differences".to_owned()));
        std::fs::remove_dir_all(&directory).unwrap();
        assert!(run(&arguments).is_err());
    }
}
