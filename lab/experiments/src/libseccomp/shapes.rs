//! The programs of a policy in both shapes, proved.

use callgate_core::diagram::Store;
use callgate_core::policy::Policy;
use callgate_core::{Insn, Program};

use super::blocks::Order;
use super::error::{ShapeError, ShapeErrorKind};
use super::{blocks, layout, rules};

/// The policy as the list of tests that libseccomp makes by default.
///
/// # Errors
/// When libseccomp cannot express the policy, or the program is too long.
pub fn list(policy: &Policy) -> Result<Program, ShapeError> {
    program(policy, Order::Priority)
}

/// The policy as the binary search that libseccomp makes with `SCMP_FLTATR_CTL_OPTIMIZE` set to 2.
///
/// # Errors
/// When libseccomp cannot express the policy, or the program is too long.
pub fn tree(policy: &Policy) -> Result<Program, ShapeError> {
    program(policy, Order::Tree)
}

fn program(policy: &Policy, order: Order) -> Result<Program, ShapeError> {
    let filters = rules::filters(policy)?;
    let blocks = blocks::of(&filters, policy, order)?;
    let insns: Vec<Insn> = layout::write(blocks);
    let given = insns.len();
    let program = Program::new(insns).map_err(|_| ShapeError(ShapeErrorKind::TooLong { given }))?;

    let mut store = Store::default();
    let failed = |why: &dyn std::fmt::Display| ShapeError(ShapeErrorKind::Diagram(why.to_string()));
    let meant = store.policy(policy).map_err(|error| failed(&error))?;
    let meaning = store.program(&program, policy.endian()).map_err(|error| failed(&error))?;
    if meaning == meant { Ok(program) } else { Err(ShapeError(ShapeErrorKind::Meaning)) }
}

#[cfg(test)]
mod tests {
    use callgate::formats::{container_default, oci};
    use callgate::{Arch, Endian, Verdict};
    use callgate_bpf::{SyscallTable, text};
    use callgate_core::SyscallSet;
    use callgate_core::policy::{Condition, Field, Rule, Section, Test};

    use super::*;

    fn policy(arches: &[Arch]) -> Policy {
        let options = oci::ReadOptions::new(Arch::X86_64, "6.18".parse().unwrap());
        let options = oci::ReadOptions {
            arches: arches.to_vec(),
            enosys_above: Some(oci::EnosysAbove::Off),
            ..options
        };
        container_default(&options).unwrap().policy
    }

    /// Listings of what libseccomp 2.5.4 makes of three rules.
    const LIST: &str = "
        ld arch
        jeq #0xc000003e, next, other
        ld nr
        jge #0x40000000, next, syscalls
        jeq #0xffffffff, next, other
        syscalls: jeq #0, allow, next
        jeq #231, allow, next
        jeq #1, next, deny
        ld args[0].high
        jeq #0, next, deny
        ld args[0].low
        jeq #1, allow, next
        deny: ret ERRNO(1)
        allow: ret ALLOW
        other: ret KILL_PROCESS";
    const TREE: &str = "
        ld arch
        jeq #0xc000003e, next, other
        ld nr
        jge #0x40000000, next, search
        jeq #0xffffffff, next, other
        search: ld nr
        jeq #231, allow, next
        jeq #1, next, read
        ld args[0].high
        jeq #0, next, deny
        ld args[0].low
        jeq #1, allow, deny
        read: jeq #0, allow, next
        deny: ret ERRNO(1)
        allow: ret ALLOW
        other: ret KILL_PROCESS";

    #[test]
    fn small_programs_are_those_of_libseccomp() {
        let bad_arch = Verdict::KILL_PROCESS;
        let rule = |syscalls, when, verdict| Rule { syscalls, when, verdict };
        let stdout = Condition::test(Test::eq(Field::arg(0).unwrap(), 1));
        let rules = vec![
            rule(SyscallSet::one(0), Condition::always(), Verdict::ALLOW),
            rule(SyscallSet::one(1), stdout, Verdict::ALLOW),
            rule(SyscallSet::one(231), Condition::always(), Verdict::ALLOW),
            rule(SyscallSet::range(1 << 30, u32::MAX - 1), Condition::always(), bad_arch),
        ];
        let section = Section::new(Arch::X86_64, rules, Verdict::errno(1));
        let policy = Policy::new(vec![section], bad_arch).unwrap();
        for (listing, program) in [(LIST, list(&policy)), (TREE, tree(&policy))] {
            let raw = text::parse(listing, Endian::Little).unwrap();
            assert_eq!(program.unwrap(), Program::from_raw(&raw).unwrap());
        }
    }

    #[test]
    fn what_libseccomp_cannot_express_is_refused() {
        let options = oci::ReadOptions::new(Arch::X86_64, "6.18".parse().unwrap());
        let enosys = oci::ReadOptions { enosys_above: Some(oci::EnosysAbove::On), ..options };
        let policy = container_default(&enosys).unwrap().policy;
        let error = list(&policy).unwrap_err().to_string();
        assert!(error.contains("all syscall numbers from"), "{error}");
    }

    fn executed(program: &Program, policy: &Policy) -> usize {
        let syscalls = Arch::X86_64.syscalls().map(|(nr, _)| callgate::SeccompData {
            nr,
            arch: Arch::X86_64.token(),
            ..Default::default()
        });
        syscalls.map(|data| program.run(&data, policy.endian()).executed).sum()
    }

    #[test]
    fn both_shapes_mean_what_the_policy_means() {
        for arches in [&[Arch::X86_64][..], &[Arch::X86_64, Arch::X86, Arch::X32]] {
            let policy = policy(arches);
            assert!(list(&policy).unwrap().len() > 300, "{arches:?}");
            assert!(tree(&policy).unwrap().len() > 300, "{arches:?}");
        }
    }

    #[test]
    fn a_tree_executes_less_than_a_list() {
        let policy = policy(&[Arch::X86_64]);
        let (list, tree) = (list(&policy).unwrap(), tree(&policy).unwrap());
        let (list, tree) = (executed(&list, &policy), executed(&tree, &policy));
        assert!(tree * 5 < list, "{tree} {list}");
    }
}
