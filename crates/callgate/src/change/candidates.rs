//! Candidates in each language.

use super::edit::{Candidate, Edit};
use super::input::{Candidates, Input, Language};
use super::offsets::Offsets;
use super::{android, container, firecracker, kafel, lxc, minijail, snap, systemd};

/// Edits that may allow the syscall, in the order in which they are tried: with the wanted arguments only, then with all; in
/// a list that exists, then in a new one.
pub fn candidates(input: &Candidates<'_>) -> Vec<Candidate> {
    let offsets = Offsets::new(input.text);
    let mut scopes = vec![input.wanted.clone()];
    if input.language == Language::Unit {
        scopes.push(systemd::comparable(input.wanted));
    }
    scopes.push(input.wanted.with_all_arguments());
    scopes.dedup();
    let mut found = Vec::new();
    for allowed in scopes {
        let edits = edits(input.language, &Input::new(input, &offsets, &allowed));
        let candidate = |edits| Candidate { edits, allowed: allowed.clone() };
        found.extend(edits.into_iter().map(candidate));
    }
    found
}

fn edits(language: Language, input: &Input<'_>) -> Vec<Vec<Edit>> {
    match language {
        Language::Profile => container::edits(input),
        Language::Kafel => kafel::edits(input),
        Language::Minijail => minijail::edits(input),
        Language::Firecracker => firecracker::edits(input),
        Language::Lxc => lxc::edits(input),
        Language::Snap => snap::edits(input),
        Language::Android => android::edits(input),
        Language::Unit => systemd::unit(input),
        Language::UnitFilter => systemd::filter(input),
    }
}
