//! `callgate completions`: prints completion scripts for shells.
//!
//! clap writes the scripts for subcommands, options and their values. It does not know what a SOURCE is besides a file,
//! nor syscalls; [`bash`], [`zsh`] and [`fish`] add these.

mod bash;
mod fish;
mod run;
mod words;
mod zsh;

pub(crate) use run::{CompletionsArgs, run};
