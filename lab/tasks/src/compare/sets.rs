//! The rule sets of the comparison.
//!
//! The project's own rule sets are here, so that the comparison needs no other data. Other profiles come from a
//! directory, and systemd's list of syscalls from an installed systemd.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use callgate::{Arch, Verdict};
use callgate_bpf::diagnostic::Severity;
use callgate_core::policy::{Cmp, Field, Test};
use callgate_formats::{CONTAINER_DEFAULT, oci};

use super::generate;
use super::plain;
use super::rules::{Alternative, Rules};
use super::text;
use callgate_tasks::Result;
use callgate_tasks::files::{files, stem};

/// Rules with a name.
pub(super) struct RuleSet {
    pub(super) name: String,
    /// A sentence that describes them.
    pub(super) about: String,
    pub(super) rules: Rules,
}

impl RuleSet {
    fn new(name: &str, about: &str, rules: Rules) -> RuleSet {
        RuleSet { name: name.to_owned(), about: about.to_owned(), rules }
    }
}

const ONE: &[Arch] = &[Arch::X86_64];
const THREE: &[Arch] = &[Arch::X86_64, Arch::X86, Arch::X32];

/// All rule sets: the project's own, then those of a directory. Unavailable ones are added to `notes`.
pub(super) fn all(profiles: Option<&Path>, notes: &mut Vec<String>) -> Result<Vec<RuleSet>> {
    let mut sets = own()?;
    match systemd() {
        Ok(set) => sets.push(set),
        Err(why) => notes.push(format!("systemd's `@system-service` is not measured: {why}.")),
    }
    match profiles {
        Some(directory) => sets.extend(of_directory(directory, notes)?),
        None => notes.push("No profiles were given with `--profiles`.".to_owned()),
    }
    Ok(sets)
}

/// The names of all rule sets, with their rules in the drivers' form.
pub(crate) fn texts(
    profiles: Option<&Path>,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, String)>> {
    let sets = all(profiles, notes)?;
    Ok(sets.into_iter().map(|set| (set.name, text::write(&set.rules))).collect())
}

/// The rules of the built-in container profile.
pub(super) fn container() -> Result<Rules> {
    profile(CONTAINER_DEFAULT, ONE)
}

/// The project's own rule sets.
pub(super) fn own() -> Result<Vec<RuleSet>> {
    let one = profile(CONTAINER_DEFAULT, ONE)?;
    let allow_only = one.only(Verdict::ALLOW);
    Ok(vec![
        RuleSet::new("container-default", "The built-in profile, x86_64.", one),
        RuleSet::new(
            "container-default, allow only",
            "The same with one action besides the default, for compilers that support no more.",
            allow_only,
        ),
        RuleSet::new(
            "container-default, three architectures",
            "The built-in profile for x86_64, x86 and x32 in one program.",
            profile(CONTAINER_DEFAULT, THREE)?,
        ),
        RuleSet::new(
            "argument-heavy",
            "An allowlist of a network server, with conditions on arguments where they are meaningful.",
            argument_heavy()?,
        ),
        RuleSet::new(
            "ten syscalls",
            "An allowlist of a program that reads, writes and exits.",
            list(&TEN)?,
        ),
        RuleSet::new(
            "200 scattered syscalls",
            "An allowlist of 200 numbers, no two of them adjacent.",
            generate::numbers(200),
        ),
        RuleSet::new(
            "800 ioctl commands",
            "One syscall with 800 values of one argument, encoded like commands of device drivers.",
            generate::commands(800),
        ),
        RuleSet::new(
            "800 unpatterned values",
            "One syscall with 800 random 32-bit values of one argument.",
            generate::values(800),
        ),
        RuleSet::new(
            "32 argument pairs",
            "32 syscalls, each with conditions on a pair of values in two arguments.",
            generate::pairs(32),
        ),
        RuleSet::new(
            "denylist",
            "A denylist of the syscalls that administer a system; all others are allowed.",
            deny()?,
        ),
        RuleSet::new(
            "desktop denylist",
            "A denylist as Flatpak's for desktop applications.",
            desktop()?,
        ),
    ])
}

const TEN: [&str; 10] = [
    "read",
    "write",
    "close",
    "fstat",
    "mmap",
    "munmap",
    "brk",
    "rt_sigreturn",
    "futex",
    "exit_group",
];

