//! `callgate disasm`: prints a program in a common notation.

use std::ffi::OsString;

use callgate::Endian;
use callgate_bpf::disasm::Dialect;
use callgate_core::LongProgram;
use clap::{ValueEnum, ValueHint};

use crate::options::{CompileOptions, Format, SourceOptions};
use crate::report::Result;
use crate::source::{BUILT_IN, Compile, Filter, Source};
use crate::{emit, output};
use callgate_requests::json::Json;

/// Disassemble a BPF program; a profile is compiled first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callgate disasm filter.bpf
  callgate disasm profile.json --dialect c
  callgate disasm filter.bpf | callgate asm - -o copy.bpf

Exit status: 0 success, 2 error.")]
pub(crate) struct DisasmArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    source: OsString,

    /// The notation
    #[arg(long, value_name = "DIALECT", default_value = "annotated")]
    dialect: DialectArg,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[command(flatten)]
    reading: SourceOptions,

    #[command(flatten)]
    compiling: CompileOptions,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum DialectArg {
    /// Assembler with labels, names of fields and actions, and comments with names of syscalls;
    /// `callgate asm` reads it
    Annotated,
    /// Like libseccomp's scmp_bpf_disasm
    Libseccomp,
    /// The input of bpf_asm (tools/bpf in the Linux sources)
    #[value(name = "bpf_asm")]
    BpfAsm,
    /// The names that Linux used internally before 3.15 (BPF_S_*)
    Legacy,
    /// A C array
    C,
    /// A Rust array (crate libc)
    Rust,
    /// A Go slice (golang.org/x/sys/unix)
    Go,
    /// The decimal numbers of tcpdump -ddd
    Ddd,
}

impl From<DialectArg> for Dialect {
    fn from(dialect: DialectArg) -> Dialect {
        match dialect {
            DialectArg::Annotated => Dialect::Annotated,
            DialectArg::Libseccomp => Dialect::Libseccomp,
            DialectArg::BpfAsm => Dialect::BpfAsm,
            DialectArg::Legacy => Dialect::Legacy,
            DialectArg::C => Dialect::C,
            DialectArg::Rust => Dialect::Rust,
            DialectArg::Go => Dialect::Go,
            DialectArg::Ddd => Dialect::Ddd,
        }
    }
}

pub(crate) fn run(args: &DisasmArgs) -> Result<u8> {
    let filter = Source::parse(&args.source)?.read_to_compile(&args.reading)?;
    let program = filter.code(&args.compiling)?;
    output::print(&match args.format {
        Format::Text => emit::text(&program, args.dialect.into(), filter.endian(), &filter.arches),
        Format::Json => json(&program, &filter),
    })?;
    Ok(0)
}

fn json(program: &LongProgram, filter: &Filter) -> String {
    let endian = match filter.endian() {
        Endian::Little => "little",
        Endian::Big => "big",
    };
    let insns = program.iter().enumerate().map(|(index, insn)| {
        Json::Object(vec![
            ("index", index.into()),
            ("code", insn.op.code().into()),
            ("jt", insn.jt.into()),
            ("jf", insn.jf.into()),
            ("k", insn.k.into()),
            ("text", insn.to_string().into()),
        ])
    });
    let value = Json::Object(vec![
        ("source", filter.name.as_str().into()),
        ("arches", Json::array(filter.arches.iter().map(|arch| arch.name()))),
        ("endian", endian.into()),
        ("insns", Json::array(insns)),
    ]);
    format!("{value}\n")
}
