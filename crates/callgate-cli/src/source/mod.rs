//! Sources: everything that means a filter, `[FORMAT:]WHAT`.
//!
//! Without a format, the built-in name, the extensions `.bpf`, `.json`, `.yaml` and `.yml`, and then the
//! content decide: `{` and a quote, `---`, and a key of a profile or a Kubernetes resource begin a
//! profile, other text is a program as text, anything else is raw instructions. A name with a colon that
//! is not a format is a mistake, not a file; `./` in front of it makes it a file.
//!
//! `pid:N` is the stack of filters of a process or thread, `pid:N/I` one of them ([`process`]). What looks at
//! meanings takes the stack as it is; what makes programs takes the one program that it merges to.
//!
//! Most commands want a filter of calls; those that also know packets read a [`Subject`].

mod detect;
mod filter;
mod format;
mod named;
mod place;
mod process;
mod read;
mod socket;
mod stack;
mod violations;

pub(crate) use filter::{Filter, FilterContent, arches_in, failed};
pub(crate) use named::Source;
pub(crate) use place::Place;
pub(crate) use process::{dump, stack_of};
pub(crate) use read::{BUILT_IN, read_text};
pub(crate) use socket::{SocketFilter, Subject, SubjectOptions};
pub(crate) use stack::{Stack, arches, merge};
pub(crate) use violations::not_a_program;
