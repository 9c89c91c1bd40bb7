//! Names of syscalls as in bionic's headers.

use crate::diagnostics::quote::shorten;
use crate::files::{At, Report};
use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::{is_known_name, known_name, nearest_name};
use callgate_core::Arch;

/// The prefix of syscalls that only arm has. The headers have no other name for them.
const OF_ARM: &str = "__ARM_NR_";

/// The first number of syscalls that only arm has.
const FIRST_OF_ARM: u32 = 0xf0000;

/// The number of a syscall.
pub(super) fn number(arch: Arch, name: &str) -> Option<u32> {
    let of_arm = name.strip_prefix(OF_ARM).filter(|_| arch == Arch::Arm);
    let number = arch.number(of_arm.unwrap_or(name))?;
    let has_own = arch == Arch::Arm && number >= FIRST_OF_ARM;
    (has_own == of_arm.is_some()).then_some(number)
}

/// Whether some architecture has a syscall of this name.
pub(super) fn is_known(name: &str) -> bool {
    match name.strip_prefix(OF_ARM) {
        Some(_) => number(Arch::Arm, name).is_some(),
        None => is_known_name(name),
    }
}

/// The name in the kernel's tables, without a prefix.
pub(super) fn kernel_name(name: &str) -> Option<&'static str> {
    known_name(name.strip_prefix(OF_ARM).unwrap_or(name))
}

/// The name in bionic's headers of a syscall that arm has under another one.
pub(super) fn arm_name(name: &str) -> Option<String> {
    let prefixed = format!("{OF_ARM}{name}");
    number(Arch::Arm, &prefixed).map(|_| prefixed)
}

/// Reports a name that no architecture has.
pub(super) fn report_unknown(report: &mut Report<'_>, severity: Severity, name: &str, at: At) {
    if report.leave_out(severity, at) {
        return;
    }
    let help = report.did_you_mean(|| nearest_name(name), "check the spelling against syscalls(2)");
    let message = format!("no architecture has a syscall `{}`", shorten(name));
    report.report(severity, at, message).help = help;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn syscalls_of_arm_have_a_prefix() {
        assert_eq!(number(Arch::Arm, "__ARM_NR_cacheflush"), Some(0xf0002));
        assert_eq!(number(Arch::Arm, "cacheflush"), None);
        assert_eq!(number(Arch::Mipsel, "cacheflush"), Some(4147));
        assert_eq!(number(Arch::Mipsel, "__ARM_NR_cacheflush"), None);
        assert_eq!(number(Arch::Arm, "__ARM_NR_read"), None);
        assert_eq!(number(Arch::Arm, "read"), Some(3));
        assert!(
            is_known("cacheflush") && is_known("__ARM_NR_set_tls") && !is_known("__ARM_NR_read")
        );
        assert_eq!(arm_name("set_tls").as_deref(), Some("__ARM_NR_set_tls"));
        assert_eq!(arm_name("read"), None);
    }
}
