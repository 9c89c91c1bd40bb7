//! Weights: how often each syscall occurs, and what share of the expected cost each has, also those without a weight.

use callgate_bpf::SyscallTable;
use std::collections::BTreeMap;

use crate::cost::Model;
use crate::query::{ByNumber, Interval};
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, Verdict, Word, X32_SYSCALL_BIT};

/// How often syscalls occur, relative to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights(WeightSource);

#[derive(Clone, Debug, Default, PartialEq)]
enum WeightSource {
    /// All always-allowed syscalls of the first architecture have the same weight.
    #[default]
    Uniform,
    /// Counts by name and, if known, by architecture.
    Counts(BTreeMap<String, Vec<(Option<Arch>, f64)>>),
}

/// A syscall and its number of occurrences.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// The architecture; `None` if unknown.
    pub arch: Option<Arch>,
    /// The name of the syscall.
    pub name: String,
    /// The number of occurrences.
    pub count: f64,
}

/// The error for a count that is not a valid weight.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightError {
    name: String,
    given: f64,
}

impl std::fmt::Display for WeightError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the weight of {} is {}; a weight must be a finite number of at least 0",
            self.name, self.given
        )
    }
}

impl std::error::Error for WeightError {}

/// A syscall with its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedSyscall {
    /// The arch token.
    pub token: u32,
    /// The number.
    pub nr: u32,
    /// The weight.
    pub weight: f64,
    /// Whether it is allowed for all arguments.
    pub always_allowed: bool,
}

impl Weights {
    /// The prior: all always-allowed syscalls of the filter's first architecture have the same weight. See the
    /// [crate](super) for the reasons.
    pub fn uniform() -> Weights {
        Weights(WeightSource::Uniform)
    }

    pub(crate) fn is_uniform(&self) -> bool {
        self.0 == WeightSource::Uniform
    }

    /// Counts by name of syscall; counts with the same name are added. They apply to the first architecture of the
    /// filter; names that it does not have are ignored.
    ///
    /// # Errors
    /// If a count is negative, infinite or not a number.
    pub fn counts(counts: impl IntoIterator<Item = (String, f64)>) -> Result<Weights, WeightError> {
        let of_first = |(name, count)| Count { arch: None, name, count };
        Weights::of(counts.into_iter().map(of_first))
    }

    /// As [`Weights::counts`], for counts that may have an architecture, as in a recording.
    ///
    /// # Errors
    /// If a count is negative, infinite or not a number.
    pub fn of(counts: impl IntoIterator<Item = Count>) -> Result<Weights, WeightError> {
        let mut sums: BTreeMap<String, Vec<(Option<Arch>, f64)>> = BTreeMap::new();
        for Count { arch, name, count: given } in counts {
            if !(given.is_finite() && given >= 0.0) {
                return Err(WeightError { name, given });
            }
            let sums = sums.entry(name).or_default();
            // Architectures are few.
            match sums.binary_search_by_key(&arch, |(of, _)| *of) {
                Ok(at) => sums[at].1 = (sums[at].1 + given).min(f64::MAX),
                Err(at) => sums.insert(at, (arch, given)),
            }
        }
        // Counts are relative. Relative to the largest, neither their sum nor a division by it overflows.
        let all = sums.values().flatten().map(|(_, sum)| *sum);
        let largest = all.fold(0.0, f64::max);
        for sums in sums.values_mut() {
            if largest > 0.0 {
                sums.iter_mut().for_each(|(_, share)| *share /= largest);
            }
        }
        Ok(Weights(WeightSource::Counts(sums)))
    }

