//! The dialects, and programs as text in them.

use std::fmt;
use std::str::FromStr;

use super::listing::{Listing, ListingOptions};
use super::{annotated, source, statements, table};
use callgate_core::io_uring::IoUringRequest;
use callgate_core::template::Template;
use callgate_core::{Endian, LongProgram, Program, SocketProgram};

/// A textual form of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Assembly with comments.
    #[default]
    Annotated,
    /// Linux's `bpf_asm`.
    BpfAsm,
    /// The table of libseccomp's `scmp_bpf_disasm`.
    Libseccomp,
    /// The kernel's names of Linux 3.10.
    Legacy,
    /// An array in C.
    C,
    /// An array in Rust, for the crate `libc`.
    Rust,
    /// A slice in Go, for `golang.org/x/sys/unix`.
    Go,
    /// The decimal table of `tcpdump -ddd`.
    Ddd,
    /// The assembly of seccomp-tools.
    SeccompTools,
}

impl Dialect {
    /// All dialects.
    pub const ALL: &'static [Dialect] = &[
        Dialect::Annotated,
        Dialect::BpfAsm,
        Dialect::Libseccomp,
        Dialect::Legacy,
        Dialect::C,
        Dialect::Rust,
        Dialect::Go,
        Dialect::Ddd,
        Dialect::SeccompTools,
    ];

    /// The name, as the command line takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Annotated => "annotated",
            Dialect::BpfAsm => "bpf_asm",
            Dialect::Libseccomp => "libseccomp",
            Dialect::Legacy => "legacy",
            Dialect::C => "c",
            Dialect::Rust => "rust",
            Dialect::Go => "go",
            Dialect::Ddd => "ddd",
            Dialect::SeccompTools => "seccomp-tools",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Dialect, UnknownDialect> {
        Dialect::ALL
            .iter()
            .copied()
            .find(|dialect| dialect.name() == name)
            .ok_or_else(|| UnknownDialect { name: name.to_owned() })
    }
}

/// The error for an unknown name of a dialect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDialect {
    name: String,
}

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Dialect::ALL.iter().map(|dialect| dialect.name()).collect();
        write!(f, "unknown dialect `{}`; the dialects are {}", self.name, names.join(", "))
    }
}

impl std::error::Error for UnknownDialect {}

/// A seccomp filter as text.
///
/// ```
/// use callgate_bpf::{disasm, text};
/// use callgate_core::{Insn, Op, Program};
/// use callgate_core::Endian;
///
/// let program = Program::new(vec![
///     Insn::new(Op::LdWordAbs, 4),
///     Insn::branch(Op::JeqK, 0xc000_003e, 0, 3),
///     Insn::new(Op::LdWordAbs, 0),
///     Insn::branch(Op::JeqK, 59, 1, 0),
///     Insn::new(Op::RetK, 0x7fff_0000),
///     Insn::new(Op::RetK, 0x0005_0001),
/// ])?;
/// let listing = disasm::disassemble(&program, disasm::Dialect::Annotated, &Default::default());
/// assert!(listing.contains("jeq  #59, L5, next"));
/// assert!(listing.contains("; execve"));
/// assert_eq!(text::parse(&listing, Endian::Little)?, program.to_raw());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn disassemble(program: &LongProgram, dialect: Dialect, options: &ListingOptions) -> String {
    write(&Listing::new(program.insns(), Some(options)), dialect)
}

/// A seccomp filter with variables as text. In the annotated listing, a variable stands for a constant that is set later; in the
/// others, such a constant is 0, with the variable in a comment. In source code, the name of the array ends in `template`.
///
/// ```
/// use callgate_bpf::disasm::{Dialect, disassemble_template};
/// use callgate_core::template::{Half, Patch, Symbol, Template, Variable};
/// use callgate_core::{Insn, Op, Program};
///
/// let program = Program::new(vec![
///     Insn::new(Op::LdWordAbs, 16),
///     Insn::branch(Op::JeqK, 0, 0, 1),
///     Insn::new(Op::RetK, 0x7fff_0000),
///     Insn::new(Op::RetK, 0x0005_0001),
/// ])?;
/// let patch = Patch { insn: 1, symbol: Symbol::new(0).plus(4), half: Half::Low };
/// let template = Template::new(program, vec![Variable::u32("fd")?], vec![patch])?;
/// let listing = disassemble_template(&template, Dialect::Annotated, &Default::default());
/// assert!(listing.contains("jeq  #($fd + 0x4), next, L3"), "{listing}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn disassemble_template(
    template: &Template,
    dialect: Dialect,
    options: &ListingOptions,
) -> String {
    let listing = Listing::new(template.program().insns(), Some(options));
    write(&Listing { template: Some(template), ..listing }, dialect)
}

/// A socket filter as text.
pub fn disassemble_socket(program: &SocketProgram, dialect: Dialect) -> String {
    write(&Listing::new(program.insns(), None), dialect)
}

/// An io_uring filter as text, for machines of this byte order. Loaded words and decisions are named in comments.
///
/// ```
/// use callgate_bpf::disasm::{Dialect, disassemble_requests};
/// use callgate_bpf::asm;
/// use callgate_core::{Endian, Insn, Op, Program};
///
/// let text = "ld socket.family\n jeq #2, next, no\n ret ALLOW\n no: ret DENY";
/// let program = Program::of(asm::assemble_requests(text, Endian::Little)?)?;
/// let listing = disassemble_requests(&program, Dialect::Annotated, Endian::Little);
/// assert!(listing.contains("; socket.family, open.flags.low"), "{listing}");
/// assert!(listing.contains("; true: ALLOW, false: DENY"), "{listing}");
/// assert_eq!(asm::assemble_requests(&listing, Endian::Little)?, program.insns());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn disassemble_requests(
    program: &Program<IoUringRequest>,
    dialect: Dialect,
    endian: Endian,
) -> String {
    write(&Listing::of_requests(program.insns(), endian), dialect)
}

fn write(listing: &Listing<'_>, dialect: Dialect) -> String {
    match dialect {
        Dialect::Annotated => annotated::annotated(listing),
        Dialect::BpfAsm => annotated::bpf_asm(listing),
        Dialect::Libseccomp => table::libseccomp(listing),
        Dialect::Legacy => table::legacy(listing),
        Dialect::Ddd => table::decimal(listing),
        Dialect::SeccompTools => statements::seccomp_tools(listing),
        Dialect::C => source::c(listing),
        Dialect::Rust => source::rust(listing),
        Dialect::Go => source::go(listing),
    }
}
