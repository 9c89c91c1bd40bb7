//! Lines for the `[Service]` section of a systemd unit: `SystemCallFilter=` of systemd.exec(5), and directives that limit
//! arguments. Several lines of an allowlist add up. systemd adds the set `@default` itself.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::comments::{MADE_BY_KERNEL_WHY, all_in_code, origin, text_of};
use crate::generate::directives::Directive;
use crate::generate::draft::Draft;
use crate::generate::format::ProfileFormat;
use crate::generate::grant::{Grant, GrantReason};
use crate::generate::language_runtime::LanguageRuntime;
use crate::generate::options::DenyAction;
use crate::generate::runtime;
use callgate_core::Arch;
use callgate_formats::layout::wrapped;

/// The maximum width of a line.
const WIDTH: usize = 80;

pub(super) fn write(draft: &Draft, directives: &[Directive]) -> String {
    let (key, sign) = match draft.deny() {
        DenyAction::Log => ("SystemCallLog=", "~"),
        DenyAction::Enosys | DenyAction::Eperm | DenyAction::Kill => ("SystemCallFilter=", ""),
    };
    let mut text = String::new();
    comment(&mut text, &origin(draft));
    comment(&mut text, &format!("All {}.", draft.deny().description()));
    text.push_str("[Service]\n");
    let arches: Vec<&str> = draft.arches().iter().filter_map(|arch| name_of(*arch)).collect();
    if !arches.is_empty() {
        let _ = writeln!(text, "SystemCallArchitectures={}", arches.join(" "));
    }
    match draft.deny() {
        DenyAction::Enosys => text.push_str("SystemCallErrorNumber=ENOSYS\n"),
        DenyAction::Eperm => text.push_str("SystemCallErrorNumber=EPERM\n"),
        DenyAction::Kill | DenyAction::Log => {}
    }

    let (mut recorded, mut added, mut limited) = (Vec::new(), Vec::new(), Vec::new());
    let (mut by_kernel, mut in_code) = (Vec::new(), Vec::new());
    let (mut unknown, mut dangerous) = (Vec::new(), Vec::new());
    let mut siblings: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    let mut by_runtime: BTreeMap<LanguageRuntime, Vec<&str>> = BTreeMap::new();
    for grant in draft.grants() {
        if !draft.can_name(ProfileFormat::Systemd, grant.name) {
            unknown.push(grant.name);
            continue;
        }
        limited.extend((!grant.limits.is_empty()).then_some(grant.name));
        if let Some(why) = draft.danger(grant.name) {
            dangerous.push((grant.name, format!("DANGEROUS: {}.", text_of(why))));
            continue;
        }
        match grant.reason {
            GrantReason::Recorded(_) => recorded.push(grant.name),
            // `SystemCallLog=` has no such set.
            _ if is_added_by_systemd(grant) && draft.deny() != DenyAction::Log => {}
            GrantReason::Code => in_code.push(grant),
            GrantReason::Runtime => added.push(grant.name),
            GrantReason::Kernel => by_kernel.push(grant.name),
            GrantReason::Language { runtime, .. } => {
                by_runtime.entry(runtime).or_default().push(grant.name);
            }
            GrantReason::Sibling { of, why } => {
                siblings.entry((of, why)).or_default().push(grant.name)
            }
        }
    }
    let mut list = |why: &str, names: &[&str]| {
        if !names.is_empty() {
            text.push('\n');
            comment(&mut text, why);
            let width = WIDTH - key.len() - sign.len();
            for line in wrapped(names.iter().copied(), width, " ") {
                let _ = writeln!(text, "{key}{sign}{line}");
            }
        }
    };
    list("Recorded; systemd adds @default itself.", &recorded);
    for (name, why) in dangerous {
        list(&why, &[name]);
    }
    let names: Vec<&str> = in_code.iter().map(|grant: &&Grant| grant.name).collect();
    list(&all_in_code(&in_code), &names);
    list(&format!("Not recorded: {}.", draft.runtime().description()), &added);
    list(&format!("Not recorded: {MADE_BY_KERNEL_WHY}."), &by_kernel);
    for (runtime, names) in by_runtime {
        list(&format!("Not recorded: {}.", runtime.description()), &names);
    }
    for ((of, why), names) in siblings {
        list(&format!("Related to {of}, which was recorded: {why}."), &names);
    }
    let more: Vec<&str> = draft.listed_for_directives(ProfileFormat::Systemd).collect();
    let why = match draft.deny() {
        DenyAction::Log => "Not logged: a profile that denies makes it fail with ENOSYS.",
        _ => "Listed, so that RestrictNamespaces= makes it fail with ENOSYS: libraries use clone.",
    };
    list(why, &more);
    for directive in directives {
        text.push('\n');
        comment(&mut text, &format!("Recorded: {}.", directive.why));
        let _ = writeln!(text, "{}", directive.line);
    }
    if !limited.is_empty() {
        text.push('\n');
        let except = if directives.is_empty() {
            ""
        } else {
            ", except those that the directives above deny"
        };
        comment(
            &mut text,
            &format!(
                "These syscalls are granted with all arguments{except}, because lists cannot limit \
                 arguments; the other formats limit them:"
            ),
        );
        comment(&mut text, &limited.join(" "));
    }
    if !unknown.is_empty() {
        text.push('\n');
        let version = draft.systemd();
        comment(
            &mut text,
            &format!("Omitted, because systemd {version} does not know these syscalls:"),
        );
        comment(&mut text, &unknown.join(" "));
    }
    text
}

/// Whether systemd grants a syscall itself.
fn is_added_by_systemd(grant: &Grant) -> bool {
    !grant.is_recorded() && runtime::is_added_by_systemd(grant.name)
}

fn comment(text: &mut String, words: &str) {
    for line in wrapped(words.split(' '), WIDTH - 2, " ") {
        let _ = writeln!(text, "# {line}");
    }
}

/// The name of an architecture in units (`seccomp_arch_to_string` of systemd 252); `None` if systemd does not know it.
fn name_of(arch: Arch) -> Option<&'static str> {
    Some(match arch {
        Arch::X86_64 => "x86-64",
        Arch::X86 => "x86",
        Arch::X32 => "x32",
        Arch::Aarch64 => "arm64",
        Arch::Arm => "arm",
        Arch::Riscv64 => "riscv64",
        Arch::S390x => "s390x",
        Arch::S390 => "s390",
        Arch::Ppc64le => "ppc64-le",
        Arch::Ppc64 => "ppc64",
        Arch::Ppc => "ppc",
        Arch::Loongarch64 => "loongarch64",
        Arch::Mips => "mips",
        Arch::Mipsel => "mips-le",
        Arch::Mips64 => "mips64",
        Arch::Mipsel64 => "mips64-le",
        Arch::Mips64n32 => "mips64-n32",
        Arch::Mipsel64n32 => "mips64-le-n32",
        Arch::Parisc => "parisc",
        Arch::Parisc64 => "parisc64",
        _ => return None,
    })
}
