//! Reads profiles: from the text to both filters.

use std::collections::BTreeSet;

use super::line::{Ids, ReadOptions, Rule, check_count, comparisons, words};
use crate::rule_readers::{
    ComparisonBudget, Origin, lines, report_hidden, report_unknown_syscall, rules_of,
};
use crate::ruleset::{RuleSet, sections};
use crate::statements::Statements;
use crate::syntax::reader::{KeyMatching, Reader};
use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_bpf::syscalls::is_known_name;
use callgate_core::policy::Policy;
use callgate_core::{Arch, SeccompData, Verdict};

/// The filters that snap-confine installs for a profile, and the warnings about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapFilters {
    /// The filter of the rules with `~`, which is installed first.
    pub deny: Policy,
    /// The filter of the other rules.
    pub allow: Policy,
    /// Warnings, in the order of the text.
    pub warnings: Vec<Diagnostic>,
    /// The rules of `deny` and of `allow` as the text states them, if the options ask for them.
    pub statements: Option<[Statements; 2]>,
}

impl SnapFilters {
    /// The verdict of both filters.
    pub fn evaluate(&self, data: &SeccompData) -> Verdict {
        self.allow.evaluate(data).or_higher_precedence(self.deny.evaluate(data))
    }
}

/// The verdict for syscalls of other architectures: libseccomp's default.
const BAD_ARCH: Verdict = Verdict::KILL_THREAD;

/// EPERM for syscalls without a rule, and EACCES for denied ones.
const IMPLICIT: Verdict = Verdict::errno(1);
const EXPLICIT: Verdict = Verdict::errno(13);

/// The length at which snap-seccomp stops reading.
const MAX_LINE: usize = 65_536;

/// Reads a profile; `ids` finds the numbers of users and groups.
///
/// ```
/// use callgate_core::{Arch, SeccompData, Verdict};
/// use callgate_formats::snap::{ReadOptions, read};
///
/// let text = "read\nsocket AF_UNIX\n~mount\n";
/// let filters = read(text, &ReadOptions::new(Arch::X86_64), &mut |_, _| None)?;
/// let mut socket = SeccompData { nr: 41, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(filters.evaluate(&socket), Verdict::errno(1));
/// socket.args[0] = 1;
/// assert_eq!(filters.evaluate(&socket), Verdict::ALLOW);
/// # Ok::<(), callgate_bpf::diagnostic::Diagnostics>(())
/// ```
///
/// # Errors
/// All messages about the text, including warnings, if at least one is an error. `@unrestricted` is one: there is no filter.
pub fn read(
    text: &str,
    options: &ReadOptions,
    ids: &mut Ids<'_>,
) -> Result<SnapFilters, Diagnostics> {
    let mut reader = Reader::new(text, KeyMatching::Exact);
    let filters = filters(&mut reader, text, options, ids);
    let (filters, warnings) = reader.end(filters)?;
    Ok(SnapFilters { warnings, ..filters })
}

/// The architecture that snap-seccomp adds to that of a host.
pub(crate) fn compat_arch(native: Arch) -> Option<Arch> {
    match native {
        Arch::X86_64 => Some(Arch::X86),
        Arch::Aarch64 => Some(Arch::Arm),
        Arch::Ppc64 => Some(Arch::Ppc),
        _ => None,
    }
}

