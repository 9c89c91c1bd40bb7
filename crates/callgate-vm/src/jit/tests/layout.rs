//! Code layout: displacements of every length, tables, chains, and the longest programs.

use std::collections::{BTreeSet, HashMap};

use callgate_core::{
    AncillaryWord, Endian, Insn, MAX_INSNS, NoAncillary, Op, Program, SKF_LL_OFF, SKF_NET_OFF,
    SeccompData, SocketProgram,
};

use super::{Judge, RandomAncillary};
use crate::engine::{PacketEngine, SeccompEngine};
use crate::jit::Jit;

const NR: Insn = Insn::new(Op::LdWordAbs, 0);
const RET_A: Insn = Insn::new(Op::RetA, 0);

fn ret(k: u32) -> Insn {
    Insn::new(Op::RetK, k)
}

fn number(nr: u32) -> SeccompData {
    SeccompData { nr, arch: nr ^ 0xff, ..SeccompData::default() }
}

/// Code that cannot be folded.
fn filler(len: usize) -> impl Iterator<Item = Insn> {
    let pair = [Insn::new(Op::AddX, 0), Insn::new(Op::XorK, 0x1234_5678)];
    pair.into_iter().cycle().take(len)
}

pub(super) fn branches_agree_over_every_displacement(judge: &mut dyn Judge) {
    for len in 0..255u8 {
        for (jt, jf) in [(len, 0), (0, len), (len, len / 2)] {
            let mut insns = vec![Insn::new(Op::LdWordAbs, 4), Insn::new(Op::Tax, 0), NR];
            insns.push(Insn::branch(Op::JgtK, 100, jt, jf));
            insns.extend(filler(usize::from(len)));
            insns.push(RET_A);
            let program = Program::new(insns).unwrap();
            judge.syscalls(&program, &[number(99), number(100), number(101)]);
        }
    }
}

pub(super) fn jumps_agree_in_the_longest_program(judge: &mut dyn Judge) {
    let end = MAX_INSNS as u32;
    for distance in [126, 127, 128, 129, 4000, end - 8] {
        let mut insns = vec![Insn::new(Op::LdWordAbs, 4), Insn::new(Op::Tax, 0), NR];
        insns.push(Insn::branch(Op::JeqK, 5, 1, 0));
        insns.push(Insn::new(Op::Ja, 0));
        insns.push(Insn::branch(Op::JsetK, 1, 0, 1));
        insns.push(Insn::new(Op::Ja, distance.min(end - 8 - 1)));
        insns.extend(filler(MAX_INSNS - insns.len() - 1));
        insns.push(RET_A);
        let program = Program::new(insns).unwrap();
        judge.syscalls(&program, &[number(4), number(5), number(6), number(7)]);
    }
}

/// A failing load jumps to the end of the program, which is the largest displacement.
pub(super) fn failing_loads_end_the_longest_program(judge: &mut dyn Judge) {
    let mut insns = vec![Insn::new(Op::LdxLen, 0)];
    let loads = [Op::LdWordInd, Op::LdHalfInd, Op::LdByteInd].map(|op| Insn::new(op, 0xffff_fff0));
    insns.extend(loads.into_iter().cycle().take(MAX_INSNS - 2));
    insns.push(RET_A);
    let program = SocketProgram::new(insns).unwrap();
    let packet = [0x77; 32];
    let ancillary = RandomAncillary { words: 0, network: 3, link: Some(1) };
    judge.packets(
        &program,
        &[&packet, &packet[..16], &packet[..15], &packet[..1], &[]],
        &ancillary,
    );
}

