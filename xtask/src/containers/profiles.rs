//! Random profiles under which a container can start.

use callgate_profile_fuzz::generate::{Case, case_for, group};
use callgate_profile_fuzz::json::Json;
use callgate_profile_fuzz::machine::Machine;
use callgate_profile_fuzz::rng::Rng;
use callgate_profile_fuzz::runtime::Dialect;

use callgate::syscalls::{KernelVersion, facts};

/// What runtimes call between the installation of the filter and the end of `execve`: measured on runc 1.1.5,
/// a program in Go, and crun 1.8.1. What the program in the container calls comes to it.
const NEEDED: [&str; 34] = [
    "brk",
    "capget",
    "capset",
    "clock_nanosleep",
    "clone",
    "close",
    "epoll_ctl",
    "epoll_pwait",
    "execve",
    "exit",
    "fcntl",
    "fstat",
    "fstatfs",
    "futex",
    "getdents64",
    "getpid",
    "getppid",
    "gettid",
    "lseek",
    "madvise",
    "mmap",
    "mprotect",
    "munmap",
    "nanosleep",
    "newfstatat",
    "openat",
    "prctl",
    "read",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_yield",
    "tgkill",
    "write",
];

/// What else they might: it is allowed, and left out of other rules.
const PERHAPS: [&str; 8] = [
    "close_range",
    "epoll_wait",
    "select",
    "setgroups",
    "setresgid",
    "setresuid",
    "sigaltstack",
    "restart_syscall",
];

/// libseccomp 2.5.4 knows the calls of this version.
const OLDEST_LIBRARY: KernelVersion = KernelVersion { major: 5, minor: 16 };

/// Profile `number` for a runtime.
pub(super) fn startable(seed: u64, number: u64, dialect: Dialect, native: Machine) -> Case {
    let mut rng = Rng::new(seed.wrapping_mul(0x9e37_79b9).wrapping_add(number));
    let mut case = case_for(&mut rng, dialect, group(native));
    if let Json::Object(members) = &mut case.profile {
        adapt(members);
    }
    case
}

/// Replaces what no container starts with: notifications without a supervisor, flags (which runc 1.1 does not
/// have), calls that the installed library may not know, and rules for calls that are needed. These
/// are allowed in an entry before all others.
fn adapt(members: &mut Vec<(String, Json)>) {
    let is = |key: &str, name: &str| key.eq_ignore_ascii_case(name);
    members.retain(|(key, _)| !is(key, "flags") && !is(key, "listenerPath"));
    for (key, value) in members.iter_mut() {
        match value {
            Json::String(_) => adapt_action(value),
            Json::Array(entries) if is(key, "syscalls") || key.ends_with("yscalls") => {
                let allowed = super::idle::CALLS.into_iter().chain(NEEDED).chain(PERHAPS);
                let allow = vec![
                    ("names".to_owned(), Json::strings(allowed)),
                    ("action".to_owned(), Json::string("SCMP_ACT_ALLOW")),
                ];
                entries.iter_mut().for_each(adapt_entry);
                entries.insert(0, Json::Object(allow));
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
    let text = text.as_str();
    let needed = super::idle::CALLS.iter().chain(&NEEDED).chain(&PERHAPS).any(|call| *call == text);
    if needed || is_new(text) {
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
