//! `callgate disasm`: prints a program in a common notation.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use callgate::{Arch, Endian};
use callgate_bpf::disasm::{Dialect, disassemble_socket};
use callgate_core::{Insn, Program, RawInsn};
use clap::{ValueEnum, ValueHint};

use crate::options::{CompileOptions, Format, SourceOptions};
use crate::report::{Failure, Result, muted};
use crate::source::{
    self, AnyFilter, BUILT_IN, Compile, NOT_COMPILED, Place, SocketFilter, Source,
};
use crate::text::counted;
use crate::{emit, output};
use callgate_requests::json::Json;

/// Disassemble a BPF program; a profile is compiled first
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A program that the kernel refuses is listed with the reasons; the exit status is
2 then.

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
    /// The assembly of seccomp-tools
    #[value(name = "seccomp-tools")]
    SeccompTools,
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
            DialectArg::SeccompTools => Dialect::SeccompTools,
        }
    }
}

pub(crate) fn run(args: &DisasmArgs) -> Result<u8> {
    let read =
        Source::parse(&args.source).and_then(|source| source.read_any_to_compile(&args.reading));
    let read = match read {
        Ok(read) => read,
        Err(failure) => {
            // What the kernel refuses is shown, too.
            if let Some(listing) = muted(|| rejected(args)) {
                output::print(&listing)?;
            }
            return Err(failure);
        }
    };
    let text = match read {
        AnyFilter::Syscalls(filter) => {
            let program = filter.code(&args.compiling)?;
            let (endian, arches) = (filter.endian(), filter.arches.as_slice());
            match args.format {
                Format::Text => emit::text(&program, args.dialect.into(), endian, arches),
                Format::Json => json(&filter.name, program.insns(), endian, arches),
            }
        }
        AnyFilter::Packets(SocketFilter { name, .. })
            if matches!(args.dialect, DialectArg::SeccompTools) =>
        {
            return Err(Failure::about(
                name,
                "seccomp-tools has no statements for packets, which this socket filter takes",
            )
            .help("use another dialect"));
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

/// How files of other kinds begin: no program begins so, because the second byte of its first opcode is 0.
const MAGIC: [&[u8]; 15] = [
    b"\x7fELF",
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"\xfd7zXZ",
    b"\x28\xb5\x2f\xfd",
    b"BZh",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"%PDF",
    b"\xd4\xc3\xb2\xa1",
    b"\x4d\x3c\xb2\xa1",
    b"\x0a\x0d\x0d\x0a",
    b"\xcf\xfa\xed\xfe",
    b"SQLite format 3",
];

/// The listing of a file with a program that the kernel refuses, with the reasons; `None` if it is not a program.
fn rejected(args: &DisasmArgs) -> Option<String> {
    const FORMS: [&[u8]; 2] = [b"bpf:", b"bpftext:"];
    const MAX: u64 = 1 << 20;
    // The kernel's limit.
    const MAX_INSNS: usize = 4096;
    let name = args.source.as_bytes();
    let name = FORMS.iter().find_map(|form| name.strip_prefix(*form)).unwrap_or(name);
    let place = Place::of_path(Path::new(OsStr::from_bytes(name)));
    // Standard input was read already.
    if place == Place::Stdin {
        return None;
    }
    let bytes = place.read_at_most(MAX, "").ok()?;
    if MAGIC.iter().any(|magic| bytes.starts_with(magic)) {
        return None;
    }
    let endian = args.reading.of_program().ok()?;
    let insns = match std::str::from_utf8(&bytes) {
        Ok(text) => source::read_text(&place, text, endian, Vec::new(), false).ok()?.0,
        Err(_) if bytes.len() % RawInsn::SIZE != 0 => return None,
        Err(_) => {
            let each = bytes.chunks_exact(RawInsn::SIZE);
            each.filter_map(|insn| Some(RawInsn::from_bytes(insn.try_into().ok()?, endian)))
                .collect()
        }
    };
    // A program that only has errors: other files are not listed as instructions.
    let known = insns.iter().filter(|insn| Insn::try_from(**insn).is_ok()).count();
    if insns.len() > MAX_INSNS || 2 * known < insns.len() {
        return None;
    }
    let error = Program::from_raw(&insns).err()?;
    let mut text = format!(
        "; {}; the kernel refuses this program\n",
        counted(insns.len() as u64, "instruction")
    );
    for (index, insn) in insns.iter().enumerate() {
        let RawInsn { code, jt, jf, k } = insn;
        let _ = writeln!(text, "{index:>6}  {code:#06x} {jt:>3} {jf:>3} {k:#010x}  {insn}");
        let own = error.violations().iter().filter(|violation| violation.index() == Some(index));
        for violation in own {
            let reason = violation.to_string();
            let reason = reason.split_once("): ").map_or(reason.as_str(), |(_, reason)| reason);
            let _ = writeln!(text, "{:>6}  ; refused: {reason}", "");
        }
    }
    for violation in error.violations().iter().filter(|violation| violation.index().is_none()) {
        let _ = writeln!(text, "; refused: {violation}");
    }
    Some(text)
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
