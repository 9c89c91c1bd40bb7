//! What a branch asks, in words: the facts that a path has established give names to numbers.

use callgate::{Arch, Endian};
use callgate_bpf::SyscallTable;
use callgate_bpf::constants::Family;
use callgate_bpf::syscalls::facts;
use callgate_core::{Insn, Op, Word};

/// Facts about a path through a program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    endian: Endian,
    /// The architecture that numbers mean without a test.
    assumed: Option<Arch>,
    /// The word in A, and the bits of it that are kept.
    a: Option<(Word, u32)>,
    x: Option<(Word, u32)>,
    token: Option<u32>,
    /// The smallest and the largest number that the path permits.
    nr: (u32, u32),
}

impl Path {
    pub(super) fn start(endian: Endian, assumed: Option<Arch>) -> Path {
        Path { endian, assumed, a: None, x: None, token: None, nr: (0, u32::MAX) }
    }

    /// After an instruction that is not a branch.
    pub(super) fn after(mut self, insn: Insn) -> Path {
        match insn.op {
            Op::LdWordAbs => {
                self.a = Word::from_offset(insn.k, self.endian).map(|word| (word, u32::MAX));
            }
            Op::AndK => self.a = self.a.map(|(word, mask)| (word, mask & insn.k)),
            Op::Tax => self.x = self.a,
            Op::Txa => self.a = self.x,
            op if op.is_return() || op == Op::Ja => {}
            _ => {
                if insn.writes().intersects(callgate_core::cfg::Registers::A) {
                    self.a = None;
                }
                if insn.writes().intersects(callgate_core::cfg::Registers::X) {
                    self.x = None;
                }
            }
        }
        self
    }

    /// After a branch.
    pub(super) fn after_branch(mut self, insn: Insn, holds: bool) -> Path {
        let (k, (first, last)) = (insn.k, self.nr);
        match (self.a, insn.op, holds) {
            (Some((Word::ARCH, u32::MAX)), Op::JeqK, true) => self.token = Some(k),
            (Some((Word::NR, u32::MAX)), op, holds) => {
                self.nr = match (op, holds) {
                    (Op::JeqK, true) => (k, k),
                    (Op::JeqK, false) if k == first => (first.saturating_add(1), last),
                    (Op::JeqK, false) if k == last => (first, last.saturating_sub(1)),
                    (Op::JgeK, true) => (first.max(k), last),
                    (Op::JgeK, false) => (first, last.min(k.saturating_sub(1))),
                    (Op::JgtK, true) => (first.max(k.saturating_add(1)), last),
                    (Op::JgtK, false) => (first, last.min(k)),
                    _ => self.nr,
                };
            }
            _ => {}
        }
        self
    }

    fn arches(&self) -> Vec<Arch> {
        match self.token {
            Some(token) => Arch::with_token(token).collect(),
            None => self.assumed.into_iter().collect(),
        }
    }

    /// The only syscall that the path permits.
    fn only_syscall(&self) -> Option<(Arch, &'static str)> {
        let (first, last) = self.nr;
        if first == last { self.syscall(first) } else { None }
    }

    /// The syscall with a number, on this path.
    fn syscall(&self, nr: u32) -> Option<(Arch, &'static str)> {
        self.arches().into_iter().find_map(|arch| Some((arch, arch.syscall_name(nr)?)))
    }

    /// The question of a branch.
    pub(super) fn question(&self, insn: Insn) -> String {
        let relation = match insn.op {
            Op::JeqK => "=",
            Op::JgeK => "≥",
            Op::JgtK => ">",
            Op::JsetK => "≠",
            _ => return insn.to_string(),
        };
        let Some((word, mask)) = self.a else { return insn.to_string() };
        let name = self.word(word);
        let value = self.value(word, mask, insn);
        match (insn.op, mask) {
            (Op::JsetK, _) => format!("{name} & {value} {relation} 0"),
            (_, u32::MAX) => format!("{name} {relation} {value}"),
            (_, mask) => format!("{name} & {mask:#x} {relation} {value}"),
        }
    }

    /// The name of a word: that of the argument, if the syscall is known.
    fn word(&self, word: Word) -> String {
        if word == Word::ARCH {
            return "arch".to_owned();
        }
        if word == Word::NR {
            return "nr".to_owned();
        }
        let Some((index, is_high)) = word.argument() else { return "ip".to_owned() };
        let facts = self.only_syscall().and_then(|(_, name)| facts(name));
        let named = facts.and_then(|facts| facts.args.get(usize::from(index)));
        let name = named.map_or(format!("args[{index}]"), |arg| arg.name.to_owned());
        if is_high { format!("{name}.high") } else { name }
    }

    /// The constant of a branch.
    fn value(&self, word: Word, mask: u32, insn: Insn) -> String {
        let k = insn.k;
        let number = if k < 4096 { k.to_string() } else { format!("{k:#x}") };
        match word {
            Word::ARCH => {
                let names: Vec<&str> = Arch::with_token(k).map(Arch::name).collect();
                names.first().map_or(number, |name| (*name).to_owned())
            }
            Word::NR if insn.op != Op::JsetK => match self.syscall(k) {
                Some((_, name)) => format!("{number} {name}"),
                None => number,
            },
            _ => self.constant(word, mask, insn).unwrap_or(number),
        }
    }

    /// The name of the constant that an argument is compared with.
    fn constant(&self, word: Word, mask: u32, insn: Insn) -> Option<String> {
        let (index, is_high) = word.argument()?;
        let (arch, syscall) = self.only_syscall()?;
        let family = Family::of(arch, syscall, index).filter(|_| !is_high)?;
        match (insn.op, mask) {
            (Op::JeqK, u32::MAX) => family.name(arch, insn.k.into()),
            (Op::JeqK, mask) => family.name_masked(arch, mask.into(), insn.k.into()),
            (Op::JsetK, _) => family.name_mask(arch, insn.k.into()),
            _ => None,
        }
    }
}
