//! Where the bytes of a file are in memory.

use object::LittleEndian as LE;
use object::elf;
use object::pod::{self, Pod};

use crate::error::ElfErrorKind as Kind;
use crate::limits::{MAX_SECTIONS, MAX_SEGMENTS};

/// The architecture of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86-64.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Machine {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Machine::X86_64 => "x86-64",
            Machine::Aarch64 => "aarch64",
        }
    }
}

/// A part of the file that is mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) address: u64,
    pub(crate) memory: u64,
    offset: u64,
    size: u64,
    pub(crate) executable: bool,
    pub(crate) writable: bool,
}

/// A section in memory.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) size: u64,
    pub(crate) offset: u64,
    pub(crate) kind: elf::SectionType,
    pub(crate) link: u32,
    pub(crate) executable: bool,
    pub(crate) loaded: bool,
}

impl Section {
    pub(crate) fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

/// The bytes of a file and where they are in memory.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    data: Vec<u8>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section>,
    pub(crate) dynamic: Option<(u64, u64)>,
    pub(crate) interpreter: Option<(u64, u64)>,
    pub(crate) unwind_index: Option<u64>,
    /// Where the program headers are in the file.
    pub(crate) headers: std::ops::Range<u64>,
}

/// A table of fixed-size entries of a file.
pub(crate) fn table<'a, T: Pod>(
    data: &'a [u8],
    what: &'static str,
    offset: u64,
    count: u64,
    limit: u64,
) -> Result<&'a [T], Kind> {
    if count > limit {
        return Err(Kind::TooMany { what, given: count, limit });
    }
    let size = count.saturating_mul(size_of::<T>() as u64);
    let outside = || Kind::Outside { what, offset, size, file: data.len() as u64 };
    let bytes = slice(data, offset, size).ok_or_else(outside)?;
    let count = usize::try_from(count).map_err(|_| outside())?;
    pod::slice_from_bytes(bytes, count).map(|(slice, _)| slice).map_err(|()| outside())
}

fn slice(data: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    data.get(start..end)
}

impl Layout {
    pub(crate) fn read(data: Vec<u8>, header: &elf::FileHeader64<LE>) -> Result<Layout, Kind> {
        let mut segments = Vec::new();
        let (mut dynamic, mut interpreter, mut unwind_index) = (None, None, None);
        let count = header.e_phnum.get(LE).into();
        let headers: &[elf::ProgramHeader64<LE>] =
            table(&data, "program headers", header.e_phoff.get(LE), count, MAX_SEGMENTS)?;
        let start = header.e_phoff.get(LE);
        let size = size_of_val(headers) as u64;
        let header_range = start..start.saturating_add(size);
        for entry in headers {
            let (offset, size) = (entry.p_offset.get(LE), entry.p_filesz.get(LE));
            let kind = entry.p_type.get(LE);
            if kind == elf::PT_LOAD {
                let outside =
                    Kind::Outside { what: "segment", offset, size, file: data.len() as u64 };
                // Only zeros are mapped if the size is 0, and the offset means nothing.
                if size > 0 {
                    slice(&data, offset, size).ok_or(outside)?;
                }
                let flags = entry.p_flags.get(LE).0;
                segments.push(Segment {
                    address: entry.p_vaddr.get(LE),
                    memory: entry.p_memsz.get(LE).max(size),
                    offset,
                    size,
                    executable: flags & elf::PF_X.0 != 0,
                    writable: flags & elf::PF_W.0 != 0,
                });
            } else if kind == elf::PT_DYNAMIC {
                dynamic = Some((offset, size));
            } else if kind == elf::PT_INTERP {
                interpreter = Some((offset, size));
            } else if kind == elf::PT_GNU_EH_FRAME {
                unwind_index = Some(entry.p_vaddr.get(LE));
            }
        }
        segments.sort_by_key(|segment| segment.address);
        // Each byte of a file is mapped once or twice; a file that repeats itself would be analysed many times.
        let mapped = segments.iter().fold(0_u64, |sum, segment| sum.saturating_add(segment.size));
        let limit = (data.len() as u64).saturating_mul(2).saturating_add(1 << 16);
        if mapped > limit {
            return Err(Kind::TooMany { what: "bytes in segments", given: mapped, limit });
        }
        let mut layout = Layout {
            data,
            segments,
            sections: Vec::new(),
            dynamic,
            interpreter,
            unwind_index,
            headers: header_range,
        };
        layout.sections = layout.read_sections(header).unwrap_or_default();
        Ok(layout)
    }

