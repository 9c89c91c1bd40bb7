//! The proof that a program computes the function of a filter.
//!
//! A [`Meaning`] is made here, from policies and programs that it keeps as a [`Spec`], and owns its diagram: nothing outside of this crate can choose or change it, and
//! code generators get a copy ([`Meaning::copy`]). A program is accepted only when its own function, found by symbolic
//! execution in the same store, **is the same node**.

use std::sync::Arc;

use crate::io_uring::IoUringRequest;
use crate::template::Template;
use crate::{
    Action, Emulator, Endian, FilterInput, LongProgram, PacketHead, Program, SeccompData,
    SocketProgram, Verdict, Word,
};

use crate::diagram::{Budget, DiagramError, Func, Store};
use crate::policy::{Policy, RequestPolicy};
use crate::proved::Proved;
use crate::refusal::{MeaningError, MeaningErrorKind as Kind, NotProved, Refusal};
use crate::spec::{FilterSpec, SetStep, Spec};

/// The function that a filter must compute: one of syscalls, or of another [input](FilterInput), or of packets.
///
/// ```
/// use callgate_core::{Arch, Endian, Insn, Op, Program, Verdict};
/// use callgate_core::Meaning;
/// use callgate_core::diagram::Budget;
/// use callgate_core::SyscallSet;
/// use callgate_core::policy::{Condition, Policy, Rule, Section};
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
pub struct Meaning<D: FilterInput = SeccompData> {
    /// Its layout is that of the input on machines of the byte order.
    store: Store,
    func: Func,
    endian: Endian,
    spec: Arc<Spec>,
    /// A syscall for each combination of verdicts of a stack, with the kernel's verdict.
    examples: Vec<(D, D::Verdict)>,
}

/// The nodes that were created for a group of syscalls with the same rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Created {
    /// The number of the filter, in a stack or a set.
    pub operand: usize,
    /// The arch token.
    pub token: u32,
    /// The first syscall number of the group.
    pub nr: u32,
    /// The number of nodes.
    pub nodes: usize,
}

impl Meaning {
    /// The meaning of a policy without variables.
    ///
    /// # Errors
    /// If the diagram exceeds its budget, or the policy has variables.
    pub fn of_policy(policy: &Policy, budget: Budget) -> Result<Meaning, DiagramError> {
        Meaning::of_policy_observed(policy, budget, &mut |_| ())
    }

    /// As [`Meaning::of_policy`]. `created` is told the number of nodes of each group of syscalls, also of the one at which the
    /// budget was exhausted.
    ///
    /// # Errors
    /// As [`Meaning::of_policy`].
    pub fn of_policy_observed(
        policy: &Policy,
        budget: Budget,
        created: &mut dyn FnMut(Created),
    ) -> Result<Meaning, DiagramError> {
        match policy.variables().is_empty() {
            true => Meaning::in_store(Store::new(budget), policy, created),
            false => Err(DiagramError::VARIABLES),
        }
    }

    /// The meaning of a policy with variables, for all of their values; `created` as for [`Meaning::of_policy_observed`].
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn of_policy_with_variables(
        policy: &Policy,
        budget: Budget,
        created: &mut dyn FnMut(Created),
    ) -> Result<Meaning, DiagramError> {
        let store = Store::with_variables(budget, policy.variables().to_vec());
        Meaning::in_store(store, policy, created)
    }

    fn in_store(
        store: Store,
        policy: &Policy,
        created: &mut dyn FnMut(Created),
    ) -> Result<Meaning, DiagramError> {
        let spec = Spec::Filter(FilterSpec::Policy(policy.clone()));
        Meaning::single(spec, policy.endian(), store, |store| {
            store.policy_by_syscall(policy, &mut |token, nr, nodes| {
                created(Created { operand: 0, token, nr, nodes });
            })
        })
    }

