//! Random filters: comparison, summary and optimization against the interpreter.

use callgate_bpf::asm;
use callgate_core::diagram::Budget;
use callgate_core::{NoAncillary, SocketProgram};
use callgate_testing::is_thorough;
use callgate_testing::random::Rng;
use callgate_testing::random::packets::{packet_near, packet_program};

use super::compare::whole;
use super::graph::{Graph, cost};
use super::{compare, optimize, summarize};

/// The number of random programs, or a third of it.
fn seeds(all: u64) -> u64 {
    if is_thorough() { all } else { all / 3 }
}

const BUDGET: Budget = Budget { nodes: 300_000, steps: 2_000_000 };

/// tcpdump's filter for port 22, and that for packets of port 22 with data.
const PORT_22: &str = include_str!("../../../callgate-measure/workloads/port-22.asm");
const WITH_DATA: &str = include_str!("../../../callgate-measure/workloads/port-22-with-data.asm");

fn program(text: &str) -> SocketProgram {
    SocketProgram::new(asm::assemble(text).unwrap()).unwrap()
}

fn run(program: &SocketProgram, packet: &[u8]) -> (u32, usize) {
    let mut executed = 0;
    (program.trace(packet, &NoAncillary, |_| executed += 1), executed)
}

#[test]
fn a_graph_is_its_program() {
    for seed in 0..seeds(2000) {
        let mut rng = Rng::new(seed);
        let program = packet_program(&mut rng);
        for graph in [Graph::of(&program), Graph::of(&program).merged()] {
            let insns = graph.insns().unwrap();
            let other = SocketProgram::new(insns).unwrap();
            assert!(other.len() <= program.len() + 1, "{program:#?} {other:#?}");
            for _ in 0..20 {
                let packet = packet_near(&program, &mut rng);
                assert_eq!(run(&other, &packet).0, run(&program, &packet).0, "{program:#?}");
            }
        }
    }
}

#[test]
fn an_optimized_program_returns_the_same_and_is_never_longer() {
    let mut better = 0;
    for seed in 0..seeds(150) {
        let mut rng = Rng::new(seed);
        let program = packet_program(&mut rng);
        let Ok(optimized) = optimize(&program, BUDGET) else { continue };
        let (before, after) = (cost(program.insns()), cost(optimized.program.insns()));
        assert!(after.insns <= before.insns && after.longest <= before.longest);
        assert_eq!(optimized.steps == 0, *optimized.program == program);
        better += usize::from(optimized.steps > 0);
        for _ in 0..100 {
            let packet = packet_near(&program, &mut rng);
            let [a, b] = [&program, &*optimized.program].map(|program| run(program, &packet));
            assert_eq!(a.0, b.0, "seed {seed}: {packet:02x?} {program:#?}");
        }
    }
    assert!(better > 10, "{better}");
}

#[test]
fn the_shortest_packets_are_the_shortest() {
    let mut values = 0;
    for seed in 0..seeds(600) {
        let mut rng = Rng::new(seed);
        let program = packet_program(&mut rng);
        let Ok(results) = summarize(&program, BUDGET).results else { continue };
        for one in &results.returned {
            let packet = whole(&one.shortest);
            assert_eq!(run(&program, &packet).0, one.value, "{seed}: {packet:02x?} {program:#?}");
        }
        values += results.returned.len();
        for _ in 0..100 {
            let packet = packet_near(&program, &mut rng);
            let value = run(&program, &packet).0;
            let one = results.returned.iter().find(|one| one.value == value).unwrap();
            assert!(one.shortest.len() as usize <= packet.len(), "{seed}: {packet:02x?}");
            // A byte on which nothing depends may be any.
            let mut changed = packet.clone();
            let depends = |at: u32| results.bytes.iter().any(|range| range.contains(&at));
            for (at, byte) in (0..).zip(&mut changed).filter(|(at, _)| !depends(*at)) {
                *byte ^= at as u8 | 1;
            }
            assert_eq!(run(&program, &changed).0, value, "{seed}: {packet:02x?} {program:#?}");
        }
    }
    assert!(values > 300, "{values}");
}

#[test]
fn the_published_programs_are_proved_and_have_the_expected_summary() {
    for (text, shortest, insns) in [(PORT_22, 24, 24), (WITH_DATA, 27, 22)] {
        let program = program(text);
        assert_eq!(compare(&program, &program, Budget::default()), Ok(None));
        let results = summarize(&program, Budget::default()).results.unwrap();
        let values: Vec<u32> = results.returned.iter().map(|one| one.value).collect();
        assert_eq!(values, [0, 0x4_0000]);
        assert_eq!(
            results.returned[1].shortest.len(),
            shortest,
            "{:02x?}",
            results.returned[1].shortest.bytes()
        );
        let optimized = optimize(&program, Budget::default()).unwrap();
        assert!(!optimized.is_cut, "{optimized:?}");
        assert_eq!(optimized.after.insns, insns);
    }
}

/// A list of ports, each with a return of its own.
fn ports(count: u32, first: &str, returned: impl Fn(u32) -> u32) -> SocketProgram {
    let mut text = format!("ldh [2]\n{first}");
    for port in 0..count {
        let value = returned(port);
        text += &format!("jeq #{port}, yes{port}, no{port}\nyes{port}: ret #{value}\nno{port}: ");
    }
    program(&(text + "ldh [2]\njeq #999, last, end\nlast: ret #1\nend: ret #0"))
}

#[test]
fn equal_returns_become_one() {
    let optimized = optimize(&ports(40, "", |_| 1), Budget::default()).unwrap();
    // A load, the comparisons and two returns.
    assert_eq!(optimized.after.insns, 1 + 41 + 2, "{:#?}", optimized.program.insns());
}

#[test]
fn a_program_whose_equal_returns_are_too_far_apart_is_optimized() {
    let program = ports(130, "jeq #5000, first, others\nfirst: ret #0\nothers: ", |port| port + 2);
    assert_eq!(Graph::of(&program).merged().insns(), None);
    let optimized = optimize(&program, Budget::default()).unwrap();
    // Without the first test and its return, and without the second load.
    assert_eq!(optimized.after.insns, program.len() - 3);
}

/// What tcpdump prints without its optimizer (`-O`) tests the same several times.
#[test]
fn repeated_tests_are_left_out() {
    let text = "
        ldh [12]
        jeq #0x800, next, drop
        ldb [23]
        jeq #6, port, next
        ldh [12]
        jeq #0x800, next, drop
        ldb [23]
        jeq #17, port, drop
        port: ldh [12]
        jeq #0x800, next, drop
        ldh [20]
        jset #0x1fff, drop, next
        ldxb 4*([14]&0xf)
        ldh [x + 16]
        jeq #53, keep, drop
        keep: ret #262144
        drop: ret #0";
    let best = "
        ldh [12]
        jeq #0x800, next, drop
        ldb [23]
        jeq #6, port, next
        jeq #17, port, drop
        port: ldh [20]
        jset #0x1fff, drop, next
        ldxb 4*([14]&0xf)
        ldh [x + 16]
        jeq #53, keep, drop
        keep: ret #262144
        drop: ret #0";
    let optimized = optimize(&program(text), Budget::default()).unwrap();
    assert_eq!(*optimized.program, program(best), "{:#?}", optimized.program.insns());
}
