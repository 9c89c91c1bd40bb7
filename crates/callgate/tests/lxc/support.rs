//! Helpers: the verdicts and messages of a profile.

use callgate::Arch;
use callgate_formats::Profile;
use callgate_formats::lxc::{self, ReadOptions};
pub(crate) use callgate_testing::reader::lines;
use callgate_testing::reader::{call, invalid, valid};

/// The profile on x86_64, which must be valid.
pub(crate) fn read(text: &str) -> Profile {
    read_for(text, Arch::X86_64)
}

/// The profile on a host, which must be valid.
pub(crate) fn read_for(text: &str, native: Arch) -> Profile {
    valid(text, lxc::read(text, &ReadOptions::new(native)))
}

/// The errors about an invalid profile on x86_64: `line:column: what (help)`.
pub(crate) fn errors(text: &str) -> String {
    invalid(text, lxc::read(text, &ReadOptions::new(Arch::X86_64)))
}

/// The warnings about a valid profile on x86_64.
pub(crate) fn warnings(text: &str) -> String {
    lines(&read(text).warnings)
}

/// The verdict for a syscall on an architecture.
pub(crate) fn on(profile: &Profile, arch: Arch, name: &str, args: &[u64]) -> String {
    profile.policy.evaluate(&call(arch, name, args)).to_string()
}

/// The verdict for a syscall on x86_64.
pub(crate) fn syscall(profile: &Profile, name: &str, args: &[u64]) -> String {
    on(profile, Arch::X86_64, name, args)
}
