//! Drop-ins with comments: `SystemCallFilter=` of systemd.exec(5), and directives that limit arguments. Several lines of an
//! allowlist add up. systemd adds the set `@default` itself.

use std::fmt::Write;

use super::text::{comment, errno_text, lines, names_of};
use crate::annotated::{Annotated, Reason};
use callgate_core::{Action, Arch};

/// The text.
pub(super) fn write(policy: &Annotated) -> Option<String> {
    let (key, sign) = match policy.default.action() {
        Action::Log => ("SystemCallLog=", "~"),
        _ => ("SystemCallFilter=", ""),
    };
    let mut text = String::new();
    comment(&mut text, &policy.origin);
    comment(&mut text, &format!("All {}.", policy.denied));
    text.push_str("[Service]\n");
    let arches: Vec<&str> = names_of(&policy.arches).collect();
    if !arches.is_empty() {
        let _ = writeln!(text, "SystemCallArchitectures={}", arches.join(" "));
    }
    if let Action::Errno(errno) = policy.default.action() {
        let main = policy.arches.first().copied().unwrap_or(Arch::X86_64);
        let _ = writeln!(text, "SystemCallErrorNumber={}", errno_text(errno, main));
    }
    for group in policy.groups.iter().filter(|group| !group.names.is_empty()) {
        text.push('\n');
        comment(
            &mut text,
            match &group.reason {
                Reason::Recorded => "Recorded; systemd adds @default itself.",
                other => other.text(),
            },
        );
        lines(&mut text, key, sign, group.names.iter().copied());
    }
    for (why, line) in &policy.directives {
        text.push('\n');
        comment(&mut text, why);
        let _ = writeln!(text, "{line}");
    }
    for (what, names) in &policy.remarks {
        text.push('\n');
        comment(&mut text, what);
        comment(&mut text, &names.join(" "));
    }
    Some(text)
}
