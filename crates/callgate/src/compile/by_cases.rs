//! Compilation by cases: without MTBDD, in a fraction of its time.

use callgate_bpf::syscalls::Arch;
use callgate_bpf::{Emulator, MAX_INSNS, Program};
use callgate_codegen::{Aim, generate_by_cases, weighted_syscalls};
use callgate_proof::policy::Policy;
use callgate_proof::{Cases, Meaning};

use super::expected::expected_insns;
use super::options::{Compiled, Options, Phase, Stats};

/// The proved program of a policy, with the quick plan; `None` with other plans, and if the MTBDD is needed for the program
/// or for its proof.
pub(super) fn compile_by_cases(
    policy: &Policy,
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Option<Compiled> {
    if options.aim != Aim::Quick {
        return None;
    }
    let cases = Cases::of_policy(policy)?;
    let arches: Vec<Arch> = policy.arches().collect();
    let syscalls = weighted_syscalls(&options.weights, &cases, &arches);
    let made = generate_by_cases(&cases, &syscalls, options.model, options.instructions)?;
    if made.insns.len() > MAX_INSNS {
        return None;
    }
    let program = Program::new(made.insns).ok()?;
    observe(Phase::Generated);
    if !cases.prove(&program) {
        return None;
    }
    let mut emulator = Emulator::new(program.insns());
    let mut allowed = syscalls.iter().filter(|syscall| syscall.always_allowed);
    if !allowed.all(|syscall| emulator.is_constant_allow(syscall.token, syscall.nr)) {
        return None;
    }
    observe(Phase::Proved);
    let expected_insns = match options.expected_insns {
        true => {
            let meaning = Meaning::of_policy(policy, options.budget).ok()?;
            let (store, func) = (meaning.store(), meaning.func());
            expected_insns(store, func, &program, &syscalls, policy.endian())
        }
        false => None,
    };
    let stats = Stats {
        insns: program.len(),
        expected_insns,
        constant_allow: syscalls.iter().filter(|syscall| syscall.always_allowed).count(),
        nodes: 0,
        proved: true,
    };
    Some(Compiled { program, stats })
}
