//! A program as source code: C with the kernel's macros, Rust, Go.

use std::fmt::Write;

use super::annotated::count;
use super::listing::{self, Listing};
use callgate_core::{Insn, Op, Operand, RawInsn};

/// `struct sock_filter` in C, as `linux/filter.h` and `linux/bpf_common.h` spell it.
pub(super) fn c(listing: &Listing<'_>) -> String {
    let total = listing.insns.len();
    let name = name(listing);
    let array = name.unwrap_or("filter");
    let array = match listing.template {
        None => format!("static struct sock_filter {array}[]"),
        Some(_) => format!("static const struct sock_filter {array}_template[{total}]"),
    };
    let mut out = format!(
        "#include <linux/filter.h>\n\n/* clang-format off */\n/* {} */\n{array} = {{\n",
        count(total),
    );
    for (index, insn, note) in listing::lines(listing) {
        let RawInsn { code, jt, jf, k } = insn.into();
        let row = if insn.op.is_branch() {
            format!("BPF_JUMP({}, {k:#x}, {jt}, {jf}),", c_code(insn))
        } else if (jt, jf) == (0, 0) {
            format!("BPF_STMT({}, {k:#x}),", c_code(insn))
        } else {
            format!("{{ {code:#04x}, {jt}, {jf}, {k:#x} }},")
        };
        let _ = write!(out, "\t/* {index:>4} */ {row}");
        listing::comment(&mut out, " /* ", &note, " */");
        out.push('\n');
    }
    out.push_str("};\n");
    if listing.template.is_none() {
        let program = name.map_or("program".to_owned(), |name| format!("{name}_program"));
        let _ = write!(
            out,
            "\nstatic const struct sock_fprog {program} = {{\n\t.len = {total},\n\t.filter = {},\n}};\n",
            name.unwrap_or("filter"),
        );
    }
    out.push_str("/* clang-format on */\n");
    out
}

/// The name that was given to the array.
fn name<'l>(listing: &Listing<'l>) -> Option<&'l str> {
    listing.seccomp?.name.as_deref()
}

/// The code by the names of its parts.
fn c_code(insn: Insn) -> String {
    let code = insn.op.code();
    let name = |mask: u16| c_part(code & 7, mask, code & mask);
    let class = c_part(code & 7, 7, code & 7);
    match (insn.op, insn.op.operand()) {
        (Op::St | Op::Stx, _) => class.to_owned(),
        (Op::Ja | Op::Neg | Op::Tax | Op::Txa, _) => format!("{class} | {}", name(0xf8)),
        (Op::RetK | Op::RetA, _) => format!("{class} | {}", name(0x18)),
        (_, Operand::Absolute | Operand::Indexed | Operand::Length | Operand::HeaderLength) => {
            format!("{class} | {} | {}", name(0x18), name(0xe0))
        }
        (Op::LdImm | Op::LdMem | Op::LdxImm | Op::LdxMem, _) => format!("{class} | {}", name(0xe0)),
        _ => format!("{class} | {} | {}", name(0xf0), name(0x08)),
    }
}

/// The name of a part of a code in its class.
fn c_part(class: u16, mask: u16, bits: u16) -> &'static str {
    CODE_PARTS
        .iter()
        .find(|part| part.mask == mask && part.bits == bits && part.classes & (1 << class) != 0)
        .map_or("0", |part| part.name)
}

/// A constant of `linux/bpf_common.h`.
pub(crate) struct CodePart {
    pub(crate) name: &'static str,
    pub(crate) bits: u16,
    /// Which bits of the code it stands for.
    mask: u16,
    /// In which classes it means that, one bit each.
    classes: u8,
}

const fn part(name: &'static str, bits: u16, mask: u16, classes: u8) -> CodePart {
    CodePart { name, bits, mask, classes }
}

const LOAD: u8 = 0b11;
const ALU: u8 = 1 << 4;
const JMP: u8 = 1 << 5;
const RET: u8 = 1 << 6;
const MISC: u8 = 1 << 7;

