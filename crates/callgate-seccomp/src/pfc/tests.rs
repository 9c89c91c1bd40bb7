//! Tests of the readable form.

use callgate::{Arch, Program, SeccompData, Verdict};
use callgate_bpf::SyscallTable;
use callgate_bpf::random::Rng;
use callgate_formats::pfc;
use callgate_formats::ruleset::{Comparison, Op};

use super::text;
use crate::context::{Attribute, Context, NewRule};
use crate::kernel::support::SUPPORT;

fn context(arch: Arch) -> Context {
    let mut context = Context::new(Verdict::ALLOW, &SUPPORT).unwrap();
    let native = Arch::native().unwrap();
    if arch != native {
        context.remove_arch(native).unwrap();
        context.add_arch(arch).unwrap();
    }
    context
}

fn add(context: &mut Context, verdict: Verdict, name: &str, tests: &[(u8, Op, u64)]) {
    let nr = Arch::native().unwrap().number(name).unwrap() as i32;
    let tests = tests.iter().map(|(arg, op, value)| Comparison::new(*arg, *op, *value).unwrap());
    let rule = NewRule { verdict, nr, comparisons: tests.collect(), is_exact: false };
    context.add_rule(&rule).unwrap();
}

/// The lines without those that all texts have.
fn body(context: &Context) -> Vec<String> {
    let text = text(context);
    let lines = text.lines().skip(5).take_while(|line| !line.contains("# default action"));
    lines.map(str::to_owned).collect()
}

#[test]
fn comparisons_are_those_of_words() {
    let mut context = context(Arch::Aarch64);
    add(
        &mut context,
        Verdict::errno(5),
        "write",
        &[(0, Op::Gt, 1 << 32 | 7), (1, Op::MaskedEq(6), 2)],
    );
    assert_eq!(
        body(&context),
        [
            "  # filter for syscall \"write\" (64) [priority: 65530]",
            "  if ($syscall == 64)",
            "    if ($a0.hi32 > 1)",
            "      if ($a1.hi32 & 0x00000000 == 0)",
            "        if ($a1.lo32 & 0x00000006 == 2)",
            "          action ERRNO(5);",
            "    else",
            "      if ($a0.hi32 == 1)",
            "        if ($a0.lo32 > 7)",
            "          if ($a1.hi32 & 0x00000000 == 0)",
            "            if ($a1.lo32 & 0x00000006 == 2)",
            "              action ERRNO(5);",
        ]
    );
}

#[test]
fn syscalls_are_in_order_of_priority() {
    let mut context = context(Arch::X86);
    add(&mut context, Verdict::LOG, "getpid", &[]);
    add(&mut context, Verdict::trace(3), "close", &[(0, Op::Lt, 9)]);
    add(&mut context, Verdict::KILL_PROCESS, "brk", &[]);
    add(&mut context, Verdict::trap(0), "access", &[]);
    add(&mut context, Verdict::trap(7), "alarm", &[]);
    let nr = Arch::native().unwrap().number("close").unwrap() as i32;
    context.prioritize(nr, 1).unwrap();
    assert_eq!(
        body(&context),
        [
            "  # filter for syscall \"close\" (6) [priority: 131070]",
            "  if ($syscall == 6)",
            "    if ($a0 >= 9)",
            "    else",
            "      action TRACE(3);",
            "  # filter for syscall \"brk\" (45) [priority: 65535]",
            "  if ($syscall == 45)",
            "    action KILL_PROCESS;",
            "  # filter for syscall \"access\" (33) [priority: 65535]",
            "  if ($syscall == 33)",
            "    action TRAP;",
            "  # filter for syscall \"alarm\" (27) [priority: 65535]",
            "  if ($syscall == 27)",
            "    action TRAP(7);",
            "  # filter for syscall \"getpid\" (20) [priority: 65535]",
            "  if ($syscall == 20)",
            "    action LOG;",
        ]
    );
}

#[test]
fn a_search_tree_has_leaves_of_four_syscalls() {
    let mut context = context(Arch::X86_64);
    for name in ["read", "write", "open", "close", "stat", "fstat", "lstat", "poll", "lseek"] {
        add(&mut context, Verdict::LOG, name, &[]);
    }
    context.set(Attribute::Optimize, 2, &SUPPORT).unwrap();
    let branches: Vec<String> = body(&context)
        .into_iter()
        .filter(|line| !line.contains("filter for") && !line.contains("action"))
        .collect();
    assert_eq!(
        branches,
        [
            "  if ($syscall > 0)",
            "    if ($syscall > 4)",
            "      if ($syscall == 8)",
            "      if ($syscall == 7)",
            "      if ($syscall == 6)",
            "      if ($syscall == 5)",
            "    else # ($syscall <= 4)",
            "      if ($syscall == 4)",
            "      if ($syscall == 3)",
            "      if ($syscall == 2)",
            "      if ($syscall == 1)",
            "  else # ($syscall <= 0)",
            "    if ($syscall == 0)",
        ]
    );
}

