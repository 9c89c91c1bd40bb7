//! Bounds of functions from `.eh_frame`, which stripped files have as well.

use gimli::{BaseAddresses, CieOrFde, EhFrame, EhFrameHdr, LittleEndian, UnwindSection};
use rustc_hash::FxHashMap;

use super::layout::Layout;
use crate::limits::MAX_FUNCTIONS;

/// Start and size of each function with unwind information, as far as it can be read.
pub(super) fn functions(layout: &Layout) -> Vec<(u64, u64)> {
    let Some(address) = start(layout) else { return Vec::new() };
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
fn start(layout: &Layout) -> Option<u64> {
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
