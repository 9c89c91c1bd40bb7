use crate::text::{TextOptions, parse_program};
use callgate_core::{Arch, Endian, RawInsn};

fn read(text: &str) -> Result<Vec<RawInsn>, String> {
    let options = TextOptions::new(Endian::Little).with_usual_arch(Arch::X86_64);
    let read = parse_program(text, &options).map(|program| program.insns);
    read.map_err(|error| error.diagnostics()[0].to_string())
}

fn same(text: &str, assembly: &str) {
    assert_eq!(read(text), read(assembly), "{text}");
    assert!(read(text).is_ok(), "{text}");
}

#[test]
fn questions_are_branches() {
    same(
        "# only one ABI
         A = arch
         A == ARCH_X86_64 ? next : dead
         A = sys_number # it's the whole number
         A >= 0x40000000 ? dead : next
         A == write ? ok : next
         A == 3 ? ok : next
         return ERRNO(5)
         ok:
         return ALLOW
         dead:
         return KILL",
        "ld arch\njeq #0xc000003e, next, dead\nld nr\njge #0x40000000, dead\njeq #1, ok\njeq #3, ok
         ret ERRNO(5)\nok: ret ALLOW\ndead: ret KILL",
    );
}

/// What `lib/seccomp-tools/asm/sasm.y` has beyond its documentation.
#[test]
fn the_whole_grammar_is_read() {
    same(
        "A = args_h[1]
         if (a == (0x5)) jump ok
         if (!(!(A & 1))) goto no else jmp ok
         A = args_h[2] >> 32
         A = args[0]
         A &= read
         A = execve
         X = write
         A == aarch64.openat ? ok : no
         ok: return TRACE(3)
         no: RETURN KILL",
        "ld args[1].high\njeq #5, ok\njset #1, no, ok\nld args[2].low\nld args[0].low\nand #0\nld #59\nldx #1
         jeq #56, ok, no\nok: ret TRACE(3)\nno: ret KILL_THREAD",
    );
    same(
        "a = arch\na != arch_riscv64 ? 0 : 1\nreturn A\nreturn KILL",
        "ld arch\njne #0xc00000f3, 0, 1\nret a\nret #0",
    );
    same("A += 1\nreturn A", "add #1\nret a");
    for (text, message) in [
        ("A = 1\nif (!A & 1) goto 0\nreturn A", "expected `(`"),
        ("A = 1\nif ((A & 1) goto 0\nreturn A", "expected `)`"),
        ("A = args_h[6]\nreturn A", "the index of an argument"),
        ("A = riscv64.mmap2\nreturn A", "not a constant"),
    ] {
        assert!(read(text).unwrap_err().contains(message), "{text}: {:?}", read(text));
    }
}

#[test]
fn conditions_may_span_lines_and_be_negated() {
    same(
        "if (A == X)
           goto next # the 'next' line
         else
           goto deny
         A = args[0]
         if (
           A # the first argument
             == 0x45a
           ) goto kill
         if (! (A & 0xc0de))
           goto 0
         else goto 2
         A = sys_number
         A = instruction_pointer >> 32
         mem[0] = A
         A = data[4]
         deny: return ERRNO(77)
         kill:
         return KILL",
        "jeq x, next, err\nld args[0].low\njeq #0x45a, no\njset #0xc0de, +2, next\nld nr
         ld instruction_pointer.high\nst M[0]\nld [4]\nerr: ret ERRNO(77)\nno: ret KILL",
    );
}

#[test]
fn numbers_of_lines_are_labels() {
    same(
        "0000: A = arch\n0001: if (A != ARCH_X86_64) goto 0005\n0002: A = sys_number
         0003: if (A < 0x40000000) goto 0005\n0004: if (A == x32_read) goto 0006
         0005: return ERRNO(5)\n0006: return ALLOW",
        "ld arch\njne #0xc000003e, no\nld nr\njlt #0x40000000, no\njeq #0x40000000, ok\nno: ret ERRNO(5)\nok: ret ALLOW",
    );
}

#[test]
fn numbers_after_a_question_mark_are_distances() {
    same(
        "A = sys_number\nA == read ? 0 : 1\nreturn ALLOW\nA == write ? 0 : dead\nreturn ALLOW\ndead: return KILL",
        "ld nr\njeq #0, +0, +1\nret ALLOW\njeq #1, +0, no\nret ALLOW\nno: ret KILL",
    );
    // Unless they are labels.
    same(
        "A = sys_number\nA == read ? 2 : 1\n1: return KILL\n2: return ALLOW",
        "ld nr\njeq #0, ok\nret KILL\nok: ret ALLOW",
    );
}

#[test]
fn assignments_compute() {
    same(
        "A = 5\nX = A\nA += X\nA <<= 2\nA &= 0xff\nA = -A\nX = mem[3]\nmem[4] = X\nA = X\nA = args[5] >> 32
         A = mem[1]\nA = len\nA -= 1\nreturn A",
        "ld #5\ntax\nadd x\nlsh #2\nand #0xff\nneg\nldx M[3]\nstx M[4]\ntxa\nld args[5].high
         ld M[1]\nld #len\nsub #1\nret a",
    );
}

#[test]
fn mistakes_have_positions() {
    for (text, message) in [
        ("A = args[6]\nreturn ALLOW", "1:10: expected the index of an argument, 0 to 5, found `6`"),
        ("A = arch\nA == ARCH_X86_64 ? next\nreturn ALLOW", "3:1: expected `:`, found `return`"),
        ("A = args[0] >> 16\nreturn ALLOW", "1:1: only `>> 32` selects a half"),
        ("A = sys_number\nif (A == read) goto nowhere\nreturn ALLOW", "2:21: "),
        ("A = sys_number\nif (B == read) goto next\nreturn ALLOW", "2:5: expected `A`, found `B`"),
        ("A = arch\nif (!A & 1) goto next\nreturn ALLOW", "2:6: expected `(`, found `A`"),
        ("A = sys_number\nread ? a : b\nreturn ALLOW", "2:1: expected a statement"),
    ] {
        let found = read(text).unwrap_err();
        assert!(found.starts_with(message), "{text}: {found}");
    }
}

#[test]
fn pseudo_filter_code_of_libseccomp_is_refused_with_advice() {
    let text = "#\n# pseudo filter code start\n#\nif ($arch == 3221225534)\n  action ALLOW;";
    assert!(read(text).unwrap_err().contains("libseccomp's pseudo filter code"));
}
