//! The JIT compiler: native code for x86-64 and aarch64.
//!
//! ```text
//! instructions ──flow──> instructions ──node──> nodes ──switch, lower──> code ──memory──> function
//!          forward, backward                        backward, for a target
//! ```
//!
//! - `crate::flow` folds constants and removes redundant loads, length checks and dead code.
//! - [`node`] translates each instruction to a node of the intermediate representation.
//! - [`switch`] finds chains and trees of comparisons that become tables and binary searches.
//! - [`lower`] generates code from the end to the start, so that all branch displacements are known. It
//!   uses the operations of a [`target`]: [`x86_64`] or [`aarch64`].
//! - [`memory`] maps the code executable; [`helper`] is called for ancillary data.
//!
//! All passes are linear in the length of the program, except for the sorting of cases. The program's
//! type guarantees what the kernel accepts: jumps go forward and stay inside the program, every path
//! returns, scratch words are written before they are read, and loads are inside `seccomp_data`.

#[cfg(any(test, target_arch = "aarch64"))]
mod aarch64;
mod buffer;
mod helper;
mod lower;
#[allow(unsafe_code)]
mod memory;
mod native;
mod node;
mod switch;
mod target;
#[cfg(any(test, target_arch = "x86_64"))]
mod x86_64;

pub use native::Jit;

#[cfg(test)]
mod tests;
