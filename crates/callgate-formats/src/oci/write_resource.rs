//! Writer of `SeccompProfile` resources of the Security Profiles Operator, in YAML.

use std::fmt::Write;

use super::dialect::Dialect;
use super::write::{WriteEntry, WriteProfile, action_of};
use crate::layout::QuotedString;
use crate::ruleset::{Comparison, Op};
use callgate_bpf::printable::visible;
use callgate_core::{Arch, Verdict};

/// The API version of the resource.
const API_VERSION: &str = "security-profiles-operator.x-k8s.io/v1";

/// The errno and the data of TRACE where none are given.
const EPERM: u16 = 1;

/// Whether the resource has a name for an architecture.
#[rustfmt::skip]
pub fn has_resource_arch(arch: Arch) -> bool {
    use Arch::*;
    matches!(
        arch,
        X86 | X86_64 | X32 | Arm | Aarch64 | Mips | Mips64 | Mips64n32 | Mipsel | Mipsel64 | Mipsel64n32 | Ppc
            | Ppc64 | Ppc64le | S390 | S390x | Parisc | Parisc64 | Riscv64
    )
}

/// Writes a profile as a `SeccompProfile` resource with this name, version `v1`. `None` if a verdict has no action there.
///
/// ```
/// use callgate_bpf::FilterFlags;
/// use callgate_core::{Arch, Verdict};
/// use callgate_formats::oci::{WriteEntry, WriteProfile, write_resource};
///
/// let entry = WriteEntry { comment: None, names: vec!["read"], verdict: Verdict::ALLOW, args: vec![] };
/// let profile = WriteProfile {
///     default: Verdict::errno(1),
///     arches: vec![Arch::X86_64],
///     flags: FilterFlags::NONE,
///     listener: None,
///     entries: vec![entry],
/// };
/// let text = write_resource(&profile, "only-read").ok_or("no action")?;
/// assert!(text.contains("kind: SeccompProfile") && text.contains("    names:\n    - read\n"));
/// # Ok::<(), &str>(())
/// ```
pub fn write_resource(profile: &WriteProfile, name: &str) -> Option<String> {
    let (default, data) = action_of(profile.default, Dialect::Oci)?;
    if data.is_some_and(|data| data != EPERM) {
        return None;
    }
    let mut text = format!(
        "apiVersion: {API_VERSION}\nkind: SeccompProfile\nmetadata:\n  name: {}\nspec:\n  defaultAction: {default}\n",
        scalar(name)
    );
    let arches: Vec<&str> = profile.arches.iter().map(|arch| arch.oci_name()).collect();
    list(&mut text, "  architectures", &arches);
    let flags: Vec<String> =
        profile.flags.each().map(|(_, name, _)| format!("SECCOMP_FILTER_FLAG_{name}")).collect();
    list(&mut text, "  flags", &flags);
    if let Some(listener) = &profile.listener {
        let _ = writeln!(text, "  listenerPath: {}", QuotedString(&listener.path));
        if let Some(metadata) = &listener.metadata {
            let _ = writeln!(text, "  listenerMetadata: {}", QuotedString(metadata));
        }
    }
    if !profile.entries.is_empty() {
        text.push_str("  syscalls:\n");
    }
    for own in &profile.entries {
        entry(&mut text, own)?;
    }
    Some(text)
}

/// A string of YAML: in quotes, unless no reader takes it for anything else.
fn scalar(text: &str) -> String {
    let is_plain = text.contains('-')
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if is_plain { text.to_owned() } else { QuotedString(text).to_string() }
}

/// A list, with one item per line; nothing if it is empty.
fn list(text: &mut String, key: &str, items: &[impl AsRef<str>]) {
    if items.is_empty() {
        return;
    }
    let indent = key.len() - key.trim_start().len();
    let _ = writeln!(text, "{key}:");
    for item in items {
        let _ = writeln!(text, "{:indent$}- {}", "", item.as_ref());
    }
}

fn entry(text: &mut String, entry: &WriteEntry) -> Option<()> {
    let (action, data) = action_of(entry.verdict, Dialect::Oci)?;
    if let Some(comment) = &entry.comment {
        let _ = writeln!(text, "  # {}", visible(comment));
    }
    let _ = writeln!(text, "  - action: {action}");
    if let Some(data) = data.filter(|_| entry.verdict != Verdict::errno(EPERM)) {
        // Zero means that no number is given.
        if data == 0 {
            return None;
        }
        let _ = writeln!(text, "    errnoRet: {data}");
    }
    list(text, "    names", &entry.names);
    if !entry.args.is_empty() {
        text.push_str("    args:\n");
    }
    entry.args.iter().for_each(|one| arg(text, one));
    Some(())
}

fn arg(text: &mut String, comparison: &Comparison) {
    let value = comparison.value();
    let op = match comparison.op() {
        Op::Eq => "EQ",
        Op::Ne => "NE",
        Op::Lt => "LT",
        Op::Le => "LE",
        Op::Gt => "GT",
        Op::Ge => "GE",
        Op::MaskedEq(_) => "MASKED_EQ",
    };
    let _ = writeln!(text, "    - index: {}\n      op: SCMP_CMP_{op}", comparison.arg());
    let _ = match comparison.op() {
        Op::MaskedEq(mask) => writeln!(text, "      value: {mask}\n      valueTwo: {value}"),
        _ => writeln!(text, "      value: {value}"),
    };
}

/// Whether Kubernetes accepts the name of a resource (RFC 1123, subdomain).
pub fn is_resource_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty()
            && label.chars().all(is_inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::FilterFlags;

    const COMMENT: &str =
        "\n  # a\\nspec: b\\r\\u{85}c\\u{2028}d\\u{2029}e\\u{202e}f\\u{feff}g\\u{1b}é\n";

    #[test]
    fn comments_stay_in_their_line() {
        let comment = "a\nspec: b\r\u{85}c\u{2028}d\u{2029}e\u{202e}f\u{feff}g\u{1b}é".to_owned();
        let entry = WriteEntry {
            comment: Some(comment),
            names: vec!["read"],
            verdict: Verdict::ALLOW,
            args: Vec::new(),
        };
        let profile = WriteProfile {
            default: Verdict::errno(EPERM),
            arches: vec![Arch::X86_64],
            flags: FilterFlags::NONE,
            listener: None,
            entries: vec![entry],
        };
        let text = write_resource(&profile, "x").unwrap();
        assert!(text.contains(COMMENT), "{text}");
    }
}
