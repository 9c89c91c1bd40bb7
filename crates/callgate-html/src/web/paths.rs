//! Which instructions and which rules of a text are about which syscalls, so that the page can show one beside the other.

use std::collections::BTreeMap;

use callgate::{Arch, Endian};
use callgate_bpf::SyscallTable;
use callgate_core::cfg::{Registers, Successors};
use callgate_core::{Insn, LongProgram, Op, SECCOMP_DATA_SIZE, Source, Word};
use callgate_requests::json::Json;

use super::analysis::Analysis;

/// The most different values of A and X that are told apart at an instruction; beyond, they are not known there.
const MAX_STATES: usize = 8;

/// A syscall whose arguments may have any value.
#[derive(Clone, Copy, Debug)]
struct Syscall {
    token: u32,
    nr: u32,
    endian: Endian,
}

/// What is known of the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    a: Option<u32>,
    x: Option<u32>,
}

impl State {
    /// After an instruction that is not a branch; `None` if the program ends there.
    fn after(self, insn: Insn, syscall: Syscall) -> Option<State> {
        let State { a, x } = self;
        let right = |source| match source {
            Source::K(k) => Some(k),
            Source::X => x,
        };
        if let Some((alu, source)) = insn.arithmetic() {
            let a = match (a, right(source)) {
                (Some(a), Some(b)) => Some(alu.apply(a, b)?),
                _ => None,
            };
            return Some(State { a, x });
        }
        Some(match insn.op {
            Op::LdWordAbs => {
                let a = match Word::from_offset(insn.k, syscall.endian) {
                    Some(Word::ARCH) => Some(syscall.token),
                    Some(Word::NR) => Some(syscall.nr),
                    _ => None,
                };
                State { a, x }
            }
            Op::LdImm => State { a: Some(insn.k), x },
            Op::LdxImm => State { a, x: Some(insn.k) },
            Op::LdLen => State { a: Some(SECCOMP_DATA_SIZE as u32), x },
            Op::LdxLen => State { a, x: Some(SECCOMP_DATA_SIZE as u32) },
            Op::Tax => State { a, x: a },
            Op::Txa => State { a: x, x },
            Op::Neg => State { a: a.map(u32::wrapping_neg), x },
            _ if insn.writes().intersects(Registers::A) => State { a: None, x },
            _ if insn.writes().intersects(Registers::X) => State { a, x: None },
            _ => self,
        })
    }

    /// Whether the condition of a branch holds, if that is known.
    fn holds(self, insn: Insn) -> Option<bool> {
        let (relation, source) = insn.comparison()?;
        let right = match source {
            Source::K(k) => Some(k),
            Source::X => self.x,
        };
        Some(relation.holds(self.a?, right?))
    }
}

/// The instructions that a syscall may execute, whatever its arguments are, in their order. Without values of scratch memory, a few
/// may be among them that no arguments lead to.
fn executed(program: &LongProgram, syscall: Syscall) -> Vec<usize> {
    let start = State { a: Some(0), x: Some(0) };
    // Jumps only go forward.
    let mut todo: BTreeMap<usize, Vec<State>> = BTreeMap::from([(0, vec![start])]);
    let mut found = Vec::new();
    while let Some((index, states)) = todo.pop_first() {
        let Some(insn) = program.insns().get(index).copied() else { continue };
        found.push(index);
        for state in states {
            let Some(after) = state.after(insn, syscall) else { continue };
            let to: [Option<usize>; 2] = match (insn.successors(index), state.holds(insn)) {
                (Successors::Return, _) => [None; 2],
                (Successors::Next(next) | Successors::Jump(next), _) => [Some(next), None],
                (Successors::Branch { taken, .. }, Some(true)) => [Some(taken), None],
                (Successors::Branch { otherwise, .. }, Some(false)) => [Some(otherwise), None],
                (Successors::Branch { taken, otherwise }, None) => [Some(taken), Some(otherwise)],
            };
            for next in to.into_iter().flatten() {
                let known = todo.entry(next).or_default();
                if known.contains(&after) {
                    continue;
                }
                known.push(after);
                if known.len() > MAX_STATES {
                    *known = vec![State { a: None, x: None }];
                }
            }
        }
    }
    found
}

