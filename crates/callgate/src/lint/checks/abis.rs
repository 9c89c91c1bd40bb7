//! Other ABIs of the same kernel, and `socketcall` and `ipc`: through each, a program reaches what the filter denies as a
//! direct syscall.

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::known_names;
use callgate_codegen::query;
use callgate_core::diagram::{DiagramError, Func, Pred};
use callgate_core::{Arch, SeccompData, Word};

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::{Example, Finding, Findings, listed};
use crate::lint::view::{Does, View};

/// The ABIs whose programs a kernel of an architecture executes as well (`CONFIG_COMPAT` and `CONFIG_X86_X32_ABI`).
fn others(arch: Arch) -> &'static [Arch] {
    match arch {
        Arch::X86_64 => &[Arch::X86, Arch::X32],
        Arch::Aarch64 => &[Arch::Arm],
        Arch::S390x => &[Arch::S390],
        Arch::Ppc64 => &[Arch::Ppc],
        Arch::Mips64 => &[Arch::Mips, Arch::Mips64n32],
        Arch::Mipsel64 => &[Arch::Mipsel, Arch::Mipsel64n32],
        Arch::Parisc64 => &[Arch::Parisc],
        _ => &[],
    }
}

/// Syscalls that make the best examples, as they matter most.
const TELLING: [&str; 12] = [
    "mount",
    "ptrace",
    "init_module",
    "bpf",
    "unshare",
    "setns",
    "execve",
    "socket",
    "clone",
    "openat",
    "open",
    "kill",
];

pub(in crate::lint) fn other_abis(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for native in view.arches.iter().copied() {
        let numbers = view.store.follow(view.whole, Word::ARCH, native.token());
        if view.permits(numbers)? == Pred::ALWAYS {
            continue;
        }
        for other in others(native).iter().copied() {
            abi(view, findings, native, numbers, other)?;
        }
    }
    Ok(())
}

/// A syscall that one ABI denies and another one permits.
struct Evasion {
    name: &'static str,
    denied: Option<Example>,
    permitted: Option<Example>,
}

fn abi(
    view: &mut View<'_>,
    findings: &mut Findings,
    native: Arch,
    numbers: Func,
    other: Arch,
) -> Result<()> {
    let mut evasions = Vec::new();
    for (nr, name) in other.syscalls() {
        let Some((native_nr, direct)) = view.named(native, name) else { continue };
        let through = view.call(other, nr);
        if let Some(arguments) = evasion(view, [native, other], name, direct, through)? {
            let permitted = view.example(other, nr, arguments)?;
            let denied = match permitted {
                Some(found) if has_same_arguments([native, other], name) => {
                    let data = callgate_core::SeccompData {
                        arch: native.token(),
                        nr: native_nr,
                        ..found.data
                    };
                    Some(view.run(native, data)?)
                }
                _ => view.named_example(native, name, Does::Deny)?,
            };
            evasions.push(Evasion { name, denied, permitted });
        }
    }
    let rank = |evasion: &Evasion| {
        TELLING.iter().position(|name| *name == evasion.name).unwrap_or(TELLING.len())
    };
    evasions.sort_by_key(rank);
    let Some(first) = evasions.first() else { return Ok(()) };
    let examples = [first.denied, first.permitted];
    let names: Vec<&'static str> = evasions.iter().map(|evasion| evasion.name).collect();
    let all = view.store.follow(view.whole, Word::ARCH, other.token());
    let is_free = view.permits(all)? == Pred::ALWAYS || all == numbers;
    let (check, message, help) = if other == Arch::X32 && !view.arches.contains(&Arch::X32) {
        let message = format!("x32 numbers are not checked: they permit {}", listed(&names));
        let help = "deny numbers from 0x40000000 on, or add x32 to the architectures of the filter";
        (Check::X32NotDenied, message, help.to_owned())
    } else if is_free && other.token() != native.token() {
        let message = match all == numbers {
            true => format!(
                "the filter does not check the architecture: syscalls of {other} permit {}",
                listed(&names)
            ),
            false => {
                format!("syscalls of {other} are not restricted: they permit {}", listed(&names))
            }
        };
        let help = format!(
            "kill on other architectures than {native}, or add {other} to those of the filter"
        );
        (Check::ArchNotChecked, message, help)
    } else {
        let message = format!("{other} permits {}, which {native} denies", listed(&names));
        (Check::OtherAbi, message, format!("use the same rules for {native} and {other}"))
    };
    let at = view.place(native, first.name, |_| true);
    let finding = Finding::new(check, message).help(help).at(at).on(other);
    findings.add(finding.about(names).examples(examples));
    Ok(())
}

