//! Compilation by cases: without MTBDD, in a fraction of its time.

use callgate_bpf::SyscallTable;
use callgate_codegen::{Aim, generate_by_cases};
use callgate_core::policy::Policy;
use callgate_core::{Arch, Cases, MAX_INSNS, Meaning, NumberInterval, Program, Verdict};

use super::expected::expected_insns;
use super::options::{Compiled, Options, Phase, Stats};

/// The proved program of a policy, with the quick plan; `None` with other plans, and if the MTBDD is needed for the program
/// or for its proof.
pub(super) fn compile_by_cases(
    policy: &Policy,
    options: &Options,
    observe: &mut dyn FnMut(Phase),
) -> Option<Compiled> {
    // The WebAssembly module is downloaded, and this would take 50 kB of it.
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
    let known = always_allowed(&cases, &arches);
    let program = cases.prove_with_cache(&program, &known)?;
    observe(Phase::Proved);
    // Only the MTBDD tells which arguments are permitted.
    let meaning = options.expected_insns.then(|| Meaning::of_policy(policy, options.budget));
    let expected_insns = meaning.and_then(Result::ok).and_then(|meaning| {
        let (store, func) = (meaning.store(), meaning.func());
        let syscalls = options.weights.resolve(store, func, &arches);
        expected_insns(store, func, &program, &syscalls, policy.endian())
    });
    let insns = program.len();
    let stats = Stats { insns, expected_insns, constant_allow: known.len(), nodes: 0 };
    Some(Compiled { program, stats })
}

/// The arch tokens and numbers of the known syscalls that are always allowed.
fn always_allowed(cases: &Cases, arches: &[Arch]) -> Vec<(u32, u32)> {
    let mut allowed = Vec::new();
    for section in cases.sections() {
        let of_token = arches.iter().filter(|arch| arch.token() == section.token);
        let is_allowed =
            |interval: &&NumberInterval| cases.verdict(interval.list) == Some(Verdict::ALLOW);
        for NumberInterval { first, last, .. } in section.intervals.iter().filter(is_allowed) {
            let numbers =
                of_token.clone().flat_map(|arch| arch.syscall_numbers_within(*first, *last));
            allowed.extend(numbers.map(|nr| (section.token, nr)));
        }
    }
    allowed
}
