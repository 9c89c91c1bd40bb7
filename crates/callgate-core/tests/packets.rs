//! Socket filters: their MTBDDs against the reference interpreter, and the verdict of the proof.

use callgate_bpf::asm;
use callgate_core::diagram::{Budget, Store, UnmodelledLoad};
use callgate_core::{
    AncillaryWord, Endian, FilterInput, Layout, Meaning, NoAncillary, PACKET_BYTES, PacketHead,
    Place, SeccompData, SocketProgram, Spec, Word,
};
use callgate_testing::is_thorough;
use callgate_testing::random::Rng;
use callgate_testing::random::packets::{packet_near, packet_program};

/// The number of random programs, or a third of it.
fn seeds(all: u64) -> u64 {
    if is_thorough() { all } else { all / 3 }
}

const BUDGET: Budget = Budget { nodes: 300_000, steps: 2_000_000 };

fn program(text: &str) -> SocketProgram {
    SocketProgram::new(asm::assemble(text).unwrap()).unwrap()
}

fn store() -> Store {
    Store::for_layout(Layout::Packet, BUDGET)
}

/// A packet with the bytes of a head, and zeros after them.
fn whole(head: &PacketHead) -> Vec<u8> {
    let mut packet = head.bytes();
    packet.resize(head.len() as usize, 0);
    packet
}

#[test]
fn the_words_of_a_packet_are_its_bytes_and_then_its_length() {
    let words: Vec<Word> = Layout::Packet.words().collect();
    assert_eq!(words.len(), 24);
    for endian in [Endian::Little, Endian::Big] {
        let places = words.iter().map(|word| Layout::Packet.place(*word, endian));
        let expected = (0..23).map(|at| Some(Place { offset: 4 * at, mask: u32::MAX }));
        assert!(places.eq(expected.chain([None])));
    }
    let mut head = PacketHead::default();
    for (value, word) in (1..).zip(&words) {
        head.set(*word, Endian::NATIVE, value);
        assert_eq!(head.get(*word, Endian::NATIVE), value);
    }
    assert_eq!(head.len(), 24);
    assert_eq!(head.bytes(), (1..=6u32).flat_map(u32::to_be_bytes).collect::<Vec<u8>>());
    // A word of a packet that no structure has is 0 there.
    let mut data = SeccompData::default();
    for word in &words[16..] {
        assert_eq!((word.argument(), data.word(*word)), (None, 0));
        data.set_word(*word, 7);
    }
    assert_eq!(data, SeccompData::default());
}

/// For random programs, and for as many packets near their constants.
#[test]
fn the_mtbdd_of_a_random_program_agrees_with_the_interpreter() {
    let (mut modelled, mut unmodelled, mut differing) = (0, 0, 0);
    for seed in 0..seeds(3000) {
        let mut rng = Rng::new(seed);
        let program = packet_program(&mut rng);
        let mut store = store();
        let func = match store.socket_program(&program) {
            Ok(func) => func,
            Err(error) => {
                assert!(!error.is_defect(), "{error}");
                unmodelled += usize::from(error.unmodelled_load().is_some());
                continue;
            }
        };
        store.check(func).unwrap();
        modelled += 1;
        let mut values = Vec::new();
        for _ in 0..100 {
            let packet = packet_near(&program, &mut rng);
            let wanted = program.run(&packet, &NoAncillary);
            let given = store.evaluate(func, &PacketHead::of(&packet)).unwrap().0;
            assert_eq!(given, wanted, "seed {seed}: {packet:02x?} {program:#?}");
            values.push(wanted);
        }
        values.sort_unstable();
        values.dedup();
        differing += usize::from(values.len() > 1);
    }
    let all = modelled + unmodelled;
    assert!(modelled * 2 > all && unmodelled * 100 > all, "{modelled} of {all}");
    assert!(differing * 4 > modelled, "{differing} of {modelled} are not constant");
}

/// Two random programs, or a program with another constant: if there is no proof, the witness shows why.
#[test]
fn a_refused_program_differs_for_its_witness() {
    let (mut proved, mut refused) = (0, 0);
    for seed in 0..seeds(1500) {
        let mut rng = Rng::new(seed);
        let one = packet_program(&mut rng);
        let Ok(mut meaning) = Meaning::of_socket_program(&one, BUDGET) else { continue };
        let mut insns = one.insns().to_vec();
        let at = rng.below(insns.len());
        insns[at].k ^= u32::from(insns[at].op.uses_k() && insns[at].k < 1 << 30);
        let Ok(other) = SocketProgram::new(insns) else { continue };
        match meaning.prove_socket_program(&other) {
            Ok(known) => {
                proved += 1;
                assert_eq!(known.spec(), &Spec::SocketProgram(one.clone()));
                for _ in 0..50 {
                    let packet = packet_near(&one, &mut rng);
                    let [a, b] = [&one, &other].map(|program| program.run(&packet, &NoAncillary));
                    assert_eq!(a, b, "seed {seed}: {packet:02x?} {one:#?} {other:#?}");
                }
            }
            Err(error) => {
                let Some(head) = error.witness() else {
                    assert!(error.diagram_error().is_some_and(|error| !error.is_defect()));
                    continue;
                };
                refused += 1;
                let packet = whole(head);
                let [a, b] = [&one, &other].map(|program| program.run(&packet, &NoAncillary));
                assert_ne!(a, b, "seed {seed}: {packet:02x?} {one:#?} {other:#?}");
            }
        }
    }
    assert!(proved > 50 && refused > 50, "{proved} {refused}");
}

