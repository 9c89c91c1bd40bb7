//! Random accepted programs, and inputs that their constants are in.

use callgate::bpf::{
    AncillaryWord, Insn, Op, Operand, Program, ProgramError, SKF_LL_OFF, SKF_NET_OFF, SocketProgram,
};
use callgate::fuzz::Numbers;
use callgate::{SeccompData, Word};

/// What kind of program.
#[derive(Clone, Copy)]
enum Style {
    /// Any instruction as often as any other.
    Mixed,
    /// Mostly comparisons with close constants, and returns.
    Dispatch,
    /// Mostly arithmetic.
    Arithmetic,
}

pub(in super::super) struct Generator {
    pub(in super::super) numbers: Numbers,
}

impl Generator {
    pub(in super::super) fn new(seed: u64) -> Generator {
        Generator { numbers: Numbers::new(seed) }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.numbers.below(limit)
    }

    pub(in super::super) fn program(&mut self) -> Program {
        let insns = self.insns(false);
        repaired(insns, Program::new)
    }

    pub(in super::super) fn socket_program(&mut self) -> SocketProgram {
        let insns = self.insns(true);
        repaired(insns, SocketProgram::new)
    }

    fn insns(&mut self, socket: bool) -> Vec<Insn> {
        let len = match self.below(64) {
            0 => 200 + self.below(600),
            1..16 => 1 + self.below(6),
            _ => 1 + self.below(50),
        };
        let style = match self.below(4) {
            0 | 1 => Style::Mixed,
            2 => Style::Dispatch,
            _ => Style::Arithmetic,
        };
        (1..=len).rev().map(|left| self.insn(left - 1, socket, style)).collect()
    }

    fn insn(&mut self, behind: usize, socket: bool, style: Style) -> Insn {
        let op = self.op(behind, socket, style);
        let k = self.operand(op, behind, socket, style);
        let mut insn = Insn::new(op, k);
        if op.is_branch() {
            let near = if self.below(4) == 0 { 256 } else { 5 };
            // A dispatch mostly goes on when it does not go away.
            insn.jt = self.below(near.min(behind)) as u8;
            insn.jf = match style {
                Style::Dispatch if self.below(8) != 0 => 0,
                _ => self.below(near.min(behind)) as u8,
            };
            if self.below(16) == 0 {
                std::mem::swap(&mut insn.jt, &mut insn.jf);
            }
        }
        insn
    }

    fn op(&mut self, behind: usize, socket: bool, style: Style) -> Op {
        if behind == 0 {
            return if self.below(3) == 0 { Op::RetK } else { Op::RetA };
        }
        let op = match style {
            Style::Dispatch if self.below(8) != 0 => {
                const USUAL: [Op; 9] = [
                    Op::JeqK,
                    Op::JeqK,
                    Op::JeqK,
                    Op::JeqK,
                    Op::JeqK,
                    Op::JgeK,
                    Op::LdWordAbs,
                    Op::RetK,
                    Op::JsetK,
                ];
                USUAL[self.below(USUAL.len())]
            }
            Style::Arithmetic if self.below(4) != 0 => loop {
                let op = Op::ALL[self.below(Op::ALL.len())];
                if !op.is_return() && !op.is_branch() && op != Op::Ja {
                    break op;
                }
            },
            _ => Op::ALL[self.below(Op::ALL.len())],
        };
        // Early returns make short programs.
        if op.is_return() && self.below(3) != 0 {
            return Op::Tax;
        }
        if !socket && !op.in_seccomp() { Op::LdWordAbs } else { op }
    }

    fn operand(&mut self, op: Op, behind: usize, socket: bool, style: Style) -> u32 {
        let k = match style {
            Style::Dispatch => {
                let limit = if self.below(4) == 0 { 400 } else { 80 };
                self.below(limit) as u32
            }
            _ => self.value(),
        };
        match (op, op.operand()) {
            (_, Operand::Absolute) if !socket => self.below(16) as u32 * 4,
            (_, Operand::Absolute | Operand::HeaderLength) => match self.below(16) {
                0 => AncillaryWord::ALL[self.below(AncillaryWord::ALL.len())].offset(),
                1 => SKF_NET_OFF + self.below(20) as u32,
                2 => SKF_LL_OFF + self.below(20) as u32,
                3 => {
                    [0x7fff_ffff, 0x8000_0000, 0x7fff_fff8, 0x7fff_fffc, 0xffdf_ffff][self.below(5)]
                }
                _ => self.below(24) as u32,
            },
            (_, Operand::Indexed) => match self.below(4) {
                0 => k,
                1 => (self.below(9) as u32).wrapping_sub(8),
                _ => self.below(16) as u32,
            },
            (Op::DivK | Op::ModK, _) => k.max(1),
            (Op::LshK | Op::RshK, _) => k % 32,
            (_, Operand::Scratch) => k % if self.below(2) == 0 { 3 } else { 16 },
            (_, Operand::Jump) => self.below(behind.min(6)) as u32,
            _ if op.uses_k() => k,
            _ => 0,
        }
    }

    /// A number, more often than not one where something changes.
    pub(in super::super) fn value(&mut self) -> u32 {
        let random = self.numbers.next() as u32;
        match self.below(8) {
            0..3 => random % 20,
            3 => 1 << (random % 32),
            4 => (1 << (random % 32)) - 1,
            5 => super::exhaustive::EDGES[random as usize % super::exhaustive::EDGES.len()],
            6 => random % 0x1_0000,
            _ => random,
        }
    }

    /// A constant of the program or one beside it, or any number.
    fn word(&mut self, insns: &[Insn]) -> u32 {
        match self.below(4) {
            0 => self.value(),
            _ => {
                let k = insns[self.below(insns.len())].k;
                k.wrapping_add(self.below(3) as u32).wrapping_sub(1)
            }
        }
    }

    pub(in super::super) fn call(&mut self, insns: &[Insn]) -> SeccompData {
        let mut data = SeccompData::default();
        for word in Word::all() {
            data.set_word(word, self.word(insns));
        }
        data
    }

    pub(in super::super) fn packet(&mut self, insns: &[Insn]) -> Vec<u8> {
        let limit = if self.below(4) == 0 { 8 } else { 48 };
        let len = self.below(limit);
        let mut packet = Vec::new();
        while packet.len() < len {
            let word = self.word(insns);
            match self.below(3) {
                0 => packet.extend(word.to_be_bytes()),
                1 => packet.extend((word as u16).to_be_bytes()),
                _ => packet.push(word as u8),
            }
        }
        packet.truncate(len);
        packet
    }
}

/// The program without its reads of unwritten scratch words, the one rule that is not kept by
/// construction.
fn repaired<P>(mut insns: Vec<Insn>, new: impl Fn(Vec<Insn>) -> Result<P, ProgramError>) -> P {
    let error = match new(insns.clone()) {
        Ok(program) => return program,
        Err(error) => error,
    };
    for violation in error.violations() {
        assert!(
            matches!(violation.rule(), "scratch-unset" | "unknown-ancillary"),
            "{error}\n{insns:?}"
        );
        insns[violation.index().unwrap()] = Insn::new(Op::Txa, 0);
    }
    new(insns).unwrap()
}
