//! Functions that are looked up by name at run time (`dlsym`).

use rustc_hash::FxHashSet;

use super::linkage::{Definition, Linkage};
use crate::image::{Image, SymbolKind};

/// Names that are shorter are rarely those of functions.
const MIN_NAME: usize = 3;
const MAX_NAME: usize = 200;

/// The functions whose name is a string in the read-only data of a file. A loader also looks up functions of its own, as that of
/// musl does after it has relocated itself; other files call theirs without their names.
pub(super) fn of_strings(
    images: &[Image],
    linkage: &Linkage,
    number: usize,
    is_loader: bool,
) -> Vec<Definition> {
    let Some(image) = images.get(number) else { return Vec::new() };
    let sections = image.layout.sections.iter().filter(|section| {
        section.name.starts_with(".rodata") || section.name.starts_with(".data.rel.ro")
    });
    let mut ranges: Vec<(u64, u64)> =
        sections.map(|section| (section.address, section.size)).collect();
    if image.layout.sections.is_empty() {
        let read_only = image.layout.segments.iter().filter(|segment| !segment.writable);
        ranges = read_only.map(|segment| (segment.address, segment.memory)).collect();
    }
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    let mut found = Vec::new();
    for (address, size) in ranges {
        let bytes = image.layout.from(address).unwrap_or_default();
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len());
        for word in bytes.get(..size).unwrap_or_default().split(|byte| *byte == 0) {
            let is_name = (MIN_NAME..=MAX_NAME).contains(&word.len())
                && word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            let Some(name) = std::str::from_utf8(word).ok().filter(|_| is_name) else { continue };
            if !seen.insert(name) {
                continue;
            }
            let definitions = linkage.named(images, name).map(|(definition, ..)| definition);
            found.extend(definitions.filter(|definition| {
                (is_loader || definition.image != number)
                    && matches!(definition.kind, SymbolKind::Function | SymbolKind::Resolver)
            }));
        }
    }
    found
}
