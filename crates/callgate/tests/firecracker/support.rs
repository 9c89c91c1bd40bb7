//! Helpers: the verdicts and messages of a filter.

use callgate::Arch;
use callgate_formats::Profile;
use callgate_formats::firecracker::{self, ReadOptions};
pub(crate) use callgate_testing::reader::lines;
use callgate_testing::reader::{call, invalid, valid};

/// A document with one filter of these entries, which allows what matches, on x86_64.
pub(crate) fn filter(entries: &str) -> Profile {
    read(&document(entries))
}

/// A document with one filter of these entries.
pub(crate) fn document(entries: &str) -> String {
    format!(
        r#"{{"vmm": {{"mismatch_action": "trap", "match_action": "allow", "filter": [{entries}]}}}}"#
    )
}

/// The only filter of a document on x86_64, which must be valid.
pub(crate) fn read(text: &str) -> Profile {
    valid(text, firecracker::read(text, &ReadOptions::new(Arch::X86_64)))
}

/// The errors about a document that is invalid on x86_64: `line:column: what (help)`.
pub(crate) fn errors(text: &str) -> String {
    errors_for(text, &ReadOptions::new(Arch::X86_64))
}

/// The errors about an invalid document.
pub(crate) fn errors_for(text: &str, options: &ReadOptions) -> String {
    invalid(text, firecracker::read(text, options))
}

/// The verdict for a syscall on x86_64.
pub(crate) fn syscall(profile: &Profile, name: &str, args: &[u64]) -> String {
    profile.policy.evaluate(&call(Arch::X86_64, name, args)).to_string()
}
