//! `cargo xtask constants`: the table `crates/callgate-bpf/src/constants/generated/constants.txt`.
//!
//! Names are the macros and enumerators of the kernel's headers that [`selection`] selects. Values are what a C
//! compiler computes for them, with the headers and the ABI of each architecture. The host compiler serves all
//! architectures: the headers depend only on predefined macros, and the sizes of types in `_IOR` and the like only
//! on the width of `long` (`-m32`).

mod compile;
mod fetch;
mod help;
mod internal;
mod library;
mod names;
mod render;
mod run;
mod selection;

pub(crate) use help::HELP;
pub(crate) use run::run;
