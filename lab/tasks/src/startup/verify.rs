//! Compares the filters that programs install with the policy.
//!
//! Libraries decide on their own what happens to syscalls of other architectures and of x32. So the verdicts for these are
//! taken from the installed filter, and the policy with these verdicts must be equivalent to it for all syscalls.

use callgate::{Arch, Description, Endian, SeccompData, Verdict, diff};
use callgate_core::policy::{Condition, Policy, Rule};
use callgate_core::{Program, SyscallSet, X32_SYSCALL_BIT};
use callgate_formats::kafel;

use super::builder::POLICY;
use callgate_tasks::Result;

/// What an installed filter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verified {
    pub(super) insns: usize,
    /// The verdict for syscalls of other architectures.
    pub(super) other: Verdict,
    /// The verdict for numbers of x32, on x86-64.
    pub(super) x32: Option<Verdict>,
}

/// Proves that a filter implements the policy for these values of its variables.
pub(super) fn verify(program: &Program, arch: Arch, limit: u64) -> Result<Verified> {
    let verdict = |arch: u32, nr| {
        let data = SeccompData { nr, arch, instruction_pointer: 0, args: [0; 6] };
        program.run(&data, Endian::NATIVE).verdict
    };
    let x32 = (arch == Arch::X86_64).then(|| verdict(arch.token(), X32_SYSCALL_BIT));
    let verified = Verified { insns: program.len(), other: verdict(0, 0), x32 };
    let policy = expected(arch, limit, &verified)?;
    let program = program.clone().into();
    let found = diff(&policy, Description::program(&program, Endian::NATIVE), 1);
    match found.map_err(|error| error.to_string())?.first() {
        None => Ok(verified),
        Some(first) => Err(format!(
            "it is not the policy: number {:#x} of {:#x} with {:x?}: {}, not {}",
            first.data.nr, first.data.arch, first.data.args, first.right, first.left
        )),
    }
}

/// The policy with values, and with the verdicts of a filter for other ABIs.
fn expected(arch: Arch, limit: u64, verified: &Verified) -> Result<Policy> {
    let text = POLICY.replace("$output", "1").replace("$limit", &limit.to_string());
    let policy = kafel::read(&text, &kafel::ReadOptions::new(arch))
        .map_err(|errors| format!("policy.kafel:{errors}"))?
        .policy;
    let sections = policy.sections().iter().map(|section| {
        // libseccomp gives the last number, that of a syscall that a tracer has skipped, the verdict of an unknown number.
        let x32 = verified.x32.map(|verdict| Rule {
            syscalls: SyscallSet::range(X32_SYSCALL_BIT, u32::MAX - 1),
            when: Condition::always(),
            verdict,
        });
        section.with_rules(x32.into_iter().chain(section.rules.iter().cloned()).collect())
    });
    Policy::new(sections.collect(), verified.other).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use callgate::{Options, compile};

    use super::*;

    fn program(text: &str) -> Program {
        let read = kafel::read(text, &kafel::ReadOptions::new(Arch::X86_64)).unwrap();
        compile(&read.policy, &Options::default()).unwrap().program.into()
    }

    #[test]
    fn another_limit_is_another_policy() {
        let with = |limit| program(&POLICY.replace("$output", "1").replace("$limit", limit));
        let verified = verify(&with("4096"), Arch::X86_64, 4096).unwrap();
        assert_eq!((verified.other, verified.x32), (Verdict::KILL_THREAD, Some(Verdict::errno(1))));
        let error = verify(&with("4097"), Arch::X86_64, 4096).unwrap_err();
        assert!(error.contains("it is not the policy"), "{error}");
    }
}
