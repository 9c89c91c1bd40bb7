//! What a program executes under weights: which instructions, and how many for each syscall.

use callgate_codegen::{Permission, WeightedSyscall};
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, Emulator, Endian, LongProgram, Program, Word};

use super::expected::{Basis, counted, samples};

/// The execution of a program under weights. Without weights, and for the arguments of a syscall, it is that of
/// [`expected_insns`](super::expected_insns).
#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    /// The syscalls over which means are taken.
    pub basis: Basis,
    /// Per instruction.
    pub insns: Vec<InsnShare>,
    /// The syscalls with a weight, the most frequent first.
    pub syscalls: Vec<SyscallCost>,
    /// The number of syscalls, with or without a weight, that the kernel's cache allows without executing the program.
    pub cached: usize,
}

/// How often an instruction is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InsnShare {
    /// The share of the syscalls that execute it, from 0 to 1.
    pub executed: f64,
    /// Of a branch, the share of the syscalls for which its condition holds; at most `executed`.
    pub taken: f64,
}

/// The cost of a syscall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SyscallCost {
    /// The syscall. The sum of all weights is 1.
    pub syscall: WeightedSyscall,
    /// The mean number of executed instructions.
    pub executed: f64,
}

impl SyscallCost {
    /// Whether the kernel's cache allows the syscall without executing the program.
    pub fn is_cached(&self) -> bool {
        is_cached(&self.syscall)
    }
}

/// Whether the kernel's cache (Linux 5.11) allows a syscall. It does not contain x32 numbers.
fn is_cached(syscall: &WeightedSyscall) -> bool {
    syscall.is_always_allowed() && Arch::of_syscall(syscall.token, syscall.nr) != Some(Arch::X32)
}

impl Execution {
    /// Executes a program, which has this meaning, for all syscalls with a weight.
    pub fn new(
        store: &Store,
        meaning: Func,
        program: &LongProgram,
        weighted: &[WeightedSyscall],
        endian: Endian,
    ) -> Execution {
        let (weighted, basis) = counted(store, meaning, weighted);
        let total: f64 = weighted.iter().map(|syscall| syscall.weight).sum();
        let mut insns = vec![InsnShare::default(); program.len()];
        let mut syscalls = Vec::new();
        for of_arch in weighted.chunk_by(|a, b| a.token == b.token) {
            let Some(first) = of_arch.first() else { continue };
            let numbers = store.follow(meaning, Word::ARCH, first.token);
            for syscall in of_arch.iter().filter(|syscall| syscall.weight > 0.0) {
                let rest = store.follow(numbers, Word::NR, syscall.nr);
                let samples = samples(store, rest, syscall);
                let weight = syscall.weight / total;
                let each = weight / samples.len() as f64;
                let mut executed = 0;
                for data in &samples {
                    let run = program.trace(data, endian, |step| {
                        if let Some(insn) = insns.get_mut(step.index) {
                            insn.executed += each;
                            insn.taken += if step.holds() == Some(true) { each } else { 0.0 };
                        }
                    });
                    executed += run.executed;
                }
                let executed = executed as f64 / samples.len() as f64;
                let syscall = WeightedSyscall { weight, ..*syscall };
                syscalls.push(SyscallCost { syscall, executed });
            }
        }
        syscalls.sort_by(|a, b| b.syscall.weight.total_cmp(&a.syscall.weight));
        let cached = weighted.iter().filter(|syscall| is_cached(syscall)).count();
        Execution { basis, insns, syscalls, cached }
    }

    /// The same for a program that Callgate did not compile, of whose always-allowed syscalls the kernel's cache may not
    /// recognize all.
    pub fn of_given(
        store: &Store,
        meaning: Func,
        program: &LongProgram,
        weighted: &[WeightedSyscall],
        endian: Endian,
    ) -> Execution {
        let for_the_kernel = Program::try_from(program.clone()).ok();
        let mut emulator = for_the_kernel.as_ref().map(|program| Emulator::new(program.insns()));
        let mut is_recognized = |syscall: &WeightedSyscall| {
            let emulator = emulator.as_mut();
            emulator.is_some_and(|emulator| emulator.is_constant_allow(syscall.token, syscall.nr))
        };
        let mut weighted = weighted.to_vec();
        for syscall in weighted.iter_mut().filter(|syscall| syscall.is_always_allowed()) {
            if !is_recognized(syscall) {
                syscall.permission = Permission::Filtered;
            }
        }
        Execution::new(store, meaning, program, &weighted, endian)
    }

    /// The mean number of executed instructions per syscall; `None` if the filter permits nothing and nothing has a weight.
    pub fn mean(&self) -> Option<f64> {
        self.mean_of(|_| true)
    }

    /// The same, if the kernel's cache answers what it contains without executing the filter.
    pub fn mean_with_cache(&self) -> Option<f64> {
        self.mean_of(|cost| !cost.is_cached())
    }

