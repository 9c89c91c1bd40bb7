//! Syscalls for which two filters differ, as text and as JSON.

use std::fmt::Write;

use callgate::codegen::query::Difference;
use callgate::diagram::{Func, Store};
use callgate::explain::{self, Explanation, Outcome};
use callgate::syscalls::{SyscallSet, X32_SYSCALL_BIT, list_syscalls};
use callgate::{Arch, Verdict, Word};

use crate::options::native_arch;
use crate::outcome::{self, argument_names};
use crate::output::wrap;
use crate::text::printable;
use callgate_requests::explanation::{outcome_json, verdict_fields};
use callgate_requests::json::Json;
use callgate_requests::syscall;

/// Differences, those of this machine's architecture first.
pub(crate) struct Differences {
    list: Vec<Difference>,
    /// Whether there are more than the list contains.
    more: bool,
}

/// Two filters that are compared.
pub(crate) struct Compared<'s> {
    store: &'s Store,
    roots: [Func; 2],
    explanations: [Explanation; 2],
}

impl<'s> Compared<'s> {
    /// These filters, for the architectures of these differences.
    pub(crate) fn new(store: &'s Store, roots: [Func; 2], differences: &Differences) -> Self {
        let mut arches: Vec<Arch> = Vec::new();
        for arch in differences.list.iter().flat_map(|one| Arch::with_token(one.data.arch)) {
            if !arches.contains(&arch) {
                arches.push(arch);
            }
        }
        let explanations = roots.map(|root| explain::explain(store, root, &arches));
        Compared { store, roots, explanations }
    }

    /// What a filter does with a syscall of an architecture.
    fn outcome(&self, side: usize, arch: Arch, nr: u32) -> Option<&Outcome> {
        let arch = self.explanations[side].arches.iter().find(|one| one.arch == arch)?;
        let has_name = |group: &&explain::Group| group.syscalls.iter().any(|(one, _)| *one == nr);
        let named = arch.groups.iter().find(has_name).map(|group| &group.outcome);
        let unnamed = || arch.unnamed.iter().find(|(_, numbers)| numbers.contains(nr));
        named.or_else(|| unnamed().map(|(outcome, _)| outcome))
    }

    /// What a filter does with the syscalls of a group, if it does the same with all.
    fn common_outcome(&self, side: usize, group: &Difference) -> Option<&Outcome> {
        let token = group.data.arch;
        let outcome = self.outcome(side, syscall::arch_of(&group.data)?, group.data.nr)?;
        let has = |(nr, _): &(u32, &str)| group.syscalls.contains(*nr);
        // The numbers of a group may be those of several ABIs.
        let of_token =
            self.explanations[side].arches.iter().filter(|one| one.arch.token() == token);
        let mut all = of_token.flat_map(|one| {
            let named = one.groups.iter().filter(|own| own.syscalls.iter().any(has));
            let unnamed = one.unnamed.iter().filter(|(_, own)| intersect(own, &group.syscalls));
            named.map(|own| &own.outcome).chain(unnamed.map(|(outcome, _)| outcome))
        });
        all.all(|other| other == outcome).then_some(outcome)
    }

    /// The conditions under which a filter decides about the syscalls of a group, if they are the same for all.
    fn conditions(&self, side: usize, arch: Arch, group: &Difference) -> Option<String> {
        let outcome = self.common_outcome(side, group)?;
        if let Outcome::Always(_) = outcome {
            return None;
        }
        let named: Vec<(u32, &str)> =
            arch.syscalls().filter(|(nr, _)| group.syscalls.contains(*nr)).collect();
        Some(outcome::lines(outcome, arch, argument_names(&named, arch)).join("; "))
    }

    /// Whether both filters do the same with all calls of a syscall.
    fn is_same(&self, arch: Arch, nr: u32) -> bool {
        let [a, b] = self.roots.map(|root| {
            let of_arch = self.store.follow(root, Word::ARCH, arch.token());
            self.store.follow(of_arch, Word::NR, nr)
        });
        a == b
    }

    /// The syscalls with the nearest smaller and the nearest larger numbers for which the filters do not differ.
    fn neighbours(&self, arch: Arch, nr: u32, count: usize) -> [Vec<(u32, &'static str)>; 2] {
        let mut syscalls: Vec<(u32, &str)> = arch.syscalls().collect();
        syscalls.sort_unstable();
        let (before, after): (Vec<_>, Vec<_>) =
            syscalls.into_iter().filter(|(one, _)| *one != nr).partition(|(one, _)| *one < nr);
        let is_same = |(nr, _): &(u32, &str)| self.is_same(arch, *nr);
        let mut before: Vec<_> = before.into_iter().rev().filter(is_same).take(count).collect();
        before.reverse();
        [before, after.into_iter().filter(is_same).take(count).collect()]
    }
}

impl Differences {
    /// At most this many of all differences of two filters.
    pub(crate) fn new(mut all: Vec<Difference>, max: Option<u32>) -> Differences {
        let native = native_arch().ok().map(Arch::token);
        all.sort_by_key(|difference| Some(difference.data.arch) != native);
        let most = max.map_or(usize::MAX, |max| max as usize);
        let more = all.len() > most;
        all.truncate(most);
        Differences { list: all, more }
    }

