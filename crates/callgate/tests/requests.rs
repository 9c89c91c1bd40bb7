//! Policies about io_uring requests, from rules to proved programs: the reference interpreter agrees with the rules, and programs
//! are as short as they should be.

use callgate::Endian;
use callgate::compile::{RequestOptions, compile_requests};
use callgate_codegen::{Aim, Instructions};
use callgate_core::diagram::Budget;
use callgate_core::io_uring::{Decision, IoUringRequest, Member, SocketPayload};
use callgate_core::policy::{Cmp, Condition, Field, RequestPolicy, RequestRule, Test};
use callgate_core::{Insn, Meaning, Op, Program, SyscallSet};
use callgate_testing::random::requests::{
    constants_of_request_policy, constants_of_request_program, request_near, request_policies,
};
use callgate_testing::random::{Rng, cases};
use proptest::prelude::*;

const SOCKET: u32 = 45;
const OPENAT: u32 = 18;
const OPENAT2: u32 = 28;

const ENDIANS: [Endian; 2] = [Endian::Little, Endian::Big];

fn rule(opcodes: SyscallSet, when: Condition, decision: Decision) -> RequestRule {
    RequestRule { opcodes, when, decision }
}

fn allow(opcode: u32, when: Condition) -> RequestRule {
    rule(SyscallSet::one(opcode), when, Decision::Allow)
}

fn compiled(policy: &RequestPolicy) -> Program<IoUringRequest> {
    compile_requests(policy, &RequestOptions::default()).unwrap().into_program()
}

/// Compares a program with its policy on these requests.
#[track_caller]
fn agrees(
    program: &Program<IoUringRequest>,
    policy: &RequestPolicy,
    requests: impl IntoIterator<Item = IoUringRequest>,
) {
    for request in requests {
        let given = program.run(&request, policy.endian()).verdict;
        assert_eq!(given, policy.evaluate(&request), "{request:x?}");
    }
}

proptest! {
    #![proptest_config(cases(250))]

    /// Rules, diagram, code, acceptance, proof, interpreter: for random policies, in both byte orders, with each aim and set of
    /// instructions.
    #[test]
    fn programs_agree_with_the_rules(
        policy in request_policies(8),
        small in any::<bool>(),
        basic in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let options = RequestOptions {
            aim: if small { Aim::Size } else { Aim::Speed },
            instructions: if basic { Instructions::Basic } else { Instructions::All },
            ..RequestOptions::default()
        };
        let program = compile_requests(&policy, &options).unwrap();
        let mut constants = constants_of_request_policy(&policy);
        constants.extend(constants_of_request_program(&program));
        let mut rng = Rng::new(seed);
        for _ in 0..200 {
            let request = request_near(&constants, policy.endian(), &mut rng);
            let given = program.run(&request, policy.endian()).verdict;
            prop_assert_eq!(given, policy.evaluate(&request), "{:x?}", request);
        }
        for opcode in constants.into_iter().map(|value| value as u8).take(4) {
            let one = policy.for_opcode(opcode);
            let program = compile_requests(&one, &options).unwrap();
            for _ in 0..40 {
                let request = request_near(&[], policy.endian(), &mut rng);
                let request = IoUringRequest { opcode, ..request };
                let given = program.run(&request, policy.endian()).verdict;
                prop_assert_eq!(given, policy.evaluate(&request), "{:x?}", request);
            }
        }
    }
}

/// The values around each boundary of a field of 64, 32 and 8 bits, for every comparison, with and without a mask.
#[test]
fn every_comparison_of_every_member_agrees_at_its_boundaries() {
    const VALUES: [u64; 10] =
        [0, 1, 2, 0x7f, 0x80, 0xff, 0x8000_0000, 0xffff_ffff, 0x1_0000_0000, u64::MAX];
    let members = Member::ALL.iter().filter(|member| **member != Member::Opcode);
    for (endian, member) in ENDIANS.into_iter().flat_map(|e| members.clone().map(move |m| (e, *m)))
    {
        let field = Field::of_request(member, endian);
        let requests: Vec<IoUringRequest> = VALUES
            .iter()
            .flat_map(|value| [value.wrapping_sub(1), *value, value.wrapping_add(1)])
            .flat_map(|value| [false, true].map(|noise| request_with(member, value, noise, endian)))
            .collect();
        for cmp in [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge] {
            for value in VALUES.map(|value| value & field.full_mask()) {
                for mask in [u64::MAX, 0x8000_0001_0000_0081] {
                    let test = Test { field, mask: mask & field.full_mask(), cmp, value };
                    let rules = vec![allow(3, Condition::test(test))];
                    let policy = RequestPolicy::new(rules, Decision::Deny, endian).unwrap();
                    agrees(&compiled(&policy), &policy, requests.iter().copied());
                }
            }
        }
    }
}

