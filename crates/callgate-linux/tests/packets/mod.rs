//! The running kernel must give packets the same result as the reference interpreter and every engine: for corner cases
//! of the language, and for random programs.

mod socket;

use callgate_bpf::asm;
use callgate_bpf::random::Rng;
use callgate_core::diagram::Budget;
use callgate_core::{
    Ancillary, AncillaryWord, Insn, Meaning, NoAncillary, Op, Operand, PacketHead, SocketProgram,
    Step,
};
use callgate_testing::TestResult;
use callgate_testing::random::packets::{packet_near, packet_program};
use callgate_vm::{EngineKind, differential};
use socket::Sockets;

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        registers_start_as_zero,
        shifts_by_x_use_five_bits,
        division_by_a_zero_x_drops_the_packet,
        arithmetic_wraps_at_32_bits,
        comparisons_are_unsigned,
        loads_outside_of_a_packet_drop_it,
        loads_are_in_network_order,
        the_length_is_that_of_the_packet,
        random_programs_mean_the_same,
        the_function_of_the_proof_is_that_of_the_kernel,
        words_beside_a_packet_are_zero_where_nothing_is_known,
        netlink_attributes_are_found_in_the_packet,
        the_processor_is_one_and_random_numbers_differ,
        a_packet_from_a_device_has_an_interface_and_headers,
    ]
}

fn program(text: &str) -> SocketProgram {
    SocketProgram::new(asm::assemble(text).unwrap()).unwrap()
}

/// Compares how many bytes of a packet the kernel and all engines keep.
#[track_caller]
fn agree(sockets: &Sockets, program: &SocketProgram, sent: &[u8], beside: &dyn Ancillary) {
    // The filter sees headers in front of what is sent; the programs here ignore them.
    let packet = [&vec![0; sockets.head], sent].concat();
    let expected = program.run(&packet, &beside);
    for kind in EngineKind::ALL {
        if let Some(engine) = kind.packet(program).and_then(Result::ok) {
            assert_eq!(engine.run(&packet, beside), expected, "{kind}: {program:?}");
        }
    }
    // The kernel never removes headers.
    let kept = (expected as usize).saturating_sub(sockets.head).min(sent.len());
    let kept = (expected > 0).then_some(kept);
    assert_eq!(sockets.kept(program, sent), kept, "the kernel: {program:?} of {sent:02x?}");
}

/// The same about the value of a program that ends with `ret a`, some bits at a time: as many as the
/// length of the packet can show.
#[track_caller]
fn agree_on_value(sockets: &Sockets, text: &str, sent: &[u8], beside: &dyn Ancillary) {
    let mut body = program(text).into_insns();
    assert_eq!(body.pop().map(|insn| insn.op), Some(Op::RetA), "{text}");
    let bits = sent.len().ilog2();
    for shift in (0..32).step_by(bits as usize) {
        let mut insns = body.clone();
        insns.extend([
            Insn::new(Op::RshK, shift),
            Insn::new(Op::AndK, (1 << bits) - 1),
            Insn::new(Op::AddK, 1 + sockets.head as u32),
            Insn::new(Op::RetA, 0),
        ]);
        agree(sockets, &SocketProgram::new(insns).unwrap(), sent, beside);
    }
}

const INTERESTING: [u32; 14] =
    [0, 1, 2, 7, 31, 32, 33, 63, 64, 0xff00, 0x7fff_ffff, 0x8000_0000, 0x8000_0081, u32::MAX];

/// A packet of 64 bytes that begins with these words.
fn words(a: u32, x: u32) -> Vec<u8> {
    let mut packet = [a.to_be_bytes(), x.to_be_bytes()].concat();
    packet.resize(64, 0x5a);
    packet
}

fn registers_start_as_zero() -> TestResult {
    let unix = Sockets::unix()?;
    for text in ["ret a", "txa\n ret a", "add x\n ret a", "ldb [x + 1]\n ret a", "neg\n ret a"] {
        agree_on_value(&unix, text, &words(7, 9), &NoAncillary);
    }
    for text in ["jeq #0, +0, +1\n ret #5\n ret #6", "jeq x, +0, +1\n ret #5\n ret #6", "ret a"] {
        agree(&unix, &program(text), &[1; 9], &NoAncillary);
    }
    Ok(())
}

