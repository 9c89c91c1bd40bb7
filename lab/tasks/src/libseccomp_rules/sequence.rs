//! Random sequences of functions of the API.

use callgate_profile_fuzz::machine::Machine;
use callgate_profile_fuzz::rng::{OneOf, Rng};
use callgate_profile_fuzz::rule::{Comparison, Op};

/// The actions: ALLOW, ERRNO(1), ERRNO(2), KILL_THREAD, LOG, TRAP, TRACE(7).
pub(super) const ACTIONS: [u32; 7] =
    [0x7fff_0000, 0x0005_0001, 0x0005_0002, 0, 0x7ffc_0000, 0x0003_0000, 0x7ff0_0007];

/// Syscalls: with and without numbers on all architectures, and those of `socketcall` and `ipc`.
const NAMES: [&str; 16] = [
    "read",
    "write",
    "openat",
    "ioctl",
    "mmap",
    "clone",
    "exit_group",
    "getpid",
    "socket",
    "connect",
    "accept4",
    "semop",
    "shmat",
    "socketcall",
    "stat",
    "sendto",
];

/// Architectures that one filter is for.
pub(super) const FAMILIES: [&[Machine]; 12] = [
    &[Machine::X86_64],
    &[Machine::X86],
    &[Machine::X32],
    &[Machine::X86_64, Machine::X32],
    &[Machine::X86_64, Machine::X86, Machine::X32],
    &[Machine::Aarch64, Machine::Arm],
    &[Machine::S390x, Machine::S390],
    &[Machine::Mips64, Machine::Mips64n32, Machine::Mips],
    &[Machine::Mipsel],
    &[Machine::Ppc64le],
    &[Machine::Ppc, Machine::Ppc64],
    &[Machine::Riscv64, Machine::Loongarch64],
];

/// A rule for a syscall by name.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) action: u32,
    pub(super) name: &'static str,
    pub(super) comparisons: Vec<Comparison>,
}

/// One function.
#[derive(Clone, Debug)]
pub(super) enum Step {
    AddArch(Machine),
    RemoveArch(Machine),
    Rule(Rule),
    Priority(&'static str, u8),
    Optimize(u32),
    Start,
    Reject,
    Commit,
    /// Merges a context for this architecture with these rules.
    Merge(Machine, Vec<Rule>),
}

/// A filter: the default action and the functions. The context starts without architecture.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    pub(super) default: u32,
    pub(super) bad_arch: u32,
    pub(super) steps: Vec<Step>,
    /// Constants of the rules, near which syscalls are interesting.
    pub(super) values: Vec<u64>,
}

/// A sequence with few different syscalls, actions, arguments and values, so that rules interact.
pub(super) fn sequence(rng: &mut Rng) -> Sequence {
    let mut maker = Maker::new(rng);
    let family = maker.rng.one_of(&FAMILIES);
    let mut steps: Vec<Step> = family.iter().map(|machine| Step::AddArch(*machine)).collect();
    if family.len() > 1 && maker.rng.one_in(4) {
        // Rules that were added before an architecture do not apply to it.
        let rule = maker.rule();
        steps.insert(1, Step::Rule(rule));
    }
    for _ in 0..1 + maker.rng.below(maker.most) {
        let step = maker.step(family);
        steps.push(step);
    }
    let (default, bad_arch) = (maker.default, maker.rng.one_of(&ACTIONS));
    Sequence { default, bad_arch, steps, values: maker.values }
}

struct Maker<'r> {
    rng: &'r mut Rng,
    default: u32,
    actions: Vec<u32>,
    names: Vec<&'static str>,
    args: usize,
    values: Vec<u64>,
    ops: Vec<Op>,
    most: usize,
}

