//! What to do about a log without the wanted denial.

use callgate_trace::denials::{DenialLog, SecurityModule};

/// Where the record of a denial is.
const RECORDS: &str = "find the record of the kernel: `journalctl -k --grep type=1326`, `dmesg | grep type=1326` or \
                       `ausearch -m SECCOMP`";

/// How to see denials that have no record.
const WITHOUT_RECORD: &str = "syscalls that fail with an errno have no record, unless the filter is installed with \
                              SECCOMP_FILTER_FLAG_LOG: log the program with `strace -f -o LOG CMD`, or `callgate record -- CMD`";

/// What to do to get a log that can be read.
pub(super) fn next() -> String {
    format!("{RECORDS}; {WITHOUT_RECORD}")
}

/// What to do after a log without a denial: why the kernel may not have written one, or which module denied the access. `None` if the log
/// has a denial, or if it is not one in which the kernel writes them.
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
        "if a denial is missing, {RECORDS}, which alone has it where auditd runs; the kernel writes none with `audit=0` in \
         /proc/cmdline, and none for an action that `sysctl kernel.seccomp.actions_logged` does not list; {WITHOUT_RECORD}"
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
