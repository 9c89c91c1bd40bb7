//! What the running kernel says of calls under a program, without executing any of them.
//!
//! Every `ret` of the program is replaced by one with an errno that stands for its value, ALLOW and
//! KILL among them; a `ret a` becomes a jump to a list of the values that it may return. So whatever the
//! kernel makes of the program, no call is executed and nobody dies. The instructions before a `ret`
//! stay as they are, and where they are.
//!
//! Limits: calls of this machine's own interface, but for those that no filter is asked about
//! ([`is_never_filtered`]); calls for which the program looks at the
//! instruction pointer cannot be asked, because nobody chooses where a call comes from. A division by a
//! zero X kills, and is not asked either. There is room for 4,094 different values.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use callgate::bpf::{Insn, MAX_INSNS, Op, Program, Step};
use callgate::{Arch, Endian, SeccompData, Verdict, Word};

use crate::child::{self, Trouble};
use crate::install::{InstallError, code_of};

/// The errno that stands for a value which nobody expected.
const UNEXPECTED: u16 = 4095;

const ENDIAN: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

/// What is known about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// What the kernel makes of it.
    Verdict(Verdict),
    /// The kernel returns a value that the program returns nowhere, and the interpreter for none of
    /// the calls.
    Unexpected,
    /// It cannot be asked: it is of another arch, no filter is asked about it, its arguments are wider
    /// than this machine, or the program looks at the instruction pointer or divides by zero.
    NotAsked,
}

/// Asks the running kernel, in a child process, what it makes of calls under a program. The answers are
/// in the order of the calls.
///
/// ```no_run
/// use callgate::bpf::{Insn, Op, Program};
/// use callgate::{Arch, SeccompData, Verdict};
/// use callgate_sys::{Answer, ask};
///
/// let program = Program::new(vec![Insn::new(Op::RetK, Verdict::KILL_PROCESS.0)])?;
/// let arch = Arch::native().ok_or("an unknown machine")?.token();
/// let answers = ask(&program, &[SeccompData { nr: 39, arch, ..SeccompData::default() }])?;
/// assert_eq!(answers, [Answer::Verdict(Verdict::KILL_PROCESS)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When there is no child, the kernel refuses the filter, or there are too many different values.
pub fn ask(program: &Program, calls: &[SeccompData]) -> Result<Vec<Answer>, AskError> {
    let native = Arch::native().ok_or(AskError(Kind::UnknownMachine))?.token();
    let mut asked = Vec::new();
    let mut values: Vec<u32> = Vec::new();
    let mut computed: Vec<u32> = Vec::new();
    for (number, data) in calls.iter().enumerate() {
        let narrow = data.args.iter().all(|arg| usize::try_from(*arg).is_ok());
        if data.arch == native
            && narrow
            && !is_never_filtered(data)
            && let Some((verdict, by)) = predicted(program, data)
        {
            asked.push((number, *data));
            if by == Op::RetA {
                computed.push(verdict.0);
            }
        }
    }
    computed.sort_unstable();
    computed.dedup();
    values.extend(program.iter().filter(|insn| insn.op == Op::RetK).map(|insn| insn.k));
    values.extend(&computed);
    values.sort_unstable();
    values.dedup();
    let marked = marked(program, &values, &computed)?;
    let (numbers, asked): (Vec<usize>, Vec<SeccompData>) = asked.into_iter().unzip();
    let mut answers = vec![Answer::NotAsked; calls.len()];
    if asked.is_empty() {
        return Ok(answers);
    }
    // Generous: the longest program takes some ten microseconds where the kernel interprets it.
    let limit = Duration::from_secs(20) + Duration::from_micros(100) * asked.len() as u32;
    let code = code_of(&marked);
    let errnos = child::errnos(&code, &asked, limit).map_err(|trouble| {
        AskError(match trouble {
            Trouble::System(why) => Kind::NoChild(why),
            Trouble::Refused(why) => Kind::Refused(InstallError::of_errno(why, code.len())),
            Trouble::Died { call, status } => {
                let status = ExitStatus::from_raw(status);
                Kind::Died { data: asked.get(call).copied().unwrap_or_default(), status }
            }
            Trouble::Late { call, limit } => Kind::Late { calls: call, limit },
        })
    })?;
    for (number, errno) in numbers.into_iter().zip(errnos) {
        let value = usize::from(errno).checked_sub(1).and_then(|index| values.get(index));
        if let Some(answer) = answers.get_mut(number) {
            *answer = value.map_or(Answer::Unexpected, |value| Answer::Verdict(Verdict(*value)));
        }
    }
    Ok(answers)
}

/// Whether the kernel executes a call without asking any filter: on x86-64 the two that stand in the
/// trampolines of user-space probes (`kernel/seccomp.c`, `__secure_computing`; uretprobe since Linux
/// 6.14, uprobe since 6.18). Anywhere else they end in SIGILL.
pub fn is_never_filtered(data: &SeccompData) -> bool {
    let arch = Arch::X86_64;
    let probes = ["uretprobe", "uprobe"].map(|name| arch.number(name));
    data.arch == arch.token() && probes.contains(&Some(data.nr))
}

