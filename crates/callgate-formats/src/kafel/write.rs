//! Kafel policies.

use std::collections::{BTreeMap, BTreeSet};

use super::has_argument;
use super::names::{name_in_table, names_in_kafel};
use super::text::{self, PolicyText, action, is_identifier};
use crate::convert::alternatives::Conjunction;
use crate::convert::error::{ConvertError, Result};
use crate::convert::fit::{Fit, is_as_strict, strictest};
use crate::layout::number;
use callgate_bpf::SyscallTable;
use callgate_bpf::constants::{self, Family};
use callgate_bpf::syscalls::facts;
use callgate_codegen::query::{ArgPart, ValueCondition, ValueSet};
use callgate_core::diagram::Func;
use callgate_core::{Action, Arch, Verdict};

/// The verdict of other architectures in Kafel.
const BAD_ARCH: Verdict = Verdict::KILL_THREAD;

/// The maximum length of an interval of numbers that is listed.
const MAX_LISTED: u32 = 1024;

/// A rule of a syscall: the verdict if an expression holds; without one, always.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    verdict: Verdict,
    when: Option<Expression>,
}

/// How Kafel names a syscall.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Head {
    Name(String),
    Number(u32),
}

/// What is written.
struct Policy {
    default: Verdict,
    /// The constants that expressions use, because Kafel itself does not know them.
    defines: BTreeMap<String, u64>,
    /// For each syscall the rules, and the architectures that have them.
    heads: BTreeMap<Head, BTreeMap<Vec<Rule>, BTreeSet<Arch>>>,
}

/// Writes a policy.
pub(crate) fn write(fit: &mut Fit<'_>) -> Result<String> {
    let takes = |action| matches!(action, Action::Errno(_) | Action::Trap(_) | Action::Trace(_));
    fit.drop_numbers(None, takes, |plain| action(plain).map(str::to_owned))?;
    fit.set_others(BAD_ARCH, "Kafel kills syscalls of other architectures (KILL)")?;
    let default = default(fit)?;
    let mut policy = Policy { default, defines: BTreeMap::new(), heads: BTreeMap::new() };
    for (arch, nr) in listed(fit, default)? {
        let rules = rules(fit, arch, nr, &mut policy)?;
        if !rules.is_empty() {
            let bodies = policy.heads.entry(head(arch, nr)).or_default();
            bodies.entry(rules).or_default().insert(arch);
        }
    }
    Ok(text_of(fit, &policy))
}

/// The verdict of numbers that are not listed, and of all intervals of numbers that are too long to be listed: if one is
/// exact, then this one, otherwise the one with which fewer numbers are listed.
fn default(fit: &mut Fit<'_>) -> Result<Verdict> {
    let mut long: Vec<(u32, u32, u32, Func)> = Vec::new();
    let mut short: Vec<(u64, Func)> = Vec::new();
    for token in fit.tokens() {
        for one in fit.intervals(token)? {
            let more = one.last - one.first;
            match more >= MAX_LISTED {
                true => long.push((token, one.first, one.last, one.then)),
                false => short.push((u64::from(more) + 1, one.then)),
            }
        }
    }
    let mut candidates: BTreeSet<Verdict> =
        long.iter().filter_map(|(_, _, _, func)| fit.store.as_verdict(*func)).collect();
    candidates.insert(strictest(long.iter().map(|(_, _, _, func)| fit.strictest(*func))));
    let cost = |default: &Verdict| {
        let (mut is_lax, mut changed) = (false, 0u64);
        for (_, first, last, func) in &long {
            if fit.store.as_verdict(*func) != Some(*default) {
                changed += u64::from(last - first) + 1;
                let verdicts = fit.store.verdicts(*func);
                is_lax |= verdicts.into_iter().any(|old| !is_as_strict(*default, old));
            }
        }
        let is_listed = |func: &Func| fit.store.as_verdict(*func) != Some(*default);
        let listed = short.iter().filter(|(_, func)| is_listed(func));
        (is_lax, changed > 0, listed.map(|(count, _)| count).sum::<u64>(), changed)
    };
    let default = candidates.iter().min_by_key(|default| cost(default)).copied();
    let default = default.unwrap_or(Verdict::KILL_PROCESS);
    for (token, first, last, func) in long {
        if fit.store.as_verdict(func) != Some(default) {
            let why = "too many syscall numbers to list in Kafel; they get the default action";
            fit.replace_numbers(token, (first, last), default, why)?;
        }
    }
    Ok(default)
}

