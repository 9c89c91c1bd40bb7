//! `callgate disasm`: prints a program in a common notation.

use std::ffi::OsString;

use callgate::{Arch, Endian};
use callgate_bpf::disasm::{Dialect, disassemble_socket};
use callgate_core::Insn;
use clap::{ValueEnum, ValueHint};

use crate::options::{CompileOptions, Format, SourceOptions};
use crate::report::Result;
use crate::source::{AnyFilter, BUILT_IN, Compile, NOT_COMPILED, SocketFilter, Source};
use crate::{emit, output};
use callgate_requests::json::Json;

/// Disassemble a BPF program; a profile is compiled first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  callgate disasm filter.bpf
  callgate disasm profile.json --dialect c
  callgate disasm filter.bpf | callgate asm - -o copy.bpf
  tcpdump -ddd port 22 | callgate disasm -

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
    let text = match Source::parse(&args.source)?.read_any_to_compile(&args.reading)? {
        AnyFilter::Syscalls(filter) => {
            let program = filter.code(&args.compiling)?;
            let (endian, arches) = (filter.endian(), filter.arches.as_slice());
            match args.format {
                Format::Text => emit::text(&program, args.dialect.into(), endian, arches),
                Format::Json => json(&filter.name, program.insns(), endian, arches),
            }
        }
        AnyFilter::Packets(SocketFilter { name, program, endian }) => {
            args.compiling.warn_about_given(&name, NOT_COMPILED, "omit it");
            match args.format {
                Format::Text => disassemble_socket(&program, args.dialect.into()),
                Format::Json => json(&name, program.insns(), endian, &[]),
            }
        }
    };
    output::print(&text)?;
    Ok(0)
}

fn json(name: &str, insns: &[Insn], endian: Endian, arches: &[Arch]) -> String {
    let endian = match endian {
        Endian::Little => "little",
        Endian::Big => "big",
    };
    let insns = insns.iter().enumerate().map(|(index, insn)| {
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
        ("source", name.into()),
        ("arches", Json::array(arches.iter().map(|arch| arch.name()))),
        ("endian", endian.into()),
        ("insns", Json::array(insns)),
    ]);
    format!("{value}\n")
}
