//! `socketcall` and `ipc`, through which a program reaches what the filter denies as a direct syscall.

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::known_names;
use callgate_core::diagram::Pred;
use callgate_core::{SeccompData, Word};

use crate::error::Result;
use crate::lint::check::Check;
use crate::lint::finding::Finding;
use crate::lint::findings::{Findings, listed};
use crate::lint::view::View;

pub(super) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
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
                        through = view.store.restrict(through, word, value)?;
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
                let direct = view.denied_example(arch, first)?;
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
