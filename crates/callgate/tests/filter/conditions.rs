//! Every matcher at every width, and random expressions, against a plain reading of their definition.

use callgate::{Arch, Endian, Expr, Filter, SeccompData, Verdict, arg, instruction_pointer};
use callgate_bpf::SyscallTable;
use callgate_core::diagram::Store;
use callgate_core::{Insn, Op, Program};
use callgate_testing::reader::numbered;
use proptest::prelude::*;

/// Whether a condition on the syscall holds for these arguments; the compiled program must agree.
fn holds(arch: Arch, name: &str, expr: Expr, args: [u64; 6]) -> bool {
    let filter = Filter::builder(arch).allow_if(name, expr).unwrap().build().unwrap();
    let nr = arch.number(name).unwrap();
    let verdict = filter.verdict(arch, nr, args);
    let data = numbered(arch, nr, &args);
    assert_eq!(filter.compile().unwrap().run(&data, arch.endian()).verdict, verdict);
    verdict == Verdict::ALLOW
}

/// Of `fcntl` on x86-64: fd and cmd are 32 bits, arg is 64.
#[track_caller]
fn check(expr: Expr, yes: &[[u64; 3]], no: &[[u64; 3]]) {
    for (cases, expected) in [(yes, true), (no, false)] {
        for [a, b, c] in cases {
            let args = [*a, *b, *c, 9, 9, 9];
            assert_eq!(holds(Arch::X86_64, "fcntl", expr.clone(), args), expected, "{args:x?}");
        }
    }
}

const HIGH: u64 = 7 << 32;
const MINUS: u64 = 0xffff_ffff;

#[test]
fn every_matcher_at_32_bits_ignores_the_high_word() {
    let fd = || arg("fd");
    let at = |value: u64| [[value, 0, 0], [value | HIGH, 0, 0]];
    let each = |values: &[u64]| values.iter().flat_map(|value| at(*value)).collect::<Vec<_>>();
    let case = |expr: Expr, yes: &[u64], no: &[u64]| check(expr, &each(yes), &each(no));
    case(fd().any(), &[0, MINUS], &[]);
    case(fd().eq(3), &[3], &[2, 4, 0]);
    case(fd().eq(-1), &[MINUS], &[0, 1]);
    case(fd().ne(3), &[2, 4], &[3]);
    case(fd().lt(3), &[0, 2], &[3, MINUS]);
    case(fd().le(3), &[0, 3], &[4, MINUS]);
    case(fd().gt(3), &[4, MINUS], &[0, 3]);
    case(fd().ge(3), &[3, MINUS], &[0, 2]);
    case(fd().is_in([1, 3, -100]), &[1, 3, 0xffff_ff9c], &[0, 2, MINUS]);
    case(fd().is_in(Vec::<u32>::new()), &[], &[0, 1]);
    case(fd().is_in_range(3..=5), &[3, 5], &[2, 6]);
    case(fd().is_in_range(3..5), &[3, 4], &[2, 5]);
    case(fd().is_in_range(3..), &[3, MINUS], &[2]);
    case(fd().is_in_range(..3), &[0, 2], &[3, MINUS]);
    case(fd().is_in_range::<u8>(..), &[0, MINUS], &[]);
    case(fd().masked(0xf0).eq(0x30), &[0x30, 0xf3f], &[0x40, 3]);
    case(fd().masked(!0xf).ne(0), &[0x10, MINUS], &[0, 15]);
    case(fd().masked(0xf0).gt(0x20), &[0x30, 0xff], &[0x20, 0xf0f & !0xf0]);
    case(fd().bits_within(0x5), &[0, 1, 4, 5], &[2, 8, MINUS]);
    case(fd().bits_within(-1), &[0, MINUS], &[]);
    case(fd().masked(0xff).bits_within(0xf), &[0xf, 0xf0f], &[0x10]);
    case(fd().has_all_bits(0x5), &[5, 7, MINUS], &[0, 1, 4]);
    case(fd().has_any_bit(0x5), &[1, 4, MINUS], &[0, 2, 8]);
    case(fd().non_negative(), &[0, 0x7fff_ffff], &[0x8000_0000, MINUS]);
}

