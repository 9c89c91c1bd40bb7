//! The programs that compile what was written.

use std::path::PathBuf;

use callgate::{Arch, Endian};
use callgate_core::LongProgram;
use callgate_formats::languages::LanguageId;

use super::options::Options;
use crate::lxc::Parser;
use crate::{firecracker, kafel, minijail, snap};
use callgate_tasks::files::{make, read, write};
use callgate_tasks::{Result, workspace};

/// A program that compiles one language for x86-64.
pub(super) enum Compiler {
    Firecracker,
    Lxc(Parser),
    Minijail(PathBuf),
    Snap(PathBuf),
    Kafel(PathBuf),
}

/// The given programs.
pub(super) fn all(options: &Options) -> Result<Vec<Compiler>> {
    let mut all = vec![Compiler::Firecracker];
    if let Some(source) = &options.lxc {
        all.push(Compiler::Lxc(Parser::build(source, None)?));
    }
    all.extend(options.minijail.clone().map(Compiler::Minijail));
    all.extend(options.snap.clone().map(Compiler::Snap));
    all.extend(options.kafel.clone().map(Compiler::Kafel));
    Ok(all)
}

impl Compiler {
    pub(super) fn target(&self) -> LanguageId {
        let name = match self {
            Compiler::Firecracker => "firecracker",
            Compiler::Lxc(_) => "lxc",
            Compiler::Minijail(_) => "minijail",
            Compiler::Snap(_) => "snap",
            Compiler::Kafel(_) => "kafel",
        };
        name.parse().expect("a language")
    }

    /// The architectures that the program compiles for, on x86-64.
    pub(super) fn arches(&self) -> &'static [Arch] {
        match self {
            Compiler::Lxc(_) => &[Arch::X86_64, Arch::X86, Arch::X32],
            Compiler::Snap(_) => &[Arch::X86_64, Arch::X86],
            _ => &[Arch::X86_64],
        }
    }

    /// What the program makes of a text: filters in the order of installation, or its messages.
    pub(super) fn compile(
        &self,
        text: &str,
    ) -> Result<std::result::Result<Vec<LongProgram>, String>> {
        let one = |program: std::result::Result<LongProgram, String>| program.map(|one| vec![one]);
        Ok(match self {
            Compiler::Firecracker => {
                let threads = firecracker::compile(text, Arch::X86_64)?;
                threads.map(|threads| threads.into_values().collect())
            }
            Compiler::Lxc(parser) => one(parser.parse(text)?),
            Compiler::Minijail(directory) => {
                let work = workspace().join("target/converted");
                make(&work)?;
                let policy = work.join("converted.policy");
                write(&policy, text)?;
                let is_denylist = text.lines().any(|line| line == "@denylist");
                // The numbers of syscalls from our tables, because those of minijail are of this machine's headers.
                let constants = work.join("constants.json");
                let theirs =
                    String::from_utf8_lossy(&read(&directory.join("constants.json"))?).into_owned();
                write(&constants, minijail::with_our_syscalls(&theirs)?)?;
                one(minijail::compile(directory, &constants, &policy, is_denylist)?)
            }
            Compiler::Snap(compiler) => snap::compile(compiler, text)?,
            Compiler::Kafel(compiler) => one(kafel::compile(compiler, text, Endian::Little)?),
        })
    }
}
