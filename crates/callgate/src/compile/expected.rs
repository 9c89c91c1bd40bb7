//! The expected cost of a program: the mean number of executed instructions.

use callgate_bpf::LongProgram;
use callgate_bpf::data::{Endian, SeccompData, Word};
use callgate_codegen::WeightedSyscall;
use callgate_proof::diagram::{Func, Store};

/// The mean number of instructions that a program executes under weights. When no call has any, it is the mean over
/// the calls that are permitted, at least with some arguments; `None` when no call is.
///
/// For a call whose verdict depends on its arguments, it is the mean over the runs of permitted values of
/// the first word that has more than one such run, or the figure for one permitted call where that word
/// has more than 64 runs of any kind. Where nothing is permitted, all arguments are 0.
pub fn expected_insns(
    store: &Store,
    meaning: Func,
    program: &LongProgram,
    calls: &[WeightedSyscall],
    endian: Endian,
) -> Option<f64> {
    // Each architecture is followed once, not once per call.
    let calls: Vec<(&WeightedSyscall, Func)> = calls
        .chunk_by(|a, b| a.token == b.token)
        .flat_map(|calls| {
            let token = calls.first().map(|call| call.token);
            let numbers = token.map_or(meaning, |token| store.follow(meaning, Word::ARCH, token));
            calls.iter().map(move |call| (call, numbers))
        })
        .collect();
    let mean = |weight: &dyn Fn(&WeightedSyscall, Func) -> f64| {
        let (mut sum, mut total) = (0.0, 0.0);
        for (call, numbers) in &calls {
            let weight = weight(call, *numbers);
            if weight > 0.0 {
                sum += weight * executed(store, *numbers, program, call, endian);
                total += weight;
            }
        }
        (total > 0.0).then(|| sum / total)
    };
    mean(&|call, _| call.weight).or_else(|| {
        let permitted =
            |call: &WeightedSyscall, numbers| !permitted(store, numbers, call).is_empty();
        mean(&|call, numbers| f64::from(u8::from(permitted(call, numbers))))
    })
}

/// Calls that are permitted with this number, see [`expected_insns`]; `numbers` is the filter's function for the
/// call's architecture.
fn permitted(store: &Store, numbers: Func, call: &WeightedSyscall) -> Vec<SeccompData> {
    let rest = store.follow(numbers, Word::NR, call.nr);
    callgate_codegen::query::permitted_syscalls(store, rest, first_data(call))
}

/// A call with this number and all arguments 0.
fn first_data(call: &WeightedSyscall) -> SeccompData {
    SeccompData { arch: call.token, nr: call.nr, ..SeccompData::default() }
}

/// How many instructions a program executes for a call, for arguments as [`expected_insns`] says;
/// `numbers` is its function for the call's architecture.
pub(crate) fn executed(
    store: &Store,
    numbers: Func,
    program: &LongProgram,
    call: &WeightedSyscall,
    endian: Endian,
) -> f64 {
    let executed = |data: &SeccompData| program.run(data, endian).executed as f64;
    match permitted(store, numbers, call).as_slice() {
        [] => executed(&first_data(call)),
        calls => calls.iter().map(executed).sum::<f64>() / calls.len() as f64,
    }
}
