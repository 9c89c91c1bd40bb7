//! What a library is to the programs that call it.

use crate::advice::Advice;
use crate::diagnostic::{Diagnostic, Position};
use crate::syscalls::KnownSyscall;
use crate::text::TextOptions;

/// What a function of a library does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It begins a filter.
    Begins,
    /// It changes a filter.
    Changes,
    /// It installs a filter.
    Installs,
    /// It does none of these.
    Neutral,
}

/// A library whose functions a program calls, and what they have done so far. It is cloned where a program may go on in several
/// ways.
pub trait Library: Clone {
    /// What a function does; `None` for one of another library.
    fn role(function: &str) -> Option<Role>;

    /// Whether a function writes to what its arguments point to.
    fn writes(function: &str) -> bool;

    /// Does what a function does.
    ///
    /// # Errors
    /// If that is not known: then the program is not read.
    fn call(&mut self, call: &Call<'_>) -> Result<Answer, Diagnostic>;

    /// Whether there is a result: what matters of a run of the program that ended.
    fn has_result(&self) -> bool;

    /// Whether two results are the same.
    fn is_same(&self, other: &Self) -> bool;
}

/// A call of a function.
#[derive(Clone, Debug)]
pub struct Call<'c> {
    /// The name of the function.
    pub function: &'c str,
    /// The arguments.
    pub arguments: &'c [Argument],
    /// Where it is called.
    pub position: Position,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A number.
    Number(i128),
    /// The number of a syscall that the architecture does not have.
    Absent(KnownSyscall),
    /// What a function of the library returned as [`Answer::Handle`].
    Handle(usize),
    /// A string.
    Text(String),
    /// The members of a structure.
    Record(Vec<Argument>),
    /// What a pointer points to, and the elements after it.
    Array(Vec<Argument>),
    /// A value that is not known, with the reason, and what to do.
    Unknown(String, Advice),
    /// Anything else.
    Other,
}

/// What a function of a library returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A number of the type `int`.
    Number(i32),
    /// A number of the type `unsigned int`.
    Unsigned(u32),
    /// The number of a syscall that the architecture does not have.
    Absent(KnownSyscall),
    /// A pointer that is not null.
    Handle(usize),
    /// A value that is not known.
    Unknown,
}

/// How a program is read.
#[derive(Clone, Copy)]
pub struct Wanted<'w> {
    /// The machine, for which [`TextOptions::with_arch`] gives the architecture, and the macros.
    pub options: &'w TextOptions,
    /// What the headers of the library define, as lines of C.
    pub header: &'w str,
    /// The function that makes the filter, if the text has several.
    pub function: Option<&'w str>,
    /// How a user chooses the function with a name.
    pub choosing: fn(&str) -> String,
}

/// A program that was run.
#[derive(Clone, Debug)]
pub struct Executed<L> {
    /// The library after the calls.
    pub library: L,
    /// Warnings about the text.
    pub warnings: Vec<Diagnostic>,
}