/// The numbers that do not have the default verdict, with the ABI that names them.
fn listed(fit: &Fit<'_>, default: Verdict) -> Result<Vec<(Arch, u32)>> {
    /// The maximum number of rules.
    const MAX: usize = 100_000;
    let mut listed = Vec::new();
    for token in fit.tokens() {
        for interval in fit.intervals(token)? {
            if fit.store.as_verdict(interval.then) == Some(default) {
                continue;
            }
            if listed.len() + (interval.last - interval.first) as usize > MAX {
                return Err(ConvertError::too_many_numbers(MAX, "the policy".to_owned()));
            }
            for nr in interval.first..=interval.last {
                let own = Arch::of_syscall(token, nr).filter(|arch| fit.arches.contains(arch));
                let any = fit.arches.iter().copied().find(|arch| arch.token() == token);
                listed.extend(own.or(any).map(|arch| (arch, nr)));
            }
        }
    }
    Ok(listed)
}

/// Kafel's name of a syscall, or its number.
fn head(arch: Arch, nr: u32) -> Head {
    let Some(name) = arch.syscall_name(nr) else { return Head::Number(nr) };
    let mut names = names_in_kafel(arch, name).into_iter();
    let is_name =
        |name: &String| arch.number(name_in_table(arch, name)) == Some(nr) && is_identifier(name);
    names.find(is_name).map_or(Head::Number(nr), Head::Name)
}

/// The rules of a syscall, in order; none for the default verdict.
fn rules(fit: &mut Fit<'_>, arch: Arch, nr: u32, policy: &mut Policy) -> Result<Vec<Rule>> {
    let Policy { default, defines, .. } = policy;
    let default = *default;
    let func = fit.syscall(arch.token(), nr);
    if let Some(verdict) = fit.store.as_verdict(func) {
        return Ok(vec![Rule { verdict, when: None }]);
    }
    let name = arch.syscall_name(nr);
    // Only a syscall that is named has arguments with names.
    let named = name.filter(|_| matches!(head(arch, nr), Head::Name(_)));
    let mut cases: Vec<(Verdict, Vec<Conjunction>)> = Vec::new();
    for verdict in fit.store.verdicts(func) {
        let all = fit.alternatives(func, verdict);
        let all = all.map_err(|stop| {
            let text = name.map_or_else(|| format!("syscall {nr}"), str::to_owned);
            ConvertError::of_syscall(stop, || format!("{text} ({arch})"))
        })?;
        cases.push((verdict, all));
    }
    // The default, or else the verdict with the longest condition, needs none.
    cases.sort_by_key(|(verdict, all)| {
        (*verdict == default, length(all), !verdict.permits(), *verdict)
    });
    let rest = cases.pop();
    let mut rules = Vec::new();
    for (verdict, all) in cases {
        let arches = fit.arches.clone();
        let writer = Writer { arch, syscall: named, arches, names: BTreeMap::new(), defines };
        match expression(writer, &all) {
            Some(when) => rules.push(Rule { verdict, when: Some(when) }),
            None => {
                let verdict = fit.strictest(func);
                let why = "Kafel cannot test the instruction pointer";
                fit.replace_numbers(arch.token(), (nr, nr), verdict, why)?;
                let rule = (verdict != default).then_some(Rule { verdict, when: None });
                return Ok(rule.into_iter().collect());
            }
        }
    }
    let rest = rest.filter(|(verdict, _)| *verdict != default);
    rules.extend(rest.map(|(verdict, _)| Rule { verdict, when: None }));
    Ok(rules)
}

/// Blocks of a policy: those without conditions, those with conditions, and the rest of the latter.
type Blocks = [BTreeMap<(u32, Verdict), Vec<String>>; 3];

