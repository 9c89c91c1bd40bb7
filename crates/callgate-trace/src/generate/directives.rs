//! The directives of systemd that limit arguments, where recorded values permit them.
//!
//! systemd installs a filter for each such directive, in addition to that of `SystemCallFilter=`. A directive is proposed
//! from the recorded values, and used only if it denies no recorded syscall: the MTBDD is queried for everything that the
//! directive denies in any supported version, for all recorded values at once. So a directive is not used if a value is
//! unknown, or has no name in a unit.
//!
//! Sources: systemd.exec(5), `src/shared/seccomp-util.c` of systemd, and the filters that the functions of
//! `libsystemd-shared-252.so` install, read back from the kernel. The numbers are those of the uapi
//! headers of Linux 6.18.

use super::draft::Draft;
use super::limitable;
use super::options::{DenyAction, LimitedArgs};
use crate::check::check;
use crate::recording::{Recording, SyscallId};
use callgate_bpf::SyscallTable;
use callgate_core::diagram::{DiagramError, Store};
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Arch, SyscallSet, Verdict};
use callgate_formats::annotated::AnnotatedWriter;
use callgate_formats::systemd;

/// A line of a unit, and the syscalls that it denies.
#[derive(Clone, Debug)]
pub(super) struct Directive {
    /// Key and value.
    pub(super) line: String,
    /// Why it is used, for people.
    pub(super) why: &'static str,
    denials: Vec<Denial>,
}

/// A syscall that a directive denies under a condition.
#[derive(Clone, Debug)]
struct Denial {
    syscall: &'static str,
    /// Alternatives, one of which must hold. All tests of an alternative must hold.
    when: Vec<Vec<ArgTest>>,
    verdict: Verdict,
    /// The architectures on which systemd denies it.
    on: &'static [Arch],
    /// Whether only some versions deny it. Such a denial rules out the directive if it applies to a recorded syscall,
    /// but is not part of the meaning of the profile.
    is_possible: bool,
}

/// A test of an argument: a comparison with a value, or bits and their required values.
#[derive(Clone, Copy, Debug)]
enum ArgTest {
    Is(u8, Cmp, u64),
    Bits(u8, u64, u64),
}

impl ArgTest {
    fn condition(self, arch: Arch) -> Condition {
        let (ArgTest::Is(arg, ..) | ArgTest::Bits(arg, ..)) = self;
        // On 32-bit ABIs, libseccomp compares only the low half.
        let field = if arch.has_wide_registers() { Field::arg(arg) } else { Field::arg_low(arg) };
        let Some(field) = field else { return Condition::never() };
        Condition::test(match self {
            ArgTest::Is(_, cmp, value) => Test::new(field, cmp, value),
            ArgTest::Bits(_, mask, wanted) => Test::masked_eq(field, mask, wanted),
        })
    }
}

impl Denial {
    fn new(syscall: &'static str, when: Vec<Vec<ArgTest>>) -> Denial {
        Denial { syscall, when, verdict: EPERM, on: ARCHES, is_possible: false }
    }

    fn always(syscall: &'static str) -> Denial {
        Denial::new(syscall, vec![Vec::new()])
    }

    /// Denied if all these bits of an argument are set.
    fn bits(syscall: &'static str, arg: u8, bits: u64) -> Denial {
        Denial::new(syscall, vec![vec![ArgTest::Bits(arg, bits, bits)]])
    }

    fn with(self, verdict: Verdict) -> Denial {
        Denial { verdict, ..self }
    }

    fn on(self, on: &'static [Arch]) -> Denial {
        Denial { on, ..self }
    }

    fn possible(self) -> Denial {
        Denial { is_possible: true, ..self }
    }