const ADMINISTRATION: [&str; 34] = [
    "acct",
    "add_key",
    "bpf",
    "clock_adjtime",
    "clock_settime",
    "create_module",
    "delete_module",
    "finit_module",
    "init_module",
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "lookup_dcookie",
    "mount",
    "move_pages",
    "name_to_handle_at",
    "nfsservctl",
    "open_by_handle_at",
    "perf_event_open",
    "pivot_root",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "query_module",
    "quotactl",
    "reboot",
    "request_key",
    "settimeofday",
    "swapoff",
    "swapon",
    "umount2",
];

fn number(name: &str) -> Result<u32> {
    Arch::X86_64.number(name).ok_or_else(|| format!("x86_64 does not have the syscall {name}"))
}

fn list(names: &[&str]) -> Result<Rules> {
    let allow = |name: &&str| Ok((number(name)?, vec![Alternative::always(Verdict::ALLOW)]));
    let syscalls: Result<BTreeMap<_, _>> = names.iter().map(allow).collect();
    Ok(Rules::new(Arch::X86_64, Verdict::errno(1), syscalls?))
}

fn deny() -> Result<Rules> {
    let deny = |name: &&str| Ok((number(name)?, vec![Alternative::always(Verdict::errno(1))]));
    let syscalls: Result<BTreeMap<_, _>> = ADMINISTRATION.iter().map(deny).collect();
    Ok(Rules::new(Arch::X86_64, Verdict::ALLOW, syscalls?))
}

/// Flatpak's denylist (`setup_seccomp` in common/flatpak-run.c) for an application that may not debug, and may use
/// only the address families of the network and of local sockets.
fn desktop() -> Result<Rules> {
    const REFUSED: [&str; 21] = [
        "syslog",
        "uselib",
        "acct",
        "quotactl",
        "add_key",
        "keyctl",
        "request_key",
        "move_pages",
        "mbind",
        "get_mempolicy",
        "set_mempolicy",
        "migrate_pages",
        "unshare",
        "setns",
        "mount",
        "umount2",
        "pivot_root",
        "chroot",
        "modify_ldt",
        "perf_event_open",
        "ptrace",
    ];
    const ABSENT: [&str; 8] = [
        "clone3",
        "open_tree",
        "move_mount",
        "fsopen",
        "fsconfig",
        "fsmount",
        "fspick",
        "mount_setattr",
    ];
    const CLONE_NEWUSER: u64 = 0x1000_0000;
    const TIOCSTI: u64 = 0x5412;
    const TIOCLINUX: u64 = 0x541c;
    // AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK.
    const FAMILIES: [u64; 5] = [0, 1, 2, 10, 16];
    let low = |arg, cmp, value| Field::arg_low(arg).map(|field| Test::new(field, cmp, value));
    let mut rules = Rules::new(Arch::X86_64, Verdict::ALLOW, BTreeMap::new());
    let (refused, absent) = (Verdict::errno(1), Verdict::errno(38));
    let mut add = |name: &str, tests: Vec<Test>, verdict| {
        let alternatives = rules.blocks[0].syscalls.entry(number(name)?).or_default();
        alternatives.push(Alternative { tests, verdict });
        Ok::<(), String>(())
    };
    for name in REFUSED {
        add(name, Vec::new(), refused)?;
    }
    for name in ABSENT {
        add(name, Vec::new(), absent)?;
    }
    add("clone", bits(0, CLONE_NEWUSER, CLONE_NEWUSER), refused)?;
    for request in [TIOCSTI, TIOCLINUX] {
        add("ioctl", low(1, Cmp::Eq, request).into_iter().collect(), refused)?;
    }
    add("personality", low(0, Cmp::Ne, 0).into_iter().collect(), refused)?;
    let other = FAMILIES.iter().filter_map(|family| low(0, Cmp::Ne, *family));
    add("socket", other.collect(), Verdict::errno(97))?;
    Ok(rules)
}

/// `argument == value`, for any of the values.
fn any_of(arg: u8, values: &[u64]) -> Vec<Vec<Test>> {
    let eq = |value: &u64| Field::arg(arg).map(|field| vec![Test::eq(field, *value)]);
    values.iter().filter_map(eq).collect()
}

