//! Random profiles under which a container can start.

use callgate_profile_fuzz::generate::{Case, case_for, group};
use callgate_profile_fuzz::json::Json;
use callgate_profile_fuzz::machine::Machine;
use callgate_profile_fuzz::rng::Rng;
use callgate_profile_fuzz::runtime::Dialect;

use callgate_bpf::syscalls::{KernelVersion, facts};

/// Syscalls of runtimes between the installation of the filter and the end of `execve`, also of other versions
/// (runc is a Go program), and those of the program in the container.
#[rustfmt::skip]
const NEEDED: &[&str] = &[
    "brk", "capget", "capset", "clock_nanosleep", "clone", "close", "close_range", "epoll_ctl", "epoll_pwait",
    "epoll_wait", "execve", "exit", "exit_group", "fcntl", "fstat", "fstatfs", "futex", "getdents64", "getpid",
    "getppid", "gettid", "lseek", "madvise", "mmap", "mprotect", "munmap", "nanosleep", "newfstatat", "openat",
    "poll", "ppoll", "prctl", "read", "restart_syscall", "rt_sigaction", "rt_sigprocmask", "rt_sigreturn",
    "sched_yield", "select", "setgroups", "setresgid", "setresuid", "sigaltstack", "tgkill", "write",
];

/// The newest kernel whose syscalls libseccomp 2.5.4 knows.
const OLDEST_LIBRARY: KernelVersion = KernelVersion { major: 5, minor: 16 };

/// Architectures unknown to runc 1.1.
const NEW_ARCHES: [&str; 2] = ["SCMP_ARCH_RISCV64", "SCMP_ARCH_LOONGARCH64"];

/// Profile `number` for a runtime.
pub(super) fn startable(seed: u64, number: u64, dialect: Dialect, native: Machine) -> Case {
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number));
    let mut case = case_for(&mut rng, dialect, group(native));
    if let Json::Object(members) = &mut case.profile {
        adapt(members, dialect);
    }
    case
}

/// Replaces what keeps containers from starting: notifications without a supervisor, flags (unsupported by runc
/// 1.1), syscalls and architectures unknown to an older library or runtime, and rules for syscalls that are
/// needed. An entry before all others allows the latter.
fn adapt(members: &mut Vec<(String, Json)>, dialect: Dialect) {
    let allow = Json::Object(vec![
        ("names".to_owned(), Json::strings(NEEDED.iter().copied())),
        ("action".to_owned(), Json::string("SCMP_ACT_ALLOW")),
    ]);
    members.retain(|(key, _)| !key.eq_ignore_ascii_case("flags") && key != "listenerPath");
    let is_entries = |key: &str| match dialect {
        Dialect::Crun => key == "syscalls",
        _ => key.to_ascii_lowercase().ends_with("yscalls"),
    };
    if !members.iter().any(|(key, _)| is_entries(key)) {
        members.push(("syscalls".to_owned(), Json::Array(Vec::new())));
    }
    for (key, value) in members {
        match value {
            Json::String(_) => adapt_action(value),
            Json::Array(entries) if is_entries(key) => {
                entries.iter_mut().for_each(adapt_entry);
                entries.insert(0, allow.clone());
            }
            Json::Array(arches) => {
                let is_new = |arch: &Json| NEW_ARCHES.iter().any(|new| *arch == Json::string(new));
                arches.retain(|arch| !is_new(arch));
            }
            _ => {}
        }
    }
}

fn adapt_entry(entry: &mut Json) {
    let Json::Object(members) = entry else { return };
    for (_, value) in members {
        match value {
            Json::String(_) => adapt_action(value),
            Json::Array(items) => items.iter_mut().for_each(adapt_name),
            _ => {}
        }
    }
}

fn adapt_action(value: &mut Json) {
    if *value == Json::string("SCMP_ACT_NOTIFY") {
        *value = Json::string("SCMP_ACT_TRAP");
    }
}

fn adapt_name(name: &mut Json) {
    let Json::String(text) = name else { return };
    let is_new = |name: &str| {
        facts(name)
            .and_then(|facts| facts.introduced)
            .is_some_and(|version| version > OLDEST_LIBRARY)
    };
    if NEEDED.contains(&text.as_str()) || is_new(text) {
        *name = Json::string("getpriority");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needed_calls_are_allowed_first_and_nowhere_else() {
        for number in 0..300 {
            let case = startable(1, number, Dialect::Crun, Machine::X86_64);
            let text = case.profile.to_string();
            assert!(!text.contains("NOTIFY") && !text.contains("flags"), "{text}");
            assert!(text.matches("\"execve\"").count() <= 2, "{text}");
        }
    }
}
