//! What the module `seccomp` has: constants, and the functions of C that its methods call.

use crate::libseccomp_c::token;
use callgate_core::{Arch, Verdict, errno_number};

/// The modules, which have the same functions.
pub(super) const MODULES: [&str; 2] = ["seccomp", "pyseccomp"];

/// Modules of Python whose constants are those of C.
const OF_C: [&str; 9] =
    ["errno", "os", "socket", "signal", "fcntl", "mmap", "resource", "termios", "stat"];

/// The value of a constant of the module.
pub(super) fn constant(name: &str) -> Option<i128> {
    let verdict = match name {
        "KILL_PROCESS" => Verdict::KILL_PROCESS,
        "KILL" | "KILL_THREAD" => Verdict::KILL_THREAD,
        "TRAP" => Verdict::trap(0),
        "LOG" => Verdict::LOG,
        "ALLOW" => Verdict::ALLOW,
        "NOTIFY" => Verdict::user_notif(0),
        _ => return operator(name),
    };
    Some(i128::from(verdict.0))
}

/// The number of an operator, as in libseccomp's header.
fn operator(name: &str) -> Option<i128> {
    let names = ["NE", "LT", "LE", "EQ", "GE", "GT", "MASKED_EQ"];
    (1..).zip(names).find(|(_, own)| *own == name).map(|(number, _)| number)
}

/// The number of an attribute: a member of `Attr`.
pub(super) fn attribute(name: &str) -> Option<i128> {
    let found = (1..).zip(crate::libseccomp_c::ATTRIBUTES).find(|(_, own)| *own == name);
    found.map(|(number, _)| number)
}

/// An architecture: a member of `Arch`, or what `Arch` makes from a name.
pub(super) fn arch(name: &str) -> Option<i128> {
    if name == "NATIVE" {
        return Some(0);
    }
    let found = Arch::ALL.iter().find(|arch| arch.name().eq_ignore_ascii_case(name));
    found.map(|arch| i128::from(token(*arch)))
}

/// The value of a constant of another module.
pub(super) fn of_module(module: &str, name: &str, native: Arch) -> Option<i128> {
    if !OF_C.contains(&module) {
        return None;
    }
    let number = errno_number(name).map(i128::from);
    number.or_else(|| callgate_bpf::constants::value(native, name).map(i128::from))
}

/// The descriptor of a standard stream.
pub(super) fn descriptor(path: &[&str]) -> Option<i128> {
    match path {
        ["sys", stream] | ["sys", stream, "fileno"] => match *stream {
            "stdin" | "__stdin__" => Some(0),
            "stdout" | "__stdout__" => Some(1),
            "stderr" | "__stderr__" => Some(2),
            _ => None,
        },
        _ => None,
    }
}

/// What a method of a filter does: the function of C; `None` inside for one that changes nothing.
pub(super) fn method(name: &str) -> Option<Option<&'static str>> {
    Some(match name {
        "add_rule" => Some("seccomp_rule_add_array"),
        "add_rule_exactly" => Some("seccomp_rule_add_exact_array"),
        "add_arch" => Some("seccomp_arch_add"),
        "remove_arch" => Some("seccomp_arch_remove"),
        "set_attr" => Some("seccomp_attr_set"),
        "reset" => Some("seccomp_reset"),
        "merge" => Some("seccomp_merge"),
        "load" => Some("seccomp_load"),
        "export_bpf" | "export_bpf_mem" => Some("seccomp_export_bpf"),
        "start_transaction" => Some("seccomp_transaction_start"),
        "reject_transaction" => Some("seccomp_transaction_reject"),
        "commit_transaction" => Some("seccomp_transaction_commit"),
        "export_pfc" | "get_attr" | "syscall_priority" | "exist_arch" | "precompute"
        | "get_notify_fd" | "receive_notify" | "respond_notify" => None,
        _ => return None,
    })
}
