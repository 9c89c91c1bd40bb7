//! Random policies about io_uring requests, and random requests near their constants.

use callgate_bpf::random::Rng;
use callgate_core::io_uring::{Decision, IoUringRequest, Member};
use callgate_core::policy::{Cmp, Condition, Field, RequestPolicy, RequestRule, Test};
use callgate_core::{Endian, FilterInput, Insn, Op, Program, SyscallSet};
use proptest::prelude::*;
use proptest::sample::select;

use super::near_constants::{SPECIAL, near};

/// A value, and how many bits it should have: values of tests fit their fields, most of the time.
fn values(field: Field) -> impl Strategy<Value = u64> {
    let fits = move |value: u64| value & field.full_mask();
    prop_oneof![
        6 => (0u64..16).boxed(),
        3 => select(&SPECIAL[..]).prop_map(fits).boxed(),
        3 => (0u32..64).prop_map(move |bit| fits(1 << bit)).boxed(),
        2 => any::<u64>().prop_map(fits).boxed(),
        1 => select(&SPECIAL[..]).boxed(),
    ]
}

fn tests(endian: Endian) -> impl Strategy<Value = Test> {
    let others = Member::ALL.iter().copied().filter(|member| *member != Member::Opcode);
    let members = prop_oneof![
        4 => select(vec![Member::SqeFlags, Member::SocketFamily, Member::OpenFlags]),
        2 => select(others.collect::<Vec<Member>>()),
    ];
    let cmps = select(vec![Cmp::Eq, Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]);
    members.prop_map(move |member| Field::of_request(member, endian)).prop_flat_map(move |field| {
        let masks = prop_oneof![
            3 => Just(u64::MAX).boxed(),
            3 => (0u32..64).prop_map(|bit| 1 << bit).boxed(),
            1 => any::<u64>().boxed(),
        ];
        (values(field), masks, cmps.clone()).prop_map(move |(value, mask, cmp)| {
            let mask = mask & field.full_mask();
            match cmp {
                Cmp::Eq if mask != field.full_mask() => Test::masked_eq(field, mask, value & mask),
                _ => Test { field, mask, cmp, value },
            }
        })
    })
}

fn conditions(endian: Endian) -> impl Strategy<Value = Condition> {
    let test = || tests(endian).prop_map(Condition::test);
    prop_oneof![
        2 => Just(Condition::always()).boxed(),
        4 => test().boxed(),
        3 => prop::collection::vec(test(), 2..4).prop_map(Condition::all).boxed(),
        2 => prop::collection::vec(test(), 2..5).prop_map(Condition::any).boxed(),
    ]
}

fn opcodes() -> impl Strategy<Value = SyscallSet> {
    let few = select(vec![0u32, 1, 16, 18, 22, 23, 28, 45]);
    let range =
        (0u32..70, 0u32..9).prop_map(|(first, more)| SyscallSet::range(first, first + more));
    let set = prop::collection::btree_set(0u32..256, 1..12);
    prop_oneof![
        5 => few.prop_map(SyscallSet::one),
        2 => range,
        2 => set.prop_map(|set| set.into_iter().collect::<SyscallSet>()),
        1 => Just(SyscallSet::range(0, 255)),
    ]
}

/// Policies with at most this number of rules, for either byte order.
pub fn request_policies(rules: usize) -> impl Strategy<Value = RequestPolicy> {
    let decisions = || select(vec![Decision::Allow, Decision::Deny]);
    prop_oneof![Just(Endian::Little), Just(Endian::Big)].prop_flat_map(move |endian| {
        let rule = (opcodes(), conditions(endian), decisions());
        let rule =
            rule.prop_map(|(opcodes, when, decision)| RequestRule { opcodes, when, decision });
        let rules = prop::collection::vec(rule, 0..=rules);
        (rules, decisions()).prop_map(move |(rules, default)| {
            RequestPolicy::new(rules, default, endian).expect("rules about requests of this order")
        })
    })
}

/// A random request, whose words are near these constants, and whose bytes are near parts of them.
pub fn request_near(constants: &[u64], endian: Endian, rng: &mut Rng) -> IoUringRequest {
    let value = |rng: &mut Rng| match rng.below(8) {
        0 => rng.next(),
        1 => rng.pick(&SPECIAL).unwrap_or(0),
        2 => rng.below(3) as u64,
        _ => near(rng.pick(constants).unwrap_or(0), rng),
    };
    let mut request = IoUringRequest::default();
    for word in IoUringRequest::layout(endian).words() {
        request.set(word, endian, value(rng) as u32);
    }
    if rng.below(4) > 0 {
        // As the kernel fills it in.
        request.pad = [0; 5];
    }
    for number in &mut request.payload {
        if rng.below(2) == 0 {
            *number = value(rng);
        }
    }
    request.opcode = value(rng) as u8;
    request.sqe_flags = value(rng) as u8;
    request
}

/// The constants of a policy: opcodes, and the values and masks of tests.
pub fn constants_of_request_policy(policy: &RequestPolicy) -> Vec<u64> {
    let mut found = Vec::new();
    for rule in policy.request_rules() {
        let bounds = rule.opcodes.ranges().iter().flat_map(|(first, last)| [*first, *last]);
        found.extend(bounds.map(u64::from));
        rule.when.for_each_test(&mut |test| {
            found.extend([test.value, test.mask & test.value, test.mask]);
        });
    }
    found
}

/// The constants of a program, alone and in pairs.
pub fn constants_of_request_program(program: &Program<IoUringRequest>) -> Vec<u64> {
    let words: Vec<u32> =
        program.iter().filter(|insn| insn.op.uses_k()).map(|insn| insn.k).collect();
    let pair = |(at, low): (usize, &u32)| {
        let high = words.get((at * 7 + 1) % words.len()).copied().unwrap_or(0);
        [u64::from(high) << 32 | u64::from(*low), u64::from(*low)]
    };
    // Values of bytes are at different places of their words in the two byte orders.
    let bytes = words.iter().flat_map(|word| word.to_le_bytes()).map(u64::from);
    words.iter().enumerate().flat_map(pair).chain(bytes).collect()
}

/// The program of these [pieces](super::programs) for io_uring requests: loads are inside of the structure, most of them of
/// the word with the opcode and of the payload.
pub fn request_program(
    pieces: &[super::programs::Piece],
    endian: Endian,
) -> Program<IoUringRequest> {
    let insns = super::programs::program(pieces, endian).into_insns().into_iter().map(|insn| {
        let k = match (insn.op, insn.k) {
            (Op::LdWordAbs, 0) => 8,
            (Op::LdWordAbs, k) => (k + 12) % 40,
            (_, k) => k,
        };
        Insn { k, ..insn }
    });
    Program::of(insns.collect()).expect("only loads are changed")
}