/// The syscalls of these architectures by the instructions that they may execute: objects with `arch`, `nrs`, `names` and `insns`.
pub(crate) fn paths(program: &LongProgram, analysis: &Analysis<'_>, endian: Endian) -> Json {
    let mut groups: Vec<(Arch, Vec<u32>, Vec<usize>)> = Vec::new();
    let subject = analysis.subject();
    for own in subject.shown_arches().0 {
        let first = groups.len();
        let mut numbers: Vec<u32> =
            own.groups.iter().flat_map(|group| group.syscalls.iter().map(|(nr, _)| *nr)).collect();
        numbers.sort_unstable();
        for nr in numbers {
            let insns = executed(program, Syscall { token: own.arch.token(), nr, endian });
            let known = groups.get_mut(first..).unwrap_or_default();
            match known.iter_mut().find(|(.., known)| *known == insns) {
                Some((_, numbers, _)) => numbers.push(nr),
                None => groups.push((own.arch, vec![nr], insns)),
            }
        }
    }
    Json::array(groups.into_iter().map(|(arch, numbers, insns)| {
        let names = numbers.iter().map(|nr| arch.syscall_name(*nr).unwrap_or_default());
        Json::Object(vec![
            ("arch", arch.name().into()),
            ("names", Json::array(names)),
            ("nrs", Json::array(numbers)),
            ("insns", Json::array(insns)),
        ])
    }))
}

/// The places of the text that state rules, each with the syscalls there: lists of line, column, architecture and numbers.
pub(crate) fn rules(analysis: &Analysis<'_>) -> Json {
    let subject = analysis.subject();
    let shown: Vec<Arch> = subject.shown_arches().0.iter().map(|own| own.arch).collect();
    let mut places: BTreeMap<(u32, u32, &str), Vec<u32>> = BTreeMap::new();
    let statements = analysis.stack.filters.iter().filter_map(|filter| filter.statements());
    for rule in statements.flat_map(|statements| &statements.rules) {
        // The text of a built-in profile is not in the field.
        let is_here = analysis.text().is_some()
            && rule.site.file.as_ref().is_none_or(|file| *file == analysis.source.name);
        if !is_here || !shown.contains(&rule.arch) {
            continue;
        }
        let place = (rule.site.position.line, rule.site.position.column, rule.arch.name());
        let numbers = places.entry(place).or_default();
        if !numbers.contains(&rule.nr) {
            numbers.push(rule.nr);
        }
    }
    Json::array(places.into_iter().map(|((line, column, arch), numbers)| {
        let place: [Json; 3] = [line.into(), column.into(), arch.into()];
        Json::array(place.into_iter().chain(numbers.into_iter().map(Json::from)))
    }))
}

/// The lines of the instructions of a program as text, for texts with one instruction per line; `Null` for others.
///
/// Readers of programs do not keep positions. If there are as many lines that may be instructions as there are instructions, they
/// are the instructions: all notations have them in the order of their execution.
pub(crate) fn lines(text: &str, program: &LongProgram) -> Json {
    let candidates = text.lines().enumerate().filter(|(_, line)| may_be_instruction(line));
    let mut found: Vec<(u32, &str)> =
        (candidates).map(|(at, line)| (at as u32 + 1, line)).collect();
    let rest = found.len().saturating_sub(1);
    // `tcpdump -ddd` begins with the number of instructions.
    if found.first().is_some_and(|(_, line)| line.trim().parse() == Ok(rest)) {
        found.remove(0);
    }
    match found.len() == program.len() {
        true => Json::array(found.into_iter().map(|(line, _)| line)),
        false => Json::Null,
    }
}

