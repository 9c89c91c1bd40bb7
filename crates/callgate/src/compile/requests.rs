//! From a policy about io_uring requests to a proved program.
//!
//! The steps are those of seccomp filters, without constant allow and weights: no cache of the kernel answers requests, and
//! there are no recordings of them, so all opcodes that are not always denied count as equally frequent.

use callgate_codegen::{
    Aim, Distribution, Effort, Instructions, Permission, Program as Unproved, WeightedSyscall,
};
use callgate_core::diagram::{Budget, DiagramError, Func, Store};
use callgate_core::io_uring::{IoUringRequest, Member, OPCODES};
use callgate_core::policy::RequestPolicy;
use callgate_core::{MAX_INSNS, Meaning, NotProved, Program, ProgramError, Proved};

/// Options of a compilation of a policy about io_uring requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RequestOptions {
    /// The primary objective: speed or size.
    pub aim: Aim,
    /// The instructions that the program may contain.
    pub instructions: Instructions,
    /// The budget of the diagram.
    pub budget: Budget,
}

/// Compiles a policy about io_uring requests to a proved program.
///
/// The program decides about every opcode, so it may be registered for each of them; a program for one opcode is that of
/// [`RequestPolicy::for_opcode`]. Callgate does not register programs.
///
/// ```
/// use callgate_core::io_uring::{Decision, IoUringRequest, Member, SocketPayload};
/// use callgate::compile::{RequestOptions, compile_requests};
/// use callgate_core::SyscallSet;
/// use callgate_core::policy::{Condition, Field, RequestPolicy, RequestRule, Test};
/// use callgate::Endian;
///
/// let family = Field::of_request(Member::SocketFamily, Endian::Little);
/// let rule = RequestRule {
///     opcodes: SyscallSet::one(45), // IORING_OP_SOCKET
///     when: Condition::test(Test::eq(family, 2)), // AF_INET
///     decision: Decision::Allow,
/// };
/// let policy = RequestPolicy::new(vec![rule], Decision::Deny, Endian::Little)?;
/// let program = compile_requests(&policy, &RequestOptions::default())?;
/// let payload = SocketPayload { family: 2, kind: 1, protocol: 0 };
/// let run = program.run(&IoUringRequest::socket(payload, Endian::Little), Endian::Little);
/// assert_eq!((run.verdict, program.len()), (Decision::Allow, 7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the diagram exceeds its budget, or the program the kernel's limit of 4,096 instructions; and, because of a defect, if a
/// check of the program fails.
pub fn compile_requests(
    policy: &RequestPolicy,
    options: &RequestOptions,
) -> Result<Proved<Program<IoUringRequest>>, RequestError> {
    let mut meaning = Meaning::of_request_policy(policy, options.budget)?;
    let mut made = generated(&meaning, options, options.aim)?;
    if made.insns.len() > MAX_INSNS && options.aim == Aim::Speed {
        // A slower program is better than none.
        made = generated(&meaning, options, Aim::Size)?;
    }
    prove(&mut meaning, made)
}

/// Generates instructions for a meaning.
fn generated(
    meaning: &Meaning<IoUringRequest>,
    options: &RequestOptions,
    aim: Aim,
) -> Result<Unproved, DiagramError> {
    let attempt = |effort| {
        // As for seccomp filters, the generator gets a copy of the diagram.
        let (mut store, func) = meaning.copy()?;
        let opcodes = weighted_opcodes(&store, func, meaning);
        callgate_codegen::generate(
            &mut store,
            func,
            &opcodes,
            Distribution::ByWeight,
            aim,
            options.instructions,
            meaning.endian(),
            effort,
            &|| None,
        )
    };
    match attempt(Effort::Full) {
        Err(error) if error.is_out_of_budget() => attempt(Effort::Least),
        made => made,
    }
}

/// The known opcodes; those that are not always denied have the same weight.
fn weighted_opcodes(
    store: &Store,
    func: Func,
    meaning: &Meaning<IoUringRequest>,
) -> Vec<WeightedSyscall> {
    let place = Member::Opcode.place(meaning.endian());
    let weighted = |opcode: u32| {
        let verdict = store.as_verdict(store.follow(func, place.low, opcode << place.shift));
        let permission = match verdict {
            None => Permission::Filtered,
            Some(verdict) if verdict.0 == 0 => Permission::Never,
            Some(_) => Permission::Always,
        };
        let weight = if permission == Permission::Never { 0.0 } else { 1.0 };
        WeightedSyscall { token: 0, nr: opcode, weight, permission }
    };
    (0..OPCODES).map(weighted).collect()
}

