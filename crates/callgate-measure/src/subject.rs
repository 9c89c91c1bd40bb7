//! Subjects: stacks of filters that do not kill processes.
//!
//! Every verdict except ALLOW is replaced by an errno: its own if it has one, else EPERM. `ret a` becomes a jump to three
//! instructions at the end, which return ALLOW or EPERM, so a program with computed returns executes at most two more
//! instructions. The instructions before the returns are unchanged and in the same places: the kernel's cache answers
//! the same syscalls, and all other paths have the same length.
//!
//! Limits: a division by zero ends the program with KILL; if that happens for a measured syscall, the measuring process
//! dies, which is an error.

use callgate::{Action, Arch, Endian, SeccompData, Verdict};
use callgate_core::{Insn, MAX_INSNS, Op, Program, SocketProgram, is_constant_allow};

/// A stack of filters, or a socket filter, with a name.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The name in tables.
    pub name: String,
    /// The oldest first; none for no filter.
    programs: Vec<Program>,
    /// The filter of the sockets of bodies that have one.
    socket: Option<SocketProgram>,
}

/// How a syscall is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Treatment {
    /// There is no filter.
    Unfiltered,
    /// The kernel's constant-action cache allows it (Linux 5.11 and later).
    Cached,
    /// The filters run and allow it.
    Allowed,
    /// The filters run and deny it.
    Denied,
}

impl Treatment {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Treatment::Unfiltered => "unfiltered",
            Treatment::Cached => "cached",
            Treatment::Allowed => "allowed",
            Treatment::Denied => "denied",
        }
    }
}

/// A program would be too long after its returns are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubjectError {
    given: usize,
}

impl std::fmt::Display for SubjectError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "with errnos in place of computed verdicts, the program has {} instructions; the kernel \
             accepts at most {MAX_INSNS}",
            self.given
        )
    }
}

impl std::error::Error for SubjectError {}

const ENDIAN: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };

impl Subject {
    /// No filter at all.
    pub fn none() -> Subject {
        Subject { name: "no filter".to_owned(), programs: Vec::new(), socket: None }
    }

    /// The smallest filter: one instruction that allows everything.
    pub fn constant_allow() -> Subject {
        let program = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]);
        let programs = program.into_iter().collect();
        Subject { name: "constant allow".to_owned(), programs, socket: None }
    }

    /// A stack of these filters, the oldest first, with errnos in place of all verdicts except ALLOW.
    ///
    /// # Errors
    /// If a program would be too long.
    pub fn new(
        name: impl Into<String>,
        programs: impl IntoIterator<Item = Program>,
    ) -> Result<Subject, SubjectError> {
        let programs = programs.into_iter().map(|program| harmless(&program));
        let programs = programs.collect::<Result<_, _>>()?;
        Ok(Subject { name: name.into(), programs, socket: None })
    }

    /// The same with another name.
    #[must_use]
    pub fn named(self, name: &str) -> Subject {
        Subject { name: name.to_owned(), ..self }
    }

    /// No seccomp filter, and this socket filter; `None` for a filter of one instruction that returns what the others do.
    pub fn packets(name: impl Into<String>, socket: Option<SocketProgram>) -> Subject {
        Subject { name: name.into(), programs: Vec::new(), socket }
    }

    /// The filter of sockets.
    pub fn socket(&self) -> Option<&SocketProgram> {
        self.socket.as_ref()
    }

    /// The number of filters.
    pub fn filters(&self) -> usize {
        self.programs.len() + usize::from(self.socket.is_some())
    }

    /// The programs as they are installed, the oldest first.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// The number of instructions of all programs.
    pub fn insns(&self) -> usize {
        let socket = self.socket.as_ref().map_or(0, SocketProgram::len);
        self.programs.iter().map(|program| program.len()).sum::<usize>() + socket
    }

    /// The number of instructions that the filters execute for a syscall of this machine, as the interpreter counts them;
    /// the kernel executes none if its cache answers the syscall.
    pub fn executed(&self, data: &SeccompData) -> usize {
        self.programs.iter().map(|program| program.run(data, ENDIAN).executed).sum()
    }

    /// How the filters decide a syscall of this machine.
    pub fn treatment(&self, data: &SeccompData) -> Treatment {
        let constant = |program: &Program| is_constant_allow(program, data.arch, data.nr);
        let allows = |program: &Program| program.run(data, ENDIAN).verdict == Verdict::ALLOW;
        match &self.programs {
            none if none.is_empty() => Treatment::Unfiltered,
            all if all.iter().all(constant) => Treatment::Cached,
            all if all.iter().all(allows) => Treatment::Allowed,
            _ => Treatment::Denied,
        }
    }
}

