//! Hints for a log that lacks the wanted denial.

use callgate_trace::denials::{DenialLog, SecurityModule};

/// Where the record of a denial is. Records that auditd receives are not in the kernel's ring buffer.
const RECORDS: &str = "find the record of the kernel: `journalctl -k --grep type=1326` or `dmesg | grep type=1326`; if \
                       auditd runs, only `ausearch -m SECCOMP` has it";

/// How to see denials that have no record.
const WITHOUT_RECORD: &str = "syscalls that fail with an errno have no record, unless the filter is installed with \
                              SECCOMP_FILTER_FLAG_LOG: log the program with `strace -f -o LOG CMD`, or `callgate record -- CMD`";

/// What to do to get a log that can be read.
pub(super) fn next() -> String {
    format!("{RECORDS}; {WITHOUT_RECORD}")
}

/// The hint for a log without denials: where the kernel writes them and when it does not, or the security modules that denied
/// something. `None` if the log has a denial, or if the kernel does not write to such a log.
pub(super) fn after_none(log: &DenialLog) -> Option<String> {
    let is_without = log.denials.is_empty() && log.unread.count == 0;
    if !is_without || !log.is_of_kernel || log.logged > 0 {
        return None;
    }
    if !log.other.is_empty() {
        let hints: Vec<&str> = log.other.iter().map(|one| of_module(one.module)).collect();
        return Some(format!(
            "a seccomp profile does not change what these modules deny: {}",
            hints.join("; ")
        ));
    }
    Some(format!(
        "if a denial is missing, {RECORDS}; the kernel writes no records if /proc/cmdline has `audit=0`; it writes none for \
         actions that `sysctl kernel.seccomp.actions_logged` does not list; {WITHOUT_RECORD}"
    ))
}

/// What shows the reason for a denial by a module.
fn of_module(module: SecurityModule) -> &'static str {
    match module {
        SecurityModule::AppArmor => {
            "for AppArmor, `aa-status` lists the profiles, and `aa-logprof` proposes rules"
        }
        SecurityModule::Selinux => {
            "for SELinux, `ausearch -m AVC,USER_AVC | audit2why` explains them"
        }
        SecurityModule::Smack => "for Smack, the rules are in /sys/fs/smackfs/load2",
        SecurityModule::Landlock => {
            "for Landlock, the program or what started it restricted itself: see its documentation"
        }
    }
}
