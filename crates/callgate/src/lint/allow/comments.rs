//! The comments of a text: `callgate: allow(ID)`.

use callgate_bpf::diagnostic::Position;

use super::objects::Objects;
use super::option::{Allow, AllowError};

/// A text with comments.
#[derive(Clone, Copy, Debug)]
pub struct AllowText<'t> {
    /// Its name in the places of findings; `None` for the profile itself.
    pub file: Option<&'t str>,
    /// The text.
    pub text: &'t str,
}

/// With what a comment begins.
const START: &str = "callgate:";

/// Where a comment silences a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Scope {
    /// In this line.
    Line(u32),
    /// In a JSON object: its index.
    Object(usize),
    /// In the whole text.
    File,
}

/// A comment in a text.
pub(super) struct Comment<'t> {
    pub(super) file: Option<&'t str>,
    pub(super) position: Position,
    pub(super) allow: Result<Allow, AllowError>,
    pub(super) scopes: Vec<Scope>,
}

/// The comments of a text, and its objects if it has any.
pub(super) fn read<'t>(text: &AllowText<'t>) -> (Vec<Comment<'t>>, Objects) {
    let mut comments = Vec::new();
    if !text.text.contains(START) {
        return (comments, Objects::default());
    }
    let objects = Objects::of(text.text);
    for (line, content) in (1..).zip(text.text.lines()) {
        let (mut rest, mut column) = (content, 1);
        while let Some((before, after)) = rest.split_once(START) {
            column += before.chars().count() as u32;
            let position = Position { line, column };
            column += START.len() as u32;
            rest = after;
            let after = after.trim_start();
            let (is_for_file, after) = match after.strip_prefix("allow-file(") {
                Some(after) => (true, Some(after)),
                None => (false, after.strip_prefix("allow(")),
            };
            // A list ends before the next comment.
            let own = after.map(|after| after.split(START).next().unwrap_or(after));
            let Some((list, _)) = own.and_then(|own| own.split_once(')')) else { continue };
            let scopes = match objects.around(position) {
                _ if is_for_file => vec![Scope::File],
                Some(object) => vec![Scope::Object(object)],
                None => vec![Scope::Line(line), Scope::Line(line + 1)],
            };
            let file = text.file;
            let comment =
                |id: &str| Comment { file, position, allow: id.parse(), scopes: scopes.clone() };
            comments.extend(list.split(',').map(comment));
        }
    }
    (comments, objects)
}
