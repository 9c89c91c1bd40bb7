//! Filters as sets of syscalls: which filter permits more, and the intersection, union and difference of filters.
//!
//! The sets are ordered by the kernel's order of actions (`seccomp_run_filters` in `kernel/seccomp.c`): for one syscall,
//! the verdict whose action has higher [precedence](Verdict::precedence) is the stricter one. The data of a verdict
//! (an error number) make it neither stricter nor looser.
//!
//! | operation | verdict for a syscall |
//! |---|---|
//! | [`Operation::Intersect`] | the stricter one of both, as for a stack of both filters |
//! | [`Operation::Union`] | the looser one of both |
//! | [`Operation::Subtract`] | of the first filter; but if the second one permits it (ALLOW or LOG), a denial, unless the first filter is stricter |
//!
//! If both verdicts have the same action, the data of the first filter apply.

use crate::compile::{self, CompileError, Compiled, Options, Phase};
use crate::description::Description;
use crate::error::{BuildError, Result};
use callgate_bpf::data::Endian;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::{Action, Verdict};
use callgate_codegen::query::{Difference, differences};
use callgate_proof::Meaning;
use callgate_proof::diagram::{DiagramError, Func, Store};

/// An operation on two filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// What both permit.
    Intersect,
    /// What at least one of them permits.
    Union,
    /// What the first one permits and the second one does not; the rest has this verdict.
    Subtract {
        /// The verdict for what the second filter permits.
        denied: Verdict,
    },
}

/// Filters that are combined from left to right.
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
/// # Ok::<(), callgate::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Expression<'a> {
    first: Description<'a>,
    steps: Vec<(Operation, Description<'a>)>,
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
        mut self,
        operation: Operation,
        other: impl Into<Description<'a>>,
    ) -> Result<Expression<'a>> {
        let other = other.into();
        if other.endian() != self.endian() {
            return Err(BuildError::ByteOrders.into());
        }
        self.steps.push((operation, other));
        Ok(self)
    }

    /// The byte order of the machines that the filters are for.
    pub fn endian(&self) -> Endian {
        self.first.endian()
    }

    /// The function of the result.
    ///
    /// # Errors
    /// If it exceeds the budget of the store.
    pub fn diagram(&self, store: &mut Store) -> Result<Func, CompileError> {
        let mut result = self.first.diagram(store)?;
        for (operation, other) in &self.steps {
            let other = other.diagram(store)?;
            result = combine(store, *operation, result, other)?;
        }
        Ok(result)
    }

    /// Compiles the result to a program, proved equal. The syscalls of `arches` have weights.
    ///
    /// # Errors
    /// As [`compile`](compile::compile).
    pub fn compile(&self, arches: &[Arch], options: &Options) -> Result<Compiled> {
        self.compile_observed(arches, options, &mut |_| ())
    }

    /// As [`Expression::compile`]; `observe` is called at the end of each phase.
    ///
    /// # Errors
    /// As [`compile`](compile::compile).
    pub fn compile_observed(
        &self,
        arches: &[Arch],
        options: &Options,
        observe: &mut dyn FnMut(Phase),
    ) -> Result<Compiled> {
        let build = |store: &mut Store| self.diagram(store);
        let mut meaning = Meaning::build(options.budget, self.endian(), build)?;
        Ok(compile::generate(&mut meaning, arches, options, &|| None, observe)?)
    }
}

/// The result of an operation on two functions.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn combine(
    store: &mut Store,
    operation: Operation,
    first: Func,
    second: Func,
) -> Result<Func, DiagramError> {
    match operation {
        Operation::Intersect => store.highest_precedence(first, second),
        Operation::Union => {
            store.choose(first, second, |one, other| one.precedence() <= other.precedence())
        }
        Operation::Subtract { denied } => {
            let removed = store.replace_verdicts(second, &|verdict| match verdict.action() {
                Action::Allow | Action::Log => denied,
                _ => Verdict::ALLOW,
            })?;
            store.highest_precedence(first, removed)
        }
    }
}

/// The syscalls for which the first filter has a looser verdict than the second one: at most `limit` groups, each with a
/// witness. If there are none, the first filter permits nothing that the second one does not.
///
/// ```
/// use callgate::sets::not_in;
/// use callgate::{Arch, Filter};
///
/// let small = Filter::builder(Arch::X86_64).allow(["read"])?.build()?;
/// let large = Filter::builder(Arch::X86_64).allow(["read", "write"])?.build()?;
/// assert!(not_in(&small, &large, 10)?.is_empty());
/// assert_eq!(not_in(&large, &small, 10)?[0].data.nr, 1); // write
/// # Ok::<(), callgate::Error>(())
/// ```
///
/// # Errors
/// If their byte orders differ, or if they are too complex for the default budget.
pub fn not_in<'a, 'b>(
    first: impl Into<Description<'a>>,
    second: impl Into<Description<'b>>,
    limit: usize,
) -> Result<Vec<Difference>> {
    let (first, second) = (first.into(), second.into());
    if first.endian() != second.endian() {
        return Err(BuildError::ByteOrders.into());
    }
    let mut store = Store::default();
    let (a, b) = (first.diagram(&mut store)?, second.diagram(&mut store)?);
    Ok(not_in_func(&mut store, a, b, limit)?)
}

/// As [`not_in`], for functions of one store.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn not_in_func(
    store: &mut Store,
    first: Func,
    second: Func,
    limit: usize,
) -> Result<Vec<Difference>, DiagramError> {
    // It differs from the first one exactly where that is looser; there it is the second one.
    let both = store.highest_precedence(first, second)?;
    differences(store, first, both, limit)
}

