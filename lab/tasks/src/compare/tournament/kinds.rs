//! Random rule sets of several kinds.

use callgate::{Arch, Verdict};
use callgate_bpf::SyscallTable;
use callgate_core::policy::{Cmp, Field, Test};
use callgate_testing::random::Rng;
use std::collections::BTreeMap;

use crate::compare::rules::{Alternative, Rules};
use callgate_tasks::Result;

const ARCH: Arch = Arch::X86_64;
const DENIED: Verdict = Verdict::errno(1);

/// The largest number of rules.
const MAX_RULES: f64 = 400.0;

/// What a set consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::compare) enum Kind {
    Denylist,
    Allowlist,
    Families,
    Commands,
    Values,
    Masks,
    Ordered,
    Wide,
    Mix,
    Container,
}

impl Kind {
    pub(in crate::compare) const ALL: [Kind; 10] = [
        Kind::Denylist,
        Kind::Allowlist,
        Kind::Families,
        Kind::Commands,
        Kind::Values,
        Kind::Masks,
        Kind::Ordered,
        Kind::Wide,
        Kind::Mix,
        Kind::Container,
    ];

    pub(in crate::compare) fn name(self) -> &'static str {
        match self {
            Kind::Denylist => "denylist",
            Kind::Allowlist => "allowlist",
            Kind::Families => "families of sockets",
            Kind::Commands => "ioctl, with a stride",
            Kind::Values => "ioctl, without",
            Kind::Masks => "masks",
            Kind::Ordered => "ordered comparisons",
            Kind::Wide => "64-bit comparisons",
            Kind::Mix => "mix",
            Kind::Container => "container profile",
        }
    }
}

/// A set.
#[derive(Clone, Debug)]
pub(in crate::compare) struct Set {
    pub(in crate::compare) number: usize,
    pub(in crate::compare) kind: Kind,
    pub(in crate::compare) rules: Rules,
}

impl Set {
    /// The set with this number of a tournament; `container` are the rules of a container profile.
    pub(in crate::compare) fn draw(seed: u64, number: usize, container: &Rules) -> Result<Set> {
        let mut rng = Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        let kind = rng.pick(&Kind::ALL).unwrap_or(Kind::Mix);
        // As many sets of 1 to 20 rules as of 20 to 400.
        let count = MAX_RULES.powf(rng.next() as f64 / u64::MAX as f64).round() as usize;
        let numbers: Vec<u32> = ARCH.syscall_numbers().collect();
        let mut draw = Draw { rng, numbers };
        let rules = match kind {
            Kind::Denylist => draw.list(count, Verdict::ALLOW, DENIED),
            Kind::Allowlist => draw.list(count, DENIED, Verdict::ALLOW),
            Kind::Families => draw.families(count)?,
            Kind::Commands => draw.commands(count)?,
            Kind::Values => draw.values(count)?,
            Kind::Masks | Kind::Ordered | Kind::Wide => draw.comparisons(kind, count),
            Kind::Mix => draw.mix(count),
            Kind::Container => draw.changed(container),
        };
        Ok(Set { number, kind, rules })
    }
}

fn number(name: &str) -> Result<u32> {
    ARCH.number(name).ok_or_else(|| format!("{ARCH} does not have {name}"))
}

type Syscalls = BTreeMap<u32, Vec<Alternative>>;

struct Draw {
    rng: Rng,
    /// The known syscalls.
    numbers: Vec<u32>,
}

impl Draw {
    fn syscall(&mut self) -> u32 {
        self.rng.pick(&self.numbers).unwrap_or_default()
    }

    /// Syscalls without conditions.
    fn list(&mut self, count: usize, default: Verdict, verdict: Verdict) -> Rules {
        let mut numbers = self.numbers.clone();
        self.rng.shuffle(&mut numbers);
        let listed = numbers.into_iter().take(count);
        let syscalls = listed.map(|nr| (nr, vec![Alternative::always(verdict)])).collect();
        Rules::new(ARCH, default, syscalls)
    }

    /// A list of syscalls, and socket for some families with some types.
    fn families(&mut self, count: usize) -> Result<Rules> {
        let mut rules = self.list(count / 2, DENIED, Verdict::ALLOW);
        let mut alternatives = Vec::new();
        for _ in 0..1 + count.min(40) / 2 {
            let mut tests: Vec<Test> = equal(0, self.rng.below(46) as u64).into_iter().collect();
            if self.rng.one_in(3) {
                // SOCK_NONBLOCK and SOCK_CLOEXEC may be there.
                let kind = 1 + self.rng.below(5) as u64;
                tests.extend(Field::arg(1).map(|field| Test::masked_eq(field, !0x8_0800, kind)));
            }
            push(&mut alternatives, tests);
        }
        rules.blocks[0].syscalls.insert(number("socket")?, alternatives);
        Ok(rules)
    }

    /// ioctl with commands of some drivers, numbered one after the other.
    fn commands(&mut self, count: usize) -> Result<Rules> {
        let mut alternatives = Vec::new();
        let stride = 1 + self.rng.below(4) as u64;
        while alternatives.len() < count {
            let driver = (0x40 + self.rng.below(64) as u64) << 8;
            let direction = (self.rng.below(4) as u64) << 30;
            let size = (8 * self.rng.below(32) as u64) << 16;
            let first = self.rng.below(200) as u64;
            for index in 0..(1 + self.rng.below(40) as u64) {
                let command = (first + index * stride) & 0xff;
                if alternatives.len() < count {
                    push(&mut alternatives, equal(1, direction | size | driver | command));
                }
            }
        }
        Ok(allowed(BTreeMap::from([(number("ioctl")?, alternatives)])))
    }

