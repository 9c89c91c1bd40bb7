//! Programs whose verdicts are replaced by errnos, so that no syscall is executed and no process is killed.
//!
//! Every `ret` gets an errno that represents its value, also for ALLOW and KILL; `ret a` becomes a jump to a list of its
//! possible values. All other instructions stay unchanged and in place.
//!
//! This does not depend on the running machine, so programs for other kernels can be marked, too.
//!
//! Limits:
//!
//! - The syscalls of one ABI. Syscalls without a filter ([`is_never_filtered`]) and those that user space cannot make are
//!   not probed.
//! - A syscall for which the program reads the instruction pointer is not probed, because its address cannot be chosen.
//! - A division by X = 0 is not probed, because it kills.
//! - At most 4,094 different values.
//!
//! Sources: `kernel/seccomp.c`, `__seccomp_filter` (an errno above 4,095 is cut down to it);
//! `arch/s390/kernel/syscall.c`, `do_syscall`.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

use callgate::{Arch, Endian, SeccompData, Verdict};
use callgate_bpf::SyscallTable;
use callgate_core::{Insn, MAX_INSNS, Op, Program, Step, Word};

use crate::install::InstallError;

/// The errno for a value that was not expected.
const UNEXPECTED: u16 = 4095;

/// The maximum number of values that errnos can represent.
pub(crate) const MAX_VALUES: usize = UNEXPECTED as usize - 1;

/// A marked program, and the meaning of its errnos.
///
/// ```
/// use callgate_core::{Insn, Op, Program};
/// use callgate::{Arch, SeccompData, Verdict};
/// use callgate_linux::Marked;
///
/// let arch = Arch::S390x;
/// let program = Program::new(vec![Insn::new(Op::RetK, Verdict::KILL_PROCESS.0)])?;
/// let writev = SeccompData { nr: 20, arch: arch.token(), ..SeccompData::default() };
/// let marked = Marked::new(&program, &[writev], arch)?;
/// assert_eq!(marked.asked(), [0]);
/// let answer = marked.program().run(&writev, arch.endian()).verdict;
/// assert_eq!(Some(answer), marked.errno(Verdict::KILL_PROCESS).map(Verdict::errno));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marked {
    program: Program,
    /// Sorted; the errno of a value is its index plus one.
    values: Vec<u32>,
    asked: Vec<usize>,
}

impl Marked {
    /// Marks a program, for those of the syscalls that a process of this architecture can make.
    ///
    /// # Errors
    /// If there are too many different values, or the list of computed values makes the program too long.
    pub fn new(
        program: &Program,
        syscalls: &[SeccompData],
        arch: Arch,
    ) -> Result<Marked, ProbeError> {
        let mut asked = Vec::new();
        let mut computed: Vec<u32> = Vec::new();
        for (number, data) in syscalls.iter().enumerate() {
            if !can_be_made(data, arch) {
                continue;
            }
            let Some((verdict, by)) = predicted(program, data, arch.endian()) else { continue };
            asked.push(number);
            if by == Op::RetA {
                computed.push(verdict.0);
            }
        }
        computed.sort_unstable();
        computed.dedup();
        let returns = program.iter().filter(|insn| insn.op == Op::RetK).map(|insn| insn.k);
        let mut values: Vec<u32> = returns.chain(computed.iter().copied()).collect();
        values.sort_unstable();
        values.dedup();
        Ok(Marked { program: marked(program, &values, &computed)?, values, asked })
    }

    /// The program with errnos in place of its values.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The indices of the syscalls that can be probed, in order.
    pub fn asked(&self) -> &[usize] {
        &self.asked
    }

    /// The errno that represents a verdict; `None` if the program never returns it.
    pub fn errno(&self, verdict: Verdict) -> Option<u16> {
        self.values.binary_search(&verdict.0).ok().map(|place| place as u16 + 1)
    }

