//! Writes a program in a dialect.

use super::dialect::Dialect;
use super::listing::{Listing, ListingOptions};
use super::{annotated, source, table};
use crate::program::{LongProgram, SocketProgram};

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
