//! Helpers: the verdicts and messages of a policy.

use callgate::Arch;
use callgate_bpf::SyscallTable;
use callgate_formats::Profile;
use callgate_formats::kafel::{self, ReadOptions};
pub(crate) use callgate_testing::reader::lines;
use callgate_testing::reader::{invalid, numbered, valid};

/// The policy on x86_64, which must be valid.
pub(crate) fn read(text: &str) -> Profile {
    read_for(text, &[Arch::X86_64])
}

/// The policy on some architectures, which must be valid.
pub(crate) fn read_for(text: &str, arches: &[Arch]) -> Profile {
    valid(text, kafel::read(text, &ReadOptions::for_arches(arches.to_vec())))
}

/// The errors about an invalid policy on x86_64: `line:column: what (help)`.
pub(crate) fn errors(text: &str) -> String {
    errors_for(text, &[Arch::X86_64])
}

/// The errors about a policy that is invalid on some architectures.
pub(crate) fn errors_for(text: &str, arches: &[Arch]) -> String {
    invalid(text, kafel::read(text, &ReadOptions::for_arches(arches.to_vec())))
}

/// The warnings about a valid policy on x86_64.
pub(crate) fn warnings(text: &str) -> String {
    lines(&read(text).warnings)
}

/// The verdict for a syscall on an architecture.
pub(crate) fn on(profile: &Profile, arch: Arch, nr: u32, args: &[u64]) -> String {
    let data = numbered(arch, nr, args);
    profile.policy.evaluate(&data).to_string()
}

/// The verdict for a syscall on x86_64.
pub(crate) fn syscall(profile: &Profile, name: &str, args: &[u64]) -> String {
    on(profile, Arch::X86_64, Arch::X86_64.number(name).unwrap(), args)
}

/// The values of one argument for which a condition on `write` holds, of some interesting ones.
pub(crate) fn allowed(condition: &str, argument: usize, values: &[u64]) -> Vec<u64> {
    let profile = read(&format!("ALLOW {{ write {{ {condition} }} }} DEFAULT KILL"));
    let holds = |value: &&u64| {
        let mut args = [0; 6];
        args[argument] = **value;
        syscall(&profile, "write", &args) == "ALLOW"
    };
    values.iter().filter(holds).copied().collect()
}
