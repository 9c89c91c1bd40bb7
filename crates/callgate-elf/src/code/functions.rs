//! Where functions are: from the unwind information, from symbols, and between them from what is called.

use super::x86_64;
use crate::error::ElfErrorKind as Kind;
use crate::image::{Image, Machine, SymbolKind, Target};
use crate::limits::MAX_FUNCTIONS;

/// A range of code that is entered at its start. Whoever jumps into it reaches all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Whether the bounds are those of a compiler. Otherwise the code was found between other functions, and what it
    /// calls within itself are functions as well.
    pub(crate) is_exact: bool,
}

/// The functions that the file itself names, and the code between them. Sorted, disjoint.
pub(super) fn find(image: &Image) -> Result<Vec<Function>, Kind> {
    let mut exact: Vec<(u64, u64)> = image.unwind.clone();
    let mut starts: Vec<u64> = image.calls.iter().copied().chain([image.entry]).collect();
    for symbol in image.exports.all.iter().chain(&image.debug.all) {
        let is_code = matches!(symbol.kind, SymbolKind::Function | SymbolKind::Resolver);
        if !symbol.is_defined || !image.is_code(symbol.address) {
            continue;
        }
        if is_code && symbol.size > 0 {
            exact.push((symbol.address, symbol.size));
        } else if is_code || symbol.kind == SymbolKind::Label {
            starts.push(symbol.address);
        }
    }
    starts.extend(image.relocations.iter().filter_map(|relocation| match relocation.target {
        Target::Local(address) | Target::Resolved(address) => Some(address),
        Target::Symbol(..) | Target::Copy(_) => None,
    }));
    starts.retain(|start| image.is_code(*start));
    starts.sort_unstable();
    starts.dedup();

    // The larger one of several ranges with the same start.
    exact.sort_unstable_by_key(|(start, size)| (*start, std::cmp::Reverse(*size)));
    exact.dedup_by_key(|(start, _)| *start);
    let plts = linkage_tables(image);
    exact.retain(|(start, _)| image.is_code(*start) && !is_in(&plts, *start));
    let count = (exact.len() + starts.len()) as u64;
    if count > MAX_FUNCTIONS {
        return Err(Kind::TooMany { what: "functions", given: count, limit: MAX_FUNCTIONS });
    }

    let mut functions = Vec::with_capacity(exact.len());
    let mut next = exact.iter().peekable();
    for (first, last) in &image.code {
        if is_in(&plts, *first) {
            continue;
        }
        let mut at = *first;
        while let Some((start, size)) = next.peek() {
            if *start >= *last {
                break;
            }
            next.next();
            if *start < at {
                continue;
            }
            between(image, &mut functions, &starts, at, *start);
            let following = next.peek().map_or(*last, |(start, _)| *start);
            let end = start.saturating_add(*size).min(following).min(*last);
            functions.push(Function { start: *start, end, is_exact: true });
            at = end;
        }
        between(image, &mut functions, &starts, at, *last);
    }
    Ok(functions)
}

/// Adds the code between two functions, split where something points to it. Padding is not code.
fn between(image: &Image, functions: &mut Vec<Function>, starts: &[u64], from: u64, to: u64) {
    let first = starts.partition_point(|start| *start < from);
    let last = starts.partition_point(|start| *start < to);
    let inner = starts.get(first..last).unwrap_or_default();
    let mut at = from;
    for start in inner.iter().copied().chain([to]) {
        let first = after_padding(image, at, start);
        if first < start {
            functions.push(Function { start: first, end: start, is_exact: false });
        }
        at = start;
    }
}

/// The first address that is not padding: no-operations, traps or zeros.
fn after_padding(image: &Image, from: u64, to: u64) -> u64 {
    let bytes = image.layout.bytes(from, to.saturating_sub(from)).unwrap_or_default();
    let padding = match image.machine {
        Machine::X86_64 => x86_64::padding(bytes),
        Machine::Aarch64 => {
            let words = bytes.chunks_exact(4);
            4 * words
                .take_while(|word| matches!(word, [0x1f, 0x20, 3, 0xd5] | [0, 0, 0, 0]))
                .count()
        }
    };
    from.saturating_add(padding as u64)
}

/// The ranges of procedure linkage tables: stubs that jump through a word. They are not functions, because only the stubs
/// that are called are reached.
pub(super) fn linkage_tables(image: &Image) -> Vec<(u64, u64)> {
    let sections = image.layout.sections.iter();
    let tables = sections.filter(|section| {
        section.executable
            && (section.name.starts_with(".plt") || section.name.starts_with(".iplt"))
    });
    tables.map(|section| (section.address, section.end())).collect()
}

pub(super) fn is_in(ranges: &[(u64, u64)], address: u64) -> bool {
    ranges.iter().any(|(start, end)| *start <= address && address < *end)
}
