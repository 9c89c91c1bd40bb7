//! The assembly of seccomp-tools: statements such as `A = sys_number` and `A == 59 ? L5 : next`.
//!
//! seccomp-tools reads it with `asm -a ARCH`, and Callgate reads it back to the same bytes. Three things of classic BPF have no
//! statement: `X = len`, `.insn` for fields that the kernel ignores, and packets, whose listing is that of `bpf_asm`.
//!
//! Source: the grammar in `lib/seccomp-tools/asm/sasm.y`.

use std::fmt::Write;

use super::annotated;
use super::listing::{self, Listing};
use crate::text::ARCHES;
use callgate_core::cfg::Successors;
use callgate_core::{Action, Arch, Endian, Insn, Op, Verdict, Word};

/// One statement per line, with a label if it is a jump target.
pub(super) fn seccomp_tools(listing: &Listing<'_>) -> String {
    let Some(options) = listing.seccomp else { return annotated::bpf_asm(listing) };
    let arrivals = annotated::arrivals(listing.insns);
    let mut out = String::new();
    for (index, insn) in listing.insns.iter().copied().enumerate() {
        if arrivals.get(index).copied().unwrap_or(false) {
            let _ = writeln!(out, "L{index}:");
        }
        let statement = match insn.has_ignored_bits() {
            true => format!(".insn {}", annotated::fields(insn)),
            false => statement(listing, index, insn, options.endian),
        };
        let _ = write!(out, "  {statement}");
        listing::comment(&mut out, "  # ", &note(listing, index, insn), "");
        out.push('\n');
    }
    out
}

/// What a number stands for, and what is not in the statement itself.
fn note(listing: &Listing<'_>, index: usize, insn: Insn) -> String {
    let context = listing::context(listing, index, insn);
    match listing::variable(listing, index) {
        Some(variable) if context.is_empty() => variable,
        Some(variable) => format!("{variable}, {context}"),
        None => context,
    }
}

fn statement(listing: &Listing<'_>, index: usize, insn: Insn, endian: Endian) -> String {
    let target = |at: usize| if at == index + 1 { "next".to_owned() } else { format!("L{at}") };
    let k = number(insn.k);
    let compared = |mark: &str, value: String| match insn.successors(index) {
        Successors::Branch { taken, otherwise } => {
            format!("A {mark} {value} ? {} : {}", target(taken), target(otherwise))
        }
        Successors::Return | Successors::Next(_) | Successors::Jump(_) => String::new(),
    };
    let x = || "X".to_owned();
    match insn.op {
        Op::LdWordAbs => format!("A = {}", word(insn.k, endian)),
        Op::LdImm => format!("A = {k}"),
        Op::LdxImm => format!("X = {k}"),
        Op::LdLen => "A = len".to_owned(),
        Op::LdxLen => "X = len".to_owned(),
        Op::LdMem => format!("A = mem[{}]", insn.k),
        Op::LdxMem => format!("X = mem[{}]", insn.k),
        Op::St => format!("mem[{}] = A", insn.k),
        Op::Stx => format!("mem[{}] = X", insn.k),
        Op::Tax => "X = A".to_owned(),
        Op::Txa => "A = X".to_owned(),
        Op::Neg => "A = -A".to_owned(),
        Op::Ja => match insn.successors(index) {
            Successors::Jump(at) => format!("goto {}", target(at)),
            _ => String::new(),
        },
        Op::JeqK => compared("==", arch(listing, index, insn.k).unwrap_or(k)),
        Op::JgtK => compared(">", k),
        Op::JgeK => compared(">=", k),
        Op::JsetK => compared("&", k),
        Op::JeqX => compared("==", x()),
        Op::JgtX => compared(">", x()),
        Op::JgeX => compared(">=", x()),
        Op::JsetX => compared("&", x()),
        Op::RetK => format!("return {}", returned(Verdict(insn.k))),
        Op::RetA => "return A".to_owned(),
        op => match operator(op) {
            Some((mark, true)) => format!("A {mark} X"),
            Some((mark, false)) => format!("A {mark} {k}"),
            // Not in seccomp filters.
            None => format!(".insn {}", annotated::fields(insn)),
        },
    }
}

/// The operator of arithmetic, and whether its right side is X.
fn operator(op: Op) -> Option<(&'static str, bool)> {
    Some(match op {
        Op::AddK => ("+=", false),
        Op::AddX => ("+=", true),
        Op::SubK => ("-=", false),
        Op::SubX => ("-=", true),
        Op::MulK => ("*=", false),
        Op::MulX => ("*=", true),
        Op::DivK => ("/=", false),
        Op::DivX => ("/=", true),
        Op::OrK => ("|=", false),
        Op::OrX => ("|=", true),
        Op::AndK => ("&=", false),
        Op::AndX => ("&=", true),
        Op::XorK => ("^=", false),
        Op::XorX => ("^=", true),
        Op::LshK => ("<<=", false),
        Op::LshX => ("<<=", true),
        Op::RshK => (">>=", false),
        Op::RshX => (">>=", true),
        _ => return None,
    })
}

/// A word of `seccomp_data`. On big-endian machines its offset is written, because a name stands for another one elsewhere.
fn word(offset: u32, endian: Endian) -> String {
    let named = match Word::from_offset(offset, endian) {
        Some(Word::NR) => Some("sys_number".to_owned()),
        Some(Word::ARCH) => Some("arch".to_owned()),
        Some(_) if endian == Endian::Big => None,
        Some(Word::IP_LOW) => Some("instruction_pointer".to_owned()),
        Some(word) => word.argument().map(|(index, is_high)| match is_high {
            true => format!("args_h[{index}]"),
            false => format!("args[{index}]"),
        }),
        None => None,
    };
    named.unwrap_or_else(|| format!("data[{offset}]"))
}

/// The name of an arch token that is compared with the arch.
fn arch(listing: &Listing<'_>, index: usize, token: u32) -> Option<String> {
    let known = listing.flow.get(index).copied().flatten()?;
    if known.a != Some(Word::ARCH) {
        return None;
    }
    let name = Arch::with_token(token).next()?.audit_name();
    ARCHES.iter().find(|(_, own)| *own == name).map(|(name, _)| (*name).to_owned())
}

/// An action as seccomp-tools names it, or the number.
fn returned(verdict: Verdict) -> String {
    let (name, data) = match verdict.action() {
        Action::KillProcess => ("KILL_PROCESS", 0),
        Action::KillThread => ("KILL", 0),
        Action::Trap(data) => ("TRAP", data),
        Action::Errno(_) => ("ERRNO", verdict.data()),
        Action::UserNotif(_) => ("USER_NOTIF", 0),
        Action::Trace(data) => ("TRACE", data),
        Action::Log => ("LOG", 0),
        Action::Allow => ("ALLOW", 0),
        _ => ("", 0),
    };
    match (name, data) {
        _ if name.is_empty() || data != verdict.data() => format!("{:#x}", verdict.0),
        ("ERRNO", data) => format!("ERRNO({data})"),
        (name, 0) => name.to_owned(),
        (name, data) => format!("{name}({data})"),
    }
}

fn number(value: u32) -> String {
    if value < 10 { value.to_string() } else { format!("{value:#x}") }
}
