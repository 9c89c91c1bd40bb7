//! A draft as a policy with comments: what each language lays out, with the origin, the reasons and the limits.

use std::collections::BTreeMap;

use crate::generate::arg_limit::ArgLimit;
use crate::generate::directives::Directive;
use crate::generate::draft::Draft;
use crate::generate::grant::{Grant, GrantReason, times};
use crate::generate::language_runtime::LanguageRuntime;
use crate::generate::options::DenyAction;
use crate::generate::runtime;
use callgate_bpf::printable::visible;
use callgate_core::{Arch, Verdict};
use callgate_formats::annotated::{Annotated, AnnotatedWriter, Group, Reason};

/// The policy, with these directives of a unit.
pub(super) fn annotated(
    draft: &Draft,
    to: &AnnotatedWriter,
    directives: &[Directive],
) -> Annotated {
    let directives =
        directives.iter().map(|one| (format!("Recorded: {}.", one.why), one.line.clone()));
    let mut policy = Annotated {
        arches: draft.arches().to_vec(),
        origin: origin(draft),
        denied: draft.options().deny.description().to_owned(),
        default: draft.default_verdict_in(to),
        groups: groups(draft, to),
        directives: directives.collect(),
        remarks: Vec::new(),
        name: draft.options().resource.clone(),
    };
    if to.is_unit {
        policy.remarks = remarks(draft, to, !policy.directives.is_empty());
    }
    policy
}

fn groups(draft: &Draft, to: &AnnotatedWriter) -> Vec<Group> {
    let (mut recorded, mut runtime, mut by_kernel) = (Vec::new(), Vec::new(), Vec::new());
    let mut siblings: BTreeMap<(&str, &str), Vec<&'static str>> = BTreeMap::new();
    let mut by_runtime: BTreeMap<LanguageRuntime, Vec<&'static str>> = BTreeMap::new();
    let (mut limited, mut of_code, mut dangerous) = (Vec::new(), Vec::new(), Vec::new());
    for grant in draft.grants().filter(|grant| draft.can_name(to, grant.name)) {
        let alternatives = grant.alternatives(to);
        match grant.reason {
            _ if alternatives.iter().all(|comparisons| !comparisons.is_empty()) => {
                let why = Reason::Other(limits(draft, grant));
                limited.push(Group { alternatives, ..allow(why, vec![grant.name]) });
            }
            _ if draft.danger(grant.name).is_some() => {
                let why = danger(draft, grant.name);
                dangerous.push(allow(Reason::Other(why), vec![grant.name]));
            }
            GrantReason::Recorded(_) => recorded.push(grant.name),
            _ if to.is_unit && is_added_by_systemd(draft, grant) => {}
            GrantReason::Code => of_code.push(grant),
            GrantReason::Runtime => runtime.push(grant.name),
            GrantReason::Kernel => by_kernel.push(grant.name),
            GrantReason::Language { runtime, .. } => {
                by_runtime.entry(runtime).or_default().push(grant.name);
            }
            GrantReason::Sibling { of, why } => {
                siblings.entry((of, why)).or_default().push(grant.name);
            }
        }
    }
    let numbers = draft.numbers().iter().map(|(syscall, _)| syscall.nr);
    let numbers = if to.has_numbers { numbers.collect() } else { Vec::new() };
    let mut groups = vec![Group { numbers, ..allow(Reason::Recorded, recorded) }];
    groups.extend(dangerous);
    let names = of_code.iter().map(|grant: &&Grant| grant.name).collect();
    groups.push(allow(Reason::Code(all_in_code(&of_code)), names));
    let mut add =
        |why: String, names: Vec<&'static str>| groups.push(allow(Reason::Other(why), names));
    add(format!("Not recorded: {}.", draft.options().runtime.description()), runtime);
    add(format!("Not recorded: {MADE_BY_KERNEL_WHY}."), by_kernel);
    for (runtime, names) in by_runtime {
        add(format!("Not recorded: {}.", runtime.description()), names);
    }
    for ((of, why), names) in siblings {
        add(format!("Related to {of}, which was recorded: {why}."), names);
    }
    if to.is_unit {
        let why = match draft.options().deny {
            DenyAction::Log => "Not logged: a profile that denies makes it fail with ENOSYS.",
            _ => {
                "Listed, so that RestrictNamespaces= makes it fail with ENOSYS: libraries use clone."
            }
        };
        add(why.to_owned(), draft.listed_for_directives(to).collect());
    }
    groups.extend(limited);
    let enosys = Verdict::errno(draft.arches().first().map_or(38, |arch| Arch::enosys(*arch)));
    let mut fail = |why: &str, names: Vec<&'static str>| {
        groups.push(Group { verdict: enosys, ..allow(Reason::Other(why.to_owned()), names) });
    };
    let refused = draft.refused_explicitly(to).collect();
    fail("Fails with ENOSYS, so that libraries fall back to a granted syscall.", refused);
    let others = "All other syscalls fail with ENOSYS, as on a kernel without them. They are named because the default \
                  action has no errno but EPERM.";
    fail(others, draft.others_with_enosys(to));
    groups
}

/// Syscalls that are allowed with all arguments.
fn allow(reason: Reason, names: Vec<&'static str>) -> Group {
    let (numbers, alternatives) = (Vec::new(), Vec::new());
    Group { reason, names, numbers, alternatives, verdict: Verdict::ALLOW }
}

