//! A context of libseccomp: its architectures with their rules, and its attributes.

use crate::profile::Profile;
use crate::ruleset::{Comparison, IncrementalRules, Op, RuleSet, sections};
use crate::statements::{Site as Place, Statement, Statements, other_abis};
use callgate_bpf::diagnostic::{Diagnostic, Position, Topic};
use callgate_bpf::syscalls::KnownSyscall;
use callgate_bpf::{FilterFlags, SyscallTable};
use callgate_core::policy::Policy;
use callgate_core::{Arch, Verdict};

/// An error code that a function of libseccomp returns, negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code(pub(super) i32);

impl Code {
    pub(super) const ACCES: Code = Code(13);
    pub(super) const FAULT: Code = Code(14);
    pub(super) const EXIST: Code = Code(17);
    pub(super) const INVAL: Code = Code(22);
    pub(super) const DOM: Code = Code(33);
    pub(super) const OPNOTSUPP: Code = Code(95);

    /// The name of the error number.
    pub(super) fn name(self) -> &'static str {
        match self {
            Code::ACCES => "EACCES",
            Code::FAULT => "EFAULT",
            Code::EXIST => "EEXIST",
            Code::DOM => "EDOM",
            Code::OPNOTSUPP => "EOPNOTSUPP",
            _ => "EINVAL",
        }
    }
}

/// A call that adds a rule.
#[derive(Clone, Debug)]
pub(super) struct Site {
    pub(super) position: Position,
    /// The name of the syscall.
    pub(super) name: String,
}

/// The syscall of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A number on the native architecture; -1 is the one with which tracers skip a syscall.
    Number(i32),
    /// A syscall that the native architecture does not have.
    Absent(KnownSyscall),
}

impl Target {
    /// The syscall, or the number of one without a name.
    pub(super) fn known(self, native: Arch) -> Result<KnownSyscall, i32> {
        match self {
            Target::Absent(known) => Ok(known),
            Target::Number(number) => {
                let name =
                    u32::try_from(number).ok().and_then(|number| native.syscall_name(number));
                name.and_then(KnownSyscall::named).ok_or(number)
            }
        }
    }
}

/// A rule as it is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewRule {
    pub(super) verdict: Verdict,
    pub(super) target: Target,
    pub(super) comparisons: Vec<Comparison>,
    pub(super) is_exact: bool,
}

/// A change of a context, in the order of the calls. Contexts with the same changes are the same filter.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    Rule(NewRule),
    Add(Arch),
    Remove(Arch),
    BadArch(Verdict),
    Merge(Verdict, Vec<Change>),
}

/// The rules for one architecture.
#[derive(Clone, Debug)]
struct ArchRules {
    /// What libseccomp accepted.
    accepted: IncrementalRules,
    /// The same with the index of the call.
    stated: RuleSet<usize>,
    /// Rules with comparisons that `socketcall` or `ipc` evades: its number, and the index of the call.
    hidden: Vec<(u32, usize)>,
}

impl ArchRules {
    fn new(arch: Arch) -> ArchRules {
        ArchRules {
            accepted: IncrementalRules::new(arch),
            stated: RuleSet::new(arch),
            hidden: Vec::new(),
        }
    }

    fn arch(&self) -> Arch {
        self.accepted.arch()
    }

    /// Accepts a rule, or the rules that libseccomp makes of it. In case of an error, some of these may have been accepted.
    fn check(&mut self, rule: &NewRule, native: Arch) -> Result<(), Code> {
        let arch = self.arch();
        let known = match rule.target.known(native) {
            Ok(known) => known,
            Err(number) if arch != native && number != -1 => return Err(Code::FAULT),
            Err(number) => return self.accept(number, &rule.comparisons, rule.verdict),
        };
        let through =
            known.multiplexed(arch).and_then(|(via, sub_call)| Some((arch.number(via)?, sub_call)));
        let own = known.number(arch).and_then(|number| i32::try_from(number).ok());
        if rule.is_exact && own.is_none() && through.is_none() {
            return Err(Code::DOM);
        }
        if rule.is_exact && through.is_some() && !rule.comparisons.is_empty() {
            return Err(Code::INVAL);
        }
        if let Some((via, sub_call)) = through {
            let selects = Comparison::new(0, Op::Eq, u64::from(sub_call));
            let others = rule.comparisons.iter().copied().filter(|test| test.arg() != 0);
            let behind: Vec<Comparison> = selects.into_iter().chain(others).collect();
            self.accept(via as i32, &behind, rule.verdict)?;
        }
        // On architectures with multiplexers, libseccomp drops rules for missing syscalls.
        if own.is_some() || through.is_some() || !arch.has_multiplexers() {
            let number = own.unwrap_or_else(|| pseudo(known));
            self.accept(number, &rule.comparisons, rule.verdict)?;
        }
        Ok(())
    }

