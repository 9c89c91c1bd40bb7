//! Writers of profiles: JSON with Docker's key `comment` for entries, which runtimes ignore, and resources in YAML.

use std::fmt::Write;

use super::options::{Dialect, reads_arch_map};
use crate::layout::{QuotedString, wrapped};
use crate::profile::Listener;
use crate::ruleset::{Comparison, Op};
use callgate_bpf::FilterFlags;
use callgate_bpf::printable::visible;
use callgate_core::{Action, Arch, Verdict, errno_name};

/// The maximum width of a line of names.
const WIDTH: usize = 72;

/// A profile to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteProfile {
    /// The verdict of syscalls without an entry.
    pub default: Verdict,
    /// The architectures, the native one first.
    pub arches: Vec<Arch>,
    /// The flags for `seccomp(2)`.
    pub flags: FilterFlags,
    /// The supervisor of SCMP_ACT_NOTIFY.
    pub listener: Option<Listener>,
    /// The entries.
    pub entries: Vec<WriteEntry>,
}

/// An entry of `syscalls`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteEntry {
    /// The comment.
    pub comment: Option<String>,
    /// The syscalls.
    pub names: Vec<&'static str>,
    /// The action.
    pub verdict: Verdict,
    /// Comparisons that must all hold.
    pub args: Vec<Comparison>,
}

/// The action and the errno of a verdict; `None` if no action has this verdict in a dialect.
///
/// ```
/// use callgate_core::Verdict;
/// use callgate_formats::oci::{Dialect, action_of};
/// let errno = Verdict::errno(38);
/// assert_eq!(action_of(errno, Dialect::Docker), Some(("SCMP_ACT_ERRNO", Some(38))));
/// assert_eq!(action_of(Verdict::trap(3), Dialect::Docker), None);
/// ```
pub fn action_of(verdict: Verdict, dialect: Dialect) -> Option<(&'static str, Option<u16>)> {
    let max_errno = if dialect == Dialect::Oci { 4095 } else { 4094 };
    let found = match verdict.action() {
        Action::Allow => ("SCMP_ACT_ALLOW", None),
        Action::Log => ("SCMP_ACT_LOG", None),
        Action::Errno(errno) if errno <= max_errno => ("SCMP_ACT_ERRNO", Some(errno)),
        Action::KillThread => ("SCMP_ACT_KILL_THREAD", None),
        Action::KillProcess => ("SCMP_ACT_KILL_PROCESS", None),
        Action::Trap(0) => ("SCMP_ACT_TRAP", None),
        Action::Trace(data) => ("SCMP_ACT_TRACE", Some(data)),
        Action::UserNotif(0) => ("SCMP_ACT_NOTIFY", None),
        _ => return None,
    };
    (found.1.is_some() || verdict.data() == 0).then_some(found)
}

/// Writes a profile; Docker's gets an `archMap` for several architectures, Podman's the names of errnos. `None` if a
/// verdict has no action.
///
/// ```
/// use callgate_bpf::FilterFlags;
/// use callgate_core::{Arch, Verdict};
/// use callgate_formats::oci::{Dialect, WriteEntry, WriteProfile, write};
///
/// let entry = WriteEntry { comment: None, names: vec!["read"], verdict: Verdict::ALLOW, args: vec![] };
/// let profile = WriteProfile {
///     default: Verdict::errno(1),
///     arches: vec![Arch::X86_64],
///     flags: FilterFlags::NONE,
///     listener: None,
///     entries: vec![entry],
/// };
/// let text = write(&profile, Dialect::Oci).ok_or("no action")?;
/// assert!(text.contains(r#""defaultErrnoRet": 1"#) && text.contains(r#""names": ["read"]"#));
/// # Ok::<(), &str>(())
/// ```
pub fn write(profile: &WriteProfile, dialect: Dialect) -> Option<String> {
    let mut text = "{\n".to_owned();
    let keys = ["defaultAction", "defaultErrnoRet", "defaultErrno"];
    for (key, value) in action_members(profile.default, dialect, keys)? {
        let _ = writeln!(text, "  \"{key}\": {value},");
    }
    let _ = writeln!(text, "  {},", architectures(&profile.arches, dialect));
    if !profile.flags.is_empty() {
        let names: Vec<String> = profile
            .flags
            .each()
            .map(|(_, name, _)| format!("\"SECCOMP_FILTER_FLAG_{name}\""))
            .collect();
        let _ = writeln!(text, "  \"flags\": [{}],", names.join(", "));
    }
    if let Some(listener) = &profile.listener {
        let _ = writeln!(text, "  \"listenerPath\": {},", QuotedString(&listener.path));
        if let Some(metadata) = &listener.metadata {
            let _ = writeln!(text, "  \"listenerMetadata\": {},", QuotedString(metadata));
        }
    }
    let entries: Option<Vec<String>> =
        profile.entries.iter().map(|one| entry(one, dialect)).collect();
    let entries = entries?;
    if entries.is_empty() {
        text.push_str("  \"syscalls\": []\n}\n");
    } else {
        let _ = writeln!(text, "  \"syscalls\": [\n{}\n  ]\n}}", entries.join(",\n"));
    }
    Some(text)
}