/// The masked bits equal the value.
fn bits(arg: u8, mask: u64, value: u64) -> Vec<Test> {
    Field::arg(arg).map(|field| Test::masked_eq(field, mask, value)).into_iter().collect()
}

fn compared(arg: u8, cmp: Cmp, value: u64) -> Vec<Test> {
    Field::arg(arg).map(|field| Test::new(field, cmp, value)).into_iter().collect()
}

/// The rules of a server with threads and epoll.
fn argument_heavy() -> Result<Rules> {
    let always = [
        "read",
        "write",
        "readv",
        "writev",
        "close",
        "fstat",
        "lseek",
        "pread64",
        "pwrite64",
        "munmap",
        "brk",
        "rt_sigaction",
        "rt_sigprocmask",
        "rt_sigreturn",
        "sigaltstack",
        "epoll_wait",
        "accept4",
        "bind",
        "listen",
        "connect",
        "getsockname",
        "getpeername",
        "openat",
        "newfstatat",
        "clock_gettime",
        "clock_nanosleep",
        "sched_yield",
        "getpid",
        "gettid",
        "exit",
        "exit_group",
    ];
    // Sums of PROT_*, MAP_*, SOCK_* and O_* of the headers.
    let conditional: [(&str, Vec<Vec<Test>>); 17] = [
        ("mmap", vec![bits(2, 4, 0), [bits(2, 2, 0), bits(3, 2, 2)].concat()]),
        ("mprotect", vec![bits(2, 4, 0)]),
        ("madvise", any_of(2, &[0, 1, 2, 3, 4, 8, 14, 15])),
        ("futex", any_of(1, &[0, 1, 9, 10, 0x80, 0x81, 0x89, 0x8a, 0x109, 0x189])),
        (
            "socket",
            vec![
                [any_of(0, &[1]).concat(), bits(1, !0x8_0800, 1)].concat(),
                [any_of(0, &[2]).concat(), bits(1, !0x8_0800, 1), any_of(2, &[6]).concat()]
                    .concat(),
                [any_of(0, &[10]).concat(), bits(1, !0x8_0800, 1), any_of(2, &[6]).concat()]
                    .concat(),
                [any_of(0, &[2]).concat(), bits(1, !0x8_0800, 2)].concat(),
            ],
        ),
        (
            "setsockopt",
            [(1, 2), (1, 9), (1, 15), (6, 1), (6, 4), (6, 5), (6, 6), (6, 9), (41, 26)]
                .iter()
                .map(|(level, name)| {
                    [any_of(1, &[*level]).concat(), any_of(2, &[*name]).concat()].concat()
                })
                .collect(),
        ),
        ("getsockopt", vec![[any_of(1, &[1]).concat(), any_of(2, &[4]).concat()].concat()]),
        ("shutdown", vec![compared(1, Cmp::Le, 2)]),
        ("recvmsg", vec![bits(2, !0x4000_0062, 0)]),
        ("sendmsg", vec![bits(2, !0x4040, 0)]),
        ("fcntl", any_of(1, &[1, 2, 3, 4, 1030])),
        (
            "ioctl",
            any_of(1, &[0x5401, 0x5413, 0x5421, 0x541b, 0x5450, 0x5451, 0x8004_5430, 0x4004_667e]),
        ),
        ("epoll_ctl", vec![[compared(1, Cmp::Ge, 1), compared(2, Cmp::Lt, 0x8000_0000)].concat()]),
        ("epoll_create1", any_of(0, &[0x8_0000])),
        ("prctl", any_of(0, &[3, 4, 15, 16, 38, 39, 0x5356_4d41])),
        ("clone", vec![bits(0, 0x7e02_0000, 0)]),
        ("tgkill", vec![[compared(0, Cmp::Gt, 1), compared(2, Cmp::Ne, 9)].concat()]),
    ];
    let mut rules = list(&always)?;
    for (name, alternatives) in conditional {
        let verdict = Verdict::ALLOW;
        let alternatives = alternatives.into_iter().map(|tests| Alternative { tests, verdict });
        rules.blocks[0].syscalls.insert(number(name)?, alternatives.collect());
    }
    Ok(rules)
}

