//! What names of units tell.

use callgate::formats::systemd::ExecSection;

/// The warning about a text that is a part of a unit, though its name is not that of a file which systemd reads.
pub const UNIT_HEADER: &str =
    "the text has no header of a section such as [Service]; it is read as the lines of one";

/// The section of a unit file with this name.
pub fn suffix_of_unit(name: &str) -> Option<ExecSection> {
    name.rsplit_once('.').and_then(|(_, suffix)| ExecSection::of_suffix(suffix))
}

/// The suffix of a unit that executes no processes, and so has no filters.
pub fn without_processes(name: &str) -> Option<&str> {
    const OTHERS: [&str; 7] = ["automount", "device", "path", "scope", "slice", "target", "timer"];
    let (_, suffix) = name.rsplit_once('.')?;
    OTHERS.contains(&suffix).then_some(suffix)
}
