//! Rules as a policy and its included files state them.

use super::report::sites;
use super::sources::{Place, Sources, Span};
use crate::statements::{Statement, Statements};
use callgate_core::policy::Condition;
use callgate_core::{Arch, Verdict};

/// A rule with its place.
pub(crate) struct Stated {
    pub(crate) at: Span,
    pub(crate) arch: Arch,
    pub(crate) nr: u32,
    pub(crate) when: Condition,
    pub(crate) verdict: Verdict,
}

/// The statements of these rules, and the place of the default action.
pub(crate) fn statements(
    sources: &Sources,
    rules: Vec<Stated>,
    default: Option<Place>,
) -> Statements {
    let places: Vec<Place> = rules.iter().map(|rule| rule.at.at).chain(default).collect();
    let mut sites = sites(sources, &places);
    let default = default.and_then(|_| sites.pop());
    let rule = |(rule, site): (Stated, _)| {
        let Stated { at, arch, nr, when, verdict } = rule;
        Statement { site, name: sources.text(at).to_owned(), arch, nr, when, verdict }
    };
    let rules = rules.into_iter().zip(sites).map(rule).collect();
    Statements { rules, default, ..Statements::default() }
}
