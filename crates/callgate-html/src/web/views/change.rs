//! The smallest change of a text that allows a syscall, with its proof.

use callgate::{Arch, SeccompData, Verdict};
use callgate_bpf::SyscallTable;
use callgate_core::diagram::{Func, Store};
use callgate_formats::change::{Allowed, Candidates, apply, candidates, unified_diff, verify};
use callgate_formats::languages::LanguageId;
use callgate_formats::why::why;
use callgate_requests::logged::find;
use callgate_requests::source::{
    FilterContent, Messages, SourceContent, SourceFormat, SourceText, read,
};
use callgate_requests::syscall;
use callgate_trace::denials::{Evidence, LoggedCall};
use callgate_trace::recording::SyscallId;

use crate::Markup;
use crate::web::analysis::Analysis;

/// For how many syscalls of an answer changes are searched: the filter is read again for each candidate.
pub(super) const MOST_CHANGES: usize = 8;

/// A syscall with these values of its first arguments; the others may have any.
pub(super) fn wanted(arch: Arch, data: &SeccompData, given: usize) -> LoggedCall {
    let mut args = data.args.map(Some);
    args.iter_mut().skip(given).for_each(|arg| *arg = None);
    let syscall = SyscallId::new(arch, data.nr);
    LoggedCall { syscall, args, evidence: Evidence::Filter, is_of_narrow_kernel: false }
}

/// A syscall by its name, with all arguments.
pub(super) fn named(arch: Arch, name: &str) -> Option<(LoggedCall, SeccompData)> {
    let nr = arch.number(name)?;
    let data = SeccompData { nr, arch: arch.token(), ..SeccompData::default() };
    Some((wanted(arch, &data, 0), data))
}

/// Whether two verdicts have the same action. The kernel does not log its data.
pub(super) fn is_same_action(one: Verdict, other: Verdict) -> bool {
    let kind = |verdict: Verdict| std::mem::discriminant(&verdict.action());
    kind(one) == kind(other)
}