/// The set of syscalls that a function permits (ALLOW or LOG), as a function: ALLOW for these, and
/// [`Verdict::KILL_PROCESS`] for all others. Two functions of a store permit the same if their sets are the same node.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn permitted(store: &mut Store, of: Func) -> Result<Func, DiagramError> {
    store.replace_verdicts(of, &|verdict| match verdict.permits() {
        true => Verdict::ALLOW,
        false => Verdict::KILL_PROCESS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::data::SeccompData;
    use callgate_proof::policy::{Cmp, Condition, Field, Policy, Rule, Section, SyscallSet, Test};

    const DENIED: Verdict = Verdict::errno(13);

    fn policy(rules: &[(u32, Option<u64>, Verdict)], default: Verdict) -> Policy {
        let rules = rules.iter().map(|(nr, arg, verdict)| Rule {
            syscalls: SyscallSet::one(*nr),
            when: arg.map_or(Condition::always(), |value| {
                Condition::test(Test::new(Field::arg(0).unwrap(), Cmp::Lt, value))
            }),
            verdict: *verdict,
        });
        let section = Section::new(Arch::X86_64, rules.collect(), default);
        Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap()
    }

    fn points() -> impl Iterator<Item = SeccompData> {
        (0..12).flat_map(|nr| {
            [0, 4, 5, 9, 10, u64::MAX].map(|arg| SeccompData {
                nr,
                arch: Arch::X86_64.token(),
                args: [arg, 0, 0, 0, 0, 0],
                ..SeccompData::default()
            })
        })
    }

    fn samples() -> [Policy; 4] {
        let (allow, log, trap) = (Verdict::ALLOW, Verdict::LOG, Verdict::trap(0));
        [
            policy(&[(0, None, allow), (1, Some(5), allow), (2, None, trap)], Verdict::errno(1)),
            policy(&[(0, Some(9), log), (1, Some(10), allow), (3, None, allow)], Verdict::errno(2)),
            policy(&[(2, None, Verdict::KILL_PROCESS), (5, Some(4), trap)], allow),
            policy(&[], Verdict::KILL_THREAD),
        ]
    }

    /// The verdicts of all operations on all pairs of some policies, point by point.
    #[test]
    fn the_verdict_is_that_of_the_table() {
        let samples = samples();
        for (a, b) in samples.iter().flat_map(|a| samples.iter().map(move |b| (a, b))) {
            let result = |operation| {
                let expression = Expression::new(a).then(operation, b).unwrap();
                expression.compile(&[Arch::X86_64], &Options::default()).unwrap().program
            };
            let intersection = result(Operation::Intersect);
            let union = result(Operation::Union);
            let rest = result(Operation::Subtract { denied: DENIED });
            for data in points() {
                let of = |program: &callgate_bpf::Program| program.run(&data, a.endian()).verdict;
                let (one, other) = (a.evaluate(&data), b.evaluate(&data));
                let is_looser = one.precedence() < other.precedence();
                let is_stricter = one.precedence() > other.precedence();
                assert_eq!(of(&intersection), if is_looser { other } else { one });
                assert_eq!(of(&union), if is_stricter { other } else { one });
                let is_removed = matches!(other, Verdict::ALLOW | Verdict::LOG)
                    && one.precedence() < DENIED.precedence();
                assert_eq!(of(&rest), if is_removed { DENIED } else { one }, "{one} {other}");
            }
        }
    }

    #[test]
    fn a_filter_is_within_another_if_no_syscall_has_a_looser_verdict() {
        let samples = samples();
        for (a, b) in samples.iter().flat_map(|a| samples.iter().map(move |b| (a, b))) {
            let is_looser =
                |data: &SeccompData| a.evaluate(data).precedence() < b.evaluate(data).precedence();
            let found = not_in(a, b, 100).unwrap();
            assert_eq!(found.is_empty(), !points().any(|data| is_looser(&data)));
            for witness in found {
                assert!(is_looser(&witness.data));
                let verdicts = (a.evaluate(&witness.data), b.evaluate(&witness.data));
                assert_eq!((witness.left, witness.right), verdicts);
            }
        }
    }

    #[test]
    fn the_permitted_set_does_not_depend_on_how_the_rest_is_denied() {
        let mut store = Store::default();
        for sample in samples() {
            let whole = Expression::new(&sample).diagram(&mut store).unwrap();
            let permitted = permitted(&mut store, whole).unwrap();
            for data in points() {
                let expected = match sample.evaluate(&data).permits() {
                    true => Verdict::ALLOW,
                    false => Verdict::KILL_PROCESS,
                };
                assert_eq!(store.evaluate(permitted, &data).unwrap(), expected);
            }
        }
    }

    #[test]
    fn different_error_numbers_are_equally_strict() {
        let [a, b] = [1, 2].map(|errno| policy(&[], Verdict::errno(errno)));
        assert!(not_in(&a, &b, 1).unwrap().is_empty() && not_in(&b, &a, 1).unwrap().is_empty());
    }

    #[test]
    fn filters_of_different_byte_orders_cannot_be_combined() {
        let big = Policy::new(
            vec![Section::new(Arch::S390x, Vec::new(), Verdict::ALLOW)],
            Verdict::KILL_PROCESS,
        )
        .unwrap();
        let [little, ..] = samples();
        assert!(Expression::new(&little).then(Operation::Union, &big).is_err());
        assert!(not_in(&little, &big, 1).is_err());
    }
}
