//! What rules mean, on one architecture and on several.

use callgate::{Arch, Expr, Filter, Syscall, Verdict, arg};
use callgate_bpf::SyscallTable;
use callgate_testing::reader::numbered;

const X32: u32 = 0x4000_0000;
const NONE: [u64; 6] = [0; 6];

#[test]
fn the_first_match_decides() {
    let filter = Filter::builder(Arch::X86_64)
        .default(Verdict::errno(38))
        .bad_arch(Verdict::KILL_THREAD)
        .rule_if(Verdict::LOG, "read", arg("fd").eq(0))
        .and_then(|builder| builder.deny_if("read", arg("fd").eq(1)))
        .and_then(|builder| builder.allow_if("read", arg("fd").lt(3)))
        .and_then(|builder| builder.rule(Verdict::trap(7), ["read"]))
        .and_then(|builder| builder.build())
        .unwrap();
    let read = |fd| filter.verdict(Arch::X86_64, 0, [fd, 0, 0, 0, 0, 0]);
    assert_eq!(read(0), Verdict::LOG);
    assert_eq!(read(1), Verdict::errno(1));
    assert_eq!(read(2), Verdict::ALLOW);
    assert_eq!(read(3), Verdict::trap(7));
    assert_eq!(filter.verdict(Arch::X86_64, 1, NONE), Verdict::errno(38));
    assert_eq!(filter.verdict(Arch::X86, 3, NONE), Verdict::KILL_THREAD);
}

#[test]
fn without_a_default_everything_else_kills() {
    let filter = Filter::builder(Arch::X86_64).allow(["read"]).unwrap().build().unwrap();
    assert_eq!(filter.verdict(Arch::X86_64, 0, NONE), Verdict::ALLOW);
    assert_eq!(filter.verdict(Arch::X86_64, 1, NONE), Verdict::KILL_PROCESS);
    assert_eq!(filter.verdict(Arch::Aarch64, 63, NONE), Verdict::KILL_PROCESS);
}

#[test]
fn a_denylist_does_not_let_the_numbers_of_x32_through() {
    let builder =
        || Filter::builder(Arch::X86_64).default(Verdict::ALLOW).deny(["ptrace"]).unwrap();
    let ptrace = Arch::X86_64.number("ptrace").unwrap();
    let guarded = builder().bad_arch(Verdict::errno(9)).build().unwrap();
    let of = |filter: &Filter, nr| filter.verdict(Arch::X86_64, nr, NONE);
    assert_eq!(of(&guarded, ptrace), Verdict::errno(1));
    for nr in [X32, X32 | ptrace, X32 | 521, 0x8000_0000, u32::MAX - 1] {
        assert_eq!(of(&guarded, nr), Verdict::errno(9), "{nr:#x}");
    }
    // A tracer writes -1 to skip a syscall.
    assert_eq!(of(&guarded, u32::MAX), Verdict::ALLOW);
    let told = builder().x32(Verdict::LOG).build().unwrap();
    assert_eq!(of(&told, X32 | ptrace), Verdict::LOG);
    // With x32 among the architectures, its numbers have the rules.
    let both = Filter::builder([Arch::X86_64, Arch::X32]).default(Verdict::ALLOW);
    let both = both.deny(["ptrace"]).unwrap().build().unwrap();
    let of_x32 = Arch::X32.number("ptrace").unwrap();
    assert_eq!(of(&both, of_x32), Verdict::errno(1));
    assert_eq!(of(&both, X32), Verdict::ALLOW);
    // And x32 alone is guarded the other way around.
    let x32 = Filter::builder(Arch::X32).default(Verdict::ALLOW).build().unwrap();
    assert_eq!((of(&x32, 0), of(&x32, X32)), (Verdict::KILL_PROCESS, Verdict::ALLOW));
    // No other architecture has such numbers.
    let arm = Filter::builder(Arch::Aarch64).default(Verdict::ALLOW).build().unwrap();
    assert_eq!(arm.verdict(Arch::Aarch64, X32, NONE), Verdict::ALLOW);
}

#[test]
fn a_name_is_a_rule_where_the_syscall_exists() {
    // Only x86 has waitpid, only x86-64 and aarch64 have no time64 variants, all have read.
    let arches = [Arch::X86_64, Arch::X86, Arch::Aarch64];
    let filter = Filter::builder(arches).allow(["read", "waitpid", "open"]).unwrap();
    let filter = filter.build().unwrap();
    for arch in arches {
        let mut allowed = 0;
        for (nr, name) in arch.syscalls() {
            let expected = ["read", "waitpid", "open"].contains(&name);
            let verdict = filter.verdict(arch, nr, NONE);
            assert_eq!(verdict == Verdict::ALLOW, expected, "{name} on {arch}");
            allowed += usize::from(expected);
        }
        let expected = match arch {
            Arch::X86 => 3,
            Arch::X86_64 => 2,
            _ => 1,
        };
        assert_eq!(allowed, expected, "{arch}");
    }
}

