//! Helpers: the verdicts and messages of lists.

use callgate::{Arch, Verdict};
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Severity;
use callgate_formats::android::{
    self, AndroidPolicy, FileMessage, ListKind, ListText, ReadOptions,
};
use callgate_testing::reader::call;

/// What bionic's filters return for syscalls that they do not allow.
pub(crate) const TRAP: Verdict = Verdict::trap(0);

/// Lists on a host with arm64 and arm.
pub(crate) fn options() -> ReadOptions {
    ReadOptions::new(Arch::Aarch64)
}

/// A list.
pub(crate) const fn list(kind: ListKind, text: &str) -> ListText<'_> {
    ListText::new(kind, text)
}

/// The syscalls of the C library.
pub(crate) const fn base(text: &str) -> ListText<'_> {
    list(ListKind::Base, text)
}

/// Lists that must be valid.
pub(crate) fn read_for(lists: &[ListText<'_>], options: &ReadOptions) -> AndroidPolicy {
    android::read(lists, options).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A list of syscalls of the C library alone, which must be valid.
pub(crate) fn read(text: &str) -> AndroidPolicy {
    read_for(&[base(text)], &options())
}

/// Whether a syscall is allowed, or trapped.
pub(crate) fn allows(policy: &AndroidPolicy, arch: Arch, name: &str) -> bool {
    match policy.policy.evaluate(&call(arch, name, &[])) {
        Verdict::ALLOW => true,
        TRAP => false,
        other => panic!("{name}: {other}"),
    }
}

/// The syscalls that are allowed on an architecture, sorted.
pub(crate) fn allowed(policy: &AndroidPolicy, arch: Arch) -> Vec<&'static str> {
    let all = arch.syscalls().map(|(_, name)| name);
    let mut names: Vec<&str> = all.filter(|name| allows(policy, arch, name)).collect();
    names.sort_unstable();
    names
}

/// The errors about lists that are wrong, one per line: `file line:column: what (help)`, with the first file as 1.
pub(crate) fn errors(lists: &[ListText<'_>]) -> String {
    match android::read(lists, &options()) {
        Ok(_) => panic!("valid: {lists:?}"),
        Err(messages) => shown(&messages, Severity::Error),
    }
}

/// The warnings about valid lists.
pub(crate) fn warnings(lists: &[ListText<'_>], options: &ReadOptions) -> String {
    shown(&read_for(lists, options).warnings, Severity::Warning)
}

fn shown(messages: &[FileMessage], severity: Severity) -> String {
    let chosen = messages.iter().filter(|message| message.diagnostic.severity == severity);
    let lines: Vec<String> = chosen
        .map(|FileMessage { file, diagnostic }| {
            format!("{} {diagnostic} ({})", file + 1, diagnostic.help)
        })
        .collect();
    lines.join("\n")
}
