//! The proof that a program computes the function of a filter.
//!
//! A [`Meaning`] owns its diagram, and nothing outside of this crate can change it: code generators
//! get a copy ([`Meaning::copy`]). A program is accepted only when its own function, found by
//! symbolic execution in the same store, **is the same node**.

use std::marker::PhantomData;

use callgate_bpf::data::{Endian, SeccompData};
use callgate_bpf::io_uring::IoUringRequest;
use callgate_bpf::template::Template;
use callgate_bpf::{FilterInput, LongProgram, Program};

use crate::diagram::{Budget, DiagramError, Func, Store};
use crate::policy::{Policy, RequestPolicy};

/// The function that a filter must compute: one of syscalls, or of another [input](FilterInput).
///
/// ```
/// use callgate_bpf::{Arch, Endian, Insn, Op, Program, Verdict};
/// use callgate_proof::Meaning;
/// use callgate_proof::diagram::Budget;
/// use callgate_proof::policy::{Condition, Policy, Rule, Section, SyscallSet};
///
/// let token = Arch::X86_64.token();
/// let deny = Rule { syscalls: SyscallSet::one(59), when: Condition::always(), verdict: Verdict::errno(1) };
/// let section = Section::new(Arch::X86_64, vec![deny], Verdict::ALLOW);
/// let policy = Policy::new(vec![section], Verdict::KILL_PROCESS)?;
///
/// let program = |errno| Program::new(vec![
///     Insn::new(Op::LdWordAbs, 4), // A = arch
///     Insn::branch(Op::JeqK, token, 1, 0),
///     Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
///     Insn::new(Op::LdWordAbs, 0), // A = nr
///     Insn::branch(Op::JeqK, 59, 0, 1),
///     Insn::new(Op::RetK, Verdict::errno(errno).0),
///     Insn::new(Op::RetK, Verdict::ALLOW.0),
/// ]);
/// let mut meaning = Meaning::of_policy(&policy, Budget::default())?;
/// assert!(meaning.prove(&program(1)?).is_ok());
/// let refused = meaning.prove(&program(2)?).unwrap_err();
/// assert_eq!(refused.witness().map(|data| data.nr), Some(59));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Meaning<D = SeccompData> {
    /// Its layout is that of the input on machines of the byte order.
    store: Store,
    func: Func,
    endian: Endian,
    input: PhantomData<D>,
}

impl Meaning {
    /// The meaning of a policy.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn of_policy(policy: &Policy, budget: Budget) -> Result<Meaning, DiagramError> {
        Meaning::build(budget, policy.endian(), |store| store.policy(policy))
    }

    /// The meaning of a policy with variables, for all of their values.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn of_policy_with_variables(
        policy: &Policy,
        budget: Budget,
    ) -> Result<Meaning, DiagramError> {
        let build = |store: &mut Store| store.policy(policy);
        let store = Store::with_variables(budget, policy.variables().to_vec());
        Meaning::build_in(store, policy.endian(), build)
    }

    /// The meaning whose function `build` creates in a new store.
    ///
    /// # Errors
    /// Those of `build`; and an internal error when its function belongs to another store or breaks
    /// an invariant of diagrams, or if the store is not for syscalls.
    pub fn build<E: From<DiagramError>>(
        budget: Budget,
        endian: Endian,
        build: impl FnOnce(&mut Store) -> Result<Func, E>,
    ) -> Result<Meaning, E> {
        Meaning::build_in(Store::new(budget), endian, build)
    }

    /// As [`Meaning::build`], in this store, which should be empty.
    ///
    /// # Errors
    /// As [`Meaning::build`].
    pub fn build_in<E: From<DiagramError>>(
        store: Store,
        endian: Endian,
        build: impl FnOnce(&mut Store) -> Result<Func, E>,
    ) -> Result<Meaning, E> {
        Meaning::checked(store, endian, build)
    }

    /// Proves that a program with variables computes this function, whatever the values of the variables are.
    ///
    /// # Errors
    /// [`NotProved`]: the program computes another function for some values, or its function cannot be found within
    /// the budget. Comparisons with variables count as independent of each other, so a program that makes other
    /// comparisons is not proved even if they amount to the same: `fd >= $x` for `fd > $x || fd == $x`.
    pub fn prove_template(&mut self, template: &Template) -> Result<(), NotProved> {
        self.store.reset_steps();
        let proved = self.store.template(template, self.endian)?;
        self.accept(proved)
    }
}

