//! Compares filters that `libseccomp.so.2` makes, ours or another one, with an evaluator of the same rules.
//!
//! Random sequences of functions of the API (architectures, rules, transactions, merges, priorities) are given to a
//! library and to a model that shares no code with Callgate: the evaluator of `lab/profiles`, written from
//! seccomp_rule_add(3). The results of all functions and the verdicts of the exported program must agree, and our reading of
//! the exported pseudo filter code must be the same function as the program.

mod comparisons;
mod model;
mod run;
mod sequence;
mod texts;

pub(crate) use run::{HELP, run};
