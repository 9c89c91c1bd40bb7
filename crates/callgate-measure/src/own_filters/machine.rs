//! What this machine and this process say about the answers of the kernel.

use std::collections::HashSet;
use std::fs;

use callgate_bpf::syscalls::KernelVersion;
use callgate_linux::{ThreadStatus, kernel};

use super::calls::{PRIVILEGES, Unless};

/// Facts of the running kernel and of this process, read from `/proc`.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The effective capabilities, if they are those of the first user namespace; otherwise none.
    pub(super) capabilities: u64,
    pub(super) kernel: Option<KernelVersion>,
    /// The syscalls that the kernel has; `None` if it does not say.
    pub(super) syscalls: Option<HashSet<String>>,
    /// The values of the settings in [`PRIVILEGES`]; empty without `/proc/sys`.
    pub(super) settings: Vec<(&'static str, String)>,
}

impl Machine {
    /// Reads the facts. What cannot be read makes answers unknown.
    pub fn of_this_process(status: &ThreadStatus) -> Machine {
        let is_first = fs::read_to_string("/proc/self/uid_map").is_ok_and(|map| is_identity(&map));
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        Machine {
            capabilities: if is_first { status.capabilities.unwrap_or(0) } else { 0 },
            kernel: kernel::release().ok().and_then(|release| release.parse().ok()),
            syscalls: Some(syscalls_in(&symbols)).filter(|found| !found.is_empty()),
            settings: settings(),
        }
    }

    /// Why the kernel itself may answer `EPERM` to all calls of a syscall; `None` if it does not.
    pub(super) fn privilege(&self, syscall: &str) -> Option<String> {
        let row = PRIVILEGES.iter().find(|(_, names)| names.contains(&syscall));
        let (unless, _) = row?;
        let holds = |unless: &Unless| match *unless {
            Unless::Capability(number, _) => self.capabilities >> number & 1 != 0,
            Unless::Setting(name, value) => {
                self.settings.iter().any(|(own, found)| *own == name && found == value)
            }
            Unless::Since(major, minor) => {
                self.kernel.is_some_and(|kernel| kernel >= KernelVersion { major, minor })
            }
        };
        if unless.iter().any(holds) {
            return None;
        }
        let wanted = unless.iter().map(|unless| match *unless {
            Unless::Capability(_, name) => format!("without {name}"),
            Unless::Setting(name, value) => {
                format!("unless {} is {value}", name.replace('/', "."))
            }
            Unless::Since(major, minor) => format!("before Linux {major}.{minor}"),
        });
        Some(wanted.collect::<Vec<_>>().join(" and "))
    }

    /// Whether the kernel may lack a syscall, so that it answers `ENOSYS` itself.
    pub(super) fn may_lack(&self, syscall: &str) -> bool {
        let symbol = match syscall {
            "fstat" | "lstat" | "stat" | "uname" => format!("new{syscall}"),
            "sendfile" => "sendfile64".to_owned(),
            "umount2" => "umount".to_owned(),
            other => other.to_owned(),
        };
        self.syscalls.as_ref().is_none_or(|known| !known.contains(&symbol))
    }
}

/// Whether a map of users is that of the first user namespace: all to themselves.
fn is_identity(map: &str) -> bool {
    let words: Vec<&str> = map.split_whitespace().collect();
    words == ["0", "0", "4294967295"]
}

/// The syscalls in a list of the kernel's symbols. One that is left out of the kernel is a weak symbol (`kernel/sys_ni.c`).
fn syscalls_in(symbols: &str) -> HashSet<String> {
    const PREFIXES: [&str; 2] = ["__x64_sys_", "__arm64_sys_"];
    let mut found = HashSet::new();
    for line in symbols.lines() {
        let mut words = line.split_whitespace().skip(1);
        let (Some("T" | "t"), Some(symbol)) = (words.next(), words.next()) else { continue };
        if let Some(name) = PREFIXES.iter().find_map(|prefix| symbol.strip_prefix(prefix)) {
            found.insert(name.to_owned());
        }
    }
    found
}

fn settings() -> Vec<(&'static str, String)> {
    let root = "/proc/sys/";
    if !fs::exists(format!("{root}kernel/osrelease")).unwrap_or(false) {
        return Vec::new();
    }
    let all = PRIVILEGES.iter().flat_map(|(unless, _)| *unless);
    let wanted = all.filter_map(|unless| match *unless {
        Unless::Setting(name, value) => Some((name, value)),
        _ => None,
    });
    wanted
        .filter_map(|(name, harmless)| match fs::read_to_string(format!("{root}{name}")) {
            Ok(value) => Some((name, value.trim().to_owned())),
            // The kernel does not limit it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Some((name, harmless.to_owned()))
            }
            Err(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weak_symbol_is_a_missing_syscall() {
        let symbols = "0000000000000000 T __x64_sys_keyctl\n0 W __x64_sys_bpf\n\
                       0 T __ia32_sys_read\n0 t __x64_sys_newuname\n0 D T __x64_sys_odd\n";
        let syscalls = Some(syscalls_in(symbols));
        let machine = Machine { syscalls, ..Machine::default() };
        assert!(!machine.may_lack("keyctl") && !machine.may_lack("uname"));
        assert!(machine.may_lack("bpf") && machine.may_lack("read"));
        assert!(Machine::default().may_lack("keyctl"), "a kernel that does not say");
    }

    #[test]
    fn a_privilege_is_had_or_named() {
        let none = Machine::default();
        assert_eq!(none.privilege("acct").as_deref(), Some("without CAP_SYS_PACCT"));
        assert_eq!(
            none.privilege("bpf").as_deref(),
            Some(
                "without CAP_SYS_ADMIN and before Linux 5.19 and unless \
                 kernel.unprivileged_bpf_disabled is 0"
            )
        );
        assert_eq!(none.privilege("read"), None);
        let new = KernelVersion { major: 6, minor: 1 };
        assert_eq!(Machine { kernel: Some(new), ..none.clone() }.privilege("bpf"), None);
        let admin = Machine { capabilities: 1 << 21, ..none.clone() };
        assert_eq!(admin.privilege("fsopen"), None);
        assert!(admin.privilege("acct").is_some());
        let settings = vec![("kernel/io_uring_disabled", "0".to_owned())];
        assert_eq!(Machine { settings, ..none }.privilege("io_uring_setup"), None);
    }

    #[test]
    fn only_the_first_user_namespace_gives_capabilities_on_the_machine() {
        assert!(is_identity("         0          0 4294967295\n"));
        assert!(!is_identity("         0     100000      65536\n"));
        assert!(!is_identity("0 0 1\n1 100000 65536\n"));
    }
}
