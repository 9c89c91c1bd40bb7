//! A syscall for a denial whose arguments the log does not contain.

use callgate::denials::LoggedCall;
use callgate::diagram::Store;
use callgate::policy::Field;
use callgate::{SeccompData, Verdict, Word};

use super::super::change::permits;
use super::relevant::data;
use crate::options::PROMPT;
use crate::report::muted;
use crate::source::Stack;

/// A syscall with the known arguments of the call that the filters deny, preferably with zeros for the others; if they deny
/// none, with zeros.
pub(super) fn denied(stack: &Stack, call: &LoggedCall) -> SeccompData {
    let start = data(call);
    witness(stack, call, start).unwrap_or(start)
}

fn witness(stack: &Stack, call: &LoggedCall, start: SeccompData) -> Option<SeccompData> {
    let mut store = Store::new(PROMPT);
    let mut func = muted(|| stack.diagram(&mut store)).ok()?;
    if !permits(store.evaluate(func, &start).ok()?) {
        return Some(start);
    }
    for (word, value) in [(Word::ARCH, start.arch), (Word::NR, start.nr)] {
        func = store.restrict(func, word, value).ok()?;
    }
    for (index, value) in (0..).zip(call.args) {
        let (Some(field), Some(value)) = (Field::arg(index), value) else { continue };
        func = store.restrict(func, field.low_word(), value as u32).ok()?;
        if let Some(high) = field.high_word() {
            func = store.restrict(func, high, (value >> 32) as u32).ok()?;
        }
    }
    let denied = |verdict| if permits(verdict) { Verdict::ALLOW } else { Verdict::KILL_PROCESS };
    let func = store.replace_verdicts(func, &denied).ok()?;
    let allow = store.verdict(Verdict::ALLOW).ok()?;
    store.witness(func, allow, start).ok()?
}
