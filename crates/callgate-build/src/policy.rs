//! A policy that is compiled at build time: its file and options.

use crate::format::Format;
use callgate::Arch;
use callgate_bpf::syscalls::KernelVersion;
use callgate_codegen::Aim;
use callgate_formats::CapSet;
use std::path::{Path, PathBuf};

/// A policy that is compiled at build time: its file and options.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) path: PathBuf,
    pub(crate) directory: PathBuf,
    pub(crate) name: Option<String>,
    pub(crate) arches: Vec<Arch>,
    pub(crate) format: Option<Format>,
    pub(crate) part: Option<String>,
    pub(crate) expression: Option<String>,
    pub(crate) installer: bool,
    pub(crate) aim: Aim,
    pub(crate) weights: Option<PathBuf>,
    pub(crate) kernel: Option<KernelVersion>,
    pub(crate) caps: Option<CapSet>,
    pub(crate) strict: bool,
}

impl Policy {
    /// The policy in a file. A relative path is relative to the current directory, which for a build script is the directory
    /// of the package.
    pub fn new(path: impl Into<PathBuf>) -> Policy {
        Policy {
            path: path.into(),
            directory: PathBuf::new(),
            name: None,
            arches: Vec::new(),
            format: None,
            part: None,
            expression: None,
            installer: false,
            aim: Aim::default(),
            weights: None,
            kernel: None,
            caps: None,
            strict: false,
        }
    }

    /// The directory to which relative paths are relative. Messages show paths without it.
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Policy {
        self.directory = directory.into();
        self
    }

    /// The name of the array and, with a prefix or suffix, of functions, and of the file of source code: an identifier.
    /// By default, the name of the policy's file without extension, with `_` for all other characters than letters and
    /// digits.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Policy {
        self.name = Some(name.into());
        self
    }

    /// The architectures of the filter, which must include that of the target; by default, it is the only one. Others are
    /// needed for programs in a 32-bit ABI of the machine that inherit the filter.
    #[must_use]
    pub fn arches(mut self, arches: impl IntoIterator<Item = Arch>) -> Policy {
        self.arches = arches.into_iter().collect();
        self
    }

    /// The format of the file; by default, the extension decides.
    #[must_use]
    pub fn format(mut self, format: Format) -> Policy {
        self.format = Some(format);
        self
    }

    /// The thread of a Firecracker document, or the name of a Kubernetes resource. Needed if the file has several.
    #[must_use]
    pub fn part(mut self, name: impl Into<String>) -> Policy {
        self.part = Some(name.into());
        self
    }

    /// An expression whose value is the filter, such as `policy + ptrace - mount ^ preset:no-io-uring`: `+` adds what the next
    /// filter permits, `-` removes it, `^` keeps what both permit. `policy` is the file; other names are those of presets and
    /// syscalls. By default, the filter is the policy itself.
    #[must_use]
    pub fn expression(mut self, text: impl Into<String>) -> Policy {
        self.expression = Some(text.into());
        self
    }

    /// Whether there are functions that install the filter: `install_NAME` in all threads of the process,
    /// `install_NAME_in_thread` in the calling one, `install_NAME_with` with other flags or without `no_new_privs`. Those of a
    /// filter that notifies a listener return it, and their names begin with `install_NAME_listener`. By default, there are
    /// none.
    #[must_use]
    pub fn installer(mut self, installer: bool) -> Policy {
        self.installer = installer;
        self
    }

    /// What is minimized: the executed instructions (the default), or the length of the program.
    #[must_use]
    pub fn aim(mut self, aim: Aim) -> Policy {
        self.aim = aim;
        self
    }

    /// A file with the frequencies of syscalls: names and counts, a table of `strace -c` or `perf trace -s`, a log, or a
    /// recording.
    #[must_use]
    pub fn weights(mut self, path: impl Into<PathBuf>) -> Policy {
        self.weights = Some(path.into());
        self
    }

    /// The kernel version for the conditions of a container profile. Without it, such conditions are errors.
    #[must_use]
    pub fn kernel(mut self, version: KernelVersion) -> Policy {
        self.kernel = Some(version);
        self
    }

    /// The capabilities for the conditions of a container profile; by default, Docker's.
    #[must_use]
    pub fn caps(mut self, caps: CapSet) -> Policy {
        self.caps = Some(caps);
        self
    }

    /// Whether names of syscalls that no architecture has are errors, where a format ignores them.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Policy {
        self.strict = strict;
        self
    }

    /// The name of the array.
    pub(crate) fn own_name(&self) -> String {
        self.name.clone().unwrap_or_else(|| name_of(&self.path))
    }

    /// The path as it is shown in messages.
    pub(crate) fn shown(&self) -> String {
        self.path.display().to_string()
    }
}

/// An identifier from the name of a file.
fn name_of(path: &Path) -> String {
    let stem =
        path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let mut name: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert(0, '_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_that_of_the_file() {
        for (path, name) in [
            ("a/sandbox.kafel", "sandbox"),
            ("my-policy.v2.json", "my_policy_v2"),
            ("9p.kafel", "_9p"),
        ] {
            assert_eq!(Policy::new(path).own_name(), name);
        }
        assert_eq!(Policy::new("a.kafel").name("b").own_name(), "b");
    }
}