impl Maker<'_> {
    fn new(rng: &mut Rng) -> Maker<'_> {
        const MASKS: [u64; 7] =
            [0, 1, 0xff, u32::MAX as u64, 1 << 32 | 1, 0xffff_ffff_0000_0000, u64::MAX];
        let all = Op::NAMES.map(|(_, op)| op);
        let ops = match rng.below(4) {
            0 => vec![Op::Eq],
            1 => vec![Op::Eq, Op::Ne, Op::MaskedEq],
            2 => vec![Op::Lt, Op::Le, Op::Ge, Op::Gt],
            _ => all.to_vec(),
        };
        let values = (0..1 + rng.below(6)).map(|_| match rng.below(4) {
            0 => rng.below(4) as u64,
            1 => rng.one_of(&MASKS),
            2 => (rng.below(3) as u64) << 32 | rng.below(3) as u64,
            _ => rng.next(),
        });
        let values = values.collect();
        Maker {
            default: rng.one_of(&ACTIONS),
            actions: (0..1 + rng.below(4)).map(|_| rng.one_of(&ACTIONS)).collect(),
            names: (0..1 + rng.below(3)).map(|_| rng.one_of(&NAMES)).collect(),
            args: 1 + rng.below(6),
            values,
            ops,
            most: if rng.one_in(8) { 30 } else { 8 },
            rng,
        }
    }

    fn step(&mut self, family: &[Machine]) -> Step {
        match self.rng.below(40) {
            0 => Step::Start,
            1 => Step::Reject,
            2 => Step::Commit,
            3 => Step::RemoveArch(self.rng.one_of(family)),
            4 => Step::AddArch(self.rng.one_of(family)),
            5 => Step::Priority(self.rng.one_of(&NAMES), self.rng.next() as u8),
            6 => Step::Optimize(self.rng.below(4) as u32),
            7 => {
                let family = self.rng.one_of(&FAMILIES);
                let machine = self.rng.one_of(family);
                let rules = (0..self.rng.below(4)).map(|_| self.rule()).collect();
                Step::Merge(machine, rules)
            }
            _ => Step::Rule(self.rule()),
        }
    }

    fn rule(&mut self) -> Rule {
        let mut args: Vec<usize> = (0..self.args).collect();
        let count = if self.rng.one_in(12) { 0 } else { 1 + self.rng.below(self.args) };
        while args.len() > count {
            args.remove(self.rng.below(args.len()));
        }
        if self.rng.one_in(2) {
            args.reverse();
        }
        let comparisons = args.into_iter().map(|arg| {
            let op = self.rng.one_of(&self.ops);
            let datum = self.rng.one_of(&self.values);
            let mask = if op == Op::MaskedEq { self.rng.one_of(&self.values) } else { u64::MAX };
            Comparison { arg, op, mask, datum }
        });
        let comparisons = comparisons.collect();
        Rule {
            action: self.rng.one_of(&self.actions),
            name: self.rng.one_of(&self.names),
            comparisons,
        }
    }
}

/// A syscall near the rules of a sequence: machine of the token, number and arguments.
pub(super) fn call(sequence: &Sequence, rng: &mut Rng) -> (u32, u32, [u64; 6]) {
    let used: Vec<Machine> = sequence
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::AddArch(machine) | Step::Merge(machine, _) => Some(*machine),
            _ => None,
        })
        .collect();
    let machine = if rng.one_in(30) { rng.one_of(&Machine::ALL) } else { rng.one_of(&used) };
    let names: Vec<&str> = sequence
        .steps
        .iter()
        .filter_map(|step| match step {
            Step::Rule(rule) => Some(rule.name),
            Step::Merge(_, rules) => rules.first().map(|rule| rule.name),
            _ => None,
        })
        .collect();
    let name = if names.is_empty() || rng.one_in(12) { "futex" } else { rng.one_of(&names) };
    let multiplexed = machine.multiplexed(name).filter(|_| rng.one_in(2));
    let nr = match multiplexed {
        Some(call) => call.number,
        None => machine.number(name).unwrap_or(0).wrapping_add(u32::from(rng.one_in(20))),
    };
    let mut args = std::array::from_fn(|_| {
        let value = rng.one_of(&sequence.values);
        match rng.below(6) {
            0 => value.wrapping_add(1),
            1 => value.wrapping_sub(1),
            2 => value ^ 1 << rng.below(64),
            3 => rng.next() >> rng.below(64),
            _ => value,
        }
    });
    if let Some(call) = multiplexed {
        args[0] = call.call;
    }
    (machine.token(), nr, args)
}
