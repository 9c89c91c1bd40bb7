//! What the library needs to read a source: the files that it names, and which options have an effect on it.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::kafel::Included;
use callgate_formats::languages::{Files, ReadingOption};
use callgate_requests::source::{AnyFilter, Loader, SourceStack, SourceText, read_any, read_with};

use super::base::base;
use super::included::{Including, include, include_if_present};
use super::place::Place;
use super::tree::Tree;
use crate::options::SourceOptions;
use crate::report::{self, Result};

/// The files that a source names, relative to the file that names them; for standard input, relative to the current directory.
pub(super) struct FilesOnDisk<'a> {
    place: &'a Place,
    options: &'a SourceOptions,
    /// The tree of the source, once it was needed.
    tree: Option<Tree>,
}

impl<'a> FilesOnDisk<'a> {
    /// For a source at this place; a source without a place names no files.
    pub(super) fn of(place: Option<&'a Place>, options: &'a SourceOptions) -> FilesOnDisk<'a> {
        FilesOnDisk { place: place.unwrap_or(&Place::Stdin), options, tree: None }
    }

    /// Reads filters. Prints warnings.
    pub(super) fn read(&mut self, source: &SourceText) -> Result<SourceStack> {
        Ok(report::warning(|warnings| read_with(source, self, warnings))?)
    }

    /// Reads filters or a socket filter. Prints warnings.
    pub(super) fn read_any(&mut self, source: &SourceText, packets: bool) -> Result<AnyFilter> {
        Ok(report::warning(|warnings| read_any(source, packets, self, warnings))?)
    }

    /// What decides where the files are that this file includes, or the source.
    fn including<'s>(&'s mut self, from: Option<&'s str>) -> Including<'s> {
        let (place, options) = (self.place, self.options);
        Including { place, tree: self.tree(), options, from }
    }

    fn tree(&mut self) -> &Tree {
        let place = self.place;
        self.tree.get_or_insert_with(|| Tree::of(place))
    }
}

impl Loader for FilesOnDisk<'_> {
    fn kernel(&mut self) -> Option<std::result::Result<KernelVersion, Diagnostic>> {
        Some(self.options.kernel())
    }

    fn without_effect(&mut self, what: &str, options: &[ReadingOption]) -> Vec<Diagnostic> {
        self.options.without_effect(what, options)
    }
}

impl Files for FilesOnDisk<'_> {
    fn include(&mut self, name: &str, from: Option<&str>) -> std::result::Result<Included, String> {
        include(&self.including(from), name)
    }

    fn include_if_present(
        &mut self,
        name: &str,
        from: Option<&str>,
    ) -> std::result::Result<Option<Included>, String> {
        include_if_present(&self.including(from), name)
    }

    fn base(&mut self, name: &str, from: Option<&str>) -> std::result::Result<Included, String> {
        let (place, options) = (self.place, self.options);
        base((place, self.tree()), options, name, from)
    }
}
