//! The expected cost of a program: the mean number of executed instructions.

use callgate_bpf::LongProgram;
use callgate_bpf::data::{Endian, SeccompData, Word};
use callgate_codegen::WeightedSyscall;
use callgate_proof::diagram::{Func, Store};

/// The mean number of instructions that a program executes under weights. Without weights, it is the mean over the
/// syscalls that are permitted for some arguments; `None` if there are none.
///
/// The figure of a syscall whose verdict depends on arguments is the mean over the permitted intervals of the first word
/// with more than one of them. If that word has more than 64 intervals, permitted or not, it is the figure for
/// one permitted value. If nothing is permitted, all arguments are 0.
pub fn expected_insns(
    store: &Store,
    meaning: Func,
    program: &LongProgram,
    syscalls: &[WeightedSyscall],
    endian: Endian,
) -> Option<f64> {
    let mean = |weight: &dyn Fn(&WeightedSyscall, Func) -> f64| {
        let (mut sum, mut total) = (0.0, 0.0);
        for of_arch in syscalls.chunk_by(|a, b| a.token == b.token) {
            // The cofactor for an arch is computed once, not once per syscall.
            let token = of_arch.first().map(|syscall| syscall.token);
            let numbers = token.map_or(meaning, |token| store.follow(meaning, Word::ARCH, token));
            for syscall in of_arch {
                let weight = weight(syscall, numbers);
                if weight > 0.0 {
                    sum += weight * executed(store, numbers, program, syscall, endian);
                    total += weight;
                }
            }
        }
        (total > 0.0).then(|| sum / total)
    };
    mean(&|syscall, _| syscall.weight).or_else(|| {
        let permitted =
            |syscall: &WeightedSyscall, numbers| !permitted(store, numbers, syscall).is_empty();
        mean(&|syscall, numbers| f64::from(u8::from(permitted(syscall, numbers))))
    })
}

/// Permitted syscalls with this number, see [`expected_insns`]; `numbers` is the cofactor of the filter for the arch.
fn permitted(store: &Store, numbers: Func, syscall: &WeightedSyscall) -> Vec<SeccompData> {
    let rest = store.follow(numbers, Word::NR, syscall.nr);
    callgate_codegen::query::permitted_syscalls(store, rest, first_data(syscall))
}

/// A syscall with this number and all arguments 0.
fn first_data(syscall: &WeightedSyscall) -> SeccompData {
    SeccompData { arch: syscall.token, nr: syscall.nr, ..SeccompData::default() }
}

/// The number of instructions that a program executes for a syscall, as defined by [`expected_insns`]; `numbers` is the
/// cofactor of the filter for the arch.
pub(crate) fn executed(
    store: &Store,
    numbers: Func,
    program: &LongProgram,
    syscall: &WeightedSyscall,
    endian: Endian,
) -> f64 {
    let samples = samples(store, numbers, syscall);
    let executed = samples.iter().map(|data| program.run(data, endian).executed as f64);
    executed.sum::<f64>() / samples.len() as f64
}

/// Syscalls with this number that stand for all, as defined by [`expected_insns`]; at least one.
pub(super) fn samples(store: &Store, numbers: Func, syscall: &WeightedSyscall) -> Vec<SeccompData> {
    if store.as_verdict(store.follow(numbers, Word::NR, syscall.nr)).is_some() {
        return vec![first_data(syscall)];
    }
    let permitted = permitted(store, numbers, syscall);
    if permitted.is_empty() { vec![first_data(syscall)] } else { permitted }
}
