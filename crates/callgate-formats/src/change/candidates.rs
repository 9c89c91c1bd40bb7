//! Candidates in each language.

use super::edit::{Candidate, Edit};
use super::input::{Candidates, Input, Language};
use super::offsets::Offsets;
use crate::{android, firecracker, kafel, lxc, minijail, oci, snap, systemd};

/// Edits that may allow the syscall, in the order in which they are tried: with the wanted arguments only, then with all; in
/// a list that exists, then in a new one.
pub fn candidates(input: &Candidates<'_>) -> Vec<Candidate> {
    let offsets = Offsets::new(input.text);
    let mut scopes = vec![input.wanted.clone()];
    if input.language == Language::Unit {
        scopes.push(systemd::edit::comparable(input.wanted));
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
        Language::Profile => oci::edit::edits(input),
        Language::Kafel => kafel::edit::edits(input),
        Language::Minijail => minijail::edit::edits(input),
        Language::Firecracker => firecracker::edit::edits(input),
        Language::Lxc => lxc::edit::edits(input),
        Language::Snap => snap::edit::edits(input),
        Language::Android => android::edit::edits(input),
        Language::Unit => systemd::edit::unit(input),
        Language::UnitFilter => systemd::edit::filter(input),
    }
}