#[test]
fn every_matcher_at_64_bits_has_the_high_word() {
    let wide = || arg("arg");
    let each = |values: &[u64]| values.iter().map(|value| [0, 0, *value]).collect::<Vec<_>>();
    let case = |expr: Expr, yes: &[u64], no: &[u64]| check(expr, &each(yes), &each(no));
    let max = u64::MAX;
    case(wide().eq(3), &[3], &[2, HIGH | 3]);
    case(wide().eq(-1), &[max], &[MINUS]);
    case(wide().ne(-1), &[MINUS], &[max]);
    case(wide().lt(HIGH), &[3, HIGH - 1], &[HIGH, max]);
    case(wide().le(HIGH), &[3, HIGH], &[HIGH + 1, max]);
    case(wide().gt(HIGH), &[HIGH + 1, max], &[HIGH, 3]);
    case(wide().ge(HIGH), &[HIGH, max], &[HIGH - 1, 3]);
    case(wide().is_in([HIGH, 3]), &[HIGH, 3], &[0, HIGH | 3]);
    case(wide().is_in_range(MINUS..=HIGH), &[MINUS, HIGH], &[MINUS - 1, HIGH + 1]);
    case(wide().masked(HIGH | 1).eq(HIGH), &[HIGH, HIGH | 2], &[HIGH | 1, 0]);
    case(wide().masked(-16).eq(0), &[0, 15], &[16, HIGH, max]);
    case(wide().bits_within(HIGH), &[0, HIGH, 1 << 32], &[1, 8 << 32, max]);
    case(wide().has_all_bits(HIGH | 1), &[HIGH | 1, max], &[HIGH, 1]);
    case(wide().has_any_bit(HIGH), &[1 << 32, max], &[1, 8 << 32, 0]);
    case(wide().non_negative(), &[0, max >> 1], &[1 << 63, max]);
    case(wide().low32().eq(3), &[3, HIGH | 3], &[2]);
    case(wide().low32().eq(-1), &[MINUS, max], &[3]);
    case(arg(0).any() & arg(2).eq(3), &[3], &[2]);
    check(arg("fd").u64().eq(3), &[[3, 0, 0]], &[[HIGH | 3, 0, 0]]);
    check(arg("fd").u64().eq(-1), &[[max, 0, 0]], &[[MINUS, 0, 0]]);
    check(arg("fd").u64().non_negative(), &[[MINUS, 0, 0]], &[[max, 0, 0]]);
}

/// `NonNegativeFD` as gVisor renders it (`pkg/seccomp/seccomp_rules.go`): the high half is 0, and bit 31 of the low half is clear.
#[test]
fn all_64_bits_of_a_non_negative_descriptor_are_compared_as_gvisor_does() {
    let insns = vec![
        Insn::new(Op::LdWordAbs, 4),
        Insn::branch(Op::JeqK, Arch::X86_64.token(), 0, 7),
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, 3, 0, 5),
        Insn::new(Op::LdWordAbs, 20),
        Insn::branch(Op::JeqK, 0, 0, 3),
        Insn::new(Op::LdWordAbs, 16),
        Insn::branch(Op::JsetK, 1 << 31, 1, 0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
        Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
    ];
    let mut store = Store::default();
    let rendered = store.program(&Program::new(insns).unwrap(), Endian::Little).unwrap();
    let mut is_equal = |expr: Expr| {
        let filter = Filter::builder(Arch::X86_64).allow_if("close", expr).unwrap().build();
        store.policy(filter.unwrap().policy()).unwrap() == rendered
    };
    assert!(is_equal(arg("fd").u64().le(i32::MAX)));
    // The kernel ignores the high half.
    assert!(!is_equal(arg("fd").non_negative()));
    assert!(is_equal(arg("fd").non_negative() & arg("fd").u64().lt(1u64 << 32)));
}

#[test]
fn operators_combine_as_booleans_do() {
    let (a, b, c) = (|| arg(0).eq(1), || arg(1).eq(1), || arg(2).eq(1));
    for bits in 0..8u64 {
        let [x, y, z] = [bits & 1 == 1, bits & 2 == 2, bits & 4 == 4];
        let args = [u64::from(x), u64::from(y), u64::from(z), 0, 0, 0];
        let is = |expr: Expr| holds(Arch::X86_64, "fcntl", expr, args);
        assert_eq!(is(a() & b() & c()), x & y & z);
        assert_eq!(is(a() | b() | c()), x | y | z);
        assert_eq!(is(a() | b() & c()), x | y & z);
        assert_eq!(is((a() | b()) & c()), (x | y) & z);
        assert_eq!(is(!(a() & !b()) | c()), !(x & !y) | z);
        assert_eq!(is(!!a()), x);
        assert_eq!(is(a() & (b() & c())), x & y & z);
        assert_eq!(is(Expr::all_of([a(), !b(), c()])), x & !y & z);
        assert_eq!(is(Expr::any_of([a(), !b()]) & Expr::always()), x | !y);
    }
}

