//! Relocations: words of memory that the loader sets to addresses.

use object::LittleEndian as LE;
use object::elf::{self, Rela64};

use super::dynamic::Dynamic;
use super::layout::{Layout, Machine, table};
use crate::error::ElfErrorKind as Kind;
use crate::limits::MAX_RELOCATIONS;

/// What a word is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An address of the same file.
    Local(u64),
    /// A dynamic symbol, by its index, and an addend.
    Symbol(u32, i64),
    /// What the function at this address returns.
    Resolved(u64),
    /// A copy of the object that a symbol stands for.
    Copy(u32),
}

/// A word that is set to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Relocation {
    pub(crate) at: u64,
    pub(crate) target: Target,
}

/// The relocations, sorted by address.
pub(super) fn read(
    layout: &Layout,
    dynamic: Option<&Dynamic>,
    machine: Machine,
) -> Result<Vec<Relocation>, Kind> {
    let mut tables: Vec<(u64, u64)> = Vec::new();
    if let Some(dynamic) = dynamic {
        for (address, size) in &dynamic.rela {
            tables.extend(layout.offset(*address).map(|(at, rest)| (at, (*size).min(rest))));
        }
    } else {
        // A static program applies its own relocations.
        let sections = layout.sections.iter();
        let sections = sections.filter(|section| section.kind == elf::SHT_RELA && section.loaded);
        tables.extend(sections.map(|section| (section.offset, section.size)));
    }
    let mut all = Vec::new();
    for (offset, size) in tables {
        let count = size / size_of::<Rela64<LE>>() as u64;
        let limit = MAX_RELOCATIONS.saturating_sub(all.len() as u64);
        let entries: &[Rela64<LE>] = table(layout.data(), "relocations", offset, count, limit)?;
        let known = entries.iter().filter_map(|entry| {
            Some(Relocation { at: entry.r_offset.get(LE), target: target(entry, machine)? })
        });
        all.extend(known);
    }
    if let Some((address, size)) = dynamic.and_then(|dynamic| dynamic.relr) {
        compact(layout, address, size, &mut all)?;
    }
    all.sort_unstable_by_key(|relocation| relocation.at);
    all.dedup();
    Ok(all)
}

fn target(entry: &Rela64<LE>, machine: Machine) -> Option<Target> {
    let (info, addend) = (entry.r_info.get(LE), entry.r_addend.get(LE));
    let symbol = (info >> 32) as u32;
    let (absolute, copy, slots, relative, resolved): (u32, u32, [u32; 2], u32, u32) = match machine
    {
        // R_X86_64_64, COPY, GLOB_DAT, JUMP_SLOT, RELATIVE, IRELATIVE.
        Machine::X86_64 => (1, 5, [6, 7], 8, 37),
        // R_AARCH64_ABS64, COPY, GLOB_DAT, JUMP_SLOT, RELATIVE, IRELATIVE.
        Machine::Aarch64 => (257, 1024, [1025, 1026], 1027, 1032),
    };
    match info as u32 {
        kind if kind == relative => Some(Target::Local(addend as u64)),
        kind if kind == resolved => Some(Target::Resolved(addend as u64)),
        kind if kind == copy => Some(Target::Copy(symbol)),
        kind if kind == absolute || slots.contains(&kind) => Some(Target::Symbol(symbol, addend)),
        _ => None,
    }
}

/// Relative relocations as addresses and bitmaps (DT_RELR); their addends are in the words themselves.
fn compact(
    layout: &Layout,
    address: u64,
    size: u64,
    all: &mut Vec<Relocation>,
) -> Result<(), Kind> {
    let bytes = layout.from(address).unwrap_or_default();
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len());
    let mut next = 0_u64;
    for word in bytes.get(..size).unwrap_or_default().chunks_exact(8) {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        let mut add = |at: u64| {
            let value = layout.u64(at);
            all.extend(value.map(|value| Relocation { at, target: Target::Local(value) }));
        };
        if word & 1 == 0 {
            add(word);
            next = word.saturating_add(8);
        } else {
            for bit in 0..63 {
                if word >> (bit + 1) & 1 != 0 {
                    add(next.saturating_add(bit * 8));
                }
            }
            next = next.saturating_add(63 * 8);
        }
        check_count("relocations", all)?;
    }
    Ok(())
}

fn check_count(what: &'static str, all: &[Relocation]) -> Result<(), Kind> {
    let (given, limit) = (all.len() as u64, MAX_RELOCATIONS);
    if given > limit { Err(Kind::TooMany { what, given, limit }) } else { Ok(()) }
}

/// Words of a program that is loaded at fixed addresses, and which therefore needs no relocations, that hold addresses
/// of the program itself. Numbers that look like addresses are among them.
pub(super) fn guessed(layout: &Layout) -> Result<Vec<Relocation>, Kind> {
    let mut all = Vec::new();
    for segment in layout.segments.iter() {
        let start = segment.address.next_multiple_of(8);
        let bytes = layout.from(start).unwrap_or_default();
        if segment.executable && layout.sections.is_empty() {
            continue;
        }
        for (index, word) in bytes.chunks_exact(8).enumerate() {
            let value = u64::from_le_bytes(word.try_into().unwrap_or_default());
            let at = start.saturating_add(index as u64 * 8);
            if layout.is_mapped(value) {
                all.push(Relocation { at, target: Target::Local(value) });
            }
        }
        check_count("addresses in data", &all)?;
    }
    let code = layout.code();
    all.retain(|relocation| !is_inside(&code, relocation.at));
    Ok(all)
}

/// Whether an address is in one of these ranges, which are sorted.
pub(crate) fn is_inside(ranges: &[(u64, u64)], address: u64) -> bool {
    let after = ranges.partition_point(|(start, _)| *start <= address);
    after.checked_sub(1).and_then(|at| ranges.get(at)).is_some_and(|(_, end)| address < *end)
}