    /// All known syscalls of these architectures with their weights under a filter, sorted by token and number.
    pub fn resolve(&self, store: &Store, filter: Func, arches: &[Arch]) -> Vec<WeightedSyscall> {
        let numbers = arches.iter().map(|arch| arch.syscall_numbers().size_hint().1.unwrap_or(0));
        let mut syscalls = Vec::with_capacity(numbers.sum());
        let mut of_token: Option<(u32, ByNumber<'_>)> = None;
        for (index, arch) in by_token(arches) {
            let token = arch.token();
            // x32 has the token of x86_64.
            let (_, cofactors) = match &mut of_token {
                Some(known) if known.0 == token => known,
                other => other
                    .insert((token, ByNumber::new(store, store.follow(filter, Word::ARCH, token)))),
            };
            // Consecutive numbers often have the same cofactor.
            let mut known: Option<(Interval, bool)> = None;
            let mut always_allowed = |nr| match known {
                Some((around, allows)) if around.first <= nr && nr <= around.last => allows,
                _ => {
                    let around = cofactors.interval(nr);
                    let allows = store.as_verdict(around.then) == Some(Verdict::ALLOW);
                    known = Some((around, allows));
                    allows
                }
            };
            match &self.0 {
                WeightSource::Uniform => syscalls.extend(arch.syscall_numbers().map(|nr| {
                    let always_allowed = always_allowed(nr);
                    let weight = f64::from(u8::from(index == 0 && always_allowed));
                    WeightedSyscall { token, nr, weight, always_allowed }
                })),
                WeightSource::Counts(counts) => {
                    syscalls.extend(arch.syscalls().map(|(nr, name)| {
                        let always_allowed = always_allowed(nr);
                        let weight = counted(counts, name, arch, index == 0);
                        WeightedSyscall { token, nr, weight, always_allowed }
                    }))
                }
            }
        }
        debug_assert!(syscalls.is_sorted_by_key(|syscall| (syscall.token, syscall.nr)));
        syscalls
    }
}

/// Syscalls of an architecture that a filter treats alike.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alike {
    /// The first of them, with the weight of all.
    pub(crate) first: WeightedSyscall,
    /// How many they are.
    pub(crate) count: u32,
    pub(crate) arch: Arch,
    /// The last of the numbers for which the filter does the same.
    pub(crate) last: u32,
}

impl Alike {
    /// Their numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.arch.syscall_numbers_within(self.first.nr, self.last)
    }
}

impl Weights {
    /// As [`Weights::resolve`], but syscalls that are alike are one, unless they have counts. `intervals` returns the intervals of
    /// numbers of a token for which the filter does the same, in order, and whether that is to allow them whatever their
    /// arguments are.
    pub(crate) fn resolve_alike<I: Iterator<Item = Interval<bool>>>(
        &self,
        arches: &[Arch],
        intervals: impl Fn(u32) -> I,
    ) -> Vec<Alike> {
        let mut all: Vec<Alike> = Vec::new();
        for (index, arch) in by_token(arches) {
            let token = arch.token();
            let intervals = intervals(token);
            all.reserve(intervals.size_hint().0);
            for Interval { first, last, then: always_allowed } in intervals {
                let mut numbers = arch.syscall_numbers_within(first, last);
                let Some(nr) = numbers.next() else { continue };
                let mut syscall = WeightedSyscall { token, nr, weight: 0.0, always_allowed };
                match &self.0 {
                    WeightSource::Uniform => {
                        let count = 1 + numbers.count() as u32;
                        if index == 0 && always_allowed {
                            syscall.weight = f64::from(count);
                        }
                        all.push(Alike { first: syscall, count, arch, last });
                    }
                    WeightSource::Counts(counts) => {
                        all.extend(std::iter::once(nr).chain(numbers).map(|nr| {
                            let name = arch.syscall_name(nr).unwrap_or_default();
                            let weight = counted(counts, name, arch, index == 0);
                            let first = WeightedSyscall { nr, weight, ..syscall };
                            Alike { first, count: 1, arch, last: nr }
                        }));
                    }
                }
            }
        }
        all
    }
}

/// The architectures in the order of their tokens and numbers, each once, with their places.
fn by_token(arches: &[Arch]) -> Vec<(usize, Arch)> {
    let mut by_token: Vec<(usize, Arch)> = arches.iter().copied().enumerate().collect();
    by_token.sort_unstable_by_key(|(at, arch)| (arch.token(), arch.first_number(), *at));
    by_token.dedup_by_key(|(_, arch)| *arch);
    by_token
}

