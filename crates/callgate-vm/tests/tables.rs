//! The table of verdicts in `Cached`.

use callgate_bpf::random::Rng;
use callgate_bpf::{SyscallTable, asm};
use callgate_core::{Arch, Endian, Program, SeccompData, Verdict};
use callgate_vm::differential::seccomp_program;
use callgate_vm::{CACHED_NUMBERS, Cached, EngineKind, SeccompEngine};

fn cached(text: &str, arches: &[Arch]) -> Cached<Refusing> {
    let program = Program::new(asm::assemble(text).unwrap()).unwrap();
    Cached::new(Refusing, &program, Endian::Little, arches)
}

/// The verdict of the wrapped engine.
const ASKED: Verdict = Verdict(0xdead_beef);

struct Refusing;

impl SeccompEngine for Refusing {
    fn verdict(&self, _data: &SeccompData) -> Verdict {
        ASKED
    }

    fn code_bytes(&self) -> usize {
        0
    }
}

fn ask(engine: &impl SeccompEngine, arch: u32, nr: u32) -> Verdict {
    engine.verdict(&SeccompData { nr, arch, args: [9; 6], ..SeccompData::default() })
}

const X86_64: u32 = Arch::X86_64.token();

/// Architectures whose syscall numbers do not start at 0.
#[test]
fn mips_abis_have_tables() {
    for (arch, read) in [(Arch::Mips, 4003), (Arch::Mipsel64, 5000), (Arch::Mipsel64n32, 6000)] {
        assert_eq!(arch.number("read"), Some(read));
        let engine = cached(
            &format!("ld nr\n jeq #{read}, next, no\n ret ALLOW\n no: ret ERRNO(EPERM)"),
            &[arch],
        );
        assert_eq!(ask(&engine, arch.token(), read), Verdict::ALLOW, "{arch}");
        assert_eq!(ask(&engine, arch.token(), read + 1), Verdict::errno(1), "{arch}");
        assert_eq!(ask(&engine, arch.token(), 3), ASKED, "{arch}");
    }
}

#[test]
fn constant_verdicts_of_every_action_are_known() {
    let engine = cached(
        "ld nr
         jeq #1, one
         jeq #2, two
         jeq #3, three
         ret TRACE(7)
         one: ret KILL_PROCESS
         two: ret ERRNO(EPERM)
         three: ld args[0].low
         jeq #9, +0, +1
         ret LOG
         ret ALLOW",
        &[Arch::X86_64],
    );
    assert_eq!(engine.known_verdicts(), CACHED_NUMBERS as usize - 1);
    assert_eq!(ask(&engine, X86_64, 0), Verdict::trace(7));
    assert_eq!(ask(&engine, X86_64, 1), Verdict::KILL_PROCESS);
    assert_eq!(ask(&engine, X86_64, 2), Verdict::errno(1));
    assert_eq!(ask(&engine, X86_64, 3), ASKED, "an argument decides");
    assert_eq!(ask(&engine, X86_64, CACHED_NUMBERS), ASKED, "outside of the table");
    assert_eq!(ask(&engine, Arch::X86.token(), 1), ASKED, "another arch");
}

/// Every number of every table, with several values of the arguments.
#[test]
fn every_verdict_of_a_table_is_that_of_the_reference_interpreter() {
    let programs = if cfg!(miri) { 3 } else { 1_000 };
    let arches = [Arch::X86_64, Arch::X32, Arch::X86, Arch::Aarch64, Arch::Mips];
    let mut checked = 0;
    for seed in 0..programs {
        let program = seccomp_program(&mut Rng::new(seed));
        let engine = Cached::new(Refusing, &program, Endian::Little, &arches);
        for arch in arches {
            for nr in (arch.first_number()..).take(CACHED_NUMBERS as usize) {
                let (token, verdict) = (arch.token(), ask(&engine, arch.token(), nr));
                if verdict == ASKED {
                    continue;
                }
                for value in [0, 9, 0x8000_0000_7fff_ffff, u64::MAX] {
                    let (instruction_pointer, args) = (value, [value; 6]);
                    let data = SeccompData { nr, arch: token, instruction_pointer, args };
                    let expected = program.run(&data, Endian::Little).verdict;
                    assert_eq!(verdict, expected, "{arch} {nr}\n{:#?}", program.insns());
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 500 * programs, "{checked}");
}

#[test]
fn verdicts_computed_from_the_number_are_known() {
    let engine = cached(
        "ld instruction_pointer.low
         st M[0]
         ld nr
         mul #3
         st M[1]
         ldx M[1]
         ld #0x50000
         or x
         jset #1, back
         ret a
         back: ld M[0]
         ret a",
        &[Arch::X86_64],
    );
    assert_eq!(ask(&engine, X86_64, 2), Verdict(0x5_0006));
    assert_eq!(ask(&engine, X86_64, 3), ASKED, "the instruction pointer is returned");
    assert_eq!(engine.known_verdicts(), CACHED_NUMBERS as usize / 2);
}

#[test]
fn a_division_by_an_unknown_value_is_unknown() {
    let text = "ldx #0\n ld args[0].low\n tax\n ld #8\n div x\n ret ALLOW";
    assert_eq!(cached(text, &[Arch::X86_64]).known_verdicts(), 0);
    let unknown = "ldx #0\n ld nr\n and #1\n tax\n ld args[0].low\n div x\n ret ALLOW";
    let engine = cached(unknown, &[Arch::X86_64]);
    assert_eq!(ask(&engine, X86_64, 4), Verdict::KILL_THREAD, "whatever is divided");
    assert_eq!(ask(&engine, X86_64, 5), Verdict::ALLOW);
    let by_number = "ld nr\n tax\n ld #8\n div x\n ret ALLOW";
    let engine = cached(by_number, &[Arch::X86_64]);
    assert_eq!(ask(&engine, X86_64, 0), Verdict::KILL_THREAD, "division by zero returns 0");
    assert_eq!(ask(&engine, X86_64, 1), Verdict::ALLOW);
}

#[test]
fn x86_64_and_x32_have_separate_tables() {
    let text = "ld nr\n jset #0x40000000, x32\n ret ALLOW\n x32: ret ERRNO(ENOSYS)";
    let both = cached(text, &[Arch::X86_64, Arch::X32, Arch::X86_64]);
    assert_eq!(both.known_verdicts(), 2 * CACHED_NUMBERS as usize);
    assert_eq!(ask(&both, X86_64, 0x4000_0005), Verdict::errno(38));
    let one = cached(text, &[Arch::X86_64]);
    assert_eq!(ask(&one, X86_64, 0x4000_0005), ASKED);
}

#[test]
fn a_verdict_equal_to_the_unknown_marker_is_computed() {
    let engine = cached("ret #0x5eeda5ed", &[Arch::X86_64]);
    assert_eq!((engine.known_verdicts(), ask(&engine, X86_64, 1)), (0, ASKED));
}

#[test]
fn engines_are_send_and_sync() {
    fn shared<T: Send + Sync + ?Sized>() {}
    shared::<dyn SeccompEngine>();
    assert!(EngineKind::ALL.contains(&EngineKind::Cached));
}
