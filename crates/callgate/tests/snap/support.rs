//! Helpers: the verdicts and messages of a profile.

use callgate::Arch;
use callgate_formats::snap::{self, ReadOptions, SnapFilters, system_id};
pub(crate) use callgate_testing::reader::lines;
use callgate_testing::reader::{call, error_lines};

/// The filters on x86_64 of a profile, which must be valid.
pub(crate) fn read(text: &str) -> SnapFilters {
    read_for(text, Arch::X86_64)
}

/// The filters on a host of a profile, which must be valid.
pub(crate) fn read_for(text: &str, native: Arch) -> SnapFilters {
    let filters = snap::read(text, &ReadOptions::new(native), &mut |_, name| system_id(name));
    filters.unwrap_or_else(|messages| panic!("{text}\n{}", lines(&messages)))
}

/// The errors about an invalid profile on x86_64: `line:column: what (help)`.
pub(crate) fn errors(text: &str) -> String {
    let options = ReadOptions::new(Arch::X86_64);
    match snap::read(text, &options, &mut |_, name| system_id(name)) {
        Ok(_) => panic!("valid: {text}"),
        Err(messages) => error_lines(&messages),
    }
}

/// The warnings about a valid profile on x86_64.
pub(crate) fn warnings(text: &str) -> String {
    lines(&read(text).warnings)
}

/// The verdict of both filters for a syscall on an architecture.
pub(crate) fn on(filters: &SnapFilters, arch: Arch, name: &str, args: &[u64]) -> String {
    filters.evaluate(&call(arch, name, args)).to_string()
}

/// The verdict of both filters for a syscall on x86_64.
pub(crate) fn syscall(filters: &SnapFilters, name: &str, args: &[u64]) -> String {
    on(filters, Arch::X86_64, name, args)
}
