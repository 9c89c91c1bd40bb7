//! Reads an ELF file.

use object::LittleEndian as LE;
use object::elf::{self, FileHeader64};
use object::pod;

use super::dynamic::Dynamic;
use super::file::Image;
use super::layout::Layout;
use super::machine::Machine;
use super::relocations;
use super::symbols::Symbols;
use super::unwind;
use crate::error::{ElfError, ElfErrorKind as Kind};
use crate::limits::MAX_FILE;

impl Image {
    /// Reads an executable or a shared library. `name` is how results call it.
    ///
    /// # Errors
    /// If this is not a 64-bit ELF file for x86-64 or aarch64, if a table that the loader needs is not within the file,
    /// or if a limit is exceeded.
    pub fn parse(name: &str, data: Vec<u8>) -> Result<Image, ElfError> {
        parse(name, data).map_err(|kind| ElfError::new(name, kind))
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
    let unwind = unwind::functions(&layout);
    let interpreter = layout.interpreter.and_then(|(offset, size)| {
        super::layout::string(layout.file(offset, size)?, 0).map(str::to_owned)
    });
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
