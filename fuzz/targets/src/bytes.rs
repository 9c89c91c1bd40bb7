//! Programs, policies and syscalls made of the bytes of an input, so that a mutation of the bytes is a small change of
//! what they stand for.

use callgate::{Arch, SeccompData, Verdict};
use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
use callgate_core::{Insn, Op, Operand, Program, SocketProgram, SyscallSet};

/// The bytes of an input, read from the front; behind the end everything is 0.
pub struct Bytes<'a>(&'a [u8]);

/// How many scratch words a program has.
const SCRATCH_WORDS: u32 = 16;

impl<'a> Bytes<'a> {
    /// Reads this input.
    pub fn new(input: &'a [u8]) -> Bytes<'a> {
        Bytes(input)
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `limit`, which is at most 256.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit.max(1)
    }

    /// 64 bits: small, at an edge, or any.
    pub fn number(&mut self) -> u64 {
        const EDGES: [u64; 8] =
            [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 32, i64::MAX as u64, u64::MAX];
        match self.byte() {
            edge @ 0..8 => EDGES[usize::from(edge)],
            8..128 => self.byte().into(),
            bit @ 128..192 => 1 << (bit - 128),
            _ => u64::from_le_bytes(std::array::from_fn(|_| self.byte())),
        }
    }

    /// A verdict.
    pub fn verdict(&mut self) -> Verdict {
        match self.byte() % 8 {
            0 | 1 => Verdict::ALLOW,
            2 => Verdict::errno(1),
            3 => Verdict::errno(38),
            4 => Verdict::KILL_PROCESS,
            5 => Verdict::LOG,
            6 => Verdict::KILL_THREAD,
            _ => Verdict(self.number() as u32),
        }
    }

    /// A syscall of one of these architectures, or of none.
    pub fn syscall(&mut self, arches: &[Arch]) -> SeccompData {
        let arch = arches.get(self.below(arches.len() + 1)).map_or(7, |arch| arch.token());
        SeccompData {
            nr: self.number() as u32,
            arch,
            instruction_pointer: self.number(),
            args: std::array::from_fn(|_| self.number()),
        }
    }

    /// A filter that the kernel accepts; `None` when the bytes stand for one that it does not.
    pub fn program(&mut self) -> Option<Program> {
        Program::new(self.insns(Op::in_seccomp)).ok()
    }

    /// A program for packets that the kernel accepts.
    pub fn socket_program(&mut self) -> Option<SocketProgram> {
        SocketProgram::new(self.insns(|_| true)).ok()
    }

    fn insns(&mut self, is_known: fn(Op) -> bool) -> Vec<Insn> {
        let count = 1 + self.below(60);
        let ops: Vec<Op> = Op::ALL.iter().copied().filter(|op| is_known(*op)).collect();
        let is_seccomp = ops.len() < Op::ALL.len();
        let mut insns: Vec<Insn> = (1..count)
            .map(|index| {
                let behind = count - index;
                let op = ops[self.below(ops.len())];
                let k = self.number() as u32;
                let k = match op.operand() {
                    Operand::Absolute if is_seccomp => k % 16 * 4,
                    Operand::Scratch => k % SCRATCH_WORDS,
                    Operand::Jump => k % behind as u32,
                    _ if matches!(op, Op::DivK | Op::ModK) => k.max(1),
                    _ if matches!(op, Op::LshK | Op::RshK) => k % 32,
                    _ => k,
                };
                if op.is_branch() {
                    let (jt, jf) = (self.below(behind) as u8, self.below(behind) as u8);
                    Insn::branch(op, k, jt, jf)
                } else {
                    Insn::new(op, if op.uses_k() { k } else { 0 })
                }
            })
            .collect();
        insns.push(Insn::new(Op::RetK, self.verdict().0));
        insns
    }

    /// A policy for some of these architectures, of one byte order.
    pub fn policy(&mut self, arches: &[Arch]) -> Policy {
        let mut sections: Vec<Section> = Vec::new();
        for arch in arches {
            if !self.byte().is_multiple_of(4) || sections.is_empty() {
                let rules = (0..self.below(12)).map(|_| self.rule()).collect();
                let default = self.verdict();
                sections.push(Section::new(*arch, rules, default));
            }
        }
        Policy::new(sections, self.verdict()).expect("distinct tokens of one byte order")
    }

    fn rule(&mut self) -> Rule {
        let first = self.number() as u32;
        let syscalls = match self.byte() % 4 {
            0 => SyscallSet::range(first, first.saturating_add(self.byte().into())),
            _ => SyscallSet::one(first),
        };
        let mut depth = 3;
        Rule { syscalls, when: self.condition(&mut depth), verdict: self.verdict() }
    }

    fn condition(&mut self, depth: &mut usize) -> Condition {
        let combine = if self.byte().is_multiple_of(3) && *depth > 0 { self.byte() } else { 255 };
        if combine == 255 {
            return if self.byte().is_multiple_of(4) { Condition::always() } else { self.test() };
        }
        *depth -= 1;
        let parts: Vec<Condition> = (0..2 + self.below(3)).map(|_| self.condition(depth)).collect();
        match combine % 3 {
            0 => Condition::all(parts),
            1 => Condition::any(parts),
            _ => Condition::all(parts).negated(),
        }
    }

    fn test(&mut self) -> Condition {
        let arg = self.byte() % 6;
        let field = match self.byte() % 8 {
            0 => Field::instruction_pointer(),
            1..5 => Field::arg(arg).expect("six arguments"),
            _ => Field::arg_low(arg).expect("six arguments"),
        };
        let cmp = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge][self.below(6)];
        let value = self.number() & field.full_mask();
        Condition::test(match self.byte() % 4 {
            0 => Test::masked_eq(field, self.number(), value),
            _ => Test::new(field, cmp, value),
        })
    }
}