/// The place of a block: ALLOW first, then the others by precedence.
fn place(verdict: Verdict) -> u32 {
    !(verdict.0 ^ 1 << 31)
}

fn text_of(fit: &Fit<'_>, policy: &Policy) -> String {
    let mut blocks = Blocks::default();
    let mut add = |kind: usize, verdict: Verdict, item: String| {
        if let Some(items) = blocks.get_mut(kind) {
            items.entry((place(verdict), verdict)).or_default().push(item);
        }
    };
    for (head, bodies) in &policy.heads {
        for (rules, arches) in bodies {
            let word = match head {
                Head::Name(name) => name.clone(),
                Head::Number(nr) => format!("SYSCALL[{nr}]"),
            };
            let is_for_all = fit.arches.iter().all(|arch| arches.contains(arch));
            let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
            let on = match names.as_slice() {
                _ if is_for_all => String::new(),
                [one] => format!(" ON {one}"),
                names => format!(" ON {{{}}}", names.join(", ")),
            };
            let is_conditional = rules.iter().any(|rule| rule.when.is_some());
            for rule in rules {
                match &rule.when {
                    None => {
                        add(if is_conditional { 2 } else { 0 }, rule.verdict, format!("{word}{on}"))
                    }
                    Some(Expression { parameters, alternatives }) => {
                        let head = format!("{word}{parameters}{on}");
                        add(1, rule.verdict, text::rule("", &head, alternatives));
                    }
                }
            }
        }
    }
    let mut text = PolicyText::default();
    let arches: Vec<&str> = fit.arches.iter().map(|arch| arch.name()).collect();
    text.comment(&format!("For {}.", arches.join(", ")));
    for (name, value) in &policy.defines {
        text.define(name, number(*value));
    }
    for (kind, blocks) in blocks.iter().enumerate() {
        for ((_, verdict), items) in blocks {
            match kind {
                1 => text.conditional(*verdict, items),
                _ => text.block("", *verdict, items),
            }
        }
    }
    text.finish("converted", policy.default)
}

/// An expression: alternatives, one of which must hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Expression {
    /// Names for the arguments, all with 64 bits; empty if the expression uses the syscall's own.
    parameters: String,
    alternatives: Vec<String>,
}

/// The low half of an argument.
const LOW: u64 = 0xffff_ffff;

/// The expression for alternatives; `None` if they test the instruction pointer.
fn expression(mut writer: Writer<'_>, alternatives: &[Conjunction]) -> Option<Expression> {
    let (arch, syscall) = (writer.arch, writer.syscall);
    let conditions = || alternatives.iter().flatten();
    if conditions().any(|one| one.arg.is_none()) {
        return None;
    }
    let indices: BTreeSet<u8> = conditions().filter_map(|one| one.arg).collect();
    let own: Option<BTreeMap<u8, Own>> =
        indices.iter().map(|index| Some((*index, own(arch, syscall?, *index)?))).collect();
    // The names of the policy itself stand for 64 bits, even of arguments that have 32.
    let fits = |own: &BTreeMap<u8, Own>| {
        conditions().all(|one| {
            let narrow = one.arg.and_then(|arg| own.get(&arg)).is_some_and(|own| own.is_narrow);
            !narrow || tests_low_half_only(one)
        })
    };
    let (names, parameters) = match own.filter(fits) {
        Some(own) => (own, String::new()),
        None => parameters(syscall, indices.last().copied().unwrap_or(0)),
    };
    writer.names = names;
    let one = |all: &Conjunction, writer: &mut Writer<'_>| {
        let parts: Vec<String> =
            all.iter().map(|condition| writer.condition(condition, all.len() > 1)).collect();
        parts.join(" && ")
    };
    let alternatives =
        alternatives.iter().flat_map(split).map(|all| one(&all, &mut writer)).collect();
    Some(Expression { parameters, alternatives })
}