fn shifts_by_x_use_five_bits() -> TestResult {
    let unix = Sockets::unix()?;
    for shift in ["lsh", "rsh"] {
        for by in INTERESTING {
            // X is known when the filter is installed, and X is not.
            let constant = format!("ldx #{by}\n ld #0x80000081\n {shift} x\n ret a");
            agree_on_value(&unix, &constant, &words(0, 0), &NoAncillary);
            let loaded = format!("ld [4]\n tax\n ld [0]\n {shift} x\n ret a");
            agree_on_value(&unix, &loaded, &words(0x8000_0081, by), &NoAncillary);
        }
    }
    Ok(())
}

fn division_by_a_zero_x_drops_the_packet() -> TestResult {
    let unix = Sockets::unix()?;
    for op in ["div", "mod"] {
        for a in INTERESTING {
            for x in INTERESTING {
                let loaded = format!("ld [4]\n tax\n ld [0]\n {op} x\n ret a");
                agree_on_value(&unix, &loaded, &words(a, x), &NoAncillary);
            }
        }
        // Whatever would come after it.
        let constant = format!("ld #7\n {op} x\n ret #9");
        assert_eq!(unix.kept(&program(&constant), &[1; 20]), None);
        agree(&unix, &program(&constant), &[1; 20], &NoAncillary);
        let unused = format!("ldb [0]\n tax\n {op} x\n ld #3\n ret a");
        agree(&unix, &program(&unused), &[0; 20], &NoAncillary);
        agree(&unix, &program(&unused), &[1; 20], &NoAncillary);
    }
    Ok(())
}

fn arithmetic_wraps_at_32_bits() -> TestResult {
    let unix = Sockets::unix()?;
    for op in ["add x", "sub x", "mul x", "or x", "and x", "xor x", "neg", "st M[15]\n ldx M[15]"] {
        for (a, x) in INTERESTING.into_iter().flat_map(|a| INTERESTING.map(|x| (a, x))) {
            let text = format!("ld [4]\n tax\n ld [0]\n {op}\n ret a");
            agree_on_value(&unix, &text, &words(a, x), &NoAncillary);
        }
    }
    for k in INTERESTING {
        for op in ["add", "sub", "mul", "or", "and", "xor", "div", "mod"] {
            if k != 0 || !matches!(op, "div" | "mod") {
                let text = format!("ld [0]\n {op} #{k}\n ret a");
                agree_on_value(&unix, &text, &words(0x8765_4321, 0), &NoAncillary);
            }
        }
    }
    Ok(())
}

fn comparisons_are_unsigned() -> TestResult {
    let unix = Sockets::unix()?;
    for op in ["jeq", "jgt", "jge", "jset"] {
        for (a, x) in INTERESTING.into_iter().flat_map(|a| INTERESTING.map(|x| (a, x))) {
            let by_x = format!("ld [4]\n tax\n ld [0]\n {op} x, +0, +1\n ret #5\n ret #6");
            agree(&unix, &program(&by_x), &words(a, x), &NoAncillary);
            let by_k = format!("ld [0]\n {op} #{x}, +0, +1\n ret #5\n ret #6");
            agree(&unix, &program(&by_k), &words(a, x), &NoAncillary);
        }
    }
    Ok(())
}

/// Every load around the end of every short packet.
fn loads_outside_of_a_packet_drop_it() -> TestResult {
    let unix = Sockets::unix()?;
    let bytes: Vec<u8> = (1..=9).collect();
    for length in 0..=bytes.len() {
        let packet = &bytes[..length];
        for offset in 0..12 {
            for load in ["ld", "ldh", "ldb"] {
                let absolute = format!("{load} [{offset}]\n ret #1000");
                agree(&unix, &program(&absolute), packet, &NoAncillary);
                let indexed = format!("ldx #{offset}\n {load} [x + 1]\n ret #1000");
                agree(&unix, &program(&indexed), packet, &NoAncillary);
            }
            let header = format!("ldxb 4*([{offset}]&0xf)\n txa\n ret #1000");
            agree(&unix, &program(&header), packet, &NoAncillary);
        }
    }
    // The last offsets there are, and offsets that wrap.
    for text in [
        "ld [0x7ffffffc]\n ret #9",
        "ldb [0x7fffffff]\n ret #9",
        "ldx #0x7fffffff\n ldb [x + 0]\n ret #9",
        "ldx #0xffffffff\n ldb [x + 1]\n ret a",
        "ldx #0xffffffff\n ldb [x + 2]\n ret a",
    ] {
        agree(&unix, &program(text), &bytes, &NoAncillary);
    }
    Ok(())
}