#[test]
fn equal_filters_with_different_instructions_are_proved() {
    for (one, other) in [
        // The order of the tests, and another width.
        (
            "ldb [9]\n jeq #6, next, no\n ldb [1]\n jeq #2, yes, no\n yes: ret #1\n no: ret #0",
            "ldh [1]\n rsh #8\n jeq #2, next, no\n ldb [9]\n jeq #6, yes, no\n yes: ret #1\n no: ret #0",
        ),
        // A load is a test of the length.
        ("ldb [9]\n ret #7", "ld #len\n jge #10, yes, no\n yes: ret #7\n no: ret #0"),
        ("ld [7]\n ldh [2]\n ret #7", "ld #len\n jgt #10, yes, no\n yes: ret #7\n no: ret #0"),
        // The length of a header, as tcpdump loads it and by hand.
        (
            "ldxb 4*([0]&0xf)\n ldh [x + 2]\n jeq #22, yes, no\n yes: ret #1\n no: ret #0",
            "ldb [0]\n and #15\n lsh #2\n add #2\n tax\n ldh [x + 0]\n jeq #22, yes, no\n yes: ret #1\n no: ret #0",
        ),
        // The encoding of XOR as an ancillary word.
        (
            "ldx #5\n ldb [0]\n xor x\n and #7\n ret a",
            "ldx #5\n ldb [0]\n ld [-0xfd8]\n and #7\n ret a",
        ),
        (
            "ldb [0]\n tax\n ld #9\n div x\n ret #3",
            "ldb [0]\n jeq #0, no, yes\n yes: ret #3\n no: ret #0",
        ),
    ] {
        let mut meaning = Meaning::of_socket_program(&program(one), BUDGET).unwrap();
        let proved = meaning.prove_socket_program(&program(other));
        assert!(proved.is_ok(), "{one} / {other}: {}", proved.unwrap_err());
    }
}

#[test]
fn filters_that_differ_for_one_length_or_one_bit_are_refused() {
    let refused = |one: &str, other: &str| {
        let mut meaning = Meaning::of_socket_program(&program(one), BUDGET).unwrap();
        *meaning.prove_socket_program(&program(other)).unwrap_err().witness().unwrap()
    };
    let head = refused("ldb [9]\n ret #7", "ldb [10]\n ret #7");
    assert_eq!(head.len(), 10);
    let head = refused("ld #len\n jgt #100000, +0, +1\n ret #1\n ret #0", "ret #0");
    assert_eq!((head.len(), head.bytes().len()), (100_001, PACKET_BYTES as usize));
    let yes_no = "yes: ret #1\n no: ret #0";
    let [one, other] =
        ["0x800", "0x801"].map(|kind| format!("ldh [12]\n jeq #{kind}, yes, no\n {yes_no}"));
    let bytes = refused(&one, &other).bytes();
    assert!(matches!(bytes[12..], [8, 0 | 1]), "{bytes:02x?}");
    // The value is what counts, not whether it is 0.
    refused("ret #1", "ret #2");
}

#[test]
fn what_is_not_modelled_is_refused_with_its_instruction() {
    let error = |text: &str| {
        let error = store().socket_program(&program(text)).unwrap_err();
        assert!(
            !error.is_out_of_budget() && !error.is_defect() && !error.needs_values(),
            "{error}"
        );
        (error.unmodelled_load().unwrap(), error.to_string())
    };
    let (load, message) = error("ldb [91]\n ldb [92]\n ret #1");
    assert_eq!(load, (1, UnmodelledLoad::Beyond { last: 92 }));
    assert!(message.contains("instruction 1 ") && message.contains("first 92 bytes, 0 to 91"));
    assert_eq!(error("ld [89]\n ret #1").0, (0, UnmodelledLoad::Beyond { last: 92 }));
    let far = "ldxb 4*([0]&0xf)\n ldb [x + 32]\n ret #1";
    assert_eq!(error(far).0, (1, UnmodelledLoad::Beyond { last: 92 }));
    let (load, message) = error("ld #0\n ld #mark\n ret #1");
    assert_eq!(load, (1, UnmodelledLoad::Ancillary(AncillaryWord::Mark)));
    assert!(message.contains("`mark`"), "{message}");
    for offset in [0x8000_0000, 0xfff0_0000, u32::MAX - 3] {
        let text = format!("ldxb 4*([{}]&0xf)\n ret #1", offset as i32);
        assert_eq!(error(&text).0, (0, UnmodelledLoad::Header { offset }));
    }
    let wraps = "ldx #1\n ldb [x + -2]\n ret #1";
    assert_eq!(error(wraps).0, (1, UnmodelledLoad::Header { offset: u32::MAX }));
    let unknown = "ldb [0]\n tax\n ldb [x + 1]\n ret #1";
    assert_eq!(error(unknown).0, (2, UnmodelledLoad::Offsets { limit: 64 }));
    // At the limits of what is modelled.
    for text in [
        "ld [88]\n ret #1",
        "ldxb 4*([3]&0xf)\n ldb [x + 31]\n ret #1",
        "ldb [0]\n and #63\n tax\n ldb [x + 28]\n ret #1",
        "ldx #0xffffffff\n ldb [x + 1]\n ret #1",
    ] {
        assert!(store().socket_program(&program(text)).is_ok(), "{text}");
    }
}

#[test]
fn packets_and_syscalls_have_stores_of_their_own() {
    let packets = program("ldb [0]\n ret #1");
    assert!(Store::default().socket_program(&packets).unwrap_err().is_defect());
    let mut store = store();
    let func = store.socket_program(&packets).unwrap();
    assert!(store.evaluate(func, &SeccompData::default()).unwrap_err().is_defect());
    assert!(store.highest_precedence(func, func).unwrap_err().is_defect());
}
