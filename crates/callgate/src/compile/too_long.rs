//! Programs that are too long for the kernel, and the syscalls that need most instructions.
//!
//! A syscall needs the instructions that are reachable after the dispatch on arch and number. Syscalls that continue at
//! the same instruction share their code and are counted together; instructions that several groups reach count for
//! each.

use rustc_hash::{FxHashMap as HashMap, FxHashSet};

use callgate_bpf::syscalls::list_syscalls;
use callgate_codegen::WeightedSyscall;
use callgate_core::diagram::{Func, Store};
use callgate_core::{Arch, Emulator, Endian, Insn, MAX_INSNS, Op, SyscallSet, Word};

/// The maximum number of listed parts.
const LISTED: usize = 5;

/// The maximum number of listed names or ranges of syscalls per part.
const NAMED: usize = 4;

/// The maximum number of listed architectures per part.
const ARCHES_NAMED: usize = 2;

/// The maximum number of intervals of syscall numbers per arch that are analyzed.
const MAX_INTERVALS: usize = 1 << 15;

/// The maximum number of arch tokens that are analyzed. Of unknown tokens, one per function of the number is.
const MAX_TOKENS: usize = 32;

/// The maximum number of visited instructions, which bounds the time. Parts that share little code need a fraction of
/// it.
const MAX_VISITS: usize = 30_000_000;

/// The error for a program with more instructions than the kernel accepts ([`MAX_INSNS`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLong {
    /// The number of instructions.
    pub insns: usize,
    /// The number of instructions of the dispatch on arch and number.
    pub dispatch: usize,
    /// The parts that need most instructions, in descending order, without syscalls that their number decides.
    pub largest: Vec<LargePart>,
}

/// Syscalls with the same code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LargePart {
    /// The syscalls, as arch token and numbers.
    pub syscalls: Vec<(u32, SyscallSet)>,
    /// The number of instructions that they can reach after the dispatch, including those that other syscalls also
    /// reach.
    pub insns: usize,
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the filter needs {} instructions, {} more than the kernel accepts ({MAX_INSNS})",
            self.insns,
            self.insns.saturating_sub(MAX_INSNS)
        )
    }
}

impl TooLong {
    /// The parts that need most instructions, and how to fix it.
    pub(super) fn help(&self) -> String {
        let mut help = String::from("most instructions, including shared ones, belong to\n");
        let mut line = |insns: usize, what: &str| {
            help += &format!("{insns:>12}  {what}\n");
        };
        if self.dispatch > self.largest.first().map_or(0, |part| part.insns) {
            line(self.dispatch, "the dispatch on syscall numbers, whose neighbours often differ");
            self.largest.iter().for_each(|part| line(part.insns, &part.names()));
        } else {
            self.largest.iter().for_each(|part| line(part.insns, &part.names()));
            line(self.dispatch, "the dispatch on syscall numbers");
        }
        help += "        remove some of it, or split the filter into a stack: the kernel runs \
                 all filters,\n        and the verdict with the highest precedence applies";
        help
    }
}

impl LargePart {
    /// The syscalls by name, each list with its arch.
    fn names(&self) -> String {
        let mut parts: Vec<String> = self
            .syscalls
            .iter()
            .take(ARCHES_NAMED)
            .map(|(token, syscalls)| with_arch(*token, syscalls))
            .collect();
        if let Some(more @ 1..) = self.syscalls.len().checked_sub(ARCHES_NAMED) {
            parts.push(format!("{more} more architectures"));
        }
        parts.join("; ")
    }
}

/// Syscalls by name, with their arch.
pub(super) fn with_arch(token: u32, syscalls: &SyscallSet) -> String {
    let names = list_syscalls(token, syscalls, None, NAMED);
    match Arch::with_token(token).next() {
        Some(arch) => format!("{names} ({arch})"),
        None => format!("{names} (arch {token:#010x})"),
    }
}

/// Analyzes a program that is too long; `syscalls` are sorted by arch token.
pub(super) fn too_long(
    store: &Store,
    meaning: Func,
    insns: &[Insn],
    syscalls: &[WeightedSyscall],
) -> TooLong {
    let mut reach = Reach { insns, seen: vec![0; insns.len()], round: 0, visits: 0 };
    let dispatch = reach.count(0, |insn| !loads_argument(insn));
    let mut parts = Vec::new();
    for (entry, syscalls) in entries(store, meaning, insns, syscalls) {
        if reach.visits > MAX_VISITS {
            break;
        }
        let insns = reach.count(entry, |_| true);
        // Syscalls that their number decides have only a return.
        if insns > 1 {
            parts.push(LargePart { syscalls, insns });
        }
    }
    parts.sort_by_key(|part| std::cmp::Reverse(part.insns));
    parts.truncate(LISTED);
    TooLong { insns: insns.len(), dispatch, largest: parts }
}

/// An arch token, and ranges of numbers.
type Numbers = (u32, Vec<(u32, u32)>);

