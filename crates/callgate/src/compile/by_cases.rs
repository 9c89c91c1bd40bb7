//! Compilation by cases: without MTBDD, in a fraction of its time.

use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;
use callgate_bpf::{Emulator, MAX_INSNS, Program};
use callgate_codegen::{Aim, generate_by_cases};
use callgate_proof::policy::Policy;
use callgate_proof::{Cases, Meaning, NumberInterval};

use super::expected::expected_insns;
use super::options::{Compiled, Options, Phase, Stats};

/// The proved program of a policy, with the quick plan; `None` with other plans, and if the MTBDD is needed for the program
/// or for its proof.
pub(super) fn compile_by_cases(
    policy: &Policy,
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Option<Compiled> {
    // The WebAssembly module has no room for this: it may have 2 MiB.
    if options.aim != Aim::Quick || cfg!(target_arch = "wasm32") {
        return None;
    }
    let cases = Cases::of_policy(policy)?;
    let arches: Vec<Arch> = policy.arches().collect();
    let Options { weights, model, instructions, .. } = options;
    let made = generate_by_cases(&cases, weights, &arches, *model, *instructions)?;
    if made.insns.len() > MAX_INSNS {
        return None;
    }
    let program = Program::new(made.insns).ok()?;
    observe(Phase::Generated);
    if !cases.prove(&program) {
        return None;
    }
    let constant_allow = constant_allow(&cases, &arches, &program)?;
    observe(Phase::Proved);
    // Only the MTBDD tells which arguments are permitted.
    let meaning = options.expected_insns.then(|| Meaning::of_policy(policy, options.budget));
    let expected_insns = meaning.and_then(Result::ok).and_then(|meaning| {
        let (store, func) = (meaning.store(), meaning.func());
        let syscalls = options.weights.resolve(store, func, &arches);
        expected_insns(store, func, &program, &syscalls, policy.endian())
    });
    let insns = program.len();
    let stats = Stats { insns, expected_insns, constant_allow, nodes: 0, proved: true };
    Some(Compiled { program, stats })
}

/// The number of known syscalls that are always allowed; `None` if the kernel does not recognize one of them as constant allow.
fn constant_allow(cases: &Cases, arches: &[Arch], program: &Program) -> Option<usize> {
    let mut emulator = Emulator::new(program.insns());
    let mut count = 0;
    for section in cases.sections() {
        let of_token = arches.iter().filter(|arch| arch.token() == section.token);
        let is_allowed =
            |interval: &&NumberInterval| cases.verdict(interval.list) == Some(Verdict::ALLOW);
        for NumberInterval { first, last, .. } in section.intervals.iter().filter(is_allowed) {
            for nr in of_token.clone().flat_map(|arch| arch.syscall_numbers_within(*first, *last)) {
                emulator.is_constant_allow(section.token, nr).then_some(())?;
                count += 1;
            }
        }
    }
    Some(count)
}
