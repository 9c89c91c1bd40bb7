//! Filters that are combined from left to right.

use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, Denial, Endian, Meaning, SetOperation, SetStep, Verdict};

use super::defaults::{allows_unnamed, denied_by_default};
use super::operation::{Kind, Operation, SetError};
use crate::compile::{self, CompileError, Compiled, Options, Phase};
use crate::description::Description;

/// EPERM, the verdict for what is removed from a filter that allows by default.
const DENIED: Verdict = Verdict::errno(1);

/// Filters that are combined from left to right.
///
/// An operand of a union or a difference must not be a denylist: on none of the architectures, most of the numbers that no
/// syscall has may be allowed. The first filter may be one if only syscalls are added or removed.
///
/// ```
/// use callgate::sets::{Expression, Operation};
/// use callgate::{Arch, Filter, Options, SeccompData, Verdict};
///
/// let one = Filter::builder(Arch::X86_64).allow(["read", "write"])?.build()?;
/// let other = Filter::builder(Arch::X86_64).allow(["write", "close"])?.build()?;
/// let both = Expression::new(&one).then(Operation::Union, &other)?;
/// let program = both.compile(&[Arch::X86_64], &Options::default())?.program;
/// let close = SeccompData { nr: 3, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(program.run(&close, both.endian()).verdict, Verdict::ALLOW);
///
/// let denylist = Filter::builder(Arch::X86_64).default(Verdict::ALLOW).deny(["close"])?.build()?;
/// let both = Expression::new(&one).then(Operation::Union, &denylist)?;
/// let error = both.compile(&[Arch::X86_64], &Options::default()).unwrap_err();
/// assert!(error.to_string().contains("allows what it does not name"));
/// # Ok::<(), callgate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Expression<'a> {
    first: Description<'a>,
    steps: Vec<Step<'a>>,
}

#[derive(Clone, Debug)]
struct Step<'a> {
    operation: Operation,
    operand: Description<'a>,
    /// Whether the operand stands for syscalls that the user names one by one.
    is_syscall: bool,
}

impl<'a> Expression<'a> {
    /// One filter.
    pub fn new(first: impl Into<Description<'a>>) -> Expression<'a> {
        Expression { first: first.into(), steps: Vec::new() }
    }

    /// The result of an operation on these filters and another one.
    ///
    /// # Errors
    /// If the other filter is for machines of the other byte order.
    pub fn then(
        self,
        operation: Operation,
        other: impl Into<Description<'a>>,
    ) -> Result<Expression<'a>, SetError> {
        self.with(Step { operation, operand: other.into(), is_syscall: false })
    }