    /// The verdict that an errno represents, if any.
    pub fn verdict(&self, errno: u16) -> Option<Verdict> {
        let place = usize::from(errno).checked_sub(1)?;
        self.values.get(place).map(|value| Verdict(*value))
    }
}

/// Whether the kernel executes a syscall without running any filter. On x86-64, these are the two in the trampolines of
/// user-space probes (`kernel/seccomp.c`, `__secure_computing`; uretprobe since Linux 6.14, uprobe since 6.18, and in
/// maintained older kernels). Elsewhere they raise SIGILL.
pub fn is_never_filtered(data: &SeccompData) -> bool {
    let arch = Arch::X86_64;
    let probes = ["uretprobe", "uprobe"].map(|name| arch.number(name));
    data.arch == arch.token() && probes.contains(&Some(data.nr))
}

/// Whether a process of this architecture can make a syscall and get the result of a filter.
fn can_be_made(data: &SeccompData, arch: Arch) -> bool {
    let reaches_filter = match arch {
        // Numbers have 16 bits, and `restart_syscall` is handled before filters run.
        Arch::S390x | Arch::S390 => {
            data.nr <= u32::from(u16::MAX) && arch.number("restart_syscall") != Some(data.nr)
        }
        _ => !is_never_filtered(data),
    };
    let narrow = |arg: &u64| arch.is_64bit() || u32::try_from(*arg).is_ok();
    reaches_filter && data.arch == arch.token() && data.args.iter().all(narrow)
}

/// The interpreter's verdict for a syscall, and the instruction that returns it; `None` if the program reads the
/// instruction pointer or divides by zero.
fn predicted(program: &Program, data: &SeccompData, endian: Endian) -> Option<(Verdict, Op)> {
    let mut last = Op::RetK;
    let mut looks_at_pointer = false;
    let run = program.trace(data, endian, |Step { insn, .. }| {
        last = insn.op;
        let word = Word::from_offset(insn.k, endian).filter(|_| insn.op == Op::LdWordAbs);
        looks_at_pointer |= matches!(word, Some(Word::IP_HIGH | Word::IP_LOW));
    });
    (last.is_return() && !looks_at_pointer).then_some((run.verdict, last))
}

/// The program with an errno in place of each value that it returns: the index of the value in `values`, which is sorted,
/// plus one.
fn marked(program: &Program, values: &[u32], computed: &[u32]) -> Result<Program, ProbeError> {
    if values.len() > MAX_VALUES {
        return Err(ProbeError::too_many_values(values.len(), MAX_VALUES));
    }
    let mark = |verdict: Verdict| {
        let place = values.binary_search(&verdict.0);
        Verdict::errno(place.map_or(UNEXPECTED, |place| place as u16 + 1))
    };
    let known = computed.iter().flat_map(|value| {
        let marked = Insn::new(Op::RetK, mark(Verdict(*value)).0);
        [Insn::branch(Op::JeqK, *value, 0, 1), marked]
    });
    let unexpected = Insn::new(Op::RetK, Verdict::errno(UNEXPECTED).0);
    let list: Vec<Insn> = known.chain([unexpected]).collect();
    let changed = program.with_verdicts(mark, &list);
    changed.map_err(|_| ProbeError::too_long(program.len() + list.len()))
}

/// Why the kernel was not probed.
#[derive(Debug)]
pub struct ProbeError(pub(super) ProbeErrorKind);

#[derive(Debug)]
pub(super) enum ProbeErrorKind {
    UnknownMachine,
    TooManyValues { given: usize, limit: usize },
    TooLong { given: usize },
    NoChild(std::io::Error),
    Refused(InstallError),
    Died { data: SeccompData, status: ExitStatus },
    Late { syscalls: usize, limit: Duration },
}

impl ProbeError {
    pub(super) fn too_many_values(given: usize, limit: usize) -> ProbeError {
        ProbeError(ProbeErrorKind::TooManyValues { given, limit })
    }

