//! The rules of each directive but the lists of syscalls, as `seccomp-util.c` adds them.
//!
//! systemd adds them with `seccomp_rule_add_exact`, which fails for a syscall that the architecture does not have. What
//! then happens differs between directives: the rule is skipped, or the whole filter. The functions return whether the
//! filter is installed.

use std::collections::BTreeSet;

use super::arches::{eafnosupport, o_creat};
use super::groups::{SystemdVersion, group_members};
use super::options::ReadOptions;
use super::settings::Directive;
use super::values::{self, all_namespaces};
use crate::ruleset::{Comparison, Op, RuleSet};
use callgate_bpf::SyscallTable;
use callgate_core::{Arch, Verdict};

const EPERM: Verdict = Verdict::errno(1);

/// `PROT_WRITE`, `PROT_EXEC` and `SHM_EXEC`.
const WRITE: u64 = 2;
const EXEC: u64 = 4;
const SHM_EXEC: u64 = 0o100_000;

/// `S_ISUID` and `S_ISGID`.
const SET_ID_BITS: [u64; 2] = [0o4000, 0o2000];

/// A comparison of an argument from 0 to 5.
fn test(arg: u8, op: Op, value: u64) -> Option<Comparison> {
    Comparison::new(arg, op, value)
}

/// All bits of a value are set.
fn has(arg: u8, bits: u64) -> Option<Comparison> {
    test(arg, Op::MaskedEq(bits), bits)
}

/// Adds a rule; `false` if the architecture does not have the syscall.
fn add(
    set: &mut RuleSet<()>,
    name: &str,
    tests: impl IntoIterator<Item = Option<Comparison>>,
    verdict: Verdict,
) -> bool {
    let arch = set.arch();
    let exists = arch.number(name).is_some() || arch.multiplexed(name).is_some();
    if exists {
        let tests: Vec<Comparison> = tests.into_iter().flatten().collect();
        set.add_syscall_if_known(name, &tests, verdict, ());
    }
    exists
}

/// The rules of a boolean directive.
pub(super) fn switch(directive: Directive, set: &mut RuleSet<()>, options: &ReadOptions) -> bool {
    let group = |set: &mut RuleSet<()>, name| {
        for member in group_members(name, options.version).unwrap_or_default() {
            if !options.lacks(member) {
                add(set, member, [], EPERM);
            }
        }
        true
    };
    match directive {
        Directive::ProtectKernelModules => group(set, "@module"),
        Directive::ProtectClock => group(set, "@clock"),
        Directive::PrivateDevices => group(set, "@raw-io"),
        Directive::ProtectKernelLogs => add(set, "syslog", [], EPERM),
        Directive::ProtectHostname => {
            add(set, "sethostname", [], EPERM) && add(set, "setdomainname", [], EPERM)
        }
        Directive::ProtectKernelTunables => {
            !matches!(set.arch(), Arch::Aarch64 | Arch::Loongarch64 | Arch::Riscv64 | Arch::X32)
                && add(set, "_sysctl", [], EPERM)
        }
        Directive::RestrictRealtime => realtime(set),
        Directive::RestrictSuidSgid => set_id_bits(set, options),
        Directive::MemoryDenyWriteExecute => memory(set),
        _ => false,
    }
}

/// Denies policies of the scheduler other than SCHED_OTHER (0), SCHED_BATCH (3) and SCHED_IDLE (5).
fn realtime(set: &mut RuleSet<()>) -> bool {
    for policy in [1, 2, 4] {
        add(set, "sched_setscheduler", [test(1, Op::Eq, policy)], EPERM);
    }
    add(set, "sched_setscheduler", [test(1, Op::Gt, 5)], EPERM)
}

/// Denies modes with the set-user-ID or the set-group-ID bit. The mode of `openat2` is in memory, so it fails with ENOSYS.
fn set_id_bits(set: &mut RuleSet<()>, options: &ReadOptions) -> bool {
    const MODES: [(&str, u8); 8] = [
        ("chmod", 1),
        ("fchmod", 1),
        ("fchmodat", 2),
        ("mkdir", 1),
        ("mkdirat", 2),
        ("mknod", 1),
        ("mknodat", 2),
        ("creat", 1),
    ];
    let native = options.native;
    let (enosys, creates) = (Verdict::errno(native.enosys()), o_creat(native));
    let mut any = false;
    for bit in SET_ID_BITS {
        for (name, arg) in MODES {
            any |= add(set, name, [has(arg, bit)], EPERM);
        }
        any |= match options.lacks("fchmodat2") {
            // systemd then uses the number of the native architecture.
            true => set.arch() == native && add(set, "fchmodat2", [], enosys),
            false => add(set, "fchmodat2", [has(2, bit)], EPERM),
        };
        any |= add(set, "open", [has(1, creates), has(2, bit)], EPERM);
        any |= add(set, "openat", [has(2, creates), has(3, bit)], EPERM);
        any |= add(set, "openat2", [], enosys);
    }
    any
}