#[test]
fn the_instruction_pointer_is_compared_with_64_bits() {
    let filter = |expr: Expr| Filter::builder(Arch::X86).allow_if("getpid", expr).unwrap().build();
    let at = |expr: Expr, instruction_pointer: u64| {
        let arch = Arch::X86.token();
        let data = SeccompData { nr: 20, arch, instruction_pointer, ..SeccompData::default() };
        filter(expr).unwrap().policy().evaluate(&data) == Verdict::ALLOW
    };
    assert!(at(instruction_pointer().eq(HIGH | 4), HIGH | 4));
    assert!(!at(instruction_pointer().eq(4), HIGH | 4));
    assert!(at(instruction_pointer().low32().eq(4), HIGH | 4));
    assert!(at(instruction_pointer().eq(-1), u64::MAX));
    assert!(at(instruction_pointer().is_in_range(HIGH..HIGH + 9), HIGH | 8));
}

/// Registers have 32 bits there, so the high words are zero.
#[test]
fn narrow_registers_have_all_that_is_compared() {
    let on_x86 = |expr: Expr, value: u64| holds(Arch::X86, "write", expr, [0, 0, value, 0, 0, 0]);
    assert!(on_x86(arg("count").eq(-1), MINUS));
    assert!(on_x86(arg("count").u64().eq(-1), MINUS));
    assert!(on_x86(arg("count").le(1u64 << 40), MINUS));
    assert!(!on_x86(arg("count").ge(1u64 << 40), MINUS));
    assert!(on_x86(arg("count").ne(1u64 << 40), 0));
    assert!(on_x86(arg("count").masked(HIGH).eq(0), MINUS));
    assert!(!on_x86(arg("count").has_any_bit(HIGH), MINUS));
    assert!(on_x86(arg("count").bits_within(HIGH | 1), 1));
    assert!(!on_x86(arg("count").bits_within(HIGH | 1), 2));
    // x32 has the wide registers of x86-64.
    let on_x32 = |value: u64| holds(Arch::X32, "write", arg("count").eq(3), [0, 0, value, 0, 0, 0]);
    assert_eq!((on_x32(3), on_x32(HIGH | 3)), (true, false));
}

#[test]
fn names_find_their_place_on_each_architecture() {
    let clone = arg("clone_flags").eq(17);
    assert!(holds(Arch::Aarch64, "clone", clone.clone(), [17, 0, 0, 0, 0, 0]));
    assert!(holds(Arch::S390x, "clone", clone, [0, 17, 0, 0, 0, 0]));
}

/// A matcher by number, its values, and its definition.
#[derive(Clone, Debug)]
struct Leaf {
    arg: usize,
    width: u8,
    mask: Option<u64>,
    matcher: u8,
    values: Vec<u64>,
}

#[derive(Clone, Debug)]
enum Tree {
    Leaf(Leaf),
    All(Vec<Tree>),
    Any(Vec<Tree>),
    Not(Box<Tree>),
}

impl Leaf {
    /// The widths of fcntl's arguments: fd, cmd, arg.
    fn bits(&self) -> u64 {
        match (self.width, self.arg) {
            (1, _) | (0, 0 | 1) => u64::from(u32::MAX),
            _ => u64::MAX,
        }
    }

    /// Values as the operand takes them: of its width, and within its mask.
    fn value(&self, at: usize) -> u64 {
        self.values[at % self.values.len()] & self.bits() & self.mask()
    }

    fn mask(&self) -> u64 {
        match self.mask.unwrap_or(u64::MAX) & self.bits() {
            0 => 1,
            mask => mask,
        }
    }