    fn rule(&self, arch: Arch) -> Option<Rule> {
        if !self.on.contains(&arch) {
            return None;
        }
        let all =
            |tests: &Vec<ArgTest>| Condition::all(tests.iter().map(|test| test.condition(arch)));
        let when = Condition::any(self.when.iter().map(all));
        Some(Rule {
            syscalls: SyscallSet::one(arch.number(self.syscall)?),
            when,
            verdict: self.verdict,
        })
    }
}

const EPERM: Verdict = Verdict::errno(1);
const ENOSYS: Verdict = Verdict::errno(38);
const EAFNOSUPPORT: Verdict = Verdict::errno(97);

/// The architectures on which the effect of the directives is known.
const ARCHES: &[Arch] = &[Arch::X86_64, Arch::X32, Arch::X86, Arch::Aarch64, Arch::Arm];
/// The architectures without `socketcall(2)`, `ipc(2)` and the old `mmap`, whose arguments are in memory.
const DIRECT_ARGS: &[Arch] = &[Arch::X86_64, Arch::X32, Arch::Aarch64, Arch::Arm];

/// The directives that deny no recorded syscall but `clone3`, and deny some arguments of a granted one.
pub(super) fn permitted(
    draft: &Draft,
    to: &AnnotatedWriter,
    store: &mut Store,
) -> Result<Vec<Directive>, DiagramError> {
    let applies = |directive: &Directive| {
        let mut denials = directive.denials.iter().filter(|denial| !denial.is_possible);
        denials.any(|denial| draft.is_granted_by(to, denial.syscall))
    };
    let mut permitted: Vec<Directive> = namespaces(draft).into_iter().filter(applies).collect();
    // A profile that only logs must not deny anything, nor must others deny arguments that the code may pass.
    let is_limited = draft.options.arguments != LimitedArgs::Off
        && draft.options.deny != DenyAction::Log
        && !draft.has_code()
        && draft.arches.iter().all(|arch| ARCHES.contains(arch));
    if !is_limited {
        return Ok(permitted);
    }
    let proposals = [
        address_families(draft),
        Some(write_execute()),
        Some(realtime()),
        Some(personality()),
        Some(set_id_bits()),
    ];
    for directive in proposals.into_iter().flatten() {
        if applies(&directive) && directive.denies_nothing_of(&draft.recorded, store)? {
            permitted.push(directive);
        }
    }
    Ok(permitted)
}

impl Directive {
    /// Whether it denies no recorded syscall.
    fn denies_nothing_of(
        &self,
        recorded: &Recording,
        store: &mut Store,
    ) -> Result<bool, DiagramError> {
        let mut sections: Vec<Section> = Vec::new();
        for arch in ARCHES.iter().copied() {
            let rules = self.denials.iter().filter_map(|denial| denial.rule(arch));
            match sections.iter_mut().find(|section| section.token() == arch.token()) {
                Some(section) => section.rules.extend(rules),
                None => sections.push(Section::new(arch, rules.collect(), Verdict::ALLOW)),
            }
        }
        let Ok(policy) = Policy::new(sections, Verdict::ALLOW) else { return Ok(false) };
        let filter = store.policy(&policy)?;
        Ok(check(store, filter, recorded)?.is_empty())
    }

    /// The rules that deny what every supported version denies.
    pub(super) fn rules(&self, arch: Arch) -> impl Iterator<Item = Rule> {
        let denials = self.denials.iter().filter(|denial| !denial.is_possible);
        denials.filter_map(move |denial| denial.rule(arch))
    }
}

/// All recorded values of an argument of a syscall, on all architectures; `None` if some are not known.
fn values(recorded: &Recording, syscall: &str, arg: usize) -> Option<Vec<u64>> {
    let mut values = Vec::new();
    let named = |(id, _): &(SyscallId, _)| id.name() == Some(syscall);
    for (_, stats) in recorded.syscalls().filter(named) {
        let known = stats.known(arg)?.all()?;
        values.extend_from_slice(known);
    }
    values.sort_unstable();
    values.dedup();
    Some(values)
}

