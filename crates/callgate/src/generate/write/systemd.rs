//! Lines for the `[Service]` section of a unit, see `SystemCallFilter=` in systemd.exec(5). Several
//! lines of an allowlist add up. What is in `@default` systemd adds by itself. Arguments are limited by
//! directives beside the list.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::directives::Directive;
use super::super::{Deny, Draft, Reason};
use super::{Form, WHY_KERNEL, is_added_by_systemd, origin, wrapped};
use crate::syscalls::Arch;

/// The columns of a line.
const WIDTH: usize = 80;

pub(super) fn write(draft: &Draft, directives: &[Directive]) -> String {
    let (key, sign) = match draft.deny() {
        Deny::Log => ("SystemCallLog=", "~"),
        Deny::Enosys | Deny::Eperm | Deny::Kill => ("SystemCallFilter=", ""),
    };
    let mut text = String::new();
    comment(&mut text, &origin(draft));
    comment(&mut text, &format!("All {}.", draft.deny().why()));
    text.push_str("[Service]\n");
    let arches: Vec<&str> = draft.arches().iter().filter_map(|arch| name_of(*arch)).collect();
    if !arches.is_empty() {
        let _ = writeln!(text, "SystemCallArchitectures={}", arches.join(" "));
    }
    match draft.deny() {
        Deny::Enosys => text.push_str("SystemCallErrorNumber=ENOSYS\n"),
        Deny::Eperm => text.push_str("SystemCallErrorNumber=EPERM\n"),
        Deny::Kill | Deny::Log => {}
    }

    let (mut recorded, mut added, mut limited) = (Vec::new(), Vec::new(), Vec::new());
    let mut by_kernel = Vec::new();
    let mut unknown = Vec::new();
    let mut siblings: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for grant in draft.grants() {
        if !draft.can_name(Form::Systemd, grant.name) {
            unknown.push(grant.name);
            continue;
        }
        limited.extend((!grant.limits.is_empty()).then_some(grant.name));
        match grant.reason {
            Reason::Recorded(_) => recorded.push(grant.name),
            // A list of what is not logged has no such set.
            _ if is_added_by_systemd(grant) && draft.deny() != Deny::Log => {}
            Reason::Runtime => added.push(grant.name),
            Reason::Kernel => by_kernel.push(grant.name),
            Reason::Sibling { of, why } => siblings.entry((of, why)).or_default().push(grant.name),
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
    list("Recorded; systemd adds @default by itself.", &recorded);
    list(&format!("Not recorded: {}.", draft.runtime().why()), &added);
    list(&format!("Not recorded: {WHY_KERNEL}."), &by_kernel);
    for ((of, why), names) in siblings {
        list(&format!("Like {of}, which was recorded: {why}."), &names);
    }
    let more: Vec<&str> = draft.granted_by(Form::Systemd).collect();
    list("Another call for what is granted with any arguments.", &more);
    for directive in directives {
        text.push('\n');
        comment(&mut text, &format!("Recorded: {}.", directive.why));
        let _ = writeln!(text, "{}", directive.line);
    }
    if !limited.is_empty() {
        text.push('\n');
        let only =
            if directives.is_empty() { "" } else { ", but for what the directives above deny" };
        comment(
            &mut text,
            &format!(
                "These calls are granted with any arguments{only}, because a list has none; other forms \
                 of this profile limit them:"
            ),
        );
        comment(&mut text, &limited.join(" "));
    }
    if !unknown.is_empty() {
        text.push('\n');
        let version = draft.systemd();
        comment(
            &mut text,
            &format!("Left out, because systemd {version} does not know these calls:"),
        );
        comment(&mut text, &unknown.join(" "));
    }
    text
}

fn comment(text: &mut String, words: &str) {
    for line in wrapped(words.split(' '), WIDTH - 2, " ") {
        let _ = writeln!(text, "# {line}");
    }
}

/// The name of an architecture in units (`seccomp_arch_to_string` of systemd 252); `None` for those that
/// systemd does not know.
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
        Arch::M68k | Arch::Sh | Arch::Sheb => return None,
    })
}