    /// The meaning of a program on machines of this byte order.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn of_program(
        program: &LongProgram,
        endian: Endian,
        budget: Budget,
    ) -> Result<Meaning, DiagramError> {
        let spec = Spec::Filter(FilterSpec::Program(program.clone(), endian));
        Meaning::single(spec, endian, Store::new(budget), |store| store.program(program, endian))
    }

    /// The meaning of filters on top of each other, the oldest first; see [`Spec::Stack`]. `created` is told the number of nodes
    /// of each group of syscalls of a policy.
    ///
    /// # Errors
    /// If the diagram exceeds its budget; if there is no filter, their byte orders differ, or one notifies a listener.
    pub fn of_stack(
        filters: Vec<FilterSpec>,
        budget: Budget,
        created: &mut dyn FnMut(Created),
    ) -> Result<Meaning, MeaningError> {
        let endian = same_endian(filters.iter())?;
        let mut store = Store::new(budget);
        let mut examples = Vec::new();
        let function = |store: &mut Store, (operand, filter)| {
            let next = function_of(store, operand, filter, created)?;
            let asks = |verdict: &Verdict| matches!(verdict.action(), Action::UserNotif(_));
            match store.verdicts(next).into_iter().find(asks).map(Kind::Notifies) {
                Some(kind) => Err(MeaningError { operand: Some(operand), kind }),
                None => Ok(next),
            }
        };
        let check = |store: &mut Store, funcs| {
            let defect = |data| MeaningError { operand: None, kind: Kind::Defect(data) };
            examples.extend(store.check_iteration(funcs)?.map_err(defect)?);
            Ok(())
        };
        let kept = store.stacked_checked(filters.iter().enumerate(), function, check)?;
        let spec = Spec::Stack(filters);
        let examples = examples.into_iter().filter_map(|data| Some((data, spec.run(&data)?)));
        let examples = examples.collect();
        let meaning = Meaning::single(spec, endian, store, |_| Ok(kept))?;
        Ok(Meaning { examples, ..meaning })
    }

    /// The meaning of filters that are combined from left to right; see [`Spec::Set`]. `created` is told the number of nodes of
    /// each group of syscalls of a policy.
    ///
    /// # Errors
    /// If the diagram exceeds its budget; if the byte orders of the filters differ.
    pub fn of_set(
        first: FilterSpec,
        steps: Vec<SetStep>,
        budget: Budget,
        created: &mut dyn FnMut(Created),
    ) -> Result<Meaning, MeaningError> {
        let operands = steps.iter().map(|step| &step.operand);
        let endian = same_endian(std::iter::once(&first).chain(operands))?;
        let mut store = Store::new(budget);
        let mut func = function_of(&mut store, 0, &first, created)?;
        for (step, operand) in steps.iter().zip(1..) {
            let other = function_of(&mut store, operand, &step.operand, created)?;
            func = store.combined(func, &step.operation, other)?;
        }
        Ok(Meaning::single(Spec::Set { first, steps }, endian, store, |_| Ok(func))?)
    }

    /// As [`Meaning::prove`], and that the kernel recognizes those of the `known` syscalls (arch tokens and numbers) as constant
    /// allow that are always allowed (`seccomp_is_const_allow` in kernel/seccomp.c).
    ///
    /// # Errors
    /// [`NotProved`].
    pub fn prove_with_cache(
        &mut self,
        program: &Program,
        known: &[(u32, u32)],
    ) -> Result<Proved, NotProved> {
        let proved = self.prove(program)?;
        self.check_constant_allow(program, known)?;
        Ok(proved)
    }

    /// As [`Meaning::prove_with_cache`], for a program with variables, whatever the values of the variables are.
    ///
    /// # Errors
    /// [`NotProved`]: the program computes another function for some values, or its function cannot be found within
    /// the budget. Comparisons with variables count as independent of each other, so a program that makes other
    /// comparisons is not proved even if they amount to the same: `fd >= $x` for `fd > $x || fd == $x`.
    pub fn prove_template(
        &mut self,
        template: &Template,
        known: &[(u32, u32)],
    ) -> Result<Proved<Template>, NotProved> {
        self.store.reset_steps();
        let func = self.store.template(template, self.endian)?;
        self.accept(func, template.program())?;
        self.check_constant_allow(template.program(), known)?;
        Ok(Proved::new(template.clone(), self.spec.clone()))
    }

    fn check_constant_allow(
        &self,
        program: &Program,
        known: &[(u32, u32)],
    ) -> Result<(), NotProved> {
        let mut emulator = Emulator::new(program.insns());
        for (token, nr) in known {
            let of_arch = self.store.follow(self.func, Word::ARCH, *token);
            let verdict = self.store.as_verdict(self.store.follow(of_arch, Word::NR, *nr));
            if verdict == Some(Verdict::ALLOW) && !emulator.is_constant_allow(*token, *nr) {
                return Err(NotProved(Refusal::NotConstantAllow(*token, *nr)));
            }
        }
        Ok(())
    }
}

/// The byte order of all filters.
fn same_endian<'f>(filters: impl Iterator<Item = &'f FilterSpec>) -> Result<Endian, MeaningError> {
    let mut first = None;
    for (operand, filter) in filters.enumerate() {
        if *first.get_or_insert(filter.endian()) != filter.endian() {
            return Err(MeaningError { operand: Some(operand), kind: Kind::ByteOrder });
        }
    }
    first.ok_or(MeaningError { operand: None, kind: Kind::Empty })
}

/// The function of a filter.
fn function_of(
    store: &mut Store,
    operand: usize,
    filter: &FilterSpec,
    created: &mut dyn FnMut(Created),
) -> Result<Func, MeaningError> {
    let func = match filter {
        FilterSpec::Policy(policy) => store.policy_by_syscall(policy, &mut |token, nr, nodes| {
            created(Created { operand, token, nr, nodes });
        }),
        FilterSpec::Program(program, endian) => store.program(program, *endian),
    };
    func.map_err(|error| MeaningError { operand: Some(operand), kind: Kind::Diagram(error) })
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
        let (endian, spec) = (policy.endian(), Spec::Requests(policy.clone()));
        let store = Store::for_layout(IoUringRequest::layout(endian), budget);
        Meaning::single(spec, endian, store, |store| store.request_policy(policy))
    }

    /// The meaning of a program about io_uring requests on machines of this byte order.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn of_request_program(
        program: &LongProgram<IoUringRequest>,
        endian: Endian,
        budget: Budget,
    ) -> Result<Meaning<IoUringRequest>, DiagramError> {
        let spec = Spec::RequestProgram(program.clone(), endian);
        let store = Store::for_layout(IoUringRequest::layout(endian), budget);
        Meaning::single(spec, endian, store, |store| store.program(program, endian))
    }
}