/// What the interpreter says of a call, and by which instruction; `None` when it looks at the
/// instruction pointer or divides by zero.
fn predicted(program: &Program, data: &SeccompData) -> Option<(Verdict, Op)> {
    let mut last = Op::RetK;
    let mut looks_at_pointer = false;
    let run = program.trace(data, ENDIAN, |Step { insn, .. }| {
        last = insn.op;
        let word = Word::from_offset(insn.k, ENDIAN).filter(|_| insn.op == Op::LdWordAbs);
        looks_at_pointer |= matches!(word, Some(Word::IP_HIGH | Word::IP_LOW));
    });
    (last.is_return() && !looks_at_pointer).then_some((run.verdict, last))
}

/// The program with an errno in place of each value that it returns: one more than the place of the
/// value in `values`, which is sorted.
fn marked(program: &Program, values: &[u32], computed: &[u32]) -> Result<Program, AskError> {
    if values.len() >= usize::from(UNEXPECTED) {
        return Err(AskError(Kind::TooManyValues { given: values.len() }));
    }
    let mark = |value: u32| {
        let place = values.binary_search(&value).map_or(UNEXPECTED, |place| place as u16 + 1);
        Insn::new(Op::RetK, Verdict::errno(place).0)
    };
    let end = program.len();
    let mut insns: Vec<Insn> = program
        .iter()
        .enumerate()
        .map(|(index, insn)| match insn.op {
            Op::RetK => mark(insn.k),
            Op::RetA => Insn::new(Op::Ja, (end - index - 1) as u32),
            _ => *insn,
        })
        .collect();
    if program.iter().any(|insn| insn.op == Op::RetA) {
        for value in computed {
            insns.extend([Insn::branch(Op::JeqK, *value, 0, 1), mark(*value)]);
        }
        insns.push(Insn::new(Op::RetK, Verdict::errno(UNEXPECTED).0));
    }
    let given = insns.len();
    Program::new(insns).map_err(|_| AskError(Kind::TooLong { given }))
}

/// Why the kernel was not asked.
#[derive(Debug)]
pub struct AskError(Kind);

#[derive(Debug)]
enum Kind {
    UnknownMachine,
    TooManyValues { given: usize },
    TooLong { given: usize },
    NoChild(std::io::Error),
    Refused(InstallError),
    Died { data: SeccompData, status: ExitStatus },
    Late { calls: usize, limit: Duration },
}

impl AskError {
    /// What to do about it.
    pub fn help(&self) -> String {
        match &self.0 {
            Kind::Refused(why) => why.help(),
            Kind::Died { .. } => {
                "the filter of a sandbox around this process may have killed it; look there".into()
            }
            Kind::NoChild(_) => "the system may be out of processes or memory".into(),
            _ => "leave the kernel out, or ask it about a smaller filter".into(),
        }
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::UnknownMachine => f.write_str("the architecture of this machine is not known"),
            Kind::TooManyValues { given } => write!(
                f,
                "the program returns {given} different values, and errnos can stand for {} at most",
                UNEXPECTED - 1
            ),
            Kind::TooLong { given } => write!(
                f,
                "with an errno in place of each value that it computes the program has {given} \
                 instructions, the kernel accepts {MAX_INSNS}"
            ),
            Kind::NoChild(why) => {
                write!(f, "there is no child process: {}", crate::error_text(why))
            }
            Kind::Refused(why) => why.fmt(f),
            Kind::Died { data, status } => write!(
                f,
                "the child process ended at call {} ({status}), although the filter ends nothing",
                data.nr
            ),
            Kind::Late { calls, limit } => write!(
                f,
                "the child process made {calls} calls in {} seconds and was stopped",
                limit.as_secs()
            ),
        }
    }
}

impl std::error::Error for AskError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_return_becomes_an_errno() {
        let program = Program::new(vec![
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JeqK, 7, 0, 1),
            Insn::new(Op::RetA, 0),
            Insn::branch(Op::JeqK, 8, 0, 1),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
            Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
        ])
        .unwrap();
        let values = [7, Verdict::ALLOW.0, Verdict::KILL_PROCESS.0];
        let marked = marked(&program, &values, &[7]).unwrap();
        for nr in 0..20 {
            let data = SeccompData { nr, ..SeccompData::default() };
            let (before, after) = (program.run(&data, ENDIAN), marked.run(&data, ENDIAN));
            let place = values.iter().position(|value| *value == before.verdict.0).unwrap();
            assert_eq!(after.verdict, Verdict::errno(place as u16 + 1), "{nr}");
        }
    }

    #[test]
    fn too_many_values_are_refused() {
        let returns = (0..4095).map(|value| Insn::new(Op::RetK, value));
        let values: Vec<u32> = (0..4095).collect();
        let program = Program::new(returns.collect()).unwrap();
        let error = marked(&program, &values, &[]).unwrap_err();
        assert!(
            error.to_string().contains("4095") && error.to_string().contains("4094"),
            "{error}"
        );
    }

    #[test]
    fn what_looks_at_the_instruction_pointer_or_divides_by_zero_is_not_asked() {
        let ret = Insn::new(Op::RetK, 0);
        let program = |insns: &[Insn]| Program::new([insns, &[ret]].concat()).unwrap();
        let data = SeccompData::default();
        let pointer = program(&[Insn::new(Op::LdWordAbs, Word::IP_LOW.offset(ENDIAN))]);
        assert_eq!(predicted(&pointer, &data), None);
        assert_eq!(predicted(&program(&[Insn::new(Op::DivX, 0)]), &data), None);
        assert!(predicted(&program(&[Insn::new(Op::LdWordAbs, 16)]), &data).is_some());
    }
}