    fn expr(&self) -> Expr {
        let operand = match self.width {
            0 => arg(self.arg),
            1 => arg(self.arg).low32(),
            _ => arg(self.arg).u64(),
        };
        let operand = if self.mask.is_some() { operand.masked(self.mask()) } else { operand };
        let (first, second) = (self.value(0), self.value(1));
        match self.matcher {
            0 => operand.eq(first),
            1 => operand.ne(first),
            2 => operand.lt(first),
            3 => operand.le(first),
            4 => operand.gt(first),
            5 => operand.ge(first),
            6 => operand.is_in([first, second]),
            7 => operand.is_in_range(first.min(second)..=first.max(second)),
            8 => operand.bits_within(first),
            9 if first != 0 => operand.has_all_bits(first),
            10 if first != 0 => operand.has_any_bit(first),
            _ => operand.any(),
        }
    }

    fn holds(&self, args: &[u64; 6]) -> bool {
        let given = args[self.arg] & self.mask();
        let (first, second) = (self.value(0), self.value(1));
        match self.matcher {
            0 => given == first,
            1 => given != first,
            2 => given < first,
            3 => given <= first,
            4 => given > first,
            5 => given >= first,
            6 => given == first || given == second,
            7 => (first.min(second)..=first.max(second)).contains(&given),
            8 => given & !first == 0,
            9 if first != 0 => given & first == first,
            10 if first != 0 => given & first != 0,
            _ => true,
        }
    }
}

impl Tree {
    fn expr(&self) -> Expr {
        match self {
            Tree::Leaf(leaf) => leaf.expr(),
            Tree::All(parts) => Expr::all_of(parts.iter().map(Tree::expr)),
            Tree::Any(parts) => Expr::any_of(parts.iter().map(Tree::expr)),
            Tree::Not(part) => !part.expr(),
        }
    }

    fn holds(&self, args: &[u64; 6]) -> bool {
        match self {
            Tree::Leaf(leaf) => leaf.holds(args),
            Tree::All(parts) => parts.iter().all(|part| part.holds(args)),
            Tree::Any(parts) => parts.iter().any(|part| part.holds(args)),
            Tree::Not(part) => !part.holds(args),
        }
    }

    fn values(&self, into: &mut Vec<u64>) {
        match self {
            Tree::Leaf(leaf) => {
                for at in 0..2 {
                    let value = leaf.value(at);
                    into.extend([
                        value,
                        value.wrapping_add(1),
                        value.wrapping_sub(1),
                        value ^ 1 << 35,
                    ]);
                }
            }
            Tree::All(parts) | Tree::Any(parts) => parts.iter().for_each(|part| part.values(into)),
            Tree::Not(part) => part.values(into),
        }
    }
}

fn values() -> impl Strategy<Value = u64> {
    prop_oneof![
        0u64..8,
        (0u32..64).prop_map(|bit| 1 << bit),
        prop::sample::select(vec![MINUS, u64::MAX, 0x8000_0000, HIGH | 3, 0xff00]),
        any::<u64>(),
    ]
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = (0usize..3, 0u8..3, prop::option::of(values()), 0u8..12, values(), values())
        .prop_map(|(arg, width, mask, matcher, a, b)| {
            Tree::Leaf(Leaf { arg, width, mask, matcher, values: vec![a, b] })
        });
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::All),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Tree::Any),
            inner.prop_map(|part| Tree::Not(Box::new(part))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Policy, compiled program and definition say the same of random expressions.
    #[test]
    fn random_expressions_mean_what_they_say(tree in trees(), picks in prop::collection::vec(any::<[prop::sample::Index; 3]>(), 60)) {
        let filter = Filter::builder(Arch::X86_64).allow_if("fcntl", tree.expr()).unwrap();
        let filter = filter.build().unwrap();
        let program = filter.compile().unwrap();
        let mut points = vec![0, u64::MAX];
        tree.values(&mut points);
        for pick in picks {
            let [a, b, c] = pick.map(|index| points[index.index(points.len())]);
            let args = [a, b, c, 1, 2, 3];
            let expected = if tree.holds(&args) { Verdict::ALLOW } else { Verdict::KILL_PROCESS };
            prop_assert_eq!(filter.verdict(Arch::X86_64, 72, args), expected, "{:x?}", args);
            let data = numbered(Arch::X86_64, 72, &args);
            prop_assert_eq!(program.run(&data, callgate::Endian::Little).verdict, expected);
        }
    }
}
