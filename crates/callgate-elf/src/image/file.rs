//! An ELF file, with the bounds of functions from `.eh_frame`.

use gimli::{BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, LittleEndian, UnwindSection};
use object::LittleEndian as LE;
use object::elf::{self, FileHeader64};
use object::pod;
use rustc_hash::FxHashMap;

use super::dynamic::Dynamic;
use super::layout::{Layout, Machine, string};
use super::relocations::{self, Relocation, is_inside};
use super::symbols::Symbols;
use crate::error::{ElfError, ElfErrorKind as Kind};
use crate::limits::{MAX_FILE, MAX_FUNCTIONS};

/// An executable or a shared library.
#[derive(Clone, Debug)]
pub struct Image {
    /// The name that was given to [`Image::parse`].
    pub name: String,
    /// The architecture.
    pub machine: Machine,
    pub(crate) layout: Layout,
    /// Whether addresses in the file are those in memory, so that data has addresses without relocations.
    pub(crate) is_fixed: bool,
    pub(crate) entry: u64,
    /// The libraries that it is linked with (DT_NEEDED).
    pub needed: Vec<String>,
    /// The name under which other files need it (DT_SONAME).
    pub soname: Option<String>,
    /// Directories of libraries of this file and of those that it needs (DT_RPATH).
    pub rpath: Vec<String>,
    /// Directories of the libraries that it needs (DT_RUNPATH).
    pub runpath: Vec<String>,
    /// The loader (PT_INTERP).
    pub interpreter: Option<String>,
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
    /// Reads an executable or a shared library. `name` is how results call it.
    ///
    /// # Errors
    /// If this is not a 64-bit ELF file for x86-64 or aarch64, if a table that the loader needs is not within the file,
    /// or if a limit is exceeded.
    pub fn parse(name: &str, data: Vec<u8>) -> Result<Image, ElfError> {
        parse(name, data).map_err(|kind| ElfError::new(name, kind))
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

fn parse(name: &str, data: Vec<u8>) -> Result<Image, Kind> {
    let size = data.len() as u64;
    if size > MAX_FILE {
        return Err(Kind::TooMany { what: "bytes", given: size, limit: MAX_FILE });
    }
    if let Some(line) = data.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line.get(..line.len().min(256)).unwrap_or_default());
        return Err(Kind::Script(line.trim().chars().filter(|c| !c.is_control()).collect()));
    }
    if !data.starts_with(b"\x7fELF") {
        return Err(Kind::NotElf);
    }
    let unsupported = |what, given: u64, wanted| Err(Kind::NotSupported { what, given, wanted });
    match (data.get(4), data.get(5)) {
        (Some(2), Some(1)) => {}
        (Some(2), Some(order)) => {
            return unsupported("byte order", (*order).into(), "1, little-endian");
        }
        (Some(class), _) => return unsupported("class", (*class).into(), "2, 64-bit"),
        (None, _) => return Err(Kind::NotElf),
    }
    let header: FileHeader64<LE> = match pod::from_bytes(&data) {
        Ok((header, _)) => *header,
        Err(()) => {
            return Err(Kind::Outside {
                what: "file header",
                offset: 0,
                size: size_of::<FileHeader64<LE>>() as u64,
                file: size,
            });
        }
    };
    let machine = match header.e_machine.get(LE).0 {
        62 => Machine::X86_64,
        183 => Machine::Aarch64,
        other => {
            return unsupported("machine", other.into(), "62, x86-64, or 183, aarch64");
        }
    };
    let is_fixed = match header.e_type.get(LE) {
        elf::ET_EXEC => true,
        elf::ET_DYN => false,
        other => {
            return unsupported("type", other.0.into(), "2, executable, or 3, shared object");
        }
    };
    let layout = Layout::read(data, &header)?;
    let code = layout.code();
    if code.is_empty() {
        return Err(Kind::NoCode);
    }
    let dynamic = Dynamic::read(&layout)?;
    let mut relocations = relocations::read(&layout, dynamic.as_ref(), machine)?;
    if is_fixed {
        relocations.extend(relocations::guessed(&layout)?);
        // The loader's own come first: a word has one relocation.
        relocations.sort_by_key(|relocation| relocation.at);
        relocations.dedup_by_key(|relocation| relocation.at);
    }
    let exports = match &dynamic {
        Some(dynamic) => Symbols::dynamic(&layout, dynamic)?,
        None => Symbols::default(),
    };
    let debug = Symbols::debug(&layout)?;
    let unwind = unwind_functions(&layout);
    let interpreter = layout
        .interpreter
        .and_then(|(offset, size)| string(layout.file(offset, size)?, 0).map(str::to_owned));
    let dynamic = dynamic.unwrap_or_default();
    let (mut calls, mut arrays) = (dynamic.calls, dynamic.arrays);
    if layout.dynamic.is_none() {
        // The start code of a static program calls these.
        for section in &layout.sections {
            match section.name.as_str() {
                ".preinit_array" | ".init_array" | ".fini_array" => {
                    arrays.push((section.address, section.size));
                }
                ".init" | ".fini" => calls.push(section.address),
                _ => {}
            }
        }
    }
    let is_go = [".gopclntab", ".go.buildinfo", ".data.rel.ro.gopclntab"]
        .iter()
        .any(|name| layout.named(name).is_some());
    Ok(Image {
        name: name.to_owned(),
        machine,
        is_fixed,
        entry: header.e_entry.get(LE),
        needed: dynamic.needed,
        soname: dynamic.soname,
        rpath: dynamic.rpath,
        runpath: dynamic.runpath,
        interpreter,
        exports,
        debug,
        relocations,
        unwind,
        calls,
        arrays,
        code,
        is_go,
        layout,
    })
}

/// Start and size of each function that has readable unwind information. Stripped files have it as well.
fn unwind_functions(layout: &Layout) -> Vec<(u64, u64)> {
    let Some(address) = unwind_start(layout) else { return Vec::new() };
    let Some(bytes) = layout.from(address) else { return Vec::new() };
    let bases = BaseAddresses::default().set_eh_frame(address);
    let frame = EhFrame::new(bytes, LittleEndian);
    let mut entries = frame.entries(&bases);
    let mut shared = FxHashMap::default();
    let mut found = Vec::new();
    // What follows the section is read as well if there are no section headers; it ends with an error then.
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(entry) = entry else { continue };
        let parsed = entry.parse(|section, bases, offset| match shared.get(&offset) {
            Some(known) => Ok(Clone::clone(known)),
            None => {
                let cie = section.cie_from_offset(bases, offset)?;
                shared.insert(offset, Clone::clone(&cie));
                Ok(cie)
            }
        });
        let Ok(parsed) = parsed else { continue };
        // The range of a signal trampoline starts a byte early, so that unwinders find the return address.
        let early = u64::from(parsed.is_signal_trampoline());
        if let Some(size @ 1..) = parsed.len().checked_sub(early) {
            found.push((parsed.initial_address().wrapping_add(early), size));
        }
        if found.len() as u64 >= MAX_FUNCTIONS {
            break;
        }
    }
    found
}

/// The address of `.eh_frame`: from its section, or from the index of the loader.
fn unwind_start(layout: &Layout) -> Option<u64> {
    if let Some(section) = layout.named(".eh_frame") {
        return Some(section.address);
    }
    let address = layout.unwind_index?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(address);
    let index = EhFrameHdr::new(layout.from(address)?, LittleEndian).parse(&bases, 8).ok()?;
    match index.eh_frame_ptr() {
        gimli::Pointer::Direct(address) => Some(address),
        gimli::Pointer::Indirect(_) => None,
    }
}
