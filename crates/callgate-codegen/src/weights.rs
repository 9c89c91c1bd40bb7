//! Weights: how often each syscall occurs, and what share of the expected cost each has, also those without a weight.

use callgate_bpf::SyscallTable;
use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::cost::Model;
use crate::query::{Interval, partition};
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, Verdict, Word, X32_SYSCALL_BIT};

/// The maximum number of intervals of numbers that are found in advance.
const MAX_INTERVALS: usize = 4096;

/// How often syscalls occur, relative to each other, or nothing: see [`Weights::distribution`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights(Option<Counts>);

/// Counts by name and, if known, by architecture.
type Counts = BTreeMap<String, Vec<(Option<Arch>, f64)>>;

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

impl Count {
    /// The count for a priority (`seccomp_syscall_priority(3)`): a syscall with 255 counts as much as 256 without.
    pub fn of_priority(arch: Option<Arch>, name: &str, priority: u8) -> Count {
        Count { arch, name: name.to_owned(), count: 1.0 + f64::from(priority) }
    }
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
    /// Whether the filter permits it.
    pub permission: Permission,
}

impl WeightedSyscall {
    /// Whether it is allowed for all arguments.
    pub fn is_always_allowed(&self) -> bool {
        self.permission == Permission::Always
    }
}

/// Whether a filter permits a syscall, by what the kernel does to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// With ALLOW, for all arguments: since Linux 5.11 the kernel answers from its cache.
    Always,
    /// Depending on arguments, or for all of them with another verdict than ALLOW, such as LOG: the filter runs.
    Filtered,
    /// For no arguments: the filter runs.
    Never,
}

impl Permission {
    /// That of syscalls with this verdict; `None` if it depends on arguments.
    pub fn of(verdict: Option<Verdict>) -> Permission {
        match verdict {
            Some(Verdict::ALLOW) => Permission::Always,
            Some(verdict) if !verdict.permits() => Permission::Never,
            _ => Permission::Filtered,
        }
    }
}

impl Weights {
    /// No counts: the [prior](super). All always-allowed syscalls of the filter's first architecture have the same weight where
    /// means are taken, and for kernels without a cache.
    pub fn uniform() -> Weights {
        Weights(None)
    }

    pub(crate) fn is_uniform(&self) -> bool {
        self.0.is_none()
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
        let mut sums = Counts::new();
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
        Ok(Weights(Some(sums)))
    }

