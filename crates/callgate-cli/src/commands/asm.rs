//! `callgate asm`: from program text in any form to a program.

use std::path::PathBuf;

use callgate::Endian;
use callgate::bpf::Program;
use clap::ValueHint;

use crate::options::{EndianArg, NATIVE_ENDIAN};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{self, Place};

/// Assemble a program, check it as the kernel does, and write its bytes
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The language is that of Linux's bpf_asm with names; every other text that a
source `bpftext:` may have is read, too: what `callgate disasm` prints in any
dialect goes in again, and so do the listings of tcpdump.

Examples:
  callgate asm filter.asm -o filter.bpf
  callgate asm - <<end | callgate simulate - getpid
  ld nr
  jeq #39, no
  ret ALLOW
  no: ret ERRNO(EPERM)
  end")]
pub(crate) struct AsmArgs {
    /// The text; `-` is standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Where the program goes; without it, standard output
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// The byte order of the program [default: what .endian says, else that of this machine]
    #[arg(long, value_name = "ORDER")]
    endian: Option<EndianArg>,
}

pub(crate) fn run(args: &AsmArgs) -> Result<u8> {
    let place = Place::of_path(&args.file);
    let text = place.read_text("`callgate disasm` reads programs in raw bytes")?;
    let default = args.endian.map_or(NATIVE_ENDIAN, Endian::from);
    let (insns, endian) = source::read_text(&place, &text, default)?;
    if args.endian.is_some() && endian != default {
        return Err(Failure::about(place.name(), "`.endian` and --endian contradict each other")
            .help("leave --endian out: the text knows its byte order"));
    }
    let program =
        Program::from_raw(&insns).map_err(|error| source::not_a_program(&place, &error))?;
    output::write_program(args.output.as_deref(), &program.to_bytes(endian))?;
    Ok(0)
}