/// Random rules: what is written is read as the function of the program that is compiled from them.
#[test]
fn what_is_written_is_read() {
    const NAMES: [&str; 12] = [
        "read",
        "write",
        "close",
        "mmap",
        "ioctl",
        "socket",
        "connect",
        "semop",
        "openat",
        "clone",
        "futex",
        "exit_group",
    ];
    const ACTIONS: [Verdict; 6] = [
        Verdict::ALLOW,
        Verdict::LOG,
        Verdict::errno(1),
        Verdict::trap(0),
        Verdict::KILL_PROCESS,
        Verdict::trace(7),
    ];
    let families: [&[Arch]; 6] = [
        &[Arch::X86_64],
        &[Arch::X32],
        &[Arch::X86_64, Arch::X86, Arch::X32],
        &[Arch::Aarch64, Arch::Arm],
        &[Arch::S390x, Arch::S390],
        &[Arch::Mips64, Arch::Mips64n32],
    ];
    let native = Arch::native().unwrap();
    let mut rng = Rng::new(7);
    for set in 0..30 {
        let family = families[rng.below(families.len())];
        let default = ACTIONS[rng.below(ACTIONS.len())];
        let mut context = Context::new(default, &SUPPORT).unwrap();
        context
            .set(Attribute::BadArchAction, ACTIONS[rng.below(ACTIONS.len())].0, &SUPPORT)
            .unwrap();
        if !family.contains(&native) {
            context.remove_arch(native).unwrap();
        }
        for arch in family.iter().filter(|arch| **arch != native) {
            context.add_arch(*arch).unwrap();
        }
        context.set(Attribute::Optimize, 1 + rng.below(2) as u32, &SUPPORT).unwrap();
        let values: Vec<u64> = (0..4).map(|_| rng.next() >> [0, 32, 60][rng.below(3)]).collect();
        let value = |rng: &mut Rng| values[rng.below(values.len())];
        for _ in 0..1 + rng.below(20) {
            let args = rng.below(4);
            let comparisons = (0..args).map(|_| {
                let ops =
                    [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge, Op::MaskedEq(value(&mut rng))];
                (rng.below(3) as u8, ops[rng.below(ops.len())], value(&mut rng))
            });
            let mut comparisons: Vec<(u8, Op, u64)> = comparisons.collect();
            comparisons.sort_by_key(|(arg, ..)| *arg);
            comparisons.dedup_by_key(|(arg, ..)| *arg);
            let comparisons = comparisons.iter();
            let comparisons =
                comparisons.map(|(arg, op, value)| Comparison::new(*arg, *op, *value).unwrap());
            let name = NAMES[rng.below(NAMES.len())];
            let nr = native.number(name).unwrap() as i32;
            let verdict = ACTIONS[rng.below(ACTIONS.len())];
            // Some contradict others, or are the default.
            let _ = context.add_rule(&NewRule {
                verdict,
                nr,
                comparisons: comparisons.collect(),
                is_exact: false,
            });
        }
        let text = text(&context);
        let read = pfc::read(&text, &pfc::ReadOptions::default()).unwrap();
        assert!(read.warnings.is_empty(), "{set}: {:?}\n{text}", read.warnings);
        // The text may be a search tree; the program need not be the best one.
        context.set(Attribute::Optimize, 1, &SUPPORT).unwrap();
        let endian = family[0].endian();
        let program = Program::from_bytes(context.program().unwrap().bytes(), endian).unwrap();
        for _ in 0..300 {
            let arch = if rng.one_in(9) { Arch::Riscv64 } else { family[rng.below(family.len())] };
            let nr = arch.number(NAMES[rng.below(NAMES.len())]).unwrap_or(u32::MAX);
            let args = std::array::from_fn(|_| match rng.below(4) {
                0 => value(&mut rng).wrapping_add(1),
                1 => value(&mut rng) ^ 1 << rng.below(64),
                _ => value(&mut rng),
            });
            let data = SeccompData { nr, arch: arch.token(), args, ..SeccompData::default() };
            let verdict = program.run(&data, endian).verdict;
            assert_eq!(read.policy.evaluate(&data), verdict, "{set}: {data:?}\n{text}");
        }
    }
}