/// Lists of comparisons, run with each of their values and with the neighbours of each. The verdicts follow from the
/// list; the reference interpreter, which makes one comparison after the other, confirms some of them.
fn check_chain(
    judge: &mut dyn Judge,
    values: impl Iterator<Item = u32>,
    verdict: impl Fn(u32) -> Insn,
) {
    let values: Vec<u32> = values.collect();
    let mut insns = vec![NR];
    for &value in &values {
        insns.push(Insn::branch(Op::JeqK, value, 0, 1));
        insns.push(verdict(value));
    }
    insns.push(ret(1));
    let program = Program::new(insns).unwrap();
    let neighbours = |&value: &u32| [value.wrapping_sub(1), value, value.wrapping_add(1)];
    // A set, because the neighbours of most values are values, too.
    let numbers: BTreeSet<u32> = values.iter().flat_map(neighbours).chain([63, 64, 65]).collect();
    let syscalls: Vec<_> = numbers.into_iter().map(number).collect();

    let mut verdicts = HashMap::new();
    for &value in &values {
        verdicts.entry(value).or_insert_with(|| verdict(value));
    }
    let expected: Vec<u32> = syscalls
        .iter()
        .map(|data| match verdicts.get(&data.nr) {
            Some(Insn { op: Op::RetK, k, .. }) => *k,
            Some(_) => data.nr,
            None => 1,
        })
        .collect();
    for endian in [Endian::Little, Endian::Big] {
        for (data, &expected) in syscalls.iter().zip(&expected).step_by(31) {
            assert_eq!(program.run(data, endian).verdict.0, expected, "{data:x?}");
        }
        judge.verdicts(&program, endian, &syscalls, &expected);
    }
}

pub(super) fn chains_agree(judge: &mut dyn Judge) {
    let same = |_: u32| ret(0x7fff_0000);
    let own = |value: u32| ret(value ^ 0x5_0000);
    let code = |value: u32| if value.is_multiple_of(3) { RET_A } else { ret(value) };
    for len in [3, 4, 5, 8, 9, 20, 64, 65, 400, 1000] {
        for step in [1u32, 2, 3, 7, 8, 9, 63, 64, 65, 0x0101_0101] {
            for first in [0u32, 1, 15, 16, 63, 0x8000_0000u32.wrapping_sub(20), 0xffff_fff0] {
                let values = || (0..len).map(|at| first.wrapping_add(step.wrapping_mul(at)));
                check_chain(judge, values(), same);
                check_chain(judge, values().rev(), own);
                check_chain(judge, values(), code);
                // Of two comparisons with the same constant, the first decides.
                check_chain(judge, values().chain(values()), |value| ret(value / 2));
            }
        }
    }
}

/// Numbers of x86-64 and x32 lead to the same tests, with `entry` also masked ones; of each kind of number, some have a
/// constant verdict, and some are returned.
pub(super) fn trees_that_contain_others_agree(judge: &mut dyn Judge) {
    for entry in [false, true] {
        let mut insns = Vec::new();
        if entry {
            insns.extend([Insn::new(Op::LdWordAbs, 4), Insn::branch(Op::JeqK, 7, 0, 3)]);
            insns.extend([NR, Insn::new(Op::AndK, 0xfff), Insn::new(Op::Ja, 17)]);
        }
        insns.extend([NR, Insn::branch(Op::JgeK, 0x4000_0000, 0, 1)]);
        insns.push(Insn::branch(Op::JgeK, 0x4000_0100, 39, 14));
        // To one of the two returns before the last.
        let to = |left: u8, at: u8| left - at + at % 3 % 2;
        insns.extend((0..14).map(|at| Insn::branch(Op::JeqK, 9 * u32::from(at), to(36, at), 0)));
        let jeq = |at| Insn::branch(Op::JeqK, 200 + 9 * u32::from(at), to(22, at), 0);
        insns.extend((0..22).map(jeq));
        insns.extend([ret(1), ret(2), RET_A, ret(3)]);
        let program = Program::new(insns).unwrap();
        let constants = (0..50).map(|at| 9 * at).chain((200..410).step_by(9)).chain([0x100]);
        let near = constants.flat_map(|k: u32| [k.wrapping_sub(1), k, k + 1]);
        let numbers = near.flat_map(|k| [k, k.wrapping_add(0x4000_0000), k | 0x1000]);
        let arch = |data: SeccompData| [SeccompData { arch: 7, ..data }, data];
        let syscalls: Vec<_> = numbers.map(number).flat_map(arch).collect();
        judge.syscalls(&program, &syscalls);
    }
}

