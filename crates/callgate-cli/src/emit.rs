//! Programs as text and as JSON, for the subcommands that print them.

use callgate::bpf::disasm::{self, Dialect};
use callgate::bpf::{Program, RawInsn};

use crate::json::Json;
use crate::source::Filter;

/// The program of a filter in a notation.
pub(crate) fn text(program: &Program, dialect: Dialect, filter: &Filter) -> String {
    let options = disasm::Options { endian: filter.endian(), arches: filter.arches() };
    disasm::disassemble(program, dialect, &options)
}

/// The fields of the instructions, `[code, jt, jf, k]` each.
pub(crate) fn rows(program: &Program) -> Json {
    Json::array(program.to_raw().into_iter().map(|RawInsn { code, jt, jf, k }| {
        Json::Array(vec![code.into(), jt.into(), jf.into(), k.into()])
    }))
}