    /// Adds a rule that was accepted.
    fn add(&mut self, rule: &NewRule, native: Arch, call: usize) {
        match rule.target.known(native) {
            Ok(known) => {
                let via = self.stated.add_known(known, &rule.comparisons, rule.verdict, call);
                self.hidden.extend(via.map(|via| (via, call)));
            }
            // -1 is the largest number of filters.
            Err(number) => {
                self.stated.add(number as u32, &rule.comparisons, rule.verdict, call);
            }
        }
    }

    fn accept(
        &mut self,
        number: i32,
        comparisons: &[Comparison],
        verdict: Verdict,
    ) -> Result<(), Code> {
        self.accepted.add(number, comparisons, verdict).map_err(|_| Code::EXIST)
    }
}

/// A number below those of libseccomp for a syscall that an architecture does not have.
fn pseudo(known: KnownSyscall) -> i32 {
    const FIRST: i32 = -20_000;
    FIRST - i32::try_from(known.index()).unwrap_or_default()
}

/// A context.
#[derive(Clone, Debug)]
pub(super) struct Context {
    native: Arch,
    pub(super) default: Verdict,
    /// Where it is made.
    begin: Position,
    pub(super) bad_arch: Verdict,
    pub(super) flags: FilterFlags,
    /// Whether rules for the number -1 are permitted.
    pub(super) skip_number: bool,
    rules: Vec<ArchRules>,
    changes: Vec<Change>,
    /// The rules and the number of changes when each open transaction began.
    transactions: Vec<(Vec<ArchRules>, usize)>,
}

/// Whether it is the same filter.
impl PartialEq for Context {
    fn eq(&self, other: &Context) -> bool {
        self.default == other.default && self.changes == other.changes
    }
}

impl Context {
    pub(super) fn new(native: Arch, default: Verdict, begin: Position) -> Context {
        Context {
            native,
            default,
            begin,
            bad_arch: Verdict::KILL_THREAD,
            flags: FilterFlags::NONE,
            skip_number: false,
            rules: vec![ArchRules::new(native)],
            changes: Vec::new(),
            transactions: Vec::new(),
        }
    }

    /// Whether it has an architecture. Most functions refuse a context without.
    pub(super) fn is_valid(&self) -> bool {
        !self.rules.is_empty()
    }

    pub(super) fn arches(&self) -> usize {
        self.rules.len()
    }

    pub(super) fn has_arch(&self, arch: Arch) -> bool {
        self.rules.iter().any(|rules| rules.arch() == arch)
    }

    pub(super) fn add_arch(&mut self, arch: Arch) -> Result<(), Code> {
        if self.has_arch(arch) {
            return Err(Code::EXIST);
        }
        if self.rules.iter().any(|rules| rules.arch().endian() != arch.endian()) {
            return Err(Code::DOM);
        }
        self.rules.push(ArchRules::new(arch));
        self.changes.push(Change::Add(arch));
        Ok(())
    }

    pub(super) fn remove_arch(&mut self, arch: Arch) -> Result<(), Code> {
        if !self.has_arch(arch) {
            return Err(Code::EXIST);
        }
        self.rules.retain(|rules| rules.arch() != arch);
        self.changes.push(Change::Remove(arch));
        Ok(())
    }

    pub(super) fn set_bad_arch(&mut self, verdict: Verdict) {
        self.bad_arch = verdict;
        self.changes.push(Change::BadArch(verdict));
    }

    /// Adds a rule for all architectures, or for none if one of them refuses it.
    pub(super) fn add_rule(&mut self, rule: NewRule, call: usize) -> Result<(), Code> {
        if rule.is_exact && self.rules.len() > 1 {
            return Err(Code::OPNOTSUPP);
        }
        let before: Vec<usize> = self.rules.iter().map(|rules| rules.accepted.len()).collect();
        let mut result = Ok(());
        for rules in &mut self.rules {
            result = result.and(rules.check(&rule, self.native));
        }
        if let Err(code) = result {
            for (rules, len) in self.rules.iter_mut().zip(before) {
                rules.accepted.truncate(len);
            }
            return Err(code);
        }
        for rules in &mut self.rules {
            rules.add(&rule, self.native, call);
        }
        self.changes.push(Change::Rule(rule));
        Ok(())
    }