/// `RestrictAddressFamilies=` denies other families to `socket`.
fn address_families(draft: &Draft) -> Option<Directive> {
    let families = values(&draft.recorded, "socket", 0)?;
    let names: Vec<&str> =
        families.iter().map(|family| family_name(*family)).collect::<Option<_>>()?;
    let (first, last) = (*families.first()?, *families.last()?);
    let mut when = vec![vec![ArgTest::Is(0, Cmp::Lt, first)], vec![ArgTest::Is(0, Cmp::Gt, last)]];
    let between = (first..=last).filter(|family| !families.contains(family));
    when.extend(between.map(|family| vec![ArgTest::Is(0, Cmp::Eq, family)]));
    Some(Directive {
        line: format!("RestrictAddressFamilies={}", names.join(" ")),
        why: "the families of all recorded sockets",
        denials: vec![Denial::new("socket", when).with(EAFNOSUPPORT).on(DIRECT_ARGS)],
    })
}

/// `RestrictNamespaces=` denies flags of `clone`, `unshare` and `setns`. `clone3` fails with ENOSYS, because its flags
/// are in memory. `setns` with flags 0, which means any namespace, is denied. It is used whether or not `clone3` was
/// recorded: libraries use `clone` instead.
fn namespaces(draft: &Draft) -> Option<Directive> {
    let used = draft.unit_namespaces()?;
    let (kept, denied): (Vec<_>, Vec<_>) =
        systemd::namespaces().partition(|(_, flag)| used & flag != 0);
    if denied.is_empty() {
        return None;
    }
    let any_of = |arg: u8| -> Vec<Vec<ArgTest>> {
        denied.iter().map(|(_, flag)| vec![ArgTest::Bits(arg, *flag, *flag)]).collect()
    };
    let names: Vec<&str> = kept.iter().map(|(name, _)| *name).collect();
    let mut setns = any_of(1);
    setns.push(vec![ArgTest::Is(1, Cmp::Eq, 0)]);
    let setns = if kept.is_empty() { Denial::always("setns") } else { Denial::new("setns", setns) };
    let clone = limitable::of("clone").next()?.common_position(&draft.arches)?;
    let denials = [
        Denial::new("clone", any_of(clone)),
        Denial::new("unshare", any_of(0)),
        setns,
        Denial::always("clone3").with(ENOSYS),
    ];
    Some(Directive {
        line: match names.as_slice() {
            [] => "RestrictNamespaces=yes".to_owned(),
            names => format!("RestrictNamespaces={}", names.join(" ")),
        },
        why: if names.is_empty() {
            "no namespace was created or entered"
        } else {
            "the namespaces that were created or entered"
        },
        denials: denials.map(|denial| denial.on(Arch::ALL)).into(),
    })
}

/// `MemoryDenyWriteExecute=` denies memory that is writable and executable, and making memory executable later. Since
/// version 253, systemd uses `PR_SET_MDWE` if the kernel supports it, which also applies to memory that
/// `READ_IMPLIES_EXEC` makes executable.
fn write_execute() -> Directive {
    const WRITE_EXEC: u64 = 6;
    const EXEC: u64 = 4;
    const SHM_EXEC: u64 = 0x8000;
    const READ_IMPLIES_EXEC: u64 = 0x40_0000;
    let denials = vec![
        Denial::bits("mmap", 2, WRITE_EXEC).on(DIRECT_ARGS),
        Denial::always("mmap").on(&[Arch::X86]),
        Denial::bits("mmap2", 2, WRITE_EXEC),
        Denial::bits("mprotect", 2, EXEC),
        Denial::bits("pkey_mprotect", 2, EXEC),
        Denial::bits("shmat", 2, SHM_EXEC).on(DIRECT_ARGS),
        Denial::bits("personality", 0, READ_IMPLIES_EXEC).possible(),
    ];
    Directive {
        line: "MemoryDenyWriteExecute=yes".to_owned(),
        why: "no memory was writable and executable, or made executable later",
        denials,
    }
}