impl Meaning<IoUringRequest> {
    /// The meaning of a policy about io_uring requests.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn of_request_policy(
        policy: &RequestPolicy,
        budget: Budget,
    ) -> Result<Meaning<IoUringRequest>, DiagramError> {
        let store = Store::for_layout(IoUringRequest::layout(policy.endian()), budget);
        Meaning::checked(store, policy.endian(), |store| store.request_policy(policy))
    }
}

impl<D: FilterInput> Meaning<D> {
    /// The meaning of a program on machines of this byte order.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn of_program(
        program: &LongProgram<D>,
        endian: Endian,
        budget: Budget,
    ) -> Result<Meaning<D>, DiagramError> {
        let store = Store::for_layout(D::layout(endian), budget);
        Meaning::checked(store, endian, |store| store.program(program, endian))
    }

    fn checked<E: From<DiagramError>>(
        mut store: Store,
        endian: Endian,
        build: impl FnOnce(&mut Store) -> Result<Func, E>,
    ) -> Result<Meaning<D>, E> {
        store.check_layout(D::layout(endian))?;
        let func = build(&mut store)?;
        store.check(func)?;
        Ok(Meaning { store, func, endian, input: PhantomData })
    }

    /// The diagram, for queries.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The function in [`Meaning::store`].
    pub fn func(&self) -> Func {
        self.func
    }

    /// The byte order of the machines that the filter is for.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// A copy of the diagram and of the function, which the caller may modify.
    ///
    /// # Errors
    /// Only because of a defect in this crate.
    pub fn copy(&self) -> Result<(Store, Func), DiagramError> {
        self.store.copy(self.func)
    }

    /// Proves that a program computes this function.
    ///
    /// # Errors
    /// [`NotProved`]: the program computes another function, or its function cannot be found within
    /// the budget.
    pub fn prove(&mut self, program: &Program<D>) -> Result<(), NotProved<D>> {
        self.store.reset_steps();
        let proved = self.store.program(program, self.endian)?;
        self.accept(proved)
    }

    /// Accepts the function of a program if it is the same node.
    fn accept(&mut self, proved: Func) -> Result<(), NotProved<D>> {
        // The nodes of this function were checked when it was built, and a store never changes them.
        if proved == self.func {
            return Ok(());
        }
        self.store.check(proved)?;
        // The witness is for the message only: without the same node there is no proof.
        let witness = self.store.witness(proved, self.func, D::default())?;
        Err(NotProved(witness.map_or(Refusal::Unproved, |data| Refusal::Differs(Box::new(data)))))
    }
}

/// The error when a program is not proved equal to its description.
#[derive(Clone, Debug, PartialEq)]
pub struct NotProved<D = SeccompData>(Refusal<D>);

#[derive(Clone, Debug, PartialEq)]
enum Refusal<D> {
    Differs(Box<D>),
    /// The nodes differ only below comparisons with variables.
    Unproved,
    Diagram(DiagramError),
}

impl<D> NotProved<D> {
    /// A witness: a syscall, or another input, for which the program and the meaning differ. `None` if there is no proof for another reason,
    /// among them that they differ in comparisons with variables, which the proof takes as independent of each other.
    pub fn witness(&self) -> Option<&D> {
        match &self.0 {
            Refusal::Differs(witness) => Some(witness),
            Refusal::Unproved | Refusal::Diagram(_) => None,
        }
    }

    /// The error of the diagram that ended the proof without a result.
    pub fn diagram_error(&self) -> Option<DiagramError> {
        match &self.0 {
            Refusal::Differs(_) | Refusal::Unproved => None,
            Refusal::Diagram(error) => Some(*error),
        }
    }
}

impl<D> From<DiagramError> for NotProved<D> {
    fn from(error: DiagramError) -> NotProved<D> {
        NotProved(Refusal::Diagram(error))
    }
}

impl<D: std::fmt::Debug> std::fmt::Display for NotProved<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Refusal::Differs(data) => {
                write!(f, "the program differs from its description, for example at {data:x?}")
            }
            Refusal::Unproved => f.write_str(
                "the program is not proved equal to its description; the proof takes comparisons with variables as \
                 independent of each other",
            ),
            Refusal::Diagram(error) => error.fmt(f),
        }
    }
}

impl<D: std::fmt::Debug> std::error::Error for NotProved<D> {}