    /// The result of adding or removing single syscalls: those that a filter allows.
    ///
    /// # Errors
    /// If the filter is for machines of the other byte order; for [`Operation::Intersect`], which would leave only these
    /// syscalls.
    pub fn then_syscalls(
        self,
        operation: Operation,
        syscalls: impl Into<Description<'a>>,
    ) -> Result<Expression<'a>, SetError> {
        if operation == Operation::Intersect {
            return Err(SetError(Kind::OnlyOneSyscall { operand: self.steps.len() + 1 }));
        }
        self.with(Step { operation, operand: syscalls.into(), is_syscall: true })
    }

    fn with(mut self, step: Step<'a>) -> Result<Expression<'a>, SetError> {
        if step.operand.endian() != self.endian() {
            return Err(SetError(Kind::ByteOrders { operand: self.steps.len() + 1 }));
        }
        self.steps.push(step);
        Ok(self)
    }

    /// The byte order of the machines that the filters are for.
    pub fn endian(&self) -> Endian {
        self.first.endian()
    }

    /// The function of the result, for machines of these architectures.
    ///
    /// # Errors
    /// If it exceeds the budget of the store; if an operand of a union or a difference is a denylist on one of the
    /// architectures.
    pub fn diagram(&self, store: &mut Store, arches: &[Arch]) -> Result<Func, SetError> {
        Ok(self.resolved(store, arches)?.0)
    }

    /// The function of the result, and the steps that lead to it.
    fn resolved(
        &self,
        store: &mut Store,
        arches: &[Arch],
    ) -> Result<(Func, Vec<SetStep>), SetError> {
        let mut steps = Vec::new();
        let first = self.first.diagram(store)?;
        let denylist = |store: &Store, func: Func| {
            arches.iter().copied().find(|arch| allows_unnamed(store, func, *arch))
        };
        let mut result = first;
        for (step, operand) in self.steps.iter().zip(1..) {
            let Step { operation, operand: other, is_syscall } = step;
            let other = other.diagram(store)?;
            if *operation != Operation::Intersect && !is_syscall {
                let refuse = |operand, with, arch| {
                    SetError(Kind::Denylist { operand, with, operation: *operation, arch })
                };
                if let Some(arch) = denylist(store, other) {
                    return Err(refuse(operand, 0, arch));
                }
                // A union with a denylist allows nearly everything, whichever comes first.
                let left = match operation {
                    Operation::Union => denylist(store, result),
                    Operation::Intersect | Operation::Subtract { .. } => None,
                };
                if let Some(arch) = left {
                    return Err(refuse(0, operand, arch));
                }
            }
            let operation = match operation {
                Operation::Intersect => SetOperation::Intersect,
                Operation::Union => SetOperation::Union(arches.to_vec()),
                Operation::Subtract { denied: Some(verdict) } => {
                    SetOperation::Subtract(Denial { by_token: Vec::new(), others: *verdict })
                }
                Operation::Subtract { denied: None } => {
                    SetOperation::Subtract(self.defaults(store, first, arches)?)
                }
            };
            result = store.combined(result, &operation, other)?;
            steps.push(SetStep { operation, operand: step.operand.spec() });
        }
        Ok((result, steps))
    }

    /// The verdict that the first filter has by default, by arch token.
    fn defaults(&self, store: &Store, first: Func, arches: &[Arch]) -> Result<Denial, SetError> {
        let or_denied = |verdict: Option<Verdict>| {
            verdict.filter(|verdict| !verdict.permits()).unwrap_or(DENIED)
        };
        let policy = self.first.as_policy();
        let other = or_denied(policy.map(|policy| policy.bad_arch()));
        let mut by_token = Vec::new();
        for arch in arches {
            let token = arch.token();
            let section = policy.and_then(|policy| {
                policy.sections().iter().find(|section| section.token() == token)
            });
            let verdict = match section {
                Some(section) => Some(section.default),
                None if allows_unnamed(store, first, *arch) => None,
                None => denied_by_default(store, first, token, arches)?,
            };
            by_token.push((token, or_denied(verdict)));
        }
        Ok(Denial { by_token, others: other })
    }

    /// Compiles the result to a program, proved equal. The syscalls of `arches` have weights.
    ///
    /// # Errors
    /// As [`compile`](compile::compile) and [`Expression::diagram`].
    pub fn compile(&self, arches: &[Arch], options: &Options) -> Result<Compiled, SetError> {
        self.compile_observed(arches, options, &mut |_| ())
    }

    /// As [`Expression::compile`]; `observe` is called at the end of each phase.
    ///
    /// # Errors
    /// As [`Expression::compile`].
    pub fn compile_observed(
        &self,
        arches: &[Arch],
        options: &Options,
        observe: &mut dyn FnMut(Phase),
    ) -> Result<Compiled, SetError> {
        // The proof makes the function anew, from the steps, so that nothing here has to be trusted.
        let (_, steps) = self.resolved(&mut Store::new(options.budget), arches)?;
        let meaning = Meaning::of_set(self.first.spec(), steps, options.budget, &mut |_| ());
        let mut meaning = meaning.map_err(|error| CompileError::from(error.kind))?;
        Ok(compile::generate(&mut meaning, arches, options, &|| None, observe)?)
    }
}