/// How long the expression for alternatives is: the number of comparisons.
fn length(alternatives: &[Conjunction]) -> usize {
    let of_range = |(first, last): &(u64, u64)| match last - first {
        _ if *first == 0 || *last >= LOW => 1,
        rest if rest < MAX_SINGLE => rest as usize + 1,
        _ => 2,
    };
    let of_values = |condition: &ValueCondition| match &condition.values {
        ValueSet::Ranges(ranges) => ranges.iter().map(of_range).sum(),
        _ => 1,
    };
    alternatives.iter().flatten().map(of_values).sum()
}

/// The largest number of values in a range that are compared one by one.
const MAX_SINGLE: u64 = 4;

/// Ranges as alternatives of their own, where these are the only condition; small ranges as single values.
fn split(all: &Conjunction) -> Vec<Conjunction> {
    let [condition] = all.as_slice() else { return vec![all.clone()] };
    let ValueSet::Ranges(ranges) = &condition.values else { return vec![all.clone()] };
    let is_not = matches!(ranges.as_slice(), [(0, below), (above, _)] if below + 2 == *above);
    if is_not {
        return vec![all.clone()];
    }
    let singles = ranges.iter().flat_map(|(first, last)| match last - first {
        rest if rest < MAX_SINGLE => (*first..=*last).map(|value| (value, value)).collect(),
        _ => vec![(*first, *last)],
    });
    let one =
        |range| vec![ValueCondition { values: ValueSet::Ranges(vec![range]), ..condition.clone() }];
    singles.map(one).collect()
}

/// An argument by name.
struct Own {
    name: String,
    /// Whether comparisons ignore the high half.
    is_narrow: bool,
}

/// The syscall's own name of an argument, if Kafel's tables have the same.
fn own(arch: Arch, syscall: &str, index: u8) -> Option<Own> {
    let mut known = facts(syscall)?.args.iter().filter(|known| has_argument(syscall, known.name));
    let found = known.find_map(|known| {
        let argument = arch.argument(syscall, known.name).ok()?;
        (argument.index == index).then_some((known.name, argument.bits))
    });
    let (name, bits) = found?;
    is_free(name).then(|| Own { name: name.to_owned(), is_narrow: bits == Some(32) })
}

/// Names for the arguments up to an index.
fn parameters(syscall: Option<&str>, last: u8) -> (BTreeMap<u8, Own>, String) {
    let known = syscall.and_then(facts).map(|facts| facts.args).unwrap_or_default();
    let mut names = BTreeMap::new();
    for index in 0..=last {
        let name = known.get(usize::from(index)).map(|arg| arg.name).filter(|name| is_free(name));
        let name = name.map_or_else(|| format!("arg{index}"), str::to_owned);
        // A syscall may have `arg2` at another place.
        let is_taken =
            known.iter().enumerate().any(|(at, arg)| at != usize::from(index) && arg.name == name);
        let name = if is_taken { format!("argument{index}") } else { name };
        names.insert(index, Own { name, is_narrow: false });
    }
    let all: Vec<&str> = names.values().map(|own| own.name.as_str()).collect();
    let text = format!("({})", all.join(", "));
    (names, text)
}

/// Whether a name is an identifier that no constant has.
fn is_free(name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word && name.starts_with(|c: char| c.is_ascii_lowercase()) && name != "define"
}

/// Whether a condition depends on the low half of the argument only.
fn tests_low_half_only(condition: &ValueCondition) -> bool {
    match (condition.part, &condition.values) {
        (ArgPart::Low, _) => true,
        (ArgPart::Whole, ValueSet::Masked { mask, .. } | ValueSet::NotMasked { mask, .. }) => {
            mask & !LOW == 0
        }
        _ => false,
    }
}

struct Writer<'w> {
    arch: Arch,
    syscall: Option<&'w str>,
    arches: Vec<Arch>,
    names: BTreeMap<u8, Own>,
    defines: &'w mut BTreeMap<String, u64>,
}