/// Proposes the smallest change that allows a syscall with its known arguments, or says what to do instead. `logged` are the
/// verdicts of a log.
pub(super) fn allow(
    item: &mut Markup,
    wanted: &LoggedCall,
    logged: &[(Verdict, u64)],
    call: &SeccompData,
    diagram: &mut (Store, Func),
    (analysis, changes): (&Analysis<'_>, &mut Vec<String>),
) {
    match change(wanted, logged, call, diagram, analysis) {
        Ok(change) => {
            propose(item, &change, changes.len());
            changes.push(change.text);
        }
        Err(why) => item.paragraph(&why),
    }
}

/// A change of the text that is proved to allow a syscall, and nothing else.
struct Change {
    allowed: Allowed,
    diff: String,
    text: String,
    /// What else changes, in a sentence, or empty.
    besides: String,
}

/// The smallest change of the text, or else what to do.
fn change(
    wanted: &LoggedCall,
    logged: &[(Verdict, u64)],
    call: &SeccompData,
    diagram: &mut (Store, Func),
    analysis: &Analysis<'_>,
) -> Result<Change, String> {
    let by_hand = |why: &str| Err(format!("No change is proposed: {why}."));
    let id = wanted.syscall;
    let Some(name) = id.name() else {
        return by_hand("the syscall has no name, so a policy cannot name it");
    };
    let Some(text) = analysis.text() else {
        return by_hand(
            "a built-in profile stays as it is; write it in a format under Convert, and paste that",
        );
    };
    let Some(language) = analysis.source.format_of(text.as_bytes()).language() else {
        return by_hand(
            "a program has no rules to change; change the policy from which it was made",
        );
    };
    // A change for all arguments would also undo the other denials.
    let is_other = |own: Verdict| {
        !own.permits() && !logged.iter().any(|(logged, _)| is_same_action(own, *logged))
    };
    if !logged.is_empty() && find(diagram, wanted, is_other).is_some() {
        return by_hand(
            "the arguments decide how the filter denies it, and the log has none; a log of strace -f has them",
        );
    }
    // Of several filters with the verdict, the kernel takes the newest.
    let verdict = diagram.0.evaluate(diagram.1, call).ok();
    let decides = analysis.stack.filters.iter().rev().find_map(|filter| {
        let FilterContent::Policy(policy) = &filter.content else { return None };
        let statements = filter.statements()?;
        let found = why(policy, statements, call, Some(name));
        (Some(found.verdict) == verdict).then_some((statements, found))
    });
    let Some((statements, found)) = decides else {
        return by_hand("the text has no rules that can be changed");
    };
    let args = (0..).zip(wanted.args).filter_map(|(index, arg)| Some((index, arg?))).collect();
    let wanted = Allowed::with_args(id.arch, name, args);
    let input = Candidates {
        language,
        role: "",
        text,
        file: None,
        statements,
        why: &found,
        wanted: &wanted,
    };
    let (store, root) = diagram;
    for candidate in candidates(&input) {
        let Some(changed) = apply(text, &candidate.edits) else { continue };
        let Some(after) = diagram_of(analysis.source, language, &changed, store) else { continue };
        let Ok(verified) = verify(store, *root, after, std::slice::from_ref(&candidate.allowed))
        else {
            continue;
        };
        let mut besides = String::new();
        if let Some(effect) = &verified.multiplexed {
            besides += &format!(
                " On {}, the call can also be made through its multiplexer, with all arguments.",
                shown(&effect.data).0
            );
        }
        if let Some(effect) = &verified.side_effect {
            besides += &format!(
                " Other denied syscalls get another verdict, for example {}: {} instead of {}.",
                shown(&effect.data).1,
                effect.after,
                effect.before
            );
        }
        let diff = unified_diff(&analysis.source.name, text, &changed);
        return Ok(Change { allowed: candidate.allowed, diff, text: changed, besides });
    }
    by_hand(
        "none of the changes that were tried allows it and nothing else; change the policy by hand",
    )
}

/// The architecture of a syscall, and the syscall with it.
fn shown(data: &SeccompData) -> (String, String) {
    let arch = syscall::arch_of(data);
    let name = syscall::arch_name(arch, data.arch);
    let call = format!("{name} {}", syscall::show(arch, data));
    (name, call)
}

/// The function of a changed text, read as the original.
fn diagram_of(
    source: &SourceText,
    language: LanguageId,
    text: &str,
    store: &mut Store,
) -> Option<Func> {
    let mut source = source.clone();
    source.content = SourceContent::Text(text.to_owned());
    source.format = Some(SourceFormat::Policy(language));
    let mut warnings = Messages::new();
    let stack = read(&source, &mut warnings).ok()?;
    stack.combined_diagram(store, &mut warnings).ok()
}

/// The change with its proof, and a button that applies it.
fn propose(item: &mut Markup, change: &Change, index: usize) {
    let name = &change.allowed.name;
    let scope = match change.allowed.condition() {
        Some(condition) => format!("{name} if {condition}"),
        None => format!("{name} with all arguments"),
    };
    item.element("p", &[], |line| {
        line.text(&format!(
            "This change is proved to allow {scope}, and nothing else.{} ",
            change.besides
        ));
        let index = index.to_string();
        let label = format!("Apply the change that allows {name}");
        line.leaf(
            "button",
            &[
                ("type", "button"),
                ("class", "apply"),
                ("data-change", &index),
                ("aria-label", &label),
            ],
            "Apply",
        );
    });
    item.region("wide code", &format!("Change that allows {name}"), |code| {
        for line in change.diff.lines() {
            let style = match line.as_bytes() {
                [b'+', b'+', ..] | [b'-', b'-', ..] => "line quiet",
                [b'+', ..] => "line added",
                [b'-', ..] => "line removed",
                _ => "line",
            };
            code.leaf("div", &[("class", style)], &line.replace('\t', "    "));
        }
    });
}
