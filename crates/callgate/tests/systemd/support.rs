//! Helpers: short units, and the verdicts and messages that they give.

use callgate::{Arch, Verdict};
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::KernelVersion;
use callgate_formats::systemd::{
    self, FileMessage, ReadOptions, SystemdVersion, UnitFilters, UnitText,
};

pub(crate) use callgate_testing::reader::call;

pub(crate) const EPERM: Verdict = Verdict::errno(1);
pub(crate) const ENOSYS: Verdict = Verdict::errno(38);

/// systemd 258 on x86_64 and Linux 6.1, on which `MemoryDenyWriteExecute=` still needs a filter.
pub(crate) fn options() -> ReadOptions {
    ReadOptions::new(Arch::X86_64, KernelVersion { major: 6, minor: 1 })
}

/// The same with another version of systemd.
pub(crate) fn version(number: u16) -> ReadOptions {
    let mut options = options();
    options.version = SystemdVersion::new(number).unwrap();
    options
}

/// The filters of these directives.
pub(crate) fn read_with(directives: &str, options: &ReadOptions) -> UnitFilters {
    systemd::read(&[UnitText::directives(directives)], options)
        .unwrap_or_else(|errors| panic!("{directives}: {errors}"))
}

/// The filters of these directives, which give no message.
pub(crate) fn read(directives: &str) -> UnitFilters {
    let unit = read_with(directives, &options());
    assert_eq!(shown(&unit.warnings), Vec::<String>::new(), "{directives}");
    unit
}

/// The verdict for a syscall on x86_64.
pub(crate) fn verdict(unit: &UnitFilters, name: &str, args: &[u64]) -> Verdict {
    unit.evaluate(&call(Arch::X86_64, name, args))
}

/// Asserts the verdicts of syscalls without arguments on x86_64.
pub(crate) fn assert_verdicts(unit: &UnitFilters, expected: &[(&str, Verdict)]) {
    for (name, expected) in expected {
        assert_eq!(verdict(unit, name, &[]), *expected, "{name}");
    }
}

/// Messages as `file:line:column: message; help`, without the file 0; errors begin with `error: `.
pub(crate) fn shown(messages: &[FileMessage]) -> Vec<String> {
    let show = |FileMessage { file, diagnostic }: &FileMessage| {
        let error = if diagnostic.severity == Severity::Error { "error: " } else { "" };
        let file = if *file > 0 { format!("{file}:") } else { String::new() };
        let help = if diagnostic.help.is_empty() { "" } else { "; " };
        format!("{error}{file}{diagnostic}{help}{}", diagnostic.help)
    };
    messages.iter().map(show).collect()
}

/// The messages about directives, whether they are valid or not.
pub(crate) fn messages_with(directives: &str, options: &ReadOptions) -> Vec<String> {
    messages_of(&[UnitText::directives(directives)], options)
}

pub(crate) fn messages(directives: &str) -> Vec<String> {
    messages_with(directives, &options())
}

pub(crate) fn messages_of(texts: &[UnitText<'_>], options: &ReadOptions) -> Vec<String> {
    match systemd::read(texts, options) {
        Ok(unit) => shown(&unit.warnings),
        Err(errors) => {
            assert!(errors.iter().any(|message| message.diagnostic.severity == Severity::Error));
            shown(&errors)
        }
    }
}