/// The numbers of each arch by the instruction at which they continue after the dispatch, in order of instructions.
fn entries(
    store: &Store,
    meaning: Func,
    insns: &[Insn],
    syscalls: &[WeightedSyscall],
) -> Vec<(usize, Vec<(u32, SyscallSet)>)> {
    let mut tokens: Vec<u32> = syscalls.iter().map(|syscall| syscall.token).collect();
    tokens.dedup();
    let mut others = FxHashSet::default();
    for interval in callgate_codegen::query::partition(store, meaning, Word::ARCH, MAX_INTERVALS)
        .unwrap_or_default()
    {
        if !tokens.iter().any(|token| (interval.first..=interval.last).contains(token))
            && others.insert(interval.then)
        {
            tokens.push(interval.first);
        }
    }
    tokens.truncate(MAX_TOKENS);
    let mut emulator = Emulator::new(insns);
    let mut found: HashMap<usize, Vec<Numbers>> = HashMap::default();
    for token in tokens {
        let numbers = store.follow(meaning, Word::ARCH, token);
        for interval in callgate_codegen::query::partition(store, numbers, Word::NR, MAX_INTERVALS)
            .unwrap_or_default()
        {
            let parts = found.entry(emulator.emulate(token, interval.first).end).or_default();
            match parts.last_mut().filter(|(last, _)| *last == token) {
                Some((_, ranges)) => ranges.push((interval.first, interval.last)),
                None => parts.push((token, vec![(interval.first, interval.last)])),
            }
        }
    }
    let set = |(token, ranges): Numbers| (token, SyscallSet::from_ranges(ranges));
    let mut entries: Vec<_> = found
        .into_iter()
        .map(|(entry, parts)| (entry, parts.into_iter().map(set).collect()))
        .collect();
    entries.sort_by_key(|(entry, _)| *entry);
    entries
}

fn loads_argument(insn: &Insn) -> bool {
    // Arch and number have the same offset in both byte orders.
    let word = Word::from_offset(insn.k, Endian::Little);
    insn.op == Op::LdWordAbs && word.is_some_and(|word| word > Word::NR)
}

/// Counts reachable instructions.
struct Reach<'a> {
    insns: &'a [Insn],
    /// Per instruction, the round of its last visit.
    seen: Vec<u32>,
    round: u32,
    visits: usize,
}

impl Reach<'_> {
    /// The number of instructions that are reachable from `entry`, itself included, on paths for which `wanted` holds.
    fn count(&mut self, entry: usize, wanted: impl Fn(&Insn) -> bool) -> usize {
        self.round += 1;
        let mut count = 0;
        let mut stack = vec![entry];
        while let Some(at) = stack.pop() {
            let (Some(insn), Some(seen)) = (self.insns.get(at), self.seen.get_mut(at)) else {
                continue;
            };
            if std::mem::replace(seen, self.round) == self.round || !wanted(insn) {
                continue;
            }
            count += 1;
            stack.extend(insn.successors(at));
        }
        self.visits += count;
        count
    }
}

#[cfg(test)]
mod tests {
    use crate::compile::{CompileError, Options, compile};
    use callgate_core::policy::{Condition, Field, Policy, Rule, Section, Test};
    use callgate_core::{Arch, SyscallSet, Verdict};

    fn too_long(values: &[(u32, u64)], numbers: impl Iterator<Item = u32>) -> CompileError {
        let mut rules: Vec<Rule> = numbers
            .map(|nr| Rule {
                syscalls: SyscallSet::one(nr),
                when: Condition::always(),
                verdict: Verdict::errno(nr as u16 % 7 + 2),
            })
            .collect();
        // Values without a pattern need at least an instruction each.
        for (nr, count) in values {
            for value in 0..*count {
                let field = Field::arg_low(1).unwrap();
                let value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
                let when = Condition::test(Test::eq(field, value));
                let verdict = Verdict::errno((value % 4000) as u16);
                rules.push(Rule { syscalls: SyscallSet::one(*nr), when, verdict });
            }
        }
        let section = Section::new(Arch::X86_64, rules, Verdict::ALLOW);
        let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
        compile(&policy, &Options::default()).unwrap_err()
    }

    #[test]
    fn the_syscalls_that_need_most_instructions_are_named() {
        let error = too_long(&[(16, 2500), (41, 1000), (72, 1200)], 300..310);
        let long = error.too_long().unwrap();
        let token = Arch::X86_64.token();
        let syscalls: Vec<_> =
            long.largest.iter().take(3).map(|part| part.syscalls.clone()).collect();
        assert_eq!(syscalls, [16, 72, 41].map(|nr| vec![(token, SyscallSet::one(nr))]));
        let insns: Vec<usize> = long.largest.iter().map(|part| part.insns).collect();
        assert!(insns[0] >= 2500 && insns[1] >= 1200 && insns[2] >= 1000, "{insns:?}");
        // A test and a `ret` per value, and the search tree.
        assert!(insns[0] < 6000 && insns.len() == 3, "{insns:?}");
        assert!(long.dispatch > 5 && long.dispatch < 60, "{}", long.dispatch);
        assert!(long.insns > 4096 && insns.iter().sum::<usize>() < long.insns * 2);
        let over = long.insns - 4096;
        assert!(error.to_string().contains(&format!("{over} more than")), "{error}");
        let help = error.help().unwrap();
        assert!(help.contains("ioctl (x86_64)"), "{help}");
    }

    #[test]
    fn a_large_dispatch_is_named_first() {
        let error = too_long(&[], (0..5000).map(|i| i * 977));
        let long = error.too_long().unwrap();
        assert!(long.dispatch > 4096 && long.largest.is_empty());
        let help = error.help().unwrap();
        assert!(help.lines().nth(1).unwrap().contains("the dispatch on syscall numbers"), "{help}");
    }
}