/// A request of opcode 3 whose member has this value; the other bits are 0 or 1.
fn request_with(member: Member, value: u64, noise: bool, endian: Endian) -> IoUringRequest {
    let fill = if noise { u64::MAX } else { 0 };
    let mut request = IoUringRequest {
        user_data: fill,
        opcode: 3,
        sqe_flags: fill as u8,
        pdu_size: fill as u8,
        pad: [fill as u8; 5],
        payload: [fill; 3],
    };
    let third = |at: usize, request: &mut IoUringRequest| {
        // The number of 32 bits at an offset of the payload is half of one of 64 bits.
        let is_low = (at % 2 == 0) == (endian == Endian::Little);
        let (shift, number) = (if is_low { 0 } else { 32 }, &mut request.payload[at / 2]);
        *number = *number & !(0xffff_ffff << shift) | (value & 0xffff_ffff) << shift;
    };
    match member {
        Member::Opcode => request.opcode = value as u8,
        Member::SqeFlags => request.sqe_flags = value as u8,
        Member::PduSize => request.pdu_size = value as u8,
        Member::SocketFamily => third(0, &mut request),
        Member::SocketType => third(1, &mut request),
        Member::SocketProtocol => third(2, &mut request),
        Member::OpenFlags => request.payload[0] = value,
        Member::OpenMode => request.payload[1] = value,
        Member::OpenResolve => request.payload[2] = value,
        Member::UserData => request.user_data = value,
    }
    request
}

/// A sandbox: reads and writes, files that are only read, sockets of the Internet families; nothing with `IOSQE_ASYNC`.
fn sandbox(endian: Endian) -> RequestPolicy {
    let field = |member| Field::of_request(member, endian);
    let read_only = Condition::test(Test::masked_eq(field(Member::OpenFlags), !0x8_8000, 0));
    let beneath = Condition::test(Test::masked_eq(field(Member::OpenResolve), 0x8, 0x8));
    let families =
        [2, 10].map(|family| Condition::test(Test::eq(field(Member::SocketFamily), family)));
    let stream = Condition::test(Test::masked_eq(field(Member::SocketType), 0xf, 1));
    let asynchronous = Condition::test(Test::masked_eq(field(Member::SqeFlags), 0x10, 0x10));
    let rules = vec![
        rule(SyscallSet::range(0, 255), asynchronous, Decision::Deny),
        rule(
            SyscallSet::from_ranges([(0, 5), (22, 23), (26, 27)]),
            Condition::always(),
            Decision::Allow,
        ),
        allow(OPENAT, read_only.clone()),
        allow(OPENAT2, Condition::all([read_only, beneath])),
        allow(SOCKET, Condition::all([Condition::any(families), stream])),
    ];
    RequestPolicy::new(rules, Decision::Deny, endian).unwrap()
}

#[test]
fn a_sandbox_decides_as_its_rules_say() {
    for endian in ENDIANS {
        let policy = sandbox(endian);
        let program = compiled(&policy);
        let mut requests: Vec<IoUringRequest> = (0..=255).map(IoUringRequest::new).collect();
        for family in [0, 1, 2, 3, 9, 10, 11, 0x1_0002] {
            for kind in [0, 1, 2, 3, 0x80001, 0x80002] {
                let payload = SocketPayload { family, kind, protocol: 0 };
                requests.push(IoUringRequest::socket(payload, endian));
            }
        }
        for flags in [0, 1, 2, 0x8_0000, 0x8000, 0x8_8000, 0x241, 1 << 32, 1 << 63] {
            for resolve in [0, 8, 0x18, 0x10, 8 << 32] {
                let open = IoUringRequest::openat2(flags, 0o644, resolve);
                requests.extend([open, IoUringRequest { opcode: OPENAT as u8, ..open }]);
            }
        }
        let with_flags =
            |flags| move |request: &IoUringRequest| IoUringRequest { sqe_flags: flags, ..*request };
        let flagged: Vec<IoUringRequest> = [0x10, 0x01, 0x7f, 0x6f]
            .into_iter()
            .flat_map(|flags| requests.iter().map(with_flags(flags)).collect::<Vec<_>>())
            .collect();
        let allowed = requests.iter().filter(|request| policy.evaluate(request) == Decision::Allow);
        assert!(allowed.count() > 12);
        agrees(&program, &policy, requests.into_iter().chain(flagged));
        let shown = (endian, program.len());
        assert!(matches!(shown, (Endian::Little, ..=41) | (Endian::Big, ..=41)), "{shown:?}");
    }
}

