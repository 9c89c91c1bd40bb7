//! What a process can do under a filter, as answers to questions that people ask.

use callgate::explain::Permission;

use crate::describe::Entry;

/// A question, as the end of "It can …", and the syscalls of which one is enough.
pub(super) struct Ability {
    pub(super) what: &'static str,
    syscalls: &'static [&'static str],
}

/// An answer and the syscalls that are its reason.
pub(super) struct Answer {
    pub(super) permission: Permission,
    pub(super) because: Vec<&'static str>,
}

const fn ability(what: &'static str, syscalls: &'static [&'static str]) -> Ability {
    Ability { what, syscalls }
}

/// In the order of the purposes.
pub(super) const ABILITIES: &[Ability] = &[
    ability("open files", &["open", "openat", "openat2", "open_by_handle_at"]),
    ability(
        "create, rename and delete files",
        &[
            "creat",
            "mkdir",
            "mkdirat",
            "rename",
            "renameat",
            "renameat2",
            "unlink",
            "unlinkat",
            "rmdir",
        ],
    ),
    ability("change permissions of files", &["chmod", "fchmod", "fchmodat", "fchmodat2"]),
    ability("create sockets", &["socket", "socketcall"]),
    ability("accept connections", &["accept", "accept4", "socketcall"]),
    ability("execute programs", &["execve", "execveat"]),
    ability("start processes or threads", &["fork", "vfork", "clone", "clone3"]),
    ability(
        "send signals to other processes",
        &["kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo"],
    ),
    ability(
        "change its user or groups",
        &[
            "setuid",
            "setuid32",
            "setresuid",
            "setresuid32",
            "setreuid",
            "setreuid32",
            "setgid",
            "setgid32",
            "setgroups",
        ],
    ),
    ability("use io_uring, whose operations no filter sees", &["io_uring_setup", "io_uring_enter"]),
    ability("create or enter namespaces", &["unshare", "setns", "clone", "clone3"]),
    ability("mount file systems", &["mount", "move_mount", "fsmount"]),
    ability("change the root directory", &["chroot", "pivot_root"]),
    ability(
        "trace other processes or access their memory",
        &["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd"],
    ),
    ability("use the kernel's keyrings", &["add_key", "request_key", "keyctl"]),
    ability("profile with performance counters", &["perf_event_open"]),
    ability("load BPF programs into the kernel", &["bpf"]),
    ability(
        "load kernel modules or another kernel",
        &["init_module", "finit_module", "kexec_load", "kexec_file_load"],
    ),
    ability("set the clock", &["settimeofday", "clock_settime", "clock_settime64", "stime"]),
    ability("restart or stop the machine", &["reboot"]),
];

impl Ability {
    /// The answer for the syscalls of an architecture; `None` if it has none of this ability.
    pub(super) fn answer(&self, entries: &[Entry<'_>]) -> Option<Answer> {
        let known = entries.iter().filter(|(_, name, _)| self.syscalls.contains(name));
        let known: Vec<(Permission, &'static str)> =
            known.map(|(_, name, outcome)| (Permission::of(outcome), *name)).collect();
        let permission = known.iter().map(|(permission, _)| *permission).max()?;
        let reasons = known.iter().filter(|(own, _)| *own == permission);
        Some(Answer { permission, because: reasons.map(|(_, name)| *name).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abilities_are_about_syscalls_of_the_tables() {
        for ability in ABILITIES {
            for name in ability.syscalls {
                assert!(callgate_bpf::syscalls::known_name(name).is_some(), "{name}");
            }
        }
    }
}