/// Whether the arguments of a syscall are at the same places.
fn has_same_arguments(abis: [Arch; 2], name: &str) -> bool {
    let Some(facts) = callgate_bpf::syscalls::facts(name) else { return false };
    facts.args_known
        && facts.args.iter().all(|arg| {
            let [one, other] =
                abis.map(|abi| abi.argument(name, arg.name).map(|found| found.index));
            one.is_ok() && one == other
        })
}

/// The arguments with which an ABI permits what the native one denies: those of 32 bits if both have the same
/// arguments, any if the native one denies all.
fn evasion(
    view: &mut View<'_>,
    abis: [Arch; 2],
    name: &str,
    direct: Func,
    through: Func,
) -> Result<Option<Pred>, DiagramError> {
    if direct == through {
        return Ok(None);
    }
    if view.denies(direct)? == Pred::ALWAYS {
        let permitted = view.permits(through)?;
        return Ok((permitted != Pred::NEVER).then_some(permitted));
    }
    if !has_same_arguments(abis, name) {
        return Ok(None);
    }
    let [denied, permitted] = [direct, through].map(|func| narrow(view, func));
    let (denied, permitted) = (view.denies(denied?)?, view.permits(permitted?)?);
    let both = view.store.and(denied, permitted)?;
    Ok((both != Pred::NEVER).then_some(both))
}

/// The function with the high halves of all arguments 0.
fn narrow(view: &mut View<'_>, func: Func) -> Result<Func, DiagramError> {
    let highs = (0..6).filter_map(Word::arg_high);
    let mut func = func;
    for high in highs {
        func = query::restrict(&mut view.store, func, high, 0)?;
    }
    Ok(func)
}

pub(in crate::lint) fn multiplexers(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    for arch in view.arches.iter().copied().filter(|arch| arch.has_multiplexers()) {
        for multiplexer in ["socketcall", "ipc"] {
            let Some((nr, func)) = view.named(arch, multiplexer) else { continue };
            let (mut denied, mut conditional) = (Vec::new(), Vec::new());
            for name in known_names() {
                let Some((_, sub)) = arch.multiplexed(name).filter(|(via, _)| *via == multiplexer)
                else {
                    continue;
                };
                let Some((_, direct)) = view.named(arch, name) else { continue };
                let mut through = func;
                for (word, value) in [(Word::arg_high(0), 0), (Word::arg_low(0), sub)] {
                    if let Some(word) = word {
                        through = query::restrict(&mut view.store, through, word, value)?;
                    }
                }
                if view.permits(through)? == Pred::NEVER {
                    continue;
                }
                let refused = view.denies(direct)?;
                match refused {
                    Pred::NEVER => {}
                    Pred::ALWAYS => denied.push((name, sub, through)),
                    _ => conditional.push((name, sub, through)),
                }
            }
            let kinds = [
                (denied, "direct syscalls that are denied"),
                (conditional, "direct syscalls with conditions, which a filter cannot check there"),
            ];
            for (names, what) in kinds {
                let Some((first, sub, through)) = names.first().copied() else { continue };
                let start = SeccompData {
                    arch: arch.token(),
                    nr,
                    args: [u64::from(sub), 0, 0, 0, 0, 0],
                    ..SeccompData::default()
                };
                let permitted = view.permits(through)?;
                let example = callgate_codegen::query::example(&view.store, permitted, start);
                let example = example.map(|data| view.run(arch, data)).transpose()?;
                let direct = view.named_example(arch, first, Does::Deny)?;
                let names: Vec<&'static str> = names.iter().map(|(name, _, _)| *name).collect();
                let message = format!("`{multiplexer}` performs {}: {what}", listed(&names));
                let used = if multiplexer == "ipc" { "System V IPC" } else { "sockets" };
                let help = format!(
                    "deny `{multiplexer}`, with another errno than the default action if runc reads the profile; \
                     most C libraries use it, so programs of {arch} then have no {used}"
                );
                let named = view.place(arch, first, |_| true);
                let at = match named.1 {
                    Some(_) => named,
                    None => view.place(arch, multiplexer, |rule| rule.verdict.permits()),
                };
                let finding = Finding::new(Check::Multiplexer, message).help(help).at(at).on(arch);
                findings.add(finding.about(names).examples([direct, example]));
            }
        }
    }
    Ok(())
}
