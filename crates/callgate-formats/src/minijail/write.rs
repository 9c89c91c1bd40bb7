//! minijail policies.

use std::fmt::Write;

use crate::convert::alternatives::bits_of;
use crate::convert::atoms::{Atom, AtomTest, LowHalf, alternatives_of, by_name, fit_arch};
use crate::convert::error::Result;
use crate::convert::fit::Fit;
use crate::convert::numbering::{Numbering, Unlisted};
use crate::languages::Writing;
use crate::layout::number;
use callgate_bpf::constants::{self, Family};
use callgate_core::{Action, Arch, Verdict, errno_name};

/// The architectures of minijail. Those without 64-bit registers have no words for the high half of an argument.
const ARCHES: &[Arch] =
    &[Arch::X86_64, Arch::X86, Arch::Aarch64, Arch::Arm, Arch::Riscv64, Arch::Loongarch64];

/// The verdict of other architectures, and the one in a denylist.
const BAD_ARCH: Verdict = Verdict::KILL_THREAD;
const BAD_ARCH_OF_DENYLIST: Verdict = Verdict::errno(1);

/// Writes a policy.
pub(crate) fn write(fit: &mut Fit<'_>, writing: &Writing<'_>) -> Result<String> {
    let arch = fit_arch(fit, writing.target, ARCHES)?;
    let takes = |action| matches!(action, Action::Errno(_));
    fit.drop_numbers(Some(arch), takes, |plain| Some(word(plain).to_owned()))?;
    let unlisted = Unlisted {
        why: "minijail names syscalls, and its default action is to allow, to kill, trap or user-notify",
        enosys_above: false,
        kills_other_abi: false,
        can_be_default,
        fallbacks: &[Verdict::KILL_PROCESS],
        may_lack_enosys: false,
    };
    let numbering = Numbering::choose(fit, unlisted)?;
    let default = numbering.default;
    let (others, why) = match default {
        Verdict::ALLOW => {
            (BAD_ARCH_OF_DENYLIST, "in a denylist, syscalls of other architectures fail with EPERM")
        }
        _ => (BAD_ARCH, "a policy is for one architecture; syscalls of others kill the thread"),
    };
    fit.set_others(others, why)?;
    numbering.fit_unnamed(fit)?;
    if default == Verdict::ALLOW {
        fit_denials(fit, arch)?;
    }
    let mut text = match default {
        Verdict::ALLOW => format!("# For {arch}.\n@denylist\n\n"),
        default => format!("# For {arch}.\n@default {}\n\n", action(default)),
    };
    for (name, nr) in by_name(arch) {
        if let Some(filter) = filter(fit, (arch, name, nr), default)? {
            let _ = writeln!(text, "{name}: {filter}");
        }
    }
    Ok(text)
}

/// Whether syscalls without a statement can have this verdict: that of `@default`, or ALLOW in a denylist.
fn can_be_default(verdict: Verdict) -> bool {
    const ALL: [Verdict; 5] = [
        Verdict::ALLOW,
        Verdict::KILL_PROCESS,
        Verdict::KILL_THREAD,
        Verdict::trap(0),
        Verdict::user_notif(0),
    ];
    ALL.contains(&verdict)
}

/// Replaces verdicts that no filter of a denylist has.
fn fit_denials(fit: &mut Fit<'_>, arch: Arch) -> Result<()> {
    let denials = fit.verdicts_of(arch).into_iter();
    for verdict in denials.filter(|verdict| *verdict != Verdict::ALLOW) {
        if !matches!(verdict.action(), Action::Errno(_)) {
            let why = "in a denylist, a syscall can only fail with an errno";
            fit.replace_verdict(Some(arch), verdict, BAD_ARCH_OF_DENYLIST, why)?;
        }
    }
    Ok(())
}

