//! Syscalls for which two filters differ, and what both do with them, as JSON.

use callgate_bpf::SyscallTable;
use std::cmp::Reverse;

use callgate::explain::{self, Explanation, Group, Outcome};
use callgate::purposes::{Danger, Severity, danger};
use callgate::{Arch, Verdict};
use callgate_codegen::query::{Difference, any_pair};
use callgate_core::diagram::{Func, Store};
use callgate_core::{SyscallSet, Word};

use crate::explanation::{outcome_json, verdict_fields};
use crate::json::Json;
use crate::syscall;

/// Differences of two filters, those of one architecture first, and of these what is most dangerous.
pub struct Differences {
    list: Vec<Difference>,
    /// Those beyond the limit.
    others: Vec<Difference>,
}

impl Differences {
    /// At most this many of all differences: first those of the machine's architecture, and of these those in which one
    /// filter permits what is most dangerous, so that a limit does not hide them.
    pub fn new(mut all: Vec<Difference>, machine: Option<Arch>, max: Option<u32>) -> Differences {
        let token = machine.map(Arch::token);
        all.sort_by_cached_key(|difference| {
            (Some(difference.data.arch) != token, Reverse(severity(difference)))
        });
        let most = max.map_or(usize::MAX, |max| max as usize);
        let others = all.split_off(most.min(all.len()));
        Differences { list: all, others }
    }

    /// The differences in order.
    pub fn list(&self) -> &[Difference] {
        &self.list
    }

    /// How many there are that the list does not contain.
    pub fn more(&self) -> usize {
        self.others.len()
    }

    /// The differences in order, also those beyond the limit.
    pub fn all(&self) -> impl Iterator<Item = &Difference> {
        self.list.iter().chain(&self.others)
    }

    /// Whether there are more, and one object for each difference under this key.
    pub fn fields(&self, key: &'static str, compared: &Compared<'_>) -> [(&'static str, Json); 2] {
        let all = self.list.iter().map(|difference| json(difference, compared));
        [("more", (self.more() > 0).into()), (key, Json::array(all))]
    }
}

/// How dangerous the worst of the syscalls is that one of the filters permits and the other one does not.
fn severity(difference: &Difference) -> Option<Severity> {
    if difference.left.permits() == difference.right.permits() {
        return None;
    }
    let named = Arch::with_token(difference.data.arch).flat_map(Arch::syscalls);
    let alike = named.filter(|(nr, _)| difference.syscalls.contains(*nr));
    alike.filter_map(|(_, name)| danger(name)).map(|danger| danger.severity).max()
}

/// Two filters that are compared.
pub struct Compared<'s> {
    store: &'s Store,
    roots: [Func; 2],
    explanations: [Explanation; 2],
}

impl<'s> Compared<'s> {
    /// These filters, for the architectures of these differences.
    pub fn new(store: &'s Store, roots: [Func; 2], differences: &Differences) -> Self {
        let mut arches: Vec<Arch> = Vec::new();
        for arch in differences.all().flat_map(|one| Arch::with_token(one.data.arch)) {
            if !arches.contains(&arch) {
                arches.push(arch);
            }
        }
        let explanations = roots.map(|root| explain::explain(store, root, &arches));
        Compared { store, roots, explanations }
    }

    fn explanation(&self, side: Side) -> &Explanation {
        let [a, b] = &self.explanations;
        match side {
            Side::A => a,
            Side::B => b,
        }
    }

    /// What a filter does with a syscall of an architecture.
    pub fn outcome(&self, side: Side, arch: Arch, nr: u32) -> Option<&Outcome> {
        let arch = self.explanation(side).arches.iter().find(|one| one.arch == arch)?;
        let has_name = |group: &&Group| group.syscalls.iter().any(|(one, _)| *one == nr);
        let named = arch.groups.iter().find(has_name).map(|group| &group.outcome);
        let unnamed = || arch.unnamed.iter().find(|(_, numbers)| numbers.contains(nr));
        named.or_else(|| unnamed().map(|(outcome, _)| outcome))
    }

