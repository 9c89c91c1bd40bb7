//! What a recording says about a command.

/// What a recording says about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordedWords {
    /// Its name: arguments may be passwords.
    Name,
    /// Its name and its arguments.
    All,
}
