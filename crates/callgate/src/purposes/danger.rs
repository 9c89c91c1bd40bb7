//! Syscalls that are dangerous to allow: all, those that a filter allows, and those that only one of two filters allows.
//!
//! The list is a judgement, not a proof. It contains syscalls through which a process leaves its sandbox, reads or
//! changes other processes, changes the machine, or reaches parts of the kernel that had many vulnerabilities. Most
//! also need a capability; a filter does not know whether the process will have it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use Severity::{Critical, High, Moderate};
use callgate_bpf::SyscallTable;
use callgate_codegen::query;
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, Verdict, Word};

use crate::explain::{Explanation, Permission};

/// How much an attacker gains with a dangerous syscall, if nothing else prevents it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// More of the kernel's code, or a setting or fact of the machine.
    Moderate,
    /// Other processes, or what is outside of the sandbox.
    High,
    /// The kernel or the hardware.
    Critical,
}

/// Why a syscall is dangerous to allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Danger {
    /// The syscall.
    pub syscall: &'static str,
    /// The reason in one line, as a sentence without subject and full stop: "loads code into the kernel".
    pub reason: &'static str,
    /// How much an attacker gains.
    pub severity: Severity,
    /// The values that are dangerous, each one alone; empty if all arguments are.
    pub values: &'static [DangerousValue],
}

/// A value of an argument that makes a syscall dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DangerousValue {
    /// The index of the argument. With `clone` on s390 and s390x, it is the other one of the first two.
    pub arg: u8,
    /// The bits that matter, of the low half.
    pub mask: u32,
    /// Their values.
    pub bits: u32,
}

impl Danger {
    /// Whether a filter permits the syscall with dangerous arguments. `func` is what the filter does with the syscall.
    pub fn is_permitted(&self, store: &Store, func: Func, arch: Arch) -> bool {
        if self.values.is_empty() {
            return store.verdicts(func).into_iter().any(Verdict::permits);
        }
        self.values.iter().any(|value| self.permits_value(value, store, func, arch))
    }

    /// The dangerous values with which one filter permits the syscall and the other one does not. The functions are what they do
    /// with it.
    pub fn further_values(
        &self,
        store: &Store,
        [own, others]: [Func; 2],
        arch: Arch,
    ) -> Vec<&'static DangerousValue> {
        let permits = |func, value| self.permits_value(value, store, func, arch);
        self.values.iter().filter(|value| permits(own, value) && !permits(others, value)).collect()
    }

    /// Whether a filter permits the syscall with one of its dangerous values.
    pub(super) fn permits_value(
        &self,
        value: &DangerousValue,
        store: &Store,
        func: Func,
        arch: Arch,
    ) -> bool {
        let is_swapped = self.syscall == "clone" && matches!(arch, Arch::S390 | Arch::S390x);
        let arg = if is_swapped { value.arg ^ 1 } else { value.arg };
        Word::arg_low(arg).is_some_and(|word| {
            query::can_return(store, func, (word, value.mask, value.bits), Verdict::permits)
        })
    }
}

/// Why this syscall is dangerous to allow; `None` if it is not known to be.
pub fn danger(syscall: &str) -> Option<&'static Danger> {
    DANGERS.iter().find(|danger| danger.syscall == syscall)
}

/// Dangerous with any arguments.
const fn any(syscall: &'static str, severity: Severity, reason: &'static str) -> Danger {
    Danger { syscall, reason, severity, values: &[] }
}

/// Dangerous with these values of an argument only.
const fn some(
    syscall: &'static str,
    values: &'static [DangerousValue],
    severity: Severity,
    reason: &'static str,
) -> Danger {
    Danger { syscall, reason, severity, values }
}

/// An argument that is this number.
const fn equal(arg: u8, number: u32) -> DangerousValue {
    DangerousValue { arg, mask: u32::MAX, bits: number }
}

