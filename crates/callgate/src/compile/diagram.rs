//! The diagram of a policy, with an error that names the syscalls that need most nodes.

use super::error::{CompileError, CompileErrorKind};
use super::too_complex::TooComplex;
use callgate_core::Created;
use callgate_core::diagram::{Func, Store};
use callgate_core::policy::Policy;

/// The function that a policy describes, as [`Store::policy`]; but the error names the syscalls that need most nodes.
///
/// # Errors
/// If it exceeds the budget of the store.
pub fn diagram(store: &mut Store, policy: &Policy) -> Result<Func, CompileError> {
    let mut parts = Parts::default();
    parts.diagram(store, policy).map_err(|error| parts.named(error))
}

/// The nodes of each group of syscalls with the same rules.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts(Vec<(u32, u32, usize)>);

impl Parts {
    /// As [`diagram`].
    fn diagram(&mut self, store: &mut Store, policy: &Policy) -> Result<Func, CompileError> {
        let mut created = |token, nr, nodes| self.0.push((token, nr, nodes));
        store.policy_by_syscall(policy, &mut created).map_err(CompileError::from)
    }

    /// Takes what [`Meaning`](callgate_core::Meaning) tells.
    pub(crate) fn add(&mut self, created: Created) {
        self.0.push((created.token, created.nr, created.nodes));
    }

    /// The error of this step or a later one; if the budget is exceeded, it names the syscalls that need most nodes.
    pub(crate) fn named(self, error: CompileError) -> CompileError {
        match error.0 {
            CompileErrorKind::Diagram(limit) if limit.exceeds_budget() => {
                TooComplex::new(limit, self.0).into()
            }
            kind => CompileError(kind),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::{Options, compile, compile_template};
    use callgate_core::policy::{
        Cmp, Condition, Field, Policy, Rule, Section, Test, VariableRelation, VariableTest,
    };
    use callgate_core::template::{Symbol, Variable};
    use callgate_core::{Arch, SyscallSet, Verdict};

    /// Unrelated conditions on two arguments: the diagram has a case for each pair of values.
    fn pairs(nr: u32, count: u64) -> impl Iterator<Item = Rule> {
        let scattered = |value: u64| value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        (0..count).map(move |value| {
            let test = |index, value| {
                Condition::test(Test::eq(Field::arg_low(index).unwrap(), scattered(value)))
            };
            let when = Condition::any([test(0, value), test(1, value + count)]);
            let verdict = Verdict::errno((value % 4000) as u16);
            Rule { syscalls: SyscallSet::one(nr), when, verdict }
        })
    }

    #[test]
    fn the_syscalls_that_need_most_nodes_are_named() {
        let rules = pairs(41, 50).chain(pairs(16, 3000)).chain(pairs(72, 100)).collect();
        let section = Section::new(Arch::X86_64, rules, Verdict::ALLOW);
        let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
        let error = compile(&policy, &Options::default()).unwrap_err();
        assert!(error.to_string().contains("nodes (the limit)"), "{error}");
        let help = error.help().unwrap();
        let first = help.lines().nth(1).unwrap();
        assert!(first.ends_with("  ioctl (x86_64)"), "{help}");
        let nodes: usize = first.split_whitespace().next().unwrap().parse().unwrap();
        assert!((1_500_000..=2_000_000).contains(&nodes), "{help}");
        assert!(help.lines().all(|line| line.len() <= 80), "{help}");
    }

    /// The limit of comparisons is not one of nodes, so the help lists no nodes.
    #[test]
    fn the_limit_of_comparisons_has_its_own_help() {
        let fields: Vec<Field> = (0..6).filter_map(Field::arg_low).collect();
        let variables: Vec<Variable> =
            (0..64).map(|index| Variable::u32(format!("v{index}")).unwrap()).collect();
        let each = fields.iter().flat_map(|field| {
            let relation = VariableRelation::Cmp(Cmp::Eq);
            let test = move |index| VariableTest::new(*field, relation, Symbol::new(index));
            (0..64).map(move |index| Condition::variable(test(index)))
        });
        let when = Condition::any(each);
        let rule = Rule { syscalls: SyscallSet::one(1), when, verdict: Verdict::ALLOW };
        let section = Section::new(Arch::X86_64, vec![rule], Verdict::KILL_PROCESS);
        let policy = Policy::with_variables(vec![section], Verdict::KILL_PROCESS, variables);
        let policy = policy.unwrap();
        let error = compile_template(&policy, &Options::default()).unwrap_err();
        assert!(error.to_string().contains("more than 256 different comparisons"), "{error}");
        let help = error.help().unwrap();
        assert!(help.contains("fewer variables") && !help.contains("nodes"), "{help}");
    }
}