    /// Lines like those of diff(1), with this many syscalls before and after each difference for which the filters do
    /// not differ.
    pub(crate) fn text(
        &self,
        names: &[String; 2],
        compared: &Compared<'_>,
        context: u32,
    ) -> String {
        let [a, b] = names.each_ref().map(|name| printable(name));
        let mut text = format!("--- {a}\n+++ {b}\n");
        for difference in &self.list {
            group(&mut text, difference, compared, context);
        }
        if self.more {
            text.push_str("… and more; omit --max to print all\n");
        }
        text
    }

    /// Whether there are more, and one object for each difference under this key.
    pub(crate) fn fields(
        &self,
        key: &'static str,
        compared: &Compared<'_>,
    ) -> [(&'static str, Json); 2] {
        let all = self.list.iter().map(|difference| json(difference, compared));
        [("more", self.more.into()), (key, Json::array(all))]
    }
}

fn group(text: &mut String, difference: &Difference, compared: &Compared<'_>, context: u32) {
    let data = &difference.data;
    let arch = syscall::arch_of(data);
    let arch_name = syscall::arch_name(arch, data.arch);
    let _ = writeln!(text, "{arch_name} {}", syscall::show(arch, data));
    for (title, syscalls) in by_abi(arch, difference) {
        let others = list_syscalls(data.arch, &syscalls, Some(data.nr), usize::MAX);
        if !others.is_empty() {
            let _ = write!(text, "    {title}:");
            wrap(text, &format!(" {others}"), title.len() + 5, 6);
        }
    }
    let [before, after] = arch
        .map_or_else(Default::default, |arch| compared.neighbours(arch, data.nr, context as usize));
    let same = |text: &mut String, syscalls: &[(u32, &str)]| {
        for (nr, name) in syscalls {
            let outcome = arch.and_then(|arch| Some((arch, compared.outcome(0, arch, *nr)?)));
            if let Some((arch, outcome)) = outcome {
                let lines = outcome::lines(outcome, arch, argument_names(&[(*nr, name)], arch));
                text.push_str("    ");
                wrap(text, &format!("{name}: {}", lines.join("; ")), 4, 6);
            }
        }
    };
    same(text, &before);
    for (side, sign, verdict) in [(0, '-', difference.left), (1, '+', difference.right)] {
        let conditions = arch.and_then(|arch| compared.conditions(side, arch, difference));
        let line = match conditions {
            Some(conditions) => format!("{sign} {verdict} ({conditions})"),
            None => format!("{sign} {verdict}"),
        };
        text.push_str("  ");
        wrap(text, &line, 2, 6);
    }
    same(text, &after);
}

/// The syscalls of a group by their ABI, that of the example first: x86-64 and x32 have one arch token, and the same
/// names.
fn by_abi(arch: Option<Arch>, group: &Difference) -> Vec<(&'static str, SyscallSet)> {
    // Other numbers with the bit belong to neither.
    let (first, last) = (X32_SYSCALL_BIT, 2 * X32_SYSCALL_BIT - 1);
    let part = |parts: &[(u32, u32)]| {
        let ranges = parts.iter().flat_map(|(first, last)| {
            let cut = |(from, to): &(u32, u32)| (*from.max(first), *to.min(last));
            group.syscalls.ranges().iter().map(cut)
        });
        SyscallSet::from_ranges(ranges.filter(|(from, to)| from <= to))
    };
    let (x32, others) = (part(&[(first, last)]), part(&[(0, first - 1), (last + 1, u32::MAX)]));
    match arch {
        Some(Arch::X86_64) => vec![("also", others), ("also on x32", x32)],
        Some(Arch::X32) => vec![("also", x32), ("also on x86_64", others)],
        _ => vec![("also", group.syscalls.clone())],
    }
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
    let side = |side: usize, verdict: Verdict| {
        let mut fields = verdict_fields(verdict);
        fields
            .push(("outcome", compared.common_outcome(side, difference).map(outcome_json).into()));
        Json::Object(fields)
    };
    let ranges = difference.syscalls.ranges().iter().map(|(a, b)| Json::array([*a, *b]));
    let mut fields = syscall::fields(syscall::arch_of(data), data);
    fields.extend([
        ("a", side(0, difference.left)),
        ("b", side(1, difference.right)),
        ("alike", Json::Array(ranges.collect())),
    ]);
    Json::Object(fields)
}
