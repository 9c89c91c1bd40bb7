//! Candidates in each language.

use super::edit::Candidate;
use super::input::{Candidates, Language};
use super::{android, container, firecracker, kafel, lxc, minijail, snap, systemd};

/// Edits that may allow the syscall, those that are tried first in front: with the wanted arguments only, then with all;
/// in a list that exists, then in a new one.
pub fn candidates(input: &Candidates<'_>) -> Vec<Candidate> {
    let all = |edits: Vec<Vec<_>>, all_arguments| {
        edits.into_iter().map(move |edits| Candidate { edits, all_arguments })
    };
    let of = |input: &Candidates<'_>| match input.language {
        Language::Profile => container::edits(input),
        Language::Kafel => kafel::edits(input),
        Language::Minijail => minijail::edits(input),
        Language::Firecracker => firecracker::edits(input),
        Language::Lxc => lxc::edits(input),
        Language::Snap => snap::edits(input),
        Language::Android => android::edits(input),
        Language::Unit => systemd::unit(input),
        Language::UnitFilter => systemd::filter(input),
    };
    let mut found = Vec::new();
    if !input.wanted.args.is_empty() {
        found.extend(all(of(input), false));
    }
    let wide = input.wanted.with_all_arguments();
    found.extend(all(of(&Candidates { wanted: &wide, ..*input }), true));
    found
}
