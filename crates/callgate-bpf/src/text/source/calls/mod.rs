//! Programs in C that call a library: which calls they make, in which order, with which values.
//!
//! The text is preprocessed like that of a program, and the function that makes the calls is compiled to the code of a small stack
//! machine, which runs it. A [`Library`] gives the calls their meaning, and answers them.
//!
//! A value that only a run of the real program has is *unknown*, with the reason: a parameter, the result of a function outside the
//! text, a variable that another file may change. A statement that depends on one is run in each way that it may go; the library
//! then compares the results, and two different ones are an error at the condition. The reader never chooses one of them.
//!
//! # Which function
//!
//! It is one that begins a filter, or if other functions of the text add to it, one that calls all of them. If several functions
//! each make a filter, the caller names one. If the result depends on parameters, the only caller of the function is run instead.
//!
//! # What is assumed
//!
//! - A function outside the text neither returns into the text in another way than by returning, nor changes variables whose
//!   addresses it was not given.
//! - A `static` or constant variable has the value of its initializer, if the text does not change it. Any other variable of the
//!   file is unknown until it is assigned.
//!
//! # Limits
//!
//! The nesting of statements and expressions, of calls, the number of steps, of variables and of ways to run are bounded; each
//! limit has a message. Nothing recurses on the depth of the input beyond these limits.

mod calling;
mod code;
mod compile;
mod datum;
mod declarations;
mod expressions;
mod interface;
mod kinds;
mod machine;
mod memory;
mod operate;
mod outline;
mod read;
mod state;
mod statements;
mod ways;

pub use interface::{Answer, Argument, Call, Executed, Library, Role, Wanted};
pub use read::execute;

#[cfg(test)]
mod tests;