    fn mean_of(&self, executes: impl Fn(&SyscallCost) -> bool) -> Option<f64> {
        let executed = self.syscalls.iter().filter(|cost| executes(cost));
        // Not `sum`, which is -0 of nothing.
        let sum = executed.fold(0.0, |sum, cost| sum + cost.syscall.weight * cost.executed);
        (!self.syscalls.is_empty()).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::{Options, compile, diagram, expected_insns};
    use crate::{Arch, Filter, Verdict, arg};
    use callgate_bpf::SyscallTable;
    use callgate_codegen::Weights;

    #[test]
    fn shares_and_means_are_those_of_the_weights() {
        let filter = Filter::builder(Arch::X86_64)
            .default(Verdict::errno(1))
            .allow(["read", "write"])
            .unwrap()
            .allow_if("fcntl", arg("cmd").eq(3))
            .unwrap()
            .build()
            .unwrap();
        let policy = filter.policy();
        let program = compile(policy, &Options::default()).unwrap().program;
        let mut store = Store::default();
        let meaning = diagram(&mut store, policy).unwrap();
        let counts = [("read", 6.0), ("fcntl", 3.0), ("mount", 1.0)];
        let counts = counts.map(|(name, count)| (name.to_owned(), count));
        let weights = Weights::counts(counts).unwrap();
        let weighted = weights.resolve(&store, meaning, &[Arch::X86_64]);
        let endian = policy.endian();
        let execution = Execution::new(&store, meaning, &program, &weighted, endian);
        let shares: Vec<f64> = execution.syscalls.iter().map(|cost| cost.syscall.weight).collect();
        assert!(
            shares.iter().zip([0.6, 0.3, 0.1]).all(|(a, b)| (a - b).abs() < 1e-9),
            "{shares:?}"
        );
        let mean = execution.mean().unwrap();
        let expected = expected_insns(&store, meaning, &program, &weighted, endian).unwrap();
        assert!((mean - expected).abs() < 1e-9, "{mean} {expected}");
        let of_insns: f64 = execution.insns.iter().map(|insn| insn.executed).sum();
        assert!((mean - of_insns).abs() < 1e-9, "{mean} {of_insns}");
        assert!((execution.insns[0].executed - 1.0).abs() < 1e-9);
        assert!(execution.insns.iter().all(|insn| insn.taken <= insn.executed));
        let cached = execution.mean_with_cache().unwrap();
        let read = execution.syscalls[0].executed;
        assert!((mean - cached - 0.6 * read).abs() < 1e-9, "{mean} {cached} {read}");
        let nothing = Execution::new(&store, meaning, &program, &[], endian);
        assert_eq!((nothing.mean(), nothing.mean_with_cache()), (None, None));
    }

    /// The execution of the compiled program of a filter under uniform weights, and the mean of the compiler.
    fn uniform(filter: &Filter, arches: &[Arch]) -> (Execution, Option<f64>) {
        let policy = filter.policy();
        let compiled = compile(policy, &Options::default()).unwrap();
        let mut store = Store::default();
        let meaning = diagram(&mut store, policy).unwrap();
        let weighted = Weights::uniform().resolve(&store, meaning, arches);
        let execution =
            Execution::new(&store, meaning, &compiled.program, &weighted, policy.endian());
        (execution, compiled.stats.expected_insns)
    }

    #[test]
    fn without_an_always_allowed_syscall_the_permitted_ones_count() {
        let filter = Filter::builder(Arch::X86_64)
            .allow_if("read", arg("fd").eq(1))
            .and_then(|builder| builder.build())
            .unwrap();
        let (execution, expected) = uniform(&filter, &[Arch::X86_64]);
        assert_eq!(execution.basis, Basis::Permitted);
        assert_eq!((execution.syscalls.len(), execution.cached), (1, 0));
        assert!(execution.mean().is_some());
        assert_eq!(execution.mean(), expected);
        let nothing = Filter::builder(Arch::X86_64).build().unwrap();
        let (execution, expected) = uniform(&nothing, &[Arch::X86_64]);
        assert_eq!((execution.mean(), expected), (None, None));
    }

    #[test]
    fn the_cache_does_not_contain_x32_numbers() {
        let filter =
            Filter::builder([Arch::X86_64, Arch::X32]).default(Verdict::ALLOW).build().unwrap();
        let known = Arch::X86_64.syscalls().count();
        let (both, _) = uniform(&filter, &[Arch::X86_64, Arch::X32]);
        assert_eq!(both.cached, known);
        assert_eq!(both.mean_with_cache(), Some(0.0));
        let (x32, _) = uniform(&filter, &[Arch::X32]);
        assert_eq!((x32.cached, x32.mean_with_cache()), (0, x32.mean()));
    }
}