    /// Takes over the architectures of another context.
    pub(super) fn merge(&mut self, other: &Context) -> Result<(), Code> {
        let key = |context: &Context| (context.default, context.flags.contains(FilterFlags::TSYNC));
        if key(self) != key(other) {
            return Err(Code::INVAL);
        }
        let endian = |context: &Context| context.rules.first().map(|rules| rules.arch().endian());
        if endian(self) != endian(other) {
            return Err(Code::DOM);
        }
        if other.rules.iter().any(|rules| self.has_arch(rules.arch())) {
            return Err(Code::EXIST);
        }
        self.rules.extend(other.rules.iter().cloned());
        self.changes.push(Change::Merge(other.bad_arch, other.changes.clone()));
        Ok(())
    }

    pub(super) fn start_transaction(&mut self) {
        self.transactions.push((self.rules.clone(), self.changes.len()));
    }

    pub(super) fn reject_transaction(&mut self) {
        if let Some((rules, changes)) = self.transactions.pop() {
            self.rules = rules;
            // Attributes are not a part of the transaction.
            let after = self.changes.split_off(changes.min(self.changes.len()));
            self.changes
                .extend(after.into_iter().filter(|change| matches!(change, Change::BadArch(_))));
        }
    }

    pub(super) fn commit_transaction(&mut self) {
        self.transactions.pop();
    }

    /// The filter.
    ///
    /// # Errors
    /// If it is too large.
    pub(super) fn profile(
        &self,
        sites: &[Site],
        has_statements: bool,
    ) -> Result<Profile, Diagnostic> {
        let sets: Vec<&RuleSet<usize>> = self.rules.iter().map(|rules| &rules.stated).collect();
        let sections = sections(sets.iter().copied(), self.default, self.bad_arch);
        let place = |position| Place { file: None, position };
        let rules = || {
            let of_set = |set: &RuleSet<usize>| -> Vec<Statement> {
                let stated = set.stated().filter_map(|(nr, when, verdict, call)| {
                    let Site { position, name } = sites.get(call)?;
                    let (site, name) = (place(*position), name.clone());
                    Some(Statement { site, name, arch: set.arch(), nr, when, verdict })
                });
                stated.collect()
            };
            sets.iter().flat_map(|set| of_set(set)).collect()
        };
        let statements = has_statements.then(|| Statements {
            rules: rules(),
            inactive: Vec::new(),
            gated: Vec::new(),
            builtin: other_abis(&sections, self.bad_arch),
            default: Some(place(self.begin)),
        });
        let policy = Policy::new(sections, self.bad_arch)
            .map_err(|error| Diagnostic::error(Some(self.begin), error.to_string()))?;
        let warnings = self.warnings(sites);
        Ok(Profile { flags: self.flags, statements, warnings, ..Profile::of(policy) })
    }

    /// Warnings about rules without effect, and about those that `socketcall` and `ipc` evade.
    fn warnings(&self, sites: &[Site]) -> Vec<Diagnostic> {
        let mut warnings: Vec<Diagnostic> = Vec::new();
        let mut add = |warning: Diagnostic| {
            if !warnings.contains(&warning) && warnings.len() < MAX_WARNINGS {
                warnings.push(warning);
            }
        };
        for rules in &self.rules {
            for overridden in rules.stated.overridden() {
                let pair = sites.get(overridden.loser).zip(sites.get(overridden.winner));
                let Some((loser, winner)) = pair else { continue };
                let message = format!(
                    "this rule for `{}` has no effect: the rule at {}:{} gives {} whenever this one matches",
                    loser.name, winner.position.line, winner.position.column, overridden.verdict
                );
                add(Diagnostic::warning(Some(loser.position), message)
                    .help("remove one of the two")
                    .topic(Topic::Overruled));
            }
            let arch = rules.arch();
            for (nr, call) in &rules.hidden {
                let Some(site) = sites.get(*call) else { continue };
                if rules.stated.is_unconditional(*nr) {
                    continue;
                }
                let via = arch.syscall_name(*nr).unwrap_or("another syscall");
                let message = format!(
                    "on {arch}, programs can also reach `{}` through `{via}`, where a filter cannot see its arguments; this \
                     rule does not check them there",
                    site.name
                );
                add(Diagnostic::warning(Some(site.position), message)
                    .help(format!("if the condition matters on {arch}, deny `{via}`"))
                    .topic(Topic::Multiplexer));
            }
        }
        warnings
    }
}

/// The most warnings about rules.
const MAX_WARNINGS: usize = 50;