fn loads_are_in_network_order() -> TestResult {
    let unix = Sockets::unix()?;
    let packet = words(0x8182_8384, 0xf1f2_f3f4);
    for text in [
        "ld [1]\n ret a",
        "ldh [1]\n ret a",
        "ldb [4]\n ret a",
        "ldx #2\n ld [x + 1]\n ret a",
        "ldx #2\n ldh [x + 1]\n ret a",
        "ld #77\n ldxb 4*([4]&0xf)\n ret a",
        "ldxb 4*([3]&0xf)\n txa\n ret a",
    ] {
        agree_on_value(&unix, text, &packet, &NoAncillary);
    }
    Ok(())
}

fn the_length_is_that_of_the_packet() -> TestResult {
    let unix = Sockets::unix()?;
    for length in [2, 3, 64, 1500, 9000] {
        agree_on_value(&unix, "ld #len\n ret a", &vec![1; length], &NoAncillary);
        agree_on_value(&unix, "ldx #len\n txa\n ret a", &vec![1; length], &NoAncillary);
    }
    for length in [0, 1] {
        let text = format!("ld #len\n jeq #{length}, +0, +1\n ret #1\n ret #0");
        agree(&unix, &program(&text), &vec![1; length], &NoAncillary);
    }
    Ok(())
}

/// Random programs with whatever the kernel accepts, but for what is not in the packet.
fn random_programs_mean_the_same() -> TestResult {
    let unix = Sockets::unix()?;
    let mut asked = 0;
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let program = differential::socket_program(&mut rng);
        let beside = |insn: &Insn| {
            matches!(insn.op.operand(), Operand::Absolute | Operand::HeaderLength)
                && insn.k >= 0x8000_0000
        };
        // Long filters need more memory than every kernel gives to a socket.
        if program.iter().any(beside) || program.len() > 1000 {
            continue;
        }
        for _ in 0..4 {
            let packet: Vec<u8> = (0..rng.below(70)).map(|_| rng.below(12) as u8).collect();
            let mut before = false;
            program.trace(&packet, &NoAncillary, |Step { insn, x, .. }| {
                let indexed = insn.op.operand() == Operand::Indexed;
                before |= indexed && x.wrapping_add(insn.k) >= 0x8000_0000;
            });
            if !before {
                agree(&unix, &program, &packet, &NoAncillary);
                asked += 1;
            }
        }
    }
    assert!(asked > 500, "{asked}");
    Ok(())
}

/// The kernel against the MTBDD of the proof, for programs that mostly load what it models.
fn the_function_of_the_proof_is_that_of_the_kernel() -> TestResult {
    let unix = Sockets::unix()?;
    let mut asked = 0;
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let program = packet_program(&mut rng);
        let budget = Budget { nodes: 300_000, steps: 2_000_000 };
        let Ok(meaning) = Meaning::of_socket_program(&program, budget) else { continue };
        for _ in 0..8 {
            let packet = packet_near(&program, &mut rng);
            let value = meaning.store().evaluate(meaning.func(), &PacketHead::of(&packet));
            let value = value.unwrap().0 as usize;
            let kept = (value > 0).then_some(value.min(packet.len()));
            assert_eq!(unix.kept(&program, &packet), kept, "{program:?} of {packet:02x?}");
            asked += 1;
        }
    }
    assert!(asked > 1000, "{asked}");
    Ok(())
}

/// Words that a test knows.
struct Known(fn(AncillaryWord) -> u32);

impl Ancillary for Known {
    fn word(&self, word: AncillaryWord, _: &[u8], _: u32, _: u32) -> u32 {
        (self.0)(word)
    }
}