/// A container profile, without ENOSYS for unknown numbers, which runtimes add.
fn profile(text: &str, arches: &[Arch]) -> Result<Rules> {
    let kernel = "6.18".parse().map_err(|error| format!("the kernel: {error}"))?;
    let options = oci::ReadOptions {
        arches: arches.to_vec(),
        enosys_above: Some(oci::EnosysAbove::Off),
        dialect: Some(oci::Dialect::Docker).filter(|_| text == CONTAINER_DEFAULT),
        ..oci::ReadOptions::new(Arch::X86_64, kernel)
    };
    match oci::read(text, &options) {
        Ok(profile) => Rules::from_policy(&profile.policy),
        Err(messages) => {
            let errors = messages.iter().filter(|message| message.severity == Severity::Error);
            Err(errors.map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
    }
}

/// The profiles of a directory, by name. Files with errors are omitted and added to `notes`.
fn of_directory(directory: &Path, notes: &mut Vec<String>) -> Result<Vec<RuleSet>> {
    let mut sets = Vec::new();
    for path in files(directory, "rules")? {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let rules = text::parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        sets.push(RuleSet::new(&stem(&path), "Rules in the drivers' form.", rules));
    }
    for path in files(directory, "json")? {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = stem(&path);
        if let Some(rules) = plain::read(&text) {
            let rules = rules.map_err(|error| format!("{}: {error}", path.display()))?;
            sets.push(RuleSet::new(&name, "Plain rules, x86_64.", rules));
            continue;
        }
        match (profile(&text, ONE), profile(&text, THREE)) {
            (Ok(one), Ok(three)) => {
                let also = format!("{name}, three architectures");
                sets.push(RuleSet::new(&name, "A container profile, x86_64.", one));
                let about = "The same for x86_64, x86 and x32 in one program.";
                sets.push(RuleSet::new(&also, about, three));
            }
            (Err(error), _) | (_, Err(error)) => {
                notes.push(format!("`{name}` is not measured: {error}."));
            }
        }
    }
    Ok(sets)
}

/// systemd's list for services, as the installed `systemd-analyze` prints it.
fn systemd() -> Result<RuleSet> {
    let output = Command::new("systemd-analyze")
        .args(["--no-pager", "syscall-filter"])
        .output()
        .map_err(|error| format!("systemd-analyze: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let groups = groups(&text);
    let mut names = Vec::new();
    let mut pending = vec!["@system-service"];
    let mut seen = Vec::new();
    while let Some(group) = pending.pop() {
        if seen.contains(&group) {
            continue;
        }
        seen.push(group);
        let members = groups.get(group).ok_or_else(|| format!("systemd-analyze has no {group}"))?;
        for member in members {
            if member.starts_with('@') { pending.push(member) } else { names.push(*member) }
        }
    }
    let known: Vec<&str> =
        names.into_iter().filter(|name| Arch::X86_64.number(name).is_some()).collect();
    let about = "systemd's allowlist for services, as printed by `systemd-analyze`, x86_64.";
    Ok(RuleSet::new("systemd @system-service", about, list(&known)?))
}

/// The members of each group: a line with its name, then indented lines, with comments between them.
fn groups(text: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut group = None;
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let word = line.trim();
        if line.starts_with('@') {
            group = Some(word);
            groups.entry(word).or_default();
        } else if let (Some(group), true) = (group, line.starts_with(' ') && !word.is_empty()) {
            groups.entry(group).or_default().push(word);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_sets_have_a_policy_and_a_text() {
        let sets = own().unwrap();
        assert!(sets.len() >= 9);
        for set in &sets {
            let rules = &set.rules;
            assert_eq!(text::parse(&text::write(rules)).as_ref(), Ok(rules), "{}", set.name);
            let policy = rules.to_policy().unwrap();
            assert_eq!(Rules::from_policy(&policy).as_ref(), Ok(rules), "{}", set.name);
        }
        let tests = |name: &str| {
            sets.iter().find(|set| set.name == name).map(|set| set.rules.tests()).unwrap()
        };
        assert!(tests("argument-heavy") > 80, "{}", tests("argument-heavy"));
        assert_eq!(tests("800 ioctl commands"), 800);
    }

    #[test]
    fn groups_of_systemd_are_read() {
        let text = "@a\n    # About a\n    read\n    @b\n\n@b\n    # b\n    write\n# done\n";
        let expected = BTreeMap::from([("@a", vec!["read", "@b"]), ("@b", vec!["write"])]);
        assert_eq!(groups(text), expected);
    }
}
