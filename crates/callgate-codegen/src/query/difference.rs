//! The differences between two functions, as concrete syscalls.

use crate::Result;
use callgate_bpf::SyscallTable;
use rustc_hash::FxHashMap as HashMap;

use super::{partition, witness};
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::{Arch, SeccompData, SyscallSet, Verdict, Word};

/// A set of syscalls for which two functions differ in the same way, with a witness.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The witness: a syscall for which they differ.
    pub data: SeccompData,
    /// The verdict of the first function for it.
    pub left: Verdict,
    /// The verdict of the second function for it.
    pub right: Verdict,
    /// The numbers that differ in the same way under the same arch token, including `data.nr`.
    pub syscalls: SyscallSet,
}

/// The cofactors of two functions for some numbers, and these numbers.
type Group = ((Func, Func), Vec<(u32, u32)>);

/// The maximum number of intervals of a word for which differences are grouped.
const MAX_INTERVALS: usize = 1 << 14;

/// The differences between two functions: at most `limit` groups of syscalls, none if the functions are equal. A group is left out
/// if no [witness] was found for it, unless it is the only one.
///
/// Syscalls are grouped by arch token and by the cofactors of the two functions; the witness of a group has a number
/// with a name, if there is one.
///
/// # Errors
/// [`DiagramError::UNDECIDED`] if the functions are different nodes, but no witness was found; if a function belongs to another store.
pub fn differences(store: &Store, a: Func, b: Func, limit: usize) -> Result<Vec<Difference>> {
    let mut found = Vec::new();
    let mut is_undecided = false;
    for (first, last, a, b) in pairs(store, a, b, Word::ARCH)? {
        let arch = Arch::ALL.iter().copied().find(|arch| (first..=last).contains(&arch.token()));
        let token = arch.map_or(first, Arch::token);
        let start = SeccompData { arch: token, ..SeccompData::default() };
        let mut groups: Vec<Group> = Vec::new();
        let mut group_of = HashMap::default();
        for (first, last, a, b) in pairs(store, a, b, Word::NR)? {
            let next = groups.len();
            let group = *group_of.entry((a, b)).or_insert(next);
            if group == next {
                groups.push(((a, b), Vec::new()));
            }
            if let Some((_, ranges)) = groups.get_mut(group) {
                ranges.push((first, last));
            }
        }
        for ((a, b), ranges) in groups {
            if found.len() == limit {
                return Ok(found);
            }
            let syscalls = SyscallSet::from_ranges(ranges);
            let named = Arch::with_token(token)
                .flat_map(|arch| arch.syscalls().map(|(nr, _)| nr))
                .find(|nr| syscalls.contains(*nr));
            let any = syscalls.ranges().first().map_or(0, |(first, _)| *first);
            let start = SeccompData { nr: named.unwrap_or(any), ..start };
            let Some(data) = witness(store, a, b, start)? else {
                is_undecided = true;
                continue;
            };
            let (left, right) = (store.evaluate(a, &data)?, store.evaluate(b, &data)?);
            found.push(Difference { data, left, right, syscalls });
        }
    }
    if is_undecided && found.is_empty() { Err(DiagramError::UNDECIDED) } else { Ok(found) }
}

/// An interval (first and last value), and the exits of two functions.
type Pair = (u32, u32, Func, Func);

/// The intervals of a word in which two functions differ, with the exits of both. If there are too many intervals, a
/// single value.
fn pairs(store: &Store, a: Func, b: Func, word: Word) -> Result<Vec<Pair>> {
    let intervals = |func| partition(store, func, word, MAX_INTERVALS);
    let (Some(of_a), Some(of_b)) = (intervals(a), intervals(b)) else {
        let witness = witness(store, a, b, SeccompData::default())?;
        let value = witness.map(|data| data.word(word));
        let pair = value.map(|v| (v, v, store.follow(a, word, v), store.follow(b, word, v)));
        return Ok(pair.filter(|(.., a, b)| a != b).into_iter().collect());
    };
    let mut pairs = Vec::new();
    let (mut of_a, mut of_b) = (of_a.into_iter().peekable(), of_b.into_iter().peekable());
    let mut first = 0;
    while let (Some(own), Some(other)) = (of_a.peek().copied(), of_b.peek().copied()) {
        let last = own.last.min(other.last);
        if own.then != other.then {
            pairs.push((first, last, own.then, other.then));
        }
        first = last.wrapping_add(1);
        of_a.next_if(|interval| interval.last == last);
        of_b.next_if(|interval| interval.last == last);
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::diagram::Split;

    #[test]
    fn a_difference_has_a_witness() {
        let mut store = Store::default();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let low = Word::arg_low(1).unwrap();
        let seven = store.split(low, Split::Equal(7), deny, allow).unwrap();
        let eight = store.split(low, Split::Equal(8), deny, allow).unwrap();
        let token = Arch::X86_64.token();
        let mut filter = |inner| {
            let syscalls = store.split(Word::NR, Split::AtLeast(3), inner, allow).unwrap();
            let syscalls = store.split(Word::NR, Split::AtLeast(9), deny, syscalls).unwrap();
            store.split(Word::ARCH, Split::Equal(token), syscalls, deny).unwrap()
        };
        let (a, b) = (filter(seven), filter(eight));
        assert_eq!(differences(&store, a, a, 10).unwrap(), vec![]);
        assert_eq!(store.witness(a, a, SeccompData::default()), Ok(None));
        let found = differences(&store, a, b, 10).unwrap();
        assert_eq!(found.len(), 1);
        let difference = &found[0];
        assert_eq!(difference.syscalls, SyscallSet::range(3, 8));
        assert_eq!((difference.data.arch, difference.data.nr), (token, 3));
        assert_eq!(store.evaluate(a, &difference.data).unwrap(), difference.left);
        assert_eq!(store.evaluate(b, &difference.data).unwrap(), difference.right);
        assert_ne!(difference.left, difference.right);
        assert!(differences(&store, a, b, 0).unwrap().is_empty());
    }
}