#[test]
fn a_name_covers_the_multiplexer() {
    let of = |filter: &Filter, name, first| {
        filter.verdict(Arch::X86, Arch::X86.number(name).unwrap(), [first, 0, 0, 0, 0, 0])
    };
    let build = |syscalls: &[Syscall]| {
        Filter::builder(Arch::X86).allow(syscalls.to_vec()).unwrap().build().unwrap()
    };
    let filter = build(&["socket".into(), "accept".into(), "msgget".into()]);
    let (allow, kill) = (Verdict::ALLOW, Verdict::KILL_PROCESS);
    assert_eq!(of(&filter, "socket", 9), allow);
    let through = |sub_call| of(&filter, "socketcall", sub_call);
    // SYS_SOCKET, SYS_BIND and SYS_ACCEPT, which has no number of its own.
    assert_eq!([1, 2, 5].map(through), [allow, kill, allow]);
    assert_eq!(
        [13, 1 << 16 | 13, 14].map(|syscall| of(&filter, "ipc", syscall)),
        [allow, allow, kill]
    );
    let direct = build(&[Syscall::name("socket").direct()]);
    assert_eq!((of(&direct, "socket", 9), of(&direct, "socketcall", 1)), (allow, kill));
    // Without a multiplexer there is nothing more to cover.
    let wide = Filter::builder(Arch::X86_64).allow_if("socket", arg("family").eq(1)).unwrap();
    assert_eq!(wide.build().unwrap().verdict(Arch::X86_64, 41, [1, 0, 0, 0, 0, 0]), allow);
}

#[test]
fn numbers_are_taken_in_every_form() {
    let builder = Filter::builder(Arch::X86_64);
    let filter = builder.allow([0]).unwrap().allow([libc::SYS_write]).unwrap();
    let filter = filter.allow([3u32]).unwrap().allow([4u64]).unwrap();
    let filter = filter.allow([Syscall::number(5), Syscall::on(Arch::X86_64, 6)]).unwrap();
    let filter = filter.allow([9999]).unwrap().allow([String::from("getpid")]).unwrap();
    let filter = filter.build().unwrap();
    for nr in [0, libc::SYS_write as u32, 3, 4, 5, 6, 9999, 39] {
        assert_eq!(filter.verdict(Arch::X86_64, nr, NONE), Verdict::ALLOW, "{nr}");
    }
    assert_eq!(filter.verdict(Arch::X86_64, 2, NONE), Verdict::KILL_PROCESS);
    // Of one token, a number says its ABI itself.
    let both = Filter::builder([Arch::X86_64, Arch::X32]).allow([0, 0x4000_0001]).unwrap();
    let both = both.build().unwrap();
    let of = |nr| both.verdict(Arch::X86_64, nr, NONE);
    assert_eq!([0, 1, X32, X32 | 1].map(|nr| of(nr) == Verdict::ALLOW), [true, false, false, true]);
}

#[test]
fn a_rule_of_lower_precedence_after_an_unconditional_one_has_no_effect() {
    let builder = Filter::builder(Arch::X86_64).deny(["ptrace"]).unwrap();
    let filter = builder.allow(["read", "ptrace", "read"]).unwrap().build().unwrap();
    assert_eq!(filter.verdict(Arch::X86_64, 101, NONE), Verdict::errno(1));
    assert_eq!(filter.verdict(Arch::X86_64, 0, NONE), Verdict::ALLOW);
    assert_eq!(filter.policy().sections()[0].rules.len(), 3, "the guard, ptrace and read");
}

#[test]
fn an_unconditional_expression_is_an_unconditional_rule() {
    let builder = || Filter::builder(Arch::X86_64);
    let always = builder().allow_if("read", Expr::always()).unwrap().build().unwrap();
    assert_eq!(always, builder().allow(["read"]).unwrap().build().unwrap());
    let never = builder().allow_if("read", Expr::any_of([])).unwrap().build().unwrap();
    assert_eq!(never.verdict(Arch::X86_64, 0, NONE), Verdict::KILL_PROCESS);
}

#[test]
fn what_is_compiled_means_what_was_built() {
    let arches = [Arch::X86_64, Arch::X86, Arch::Aarch64];
    let filter = Filter::builder(arches)
        .default(Verdict::errno(1))
        .allow(["read", "write", "socket"])
        .and_then(|builder| builder.allow_if("fcntl", arg("cmd").is_in([1, 3]) & arg(0).eq(3)))
        .and_then(|builder| builder.deny_if("lseek", arg("offset").eq(-1) | !arg("fd").le(5)))
        .and_then(|builder| builder.build())
        .unwrap();
    let program = filter.compile().unwrap();
    let values = [0, 1, 3, 5, 6, 0xffff_ffff, 1 << 32 | 3, u64::MAX];
    let mut denied = 0;
    for arch in arches {
        for (nr, _) in arch.syscalls() {
            for (a, b) in values.iter().flat_map(|a| values.map(|b| (*a, b))) {
                let args = [a, b, 0, 0, 0, 0];
                let data = numbered(arch, nr, &args);
                let expected = filter.policy().evaluate(&data);
                assert_eq!(program.run(&data, arch.endian()).verdict, expected, "{data:?}");
                denied += usize::from(expected != Verdict::ALLOW);
            }
        }
    }
    assert!(denied > 1000, "{denied}");
    assert!(callgate::diff(&filter, filter.policy(), 1).unwrap().is_empty());
}
