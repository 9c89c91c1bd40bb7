//! A table of verdicts in front of an engine, like the kernel's bitmap of always-allowed syscalls (since
//! Linux 5.11), but for every action and for programs with any instruction.
//!
//! The table is filled when the engine is created and never written again, so threads share it without
//! locks. It holds the verdicts that depend on the arch and the syscall number alone; for other
//! syscalls the wrapped engine runs.

use callgate_core::{Arch, Endian, Program, SeccompData, Verdict};

use crate::decoded::{Decoded, OfArch};
use crate::engine::SeccompEngine;

/// How many syscall numbers the table of an arch covers, beginning with [`Arch::first_number`]: more
/// than any kernel has.
pub const CACHED_NUMBERS: u32 = 512;

/// Marks an unknown verdict. A program that returns this very value is run each time.
const UNKNOWN: u32 = 0x5eed_a5ed;

/// An engine behind a table of verdicts for the first [`CACHED_NUMBERS`] syscall numbers of each arch.
///
/// ```
/// use callgate_core::{Insn, Op, Program};
/// use callgate_core::{Arch, Endian, SeccompData, Verdict};
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
/// # Ok::<(), callgate_core::ProgramError>(())
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
    /// A decoded program behind tables for the architectures that it compares the arch with; without any, for those of
    /// this machine.
    pub(crate) fn decoded(program: &Program, endian: Endian) -> Cached<Decoded> {
        let (engine, mut arches) = Decoded::with_arches(program, endian);
        if arches.is_empty() {
            arches.extend(Arch::native());
        }
        let tables = tables(&arches, &[&engine]);
        Cached { tables, engine }
    }
}

impl<E: SeccompEngine> Cached<E> {
    /// Puts a table for these architectures in front of an engine for this program. The engine handles
    /// other architectures and syscall numbers outside the table.
    pub fn new(engine: E, program: &Program, endian: Endian, arches: &[Arch]) -> Cached<E> {
        let program = Decoded::new(program, endian);
        Cached { tables: tables(arches, &[&program]), engine }
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
        let decoded: Vec<&Decoded> = decoded.iter().collect();
        Cached { tables: tables(arches, &decoded), engine }
    }

    /// How many verdicts the table holds.
    pub fn known_verdicts(&self) -> usize {
        let verdicts = self.tables.iter().flat_map(|table| table.verdicts.iter());
        verdicts.filter(|&&verdict| verdict != UNKNOWN).count()
    }
}

/// The tables of a stack of programs, newest first.
fn tables(arches: &[Arch], programs: &[&Decoded]) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for arch in arches {
        let (first, token) = (arch.first_number(), arch.token());
        if tables.iter().any(|table| (table.token, table.first) == (token, first)) {
            continue;
        }
        let mut verdicts = Box::new([UNKNOWN; CACHED_NUMBERS as usize]);
        let each: Vec<_> = programs.iter().map(|program| program.of_arch(token)).collect();
        let mut at = 0;
        while let Some(rest) = verdicts.get_mut(at..).filter(|rest| !rest.is_empty()) {
            let nr = first + at as u32;
            let mut until = u32::MAX;
            let mut verdict = |program: &OfArch<'_>| {
                let (verdict, same_until) = program.verdict(nr);
                until = until.min(same_until);
                verdict
            };
            let known = match each.as_slice() {
                [program] => verdict(program),
                stack => {
                    let all: Vec<Option<Verdict>> = stack.iter().map(&mut verdict).collect();
                    all.into_iter().collect::<Option<Vec<Verdict>>>().map(Verdict::of_stack)
                }
            };
            let count = rest.len().min((until - nr) as usize + 1);
            if let (Some(known), Some(same)) = (known, rest.get_mut(..count)) {
                same.fill(known.0);
            }
            at += count;
        }
        tables.push(Table { token, first, verdicts });
    }
    tables
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