fn words_beside_a_packet_are_zero_where_nothing_is_known() -> TestResult {
    let unix = Sockets::unix()?;
    for word in ["proto", "type", "mark", "queue", "rxhash", "vlan_tci", "vlan_avail", "vlan_tpid"]
    {
        let text = format!("ld #77\n ld #{word}\n ret a");
        agree_on_value(&unix, &text, &words(1, 2), &NoAncillary);
    }
    // Not modelled: without a device the program ends.
    for word in ["ifidx", "hatype"] {
        let program = program(&format!("ld #{word}\n ret #9"));
        assert_eq!(unix.kept(&program, &[1; 20]), None, "{word}");
    }
    // Not an ancillary word, although it looks like one.
    agree_on_value(&unix, "ldx #12\n ld #10\n ld [-0xfd8]\n ret a", &words(1, 2), &NoAncillary);
    Ok(())
}

fn netlink_attributes_are_found_in_the_packet() -> TestResult {
    let unix = Sockets::unix()?;
    // Attributes in the order of this machine: type 3 with 4 bytes, and type 5 inside of type 4.
    let attribute = |length: u16, kind: u16| [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
    let mut packet = vec![0; 4];
    packet.extend(attribute(8, 3));
    packet.extend([1; 4]);
    packet.extend(attribute(12, 4));
    packet.extend(attribute(8, 5));
    packet.extend([2; 4]);
    packet.resize(64, 0);
    let at = |text: &str, packet: &[u8], known| agree_on_value(&unix, text, packet, &Known(known));
    at("ldx #3\n ld #4\n ld #nla\n ret a", &packet, |_| 4);
    at("ldx #4\n ld #4\n ld #nla\n ret a", &packet, |_| 12);
    at("ldx #5\n ld #4\n ld #nla\n ret a", &packet, |_| 0);
    at("ldx #5\n ld #12\n ld #nlan\n ret a", &packet, |_| 16);
    at("ldx #3\n ld #61\n ld #nla\n ret a", &packet, |_| 0);
    at("ldx #3\n ld #1000\n ld #nla\n ret a", &packet, |_| 0);
    Ok(())
}

fn the_processor_is_one_and_random_numbers_differ() -> TestResult {
    let unix = Sockets::unix()?;
    // The most processors that Linux can be built for (NR_CPUS of x86).
    let cpu = program("ld #cpu\n jge #8192, no, yes\n yes: ret #1\n no: ret #0");
    assert_eq!(unix.kept(&cpu, &[1; 4]), Some(1));
    let random = program("ld #rand\n and #0x3f\n add #1\n ret a");
    // The probability that all are equal is 64 to the power of -255.
    let mut kept: Vec<_> = (0..256).map(|_| unix.kept(&random, &[1; 64])).collect();
    assert!(kept.iter().all(|length| matches!(length, Some(1..=64))), "{kept:?}");
    kept.sort_unstable();
    kept.dedup();
    assert!(kept.len() > 1, "256 equal numbers: {kept:?}");
    Ok(())
}

/// Through a device and with headers: UDP over loopback. The packet of the filter begins with the header
/// of UDP.
fn a_packet_from_a_device_has_an_interface_and_headers() -> TestResult {
    let udp = Sockets::udp()?;
    let index = std::fs::read_to_string("/sys/class/net/lo/ifindex").unwrap_or_default();
    let sent = words(1, 2);
    let at = |text: &str, known| agree_on_value(&udp, text, &sent, &Known(known));
    at("ld #len\n ret a", |_| 0);
    at("ld #proto\n ret a", |_| 0x0800);
    at("ld #type\n ret a", |_| 0);
    at("ld #hatype\n ret a", |_| libc::ARPHRD_LOOPBACK.into());
    // The loopback device of a new network namespace has another number.
    if index.trim() == "1" {
        at("ld #ifidx\n ret a", |_| 1);
    }
    // Headers in front of the packet are not modelled: version and protocol of IP, the type of Ethernet.
    for (load, value) in [
        ("ldb [-0x100000]", 0x45),
        ("ldb [-0xffff7]", 17),
        ("ldh [-0x1ffff4]", 0x0800),
        ("ldx #9\n ldb [x + -0x100000]", 17),
    ] {
        let text = format!("{load}\n jeq #{value}, yes, no\n yes: ret #9\n no: ret #0");
        assert_eq!(udp.kept(&program(&text), &sent), Some(1), "{load}");
    }
    Ok(())
}
