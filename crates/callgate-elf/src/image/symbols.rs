//! Symbols, and the versions by which the loader binds them.

use object::LittleEndian as LE;
use object::elf::{self, Sym64, Verdaux, Verdef, Vernaux, Verneed};
use object::pod;
use rustc_hash::FxHashMap;

use super::dynamic::Dynamic;
use super::layout::{Layout, string, table};
use crate::error::ElfErrorKind as Kind;
use crate::limits::MAX_SYMBOLS;

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SymbolKind {
    Function,
    /// A function that returns the address of the function to be used.
    Resolver,
    Object,
    ThreadLocal,
    /// A label, in code or in data.
    Label,
}

/// A symbol of either table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol {
    /// Where its name is in the string table.
    pub(crate) name: u32,
    pub(crate) kind: SymbolKind,
    pub(crate) is_local: bool,
    /// Whether it may be missing.
    pub(crate) is_weak: bool,
    pub(crate) is_defined: bool,
    /// Whether another file must define it.
    pub(crate) is_imported: bool,
    pub(crate) address: u64,
    pub(crate) size: u64,
    /// Where the name of its version is in the string table.
    pub(crate) version: Option<u32>,
    /// Whether only a request for its version finds it.
    pub(crate) is_hidden: bool,
}

/// A table of symbols with its strings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    pub(crate) all: Vec<Symbol>,
    strings: (u64, u64),
}

impl Symbols {
    /// The symbols for the loader.
    pub(super) fn dynamic(layout: &Layout, dynamic: &Dynamic) -> Result<Symbols, Kind> {
        let (Some(address), Some((strings, size))) = (dynamic.symbols, dynamic.strings) else {
            return Ok(Symbols::default());
        };
        let Some((offset, rest)) = layout.offset(address) else {
            return Ok(Symbols::default());
        };
        let most = rest / size_of::<Sym64<LE>>() as u64;
        let count = count(layout, dynamic).unwrap_or(0).min(most);
        let entries: &[Sym64<LE>] =
            table(layout.data(), "dynamic symbols", offset, count, MAX_SYMBOLS)?;
        let strings = layout.offset(strings).map_or((0, 0), |(at, rest)| (at, size.min(rest)));
        let mut symbols = Symbols { all: Vec::with_capacity(entries.len()), strings };
        let versions = versions(layout, dynamic);
        let indices = dynamic.versions.and_then(|address| layout.from(address));
        for (number, entry) in entries.iter().enumerate() {
            let mut symbol = symbol(entry);
            let at = number.saturating_mul(2);
            let index = indices.and_then(|bytes| bytes.get(at..at + 2)?.try_into().ok());
            if let Some(index) = index.map(u16::from_le_bytes) {
                symbol.version = versions.get(&(index & 0x7fff)).copied();
                symbol.is_hidden = index & 0x8000 != 0;
            }
            symbols.all.push(symbol);
        }
        Ok(symbols)
    }

    /// The symbols for debuggers; none if the file is stripped.
    pub(super) fn debug(layout: &Layout) -> Result<Symbols, Kind> {
        let section = layout.sections.iter().find(|section| section.kind == elf::SHT_SYMTAB);
        let Some(section) = section else { return Ok(Symbols::default()) };
        let Some(strings) = layout.sections.get(section.link as usize) else {
            return Ok(Symbols::default());
        };
        let count = section.size / size_of::<Sym64<LE>>() as u64;
        let entries: &[Sym64<LE>] =
            table(layout.data(), "symbols", section.offset, count, MAX_SYMBOLS)?;
        let all = entries.iter().map(symbol).collect();
        Ok(Symbols { all, strings: (strings.offset, strings.size) })
    }

    /// The name of a symbol, or of a version.
    pub(crate) fn name<'a>(&self, layout: &'a Layout, name: u32) -> Option<&'a str> {
        string(layout.file(self.strings.0, self.strings.1)?, name.into())
    }
}

