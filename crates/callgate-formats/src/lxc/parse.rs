//! Lines of a profile, and the hosts that use them.

use super::arguments::{Base, action, arguments, integer, report_ignored, skip_space};
use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::rule_readers::lines;
use crate::ruleset::{Comparison, Op};
use crate::syntax::reader::Reader;
use callgate_core::{Arch, Verdict};

/// A profile.
#[derive(Debug)]
pub(super) struct Model<'t> {
    /// The verdict for syscalls without a rule.
    pub(super) default: Verdict,
    /// The offset of the action for syscalls without a rule, or of the policy.
    pub(super) default_at: usize,
    pub(super) rules: Rules<'t>,
}

/// The rules that the host uses.
#[derive(Debug)]
pub(super) enum Rules<'t> {
    /// Version 1: the numbers of allowed syscalls, which may be negative, after their offsets.
    Numbers(Vec<(usize, i32)>),
    /// Version 2.
    Named(Vec<Rule<'t>>),
}

/// A rule of version 2.
#[derive(Debug)]
pub(super) struct Rule<'t> {
    pub(super) at: usize,
    pub(super) target: Target<'t>,
    pub(super) verdict: Verdict,
    /// They must all hold.
    pub(super) comparisons: Vec<Comparison>,
}

/// What a rule is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target<'t> {
    /// The syscall with this name.
    Syscall(&'t str),
    /// `reject_force_umount`: `umount2` with the flag MNT_FORCE.
    ForcedUmount,
}

/// The rule that rejects `umount2` with MNT_FORCE. LXC compares only these letters.
const FORCED_UMOUNT: &str = "reject_force_umount";

/// The flag MNT_FORCE.
const MNT_FORCE: u64 = 1;

/// The errno EACCES.
const EACCES: u16 = 13;

/// Parses a profile. `None` only after an error was reported.
pub(super) fn parse<'t>(reader: &mut Reader<'_>, text: &'t str, native: Arch) -> Option<Model<'t>> {
    if let Some(at) = text.find('\0') {
        return reader.refuse(at, "a zero byte", "LXC's profiles are text; remove it");
    }
    let offset_of = |part: &str| text.len() - part.len();
    let version = integer(text, Base::Decimal);
    let Some((version @ (1 | 2), rest)) = version.map(|(number, rest)| (number as i32, rest))
    else {
        let found = text.lines().next().unwrap_or("").trim();
        let message = format!(
            "expected the version, 1 or 2, in the first line, but found `{}`",
            shorten(found)
        );
        return reader.refuse(0, message, "write 2 in the first line");
    };
    let rest = skip_space(rest);
    let policy_at = offset_of(rest);
    if rest.is_empty() {
        let help = "write allowlist or denylist in the second line";
        return reader.refuse(policy_at, "missing policy after the version", help);
    }
    let (line, body) = rest.split_once('\n').unwrap_or((rest, ""));
    let has_newline = line.len() < rest.len();
    if line.contains("debug") {
        let at = policy_at + line.find("debug").unwrap_or(0);
        return reader.refuse(at, "LXC refuses the word `debug` in this line", "remove it");
    }
    let body_at = offset_of(body);
    match version {
        1 => {
            if !line.contains("allowlist") {
                let message = format!(
                    "version 1 needs the policy `allowlist`, but found `{}`",
                    shorten(line.trim())
                );
                let help = match line.contains("whitelist") {
                    true => "LXC 4.0.4 and later refuse whitelist in version 1; write allowlist"
                        .to_owned(),
                    false => "write allowlist, or use version 2".to_owned(),
                };
                return reader.refuse(policy_at, message, help);
            }
            let numbers = numbers(reader, body, body_at)?;
            Some(Model {
                default: Verdict::KILL_THREAD,
                default_at: policy_at,
                rules: Rules::Numbers(numbers),
            })
        }
        _ => {
            let policy = policy(reader, line, policy_at, has_newline)?;
            let rules = rules(reader, body, body_at, &policy, native);
            Some(Model {
                default: policy.default,
                default_at: policy.default_at,
                rules: Rules::Named(rules),
            })
        }
    }
}

/// The second line of version 2.
struct PolicyLine {
    default: Verdict,
    default_at: usize,
    /// The action of rules without one.
    of_rules: Verdict,
}

