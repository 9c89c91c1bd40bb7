//! `callgate asm`: assembles a program from text in any form.

use std::path::PathBuf;

use callgate::Endian;
use callgate_core::Program;
use clap::ValueHint;

use crate::options::{EndianArg, Macros, NATIVE_ENDIAN};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{self, Place};

/// Assemble a BPF program and check that the kernel accepts it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The language is that of bpf_asm (tools/bpf in the Linux sources) plus names of
fields (nr, args[0].low), arch tokens (#AUDIT_ARCH_X86_64), syscalls (#execve
after ld nr), actions and errnos (ERRNO(EPERM)). All other forms of a bpftext:
SOURCE are accepted, too: the listings of tcpdump and everything that `callgate
disasm` prints.

Without -o, the program is written to standard output, but not to a terminal.

Examples:
  callgate asm filter.asm -o filter.bpf
  callgate asm - <<end | callgate simulate - getpid
  ld nr
  jeq #39, no
  ret ALLOW
  no: ret ERRNO(EPERM)
  end

Exit status: 0 success, 2 error.")]
pub(crate) struct AsmArgs {
    /// The text; - is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Write the program to this file, atomically [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// The byte order of the program [default: that of .endian, otherwise of this machine]
    #[arg(long, value_name = "ORDER")]
    endian: Option<EndianArg>,

    #[command(flatten)]
    macros: Macros,

    /// Refuse what is otherwise assumed about source code, such as that a header that is not read defines no name that
    /// the program uses
    #[arg(long, help_heading = "Reading")]
    strict: bool,
}

pub(crate) fn run(args: &AsmArgs) -> Result<u8> {
    let place = Place::of_path(&args.file);
    let text = place.read_text("for a program as raw instructions, use `callgate disasm`")?;
    let default = args.endian.map_or(NATIVE_ENDIAN, Endian::from);
    let (insns, endian) =
        source::read_text(&place, &text, default, args.macros.all(), args.strict)?;
    if args.endian.is_some() && endian != default {
        return Err(Failure::about(place.name(), "`.endian` contradicts --endian")
            .help("omit --endian: the text specifies the byte order"));
    }
    let program =
        Program::from_raw(&insns).map_err(|error| source::not_a_program(&place, &error))?;
    output::write_program(args.output.as_deref(), &program.to_bytes(endian))?;
    Ok(0)
}