/// CLONE_NEWUSER (`include/uapi/linux/sched.h`).
const NEW_USER: &[DangerousValue] =
    &[DangerousValue { arg: 0, mask: 0x1000_0000, bits: 0x1000_0000 }];

/// TIOCSTI, with MIPS' number, and TIOCLINUX, which pastes the selection of a virtual console
/// (`include/uapi/asm-generic/ioctls.h`, `arch/mips/include/uapi/asm/ioctls.h`).
const TERMINAL: &[DangerousValue] = &[equal(1, 0x5412), equal(1, 0x5472), equal(1, 0x541c)];

/// ADDR_NO_RANDOMIZE and READ_IMPLIES_EXEC (`include/uapi/linux/personality.h`); bit 31 is set in the number that only
/// asks for the personality.
const LAYOUT: &[DangerousValue] = &[
    DangerousValue { arg: 0, mask: 0x8004_0000, bits: 0x0004_0000 },
    DangerousValue { arg: 0, mask: 0x8040_0000, bits: 0x0040_0000 },
];

/// The actions that read or clear the log (`include/linux/syslog.h`).
const LOG: &[DangerousValue] = &[equal(0, 2), equal(0, 3), equal(0, 4), equal(0, 5)];

/// Address families except AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK (`include/linux/socket.h`).
const RARE_FAMILIES: &[DangerousValue] = &{
    let mut families = [equal(0, 3); 41];
    let (mut family, mut index) = (3, 0);
    while family < 46 {
        if family != 10 && family != 16 {
            families[index] = equal(0, family);
            index += 1;
        }
        family += 1;
    }
    families
};

const OLD_X86: &str = "reaches rarely used code for x86 segments, which had many vulnerabilities";
const MOUNTS: &str = "changes mounts, and so what paths inside and outside of the sandbox refer to";
const CLOCK: &str =
    "sets the clock of the whole machine, which breaks certificates, logs and timeouts";
const KEYS: &str = "reaches the kernel's keyrings, which containers of the same user share";
const URING: &str =
    "opens, reads and sends through a ring in memory; no filter sees these operations";
const HARDWARE: &str = "accesses hardware directly";

