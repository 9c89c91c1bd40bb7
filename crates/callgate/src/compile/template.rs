//! Compilation of policies with variables.

use super::diagram::Parts;
use super::error::{CompileError, CompileErrorKind};
use super::generate::generate_template;
use super::options::{CompiledTemplate, Options, Phase};
use callgate_core::policy::{Policy, VariableRelation};
use callgate_core::{Arch, Meaning, Op};

/// Compiles a policy with variables to a program, proved equal for all values of all variables.
///
/// No test is merged or dropped because of a relation between values: two variables may be equal, or equal to a
/// constant of the policy.
///
/// ```
/// use callgate_core::template::{Symbol, Variable};
/// use callgate::compile::{Options, compile_template};
/// use callgate_core::SyscallSet;
/// use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section};
/// use callgate_core::policy::{VariableRelation, VariableTest};
/// use callgate::{Arch, SyscallTable, Verdict};
///
/// let fd = Variable::u32("fd")?;
/// let is_fd = VariableRelation::Cmp(Cmp::Eq);
/// let is_fd = VariableTest::new(Field::arg_low(0).ok_or("no argument")?, is_fd, Symbol::new(0));
/// let read = SyscallSet::one(Arch::X86_64.number("read").ok_or("no read(2)")?);
/// let rules = vec![Rule { syscalls: read, when: is_fd.into(), verdict: Verdict::ALLOW }];
/// let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
/// let policy = Policy::with_variables(vec![section], Verdict::KILL_PROCESS, vec![fd])?;
///
/// let compiled = compile_template(&policy, &Options::default())?;
/// assert_eq!(compiled.template.patches().len(), 1);
/// let program = compiled.template.instantiate(&[7])?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`compile`](super::compile()); and if there are more than
/// [`MAX_COMPARISONS`](callgate_core::diagram::MAX_COMPARISONS) different comparisons with variables.
pub fn compile_template(
    policy: &Policy,
    options: &Options,
) -> Result<CompiledTemplate, CompileError> {
    compile_template_observed(policy, options, &mut |_| ())
}

/// As [`compile_template`]; `observe` is called at the end of each phase.
///
/// # Errors
/// As [`compile_template`].
pub fn compile_template_observed(
    policy: &Policy,
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Result<CompiledTemplate, CompileError> {
    if !options.instructions.allows(Op::JsetK) && shares_bits(policy) {
        return Err(CompileError(CompileErrorKind::SharedBits));
    }
    let mut parts = Parts::default();
    let mut created = |one| parts.add(one);
    let meaning = Meaning::of_policy_with_variables(policy, options.budget, &mut created);
    let compiled = meaning.map_err(CompileError::from).and_then(|mut meaning| {
        let arches: Vec<Arch> = policy.arches().collect();
        generate_template(&mut meaning, policy.variables(), &arches, options, observe)
    });
    compiled.map_err(|error| parts.named(error))
}

/// Whether a condition compares the bits that an argument shares with a variable.
fn shares_bits(policy: &Policy) -> bool {
    let mut shares = false;
    for rule in policy.sections().iter().flat_map(|section| &section.rules) {
        rule.when.for_each_variable_test(&mut |test| {
            shares |= !matches!(test.relation, VariableRelation::Cmp(_));
        });
    }
    shares
}