/// One program per opcode, as they are registered: none of them tests the opcode.
#[test]
fn programs_for_one_opcode_do_not_test_it() {
    let policy = sandbox(Endian::Little);
    for (opcode, at_most) in [(0, 4), (SOCKET as u8, 11), (7, 1)] {
        let program = compiled(&policy.for_opcode(opcode));
        assert!(program.len() <= at_most, "{opcode}: {:?}", program.insns());
        for other in [0, opcode, 255] {
            let request = IoUringRequest::socket(
                SocketPayload { family: 2, kind: 1, protocol: 0 },
                Endian::Little,
            );
            let wanted = policy.evaluate(&IoUringRequest { opcode, ..request });
            let request = IoUringRequest { opcode: other, ..request };
            assert_eq!(program.run(&request, Endian::Little).verdict, wanted);
        }
    }
}

/// A test of bits needs no `and` that clears the other bytes of the loaded word.
#[test]
fn a_flag_is_one_test() {
    for (endian, bit) in [(Endian::Little, 0x1000), (Endian::Big, 0x10_0000)] {
        let flag = Test::masked_eq(Field::of_request(Member::SqeFlags, endian), 0x10, 0x10);
        let deny = rule(SyscallSet::range(0, 255), Condition::test(flag), Decision::Deny);
        let policy = RequestPolicy::new(vec![deny], Decision::Allow, endian).unwrap();
        let program = compiled(&policy);
        assert_eq!(program.len(), 4, "{:?}", program.insns());
        assert_eq!(program.insns()[0], Insn::new(Op::LdWordAbs, 8));
        assert!(program.iter().any(|insn| insn.op == Op::JsetK && insn.k == bit));
    }
}

/// No emulator of the kernel must recognize constant allow here, so opcodes may be looked up in a constant.
#[test]
fn scattered_opcodes_share_a_bitset() {
    let opcodes: SyscallSet = [1u32, 2, 4, 7, 11, 13, 14, 18, 22, 25, 28].into_iter().collect();
    let rules = vec![rule(opcodes, Condition::always(), Decision::Allow)];
    let policy = RequestPolicy::new(rules, Decision::Deny, Endian::Little).unwrap();
    let small = RequestOptions { aim: Aim::Size, ..RequestOptions::default() };
    let program = compile_requests(&policy, &small).unwrap();
    agrees(&program, &policy, (0..=255).map(IoUringRequest::new));
    assert!(program.iter().any(|insn| insn.op == Op::RshX), "{:?}", program.insns());
    assert!(program.len() <= 10, "{}", program.len());
    assert!(compiled(&policy).len() <= 15);
}

/// The same instructions are accepted or refused by the layout that they are for.
#[test]
fn a_program_is_for_one_layout() {
    let load = |offset| vec![Insn::new(Op::LdWordAbs, offset), Insn::new(Op::RetK, 1)];
    assert!(Program::new(load(60)).is_ok());
    let refused = Program::<IoUringRequest>::of(load(60)).unwrap_err().to_string();
    assert!(refused.contains("outside io_uring_bpf_ctx"), "{refused}");
    assert!(Program::<IoUringRequest>::of(load(36)).is_ok());

    // What a program means depends on the layout as well: offset 8 is the opcode here, the instruction pointer there.
    let insns = compiled(&sandbox(Endian::Little)).into_insns();
    let as_seccomp = Program::new(insns).unwrap();
    let as_requests = Program::<IoUringRequest>::of(as_seccomp.insns().to_vec()).unwrap();
    let of_seccomp = Meaning::of_program(&as_seccomp, Endian::Little, Budget::default()).unwrap();
    let of_requests =
        Meaning::of_request_program(&as_requests, Endian::Little, Budget::default()).unwrap();
    assert_ne!(of_seccomp.store().layout(), of_requests.store().layout());
    let data = callgate::SeccompData::default();
    assert!(of_requests.store().evaluate(of_requests.func(), &data).is_err());
}
