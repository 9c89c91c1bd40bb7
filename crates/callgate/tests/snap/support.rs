//! Helpers: the verdicts and messages of a profile.

use callgate::Arch;
use callgate_bpf::diagnostic::Diagnostics;
use callgate_formats::snap::{self, ReadOptions, SnapFilters, system_id};
pub(crate) use callgate_testing::reader::lines;
use callgate_testing::reader::{call, invalid, valid};

/// The filters on x86_64 of a profile, which must be valid.
pub(crate) fn read(text: &str) -> SnapFilters {
    read_for(text, Arch::X86_64)
}

/// The filters on a host of a profile, which must be valid.
pub(crate) fn read_for(text: &str, native: Arch) -> SnapFilters {
    valid(text, result(text, native))
}

/// The errors about an invalid profile on x86_64: `line:column: what (help)`.
pub(crate) fn errors(text: &str) -> String {
    invalid(text, result(text, Arch::X86_64))
}

fn result(text: &str, native: Arch) -> Result<SnapFilters, Diagnostics> {
    snap::read(text, &ReadOptions::new(native), &mut |_, name| system_id(name))
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
