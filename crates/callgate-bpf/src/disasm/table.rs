//! Dialects in table form: libseccomp's, the kernel's names of Linux 3.10, and `tcpdump -ddd`.

use std::fmt::Write;

use super::listing::{self, Listing};
use callgate_core::cfg::Successors;
use callgate_core::{Action, AncillaryWord, Insn, Op, Operand, RawInsn, Verdict};

/// The table of libseccomp's `scmp_bpf_disasm`: index, the four fields in hexadecimal, and what they
/// mean, with jump targets and constants in decimal.
///
/// Format: libseccomp, `tools/scmp_bpf_disasm.c`, its peculiarities included (`KILL` for kill thread, no
/// data for `TRAP`, `k` shown where X is the operand).
pub(super) fn libseccomp(listing: &Listing<'_>) -> String {
    let mut out = String::from(" line  OP   JT   JF   K\n=================================\n");
    for (index, &insn) in listing.insns.iter().enumerate() {
        let RawInsn { code, jt, jf, k } = insn.into();
        let mnemonic = match insn.op {
            Op::Ja => "jmp",
            Op::LdxMsh => "ldx",
            op => op.mnemonic(),
        };
        let operand = libseccomp_operand(index, insn);
        let _ = writeln!(
            out,
            " {index:04}: {code:#04x} {jt:#04x} {jf:#04x} {k:#010x}   {mnemonic:<3} {operand}"
        );
    }
    out
}

fn libseccomp_operand(index: usize, insn: Insn) -> String {
    let k = insn.k;
    match insn.successors(index) {
        Successors::Jump(target) => return format!("{target:04}"),
        Successors::Branch { taken, otherwise } => {
            return format!("{k:<4} true:{taken:04} false:{otherwise:04}");
        }
        Successors::Return | Successors::Next(_) => {}
    }
    match insn.op.operand() {
        Operand::Absolute => format!("$data[{k}]"),
        Operand::Indexed => format!("$data[X + {k}]"),
        Operand::Scratch => format!("$temp[{k}]"),
        Operand::Length => "len($data)".to_owned(),
        Operand::HeaderLength => format!("4 * $data[{k}] & 0x0f"),
        Operand::A => "$acc".to_owned(),
        Operand::Jump => String::new(),
        Operand::None if matches!(insn.op, Op::Tax | Op::Txa) => String::new(),
        Operand::Constant if insn.op == Op::RetK => libseccomp_action(Verdict(k)),
        Operand::Constant if matches!(insn.op, Op::OrK | Op::AndK) => format!("{k:#010x}"),
        Operand::Constant
        | Operand::X
        | Operand::None
        | Operand::BranchConstant
        | Operand::BranchX => format!("{k}"),
    }
}

fn libseccomp_action(verdict: Verdict) -> String {
    match verdict.action() {
        Action::KillProcess => "KILL_PROCESS".to_owned(),
        Action::KillThread => "KILL".to_owned(),
        Action::Trap(_) => "TRAP".to_owned(),
        Action::Errno(errno) => format!("ERRNO({errno})"),
        Action::Trace(data) => format!("TRACE({data})"),
        Action::Log => "LOG".to_owned(),
        Action::Allow => "ALLOW".to_owned(),
        _ => format!("{:#010x}", verdict.0),
    }
}

/// Index, the kernel's name of the operation before Linux 3.15, then jt, jf and k.
///
/// The kernel translated filters like this when they were attached, and the seccomp check turned word
/// loads into `BPF_S_ANC_SECCOMP_LD_W`. Two of its translations lose information and are left out: `ld len`
/// became `BPF_S_LD_IMM` with 64, and the divisor of `BPF_S_ALU_DIV_K` its reciprocal.
pub(super) fn legacy(listing: &Listing<'_>) -> String {
    let mut out = String::from("; BPF_S_* of Linux 3.10: name jt jf k\n");
    for (index, insn, note) in listing::lines(listing) {
        let name = legacy_name(insn, listing.seccomp.is_some());
        let Insn { jt, jf, k, .. } = insn;
        let _ = write!(out, "{index:>5}: BPF_S_{name:<18} {jt:>3} {jf:>3} {k:#010x}");
        listing::comment(&mut out, "  ; ", &note, "");
        out.push('\n');
    }
    out
}

fn legacy_name(insn: Insn, seccomp: bool) -> &'static str {
    if insn.op != Op::LdWordAbs {
        return insn.op.legacy_name();
    }
    if seccomp {
        return SECCOMP_LOAD;
    }
    let ancillary = AncillaryWord::from_offset(insn.k).and_then(AncillaryWord::legacy_name);
    ancillary.unwrap_or(insn.op.legacy_name())
}

/// A word load in a seccomp filter.
pub(crate) const SECCOMP_LOAD: &str = "ANC_SECCOMP_LD_W";

/// How many instructions, then the four fields of each in decimal.
pub(super) fn decimal(listing: &Listing<'_>) -> String {
    let mut out = format!("{}\n", listing.insns.len());
    for &insn in listing.insns {
        let RawInsn { code, jt, jf, k } = insn.into();
        let _ = writeln!(out, "{code} {jt} {jf} {k}");
    }
    out
}