    pub(super) fn too_long(given: usize) -> ProbeError {
        ProbeError(ProbeErrorKind::TooLong { given })
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match &self.0 {
            ProbeErrorKind::Refused(why) => why.help(),
            ProbeErrorKind::Died { .. } => {
                "the filter of a sandbox around this process may have killed it; check the policy of the sandbox".into()
            }
            ProbeErrorKind::NoChild(_) => "the process limit may be reached, or the memory exhausted".into(),
            _ => "use a smaller filter".into(),
        }
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ProbeErrorKind::UnknownMachine => {
                f.write_str("the architecture of this machine is unknown")
            }
            ProbeErrorKind::TooManyValues { given, limit } => write!(
                f,
                "the program returns {given} different values; probing supports at most {limit}"
            ),
            ProbeErrorKind::TooLong { given } => write!(
                f,
                "with an errno in place of each computed value, the program has {given} instructions; \
                 the kernel accepts at most {MAX_INSNS}"
            ),
            ProbeErrorKind::NoChild(why) => {
                write!(f, "cannot create a child process: {}", crate::error_text(why))
            }
            ProbeErrorKind::Refused(why) => why.fmt(f),
            ProbeErrorKind::Died { data, status } => write!(
                f,
                "the child process ended at syscall {} ({status}), although the filter kills nothing",
                data.nr
            ),
            ProbeErrorKind::Late { syscalls, limit } => write!(
                f,
                "the child process made only {syscalls} syscalls in {} seconds and was killed",
                limit.as_secs()
            ),
        }
    }
}

impl std::error::Error for ProbeError {}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDIAN: Endian = Endian::NATIVE;

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
    fn errnos_and_verdicts_are_inverse() {
        let program = Program::new(vec![
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JeqK, 7, 0, 1),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
            Insn::new(Op::RetK, 9),
        ])
        .unwrap();
        let marked = Marked::new(&program, &[], Arch::Aarch64).unwrap();
        for verdict in [Verdict(9), Verdict::ALLOW] {
            assert_eq!(marked.errno(verdict).and_then(|e| marked.verdict(e)), Some(verdict));
        }
        assert_eq!(marked.errno(Verdict(8)), None);
        assert_eq!((marked.verdict(0), marked.verdict(UNEXPECTED)), (None, None));
    }

    #[test]
    fn too_many_values_are_refused() {
        let returns = (0..4095).map(|value| Insn::new(Op::RetK, value));
        let program = Program::new(returns.collect()).unwrap();
        let error = Marked::new(&program, &[], Arch::X86_64).unwrap_err();
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
        for endian in [Endian::Little, Endian::Big] {
            let pointer = program(&[Insn::new(Op::LdWordAbs, Word::IP_LOW.offset(endian))]);
            assert_eq!(predicted(&pointer, &data, endian), None);
            assert_eq!(predicted(&program(&[Insn::new(Op::DivX, 0)]), &data, endian), None);
            let argument = program(&[Insn::new(Op::LdWordAbs, 16)]);
            assert!(predicted(&argument, &data, endian).is_some());
        }
    }

    #[test]
    fn syscalls_that_cannot_be_made_are_not_asked() {
        let of = |arch: Arch, nr| SeccompData { nr, arch: arch.token(), ..SeccompData::default() };
        let wide = SeccompData { args: [1 << 32; 6], ..of(Arch::X86, 1) };
        for (arch, data) in [
            (Arch::S390x, of(Arch::S390x, 0x1_0000)),
            (Arch::S390x, of(Arch::S390x, 7)),
            (Arch::X86_64, of(Arch::X86_64, 335)),
            (Arch::X86_64, of(Arch::X86, 1)),
            (Arch::X86, wide),
        ] {
            assert!(!can_be_made(&data, arch), "{arch} {data:x?}");
        }
        for (arch, nr) in [(Arch::S390x, 0xffff), (Arch::X86, 7), (Arch::Aarch64, u32::MAX)] {
            assert!(can_be_made(&of(arch, nr), arch), "{arch} {nr}");
        }
    }
}