/// Denies memory that is writable and executable, and making memory executable.
fn memory(set: &mut RuleSet<()>) -> bool {
    let (map, denied, has_shmat) = match set.arch() {
        Arch::X86 | Arch::S390 => ("mmap2", Some("mmap"), false),
        Arch::Ppc | Arch::Ppc64 | Arch::Ppc64le | Arch::S390x => ("mmap", None, false),
        Arch::Arm => ("mmap2", None, true),
        Arch::X86_64 | Arch::X32 | Arch::Aarch64 | Arch::Loongarch64 | Arch::Riscv64 => {
            ("mmap", None, true)
        }
        _ => return false,
    };
    add(set, map, [has(2, WRITE | EXEC)], EPERM)
        && denied.is_none_or(|name| add(set, name, [], EPERM))
        && add(set, "mprotect", [has(2, EXEC)], EPERM)
        && add(set, "pkey_mprotect", [has(2, EXEC)], EPERM)
        && (!has_shmat || add(set, "shmat", [has(2, SHM_EXEC)], EPERM))
}

/// Locks the personality.
pub(super) fn personality(set: &mut RuleSet<()>, personality: u64) -> bool {
    add(set, "personality", [test(0, Op::Ne, personality)], EPERM)
}

/// Whether these flags retain all namespaces, so that nothing is denied.
pub(super) fn retains_all(retained: u64, version: SystemdVersion) -> bool {
    let all = all_namespaces(version);
    retained & all == all
}

/// Denies namespaces other than those retained. The flags of `clone3` are in memory, so it fails with ENOSYS.
pub(super) fn namespaces(set: &mut RuleSet<()>, retained: u64, options: &ReadOptions) -> bool {
    let retains_none = retained & all_namespaces(options.version) == 0;
    add(set, "clone3", [], Verdict::errno(options.native.enosys()));
    let is_added = match retains_none {
        true => add(set, "setns", [], EPERM),
        false => add(set, "setns", [test(1, Op::Eq, 0)], EPERM),
    };
    let flags_of_clone = u8::from(matches!(set.arch(), Arch::S390 | Arch::S390x));
    is_added
        && values::namespaces().filter(|(_, flag)| retained & flag != *flag).all(|(_, flag)| {
            add(set, "unshare", [has(0, flag)], EPERM)
                && add(set, "clone", [has(flags_of_clone, flag)], EPERM)
                && (retains_none || add(set, "setns", [has(1, flag)], EPERM))
        })
}

/// Denies address families. No filter is installed where `socketcall` also reaches `socket`.
pub(super) fn families(
    set: &mut RuleSet<()>,
    listed: &BTreeSet<u16>,
    allows: bool,
    native: Arch,
) -> bool {
    let is_supported = matches!(
        set.arch(),
        Arch::X86_64
            | Arch::X32
            | Arch::Arm
            | Arch::Aarch64
            | Arch::Loongarch64
            | Arch::Mips64
            | Arch::Mipsel64
            | Arch::Mips64n32
            | Arch::Mipsel64n32
            | Arch::Riscv64
    );
    if !is_supported {
        return false;
    }
    let denied = Verdict::errno(eafnosupport(native));
    let mut deny = |op, family: u16| add(set, "socket", [test(0, op, family.into())], denied);
    match (allows, listed.first(), listed.last()) {
        (true, Some(first), Some(last)) => {
            let others = (1..values::family_end()).filter(|family| !listed.contains(family));
            deny(Op::Lt, *first)
                && deny(Op::Gt, *last)
                && others.into_iter().all(|family| deny(Op::Eq, family))
        }
        (true, _, _) => add(set, "socket", [], denied),
        (false, _, _) => listed.iter().all(|family| deny(Op::Eq, *family)),
    }
}
