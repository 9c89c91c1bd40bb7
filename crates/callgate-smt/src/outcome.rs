//! The returned value of a filter, from the conditions under which each value is returned.
//!
//! Each value has one condition. This form is efficient for solvers: the filters become Boolean terms, and only a few
//! values are compared. A nested if-then-else over all returns takes a hundred times as long.

use std::collections::BTreeMap;

use crate::writer::{BOOL, WORD, Writer, join};

/// Values with the conditions under which they are returned. For each syscall, exactly one condition holds.
#[derive(Default)]
pub(crate) struct Outcomes(BTreeMap<String, Vec<String>>);

impl Outcomes {
    /// The value is also returned under this condition.
    pub(crate) fn add(&mut self, value: String, when: String) {
        self.0.entry(value).or_default().push(when);
    }

    /// Defines the condition of each value, and the returned value as `NAME.verdictN`; returns its term.
    pub(crate) fn define(self, writer: &mut Writer, name: &str) -> String {
        let mut verdict: Option<String> = None;
        for (number, (value, when)) in self.0.into_iter().enumerate() {
            let returns = format!("{name}.returns{number}");
            writer.define(&returns, BOOL, &join("or", &when, "false"), &value);
            verdict = Some(match verdict {
                // The conditions cover all syscalls, so the first value needs none.
                None => value,
                Some(before) => {
                    let this = format!("{name}.verdict{number}");
                    writer.define(&this, WORD, &format!("(ite {returns} {value} {before})"), "");
                    this
                }
            });
        }
        verdict.unwrap_or_default()
    }
}