/// Whether systemd grants a syscall itself; `SystemCallLog=` has no such set.
fn is_added_by_systemd(draft: &Draft, grant: &Grant) -> bool {
    draft.options().deny != DenyAction::Log
        && !grant.is_recorded()
        && runtime::is_added_by_systemd(grant.name)
}

/// What a unit cannot say.
fn remarks(
    draft: &Draft,
    to: &AnnotatedWriter,
    has_directives: bool,
) -> Vec<(String, Vec<&'static str>)> {
    let known = |grant: &&Grant| draft.can_name(to, grant.name);
    let limited = draft.grants().filter(known).filter(|grant| !grant.limits.is_empty());
    let limited: Vec<&'static str> = limited.map(|grant| grant.name).collect();
    let unknown = draft.grants().filter(|grant| !draft.can_name(to, grant.name));
    let unknown: Vec<&'static str> = unknown.map(|grant| grant.name).collect();
    let mut remarks = Vec::new();
    if !limited.is_empty() {
        let except = match has_directives {
            true => ", except those that the directives above deny",
            false => "",
        };
        let why = format!(
            "These syscalls are granted with all arguments{except}, because lists cannot limit arguments; the other formats \
             limit them:"
        );
        remarks.push((why, limited));
    }
    if !unknown.is_empty() {
        let version = draft.options().systemd;
        let why = format!("Omitted, because systemd {version} does not know these syscalls:");
        remarks.push((why, unknown));
    }
    remarks
}

/// Why syscalls are granted that the kernel makes programs call.
const MADE_BY_KERNEL_WHY: &str =
    "the kernel makes programs call it after signals and in interrupted sleeps";

/// The limits of a grant, and their reasons.
fn limits(draft: &Draft, grant: &Grant) -> String {
    let arch = draft.arches().first().copied();
    let in_words = |limit: &ArgLimit| match arch {
        Some(arch) => limit.in_words(arch, grant.name),
        None => limit.to_string(),
    };
    let limits: Vec<String> = grant.limits.iter().map(in_words).collect();
    let reason = match grant.reason {
        GrantReason::Recorded(count) => format!("recorded {}", times(count)),
        GrantReason::Code => in_code(grant),
        GrantReason::Runtime => draft.options().runtime.description().to_owned(),
        GrantReason::Kernel => MADE_BY_KERNEL_WHY.to_owned(),
        GrantReason::Language { runtime, source } => {
            let (name, when) = (runtime.name(), runtime.when());
            format!("not recorded, but made by {name} {when} ({source})")
        }
        GrantReason::Sibling { of, why } => format!("related to {of}, which was recorded: {why}"),
    };
    let start = if grant.at_start && grant.is_recorded() {
        format!(", and made at the start by {}", draft.options().runtime.name())
    } else {
        String::new()
    };
    let first = grant.limits.first().map_or("", |limit| limit.why);
    let danger = match draft.danger(grant.name) {
        Some(_) => format!("{} ", danger(draft, grant.name)),
        None => String::new(),
    };
    format!("{danger}{}: {reason}{start}; {first}.", limits.join(" and "))
}

/// How a comment about a dangerous syscall starts.
const DANGEROUS: &str = "DANGEROUS:";

/// Why a syscall that was marked is dangerous.
fn danger(draft: &Draft, name: &str) -> String {
    format!("{DANGEROUS} {}.", draft.danger(name).map(text_of).unwrap_or_default())
}

/// Where the code makes a syscall that was not recorded.
fn in_code(grant: &Grant) -> String {
    let place = grant.code.as_deref().unwrap_or("the program");
    format!("not recorded, but in the code: {}", text_of(place))
}

/// Why syscalls are granted that are only in the code, with the place of each.
fn all_in_code(grants: &[&Grant]) -> String {
    let mut files: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for grant in grants {
        let place = grant.code.as_deref().unwrap_or_default();
        let (file, function) = place.split_once(": ").unwrap_or((place, ""));
        let named = match function {
            "" => grant.name.to_owned(),
            function if function == grant.name => grant.name.to_owned(),
            function => format!("{} ({})", grant.name, text_of(function)),
        };
        files.entry(file).or_default().push(named);
    }
    let files =
        files.iter().map(|(file, names)| format!("{}: {}", text_of(file), names.join(", ")));
    let files: Vec<String> = files.collect();
    format!("Not recorded, but the code of the program can make them. {}.", files.join("; "))
}

/// Names in files and of commands are untrusted: a line break would end the comment, others would reorder its text.
fn text_of(name: &str) -> String {
    visible(name).chars().take(300).collect()
}

/// The recordings from which the profile was generated.
fn origin(draft: &Draft) -> String {
    // Only the names of programs: arguments may be passwords, and profiles are published.
    let mut programs: Vec<&str> =
        draft.recorded().runs().iter().filter_map(|run| run.program()).collect();
    programs.sort_unstable();
    programs.dedup();
    let syscalls = draft.recorded().total();
    let plural = if syscalls == 1 { "" } else { "s" };
    let mut text = format!("generated by callgate from {syscalls} recorded call{plural}");
    if let Some(first) = programs.first() {
        text += &format!(" of {}", text_of(first));
    }
    match programs.len().checked_sub(1) {
        None | Some(0) => {}
        Some(1) => text += " and 1 other program",
        Some(more) => text += &format!(" and {more} other programs"),
    }
    if programs.is_empty() && syscalls == 0 && draft.has_code() {
        return "generated by callgate from the code of the program".to_owned();
    }
    text
}