/// The relative count of a syscall.
fn counted(
    counts: &BTreeMap<String, Vec<(Option<Arch>, f64)>>,
    name: &str,
    arch: Arch,
    is_first: bool,
) -> f64 {
    let of_name = counts.get(name).into_iter().flatten();
    let of_arch = of_name.filter(|(of, _)| of.map_or(is_first, |of| of == arch));
    of_arch.map(|(_, share)| share).sum()
}

/// The total weight of all always-allowed syscalls of architectures without any weight, relative to that of all syscalls
/// with a weight.
const OTHER_ARCHES: f64 = 0.07;

/// The same for always-allowed syscalls without a weight of the other architectures: those missing in a recording.
const UNSEEN: f64 = 0.02;

/// The same for syscalls that are not always allowed: enough to decide between programs of otherwise equal cost.
const UNLIKELY: f64 = 0.01;

/// The weights of syscalls in the expected cost: those of all syscalls with a weight are 1 together. Syscalls of the same
/// architecture follow each other.
pub(super) fn shares(syscalls: &[WeightedSyscall], model: Model) -> Vec<f64> {
    shares_of_alike(syscalls, |_| 1, model)
}

/// As [`shares`], where each element stands for a number of syscalls.
pub(super) fn shares_of_alike(
    syscalls: &[WeightedSyscall],
    count: impl Fn(usize) -> u32,
    model: Model,
) -> Vec<f64> {
    // x32 has the token of x86_64.
    let arch = |syscall: &WeightedSyscall| (syscall.token, syscall.nr & X32_SYSCALL_BIT);
    let arches = || syscalls.chunk_by(|a, b| arch(a) == arch(b));
    let is_seen = |arch: &[WeightedSyscall]| arch.iter().any(|syscall| syscall.weight > 0.0);
    let (mut total, mut without, mut at) = (0.0, [0u32; 3], 0);
    for arch in arches() {
        let unseen = Group::of(is_seen(arch));
        for syscall in arch {
            match (syscall.weight > 0.0, syscall.always_allowed) {
                (true, _) => total += weigh(syscall, model),
                (false, true) => without[unseen as usize] += count(at),
                (false, false) => without[Group::Unlikely as usize] += count(at),
            }
            at += 1;
        }
    }
    let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
    let share = |group: Group| group.total() / f64::from(without[group as usize].max(1));
    let unlikely = share(Group::Unlikely);
    let mut shares = Vec::with_capacity(syscalls.len());
    for arch in arches() {
        let unseen = share(Group::of(is_seen(arch)));
        let start = shares.len();
        shares.extend(arch.iter().enumerate().map(|(at, syscall)| {
            match (syscall.weight > 0.0, syscall.always_allowed) {
                (true, _) => weigh(syscall, model) * scale,
                (false, true) => unseen * f64::from(count(start + at)),
                (false, false) => unlikely * f64::from(count(start + at)),
            }
        }));
    }
    shares
}

/// The weight of a syscall in the expected cost.
fn weigh(syscall: &WeightedSyscall, model: Model) -> f64 {
    syscall.weight * if syscall.always_allowed { model.constant_allow_weight() } else { 1.0 }
}

/// Syscalls without a weight, which share the weight of their group.
#[derive(Clone, Copy)]
enum Group {
    OtherArches,
    Unseen,
    Unlikely,
}

impl Group {
    /// The group of always-allowed syscalls.
    fn of(arch_is_seen: bool) -> Group {
        if arch_is_seen { Group::Unseen } else { Group::OtherArches }
    }

    fn total(self) -> f64 {
        match self {
            Group::OtherArches => OTHER_ARCHES,
            Group::Unseen => UNSEEN,
            Group::Unlikely => UNLIKELY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::diagram::Split;

    #[test]
    fn invalid_counts_are_refused() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let error = Weights::counts([("read".to_string(), bad)]).unwrap_err();
            assert!(error.to_string().contains("read"), "{error}");
        }
        let twice = [("read".to_string(), 1.0), ("read".to_string(), 2.0)];
        let once = [("read".to_string(), 3.0)];
        assert_eq!(Weights::counts(twice), Weights::counts(once));
    }