    /// All known syscalls of these architectures with their weights under a filter, sorted by token and number.
    pub fn resolve(&self, store: &Store, filter: Func, arches: &[Arch]) -> Vec<WeightedSyscall> {
        // x32 has the token of x86-64, after which it comes: their intervals are the same.
        let last: RefCell<Option<(u32, Vec<Interval<Permission>>)>> = RefCell::default();
        let intervals = |token| {
            if let Some((_, known)) = last.borrow().as_ref().filter(|(of, _)| *of == token) {
                return known.clone().into_iter();
            }
            let by_number = store.follow(filter, Word::ARCH, token);
            let known = partition(store, by_number, Word::NR, MAX_INTERVALS);
            let intervals = known.unwrap_or_else(|| {
                let of_token =
                    by_token(arches).into_iter().filter(|(_, arch)| arch.token() == token);
                let numbers = of_token.flat_map(|(_, arch)| arch.syscall_numbers());
                let then = |nr| store.follow(by_number, Word::NR, nr);
                numbers.map(|nr| Interval { first: nr, last: nr, then: then(nr) }).collect()
            });
            let permission = |then| Permission::of(store.as_verdict(then));
            let with = |interval: Interval<Func>| interval.with(permission(interval.then));
            let intervals: Vec<Interval<Permission>> = intervals.into_iter().map(with).collect();
            last.replace(Some((token, intervals.clone())));
            intervals.into_iter()
        };
        let alike = self.resolve_alike(arches, intervals);
        let mut syscalls = Vec::with_capacity(alike.iter().map(|alike| alike.count as usize).sum());
        for Alike { first, count, arch, last } in alike {
            let syscall = WeightedSyscall { weight: first.weight / f64::from(count), ..first };
            let numbers = arch.syscall_numbers_within(first.nr, last);
            syscalls.extend(numbers.map(|nr| WeightedSyscall { nr, ..syscall }));
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
    /// The last of the numbers that the filter treats alike.
    pub(crate) last: u32,
}

impl Alike {
    /// Their numbers.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.arch.syscall_numbers_within(self.first.nr, self.last)
    }
}

impl Weights {
    /// Like [`Weights::resolve`], but merges syscalls that the filter treats alike, unless they have counts. `intervals` returns
    /// for a token the intervals of numbers that the filter treats alike, in order, with whether the filter permits these
    /// syscalls.
    pub(crate) fn resolve_alike<I: Iterator<Item = Interval<Permission>>>(
        &self,
        arches: &[Arch],
        intervals: impl Fn(u32) -> I,
    ) -> Vec<Alike> {
        let mut all: Vec<Alike> = Vec::new();
        for (index, arch) in by_token(arches) {
            let token = arch.token();
            let intervals = intervals(token);
            all.reserve(intervals.size_hint().0);
            for Interval { first, last, then: permission } in intervals {
                let mut numbers = arch.syscall_numbers_within(first, last);
                let Some(nr) = numbers.next() else { continue };
                let mut syscall = WeightedSyscall { token, nr, weight: 0.0, permission };
                match &self.0 {
                    None => {
                        let count = 1 + numbers.count() as u32;
                        if index == 0 && permission == Permission::Always {
                            syscall.weight = f64::from(count);
                        }
                        all.push(Alike { first: syscall, count, arch, last });
                    }
                    Some(counts) => {
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
fn counted(counts: &Counts, name: &str, arch: Arch, is_first: bool) -> f64 {
    let of_name = counts.get(name).into_iter().flatten();
    let of_arch = of_name.filter(|(of, _)| of.map_or(is_first, |of| of == arch));
    of_arch.map(|(_, share)| share).sum()
}

/// How the expected cost is distributed over syscalls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// By their weights.
    ByWeight,
    /// By what the kernel does for them, [`BY_PERMISSION`]: the prior for kernels that do not run the filter for always-allowed
    /// syscalls. This is the first architecture of the filter.
    ByPermission(Arch),
}

impl Weights {
    /// How these weights distribute the cost of a filter with these architectures.
    pub fn distribution(&self, model: Model, arches: &[Arch]) -> Distribution {
        match (model, arches.first()) {
            (Model::Cached, Some(first)) if self.is_uniform() => Distribution::ByPermission(*first),
            _ => Distribution::ByWeight,
        }
    }
}

/// The prior for kernels with a verdict cache: the share that the syscalls of each [`Permission`] of the first architecture have
/// together, in its order. The [crate](super) has the reasons.
pub const BY_PERMISSION: [f64; 3] = [0.45, 0.45, 0.10];

/// The share of the syscalls of other architectures together, if there are some of each kind, relative to that of the first one; and by weights, of the
/// always-allowed syscalls of architectures without any weight, relative to that of all syscalls with a weight.
const OTHER_ARCHES: f64 = 0.07;

/// The same for always-allowed syscalls without a weight of the other architectures: those missing in a recording.
const UNSEEN: f64 = 0.02;

/// The same for syscalls without a weight that are not always allowed: enough to decide between programs of otherwise equal
/// cost.
const UNLIKELY: f64 = 0.01;

/// What share of the expected cost each syscall has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shares {
    /// Of all syscalls. Those with a weight have 1 together, whether by counts or by the prior.
    pub(crate) all: Vec<f64>,
    /// Without those that have no weight, which are rare, but decide where nothing else does.
    pub(crate) weighted: Vec<f64>,
}

#[cfg(test)]
impl Shares {
    /// All of them are those of syscalls with a weight.
    pub(crate) fn of(shares: &[f64]) -> Shares {
        Shares { all: shares.to_vec(), weighted: shares.to_vec() }
    }
}

/// The share of each syscall in the expected cost. Those of the same architecture follow each other.
pub fn expected_shares(syscalls: &[WeightedSyscall], distribution: Distribution) -> Vec<f64> {
    shares(syscalls, distribution).all
}

/// As [`expected_shares`].
pub(crate) fn shares(syscalls: &[WeightedSyscall], distribution: Distribution) -> Shares {
    shares_of_alike(syscalls, |_| 1, distribution)
}

/// As [`shares`], where each element stands for a number of syscalls.
pub(crate) fn shares_of_alike(
    syscalls: &[WeightedSyscall],
    count: impl Fn(usize) -> u32,
    distribution: Distribution,
) -> Shares {
    match distribution {
        Distribution::ByWeight => by_weight(syscalls, count),
        Distribution::ByPermission(first) => by_permission(syscalls, count, first),
    }
}

/// Syscalls without a weight share the weight of their group.
fn by_weight(syscalls: &[WeightedSyscall], count: impl Fn(usize) -> u32) -> Shares {
    const GROUPS: [f64; 3] = [OTHER_ARCHES, UNSEEN, UNLIKELY];
    let mut groups = Vec::with_capacity(syscalls.len());
    for of_arch in syscalls.chunk_by(is_of_same_arch) {
        let is_seen = of_arch.iter().any(|syscall| syscall.weight > 0.0);
        groups.extend(of_arch.iter().map(|syscall| match syscall.permission {
            _ if syscall.weight > 0.0 => None,
            Permission::Always => Some(usize::from(is_seen)),
            _ => Some(2),
        }));
    }
    let total: f64 = syscalls.iter().map(|syscall| syscall.weight).sum();
    let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
    let weighted: Vec<f64> = syscalls.iter().map(|syscall| syscall.weight * scale).collect();
    let mut all = divided(&groups, GROUPS, count);
    all.iter_mut().zip(&weighted).for_each(|(share, weighted)| *share += weighted);
    Shares { all, weighted }
}

/// All syscalls share the weight of their group.
fn by_permission(
    syscalls: &[WeightedSyscall],
    count: impl Fn(usize) -> u32,
    first: Arch,
) -> Shares {
    let is_first = |syscall: &WeightedSyscall| {
        Arch::of_syscall(syscall.token, syscall.nr).is_some_and(|arch| arch == first)
    };
    let group = |syscall: &WeightedSyscall, is_first| {
        syscall.permission as usize + if is_first { 0 } else { BY_PERMISSION.len() }
    };
    let mut groups = Vec::with_capacity(syscalls.len());
    for of_arch in syscalls.chunk_by(is_of_same_arch) {
        let is_first = of_arch.first().is_some_and(is_first);
        groups.extend(of_arch.iter().map(|syscall| Some(group(syscall, is_first))));
    }
    // Syscalls of the first architecture have 1 together, whatever kinds there are.
    let has = |permission: usize| groups.contains(&Some(permission));
    let total: f64 =
        (0..).zip(BY_PERMISSION).filter(|(one, _)| has(*one)).map(|(_, share)| share).sum();
    let scale = if total > 0.0 { 1.0 / total } else { 1.0 };
    let kinds = BY_PERMISSION.len();
    let shares: [f64; 2 * BY_PERMISSION.len()] = std::array::from_fn(|group| {
        BY_PERMISSION[group % kinds] * if group < kinds { scale } else { OTHER_ARCHES }
    });
    let all = divided(&groups, shares, count);
    let of_first = |(share, group): (&f64, &Option<usize>)| match group {
        Some(group) if *group < kinds => *share,
        _ => 0.0,
    };
    let weighted = all.iter().zip(&groups).map(of_first).collect();
    Shares { all, weighted }
}

/// The shares of the members of groups that have these shares together.
fn divided<const N: usize>(
    groups: &[Option<usize>],
    shares: [f64; N],
    count: impl Fn(usize) -> u32,
) -> Vec<f64> {
    let mut members = [0u32; N];
    for (at, group) in groups.iter().enumerate() {
        if let Some(group) = group {
            members[*group] += count(at);
        }
    }
    let share = |(at, group): (usize, &Option<usize>)| {
        group.map_or(0.0, |group| {
            shares[group] / f64::from(members[group].max(1)) * f64::from(count(at))
        })
    };
    groups.iter().enumerate().map(share).collect()
}

/// Whether two syscalls are of the same architecture; x32 has the token of x86-64.
fn is_of_same_arch(a: &WeightedSyscall, b: &WeightedSyscall) -> bool {
    let arch = |syscall: &WeightedSyscall| (syscall.token, syscall.nr & X32_SYSCALL_BIT);
    arch(a) == arch(b)
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
            assert_eq!(syscall.is_always_allowed(), has_token, "{syscall:?}");
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
            let low = Interval { first: 0, last: 99, then: Permission::Always };
            [low, Interval { first: 100, last: u32::MAX, then: Permission::Never }].into_iter()
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
    fn the_prior_of_kernels_with_a_cache_is_by_permission() {
        let [first, other] = [Arch::X86_64, Arch::X86];
        let syscall = |arch: Arch, nr, permission| {
            let token = arch.token();
            WeightedSyscall { token, nr, weight: 0.0, permission }
        };
        use Permission::{Always, Filtered, Never};
        let x32 = X32_SYSCALL_BIT;
        let syscalls = [
            syscall(other, 0, Filtered),
            syscall(first, 0, Always),
            syscall(first, 1, Filtered),
            syscall(first, 2, Never),
            syscall(first, 3, Always),
            syscall(first, x32, Never),
            syscall(first, x32 + 1, Never),
        ];
        let distribution = Weights::uniform().distribution(Model::Cached, &[first, other]);
        assert_eq!(distribution, Distribution::ByPermission(first));
        let Shares { all, weighted } = shares(&syscalls, distribution);
        let close = |shares: &[f64], expected: &[f64]| {
            shares.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12)
        };
        let [always, filtered, never] = BY_PERMISSION;
        let others = never * OTHER_ARCHES / 2.0;
        let expected =
            [filtered * OTHER_ARCHES, always / 2.0, filtered, never, always / 2.0, others, others];
        assert!(close(&all, &expected), "{all:?}");
        let of_first = [0.0, always / 2.0, filtered, never, always / 2.0, 0.0, 0.0];
        assert!(close(&weighted, &of_first), "{weighted:?}");
        // Kinds that there are not leave their share to the others.
        let Shares { all, .. } = shares(&syscalls[1..2], distribution);
        assert!(close(&all, &[1.0]), "{all:?}");
    }

    #[test]
    fn syscalls_without_a_weight_share_that_of_their_group() {
        let x32 = X32_SYSCALL_BIT;
        let syscall = |token, nr, weight, is_allowed| WeightedSyscall {
            token,
            nr,
            weight,
            permission: if is_allowed { Permission::Always } else { Permission::Never },
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
        let Shares { all, weighted } = shares(&syscalls, Distribution::ByWeight);
        let [other, unseen, unlikely] = [OTHER_ARCHES / 2.0, UNSEEN / 2.0, UNLIKELY / 2.0];
        assert_eq!(all, [0.75, unseen, 0.25, unlikely, unseen, other, other, unlikely]);
        assert_eq!(weighted, [0.75, 0.0, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
}
