//! `callgate asm`: assembles a program from text in any form.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use callgate::Endian;
use callgate_core::{Program, SocketProgram};
use clap::ValueHint;

use crate::options::{EndianArg, Macros, NATIVE_ENDIAN};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{self, Place};

/// What is before the name of a socket filter.
const SOCKET: &[u8] = b"socket:";

/// Assemble a BPF program and check that the kernel accepts it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The language is that of bpf_asm (tools/bpf in the Linux sources) plus names of
fields (nr, args[0].low), arch tokens (#AUDIT_ARCH_X86_64), syscalls (#execve
after ld nr), actions and errnos (ERRNO(EPERM)). All other forms of a bpftext:
SOURCE are accepted, too: the listings of tcpdump and everything that `callgate
disasm` prints. socket:FILE is a socket filter, which takes packets: it may also
load bytes, half words and ancillary words, such as `ldh [12]` and `ld #proto`.

Without -o, the program is written to standard output, but not to a terminal.

Examples:
  callgate asm filter.asm -o filter.bpf
  callgate asm - <<end | callgate simulate - getpid
  ld nr
  jeq #39, no
  ret ALLOW
  no: ret ERRNO(EPERM)
  end
  tcpdump -ddd port 22 | callgate asm socket:- -o port-22.bpf

Exit status: 0 success, 2 error.")]
pub(crate) struct AsmArgs {
    /// The text; - is standard input, socket:FILE is a socket filter
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
    let name = args.file.as_os_str().as_bytes();
    let (is_socket, name) = match name.strip_prefix(SOCKET) {
        Some(rest) => (true, rest),
        None => (false, name),
    };
    let place = Place::of_path(Path::new(OsStr::from_bytes(name)));
    let text = place.read_text("for a program as raw instructions, use `callgate disasm`")?;
    let default = args.endian.map_or(NATIVE_ENDIAN, Endian::from);
    let (insns, endian) =
        source::read_text(&place, &text, default, args.macros.all(), args.strict)?;
    if args.endian.is_some() && endian != default {
        return Err(Failure::about(place.name(), "`.endian` contradicts --endian")
            .help("omit --endian: the text specifies the byte order"));
    }
    let refused = |error| source::not_a_program(&place, &error);
    let bytes = match is_socket {
        true => SocketProgram::from_raw(&insns).map_err(refused)?.to_bytes(endian),
        false => Program::from_raw(&insns).map_err(refused)?.to_bytes(endian),
    };
    output::write_program(args.output.as_deref(), &bytes)?;
    Ok(0)
}