/// `RestrictRealtime=` allows the policies SCHED_OTHER, SCHED_BATCH and SCHED_IDLE.
fn realtime() -> Directive {
    let is = |cmp, value| vec![ArgTest::Is(1, cmp, value)];
    let others = vec![is(Cmp::Eq, 1), is(Cmp::Eq, 2), is(Cmp::Eq, 4), is(Cmp::Gt, 5)];
    Directive {
        line: "RestrictRealtime=yes".to_owned(),
        why: "only the policies SCHED_OTHER, SCHED_BATCH and SCHED_IDLE were set",
        denials: vec![
            Denial::new("sched_setscheduler", others),
            // Its policy is in memory; no supported version denies it.
            Denial::always("sched_setattr").possible(),
        ],
    }
}

/// `LockPersonality=` allows only setting the current personality, which is PER_LINUX (0) unless the unit sets another
/// one. Reading it (0xffffffff) is denied.
fn personality() -> Directive {
    Directive {
        line: "LockPersonality=yes".to_owned(),
        why: "only the personality PER_LINUX was set, and it was never read",
        denials: vec![Denial::new("personality", vec![vec![ArgTest::Is(0, Cmp::Ne, 0)]])],
    }
}

/// `RestrictSUIDSGID=` denies set-user-ID and set-group-ID bits in modes.
fn set_id_bits() -> Directive {
    const CREATE: u64 = 0o100;
    let with = |arg, others: &[ArgTest]| -> Vec<Vec<ArgTest>> {
        let bits = [0o4000, 0o2000].map(|bit| [others, &[ArgTest::Bits(arg, bit, bit)]].concat());
        bits.into()
    };
    let mode = |syscall, arg| Denial::new(syscall, with(arg, &[]));
    let open = |syscall, flags: u8| {
        Denial::new(syscall, with(flags + 1, &[ArgTest::Bits(flags, CREATE, CREATE)]))
    };
    Directive {
        line: "RestrictSUIDSGID=yes".to_owned(),
        why: "no file got a set-user-ID or set-group-ID bit",
        denials: vec![
            mode("chmod", 1),
            mode("fchmod", 1),
            mode("fchmodat", 2),
            mode("fchmodat2", 2).possible(),
            mode("mkdir", 1),
            mode("mkdirat", 2),
            mode("mknod", 1),
            mode("mknodat", 2),
            mode("creat", 1),
            open("open", 1),
            open("openat", 2),
            // Its mode is in memory.
            Denial::always("openat2").with(ENOSYS),
        ],
    }
}

/// The name of an address family that every supported version of systemd and of the C library knows; the first of several.
fn family_name(family: u64) -> Option<&'static str> {
    /// AF_XDP, the last one of Linux 5.15 that glibc 2.36 names.
    const NEWEST: u16 = 44;
    let is_old = |(name, number): &(&str, u16)| *number <= NEWEST && *name != "AF_DECnet";
    let mut known = systemd::families().filter(is_old);
    known.find(|(_, number)| u64::from(*number) == family).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::syscalls::is_known_name;

    #[test]
    fn families_and_namespaces_are_distinct() {
        assert_eq!(
            [1, 10, 12, 44, 45].map(family_name),
            [Some("AF_UNIX"), Some("AF_INET6"), None, Some("AF_XDP"), None]
        );
        let all = systemd::namespaces().fold(0, |all, (_, flag)| {
            assert_eq!(all & flag, 0);
            all | flag
        });
        assert_eq!(all, 0x7e02_0080);
    }

    #[test]
    fn denied_names_are_syscalls() {
        let all = [realtime(), personality(), set_id_bits(), write_execute()];
        assert!(
            all.iter().flat_map(|one| &one.denials).all(|denial| is_known_name(denial.syscall))
        );
    }
}