pub(super) fn chains_with_a_second_entry_agree(judge: &mut dyn Judge) {
    for entry in 0..12u8 {
        let mut insns = vec![Insn::new(Op::LdWordAbs, 4), Insn::branch(Op::JgtK, 200, entry, 0)];
        insns.push(NR);
        for value in 0..12 {
            insns.push(Insn::branch(Op::JeqK, value * 2, 12 - value as u8, 0));
        }
        insns.push(ret(3));
        insns.extend((0..12).map(|value| ret(100 + value)));
        let program = Program::new(insns).unwrap();
        let syscalls: Vec<_> = (0..30).chain([250, 251, 253, 255]).map(number).collect();
        judge.syscalls(&program, &syscalls);
    }
}

#[test]
fn a_chain_of_200_syscalls_becomes_one_table() {
    let mut insns = vec![NR];
    insns.extend((0..200).map(|at| Insn::branch(Op::JeqK, at * 2, 200 - at as u8, 0)));
    insns.extend([ret(1), ret(2)]);
    let program = Program::new(insns).unwrap();
    let jit = Jit::new(&program, Endian::NATIVE).unwrap();
    assert!(jit.code_bytes() < 400 * 4 + 64, "{} bytes", jit.code_bytes());
    assert_eq!(jit.verdict(&number(398)).0, 2);
    assert_eq!(jit.verdict(&number(397)).0, 1);
}

#[test]
fn threads_can_share_an_engine() {
    let program = SocketProgram::new(vec![Insn::new(Op::LdByteAbs, 3), RET_A]).unwrap();
    let jit = Jit::new_packet(&program).unwrap();
    std::thread::scope(|scope| {
        for at in 0..4u8 {
            let jit = &jit;
            scope.spawn(move || assert_eq!(jit.run(&[0, 0, 0, at], &NoAncillary), at.into()));
        }
    });
}

/// A binary search tree of comparisons.
fn halved(starts: &[u32], verdict: &dyn Fn(u32) -> Insn) -> Vec<Insn> {
    let [only] = starts else {
        let (low, high) = starts.split_at(starts.len() / 2);
        let (below, above) = (halved(low, verdict), halved(high, verdict));
        let away = below.len() as u8;
        // Three equivalent comparisons.
        let branch = match high[0] % 3 {
            0 => Insn::branch(Op::JgeK, high[0], away, 0),
            1 => Insn::branch(Op::JgtK, high[0] - 1, away, 0),
            _ if low.len() == 1 => Insn::branch(Op::JeqK, low[0], 0, away),
            _ => Insn::branch(Op::JgeK, high[0], away, 0),
        };
        return [vec![branch], below, above].concat();
    };
    vec![verdict(*only)]
}

pub(super) fn trees_agree(judge: &mut dyn Judge) {
    let verdicts: [&dyn Fn(u32) -> Insn; 3] =
        [&|start| ret(start % 2), &|start| ret(start), &|start| {
            if start % 3 == 0 { RET_A } else { ret(start % 5) }
        }];
    for len in [2u32, 11, 12, 13, 40, 100] {
        for step in [1, 2, 5, 8, 63, 64, 0x0101_0101] {
            let starts: Vec<u32> = (0..len).map(|at| at * step).collect();
            for verdict in verdicts {
                let insns = [vec![NR], halved(&starts, verdict)].concat();
                let program = Program::new(insns).unwrap();
                let neighbours =
                    |&value: &u32| [value.wrapping_sub(1), value, value.wrapping_add(1)];
                let syscalls: Vec<_> = starts.iter().flat_map(neighbours).map(number).collect();
                judge.syscalls(&program, &syscalls);
            }
        }
    }
}

