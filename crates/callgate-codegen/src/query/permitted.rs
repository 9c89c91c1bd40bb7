//! Calls that a function permits.

use super::partition;
use rustc_hash::FxHashSet;

use callgate_bpf::data::SeccompData;
use callgate_bpf::verdict::Verdict;
use callgate_proof::diagram::{Func, Store};

/// How many runs of values of one word are told apart at the most.
const MAX_RUNS: usize = 64;

/// A call that the function permits (ALLOW or LOG), close to `start`; `None` when there is none.
pub fn permitted(store: &Store, func: Func, start: SeccompData) -> Option<SeccompData> {
    let mut dead = FxHashSet::default();
    let mut data = start;
    permitted_from(store, func, &mut data, &mut dead).then_some(data)
}

/// Goes down one variable at a time; functions in `dead` permit nothing.
fn permitted_from(
    store: &Store,
    func: Func,
    data: &mut SeccompData,
    dead: &mut FxHashSet<Func>,
) -> bool {
    let Some(word) = store.top_word(func) else {
        return store.as_verdict(func).is_some_and(Verdict::permits);
    };
    if dead.contains(&func) {
        return false;
    }
    let bit = 1 << (31 - u32::from(store.var(func) % 32));
    let (low, high) = store.children(func);
    let value = data.word(word);
    let (near, far) = if value & bit == 0 { (low, high) } else { (high, low) };
    if permitted_from(store, near, data, dead) {
        return true;
    }
    data.set_word(word, value ^ bit);
    if permitted_from(store, far, data, dead) {
        return true;
    }
    data.set_word(word, value);
    dead.insert(func);
    false
}

/// Calls that the function permits: one for each run of values that leads to any, of the first word
/// with more than one such run. All other words are as close to those of `start` as can be.
///
/// None where nothing is permitted; one call where the values of that word make more than 64 runs,
/// the others included.
pub fn permitted_calls(store: &Store, func: Func, start: SeccompData) -> Vec<SeccompData> {
    let (mut func, mut data) = (func, start);
    while let Some(word) = store.top_word(func) {
        let Some(runs) = partition(store, func, word, MAX_RUNS) else { break };
        let calls = runs.into_iter().filter_map(|run| {
            let mut call = data;
            let kept = (run.first..=run.last).contains(&data.word(word));
            call.set_word(word, if kept { data.word(word) } else { run.first });
            Some((run.then, permitted(store, run.then, call)?))
        });
        match calls.collect::<Vec<_>>().as_slice() {
            // The words behind this one are looked at anew.
            [(then, call)] => {
                func = *then;
                data.set_word(word, call.word(word));
            }
            calls => return calls.iter().map(|(_, call)| *call).collect(),
        }
    }
    permitted(store, func, data).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::data::Word;
    use callgate_proof::diagram::Split;

    #[test]
    fn each_run_of_permitted_values_gives_a_call() {
        let mut store = Store::default();
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let [high, low] = [Word::arg_high(1).unwrap(), Word::arg_low(1).unwrap()];
        let mut func = deny;
        for value in [0, 1, 9, 0x80] {
            func = store.split(low, Split::Equal(value), allow, func).unwrap();
        }
        func = store.split(high, Split::AtLeast(1), deny, func).unwrap();
        let start = SeccompData::default();
        let values = |func| {
            let calls: Vec<SeccompData> = permitted_calls(&store, func, start);
            calls.iter().map(|call| call.args[1]).collect::<Vec<u64>>()
        };
        assert_eq!(values(func), [0, 9, 0x80]);
        assert_eq!(values(allow), [0]);
        assert_eq!(values(deny), []);

        let mut start = start;
        start.args = [0, 1, 7, 0, 0, 0];
        let calls = permitted_calls(&store, func, start);
        let args: Vec<_> = calls.iter().map(|call| (call.args[1], call.args[2])).collect();
        assert_eq!(args, [(1, 7), (9, 7), (0x80, 7)], "what may stay stays");
    }

    #[test]
    fn of_too_many_values_one_is_enough() {
        let mut store = Store::default();
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let word = Word::arg_low(0).unwrap();
        let bit = store.any_bit(word, 1).unwrap();
        let even = store.select(bit, deny, allow).unwrap();
        // 64 runs, half of them permitted, and 66.
        for (end, count) in [(63, 32), (64, 32), (65, 1)] {
            let func = store.split(word, Split::AtLeast(end), deny, even).unwrap();
            let calls = permitted_calls(&store, func, SeccompData::default());
            let values: Vec<u64> = calls.iter().map(|call| call.args[0]).collect();
            assert_eq!(values, (0..count).map(|i| 2 * i).collect::<Vec<u64>>(), "{end}");
        }
    }
}