/// A syscall of this machine as filters see it; `None` on an unsupported architecture.
pub fn syscall_data(nr: u32, args: [u64; 6]) -> Option<SeccompData> {
    let arch = Arch::native()?.token();
    Some(SeccompData { nr, arch, args, ..SeccompData::default() })
}

/// The program with an errno in place of each verdict except ALLOW.
fn harmless(program: &Program) -> Result<Program, SubjectError> {
    let denied = Verdict::errno(libc::EPERM as u16);
    let change = |verdict: Verdict| match verdict.action() {
        Action::Allow | Action::Errno(1..=4095) => verdict,
        _ => denied,
    };
    let allow = Verdict::ALLOW.0;
    let computed = [
        Insn::branch(Op::JeqK, allow, 0, 1),
        Insn::new(Op::RetK, allow),
        Insn::new(Op::RetK, denied.0),
    ];
    let changed = program.with_verdicts(change, &computed);
    changed.map_err(|_| SubjectError { given: program.len() + computed.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(offset: u32) -> Insn {
        Insn::new(Op::LdWordAbs, offset)
    }

    #[test]
    fn what_is_not_allowed_becomes_an_errno() {
        for (given, wanted) in [
            (Verdict::ALLOW, Verdict::ALLOW),
            (Verdict::errno(38), Verdict::errno(38)),
            (Verdict::errno(0), Verdict::errno(1)),
            (Verdict::KILL_PROCESS, Verdict::errno(1)),
            (Verdict::KILL_THREAD, Verdict::errno(1)),
            (Verdict::trap(7), Verdict::errno(1)),
            (Verdict::LOG, Verdict::errno(1)),
            (Verdict::user_notif(0), Verdict::errno(1)),
            (Verdict::trace(0), Verdict::errno(1)),
        ] {
            let fixed = Program::new(vec![Insn::new(Op::RetK, given.0)]).unwrap();
            let computed = [Insn::new(Op::LdImm, given.0), Insn::new(Op::RetA, 0)];
            let computed = Program::new([load(0), computed[0], computed[1]].to_vec()).unwrap();
            let run = |program| harmless(program).unwrap().run(&SeccompData::default(), ENDIAN);
            assert_eq!(run(&fixed).verdict, wanted);
            if given.action() != Action::Errno(given.data()) {
                assert_eq!(run(&computed).verdict, wanted);
            }
        }
    }

    #[test]
    fn the_treatment_of_a_stack_is_that_of_its_strictest_filter() {
        let data = SeccompData { nr: 5, ..SeccompData::default() };
        let allow = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]).unwrap();
        let deny = Program::new(vec![Insn::new(Op::RetK, Verdict::errno(1).0)]).unwrap();
        let looks = Program::new(vec![load(16), Insn::new(Op::RetK, Verdict::ALLOW.0)]).unwrap();
        let of = |programs: &[&Program]| {
            let programs = programs.iter().map(|program| (*program).clone());
            Subject::new("x", programs).unwrap().treatment(&data)
        };
        assert_eq!(of(&[]), Treatment::Unfiltered);
        assert_eq!(of(&[&allow, &allow]), Treatment::Cached);
        assert_eq!(of(&[&allow, &looks]), Treatment::Allowed);
        assert_eq!(of(&[&allow, &looks, &deny]), Treatment::Denied);
        assert_eq!(Subject::constant_allow().treatment(&data), Treatment::Cached);
    }
}
