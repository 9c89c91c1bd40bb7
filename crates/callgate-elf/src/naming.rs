//! Names of places in the code.

use crate::code::Scan;
use crate::image::{Image, SymbolKind};
use crate::numbers::Place;
use crate::reach::FunctionId;

/// Functions by address: start, end, and where the name is.
type Entry = (u64, u64, bool, u32);

/// Finds the names of functions.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    images: &'a [Image],
    scans: &'a [Scan],
    /// The functions of each file, sorted.
    entries: Vec<Vec<Entry>>,
}

impl<'a> Names<'a> {
    pub(crate) fn of(images: &'a [Image], scans: &'a [Scan]) -> Names<'a> {
        let entries = images.iter().map(|image| {
            let debug = image.debug.all.iter().map(|symbol| (symbol, true));
            let all = image.exports.all.iter().map(|symbol| (symbol, false)).chain(debug);
            let functions = all.filter(|(symbol, _)| {
                symbol.is_defined
                    && matches!(symbol.kind, SymbolKind::Function | SymbolKind::Resolver)
            });
            let mut entries: Vec<Entry> = functions
                .map(|(symbol, is_debug)| {
                    let end = symbol.address.saturating_add(symbol.size.max(1));
                    (symbol.address, end, is_debug, symbol.name)
                })
                .collect();
            entries.sort_unstable();
            // Aliases: the shortest name is that of the documentation.
            let length = |entry: &Entry| name_of(image, entry).map_or(usize::MAX, underscored);
            entries.sort_by_key(|entry| (entry.0, length(entry)));
            entries.dedup_by_key(|entry| entry.0);
            entries
        });
        Names { images, scans, entries: entries.collect() }
    }

    /// The name of the function with an address, without its version; or its address.
    pub(crate) fn function(&self, id: FunctionId) -> String {
        let number = id.image as usize;
        let functions = self.scans.get(number).map(|scan| scan.functions.as_slice());
        let function = functions.and_then(|all| all.get(id.function as usize));
        let Some(start) = function.map(|function| function.start) else { return String::new() };
        let named = self.entries.get(number).and_then(|entries| {
            let after = entries.partition_point(|entry| entry.0 <= start);
            let entry = entries.get(after.checked_sub(1)?)?;
            let image = self.images.get(number)?;
            (start < entry.1).then(|| name_of(image, entry)).flatten()
        });
        named.map_or_else(|| format!("{start:#x}"), printable)
    }

    pub(crate) fn file(&self, id: FunctionId) -> &'a str {
        self.images.get(id.image as usize).map_or("", |image| image.name.as_str())
    }

    /// How far a place is from the start of its function.
    pub(crate) fn offset(&self, place: Place) -> u64 {
        let scan = self.scans.get(place.function.image as usize);
        let function = scan.and_then(|scan| scan.functions.get(place.function.function as usize));
        function.map_or(0, |function| place.at.saturating_sub(function.start))
    }

    /// `libc.so.6: openat64+0x4f`.
    pub(crate) fn place(&self, place: Place) -> String {
        let (file, function) = (self.file(place.function), self.function(place.function));
        format!("{file}: {function}+{:#x}", self.offset(place))
    }
}

fn name_of<'a>(image: &'a Image, entry: &Entry) -> Option<&'a str> {
    let table = if entry.2 { &image.debug } else { &image.exports };
    table.name(&image.layout, entry.3).filter(|name| !name.is_empty())
}

/// Names with underscores at the start are internal.
fn underscored(name: &str) -> usize {
    name.len() + 100 * name.bytes().take_while(|byte| *byte == b'_').count()
}

/// A name from an untrusted file, safe to print.
fn printable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(120).collect()
}
