//! Random rules that interact.

use callgate::Verdict;
use callgate_bpf::random::Rng;
use callgate_formats::ruleset::{Comparison, Op};

/// A rule for a syscall by name.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) verdict: Verdict,
    pub(super) comparisons: Vec<Comparison>,
}

/// Rules with few different syscalls, verdicts, arguments and values, so that they interact.
pub(super) fn rules(random: &mut Rng) -> Vec<Rule> {
    // The last ones are missing on most architectures.
    let names = ["dup2", "ioctl", "socket", "shmget", "send", "arm_fadvise64_64", "stat"];
    let verdicts = [Verdict::ALLOW, Verdict::LOG, Verdict::KILL_THREAD, Verdict::errno(2)];
    let calls = 1 + random.below(2);
    let first = random.below(names.len());
    let kinds = 1 + random.below(3);
    let (args, values) = (1 + random.below(4), 1 + random.below(10));
    let most = if random.below(8) == 0 { 24 } else { 7 };
    let count = 2 + random.below(most);
    let of_operators = random.below(4);
    let rule = |random: &mut Rng| {
        let mut places: Vec<u8> = (0..args as u8).collect();
        random.shuffle(&mut places);
        let always = random.below(40) == 0;
        let tests = if always { 0 } else { 1 + random.below(args) };
        let comparison = |arg: u8, random: &mut Rng| {
            let op = operator(of_operators, random);
            Comparison::new(arg, op, value(values, random))
        };
        Rule {
            name: names[(first + random.below(calls)) % names.len()],
            verdict: verdicts[random.below(1 + kinds)],
            comparisons: places
                .iter()
                .take(tests)
                .filter_map(|arg| comparison(*arg, random))
                .collect(),
        }
    };
    (0..count).map(|_| rule(random)).collect()
}

fn operator(of: usize, random: &mut Rng) -> Op {
    let mask =
        [0, 1, 5, 0xffff_ffff, 0xffff_ffff_0000_0000, 0x1_0000_0001, u64::MAX][random.below(7)];
    let all = [Op::Eq, Op::Ne, Op::MaskedEq(mask), Op::Lt, Op::Le, Op::Gt, Op::Ge];
    match of {
        0 => all[random.below(3)],
        1 => all[3 + random.below(4)],
        _ => all[random.below(7)],
    }
}

fn value(values: usize, random: &mut Rng) -> u64 {
    let all = [
        5,
        9,
        0,
        0x1_0000_0005,
        1,
        0x1_0000_0000,
        u64::MAX,
        0xffff_ffff,
        0x2_0000_0001,
        0x5_0000_0009,
    ];
    all[random.below(values)]
}
