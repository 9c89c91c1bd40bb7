//! Candidates in each language.

use super::input::{Candidate, Edit, EditInput, Offsets};
use super::verify::Allowed;
use crate::languages::LanguageId;
use crate::statements::Statements;
use crate::why::Why;

/// A text, the reason for a denial, and the syscall that is to be allowed.
#[derive(Clone, Copy, Debug)]
pub struct Candidates<'a> {
    /// The language of the text.
    pub language: LanguageId,
    /// What the text is in its source, as [`Text::role`](crate::languages::Text::role).
    pub role: &'a str,
    /// The text.
    pub text: &'a str,
    /// The name of the text in [`Site::file`](crate::statements::Site::file); `None` if its places have none.
    pub file: Option<&'a str>,
    /// What the profile states.
    pub statements: &'a Statements,
    /// The reason for the denial.
    pub why: &'a Why<'a>,
    /// The syscall.
    pub wanted: &'a Allowed,
}

/// Edits that may allow the syscall, in the order in which they are tried: with the wanted arguments only, or the wanted bits of
/// them in a language that compares bits, then with all; in a list that exists, then in a new one. None for a language without an editor.
pub fn candidates(given: &Candidates<'_>) -> Vec<Candidate> {
    let Some(editor) = &given.language.language().editor else { return Vec::new() };
    let Candidates { role, text, file, statements, why, wanted, .. } = *given;
    let offsets = Offsets::new(text);
    let mut scopes: Vec<Allowed> = Vec::new();
    scopes.extend(editor.compares_bits.then(|| wanted.clone()));
    let wanted = &wanted.with_whole_arguments();
    scopes.push(wanted.clone());
    scopes.extend(editor.comparable.map(|comparable| comparable(wanted)));
    scopes.push(wanted.with_all_arguments());
    scopes.dedup();
    let mut found = Vec::new();
    for allowed in scopes {
        let input =
            EditInput { role, text, file, statements, why, wanted: &allowed, offsets: &offsets };
        let candidate = |edits: Vec<Edit>| Candidate { edits, allowed: allowed.clone() };
        found.extend((editor.edits)(&input).into_iter().map(candidate));
    }
    found
}