/// All dangerous syscalls, sorted by name.
pub(super) static DANGERS: &[Danger] = &[
    any("acct", Moderate, "makes the kernel write a record of every process that ends to a file"),
    any("add_key", Moderate, KEYS),
    any(
        "bpf",
        Critical,
        "loads programs into the kernel; errors of its verifier gave attackers the whole machine",
    ),
    any("chroot", High, "changes the root directory; a privileged process leaves a chroot with it"),
    any("clock_settime", Moderate, CLOCK),
    any("clock_settime64", Moderate, CLOCK),
    some(
        "clone",
        NEW_USER,
        Moderate,
        "creates user namespaces, in which code without privileges reaches more of the kernel",
    ),
    any(
        "clone3",
        Moderate,
        "creates namespaces; its flags are in memory, so no filter can deny only that",
    ),
    any("create_module", Critical, "loads code into the kernel"),
    any(
        "delete_module",
        Critical,
        "removes modules, also security modules and drivers, from the kernel",
    ),
    any("fanotify_init", High, "watches file accesses of other processes, and can block them"),
    any("finit_module", Critical, "loads code into the kernel"),
    any("fsconfig", High, MOUNTS),
    any("fsmount", High, MOUNTS),
    any("fsopen", High, MOUNTS),
    any("fspick", High, MOUNTS),
    any("init_module", Critical, "loads code into the kernel"),
    any("io_uring_enter", High, URING),
    any("io_uring_register", High, URING),
    any("io_uring_setup", High, URING),
    some(
        "ioctl",
        TERMINAL,
        High,
        "types into the terminal outside of the sandbox (TIOCSTI, TIOCLINUX)",
    ),
    any("ioperm", Critical, HARDWARE),
    any("iopl", Critical, HARDWARE),
    any("kcmp", Moderate, "reveals which kernel objects other processes use"),
    any("kexec_file_load", Critical, "replaces the running kernel"),
    any("kexec_load", Critical, "replaces the running kernel"),
    any("keyctl", Moderate, KEYS),
    any("lookup_dcookie", Moderate, "reveals paths of files that any process of the machine uses"),
    any("modify_ldt", Moderate, OLD_X86),
    any("mount", High, MOUNTS),
    any("mount_setattr", High, MOUNTS),
    any("move_mount", High, MOUNTS),
    any(
        "open_by_handle_at",
        High,
        "opens files that no path of the sandbox reaches; containers were escaped with it",
    ),
    any("open_tree", High, MOUNTS),
    any("open_tree_attr", High, MOUNTS),
    any("pciconfig_iobase", Critical, HARDWARE),
    any("pciconfig_read", Critical, HARDWARE),
    any("pciconfig_write", Critical, HARDWARE),
    any(
        "perf_event_open",
        Moderate,
        "measures other processes and the kernel, in code that had many vulnerabilities",
    ),
    some(
        "personality",
        LAYOUT,
        Moderate,
        "disables the randomization of addresses and makes data executable",
    ),
    any("pidfd_getfd", High, "takes open files and sockets from other processes"),
    any("pivot_root", High, MOUNTS),
    any("process_vm_readv", High, "reads the memory of other processes"),
    any("process_vm_writev", High, "writes to the memory of other processes"),
    any("ptrace", High, "controls other processes; before Linux 4.8 it also evaded filters"),
    any("quotactl", Moderate, "changes disk quotas of other users"),
    any("quotactl_fd", Moderate, "changes disk quotas of other users"),
    any("reboot", Moderate, "stops or restarts the machine"),
    any("request_key", Moderate, KEYS),
    any("rtas", Critical, HARDWARE),
    any("s390_pci_mmio_read", Critical, HARDWARE),
    any("s390_pci_mmio_write", Critical, HARDWARE),
    any("setns", High, "enters namespaces of other processes, and so leaves the own ones"),
    any("settimeofday", Moderate, CLOCK),
    some("socket", RARE_FAMILIES, Moderate, "opens address families whose code is rarely tested"),
    any(
        "socketcall",
        Moderate,
        "opens every address family; its arguments are in memory, where no filter sees them",
    ),
    any("stime", Moderate, CLOCK),
    any("swapoff", Moderate, "removes swap space of the whole machine"),
    any(
        "swapon",
        Moderate,
        "adds swap space to the machine, from which memory of all processes can be read",
    ),
    some(
        "syslog",
        LOG,
        Moderate,
        "reads and clears the kernel's log, which reveals addresses and activity of the machine",
    ),
    any("umount", High, MOUNTS),
    any("umount2", High, MOUNTS),
    some(
        "unshare",
        NEW_USER,
        Moderate,
        "creates user namespaces, in which code without privileges reaches more of the kernel",
    ),
    any("uselib", Moderate, "loads a library without the checks of the dynamic linker; obsolete"),
    any(
        "userfaultfd",
        Moderate,
        "suspends the kernel at a chosen page fault, which makes races in it exploitable",
    ),
    any("vm86", Moderate, OLD_X86),
    any("vm86old", Moderate, OLD_X86),
];

/// Syscalls that a filter allows and that are dangerous for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedDanger {
    /// The reason; see [`Danger::reason`](super::Danger::reason).
    pub reason: &'static str,
    /// How much an attacker gains.
    pub severity: Severity,
    /// Whether they are allowed for some arguments only.
    pub is_partial: bool,
    /// The architectures on which they are allowed, in the order of the explanation.
    pub arches: Vec<Arch>,
    /// Their names, sorted.
    pub syscalls: Vec<&'static str>,
}

