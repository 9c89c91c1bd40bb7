//! The memory of native code. A process of its own, because engines of other tests would use the same memory.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use callgate_core::{Endian, Insn, Op, Program, SeccompData, Verdict};
use callgate_vm::{Jit, SeccompEngine};

/// A page.
const PAGE: usize = 4096;

/// A filter that returns `verdict` for number 0, and kills for others; with this number of divisions before, whose code is
/// needed because they end the program if X is 0.
fn filter(verdict: u32, divisions: usize) -> Program {
    let mut insns = vec![Insn::new(Op::LdWordAbs, 0)];
    if divisions > 0 {
        // X = nr + 1 is not 0 for the numbers of this test.
        insns.extend([Insn::new(Op::AddK, 1), Insn::new(Op::Tax, 0)]);
        insns.extend((0..divisions).map(|_| Insn::new(Op::DivX, 0)));
        insns.push(Insn::new(Op::LdWordAbs, 0));
    }
    insns.extend([
        Insn::branch(Op::JeqK, 0, 0, 1),
        Insn::new(Op::RetK, verdict),
        Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
    ]);
    Program::new(insns).unwrap()
}

fn compiled(verdict: u32, divisions: usize) -> Jit {
    Jit::new(&filter(verdict, divisions), Endian::NATIVE).unwrap()
}

fn run(jit: &Jit) -> [u32; 2] {
    [0, 1].map(|nr| jit.verdict(&SeccompData { nr, ..SeccompData::default() }).0)
}

/// The permissions of the mapping at an address, as in proc_pid_maps(5).
fn permissions(address: usize) -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (start, end) = range.split_once('-')?;
        let bound = |text| usize::from_str_radix(text, 16).unwrap();
        (bound(start)..bound(end)).contains(&address).then(|| rest[..4].to_owned())
    })
}

fn address(jit: &Jit) -> usize {
    jit.code().as_ptr() as usize
}

#[test]
fn dropped_code_cannot_be_executed_and_its_memory_is_used_again() {
    let first = compiled(7, 0);
    let place = address(&first);
    assert_eq!(permissions(place).as_deref(), Some("r-xp"));
    assert_eq!(run(&first), [7, Verdict::KILL_PROCESS.0]);
    drop(first);
    assert_eq!(permissions(place).as_deref(), Some("rw-p"));

    // Longer code in the same page, and shorter code again.
    let again = compiled(8, 20);
    assert!(again.code().len() > 200 && again.code().len() < PAGE, "{}", again.code().len());
    assert_eq!((address(&again), run(&again)), (place, [8, Verdict::KILL_PROCESS.0]));
    let end = place + again.code().len() - 1;
    drop(again);
    let again = compiled(9, 0);
    assert_eq!((address(&again), run(&again)), (place, [9, Verdict::KILL_PROCESS.0]));
    // SAFETY: the page is mapped, and readable.
    #[allow(unsafe_code)]
    let behind = unsafe { std::ptr::with_exposed_provenance::<u8>(end).read_volatile() };
    assert_eq!(behind, 0, "old code is erased");

    // Memory that is in use is not given to others, and one mapping is kept.
    let other = compiled(10, 0);
    let others_place = address(&other);
    assert_ne!(others_place, place);
    assert_eq!(run(&again), [9, Verdict::KILL_PROCESS.0]);
    assert_eq!(run(&other), [10, Verdict::KILL_PROCESS.0]);
    drop(again);
    drop(other);
    let is_kept = |place| permissions(place).as_deref() == Some("rw-p");
    assert_eq!([place, others_place].map(is_kept), [false, true]);

    // A page is too short for two, and much memory is not kept, or used for short code.
    let longer = compiled(11, 500);
    let longers_place = address(&longer);
    assert!((PAGE + 1..4 * PAGE).contains(&longer.code().len()), "{}", longer.code().len());
    assert_eq!(run(&longer), [11, Verdict::KILL_PROCESS.0]);
    assert!(!is_kept(others_place));
    drop(longer);
    assert!(is_kept(longers_place));
    let long = compiled(12, 1600);
    let longs_place = address(&long);
    assert!((4 * PAGE + 1..8 * PAGE).contains(&long.code().len()), "{}", long.code().len());
    drop(long);
    assert!(is_kept(longs_place));
    let short = compiled(13, 0);
    assert_ne!(address(&short), longs_place);
    assert!(!is_kept(longs_place));
    let longest = compiled(12, 4000);
    assert!(longest.code().len() > 8 * PAGE, "{}", longest.code().len());
    assert_eq!(run(&longest), [12, Verdict::KILL_PROCESS.0]);
    let longests_place = address(&longest);
    drop(longest);
    assert!(!is_kept(longests_place));

    // No two are neighbours, whatever is mapped between them, and in whatever order they are dropped.
    let mut engines: Vec<Jit> = Vec::new();
    let mut others = Vec::new();
    for round in 0..60 {
        let jit = compiled(14, [0, 0, 0, 300, 500][round % 5]);
        if round % 7 == 0 {
            others.push(vec![1u8; 1 << 20]);
        }
        if round % 4 == 0 && round > 8 {
            engines.swap_remove(round % 5);
        }
        engines.push(jit);
    }
    let mut places: Vec<_> = engines.iter().map(|jit| (address(jit), jit.code().len())).collect();
    places.sort_unstable();
    for two in places.windows(2) {
        let [(low, len), (high, _)] = [two[0], two[1]];
        assert!(low + len.next_multiple_of(PAGE) < high, "{places:x?}");
    }
    drop(engines);

    // The next one has the place of one that was not kept.
    let place = |_| address(&compiled(12, 4000));
    let places: std::collections::BTreeSet<usize> = (0..50).map(place).collect();
    assert!(places.len() < 5, "{places:x?}");

    // Threads that make, run and drop engines at once.
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for round in 0..500 {
                    let verdict = 1 + 4 * round + thread;
                    let jit = compiled(verdict, (round % 7 * 100) as usize);
                    assert_eq!(run(&jit), [verdict, Verdict::KILL_PROCESS.0]);
                }
            });
        }
    });
}