/// A binary search tree with an equality test before each node.
fn pierced(starts: &[u32], verdict: &dyn Fn(u32) -> Insn) -> Vec<Insn> {
    let [only] = starts else {
        let (low, high) = starts.split_at(starts.len() / 2);
        let (below, above) = (pierced(low, verdict), pierced(high, verdict));
        let point = if high[0] % 2 == 1 { high[0] } else { low[0] };
        let head = [
            Insn::branch(Op::JeqK, point, 0, 1),
            verdict(point / 2),
            Insn::branch(Op::JgeK, high[0], below.len() as u8, 0),
        ];
        return [&head[..], &below, &above].concat();
    };
    vec![verdict(*only)]
}

pub(super) fn trees_with_equality_tests_agree(judge: &mut dyn Judge) {
    let verdicts: [&dyn Fn(u32) -> Insn; 2] =
        [&|start| ret(start), &|start| if start % 3 == 0 { RET_A } else { ret(start % 5) }];
    for len in [4u32, 6, 7, 13, 40, 70] {
        for (first, step) in [(0u32, 1), (1, 2), (7, 5), (0xffff_ff00, 3), (0, 0x0101_0101)] {
            let mut starts: Vec<u32> = (0..len).map(|at| first + at * step).collect();
            starts.push(u32::MAX);
            for verdict in verdicts {
                let insns = [vec![NR], pierced(&starts, verdict)].concat();
                let program = Program::new(insns).unwrap();
                let neighbours =
                    |&value: &u32| [value.wrapping_sub(1), value, value.wrapping_add(1)];
                let syscalls: Vec<_> = starts.iter().flat_map(neighbours).map(number).collect();
                judge.syscalls(&program, &syscalls);
            }
        }
    }
}

#[test]
fn a_tree_of_syscall_numbers_becomes_one_table() {
    let starts: Vec<u32> = (0..60).collect();
    for tree in [halved, pierced] {
        let insns = [vec![NR], tree(&starts, &ret)].concat();
        // Returns remain, comparisons do not.
        let verdicts = insns.iter().filter(|insn| insn.op == Op::RetK).count();
        let jit = Jit::new(&Program::new(insns).unwrap(), Endian::NATIVE).unwrap();
        assert!(jit.code_bytes() < 60 * 4 + 6 * verdicts + 64, "{} bytes", jit.code_bytes());
    }
}

/// A call of the helper preserves every scratch word and the other register.
pub(super) fn helper_calls_preserve_scratch_words(judge: &mut dyn Judge) {
    let loads = [
        Insn::new(Op::LdWordAbs, AncillaryWord::Mark.offset()),
        Insn::new(Op::LdHalfAbs, SKF_NET_OFF),
        Insn::new(Op::LdxMsh, SKF_LL_OFF + 1),
        Insn::new(Op::LdByteInd, SKF_NET_OFF - 20),
    ];
    for load in loads {
        let mut insns = vec![Insn::new(Op::LdxLen, 0)];
        for word in 0..16 {
            let different = Insn::new(Op::AddK, 0x0111_1111 * word);
            insns.extend([Insn::new(Op::Txa, 0), different, Insn::new(Op::St, word)]);
        }
        insns.push(load);
        insns.extend([Insn::new(Op::MulK, 33), Insn::new(Op::AddX, 0)]);
        for word in 0..16 {
            insns.extend([Insn::new(Op::LdxMem, word), Insn::new(Op::MulK, 33)]);
            insns.push(Insn::new(Op::AddX, 0));
        }
        insns.push(RET_A);
        let program = SocketProgram::new(insns).unwrap();
        let packets: [&[u8]; 3] = [&[0x2b; 20], &[0x95; 24], &[]];
        judge.packets(&program, &packets, &RandomAncillary { words: 0, network: 7, link: Some(2) });
    }
}
