//! What sources need from their caller besides their texts.

use std::path::Path;

use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::kafel::Included;
use callgate_formats::languages::{Files, NoFiles, ReadingOption};

use super::text::SourceText;

/// Finds the files that a source names, and knows the machine and which options were given.
pub trait Loader: Files {
    /// The version of the kernel for a source that depends on it, if none is given; `None` without a machine.
    fn kernel(&mut self) -> Option<Result<KernelVersion, Diagnostic>> {
        None
    }

    /// Warnings about options that were given, but have no effect on `what`, a source that depends on `options` only.
    fn without_effect(&mut self, what: &str, options: &[ReadingOption]) -> Vec<Diagnostic> {
        let _ = (what, options);
        Vec::new()
    }
}

impl Loader for NoFiles {}

/// A loader as the readers of languages take it.
pub(super) struct FilesOf<'l>(pub(super) &'l mut dyn Loader);

impl Files for FilesOf<'_> {
    fn include(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        self.0.include(name, from)
    }

    fn include_if_present(
        &mut self,
        name: &str,
        from: Option<&str>,
    ) -> Result<Option<Included>, String> {
        self.0.include_if_present(name, from)
    }

    fn base(&mut self, name: &str, from: Option<&str>) -> Result<Included, String> {
        self.0.base(name, from)
    }
}

/// The extensions of files with Kubernetes resources.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// Where a base profile is, by its name in the resource that needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BasePlace<'n> {
    /// An artifact in a registry, by its name there.
    Artifact(&'n str),
    /// A file, relative to the one with the resource.
    File,
    /// A file beside the one with the resource, under one of these names.
    Beside([String; 3]),
}

impl BasePlace<'_> {
    /// The place of the base profile with this name.
    pub fn of(name: &str) -> BasePlace<'_> {
        if let Some(artifact) = name.strip_prefix("oci://") {
            return BasePlace::Artifact(artifact);
        }
        let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
        match name.contains('/') || extension.is_some_and(|one| EXTENSIONS.contains(&one)) {
            true => BasePlace::File,
            false => BasePlace::Beside(EXTENSIONS.map(|extension| format!("{name}.{extension}"))),
        }
    }
}

/// The files that are given with a source.
pub(super) struct Given<'s>(pub(super) &'s SourceText);

impl Loader for Given<'_> {}

impl Files for Given<'_> {
    fn include(&mut self, name: &str, _: Option<&str>) -> Result<Included, String> {
        self.file(name).ok_or_else(|| "it is not in `files`".to_owned())
    }

    fn include_if_present(
        &mut self,
        name: &str,
        _: Option<&str>,
    ) -> Result<Option<Included>, String> {
        Ok(self.file(name))
    }

    /// A file with this name, or with an extension after it, as beside a resource.
    fn base(&mut self, name: &str, _: Option<&str>) -> Result<Included, String> {
        if let Some(file) = self.file(name) {
            return Ok(file);
        }
        let names = EXTENSIONS.map(|extension| format!("{name}.{extension}"));
        let mut found = names.iter().filter_map(|name| self.file(name));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one),
            (None, _) => Err("it is not in `files`".to_owned()),
            (Some(one), Some(other)) => Err(format!("{} and {} exist", one.name, other.name)),
        }
    }
}

impl Given<'_> {
    /// A file by its name, which may begin with the directory of the source.
    fn file(&self, name: &str) -> Option<Included> {
        let names = [name, name.trim_start_matches("./")];
        let find = |name| self.0.files.get_key_value(name);
        let (name, text) = names.into_iter().find_map(find)?;
        let (identity, text) = (name.clone(), text.clone());
        Some(Included { name: name.clone(), identity, text, is_private: false })
    }
}
