//! The disassembler: writes a program as text, in several dialects, which
//! [`text::parse`](super::text::parse) reads back to the same bytes.
//!
//! | dialect | what it is |
//! |---|---|
//! | `annotated` | assembly with labels, named words and actions, and comments with syscall names |
//! | `bpf_asm` | what Linux's `tools/bpf/bpf_asm` reads |
//! | `libseccomp` | the table of libseccomp's `scmp_bpf_disasm` |
//! | `legacy` | the kernel's own names of Linux 3.10 (`BPF_S_*`), with the four fields |
//! | `c`, `rust`, `go` | source code: an array of instructions |
//! | `ddd` | the decimal table of `tcpdump -ddd` |
//!
//! Limits: mnemonics cannot express values in fields that the kernel ignores; `annotated` and `bpf_asm`
//! write such an instruction as `.insn code, jt, jf, k`, which Linux's `bpf_asm` does not read.

mod annotated;
mod note;
mod source;
mod table;

use std::fmt;
use std::str::FromStr;

pub(super) use source::CODE_PARTS;
pub(super) use table::SECCOMP_LOAD;

use super::flow;
use super::insn::Insn;
use super::op::Op;
use super::program::{LongProgram, SocketProgram};
use crate::data::{Endian, Word};
use crate::syscalls::Arch;

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

/// Assumptions about a program, for names in its listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListingOptions {
    /// The byte order of the machine, which decides the offset of each half of an argument.
    pub endian: Endian,
    /// The architectures of the filter. The first one gives names to syscall numbers where the program has
    /// not tested the arch; without any, only numbers after a test of the arch have names.
    pub arches: Vec<Arch>,
}

/// A seccomp filter as text.
///
/// ```
/// use callgate_bpf::{Insn, Op, Program, disasm, text};
/// use callgate_bpf::Endian;
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

/// A socket filter as text.
pub fn disassemble_socket(program: &SocketProgram, dialect: Dialect) -> String {
    write(&Listing::new(program.insns(), None), dialect)
}

fn write(listing: &Listing<'_>, dialect: Dialect) -> String {
    match dialect {
        Dialect::Annotated => annotated::annotated(listing),
        Dialect::BpfAsm => annotated::bpf_asm(listing),
        Dialect::Libseccomp => table::libseccomp(listing),
        Dialect::Legacy => table::legacy(listing),
        Dialect::Ddd => table::decimal(listing),
        Dialect::C => source::c(listing),
        Dialect::Rust => source::rust(listing),
        Dialect::Go => source::go(listing),
    }
}

/// A program with the facts before each instruction.
struct Listing<'a> {
    insns: &'a [Insn],
    /// The assumptions about a seccomp filter; `None` for a socket filter.
    seccomp: Option<&'a ListingOptions>,
    flow: Vec<Option<flow::PathFacts>>,
    /// The arch that comments do not mention: the assumed one, otherwise the first one tested.
    home: Option<Arch>,
}

impl<'a> Listing<'a> {
    fn new(insns: &'a [Insn], seccomp: Option<&'a ListingOptions>) -> Listing<'a> {
        let flow = seccomp.map_or_else(Vec::new, |options| flow::known(insns, options.endian));
        let assumed = seccomp.and_then(|options| options.arches.first().copied());
        let tested = || {
            let known = insns.iter().zip(&flow);
            let mut tests = known.filter(|(insn, known)| {
                insn.op == Op::JeqK && known.is_some_and(|known| known.a == Some(Word::ARCH))
            });
            tests.find_map(|(insn, _)| Arch::with_token(insn.k).next())
        };
        let home = assumed.or_else(tested);
        Listing { insns, seccomp, flow, home }
    }

    /// The instructions with their indices and comments.
    fn lines(&self) -> impl Iterator<Item = (usize, Insn, String)> {
        self.insns
            .iter()
            .enumerate()
            .map(|(index, &insn)| (index, insn, note::note(self, index, insn)))
    }
}

#[cfg(test)]
mod tests;
