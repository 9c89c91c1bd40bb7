//! Jump tables: where an indirect jump of a function may lead.

use crate::code::{Function, ReferenceKind, Scan};
use crate::image::Image;

/// Entries of one table. A larger one is cut.
const MAX_ENTRIES: u64 = 1 << 14;

/// The addresses of code in tables that a function refers to: 32-bit offsets from the start of the table.
///
/// Tables of addresses need relocations, so their targets are found as addresses in data. Tables of aarch64 with smaller
/// entries stay within the function.
pub(crate) fn targets(image: &Image, scan: &Scan, function: &Function) -> Vec<u64> {
    let references = scan.references(function);
    if !references.iter().any(|reference| reference.kind == ReferenceKind::IndirectJump) {
        return Vec::new();
    }
    let tables = references.iter().filter(|reference| {
        reference.kind == ReferenceKind::Address && !image.is_code(reference.target)
    });
    let mut found = Vec::new();
    for table in tables.map(|reference| reference.target) {
        let (start, end) = scan.object(image, table);
        if start != table {
            continue;
        }
        for entry in 0..(end.saturating_sub(start) / 4).min(MAX_ENTRIES) {
            let Some(offset) = image.layout.i32(start.wrapping_add(entry * 4)) else { break };
            let target = start.wrapping_add(i64::from(offset) as u64);
            if !image.is_code(target) {
                break;
            }
            found.push(target);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