fn policy(reader: &mut Reader<'_>, line: &str, at: usize, has_newline: bool) -> Option<PolicyLine> {
    const ALLOW: [&str; 2] = ["allowlist", "whitelist"];
    const DENY: [&str; 2] = ["denylist", "blacklist"];
    let word = line.split([' ', '\r']).next().unwrap_or(line);
    let is_one = |names: [&'static str; 2]| names.into_iter().find(|name| line.starts_with(name));
    let (allowed, denied) = (is_one(ALLOW), is_one(DENY));
    let Some(name) = allowed.or(denied) else {
        let near = reader.nearest(word, ALLOW.into_iter().chain(DENY));
        let message =
            format!("expected allowlist or denylist, but found `{}`", shorten(line.trim()));
        let help = did_you_mean(
            near,
            "the line after the version is the policy; LXC has no comments before it",
        );
        return reader.refuse(at, message, help);
    };
    if word != name {
        let message = format!("LXC reads `{}` as `{name}`", shorten(word));
        reader.warn(at, message).help = format!("write {name}");
    }
    let (mut default, of_rules) = match allowed {
        Some(_) => (Verdict::KILL_THREAD, Verdict::ALLOW),
        None => (Verdict::ALLOW, Verdict::KILL_THREAD),
    };
    let mut default_at = at;
    if let Some((before, given)) = line.split_once(' ') {
        let given = given.trim_start_matches(' ');
        default_at = at + (line.len() - given.len()).max(before.len());
        if given.is_empty() && has_newline {
            let help = "LXC expects an action after it, and refuses the profile; remove it";
            return reader.refuse(default_at, "a blank at the end of the line", help);
        }
        if !given.is_empty() {
            let (verdict, rest) = action(reader, given, default_at)?;
            report_ignored(reader, rest, at + line.len() - rest.len(), "action");
            default = verdict;
        }
    }
    if matches!(default, verdict if verdict == Verdict::user_notif(0)) {
        let message = "every syscall without a rule fails with ENOSYS, because LXC opens no listener for this action";
        reader.warn(default_at, message).help = "use `notify` only in rules".to_owned();
    }
    Some(PolicyLine { default, default_at, of_rules })
}

/// The numbers of version 1.
fn numbers(reader: &mut Reader<'_>, body: &str, body_at: usize) -> Option<Vec<(usize, i32)>> {
    let mut numbers = Vec::new();
    for (line, at) in lines(body, body_at) {
        let Some((number, rest)) = integer(line, Base::Decimal) else {
            let message = match line.trim() {
                "" => "an empty line".to_owned(),
                found => {
                    format!("expected the number of a syscall, but found `{}`", shorten(found))
                }
            };
            let help = "version 1 of LXC's profiles has one number per line, without comments; for names, use version 2";
            return reader.refuse(at, message, help);
        };
        report_ignored(reader, rest, at + line.len() - rest.len(), "number");
        // LXC keeps an int.
        numbers.push((at, number as i32));
    }
    Some(numbers)
}

/// The rules of version 2 that the host uses.
fn rules<'t>(
    reader: &mut Reader<'_>,
    body: &'t str,
    body_at: usize,
    policy: &PolicyLine,
    native: Arch,
) -> Vec<Rule<'t>> {
    let mut rules = Vec::new();
    let mut is_used = is_known_host(native);
    let mut warned = (false, false);
    for (line, at) in lines(body, body_at) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.starts_with('[') {
            let name = line.strip_prefix('[').and_then(|line| line.strip_suffix(']'));
            match name.and_then(|name| section(name, native)) {
                Some(SectionKind::All) => is_used = true,
                Some(SectionKind::One { is_used: used }) => {
                    is_used = used;
                    if used && !compat_arches(native).is_empty() && !warned.0 {
                        warned.0 = true;
                        let arches = compat_arches(native).iter().map(|arch| arch.name());
                        let all: Vec<&str> = std::iter::once(native.name()).chain(arches).collect();
                        let message = format!(
                            "on this host LXC applies the rules of `{}` to all architectures: {}",
                            shorten(line),
                            all.join(", ")
                        );
                        reader.warn(at, message).help = "write [all] if that is meant".to_owned();
                    }
                }
                None => unknown_section(reader, line, at),
            }
            continue;
        }
        if !is_used {
            if !is_known_host(native) && !warned.1 {
                warned.1 = true;
                let message = format!(
                    "LXC does not know the host architecture {native}, and skips rules outside of [all]"
                );
                reader.warn(at, message).help = "write [all] before the rules".to_owned();
            }
            continue;
        }
        rules.extend(rule(reader, line, at, policy.of_rules));
    }
    rules
}

fn unknown_section(reader: &mut Reader<'_>, line: &str, at: usize) {
    let word = line.trim().trim_start_matches('[').trim_end_matches(']');
    let near = reader.nearest(word, section_names());
    let message = format!("LXC refuses the section `{}`", shorten(line));
    reader.error(at, message).help = match near {
        Some(near) => format!("write [{near}] alone in the line"),
        None => "the sections are [all], [x86], [x86_64], [arm64], …".to_owned(),
    };
}