/// `include/uapi/linux/bpf_common.h` and `filter.h`.
#[rustfmt::skip]
pub(crate) const CODE_PARTS: &[CodePart] = &[
    part("BPF_LD", 0, 7, 0xff), part("BPF_LDX", 1, 7, 0xff), part("BPF_ST", 2, 7, 0xff),
    part("BPF_STX", 3, 7, 0xff), part("BPF_ALU", 4, 7, 0xff), part("BPF_JMP", 5, 7, 0xff),
    part("BPF_RET", 6, 7, 0xff), part("BPF_MISC", 7, 7, 0xff),
    part("BPF_W", 0x00, 0x18, LOAD), part("BPF_H", 0x08, 0x18, LOAD), part("BPF_B", 0x10, 0x18, LOAD),
    part("BPF_IMM", 0x00, 0xe0, LOAD), part("BPF_ABS", 0x20, 0xe0, LOAD), part("BPF_IND", 0x40, 0xe0, LOAD),
    part("BPF_MEM", 0x60, 0xe0, LOAD), part("BPF_LEN", 0x80, 0xe0, LOAD), part("BPF_MSH", 0xa0, 0xe0, LOAD),
    part("BPF_ADD", 0x00, 0xf0, ALU), part("BPF_SUB", 0x10, 0xf0, ALU), part("BPF_MUL", 0x20, 0xf0, ALU),
    part("BPF_DIV", 0x30, 0xf0, ALU), part("BPF_OR", 0x40, 0xf0, ALU), part("BPF_AND", 0x50, 0xf0, ALU),
    part("BPF_LSH", 0x60, 0xf0, ALU), part("BPF_RSH", 0x70, 0xf0, ALU), part("BPF_MOD", 0x90, 0xf0, ALU),
    part("BPF_XOR", 0xa0, 0xf0, ALU), part("BPF_NEG", 0x80, 0xf8, ALU),
    part("BPF_JEQ", 0x10, 0xf0, JMP), part("BPF_JGT", 0x20, 0xf0, JMP), part("BPF_JGE", 0x30, 0xf0, JMP),
    part("BPF_JSET", 0x40, 0xf0, JMP), part("BPF_JA", 0x00, 0xf8, JMP),
    part("BPF_K", 0x00, 0x08, ALU | JMP), part("BPF_X", 0x08, 0x08, ALU | JMP),
    part("BPF_K", 0x00, 0x18, RET), part("BPF_A", 0x10, 0x18, RET),
    part("BPF_TAX", 0x00, 0xf8, MISC), part("BPF_TXA", 0x80, 0xf8, MISC),
];

/// `libc::sock_filter` in Rust.
pub(super) fn rust(listing: &Listing<'_>) -> String {
    let total = listing.insns.len();
    let name = name(listing).unwrap_or("FILTER");
    let array = match listing.template {
        None => format!("pub const {name}"),
        Some(_) => format!("const {name}_TEMPLATE"),
    };
    let mut out = format!(
        "/// {}.\n#[rustfmt::skip]\n{array}: [libc::sock_filter; {total}] = [\n",
        count(total)
    );
    rows(listing, &mut out, "    ", |RawInsn { code, jt, jf, k }| {
        format!("libc::sock_filter {{ code: {code:#04x}, jt: {jt}, jf: {jf}, k: {k:#x} }},")
    });
    out.push_str("];\n");
    out
}

/// `unix.SockFilter` in Go, as gofmt aligns it.
pub(super) fn go(listing: &Listing<'_>) -> String {
    let total = listing.insns.len();
    let name = name(listing).unwrap_or("filter");
    let array = match listing.template {
        None => format!("{name} = []unix.SockFilter"),
        Some(_) => format!("{name}Template = [{total}]unix.SockFilter"),
    };
    let mut out = format!("// {}.\nvar {array}{{\n", count(total));
    rows(listing, &mut out, "\t", |RawInsn { code, jt, jf, k }| {
        format!("{{Code: {code:#04x}, Jt: {jt}, Jf: {jf}, K: {k:#x}}},")
    });
    out.push_str("}\n");
    out
}

/// Rows with aligned comments.
fn rows(listing: &Listing<'_>, out: &mut String, indent: &str, row: impl Fn(RawInsn) -> String) {
    let rows: Vec<(usize, String, String)> = listing::lines(listing)
        .map(|(index, insn, note)| (index, row(insn.into()), note))
        .collect();
    let width = rows.iter().map(|(_, row, _)| row.len()).max().unwrap_or(0);
    for (index, row, note) in rows {
        let _ = write!(out, "{indent}{row:width$} // {index}");
        listing::comment(out, ": ", &note, "");
        out.push('\n');
    }
}
