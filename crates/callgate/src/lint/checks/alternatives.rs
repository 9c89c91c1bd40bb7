//! Alternatives for a syscall that do not check the same arguments.
//!
//! An argument is uneven if some values of the others permit the syscall whatever it is, and others permit it for some of
//! its values only. This is a question about the function of the filter, answered by quantification over the argument. So it is
//! found in any source, however the rules are written: as masks, ranges, negations or lists, in one rule or in several.

use callgate_bpf::SyscallTable;
use callgate_bpf::syscalls::facts;
use callgate_codegen::query::{self, Quantifier};
use callgate_core::diagram::{Func, Pred};
use callgate_core::{Arch, Verdict, Word};
use rustc_hash::FxHashMap as HashMap;

use crate::error::Result;
use crate::explain::{Outcome, outcome};
use crate::lint::check::Check;
use crate::lint::finding::{Finding, Findings};
use crate::lint::view::View;

/// The share of arguments from which on a syscall is permitted with exceptions, not in alternatives: of two rules that deny, each
/// leaves an argument unchecked. A rule that denies one value of an argument leaves nearly all, one that denies a bit of two
/// arguments together three quarters.
const MOSTLY_PERMITTED: f64 = 0.75;

/// The length of conditions in characters up to which a message has them.
const MAX_CONDITIONS: usize = 200;

/// An argument, or the instruction pointer, that is checked in some alternatives only.
#[derive(Clone, Copy)]
struct Uneven {
    place: Place,
    /// Where the syscall is permitted whatever the argument is.
    free: Pred,
    /// Where it is permitted for some values of the argument only: with a permitted one, and with one that is not.
    checked: Pred,
    refused: Pred,
}

#[derive(Clone, Copy)]
enum Place {
    Argument(u8),
    InstructionPointer,
}

impl Place {
    const ALL: [Place; 7] = [
        Place::Argument(0),
        Place::Argument(1),
        Place::Argument(2),
        Place::Argument(3),
        Place::Argument(4),
        Place::Argument(5),
        Place::InstructionPointer,
    ];

    fn words(self) -> Vec<Word> {
        let halves = match self {
            Place::Argument(index) => [Word::arg_low(index), Word::arg_high(index)],
            Place::InstructionPointer => [Some(Word::IP_LOW), Some(Word::IP_HIGH)],
        };
        halves.into_iter().flatten().collect()
    }

    /// Its name in the signature of a syscall.
    fn name(self, syscall: &str) -> String {
        match self {
            Place::InstructionPointer => "the instruction pointer".to_owned(),
            Place::Argument(index) => {
                let known = facts(syscall).and_then(|facts| facts.args.get(usize::from(index)));
                known.map_or_else(|| format!("argument {index}"), |arg| format!("`{}`", arg.name))
            }
        }
    }
}

pub(in crate::lint) fn check(view: &mut View<'_>, findings: &mut Findings) -> Result<()> {
    // Many syscalls have the same function.
    let mut known: HashMap<(Func, bool), Option<Uneven>> = HashMap::default();
    for arch in view.arches.iter().copied() {
        let is_wide = arch.has_wide_registers();
        for (nr, name) in arch.syscalls() {
            let func = view.call(arch, nr);
            let found = match known.get(&(func, is_wide)) {
                Some(found) => *found,
                None => {
                    let found = uneven(view, func, is_wide)?;
                    known.insert((func, is_wide), found);
                    found
                }
            };
            if let Some(found) = found {
                findings.add(finding(view, arch, (nr, name), found)?);
            }
        }
    }
    Ok(())
}

/// The first argument that is uneven.
fn uneven(view: &mut View<'_>, func: Func, is_wide: bool) -> Result<Option<Uneven>> {
    // A comparison of two arguments is a check of both, whichever comes first.
    if view.store.as_verdict(func).is_some() || query::has_comparisons(&view.store, func) {
        return Ok(None);
    }
    let mut func = func;
    if !is_wide {
        // The high halves are 0 there, so that comparisons of them check nothing.
        for word in Place::ALL.iter().filter_map(|place| place.words().get(1).copied()) {
            func = query::restrict(&mut view.store, func, word, 0)?;
        }
    }
    let permitted = view.permits(func)?;
    if query::share(&view.store, permitted) >= MOSTLY_PERMITTED {
        return Ok(None);
    }
    let support = query::support(&view.store, permitted);
    for place in Place::ALL {
        let words = place.words();
        if !words.iter().any(|word| support.contains(word)) {
            continue;
        }
        let store = &mut view.store;
        let free = query::quantified(store, permitted, &words, Quantifier::All)?;
        let some = query::quantified(store, permitted, &words, Quantifier::Some)?;
        let checked = store.and_not(permitted, free)?;
        if free != Pred::NEVER && checked != Pred::NEVER {
            let refused = store.and_not(some, permitted)?;
            return Ok(Some(Uneven { place, free, checked, refused }));
        }
    }
    Ok(None)
}

fn finding(
    view: &mut View<'_>,
    arch: Arch,
    (nr, name): (u32, &'static str),
    Uneven { place, free, checked, refused }: Uneven,
) -> Result<Finding> {
    let argument = place.name(name);
    let unchecked_if = condition(view, arch, name, free)?;
    let checked_if = condition(view, arch, name, checked)?;
    let is_short =
        |texts: &[&String]| texts.iter().map(|text| text.len()).sum::<usize>() <= MAX_CONDITIONS;
    let message = match (&unchecked_if, &checked_if) {
        (Some(free), Some(checked)) if is_short(&[free, checked]) => {
            format!("`{name}` is allowed if {checked}, but if {free}, {argument} is not checked")
        }
        (Some(free), _) if is_short(&[free]) => {
            format!(
                "if {free}, `{name}` is allowed without a check of {argument}, which other alternatives check"
            )
        }
        _ => format!("one alternative for `{name}` does not check {argument}, others do"),
    };
    let examples = [view.example(arch, nr, free)?, view.example(arch, nr, refused)?];
    // The rule that does not check it, or else any that permits the syscall.
    let permits = |rule: &callgate_formats::statements::Statement| {
        rule.verdict.permits() && !rule.when.is_always()
    };
    let unchecking = view.place(arch, name, |rule| {
        permits(rule) && examples[0].is_some_and(|example| rule.applies_to(&example.data))
    });
    let at = if unchecking.1.is_some() { unchecking } else { view.place(arch, name, permits) };
    let finding = Finding::new(Check::UnevenAlternatives, message)
        .help("check the argument there as well, or make sure that it does not matter");
    Ok(finding.at(at).on(arch).about([name]).examples(examples))
}

/// A condition under which a predicate holds, in words; `None` if none can be listed.
fn condition(view: &mut View<'_>, arch: Arch, name: &str, pred: Pred) -> Result<Option<String>> {
    let [allow, kill] = [Verdict::ALLOW, Verdict::KILL_PROCESS].map(|one| view.store.verdict(one));
    let (allow, kill) = (allow?, kill?);
    let func = view.store.select(pred, allow, kill)?;
    let Outcome::Depends { clauses, .. } = outcome(&view.store, func, arch) else {
        return Ok(None);
    };
    // The first clause that applies decides.
    let first = clauses.iter().take_while(|clause| !clause.verdict.permits()).count();
    let found = clauses
        .get(first)
        .filter(|clause| clauses.iter().take(first).all(|earlier| earlier.is_disjoint(clause)));
    Ok(found.map(|clause| clause.describe_on(arch, Some(name))))
}