    /// What a filter does with the syscalls of a difference, if it does the same with all.
    pub fn common_outcome(&self, side: Side, group: &Difference) -> Option<&Outcome> {
        let token = group.data.arch;
        let outcome = self.outcome(side, syscall::arch_of(&group.data)?, group.data.nr)?;
        let has = |(nr, _): &(u32, &str)| group.syscalls.contains(*nr);
        // The numbers of a group may be those of several ABIs.
        let of_token = self.explanation(side).arches.iter().filter(|one| one.arch.token() == token);
        let mut all = of_token.flat_map(|one| {
            let named = one.groups.iter().filter(|own| own.syscalls.iter().any(has));
            let unnamed = one.unnamed.iter().filter(|(_, own)| intersect(own, &group.syscalls));
            named.map(|own| &own.outcome).chain(unnamed.map(|(outcome, _)| outcome))
        });
        all.all(|other| other == outcome).then_some(outcome)
    }

    /// Whether both filters do the same with all calls of a syscall.
    pub fn is_same(&self, arch: Arch, nr: u32) -> bool {
        let [a, b] = self.of_syscall(arch.token(), nr);
        a == b
    }

    /// Whether A permits calls of these syscalls that B denies, and the reverse.
    pub fn gains(&self, difference: &Difference) -> [bool; 2] {
        let token = difference.data.arch;
        let named = Arch::with_token(token).flat_map(|arch| arch.syscalls().map(|(nr, _)| nr));
        let alike = named.filter(|nr| difference.syscalls.contains(*nr));
        let mut gains = [false; 2];
        for nr in alike.chain([difference.data.nr]) {
            let [a, b] = self.of_syscall(token, nr);
            let more = |first, second| {
                any_pair(self.store, first, second, |one, other| one.permits() && !other.permits())
            };
            gains = [gains[0] || more(a, b), gains[1] || more(b, a)];
        }
        gains
    }

    /// Whether a filter allows a syscall with dangerous arguments.
    pub fn is_dangerous(&self, side: Side, arch: Arch, nr: u32) -> bool {
        let explained = self.explanation(side).arches.iter().find(|one| one.arch == arch);
        let name = arch.syscall_name(nr);
        explained.zip(name).is_some_and(|(arch, name)| arch.dangers.contains(&name))
    }

    /// Whether a filter allows a dangerous syscall, with a dangerous argument that the other one does not allow if only some are.
    pub fn is_further_danger(&self, side: Side, arch: Arch, nr: u32, danger: &Danger) -> bool {
        if danger.values.is_empty() {
            return self.is_dangerous(side, arch, nr);
        }
        let [a, b] = self.of_syscall(arch.token(), nr);
        let funcs = if side == Side::A { [a, b] } else { [b, a] };
        !danger.further_values(self.store, funcs, arch).is_empty()
    }

    fn of_syscall(&self, token: u32, nr: u32) -> [Func; 2] {
        self.roots.map(|root| {
            let of_arch = self.store.follow(root, Word::ARCH, token);
            self.store.follow(of_arch, Word::NR, nr)
        })
    }
}

/// One of the two filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// Whether two sets have a number in common.
fn intersect(a: &SyscallSet, b: &SyscallSet) -> bool {
    a.ranges().iter().any(|(first, last)| {
        let next = b.ranges().partition_point(|(_, end)| end < first);
        b.ranges().get(next).is_some_and(|(start, _)| start <= last)
    })
}

/// A difference as an object: a syscall with both verdicts, and what the filters do with all syscalls of the group.
fn json(difference: &Difference, compared: &Compared<'_>) -> Json {
    let data = &difference.data;
    let of_side = |side: Side, verdict: Verdict| {
        let mut fields = verdict_fields(verdict);
        fields
            .push(("outcome", compared.common_outcome(side, difference).map(outcome_json).into()));
        Json::Object(fields)
    };
    let ranges = difference.syscalls.ranges().iter().map(|(a, b)| Json::array([*a, *b]));
    let mut fields = syscall::fields(syscall::arch_of(data), data);
    fields.extend([
        ("a", of_side(Side::A, difference.left)),
        ("b", of_side(Side::B, difference.right)),
        ("alike", Json::Array(ranges.collect())),
    ]);
    Json::Object(fields)
}
