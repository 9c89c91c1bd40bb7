//! From the values of the maps to a tally.

use std::collections::BTreeMap;

use callgate::Arch;
use callgate_trace::recording::{ArgValues, Bounds, SyscallId};

use super::layout::{ARG_WORDS, CALL_WORDS, SLOTS};
use crate::tally::Tallies;

/// What was counted.
#[derive(Clone)]
pub(super) struct Counted {
    pub(super) tallies: Tallies,
    pub(super) denied: u64,
    pub(super) processes: u64,
    pub(super) threads: u64,
}

/// The key of a counter.
struct CounterKey {
    syscall: SyscallId,
    /// The number of the executable.
    executable: u64,
}

impl CounterKey {
    fn new(key: &[u8]) -> Option<CounterKey> {
        let word = |at: usize| key.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let arch = if word(0)? == 0 { Arch::X86_64 } else { Arch::X86 };
        let syscall = SyscallId::of(arch.token(), word(4)?)?;
        let executable = key.get(8..16)?.try_into().ok().map(u64::from_ne_bytes)?;
        Some(CounterKey { syscall, executable })
    }
}

/// Adds the counts of all processors for one syscall. `paths` are those of executables, by number.
pub(super) fn add(
    tallies: &mut Tallies,
    key: &[u8],
    values: &[u64],
    values_key: u64,
    paths: &BTreeMap<u64, Vec<u8>>,
) {
    let Some(CounterKey { syscall, executable }) = CounterKey::new(key) else { return };
    for value in values.chunks_exact(CALL_WORDS as usize) {
        let Some((count, args)) = value.split_first() else { continue };
        let args = args.chunks_exact(ARG_WORDS as usize).map(|arg| seen(*count, arg, values_key));
        let args: Vec<ArgValues> = args.collect();
        // An entry is inserted before it is counted; without an executable, there is none.
        if let Some(tally) = paths.get(&executable).and_then(|path| tallies.executable(path)) {
            tally.add(syscall, *count, args.iter().cloned());
        }
        tallies.whole.add(syscall, *count, args);
    }
}

/// The values of one argument on one processor.
fn seen(count: u64, arg: &[u64], key: u64) -> ArgValues {
    let &[length, min, max, ever, always, ref values @ ..] = arg else {
        return ArgValues::default();
    };
    let first = values.iter().take(length.min(SLOTS as u64) as usize).map(|value| value ^ key);
    if length <= SLOTS as u64 {
        return ArgValues::from_values(count, first);
    }
    // A program that runs right now may not have updated them all.
    let others = Bounds { min, max, ever, always }.unite(Bounds::of(min)).unite(Bounds::of(max));
    ArgValues::from_bounds(count, first.fold(others, |all, value| all.unite(Bounds::of(value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_processors_are_added() {
        let mut first = vec![0; ARG_WORDS as usize];
        first[0] = 2;
        first[5..7].copy_from_slice(&[6, 8]);
        assert_eq!(seen(3, &first, 1), ArgValues::from_values(3, [7, 9]));
        let mut second = vec![0; ARG_WORDS as usize];
        second[..5].copy_from_slice(&[33, 0x100, 0x900, 0xf00, 0]);
        for (slot, value) in second[5..].iter_mut().zip(1..) {
            *slot = value;
        }
        let bounds = Bounds { min: 1, max: 0x900, ever: 0xf3f, always: 0 };
        assert_eq!(seen(50, &second, 0), ArgValues::from_bounds(50, bounds));
    }
}
