//! Sources in languages whose sources consist of several files.

use std::ffi::OsStr;
use std::path::Path;

use callgate_formats::languages::{LanguageId, SourceFiles};

use super::android::AndroidSource;
use super::content::Loaded;
use super::place::Place;
use super::unit::UnitSource;
use crate::report::Result;

/// A source of several files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SeveralFiles {
    /// A file with its drop-ins.
    DropIns(UnitSource),
    /// Files of a directory.
    Directory(AndroidSource),
}

impl SeveralFiles {
    /// Parses what follows the name of a language; `None` if its sources are one file, or the rest is empty.
    pub(super) fn parse(language: LanguageId, rest: &OsStr) -> Result<Option<SeveralFiles>> {
        Ok(match language.files() {
            SourceFiles::One => None,
            SourceFiles::DropIns { .. } => Some(SeveralFiles::DropIns(UnitSource::parse(rest)?)),
            SourceFiles::Directory { .. } => {
                AndroidSource::parse(rest).map(SeveralFiles::Directory)
            }
        })
    }

    /// A path that is such a source by its name.
    pub(super) fn detect(path: &Path) -> Option<SeveralFiles> {
        UnitSource::detect(path).map(SeveralFiles::DropIns)
    }

    /// Where it is; `None` for a text on the command line.
    pub(super) fn place(&self) -> Option<&Place> {
        match self {
            SeveralFiles::DropIns(unit) => unit.place(),
            SeveralFiles::Directory(lists) => Some(&lists.place),
        }
    }

    /// Reads the files.
    pub(super) fn load(&self) -> Result<Loaded> {
        match self {
            SeveralFiles::DropIns(unit) => unit.load(),
            SeveralFiles::Directory(lists) => lists.load(),
        }
    }
}