/// The keys and values of a verdict: action, errno as a number, and for Podman its name.
fn action_members(
    verdict: Verdict,
    dialect: Dialect,
    [action, number, name]: [&'static str; 3],
) -> Option<Vec<(&'static str, String)>> {
    let (own, errno) = action_of(verdict, dialect)?;
    let mut members = vec![(action, QuotedString(own).to_string())];
    members.extend(errno.map(|errno| (number, errno.to_string())));
    let is_errno = matches!(verdict.action(), Action::Errno(_)) && dialect == Dialect::Podman;
    // The other names have other numbers on some architectures.
    let named = errno.filter(|errno| is_errno && *errno <= 34).and_then(errno_name);
    members.extend(named.map(|errno| (name, QuotedString(errno).to_string())));
    Some(members)
}

/// The member with the architectures.
fn architectures(arches: &[Arch], dialect: Dialect) -> String {
    let quoted = |arches: &[Arch]| {
        let names = arches.iter().map(|arch| QuotedString(arch.oci_name()).to_string());
        names.collect::<Vec<_>>().join(", ")
    };
    match arches {
        [native, more @ ..] if dialect == Dialect::Docker && reads_arch_map(*native, dialect) => {
            format!(
                "\"archMap\": [\n    {{\n      \"architecture\": {},\n      \"subArchitectures\": [{}]\n    }}\n  ]",
                quoted(&[*native]),
                quoted(more)
            )
        }
        arches => format!("\"architectures\": [{}]", quoted(arches)),
    }
}

fn entry(entry: &WriteEntry, dialect: Dialect) -> Option<String> {
    let mut members: Vec<(&str, String)> = Vec::new();
    members
        .extend(entry.comment.as_deref().map(|text| ("comment", QuotedString(text).to_string())));
    let quoted: Vec<String> =
        entry.names.iter().map(|name| QuotedString(name).to_string()).collect();
    let lines = wrapped(quoted.iter().map(String::as_str), WIDTH, ", ");
    members.push((
        "names",
        match lines.as_slice() {
            [line] => format!("[{line}]"),
            lines => format!("[\n        {}\n      ]", lines.join(",\n        ")),
        },
    ));
    let mut action = action_members(entry.verdict, dialect, ["action", "errnoRet", "errno"])?;
    members.extend(action.first().cloned());
    action.drain(..1);
    if !entry.args.is_empty() {
        let args: Vec<String> = entry.args.iter().map(arg).collect();
        members.push(("args", format!("[\n        {}\n      ]", args.join(",\n        "))));
    }
    members.append(&mut action);
    let members: Vec<String> =
        members.iter().map(|(key, value)| format!("      \"{key}\": {value}")).collect();
    Some(format!("    {{\n{}\n    }}", members.join(",\n")))
}

fn arg(comparison: &Comparison) -> String {
    let (arg, value, op) = (comparison.arg(), comparison.value(), comparison.op().words().0);
    let values = match comparison.op() {
        Op::MaskedEq(mask) => format!("{mask}, \"valueTwo\": {value}"),
        _ => value.to_string(),
    };
    format!("{{\"index\": {arg}, \"value\": {values}, \"op\": \"{op}\"}}")
}

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
        yaml_entry(&mut text, own)?;
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

fn yaml_entry(text: &mut String, entry: &WriteEntry) -> Option<()> {
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
    entry.args.iter().for_each(|one| yaml_arg(text, one));
    Some(())
}

fn yaml_arg(text: &mut String, comparison: &Comparison) {
    let (arg, value, op) = (comparison.arg(), comparison.value(), comparison.op().words().0);
    let _ = writeln!(text, "    - index: {arg}\n      op: {op}");
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