impl Meaning<PacketHead> {
    /// The meaning of a socket filter, for packets of every length.
    ///
    /// ```
    /// use callgate_core::diagram::Budget;
    /// use callgate_core::{Insn, Meaning, NoAncillary, Op, SocketProgram};
    ///
    /// // Packets of ARP on Ethernet: the type is 0x0806.
    /// let program = |insns: &[Insn]| SocketProgram::new(insns.to_vec());
    /// let [drop, keep] = [0, 0x40000].map(|length| Insn::new(Op::RetK, length));
    /// let load = Insn::new(Op::LdHalfAbs, 12);
    /// let one = program(&[load, Insn::branch(Op::JeqK, 0x806, 0, 1), keep, drop])?;
    /// let other = program(&[load, Insn::new(Op::XorK, 0x806), Insn::branch(Op::JeqK, 0, 0, 1), keep, drop])?;
    /// let mut meaning = Meaning::of_socket_program(&one, Budget::default())?;
    /// assert!(meaning.prove_socket_program(&other).is_ok());
    ///
    /// let refused = meaning.prove_socket_program(&program(&[load, keep])?).unwrap_err();
    /// let packet = refused.witness().unwrap().bytes();
    /// assert_eq!((packet.len(), one.run(&packet, &NoAncillary)), (14, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the diagram exceeds its budget; if the program loads what the proof [does not
    /// model](DiagramError::unmodelled_load).
    pub fn of_socket_program(
        program: &SocketProgram,
        budget: Budget,
    ) -> Result<Meaning<PacketHead>, DiagramError> {
        let (spec, endian) = (Spec::SocketProgram(program.clone()), Endian::NATIVE);
        let store = Store::for_layout(PacketHead::layout(endian), budget);
        Meaning::single(spec, endian, store, |store| store.socket_program(program))
    }

    /// Proves that a socket filter computes this function: that it returns the same value for every packet.
    ///
    /// # Errors
    /// [`NotProved`]: the program computes another function, or its function cannot be found within the budget, or
    /// because it loads what the proof [does not model](DiagramError::unmodelled_load).
    pub fn prove_socket_program(
        &mut self,
        program: &SocketProgram,
    ) -> Result<Proved<SocketProgram>, NotProved<PacketHead>> {
        self.store.reset_steps();
        let func = self.store.socket_program(program)?;
        self.accept_func(func)?;
        Ok(Proved::new(program.clone(), self.spec.clone()))
    }
}

impl<D: FilterInput> Meaning<D> {
    /// The meaning whose function `build` creates in the store.
    fn single(
        spec: Spec,
        endian: Endian,
        mut store: Store,
        build: impl FnOnce(&mut Store) -> Result<Func, DiagramError>,
    ) -> Result<Meaning<D>, DiagramError> {
        store.check_layout(D::layout(endian))?;
        let func = build(&mut store)?;
        store.check(func)?;
        Ok(Meaning { store, func, endian, spec: Arc::new(spec), examples: Vec::new() })
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

    /// The number of concrete syscalls for which a proved program is also run: one for each combination of verdicts of a stack,
    /// else 0.
    pub fn examples(&self) -> usize {
        self.examples.len()
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
    pub fn prove(&mut self, program: &Program<D>) -> Result<Proved<Program<D>>, NotProved<D>> {
        self.store.reset_steps();
        let func = self.store.program(program, self.endian)?;
        self.accept(func, program)?;
        Ok(Proved::new(program.clone(), self.spec.clone()))
    }

    /// Accepts the function of a program if it is the same node.
    fn accept(&mut self, func: Func, program: &Program<D>) -> Result<(), NotProved<D>> {
        self.accept_func(func)?;
        let run = |data: &D| program.run(data, self.endian).verdict;
        match self.examples.iter().find(|(data, verdict)| run(data) != *verdict) {
            Some((data, _)) => Err(NotProved(Refusal::Differs(Box::new(*data)))),
            None => Ok(()),
        }
    }

    /// Accepts a function if it is the same node.
    fn accept_func(&mut self, func: Func) -> Result<(), NotProved<D>> {
        // The nodes of this function were checked when it was built, and a store never changes them.
        if func != self.func {
            self.store.check(func)?;
            // The witness is for the message only: without the same node there is no proof.
            let witness = self.store.witness(func, self.func, D::default())?;
            let refusal =
                witness.map_or(Refusal::Unproved, |data| Refusal::Differs(Box::new(data)));
            return Err(NotProved(refusal));
        }
        Ok(())
    }
}
