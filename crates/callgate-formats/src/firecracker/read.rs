//! Reader of documents: from the text to a [`Profile`].

use std::collections::BTreeMap;

use super::parse::{self, ArgCondition, Entry, FilterAction, ThreadFilter};
use crate::diagnostics::quote::shorten;
use crate::profile::Profile;
use crate::statements::{Statement, Statements};
use crate::syntax::json;
use crate::syntax::reader::{KeyMatching, Reader};
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Arch, SyscallSet, Verdict};

/// The architectures for which seccompiler compiles.
const ARCHES: [Arch; 3] = [Arch::X86_64, Arch::Aarch64, Arch::Riscv64];

/// The maximum number of threads that a message lists.
const MAX_LISTED: usize = 20;

/// Reads the filter of a thread.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::firecracker::{ReadOptions, read};
///
/// let text = r#"{"vmm": {"mismatch_action": "trap", "match_action": "allow",
///                        "filter": [{"syscall": "getpid"}]}}"#;
/// let profile = read(text, &ReadOptions::new(Arch::X86_64))?;
/// let getpid = SeccompData { nr: 39, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(profile.policy.evaluate(&getpid), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error.
pub fn read(text: &str, options: &ReadOptions) -> Result<Profile, Diagnostics> {
    let arch = options.arch;
    if !ARCHES.contains(&arch) {
        let names = ARCHES.map(Arch::name).join(", ");
        let message = format!("seccompiler has no filters for {arch}");
        let help = format!("give one of its architectures: {names}");
        return Err(Diagnostic::error(None, message).help(help).into());
    }
    let document = json::parse(text)?;
    let mut reader = Reader::new(text, KeyMatching::Exact).refusing_unknown_keys();
    let threads = parse::threads(&mut reader, &document, arch);
    let lowered = if reader.failed() {
        None
    } else {
        choose(&mut reader, &threads, options)
            .and_then(|filter| lower(&mut reader, filter, options))
    };
    let (profile, warnings) = reader.end(lowered)?;
    Ok(Profile { warnings, ..profile })
}

/// The filter of a thread. `None` only after an error was reported.
fn choose<'f, 'n>(
    reader: &mut Reader<'_>,
    threads: &'f [ThreadFilter<'n>],
    options: &ReadOptions,
) -> Option<&'f ThreadFilter<'n>> {
    let wanted = options.thread.as_deref();
    let found = match (wanted, threads) {
        (None, [only]) => return Some(only),
        (None, _) => None,
        (Some(name), _) => threads.iter().find(|thread| thread.name == name),
    };
    if found.is_some() {
        return found;
    }
    let mut names: Vec<String> =
        threads.iter().take(MAX_LISTED).map(|thread| shorten(thread.name)).collect();
    if threads.len() > MAX_LISTED {
        names.push("…".to_owned());
    }
    let names = names.join(", ");
    let at = threads.first().map_or(0, |thread| thread.at);
    let (message, help) = match wanted {
        None => (
            format!("the document has {} filters, for the threads {names}", threads.len()),
            threads
                .first()
                .map_or_else(String::new, |thread| (options.choosing)(&shorten(thread.name))),
        ),
        Some(name) => {
            let help = match reader.nearest(name, threads.iter().map(|thread| thread.name)) {
                Some(near) => format!("did you mean `{near}`? The threads are {names}"),
                None => format!("the threads are {names}"),
            };
            (format!("the document has no filter for the thread `{}`", shorten(name)), help)
        }
    };
    reader.refuse(at, message, help)
}

/// What a document is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The architecture of the filter: x86-64, aarch64 or riscv64.
    pub arch: Arch,
    /// The thread whose filter is read. It may be `None` if the document has only one.
    pub thread: Option<String>,
    /// How a user chooses the filter of a thread, for the help if the document has several.
    pub choosing: fn(&str) -> String,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
}

impl ReadOptions {
    /// Reads the only filter of a document.
    pub fn new(arch: Arch) -> ReadOptions {
        let choosing =
            |name: &str| format!("choose one with the option `thread`, such as \"{name}\"");
        ReadOptions { arch, thread: None, choosing, statements: false }
    }
}

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
) -> Option<Profile> {
    for action in [&filter.mismatch, &filter.matching] {
        check_number(reader, action);
    }
    let conditions: usize = filter.entries.iter().flat_map(|entry| &entry.args).map(Vec::len).sum();
    if conditions > MAX_CONDITIONS {
        let message =
            format!("the filter has {conditions} conditions; the limit is {MAX_CONDITIONS}");
        reader.error(filter.at, message).set_too_large("write fewer conditions");
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
    let section = Section::new(options.arch, rules, filter.mismatch.verdict);
    let policy = reader.accept(filter.at, Policy::new(vec![section], BAD_ARCH))?;
    Some(Profile { statements, ..Profile::of(policy) })
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
    let (cmp, mask) = (arg.cmp, arg.mask & width);
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
