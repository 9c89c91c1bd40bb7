//! An ELF file.

use super::layout::Layout;
use super::machine::Machine;
use super::relocations::{Relocation, is_inside};
use super::symbols::Symbols;

/// An executable or a shared library.
#[derive(Clone, Debug)]
pub struct Image {
    pub(crate) name: String,
    pub(crate) machine: Machine,
    pub(crate) layout: Layout,
    /// Whether addresses in the file are those in memory, so that data has addresses without relocations.
    pub(crate) is_fixed: bool,
    pub(crate) entry: u64,
    pub(crate) needed: Vec<String>,
    pub(crate) soname: Option<String>,
    pub(crate) rpath: Vec<String>,
    pub(crate) runpath: Vec<String>,
    pub(crate) interpreter: Option<String>,
    /// Symbols for the loader.
    pub(crate) exports: Symbols,
    /// Symbols for debuggers.
    pub(crate) debug: Symbols,
    pub(crate) relocations: Vec<Relocation>,
    /// Start and size from the unwind information.
    pub(crate) unwind: Vec<(u64, u64)>,
    /// Functions that the loader calls, and arrays of them with their sizes.
    pub(crate) calls: Vec<u64>,
    pub(crate) arrays: Vec<(u64, u64)>,
    /// Ranges of code, sorted.
    pub(crate) code: Vec<(u64, u64)>,
    /// Whether it was compiled by Go.
    pub(crate) is_go: bool,
}

impl Image {
    /// The name that was given to [`Image::parse`].
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The architecture.
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// The libraries that it is linked with (DT_NEEDED).
    pub fn needed(&self) -> &[String] {
        &self.needed
    }

    /// The name under which other files need it (DT_SONAME).
    pub fn soname(&self) -> Option<&str> {
        self.soname.as_deref()
    }

    /// Directories of libraries of this file and of those that it needs (DT_RPATH).
    pub fn rpath(&self) -> &[String] {
        &self.rpath
    }

    /// Directories of the libraries that it needs (DT_RUNPATH).
    pub fn runpath(&self) -> &[String] {
        &self.runpath
    }

    /// The loader (PT_INTERP).
    pub fn interpreter(&self) -> Option<&str> {
        self.interpreter.as_deref()
    }

    /// Whether nothing executes it: it has no entry point and names no loader.
    pub fn is_library(&self) -> bool {
        self.entry == 0 && self.interpreter.is_none()
    }

    pub(crate) fn is_code(&self, address: u64) -> bool {
        is_inside(&self.code, address)
    }

    /// The relocations of a range of memory.
    pub(crate) fn relocations_in(&self, start: u64, end: u64) -> &[Relocation] {
        let first = self.relocations.partition_point(|relocation| relocation.at < start);
        let last = self.relocations.partition_point(|relocation| relocation.at < end);
        self.relocations.get(first..last).unwrap_or_default()
    }

    /// The relocation of a word.
    pub(crate) fn relocation(&self, at: u64) -> Option<&Relocation> {
        self.relocations_in(at, at.saturating_add(1)).first()
    }

    /// The name of a dynamic symbol.
    pub(crate) fn symbol_name(&self, index: u32) -> Option<&str> {
        let symbol = self.exports.all.get(index as usize)?;
        self.exports.name(&self.layout, symbol.name)
    }
}