fn symbol(entry: &Sym64<LE>) -> Symbol {
    let info = entry.st_info.0;
    let kind = match info & 15 {
        2 => SymbolKind::Function,
        10 => SymbolKind::Resolver,
        1 => SymbolKind::Object,
        6 => SymbolKind::ThreadLocal,
        _ => SymbolKind::Label,
    };
    // Absolute symbols (65521) are not addresses; the names of versions are among them. Sections and files (3 and 4)
    // are not labels.
    let section = entry.st_shndx.get(LE).0;
    let is_defined = section != 0 && section != 0xfff1 && !matches!(info & 15, 3 | 4);
    Symbol {
        name: entry.st_name.get(LE),
        kind,
        is_local: info >> 4 == 0,
        is_weak: info >> 4 == 2,
        is_defined,
        is_imported: section == 0,
        address: entry.st_value.get(LE),
        size: entry.st_size.get(LE),
        version: None,
        is_hidden: false,
    }
}

/// How many dynamic symbols there are. The dynamic section does not say it; the hash tables do.
fn count(layout: &Layout, dynamic: &Dynamic) -> Option<u64> {
    let section = layout.sections.iter().find(|section| section.kind == elf::SHT_DYNSYM);
    if let Some(section) = section.filter(|section| Some(section.address) == dynamic.symbols) {
        return Some(section.size / size_of::<Sym64<LE>>() as u64);
    }
    let word = |bytes: &[u8], at: u64| -> Option<u32> {
        let at = usize::try_from(at).ok()?;
        Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
    };
    if let Some(bytes) = dynamic.hash.and_then(|address| layout.from(address)) {
        return word(bytes, 4).map(u64::from);
    }
    let bytes = layout.from(dynamic.gnu_hash?)?;
    let (buckets, first, blooms) = (word(bytes, 0)?, word(bytes, 4)?, word(bytes, 8)?);
    let start = 16 + u64::from(blooms) * 8;
    let chains = start + u64::from(buckets) * 4;
    let most = (bytes.len() as u64) / 4;
    let heads = (0..u64::from(buckets).min(most)).filter_map(|at| word(bytes, start + at * 4));
    let mut last = u64::from(heads.max()?);
    if last < u64::from(first) {
        return Some(first.into());
    }
    // The last entry of a chain has bit 0 set.
    while word(bytes, chains + (last - u64::from(first)) * 4)? & 1 == 0 {
        last += 1;
    }
    Some(last + 1)
}

/// The names of the versions, by their index.
fn versions(layout: &Layout, dynamic: &Dynamic) -> FxHashMap<u16, u32> {
    let bytes = |address: Option<u64>| address.and_then(|address| layout.from(address));
    let defined = bytes(dynamic.defined_versions).unwrap_or_default();
    let own = entries(defined, 0, |entry: &Verdef<LE>| entry.vd_next.get(LE));
    let own = own.filter_map(|(at, entry)| {
        let name: &Verdaux<LE> = part(defined, at, entry.vd_aux.get(LE))?;
        Some((entry.vd_ndx.get(LE).0 & 0x7fff, name.vda_name.get(LE)))
    });
    let needed = bytes(dynamic.needed_versions).unwrap_or_default();
    let files = entries(needed, 0, |entry: &Verneed<LE>| entry.vn_next.get(LE));
    let names = files.flat_map(|(at, file)| {
        let first = at.saturating_add(file.vn_aux.get(LE) as usize);
        entries(needed, first, |name: &Vernaux<LE>| name.vna_next.get(LE))
    });
    let names = names.map(|(_, name)| (name.vna_other.get(LE).0 & 0x7fff, name.vna_name.get(LE)));
    own.chain(names.take(2 * MAX_ENTRIES)).collect()
}

/// The entries of a list that are followed. The lists are short; one that runs in a circle ends here as well.
const MAX_ENTRIES: usize = u16::MAX as usize;

/// The entries of a list and their offsets. `next` is how far it is to the next one, or 0.
fn entries<T: pod::Pod>(
    bytes: &[u8],
    first: usize,
    next: impl Fn(&T) -> u32,
) -> impl Iterator<Item = (usize, &T)> {
    let mut at = Some(first);
    let following = move || {
        let here = at.take()?;
        let entry = part(bytes, here, 0)?;
        at = Some(next(entry))
            .filter(|next| *next != 0)
            .map(|next| here.saturating_add(next as usize));
        Some((here, entry))
    };
    std::iter::from_fn(following).take(MAX_ENTRIES)
}

fn part<T: pod::Pod>(bytes: &[u8], at: usize, offset: u32) -> Option<&T> {
    let bytes = bytes.get(at.checked_add(offset as usize)?..)?;
    pod::from_bytes(bytes).ok().map(|(part, _)| part)
}
