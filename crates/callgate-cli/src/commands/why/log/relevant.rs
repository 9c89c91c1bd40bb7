//! Which calls of a log the filters deny, and which of their arguments matter.

use callgate::denials::{Evidence, LoggedCall};
use callgate::policy::{Field, Test};
use callgate::{Action, SeccompData, Verdict};

use crate::source::{Filter, FilterContent, Stack};

/// The arguments that matter, a bit for each; `None` if the filters are not the reason that a syscall failed.
pub(super) fn relevant(stack: &Stack, call: &LoggedCall) -> Option<u8> {
    let data = data(call);
    let mask = stack.filters.iter().fold(0, |all, filter| all | compared(filter, &data));
    let is_known = (0..).zip(call.args).all(|(index, arg)| mask >> index & 1 == 0 || arg.is_some());
    let is_possible = |is_reason: &dyn Fn(Verdict) -> bool| match is_known {
        true => is_reason(verdict(stack, &data)),
        false => stack.filters.iter().any(|filter| may(filter, &data, is_reason)),
    };
    let is_denial = match call.evidence {
        Evidence::Filter => true,
        Evidence::Failed(errno) => is_possible(&|verdict| verdict == Verdict::errno(errno)),
        Evidence::NoReturn => is_possible(&|verdict| {
            matches!(verdict.action(), Action::KillProcess | Action::KillThread)
        }),
    };
    is_denial.then_some(mask)
}

/// The call as a filter sees it; arguments that are not known are 0.
pub(super) fn data(call: &LoggedCall) -> SeccompData {
    SeccompData {
        nr: call.syscall.nr,
        arch: call.syscall.arch.token(),
        args: call.args.map(Option::unwrap_or_default),
        ..SeccompData::default()
    }
}

fn verdict(stack: &Stack, data: &SeccompData) -> Verdict {
    let newest_first = stack.filters.iter().rev();
    Verdict::of_stack(newest_first.map(|filter| match &filter.content {
        FilterContent::Profile(rules) => rules.policy.evaluate(data),
        FilterContent::Program { program, endian, .. } => program.run(data, *endian).verdict,
    }))
}

/// The arguments that a filter compares for a syscall; all for a program.
fn compared(filter: &Filter, data: &SeccompData) -> u8 {
    let FilterContent::Profile(rules) = &filter.content else { return 0x3f };
    let sections = rules.policy.sections().iter().filter(|one| one.token() == data.arch);
    let mut mask = 0;
    for rule in sections.flat_map(|section| &section.rules) {
        if rule.syscalls.contains(data.nr) {
            rule.when.for_each_test(&mut |test: &Test| {
                let is_compared = |index: &u8| {
                    let field = Field::arg(*index);
                    field.is_some_and(|field| field.low_word() == test.field.low_word())
                };
                if let Some(index) = (0..6).find(is_compared) {
                    mask |= 1 << index;
                }
            });
        }
    }
    mask
}

/// Whether a filter may return such a verdict for a syscall, whatever its arguments are.
fn may(filter: &Filter, data: &SeccompData, is_reason: &dyn Fn(Verdict) -> bool) -> bool {
    let FilterContent::Profile(rules) = &filter.content else { return true };
    rules.policy.sections().iter().filter(|one| one.token() == data.arch).any(|section| {
        let about = section.rules.iter().filter(|rule| rule.syscalls.contains(data.nr));
        is_reason(section.default) || about.map(|rule| rule.verdict).any(is_reason)
    })
}