fn filters(
    reader: &mut Reader<'_>,
    text: &str,
    options: &ReadOptions,
    ids: &mut Ids<'_>,
) -> Option<SnapFilters> {
    if let Some((line, at)) = lines(text, 0).find(|(line, _)| line.len() >= MAX_LINE) {
        let message = format!("the line has {} bytes; the maximum is {}", line.len(), MAX_LINE - 1);
        let help = "snap-seccomp ignores this line and all that follow; split it";
        reader.error(at, message).set_too_large(help);
        return None;
    }
    if let Some((_, at)) = lines(text, 0).find(|(line, _)| line.trim() == "@unrestricted") {
        let help = "remove this line to see what the rules mean";
        return reader.refuse(
            at,
            "`@unrestricted`: snap-confine installs no filter for this profile",
            help,
        );
    }
    let complains = lines(text, 0).any(|(line, _)| line.trim() == "@complain");
    let default = if complains { Verdict::LOG } else { IMPLICIT };
    let mut arches = vec![options.native];
    arches.extend(compat_arch(options.native));
    let mut lowering = Lowering {
        deny: arches.iter().map(|arch| RuleSet::new(*arch)).collect(),
        allow: arches.iter().map(|arch| RuleSet::new(*arch)).collect(),
        budget: ComparisonBudget::default(),
        given: BTreeSet::new(),
        hidden: [Vec::new(), Vec::new()],
    };
    for (line, at) in lines(text, 0) {
        if let Some(rule) = rule(reader, line, at, options, ids) {
            lowering.add(reader, rule)?;
        }
    }
    let Lowering { deny, allow, hidden: [hidden_deny, hidden_allow], .. } = lowering;
    report_hidden(reader, &allow, hidden_allow);
    report_hidden(reader, &deny, hidden_deny);
    if allow.iter().chain(&deny).all(RuleSet::is_empty) && !reader.failed() {
        let message = format!("no rule has an effect: every syscall gets {default}");
        reader.warn(0, message).help = "add the names of syscalls".to_owned();
    }
    let statements = options.statements.then(|| {
        [&deny, &allow].map(|sets| {
            let rules = rules_of(reader, sets);
            Statements { rules, ..Statements::default() }
        })
    });
    let deny = Policy::new(sections(&deny, Verdict::ALLOW, BAD_ARCH), BAD_ARCH);
    let allow = Policy::new(sections(&allow, default, BAD_ARCH), BAD_ARCH);
    let (deny, allow) = (reader.accept(0, deny)?, reader.accept(0, allow)?);
    Some(SnapFilters { deny, allow, warnings: Vec::new(), statements })
}

/// The rule of a line, if it has one that does not fail.
fn rule<'t>(
    reader: &mut Reader<'_>,
    line: &'t str,
    at: usize,
    options: &ReadOptions,
    ids: &mut Ids<'_>,
) -> Option<Rule<'t>> {
    let line = line.strip_suffix('\r').unwrap_or(line);
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    if let Some(nul) = line.find('\0') {
        return reader.refuse(at + nul, "a NUL byte", "remove it");
    }
    let words: Vec<(usize, &str)> = words(line, at).collect();
    let Some(((at, first), arguments)) = words.split_first() else {
        return reader.refuse(
            at,
            "a line of blanks",
            "snap-seccomp fails at it; remove the blanks",
        );
    };
    if !check_count(reader, &words) {
        return None;
    }
    let (is_denied, name) = match first.strip_prefix('~') {
        Some(name) => (true, name),
        None => (false, *first),
    };
    if !is_known_name(name) {
        if line.trim() != "@complain" {
            let words: &[&str] = if is_denied { &[] } else { &["@complain", "@unrestricted"] };
            let by = "snap-seccomp skips it";
            report_unknown_syscall(reader, name, *at, options.strict, by, words, None);
        }
        return None;
    }
    let comparisons = comparisons(reader, name, arguments, options.native, ids)?;
    Some(Rule { is_denied, name, at: *at, comparisons })
}

/// The rule sets of both filters, the native architecture first.
struct Lowering<'t> {
    deny: Vec<RuleSet<Origin<'t>>>,
    allow: Vec<RuleSet<Origin<'t>>>,
    budget: ComparisonBudget,
    /// Rules without comparisons, which do not matter again.
    given: BTreeSet<(bool, &'t str)>,
    /// For `deny` and `allow`, rules that are also reached through a multiplexer: the index of the set, the number of the
    /// multiplexer, and the rule.
    hidden: [Vec<(usize, u32, Origin<'t>)>; 2],
}

impl<'t> Lowering<'t> {
    /// Adds a rule. `None` after the limit was reported.
    fn add(&mut self, reader: &mut Reader<'_>, rule: Rule<'t>) -> Option<()> {
        let Rule { is_denied, name, at, comparisons } = rule;
        if comparisons.is_empty() && !self.given.insert((is_denied, name)) {
            return Some(());
        }
        let [hidden_deny, hidden_allow] = &mut self.hidden;
        let (sets, hidden, verdict) = match is_denied {
            true => (&mut self.deny, hidden_deny, EXPLICIT),
            false => (&mut self.allow, hidden_allow, Verdict::ALLOW),
        };
        self.budget.spend(reader, comparisons.len(), sets.len(), at)?;
        for (index, set) in sets.iter_mut().enumerate() {
            let via = set.add_syscall_if_known(name, &comparisons, verdict, (at, name));
            hidden.extend(via.map(|nr| (index, nr, (at, name))));
        }
        Some(())
    }
}