/// The filter of a syscall; `None` for the default action.
fn filter(
    fit: &mut Fit<'_>,
    (arch, name, nr): (Arch, &'static str, u32),
    default: Verdict,
) -> Result<Option<String>> {
    let func = fit.syscall(arch.token(), nr);
    if let Some(verdict) = fit.store.as_verdict(func) {
        return Ok((verdict != default).then(|| action(verdict)));
    }
    let mut cases: Vec<(Verdict, Vec<Vec<Atom>>)> = Vec::new();
    for verdict in fit.store.verdicts(func) {
        let all = alternatives_of(fit, (arch, name, nr), verdict, LowHalf::Masked)?;
        cases.push((verdict, all));
    }
    let unsayable =
        cases.iter().flat_map(|(_, all)| all.iter().flatten()).find_map(|atom| match atom.arg {
            None => Some("no condition can test the instruction pointer"),
            Some(_) if !arch.has_wide_registers() && tests_high_half(atom) => {
                Some("on a 32-bit ABI no condition can test the high half of an argument")
            }
            _ => None,
        });
    if let Some(why) = unsayable {
        let verdict = fit.strictest(func);
        fit.replace_numbers(arch.token(), (nr, nr), verdict, why)?;
        return Ok((verdict != default).then(|| action(verdict)));
    }
    // The default action, or else the longest condition, comes last and is not written. minijail ignores all conditions
    // before an unconditional `allow`.
    let length = |all: &[Vec<Atom>]| all.iter().map(Vec::len).sum::<usize>();
    cases.sort_by_key(|(verdict, all)| {
        (*verdict == default, *verdict != Verdict::ALLOW, length(all), *verdict)
    });
    let last = cases.pop().map(|(verdict, _)| verdict).filter(|verdict| *verdict != default);
    let parts = cases.iter().map(|(verdict, all)| {
        let condition = condition(arch, name, all);
        match *verdict {
            Verdict::ALLOW => condition,
            verdict => format!("{condition}; {}", action(verdict)),
        }
    });
    let parts: Vec<String> = parts.chain(last.map(action)).collect();
    Ok(Some(match parts.as_slice() {
        [one] => one.clone(),
        parts => format!("{{ \\\n  {} \\\n}}", parts.join(", \\\n  ")),
    }))
}

/// Whether a comparison depends on the high half of the argument.
fn tests_high_half(atom: &Atom) -> bool {
    const HIGH: u64 = !0xffff_ffff;
    match atom.test {
        AtomTest::Masked { mask, .. } => mask & HIGH != 0,
        _ => true,
    }
}

fn action(verdict: Verdict) -> String {
    match verdict.action() {
        // The parser in C knows no `allow`.
        Action::Allow => "1".to_owned(),
        Action::Errno(errno) => match errno_name(errno) {
            Some(name) => format!("return {name}"),
            None => format!("return {errno}"),
        },
        _ => word(verdict).to_owned(),
    }
}

/// The word for an action without a number.
fn word(verdict: Verdict) -> &'static str {
    match verdict.action() {
        Action::Allow => "allow",
        Action::Log => "log",
        Action::Trace(_) => "trace",
        Action::Trap(_) => "trap",
        Action::UserNotif(_) => "user-notify",
        Action::KillThread => "kill-thread",
        _ => "kill-process",
    }
}

/// A condition: alternatives separated by `||`.
fn condition(arch: Arch, name: &str, all: &[Vec<Atom>]) -> String {
    let one = |atoms: &Vec<Atom>| {
        let parts = atoms.iter().flat_map(|atom| comparisons(arch, name, atom));
        parts.collect::<Vec<String>>().join(" && ")
    };
    all.iter().map(one).collect::<Vec<String>>().join(" || ")
}

/// The comparisons for an atom. Bits are tested with `in`, by which no other bit may be set, and `&`, by which one bit of
/// the value is set.
fn comparisons(arch: Arch, name: &str, atom: &Atom) -> Vec<String> {
    let arg = atom.arg.unwrap_or(0);
    let family = Family::of(arch, name, arg);
    let value = |value: u64| {
        let name = family.and_then(|family| family.name(arch, value));
        named(arch, name, value).unwrap_or_else(|| number(value))
    };
    match atom.test {
        AtomTest::Eq(wanted) => vec![format!("arg{arg} == {}", value(wanted))],
        AtomTest::Ne(wanted) => vec![format!("arg{arg} != {}", value(wanted))],
        AtomTest::Le(most) => vec![format!("arg{arg} <= {}", number(most))],
        AtomTest::Ge(least) => vec![format!("arg{arg} >= {}", number(least))],
        AtomTest::Masked { mask, wanted } => {
            let word = if arch.has_wide_registers() { u64::MAX } else { u32::MAX.into() };
            let flags = |bits: u64| {
                let name = family.and_then(|family| family.name_mask(arch, bits));
                named(arch, name, bits).unwrap_or_else(|| format!("{bits:#x}"))
            };
            let clear = mask & !wanted;
            // Fewer bits are written where most of them must be clear.
            let others = match clear.count_ones() > word.count_ones() / 2 {
                true => format!("arg{arg} in {}", flags(word & !clear)),
                false => format!("arg{arg} in ~{}", in_parentheses(flags(clear))),
            };
            let set = bits_of(wanted).map(|bit| format!("arg{arg} & {}", flags(bit)));
            (clear != 0).then_some(others).into_iter().chain(set).collect()
        }
    }
}

