//! Filters as simple compilers make them, to measure ours beside.
//!
//! [`list`] tests for one number after the other, as libseccomp does by default and as filters written
//! by hand do: every test that fails jumps over the return behind it. [`tree`] is the same with a binary
//! search in front, as libseccomp makes it with `SCMP_FLTATR_CTL_OPTIMIZE=2`: the numbers are sorted, the
//! search ends at groups of four, and in a group they are tested one after the other. Nothing is shared
//! and nothing is joined to ranges, which is what makes such filters long. Both mean exactly what the
//! policy means; a test compares them with it.
//!
//! Limits: the tree is for the first architecture of a policy, others are lists behind it.

use callgate::bpf::{Insn, MAX_INSNS, Op, Program};
use callgate::fuzz::{TooLong, plain_program};
use callgate::policy::{CallSet, Policy, PolicyError, Rule, Section};
use callgate::{Verdict, Word};

/// Numbers in a leaf of the tree.
const GROUP: usize = 4;

/// Why there is no such program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NaiveError {
    /// It would have so many instructions, more than the kernel accepts.
    TooLong {
        /// How many.
        given: usize,
    },
    /// A part of the policy is no policy.
    Policy(PolicyError),
}

impl std::fmt::Display for NaiveError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NaiveError::TooLong { given } => {
                write!(f, "it has {given} instructions, the kernel accepts {MAX_INSNS}")
            }
            NaiveError::Policy(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NaiveError {}

impl From<PolicyError> for NaiveError {
    fn from(error: PolicyError) -> NaiveError {
        NaiveError::Policy(error)
    }
}

impl From<TooLong> for NaiveError {
    fn from(error: TooLong) -> NaiveError {
        NaiveError::TooLong { given: error.given() }
    }
}

/// The policy as a list of numbers.
///
/// # Errors
/// When it is too long.
pub fn list(policy: &Policy) -> Result<Program, NaiveError> {
    let sections = policy.sections().iter().map(one_by_one).collect();
    Ok(plain_program(&Policy::new(sections, policy.bad_arch())?)?)
}

/// The policy as a binary search over numbers.
///
/// # Errors
/// When it is too long.
pub fn tree(policy: &Policy) -> Result<Program, NaiveError> {
    let Some((first, rest)) = policy.sections().split_first() else { return list(policy) };
    let first = one_by_one(first);
    let mut numbers: Vec<u32> =
        first.rules.iter().flat_map(|rule| rule.calls.ranges()).map(|(first, _)| *first).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let rest = rest.iter().map(one_by_one).collect();
    let other = plain_program(&Policy::new(rest, policy.bad_arch())?)?;
    let endian = policy.endian();
    let mut leaves = Vec::new();
    for group in numbers.chunks(GROUP) {
        // Also what lies between the numbers goes to a group, so rules about ranges go to all.
        let belongs = |rule: &&Rule| {
            let ranges = rule.calls.ranges();
            ranges.iter().any(|(low, high)| low != high || group.contains(low))
        };
        let rules = first.rules.iter().filter(belongs).cloned().collect();
        leaves.push((group.first().copied().unwrap_or(0), leaf(first.with_rules(rules))?));
    }
    let search = search(&leaves);
    let mut code = vec![Insn::new(Op::LdWordAbs, Word::ARCH.offset(endian))];
    code.push(Insn::branch(Op::JeqK, first.token(), 1, 0));
    code.push(Insn::new(Op::Ja, (search.len() + 1) as u32));
    code.push(Insn::new(Op::LdWordAbs, Word::NR.offset(endian)));
    code.extend(search);
    code.extend(other.iter().copied());
    let given = code.len();
    Program::new(code).map_err(|_| NaiveError::TooLong { given })
}

/// A section with a rule for each number that a rule is about; of ranges with more than a thousand
/// numbers, which are no list of calls, the rule stays.
fn one_by_one(section: &Section) -> Section {
    const MANY: u32 = 1000;
    let mut rules = Vec::new();
    for rule in &section.rules {
        for (first, last) in rule.calls.ranges().iter().copied() {
            let rule = |calls| Rule { calls, ..rule.clone() };
            if last - first < MANY {
                rules.extend((first..=last).map(|nr| rule(CallSet::one(nr))));
            } else {
                rules.push(rule(CallSet::range(first, last)));
            }
        }
    }
    section.with_rules(rules)
}

/// The instructions of a section alone, once the arch is known.
fn leaf(section: Section) -> Result<Vec<Insn>, NaiveError> {
    let mut insns =
        plain_program(&Policy::new(vec![section], Verdict::KILL_PROCESS)?)?.into_insns();
    // `ld [arch]`, `jeq #token, …, other`: the way in is where the branch goes when it holds.
    let way_in = match insns.get(1) {
        Some(Insn { op: Op::JeqK, jt, .. }) => 2 + usize::from(*jt),
        _ => 0,
    };
    insns.drain(..way_in);
    // The return for other architectures is at the end, and nothing goes there any more.
    Ok(insns)
}

/// A binary search for the last leaf that begins at or below the number.
fn search(leaves: &[(u32, Vec<Insn>)]) -> Vec<Insn> {
    let (left, right) = leaves.split_at(leaves.len() / 2);
    match (leaves, right.first()) {
        ([(_, leaf)], _) => leaf.clone(),
        (_, Some((pivot, _))) => {
            let (below, above) = (search(left), search(right));
            // A branch reaches 255 instructions, `ja` all.
            let mut code = vec![Insn::branch(Op::JgeK, *pivot, 0, 1)];
            code.push(Insn::new(Op::Ja, below.len() as u32));
            code.extend(below);
            code.extend(above);
            code
        }
        (_, None) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use callgate::diagram::Store;
    use callgate::frontend::{container_default, oci};
    use callgate::{Arch, compile};

    use super::*;

    fn policy() -> Policy {
        let options = oci::Options::new(Arch::X86_64, "6.12".parse().unwrap());
        let options = oci::Options { arches: vec![Arch::X86_64, Arch::X86], ..options };
        container_default(&options).unwrap().policy
    }

    #[test]
    fn naive_programs_mean_what_the_policy_means() {
        let policy = policy();
        let mut store = Store::default();
        let meaning = compile::diagram(&mut store, &policy).unwrap();
        for program in [list(&policy).unwrap(), tree(&policy).unwrap()] {
            assert_eq!(store.program(&program, policy.endian()).unwrap(), meaning);
            assert!(program.len() > 600, "{}", program.len());
        }
    }

    #[test]
    fn a_tree_executes_less_than_a_list() {
        let policy = policy();
        let (list, tree) = (list(&policy).unwrap(), tree(&policy).unwrap());
        let executed = |program: &Program| {
            let calls = Arch::X86_64.calls().map(|(nr, _)| callgate::SeccompData {
                nr,
                arch: Arch::X86_64.token(),
                ..Default::default()
            });
            calls.map(|data| program.run(&data, policy.endian()).executed).sum::<usize>()
        };
        assert!(executed(&tree) * 5 < executed(&list), "{} {}", executed(&tree), executed(&list));
    }
}