/// The dangerous syscalls that a filter allows: the most severe first, of these those that it always allows, sorted by
/// their first name.
pub fn allowed_dangers(explanation: &Explanation) -> Vec<AllowedDanger> {
    let mut by_name: BTreeMap<(&'static str, bool), AllowedDanger> = BTreeMap::new();
    for arch in &explanation.arches {
        for group in &arch.groups {
            let permission = Permission::of(&group.outcome);
            for (_, name) in &group.syscalls {
                let Some(danger) = danger(name).filter(|_| arch.dangers.contains(name)) else {
                    continue;
                };
                let is_partial = permission != Permission::Always;
                let new = || AllowedDanger {
                    reason: danger.reason,
                    severity: danger.severity,
                    is_partial,
                    arches: Vec::new(),
                    syscalls: vec![*name],
                };
                let own = by_name.entry((name, is_partial)).or_insert_with(new);
                if !own.arches.contains(&arch.arch) {
                    own.arches.push(arch.arch);
                }
            }
        }
    }
    let mut found: Vec<AllowedDanger> = Vec::new();
    for danger in by_name.into_values() {
        let is_same = |other: &&mut AllowedDanger| {
            (other.reason, other.is_partial, &other.arches)
                == (danger.reason, danger.is_partial, &danger.arches)
        };
        match found.iter_mut().find(is_same) {
            Some(other) => other.syscalls.extend(danger.syscalls),
            None => found.push(danger),
        }
    }
    found.sort_by_key(|danger| (Reverse(danger.severity), danger.is_partial));
    found
}

/// A dangerous syscall that a filter allows, and the filter that it is compared with does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FurtherDanger {
    /// The syscall, and why it is dangerous.
    pub danger: &'static Danger,
    /// The architectures on which it is allowed.
    pub arches: Vec<Arch>,
    /// The dangerous values that only this filter allows; empty if all arguments are dangerous.
    pub values: Vec<&'static DangerousValue>,
}

/// The dangerous syscalls that a filter permits and another filter denies, on these architectures, each dangerous value
/// on its own: the most severe first, then by name.
pub fn further_dangers(
    store: &Store,
    filter: Func,
    other: Func,
    arches: &[Arch],
) -> Vec<FurtherDanger> {
    let mut found: Vec<FurtherDanger> = Vec::new();
    for danger in DANGERS {
        let mut further = FurtherDanger { danger, arches: Vec::new(), values: Vec::new() };
        for arch in arches.iter().copied() {
            let Some(nr) = arch.number(danger.syscall) else { continue };
            let [own, others] = [filter, other].map(|filter| {
                let numbers = store.follow(filter, Word::ARCH, arch.token());
                store.follow(numbers, Word::NR, nr)
            });
            let values = danger.further_values(store, [own, others], arch);
            let is_further = match danger.values.is_empty() {
                true => {
                    danger.is_permitted(store, own, arch)
                        && !danger.is_permitted(store, others, arch)
                }
                false => !values.is_empty(),
            };
            if is_further {
                further.arches.push(arch);
                for value in values {
                    if !further.values.contains(&value) {
                        further.values.push(value);
                    }
                }
            }
        }
        if !further.arches.is_empty() {
            found.push(further);
        }
    }
    found.sort_by_key(|further| std::cmp::Reverse(further.danger.severity));
    found
}

#[cfg(test)]
mod tests {
    use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
    use callgate_core::{SyscallSet, Verdict};

    use crate::explain::{ArchExplanation, Clause, Group, Outcome};

    use super::*;