impl Writer<'_> {
    /// The text of a condition; in parentheses if it has several parts and is one of several conditions.
    fn condition(&mut self, condition: &ValueCondition, is_one_of_many: bool) -> String {
        let Some(own) = condition.arg.and_then(|arg| self.names.get(&arg)) else {
            return String::new();
        };
        let (name, is_narrow) = (own.name.clone(), own.is_narrow);
        let (operand, shift, max) = match condition.part {
            ArgPart::Whole => (name.clone(), 0, u64::MAX),
            ArgPart::Low if is_narrow => (name.clone(), 0, LOW),
            ArgPart::Low => (format!("({name} & {LOW:#x})"), 0, LOW),
            ArgPart::High => (format!("({name} & {:#x})", LOW << 32), 32, LOW),
        };
        match &condition.values {
            ValueSet::Ranges(ranges) => {
                let is_equal = |(first, last): &(u64, u64)| first == last;
                if let [(0, below), (above, last)] = ranges.as_slice() {
                    if *last == max && below + 2 == *above {
                        let value = self.value(condition, (below + 1) << shift);
                        return format!("{operand} != {value}");
                    }
                }
                let several = ranges.len() > 1;
                let parts: Vec<String> = ranges
                    .iter()
                    .map(|range| {
                        let (first, last) = (range.0 << shift, range.1 << shift);
                        match *range {
                            _ if is_equal(range) => {
                                format!("{operand} == {}", self.value(condition, first))
                            }
                            (0, _) => format!("{operand} <= {}", number(last)),
                            (_, last) if last == max => format!("{operand} >= {}", number(first)),
                            _ => {
                                let both = format!(
                                    "{operand} >= {} && {operand} <= {}",
                                    number(first),
                                    number(last)
                                );
                                if several { format!("({both})") } else { both }
                            }
                        }
                    })
                    .collect();
                let text = parts.join(" || ");
                if several && is_one_of_many { format!("({text})") } else { text }
            }
            ValueSet::Masked { mask, wanted } => {
                self.masked(condition, &name, (mask << shift, wanted << shift), "==")
            }
            ValueSet::NotMasked { mask, wanted } => {
                self.masked(condition, &name, (mask << shift, wanted << shift), "!=")
            }
            // The alternatives have no such sets.
            ValueSet::Compared { .. } | ValueSet::Many(_) => String::new(),
        }
    }

    fn masked(
        &mut self,
        condition: &ValueCondition,
        name: &str,
        (mask, wanted): (u64, u64),
        relation: &str,
    ) -> String {
        if mask == u64::MAX {
            return format!("{name} {relation} {}", self.value(condition, wanted));
        }
        let family = self.family(condition);
        let tested = family.and_then(|family| family.name_mask(self.arch, mask));
        let given = family.and_then(|family| family.name_masked(self.arch, mask, wanted));
        let tested = self.named(tested, mask).unwrap_or_else(|| format!("{mask:#x}"));
        let given = self.named(given, wanted).unwrap_or_else(|| number(wanted));
        format!("({name} & {tested}) {relation} {given}")
    }

    /// A value that an argument is compared with.
    fn value(&mut self, condition: &ValueCondition, value: u64) -> String {
        let name = self.family(condition).and_then(|family| family.name(self.arch, value));
        self.named(name, value).unwrap_or_else(|| number(value))
    }

    fn family(&self, condition: &ValueCondition) -> Option<Family> {
        Family::of(
            self.arch,
            self.syscall?,
            condition.arg.filter(|_| condition.part != ArgPart::High)?,
        )
    }

    /// The names of constants, after they are defined; `None` if they differ between the architectures.
    fn named(&mut self, names: Option<String>, value: u64) -> Option<String> {
        let names = names?;
        let parts: Vec<&str> = names.split('|').collect();
        let mut values = Vec::new();
        for name in &parts {
            let own = constants::value(self.arch, name)?;
            let same = |arch: &Arch| constants::value(*arch, name).is_none_or(|other| other == own);
            if !self.arches.iter().all(same) {
                return None;
            }
            values.push(own);
        }
        if values.iter().fold(0, |all, value| all | value) != value {
            return None;
        }
        for (name, own) in parts.iter().zip(values) {
            self.defines.insert((*name).to_owned(), own);
        }
        match parts.as_slice() {
            [one] => Some((*one).to_owned()),
            parts => Some(format!("({})", parts.join(" | "))),
        }
    }
}
