//! A table of verdicts in front of an engine, like the kernel's bitmap of always-allowed syscalls (since
//! Linux 5.11), but for every action and for programs with any instruction.
//!
//! The table is filled when the engine is created and never written again, so threads share it without
//! locks. It holds the verdicts that depend on the arch and the syscall number alone; for other
//! syscalls the wrapped engine runs.

use callgate_bpf::{Arch, Endian, SeccompData, Verdict};
use callgate_bpf::{Program, compared_arches};

use crate::decoded::Decoded;
use crate::engine::SeccompEngine;

/// How many syscall numbers the table of an arch covers, beginning with [`Arch::first_number`]: more
/// than any kernel has.
pub const CACHED_NUMBERS: u32 = 512;

/// Marks an unknown verdict. A program that returns this very value is run each time.
const UNKNOWN: u32 = 0x5eed_a5ed;

/// An engine behind a table of verdicts for the first [`CACHED_NUMBERS`] syscall numbers of each arch.
///
/// ```
/// use callgate_bpf::{Insn, Op, Program};
/// use callgate_bpf::{Arch, Endian, SeccompData, Verdict};
/// use callgate_vm::{Cached, Decoded, SeccompEngine};
///
/// // Syscall 1 depends on an argument, and all others are denied.
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
/// assert_eq!(engine.known_verdicts(), 511);
/// let syscall = SeccompData { nr: 1, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(engine.verdict(&syscall), Verdict::errno(1));
/// # Ok::<(), callgate_bpf::ProgramError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cached<E> {
    tables: Vec<Table>,
    engine: E,
}

/// The verdicts for the syscall numbers of an arch, from `first` on.
#[derive(Clone, Debug)]
struct Table {
    token: u32,
    first: u32,
    verdicts: Box<[u32; CACHED_NUMBERS as usize]>,
}

impl Cached<Decoded> {
    /// Puts a table for these architectures in front of a decoded program, without decoding it again.
    pub(crate) fn of_decoded(engine: Decoded, arches: &[Arch]) -> Cached<Decoded> {
        let program = engine.clone();
        Cached::fill(engine, arches, |token, nr| program.constant_verdict(token, nr))
    }
}

impl<E: SeccompEngine> Cached<E> {
    /// Puts a table for these architectures in front of an engine for this program. The engine handles
    /// other architectures and syscall numbers outside the table.
    pub fn new(engine: E, program: &Program, endian: Endian, arches: &[Arch]) -> Cached<E> {
        let program = Decoded::new(program, endian);
        Cached::fill(engine, arches, |token, nr| program.constant_verdict(token, nr))
    }

    /// Puts a table in front of an engine for a stack of programs, oldest first.
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
                decoded.iter().map(|program| program.constant_verdict(token, nr)).collect();
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
            let mut verdicts = Box::new([UNKNOWN; CACHED_NUMBERS as usize]);
            for (nr, verdict) in (first..).zip(verdicts.iter_mut()) {
                if let Some(known) = known(token, nr) {
                    *verdict = known.0;
                }
            }
            tables.push(Table { token, first, verdicts });
        }
        Cached { tables, engine }
    }

    /// How many verdicts the table holds.
    pub fn known_verdicts(&self) -> usize {
        let verdicts = self.tables.iter().flat_map(|table| table.verdicts.iter());
        verdicts.filter(|&&verdict| verdict != UNKNOWN).count()
    }

    /// The wrapped engine.
    pub fn engine(&self) -> &E {
        &self.engine
    }
}

/// The architectures that a program compares the arch with; without any, those of this machine.
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
        self.verdicts
            .get(at)
            .filter(|&&verdict| verdict != UNKNOWN)
            .map(|&verdict| Verdict(verdict))
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
        let table = size_of::<Table>() + size_of::<[u32; CACHED_NUMBERS as usize]>();
        table * self.tables.len() + self.engine.code_bytes()
    }
}