/// The program of these instructions, if it has this meaning.
fn prove(
    meaning: &mut Meaning<IoUringRequest>,
    Unproved { insns, .. }: Unproved,
) -> Result<Proved<Program<IoUringRequest>>, RequestError> {
    if insns.len() > MAX_INSNS {
        return Err(RequestError(RequestErrorKind::TooLong(insns.len())));
    }
    let program =
        Program::of(insns).map_err(|error| RequestError(RequestErrorKind::Refused(error)))?;
    Ok(meaning.prove(&program)?)
}

/// The error of a compilation of a policy about io_uring requests.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestError(RequestErrorKind);

#[derive(Clone, Debug, PartialEq)]
enum RequestErrorKind {
    Diagram(DiagramError),
    TooLong(usize),
    Refused(ProgramError),
    NotProved(NotProved<IoUringRequest>),
}

impl From<DiagramError> for RequestError {
    fn from(error: DiagramError) -> RequestError {
        RequestError(RequestErrorKind::Diagram(error))
    }
}

impl From<NotProved<IoUringRequest>> for RequestError {
    fn from(error: NotProved<IoUringRequest>) -> RequestError {
        RequestError(match error.diagram_error() {
            Some(error) => RequestErrorKind::Diagram(error),
            None => RequestErrorKind::NotProved(error),
        })
    }
}

impl std::fmt::Display for RequestError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            RequestErrorKind::Diagram(error) => error.fmt(f),
            RequestErrorKind::TooLong(insns) => write!(
                f,
                "the program needs {insns} instructions; the kernel accepts at most {MAX_INSNS}; compile a program for \
                 each opcode"
            ),
            RequestErrorKind::Refused(error) => write!(
                f,
                "the kernel would refuse the generated program (a defect of callgate): {error}"
            ),
            RequestErrorKind::NotProved(error) => {
                write!(f, "the generated program is wrong (a defect of callgate): {error}")
            }
        }
    }
}

impl std::error::Error for RequestError {
    /// The error whose message is part of this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            RequestErrorKind::Diagram(error) => Some(error),
            RequestErrorKind::TooLong(_) => None,
            RequestErrorKind::Refused(error) => Some(error),
            RequestErrorKind::NotProved(error) => Some(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::io_uring::Decision;
    use callgate_core::policy::{Condition, Field, RequestRule, Test};
    use callgate_core::{Endian, Insn, Op, SyscallSet};

    fn policy() -> RequestPolicy {
        let flags = Field::of_request(Member::OpenFlags, Endian::Little);
        let rule = |opcodes, when| RequestRule { opcodes, when, decision: Decision::Allow };
        let rules = vec![
            rule(SyscallSet::from_ranges([(0, 3), (22, 23)]), Condition::always()),
            rule(SyscallSet::one(28), Condition::test(Test::masked_eq(flags, 3, 0))),
        ];
        RequestPolicy::new(rules, Decision::Deny, Endian::Little).unwrap()
    }

    /// Every program that differs from its policy because of one changed instruction is refused with a witness.
    #[test]
    fn broken_programs_are_refused_with_a_witness() {
        let policy = policy();
        let good = compile_requests(&policy, &RequestOptions::default()).unwrap();
        let mut meaning = Meaning::of_request_policy(&policy, Budget::default()).unwrap();
        let mut refused = 0;
        for at in 0..good.len() {
            let changes: [&dyn Fn(&mut Insn); 3] =
                [&|insn| insn.k ^= 1, &|insn| insn.k = insn.k.wrapping_add(4), &|insn| {
                    std::mem::swap(&mut insn.jt, &mut insn.jf)
                }];
            for change in changes {
                let mut insns = good.insns().to_vec();
                change(&mut insns[at]);
                let Ok(program) = Program::<IoUringRequest>::of(insns.clone()) else { continue };
                match prove(&mut meaning, Unproved { insns, patches: Vec::new() }) {
                    Ok(_) => continue,
                    Err(RequestError(RequestErrorKind::NotProved(error))) => {
                        let witness = error.witness().unwrap();
                        let given = program.run(witness, Endian::Little).verdict;
                        assert_ne!(given, policy.evaluate(witness), "{witness:x?}");
                        refused += 1;
                    }
                    Err(other) => panic!("{at}: {other}"),
                }
            }
        }
        assert!(refused > good.len(), "only {refused} programs were refused");
    }

    #[test]
    fn a_program_that_the_kernel_would_refuse_is_an_error() {
        let mut meaning = Meaning::of_request_policy(&policy(), Budget::default()).unwrap();
        let load = vec![Insn::new(Op::LdWordAbs, 40), Insn::new(Op::RetK, 0)];
        let long = vec![Insn::new(Op::RetK, 0); MAX_INSNS + 1];
        let mut error = |insns| {
            prove(&mut meaning, Unproved { insns, patches: Vec::new() }).unwrap_err().to_string()
        };
        assert!(error(load).contains("offset 40 is outside io_uring_bpf_ctx"));
        assert!(error(long).contains("4097 instructions"));
    }
}
