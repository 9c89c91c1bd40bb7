//! Edits of a text.

use super::allowed::Allowed;

/// A replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The byte offset of the part.
    pub at: usize,
    /// The length of the part in bytes; 0 inserts.
    pub removed: usize,
    /// The new text.
    pub text: String,
}

impl Edit {
    /// Inserts a text.
    pub(crate) fn insert(at: usize, text: impl Into<String>) -> Edit {
        Edit { at, removed: 0, text: text.into() }
    }

    /// Removes the text between two offsets.
    pub(crate) fn remove(from: usize, to: usize) -> Edit {
        Edit { at: from, removed: to.saturating_sub(from), text: String::new() }
    }

    /// Replaces the text between two offsets.
    pub(crate) fn replace(from: usize, to: usize, text: impl Into<String>) -> Edit {
        Edit { at: from, removed: to.saturating_sub(from), text: text.into() }
    }
}

/// Edits that may allow a syscall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The edits, which do not overlap.
    pub edits: Vec<Edit>,
    /// What they are to allow: the wanted syscall, perhaps with other arguments, too.
    pub allowed: Allowed,
}

/// The text after these edits; `None` if they overlap or are not at characters of the text.
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| edit.at);
    let (mut changed, mut done) = (String::with_capacity(text.len()), 0);
    for edit in sorted {
        changed.push_str(text.get(done..edit.at)?);
        changed.push_str(&edit.text);
        done = edit.at.checked_add(edit.removed)?;
    }
    changed.push_str(text.get(done..)?);
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_the_order_of_the_text() {
        let edits = [Edit::insert(3, "!"), Edit::replace(0, 1, "X")];
        assert_eq!(apply("abc", &edits).as_deref(), Some("Xbc!"));
        assert_eq!(apply("abc", &[Edit::remove(0, 2), Edit::insert(1, "x")]), None);
        assert_eq!(apply("é", &[Edit::insert(1, "x")]), None);
        assert_eq!(apply("abc", &[Edit::insert(4, "x")]), None);
    }
}
