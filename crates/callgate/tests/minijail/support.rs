//! Helpers: the verdicts and messages of a policy.

use callgate::Arch;
use callgate_core::policy::Policy;
use callgate_formats::minijail::{self, Included, MinijailPolicy, ReadOptions};
pub(crate) use callgate_testing::reader::lines;
use callgate_testing::reader::{call, invalid, valid};

/// The policy on x86_64, which must be valid.
pub(crate) fn read(text: &str) -> Policy {
    read_for(text, Arch::X86_64)
}

/// The policy on an architecture, which must be valid.
pub(crate) fn read_for(text: &str, arch: Arch) -> Policy {
    valid(text, minijail::read(text, &ReadOptions::new(arch))).profile.policy
}

/// Reads a policy with these files on x86_64.
pub(crate) fn read_with(text: &str, files: &[(&str, &str)]) -> Result<MinijailPolicy, String> {
    let mut includes = |name: &str, from: Option<&str>| {
        let file = files.iter().find(|(known, _)| *known == name);
        let from = from.unwrap_or("the policy").to_owned();
        file.map(|(name, text)| Included {
            name: (*name).to_owned(),
            identity: (*name).to_owned(),
            text: (*text).to_owned(),
            is_private: false,
        })
        .ok_or(format!("{from} names no file"))
    };
    minijail::read_with_includes(text, &ReadOptions::new(Arch::X86_64), &mut includes)
        .map_err(|messages| lines(&messages))
}

/// The errors about an invalid policy on x86_64: `line:column: what (help)`.
pub(crate) fn errors(text: &str) -> String {
    errors_for(text, Arch::X86_64)
}

/// The errors about a policy that is invalid on an architecture.
pub(crate) fn errors_for(text: &str, arch: Arch) -> String {
    invalid(text, minijail::read(text, &ReadOptions::new(arch)))
}

/// The warnings about a valid policy on x86_64.
pub(crate) fn warnings(text: &str) -> String {
    lines(&valid(text, minijail::read(text, &ReadOptions::new(Arch::X86_64))).profile.warnings)
}

/// The verdict for a syscall on an architecture.
pub(crate) fn on(policy: &Policy, arch: Arch, name: &str, args: &[u64]) -> String {
    policy.evaluate(&call(arch, name, args)).to_string()
}

/// The verdict for a syscall on x86_64.
pub(crate) fn syscall(policy: &Policy, name: &str, args: &[u64]) -> String {
    on(policy, Arch::X86_64, name, args)
}