/// A rule of version 2. `None` after an error was reported.
fn rule<'t>(
    reader: &mut Reader<'_>,
    line: &'t str,
    at: usize,
    of_rules: Verdict,
) -> Option<Rule<'t>> {
    let name = line.split(' ').next().unwrap_or(line);
    let after = line.get(name.len()..).unwrap_or("").trim_start_matches(' ');
    let has_arguments = line.contains('[');
    let mut verdict = of_rules;
    let mut is_given = false;
    if !after.is_empty() && !after.starts_with('#') {
        if name.is_empty() {
            let help =
                "LXC takes what follows for an action, and refuses the profile; remove the blank";
            return reader.refuse(at, "a blank before the name of a syscall", help);
        }
        let (given, rest) = action(reader, after, at + line.len() - after.len())?;
        (verdict, is_given) = (given, true);
        let before_arguments = rest.split('[').next().unwrap_or(rest);
        report_ignored(reader, before_arguments, at + line.len() - rest.len(), "action");
    }
    let mut comparisons = match has_arguments {
        true => arguments(reader, line, at)?,
        false => Vec::new(),
    };
    if !name.starts_with(FORCED_UMOUNT) {
        return Some(Rule { at, target: Target::Syscall(name), verdict, comparisons });
    }
    if is_given || has_arguments || name != FORCED_UMOUNT {
        let message = format!(
            "LXC only compares the first letters of `{}`, and ignores the rest of the line",
            shorten(name)
        );
        reader.warn(at, message).help =
            format!("write {FORCED_UMOUNT} alone: the errno is always EACCES");
    }
    comparisons.clear();
    comparisons.extend(Comparison::new(1, Op::MaskedEq(MNT_FORCE), MNT_FORCE));
    Some(Rule { at, target: Target::ForcedUmount, verdict: Verdict::errno(EACCES), comparisons })
}

/// The architectures that LXC adds to that of a host.
pub(crate) fn compat_arches(native: Arch) -> &'static [Arch] {
    match native {
        Arch::X86_64 => &[Arch::X86, Arch::X32],
        Arch::Aarch64 => &[Arch::Arm],
        Arch::Ppc64 => &[Arch::Ppc],
        Arch::Mips64 => &[Arch::Mips, Arch::Mips64n32],
        Arch::Mipsel64 => &[Arch::Mipsel, Arch::Mipsel64n32],
        _ => &[],
    }
}

/// The architecture of a host whose programs have this architecture: kernels have no x32 or n32 of their own.
pub fn host_of(arch: Arch) -> Arch {
    match arch {
        Arch::X32 => Arch::X86_64,
        Arch::Mips64n32 => Arch::Mips64,
        Arch::Mipsel64n32 => Arch::Mipsel64,
        other => other,
    }
}

/// Whether LXC knows this host. On others it skips all rules outside of the section `[all]`.
fn is_known_host(native: Arch) -> bool {
    SECTIONS.iter().any(|(_, hosts)| hosts.contains(&native))
}

/// The sections for one architecture, and the hosts that use their rules. Names may also be in upper case.
const SECTIONS: &[(&str, &[Arch])] = &[
    ("x86", &[Arch::X86, Arch::X86_64]),
    ("x32", &[Arch::X86_64]),
    ("x86_64", &[Arch::X86_64]),
    ("arm", &[Arch::Arm, Arch::Aarch64]),
    ("arm64", &[Arch::Aarch64]),
    ("ppc64le", &[Arch::Ppc64le]),
    ("ppc64", &[Arch::Ppc64]),
    ("ppc", &[Arch::Ppc, Arch::Ppc64]),
    ("mips64", &[Arch::Mips64]),
    ("mips64n32", &[Arch::Mips64]),
    ("mips", &[Arch::Mips, Arch::Mips64]),
    ("mipsel64", &[Arch::Mipsel64]),
    ("mipsel64n32", &[Arch::Mipsel64]),
    ("mipsel", &[Arch::Mipsel, Arch::Mipsel64]),
    ("s390x", &[Arch::S390x]),
    ("s390", &[Arch::S390]),
    ("loongarch64", &[Arch::Loongarch64]),
];

/// A section of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionKind {
    /// `[all]`.
    All,
    /// For one architecture, and whether the host uses its rules.
    One { is_used: bool },
}

/// The section with this name on a host; `None` if LXC refuses it.
pub(super) fn section(name: &str, native: Arch) -> Option<SectionKind> {
    let is = |known: &str| name == known || name == known.to_ascii_uppercase();
    if is("all") {
        return Some(SectionKind::All);
    }
    let (_, hosts) = SECTIONS.iter().find(|(known, _)| is(known))?;
    Some(SectionKind::One { is_used: hosts.contains(&native) })
}

/// The names of all sections.
fn section_names() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().map(|(name, _)| *name).chain(["all"])
}