    /// ioctl with random commands.
    fn values(&mut self, count: usize) -> Result<Rules> {
        let mut alternatives = Vec::new();
        for _ in 0..count {
            push(&mut alternatives, equal(1, self.rng.next() >> 32));
        }
        Ok(allowed(BTreeMap::from([(number("ioctl")?, alternatives)])))
    }

    /// Comparisons of one kind, for few or many syscalls.
    fn comparisons(&mut self, kind: Kind, count: usize) -> Rules {
        let syscalls = 1 + self.rng.below(count);
        let numbers: Vec<u32> = (0..syscalls).map(|_| self.syscall()).collect();
        let (arguments, bits) = (1 + self.rng.below(6), 1 + self.rng.below(4));
        let width = if self.rng.one_in(2) { 32 } else { 64 };
        let mut rules = Syscalls::new();
        for _ in 0..count {
            let nr = self.rng.pick(&numbers).unwrap_or_default();
            let mut tests = Vec::new();
            for argument in self.arguments(arguments) {
                tests.extend(self.test(kind, argument, bits, width));
            }
            push(rules.entry(nr).or_default(), tests);
        }
        allowed(rules)
    }

    /// Some of the arguments, in order.
    fn arguments(&mut self, most: usize) -> Vec<u8> {
        let mut arguments = [0, 1, 2, 3, 4, 5];
        self.rng.shuffle(&mut arguments);
        let mut some = arguments[..1 + self.rng.below(most)].to_vec();
        some.sort_unstable();
        some
    }

    fn test(&mut self, kind: Kind, argument: u8, bits: usize, width: usize) -> Option<Test> {
        let field = Field::arg(argument)?;
        let value = match width {
            64 => self.rng.next(),
            _ if self.rng.one_in(2) => self.rng.below(64) as u64,
            _ => self.rng.next() >> 32,
        };
        Some(match kind {
            Kind::Masks => {
                let mask = (0..bits).fold(0, |mask, _| mask | 1 << self.rng.below(width));
                let value = if self.rng.one_in(2) { mask } else { mask & value };
                Test::masked_eq(field, mask, value)
            }
            Kind::Ordered => {
                let orders = [Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge];
                Test::new(field, self.rng.pick(&orders)?, value)
            }
            _ => Test::eq(field, value),
        })
    }

    /// Rules of all kinds for different syscalls.
    fn mix(&mut self, count: usize) -> Rules {
        let kinds = [Kind::Masks, Kind::Ordered, Kind::Wide];
        let mut rules = Syscalls::new();
        for _ in 0..count {
            let nr = self.syscall();
            if self.rng.one_in(2) {
                rules.insert(nr, vec![Alternative::always(Verdict::ALLOW)]);
                continue;
            }
            let alternatives = rules.entry(nr).or_default();
            if alternatives.iter().any(|one| one.tests.is_empty()) {
                continue;
            }
            let kind = self.rng.pick(&kinds).unwrap_or(Kind::Wide);
            let mut tests = Vec::new();
            for argument in self.arguments(2) {
                tests.extend(self.test(kind, argument, 2, 32));
            }
            push(rules.entry(nr).or_default(), tests);
        }
        allowed(rules)
    }

    /// A container profile without some of its syscalls, and with some conditions more.
    fn changed(&mut self, container: &Rules) -> Rules {
        let mut rules = container.clone();
        let (without, with) = (self.rng.below(60), self.rng.below(12));
        let Some(block) = rules.blocks.first_mut() else { return rules };
        for _ in 0..without {
            let nr = self.syscall();
            block.syscalls.remove(&nr);
        }
        for _ in 0..with {
            let nr = self.syscall();
            let kind = self.rng.pick(&[Kind::Masks, Kind::Wide]).unwrap_or(Kind::Wide);
            let mut alternatives = Vec::new();
            for _ in 0..1 + self.rng.below(6) {
                let argument = self.rng.below(3) as u8;
                push(&mut alternatives, self.test(kind, argument, 2, 32));
            }
            block.syscalls.insert(nr, alternatives);
        }
        rules
    }
}

/// Allows these syscalls.
fn allowed(syscalls: Syscalls) -> Rules {
    Rules::new(ARCH, DENIED, syscalls)
}

fn equal(argument: u8, value: u64) -> Option<Test> {
    Field::arg(argument).map(|field| Test::eq(field, value))
}

/// Adds an alternative, unless there is an equal one.
fn push(alternatives: &mut Vec<Alternative>, tests: impl IntoIterator<Item = Test>) {
    let one = Alternative { tests: tests.into_iter().collect(), verdict: Verdict::ALLOW };
    if !one.tests.is_empty() && !alternatives.contains(&one) {
        alternatives.push(one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_the_same_each_time_and_has_rules_of_its_kind() {
        let container = Rules::new(ARCH, DENIED, Syscalls::new());
        let mut kinds = Vec::new();
        for number in 0..200 {
            let set = Set::draw(5, number, &container).unwrap();
            let again = Set::draw(5, number, &container).unwrap();
            assert_eq!((&set.rules, set.kind), (&again.rules, again.kind));
            assert!(set.rules.to_policy().is_ok(), "{number}");
            let tests = set.rules.tests();
            match set.kind {
                Kind::Denylist | Kind::Allowlist => assert_eq!(tests, 0),
                Kind::Container | Kind::Mix => {}
                kind => assert!(tests > 0, "{kind:?}"),
            }
            kinds.push(set.kind);
        }
        kinds.sort();
        kinds.dedup();
        assert_eq!(kinds, Kind::ALL);
    }
}