    fn group(outcome: Outcome, names: &[&'static str]) -> Group {
        Group { outcome, syscalls: names.iter().map(|name| (0, *name)).collect() }
    }

    fn depends() -> Outcome {
        let clause = Clause { conditions: Vec::new(), verdict: Verdict::ALLOW };
        Outcome::Depends { clauses: vec![clause], otherwise: Verdict::errno(1) }
    }

    #[test]
    fn dangers_are_grouped_by_reason_and_sorted_by_severity() {
        let allowed = Outcome::Always(Verdict::ALLOW);
        let explanation = Explanation {
            arches: vec![
                ArchExplanation {
                    arch: Arch::X86_64,
                    groups: vec![
                        group(allowed.clone(), &["swapon", "read", "finit_module", "init_module"]),
                        group(depends(), &["socket", "ptrace"]),
                        group(Outcome::Always(Verdict::errno(1)), &["bpf"]),
                    ],
                    unnamed: Vec::new(),
                    // Not socket: the condition leaves out the families that are dangerous.
                    dangers: vec!["finit_module", "init_module", "ptrace", "swapon"],
                },
                ArchExplanation {
                    arch: Arch::X86,
                    groups: vec![group(allowed, &["ptrace"])],
                    unnamed: Vec::new(),
                    dangers: vec!["ptrace"],
                },
            ],
            other_arches: None,
            checks_arch: true,
            notes: Vec::new(),
        };
        let found = allowed_dangers(&explanation);
        let found: Vec<(&[&str], bool, &[Arch])> = found
            .iter()
            .map(|danger| (danger.syscalls.as_slice(), danger.is_partial, danger.arches.as_slice()))
            .collect();
        assert_eq!(
            found,
            [
                (&["finit_module", "init_module"][..], false, &[Arch::X86_64][..]),
                (&["ptrace"], false, &[Arch::X86]),
                (&["ptrace"], true, &[Arch::X86_64]),
                (&["swapon"], false, &[Arch::X86_64]),
            ]
        );
    }

    fn allowing(store: &mut Store, rules: &[(&str, Option<(u8, u64)>)]) -> Func {
        let rules = rules.iter().map(|(name, value)| Rule {
            syscalls: SyscallSet::one(Arch::X86_64.number(name).unwrap()),
            when: match value {
                Some((arg, value)) => {
                    Condition::test(Test::eq(Field::arg_low(*arg).unwrap(), *value))
                }
                None => Condition::always(),
            },
            verdict: Verdict::ALLOW,
        });
        let section = Section::new(Arch::X86_64, rules.collect(), Verdict::errno(1));
        let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
        store.policy(&policy).unwrap()
    }

    #[test]
    fn only_what_the_other_filter_denies_is_listed() {
        let mut store = Store::default();
        let own = allowing(
            &mut store,
            &[
                ("read", None),
                ("ptrace", None),
                ("mount", None),
                ("bpf", None),
                ("socket", Some((0, 40))),
                ("clone", Some((0, 0x11))),
            ],
        );
        let other = allowing(&mut store, &[("ptrace", Some((0, 0))), ("socket", Some((0, 17)))]);
        let found = further_dangers(&store, own, other, &[Arch::X86_64]);
        let names: Vec<&str> = found.iter().map(|further| further.danger.syscall).collect();
        assert_eq!(names, ["bpf", "mount", "socket"]);
        assert_eq!(found[2].values.iter().map(|value| value.bits).collect::<Vec<_>>(), [40]);
        assert_eq!(further_dangers(&store, other, other, &[Arch::X86_64]), []);
    }

    /// What is granted at any time must not be dangerous.
    #[cfg(feature = "sources")]
    #[test]
    fn runtimes_are_granted_nothing_dangerous() {
        use callgate_trace::generate::LanguageRuntime;
        for runtime in LanguageRuntime::ALL {
            for call in runtime.calls() {
                let (name, granted) = (call.needed.name, call.needed.values);
                let danger = super::super::danger(name);
                // Only with values that the runtime does not use: new namespaces of clone.
                let values = danger.map_or(&[][..], |danger| danger.values);
                let used = granted.unwrap_or_default();
                assert!(danger.is_none() || !values.is_empty(), "{name}");
                assert!(
                    values.iter().all(|value| used
                        .iter()
                        .all(|used| *used as u32 & value.mask != value.bits)),
                    "{name}"
                );
                assert!(danger.is_none() || granted.is_some(), "{name}");
            }
        }
    }
}
