//! Translation of programs to C: each instruction becomes a statement with a label.
//!
//! A, X and scratch words are local variables that start as 0. Loads of ancillary words and header-relative
//! offsets end the program; no workload has them.

use std::fmt::Write;

use callgate_core::cfg::Successors;
use callgate_core::{Insn, Op};

/// The C function `filter()` for a program on packets, or on syscalls in native byte order.
pub(super) fn to_c(insns: &[Insn], packets: bool) -> String {
    let mut text = String::from(HEAD);
    for (index, insn) in insns.iter().enumerate() {
        let statement = statement(index, *insn, packets);
        writeln!(text, "L{index}: __attribute__((unused));\n\t{statement}").unwrap_or_default();
    }
    text + "}\n"
}

const HEAD: &str = "\
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int prepare(const uint8_t *program, size_t len)
{
\t(void)program, (void)len;
\treturn 0;
}

static inline uint32_t word(const uint8_t *at)
{
\tuint32_t value;
\tmemcpy(&value, at, 4);
\treturn value;
}

static inline uint32_t half(const uint8_t *at)
{
\tuint16_t value;
\tmemcpy(&value, at, 2);
\treturn __builtin_bswap16(value);
}

uint32_t filter(const uint8_t *p, uint32_t len)
{
\tuint32_t A = 0, X = 0, M[16] = { 0 };
\t(void)len, (void)A, (void)X, (void)M;
";

fn statement(index: usize, insn: Insn, packets: bool) -> String {
    let k = insn.k;
    let load = |to: &str, at: String, width: u32| {
        let value = match width {
            4 => format!("__builtin_bswap32(word(p + {at}))"),
            2 => format!("half(p + {at})"),
            _ => format!("p[{at}]"),
        };
        let value = if to == "X" { format!("({value} & 15) << 2") } else { value };
        format!("if ((uint64_t){at} + {width} > len) return 0; {to} = {value};")
    };
    let fixed = |to, width| match i32::try_from(k) {
        Ok(_) => load(to, format!("{k}u"), width),
        Err(_) => "return 0;".to_owned(),
    };
    let indexed = |width| load("A", format!("(uint32_t)(X + {k}u)"), width);
    let branch = |condition: String| match insn.successors(index) {
        Successors::Branch { taken, otherwise } => {
            format!("if ({condition}) goto L{taken}; else goto L{otherwise};")
        }
        // Only branches have conditions.
        _ => String::new(),
    };
    match insn.op {
        Op::LdWordAbs if !packets => format!("A = word(p + {k});"),
        Op::LdWordAbs => fixed("A", 4),
        Op::LdHalfAbs => fixed("A", 2),
        Op::LdByteAbs => fixed("A", 1),
        Op::LdxMsh => fixed("X", 1),
        Op::LdWordInd => indexed(4),
        Op::LdHalfInd => indexed(2),
        Op::LdByteInd => indexed(1),
        Op::LdLen => if packets { "A = len;" } else { "A = 64;" }.to_owned(),
        Op::LdxLen => if packets { "X = len;" } else { "X = 64;" }.to_owned(),
        Op::LdImm => format!("A = {k}u;"),
        Op::LdxImm => format!("X = {k}u;"),
        Op::LdMem => format!("A = M[{k}];"),
        Op::LdxMem => format!("X = M[{k}];"),
        Op::St => format!("M[{k}] = A;"),
        Op::Stx => format!("M[{k}] = X;"),
        Op::AddK => format!("A += {k}u;"),
        Op::AddX => "A += X;".to_owned(),
        Op::SubK => format!("A -= {k}u;"),
        Op::SubX => "A -= X;".to_owned(),
        Op::MulK => format!("A *= {k}u;"),
        Op::MulX => "A *= X;".to_owned(),
        Op::DivK => format!("A /= {k}u;"),
        Op::DivX => "if (!X) return 0; A /= X;".to_owned(),
        Op::ModK => format!("A %= {k}u;"),
        Op::ModX => "if (!X) return 0; A %= X;".to_owned(),
        Op::OrK => format!("A |= {k}u;"),
        Op::OrX => "A |= X;".to_owned(),
        Op::AndK => format!("A &= {k}u;"),
        Op::AndX => "A &= X;".to_owned(),
        Op::XorK => format!("A ^= {k}u;"),
        Op::XorX => "A ^= X;".to_owned(),
        Op::LshK => format!("A <<= {k};"),
        Op::LshX => "A <<= X & 31;".to_owned(),
        Op::RshK => format!("A >>= {k};"),
        Op::RshX => "A >>= X & 31;".to_owned(),
        Op::Neg => "A = -A;".to_owned(),
        Op::Ja => insn.successors(index).into_iter().map(|to| format!("goto L{to};")).collect(),
        Op::JeqK => branch(format!("A == {k}u")),
        Op::JeqX => branch("A == X".to_owned()),
        Op::JgtK => branch(format!("A > {k}u")),
        Op::JgtX => branch("A > X".to_owned()),
        Op::JgeK => branch(format!("A >= {k}u")),
        Op::JgeX => branch("A >= X".to_owned()),
        Op::JsetK => branch(format!("A & {k}u")),
        Op::JsetX => branch("A & X".to_owned()),
        Op::RetK => format!("return {k}u;"),
        Op::RetA => "return A;".to_owned(),
        Op::Tax => "X = A;".to_owned(),
        Op::Txa => "A = X;".to_owned(),
    }
}
