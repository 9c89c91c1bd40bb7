//! A table of verdicts in front of an engine, as the kernel has had one since Linux 5.11 for calls that
//! are always allowed; here for every action, and for programs with any instruction.
//!
//! The table is filled when the engine is made and never written again, so that threads share it
//! without locks. It holds the verdict for each arch and number that nothing else decides; for the
//! others the engine behind it is asked.

use callgate_bpf::{Arch, Endian, SeccompData, Verdict};
use callgate_bpf::{Program, compared_arches};

use crate::decoded::Decoded;
use crate::engine::SeccompEngine;

/// How many numbers from the [first](Arch::first_number) one on are in the table of an arch: more than any
/// kernel has.
pub const NUMBERS: u32 = 512;

/// Stands for what is not known. A program that returns just this value is asked each time.
const ASK: u32 = 0x5eed_a5ed;

/// An engine with a table of verdicts in front of it.
///
/// ```
/// use callgate_bpf::{Insn, Op, Program};
/// use callgate_bpf::{Arch, Endian, SeccompData, Verdict};
/// use callgate_vm::{Cached, Decoded, SeccompEngine};
///
/// // Number 1 depends on an argument, and all others are refused.
/// let program = Program::new(vec![
///     Insn::new(Op::LdWordAbs, 0),
///     Insn::branch(Op::JeqK, 1, 0, 2),
///     Insn::new(Op::LdWordAbs, 16),
///     Insn::branch(Op::JeqK, 7, 1, 0),
///     Insn::new(Op::RetK, Verdict::errno(1).0),
///     Insn::new(Op::RetK, Verdict::ALLOW.0),
/// ])?;
/// let engine = Decoded::new(&program, Endian::NATIVE);
/// let engine = Cached::new(engine, &program, Endian::NATIVE, &[Arch::X86_64]);
/// assert_eq!(engine.known(), 511);
/// let call = SeccompData { nr: 1, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(engine.verdict(&call), Verdict::errno(1));
/// # Ok::<(), callgate_bpf::ProgramError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cached<E> {
    tables: Vec<Table>,
    engine: E,
}

/// The verdicts for the numbers of an arch from `first` on.
#[derive(Clone, Debug)]
struct Table {
    token: u32,
    first: u32,
    verdicts: Box<[u32; NUMBERS as usize]>,
}

impl Cached<Decoded> {
    /// Puts a table for these architectures in front of a decoded program, which need not be decoded
    /// again for it.
    pub fn of_decoded(engine: Decoded, arches: &[Arch]) -> Cached<Decoded> {
        let program = engine.clone();
        Cached::fill(engine, arches, |token, nr| program.known(token, nr))
    }
}

impl<E: SeccompEngine> Cached<E> {
    /// Puts a table for these architectures in front of an engine that runs this program. Calls on other
    /// architectures, and numbers from [`NUMBERS`] on, are left to the engine.
    pub fn new(engine: E, program: &Program, endian: Endian, arches: &[Arch]) -> Cached<E> {
        let program = Decoded::new(program, endian);
        Cached::fill(engine, arches, |token, nr| program.known(token, nr))
    }

    /// The same for an engine that runs a stack of programs, the oldest first.
    pub fn of_stack(
        engine: E,
        programs: &[&Program],
        endian: Endian,
        arches: &[Arch],
    ) -> Cached<E> {
        let decoded: Vec<Decoded> =
            programs.iter().rev().map(|program| Decoded::new(program, endian)).collect();
        Cached::fill(engine, arches, |token, nr| {
            let verdicts: Option<Vec<Verdict>> =
                decoded.iter().map(|program| program.known(token, nr)).collect();
            verdicts.map(Verdict::of_stack)
        })
    }

    fn fill(engine: E, arches: &[Arch], known: impl Fn(u32, u32) -> Option<Verdict>) -> Cached<E> {
        let mut tables: Vec<Table> = Vec::new();
        for arch in arches {
            let (first, token) = (arch.first_number(), arch.token());
            if tables.iter().any(|table| (table.token, table.first) == (token, first)) {
                continue;
            }
            let mut verdicts = Box::new([ASK; NUMBERS as usize]);
            for (nr, verdict) in (first..).zip(verdicts.iter_mut()) {
                if let Some(known) = known(token, nr) {
                    *verdict = known.0;
                }
            }
            tables.push(Table { token, first, verdicts });
        }
        Cached { tables, engine }
    }

    /// How many verdicts the table knows.
    pub fn known(&self) -> usize {
        let verdicts = self.tables.iter().flat_map(|table| table.verdicts.iter());
        verdicts.filter(|&&verdict| verdict != ASK).count()
    }

    /// The engine behind the table.
    pub fn engine(&self) -> &E {
        &self.engine
    }
}

/// The architectures that a program compares its arch with, those of this machine when there is none.
pub(crate) fn arches_of(program: &Program, endian: Endian) -> Vec<Arch> {
    let mut arches = compared_arches(program, endian);
    if arches.is_empty() {
        arches.extend(Arch::native());
    }
    arches
}

impl Table {
    #[inline(always)]
    fn get(&self, data: &SeccompData) -> Option<Verdict> {
        let at = data.nr.wrapping_sub(self.first) as usize;
        if data.arch != self.token {
            return None;
        }
        self.verdicts.get(at).filter(|&&verdict| verdict != ASK).map(|&verdict| Verdict(verdict))
    }
}

impl<E: SeccompEngine> SeccompEngine for Cached<E> {
    #[inline]
    fn verdict(&self, data: &SeccompData) -> Verdict {
        for table in &self.tables {
            if let Some(verdict) = table.get(data) {
                return verdict;
            }
        }
        self.engine.verdict(data)
    }

    fn code_bytes(&self) -> usize {
        let table = size_of::<Table>() + size_of::<[u32; NUMBERS as usize]>();
        table * self.tables.len() + self.engine.code_bytes()
    }
}