    #[test]
    fn counts_are_relative_and_may_have_any_magnitude() {
        let counts = |read, write| {
            Weights::counts([("read".to_string(), read), ("write".to_string(), write)])
        };
        assert_eq!(counts(1.0, 2.0), counts(100.0, 200.0));
        assert_eq!(counts(1.0, 1.0), counts(f64::MAX, f64::MAX));
        assert_eq!(counts(1.0, 1.0), counts(5e-324, 5e-324));
        let twice = [("read".to_string(), f64::MAX), ("read".to_string(), f64::MAX)];
        assert_eq!(Weights::counts(twice), Weights::counts([("read".to_string(), 1.0)]));
    }

    #[test]
    fn each_architecture_has_its_own_function_and_is_listed_once() {
        let mut store = Store::default();
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let is_x86_64 = Split::Equal(Arch::X86_64.token());
        let filter = store.split(Word::ARCH, is_x86_64, allow, deny).unwrap();
        let arches = [Arch::X86_64, Arch::X86, Arch::X32, Arch::X86_64];
        let syscalls = Weights::uniform().resolve(&store, filter, &arches);
        let known: usize = arches[..3].iter().map(|arch| arch.syscall_numbers().count()).sum();
        assert_eq!(syscalls.len(), known);
        assert!(syscalls.is_sorted_by_key(|syscall| (syscall.token, syscall.nr)));
        for syscall in syscalls {
            let has_token = syscall.token == Arch::X86_64.token();
            let is_first = has_token && syscall.nr < Arch::X32.first_number();
            assert_eq!(syscall.always_allowed, has_token, "{syscall:?}");
            assert_eq!(syscall.weight, f64::from(u8::from(is_first)), "{syscall:?}");
        }
    }

    #[test]
    fn alike_syscalls_are_one_unless_they_have_counts() {
        let mut store = Store::default();
        let [allow, deny] =
            [Verdict::ALLOW, Verdict::errno(1)].map(|verdict| store.verdict(verdict).unwrap());
        let numbers = store.split(Word::NR, Split::AtLeast(100), deny, allow).unwrap();
        let intervals = |_| {
            let low = Interval { first: 0, last: 99, then: true };
            [low, Interval { first: 100, last: u32::MAX, then: false }].into_iter()
        };
        let arches = [Arch::Aarch64, Arch::X86_64];
        for weights in [
            Weights::uniform(),
            Weights::counts([("read".to_owned(), 3.0), ("getcwd".to_owned(), 1.0)]).unwrap(),
        ] {
            let all = weights.resolve(&store, numbers, &arches);
            let alike = weights.resolve_alike(&arches, intervals);
            let numbers = alike.iter().flat_map(Alike::numbers);
            assert!(numbers.eq(all.iter().map(|syscall| syscall.nr)));
            let expected = if weights == Weights::uniform() { 4 } else { all.len() };
            assert_eq!(alike.len(), expected);
            let mut rest = all.as_slice();
            for Alike { first, count, .. } in alike {
                let (own, others) = rest.split_at(count as usize);
                let sum: f64 = own.iter().map(|syscall| syscall.weight).sum();
                let first_of_own = WeightedSyscall { weight: first.weight, ..own[0] };
                assert_eq!((first, first.weight), (first_of_own, sum));
                rest = others;
            }
            assert!(rest.is_empty());
        }
    }

    #[test]
    fn syscalls_without_a_weight_share_that_of_their_group() {
        let x32 = X32_SYSCALL_BIT;
        let syscall = |token, nr, weight, always_allowed| WeightedSyscall {
            token,
            nr,
            weight,
            always_allowed,
        };
        let syscalls = [
            syscall(1, 0, 3.0, true),
            syscall(1, 1, 0.0, true),
            syscall(1, 2, 1.0, false),
            syscall(1, 3, 0.0, false),
            syscall(1, 4, 0.0, true),
            syscall(1, x32, 0.0, true),
            syscall(2, 0, 0.0, true),
            syscall(2, 1, 0.0, false),
        ];
        let shares = shares(&syscalls, Model::Uncached);
        let [other, unseen, unlikely] = [OTHER_ARCHES / 2.0, UNSEEN / 2.0, UNLIKELY / 2.0];
        assert_eq!(shares, [0.75, unseen, 0.25, unlikely, unseen, other, other, unlikely]);
    }
}
