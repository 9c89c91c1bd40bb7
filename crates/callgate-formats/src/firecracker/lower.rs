//! From the filter of a thread to a policy.

use super::model::{ArgCondition, Entry, FilterAction, Op, ThreadFilter};
use super::options::ReadOptions;
use crate::diagnostics::quote::shorten;
use crate::statements::{Statement, Statements};
use crate::syntax::reader::Reader;
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Arch, SyscallSet, Verdict};
use std::collections::BTreeMap;

/// The verdict for syscalls of other architectures.
const BAD_ARCH: Verdict = Verdict::KILL_PROCESS;

/// The maximum number of conditions.
const MAX_CONDITIONS: usize = 150_000;

/// The largest errno that the kernel returns (`MAX_ERRNO`).
const MAX_ERRNO: u32 = 4095;

/// The policy of a filter. `None` only after an error was reported.
pub(super) fn lower(
    reader: &mut Reader<'_>,
    filter: &ThreadFilter<'_>,
    options: &ReadOptions,
) -> Option<(Policy, Option<Statements>)> {
    for action in [&filter.mismatch, &filter.matching] {
        check_number(reader, action);
    }
    let conditions: usize = filter.entries.iter().flat_map(|entry| &entry.args).map(Vec::len).sum();
    if conditions > MAX_CONDITIONS {
        let message =
            format!("the filter has {conditions} conditions; the limit is {MAX_CONDITIONS}");
        reader.error(filter.at, message).help = "write fewer conditions".to_owned();
        return None;
    }
    if filter.entries.is_empty() {
        let action = filter.mismatch.name;
        let message = format!("the filter has no entries: every syscall gets `{action}`");
        reader.warn(filter.at, message).help = "add entries to `filter`".to_owned();
    }
    let mut stated = Vec::new();
    let rules = rules(reader, filter, options.arch, &mut stated);
    let statements = options.statements.then(|| Statements {
        rules: stated,
        default: Some(reader.site(filter.mismatch.at)),
        ..Statements::default()
    });
    match Policy::new(vec![Section::new(options.arch, rules, filter.mismatch.verdict)], BAD_ARCH) {
        Ok(policy) => Some((policy, statements)),
        Err(error) => {
            reader.error(filter.at, error.to_string());
            None
        }
    }
}

/// A rule for the syscalls without conditions, and one for each of the others. Adds the rules as the text states them.
fn rules(
    reader: &mut Reader<'_>,
    filter: &ThreadFilter<'_>,
    arch: Arch,
    stated: &mut Vec<Statement>,
) -> Vec<Rule> {
    let mut entries_of: BTreeMap<u32, Vec<&Entry<'_>>> = BTreeMap::new();
    for entry in &filter.entries {
        entries_of.entry(entry.nr).or_default().push(entry);
    }
    let verdict = filter.matching.verdict;
    let mut always = Vec::new();
    let mut rules = Vec::new();
    for (nr, entries) in entries_of {
        let mut alternatives = Vec::new();
        let mut first = None;
        for (entry, args) in entries.iter().filter_map(|entry| Some((entry, entry.args.as_ref()?)))
        {
            first.get_or_insert(entry.at);
            let when = Condition::all(args.iter().filter_map(|arg| test(reader, arg)));
            alternatives.push(when.clone());
            stated.push(statement(reader, entry, arch, when, verdict));
        }
        let Some(first) = first else {
            let of =
                |entry: &&Entry<'_>| statement(reader, entry, arch, Condition::always(), verdict);
            stated.extend(entries.iter().map(of));
            always.push(nr);
            continue;
        };
        for unused in entries.iter().filter(|entry| entry.args.is_none()) {
            let message = format!(
                "this entry of `{}` has no effect: seccompiler ignores it because of entries with `args`, \
                 the first at {}",
                shorten(unused.name),
                reader.place(first)
            );
            reader.warn(unused.at, message).help =
                "remove it to keep the conditions, or remove the others to match every call"
                    .to_owned();
        }
        let when = Condition::any(alternatives);
        rules.push(Rule { syscalls: SyscallSet::one(nr), when, verdict });
    }
    if !always.is_empty() {
        let syscalls = always.into_iter().collect();
        rules.insert(0, Rule { syscalls, when: Condition::always(), verdict });
    }
    rules
}

fn statement(
    reader: &Reader<'_>,
    entry: &Entry<'_>,
    arch: Arch,
    when: Condition,
    verdict: Verdict,
) -> Statement {
    let (site, name) = (reader.site(entry.at), entry.name.to_owned());
    Statement { site, name, arch, nr: entry.nr, when, verdict }
}

/// The test of a condition. Always `Some`, because the index was checked.
fn test(reader: &mut Reader<'_>, arg: &ArgCondition) -> Option<Condition> {
    let wide = Field::arg(arg.index)?;
    let field = if arg.is_wide { wide } else { wide.low32() };
    let width = field.full_mask();
    let (cmp, mask) = match arg.op {
        Op::Eq => (Cmp::Eq, width),
        Op::Ne => (Cmp::Ne, width),
        Op::Lt => (Cmp::Lt, width),
        Op::Le => (Cmp::Le, width),
        Op::Gt => (Cmp::Gt, width),
        Op::Ge => (Cmp::Ge, width),
        Op::MaskedEq(mask) => (Cmp::Eq, mask & width),
    };
    let value = arg.value & mask;
    if arg.value != value {
        let given = arg.value;
        let (why, help) = if arg.value & width != arg.value {
            ("more than the 32 bits of a dword", "use \"type\": \"qword\" to compare 64 bits")
        } else {
            ("bits outside the mask", "the comparison would never hold with them")
        };
        let message = format!("`val` {given:#x} has {why}; seccompiler compares with {value:#x}");
        reader.warn(arg.at, message).help = help.to_owned();
    }
    let holds = match (cmp, value) {
        _ if mask == 0 => Some(true),
        (Cmp::Lt, 0) => Some(false),
        (Cmp::Ge, 0) => Some(true),
        (Cmp::Gt, value) if value == width => Some(false),
        (Cmp::Le, value) if value == width => Some(true),
        _ => None,
    };
    if let Some(holds) = holds {
        let verb = if holds { "holds for every value" } else { "never holds" };
        reader.warn(arg.at, format!("this condition {verb}")).help =
            "check `op` and `val`".to_owned();
    }
    Some(match holds {
        Some(true) => Condition::always(),
        Some(false) => Condition::never(),
        None => Condition::test(Test { field, mask, cmp, value }),
    })
}

/// Warns about numbers that the kernel gets otherwise than they are written.
fn check_number(reader: &mut Reader<'_>, action: &FilterAction) {
    let FilterAction { at, name, number, .. } = *action;
    let (message, help) = if number > u16::MAX.into() {
        (
            format!("`{name}` is {number}; seccompiler keeps the low 16 bits, {}", number as u16),
            "use a number up to 65535".to_owned(),
        )
    } else if name == "errno" && number > MAX_ERRNO {
        (
            format!("errno {number} is more than {MAX_ERRNO}, so the kernel returns {MAX_ERRNO}"),
            format!("use a number up to {MAX_ERRNO}"),
        )
    } else {
        return;
    };
    reader.warn(at, message).help = help;
}