    /// The sections; none if the table is damaged, because programs run without it.
    fn read_sections(&self, header: &elf::FileHeader64<LE>) -> Option<Vec<Section>> {
        let offset = header.e_shoff.get(LE);
        if offset == 0 {
            return None;
        }
        let first: &[elf::SectionHeader64<LE>] =
            table(&self.data, "section headers", offset, 1, 1).ok()?;
        let first = first.first()?;
        // If there are too many for the header, the first section has the numbers.
        let count = match header.e_shnum.get(LE) {
            0 => first.sh_size.get(LE),
            count => count.into(),
        };
        let names = match header.e_shstrndx.get(LE).0 {
            0xffff => first.sh_link.get(LE),
            index => index.into(),
        };
        let headers: &[elf::SectionHeader64<LE>] =
            table(&self.data, "section headers", offset, count, MAX_SECTIONS).ok()?;
        let names = headers.get(names as usize)?;
        let names = slice(&self.data, names.sh_offset.get(LE), names.sh_size.get(LE))?;
        let read = |entry: &elf::SectionHeader64<LE>| Section {
            name: string(names, entry.sh_name.get(LE).into()).unwrap_or_default().to_owned(),
            address: entry.sh_addr.get(LE),
            size: entry.sh_size.get(LE),
            offset: entry.sh_offset.get(LE),
            kind: entry.sh_type.get(LE),
            link: entry.sh_link.get(LE),
            executable: entry.sh_flags.get(LE).0 & elf::SHF_EXECINSTR.0 != 0,
            loaded: entry.sh_flags.get(LE).0 & elf::SHF_ALLOC.0 != 0,
        };
        Some(headers.iter().map(read).collect())
    }

    pub(crate) fn data(&self) -> &[u8] {
        &self.data
    }

    /// A part of the file.
    pub(crate) fn file(&self, offset: u64, size: u64) -> Option<&[u8]> {
        slice(&self.data, offset, size)
    }

    /// The segment with an address.
    pub(crate) fn segment(&self, address: u64) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.address <= address);
        let before = self.segments.get(..after)?.iter().rev();
        before.take(4).find(|segment| address - segment.address < segment.memory)
    }

    pub(crate) fn is_mapped(&self, address: u64) -> bool {
        self.segment(address).is_some()
    }

    /// The offset in the file of an address, and how many bytes of the segment follow.
    pub(crate) fn offset(&self, address: u64) -> Option<(u64, u64)> {
        let segment = self.segment(address)?;
        let inside = address - segment.address;
        let rest = segment.size.checked_sub(inside)?;
        Some((segment.offset.checked_add(inside)?, rest))
    }

    /// The bytes from an address to the end of its segment.
    pub(crate) fn from(&self, address: u64) -> Option<&[u8]> {
        let (offset, rest) = self.offset(address)?;
        self.file(offset, rest)
    }

    /// The bytes of a range of memory.
    pub(crate) fn bytes(&self, address: u64, size: u64) -> Option<&[u8]> {
        self.from(address)?.get(..usize::try_from(size).ok()?)
    }

    pub(crate) fn u64(&self, address: u64) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(address, 8)?.try_into().ok()?))
    }

    pub(crate) fn i32(&self, address: u64) -> Option<i32> {
        Some(i32::from_le_bytes(self.bytes(address, 4)?.try_into().ok()?))
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// The ranges of code: executable sections, or executable segments if there are no sections. Sorted, disjoint.
    pub(crate) fn code(&self) -> Vec<(u64, u64)> {
        let sections = self.sections.iter().filter(|section| section.executable && section.loaded);
        let mut ranges: Vec<(u64, u64)> =
            sections.map(|section| (section.address, section.end())).collect();
        let executable = self.segments.iter().filter(|segment| segment.executable);
        if ranges.is_empty() {
            ranges = executable
                .map(|segment| (segment.address, segment.address.saturating_add(segment.size)))
                .collect();
        }
        ranges.sort_unstable();
        let mut disjoint: Vec<(u64, u64)> = Vec::new();
        for (start, end) in ranges {
            // Only bytes of an executable segment are code.
            let Some(segment) = self.segment(start).filter(|segment| segment.executable) else {
                continue;
            };
            let start = start.max(disjoint.last().map_or(0, |(_, end)| *end));
            let end = end.min(segment.address.saturating_add(segment.size));
            if start < end {
                disjoint.push((start, end));
            }
        }
        disjoint
    }
}

/// A string that ends with a zero byte.
pub(crate) fn string(table: &[u8], offset: u64) -> Option<&str> {
    let bytes = table.get(usize::try_from(offset).ok()?..)?;
    let bytes = bytes.get(..bytes.len().min(crate::limits::MAX_NAME))?;
    let end = bytes.iter().position(|byte| *byte == 0)?;
    std::str::from_utf8(bytes.get(..end)?).ok()
}