/// Whether a line may be an instruction in some notation.
fn may_be_instruction(line: &str) -> bool {
    let line = line.trim();
    if line.starts_with([';', '.', '*']) || line.starts_with("//") || line.starts_with("/*") {
        return false;
    }
    let is_comment =
        line.strip_prefix('#').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
    let code = line.split(';').next().unwrap_or_default().trim();
    // A label alone, or the start of an array.
    let is_other =
        code.ends_with([':', '{']) || !code.contains(|c: char| c.is_ascii_alphanumeric());
    !is_comment && !is_other
}

#[cfg(test)]
mod tests {
    use callgate_core::Program;

    use super::*;

    fn of(insns: Vec<Insn>, nr: u32) -> Vec<usize> {
        let program: LongProgram = Program::new(insns).unwrap().into();
        let token = Arch::X86_64.token();
        executed(&program, Syscall { token, nr, endian: Endian::Little })
    }

    #[test]
    fn arguments_take_both_sides_and_numbers_one() {
        let program = || {
            vec![
                Insn::new(Op::LdWordAbs, 4),
                Insn::branch(Op::JeqK, Arch::X86_64.token(), 0, 6),
                Insn::new(Op::LdWordAbs, 0),
                Insn::branch(Op::JeqK, 41, 0, 3),
                Insn::new(Op::LdWordAbs, 16),
                Insn::branch(Op::JeqK, 38, 2, 0),
                Insn::new(Op::RetK, 0x7fff_0000),
                Insn::branch(Op::JgeK, 100, 0, 1),
                Insn::new(Op::RetK, 0x0005_0001),
                Insn::new(Op::RetK, 0),
            ]
        };
        assert_eq!(of(program(), 41), [0, 1, 2, 3, 4, 5, 6, 8]);
        assert_eq!(of(program(), 40), [0, 1, 2, 3, 7, 9]);
        assert_eq!(of(program(), 100), [0, 1, 2, 3, 7, 8]);
    }

    #[test]
    fn instructions_have_lines_if_each_has_its_own() {
        let program: LongProgram =
            Program::new(vec![Insn::new(Op::LdWordAbs, 0), Insn::new(Op::RetK, 0)]).unwrap().into();
        let of = |text: &str| lines(text, &program).to_string();
        for (text, expected) in [
            ("; a comment\n  ld [0]\n\nend:\n  ret #0 ; done\n", "[2, 5]"),
            ("start: ld [0]\nret #0", "[1, 2]"),
            ("2\n32 0 0 0\n6 0 0 0\n", "[2, 3]"),
            ("struct sock_filter f[] = {\n{ 0x20, 0, 0, 0 },\n{ 6, 0, 0, 0 },\n};\n", "[2, 3]"),
            ("# loads\nld #1\nret #0\n", "[2, 3]"),
            ("ld [0]; ret #0", "null"),
            ("ld [0]\nret #0\nret #0\n", "null"),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
    }

    #[test]
    fn values_are_computed_and_those_of_scratch_memory_are_not_known() {
        let program = |load: Insn| {
            vec![
                Insn::new(Op::LdWordAbs, 0),
                Insn::new(Op::St, 3),
                Insn::new(Op::AndK, 0xf),
                Insn::new(Op::Tax, 0),
                Insn::new(Op::LdImm, 5),
                load,
                Insn::branch(Op::JeqX, 0, 0, 1),
                Insn::new(Op::RetK, 0),
                Insn::new(Op::RetK, 0x7fff_0000),
            ]
        };
        let known = program(Insn::new(Op::AddK, 1));
        assert_eq!(of(known.clone(), 0x16), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(of(known, 0x15), [0, 1, 2, 3, 4, 5, 6, 8]);
        let unknown = program(Insn::new(Op::LdMem, 3));
        assert_eq!(of(unknown, 0x16), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