fn in_parentheses(value: String) -> String {
    if value.contains('|') { format!("({value})") } else { value }
}

/// The names of constants, if minijail knows them and they have this value.
fn named(arch: Arch, names: Option<String>, value: u64) -> Option<String> {
    let names = names?;
    let parts: Option<Vec<u64>> = names
        .split('|')
        .map(|name| constants::value(arch, name).filter(|_| is_known(name)))
        .collect();
    let joined = parts?.iter().fold(0, |all, part| all | part);
    (joined == value).then(|| names.replace('|', " | "))
}

// The constants that every minijail knows.
//
// minijail's table is made of the headers of the machine on which it is built (`gen_constants-inl.h`, without
// `_GNU_SOURCE`), so it lacks those of other headers, such as `FUTEX_WAIT`, and may lack new ones.

/// Beginnings of names in the headers that are included.
const STARTS: &[&str] = &[
    "AF_", "BLK", "CLONE_", "FIO", "GRND_", "LOOP_", "MADV_", "MAP_", "MCL_", "MREMAP_", "O_",
    "PRIO_", "PROT_", "RLIMIT_", "SEEK_", "SHUT_", "SIG", "SIOC", "SOCK_", "TCGET", "TCSET",
    "TIOC",
];

/// Other names.
const NAMES: &[&str] = &[
    "ARCH_GET_FS",
    "ARCH_GET_GS",
    "ARCH_SET_FS",
    "ARCH_SET_GS",
    "F_DUPFD",
    "F_DUPFD_CLOEXEC",
    "F_GETFD",
    "F_GETFL",
    "F_GETLK",
    "F_GETOWN",
    "F_SETFD",
    "F_SETFL",
    "F_SETLK",
    "F_SETLKW",
    "F_SETOWN",
    "PR_GET_DUMPABLE",
    "PR_GET_KEEPCAPS",
    "PR_GET_NAME",
    "PR_GET_NO_NEW_PRIVS",
    "PR_GET_PDEATHSIG",
    "PR_GET_SECCOMP",
    "PR_SET_DUMPABLE",
    "PR_SET_KEEPCAPS",
    "PR_SET_NAME",
    "PR_SET_NO_NEW_PRIVS",
    "PR_SET_PDEATHSIG",
    "PR_SET_SECCOMP",
];

/// Names with one of the beginnings that need `_GNU_SOURCE`, headers of Linux 5.11 or later, or another architecture.
const EXCEPTIONS: &[&str] = &[
    "AF_MCTP",
    "BLKGETDISKSEQ",
    "CLONE_AUTOREAP",
    "CLONE_EMPTY_MNTNS",
    "CLONE_NNP",
    "CLONE_PIDFD_AUTOKILL",
    "MADV_COLLAPSE",
    "MADV_DONTNEED_LOCKED",
    "MADV_GUARD_INSTALL",
    "MADV_GUARD_REMOVE",
    "MADV_POPULATE_READ",
    "MADV_POPULATE_WRITE",
    "MAP_ABOVE4G",
    "MAP_AUTOGROW",
    "MAP_AUTORSRV",
    "MAP_DROPPABLE",
    "MAP_LOCAL",
    "MAP_RENAME",
    "O_DIRECT",
    "O_EMPTYPATH",
    "O_LARGEFILE",
    "O_NOATIME",
    "O_PATH",
    "O_TMPFILE",
    "PROT_BTI",
    "PROT_MTE",
    "PROT_SAO",
    "SIGEMT",
    "SIGSWI",
    "SIGUNUSED",
    "TIOCGETP",
    "TIOCGLTC",
    "TIOCSETN",
    "TIOCSETP",
    "TIOCSLTC",
    "TIOCSTART",
    "TIOCSTOP",
];

/// Whether every minijail knows a constant.
pub(crate) fn is_known(name: &str) -> bool {
    let is_included = STARTS.iter().any(|start| name.starts_with(start)) || NAMES.contains(&name);
    is_included && !EXCEPTIONS.contains(&name)
}
