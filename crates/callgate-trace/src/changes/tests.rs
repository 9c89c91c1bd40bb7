use super::*;
use crate::recording::{MAX_VALUES, Run};
use callgate_core::Arch;

const READ: u32 = 0;
const SOCKET: u32 = 41;
const OPENAT: u32 = 257;

fn id(nr: u32) -> SyscallId {
    SyscallId::new(Arch::X86_64, nr)
}

/// A merged recording with `runs` runs of which each makes read, and these syscalls in the first runs.
fn recording(runs: usize, syscalls: &[(u32, usize)]) -> Recording {
    let mut all = Recording::default();
    for run in 0..runs {
        let mut one = Recording::of(Run { status: Some(run as u8), ..Run::default() });
        one.count(id(READ), 1);
        let made = syscalls.iter().filter(|(_, runs)| run < *runs);
        made.for_each(|(nr, _)| one.count(id(*nr), 1));
        all.merge(one);
    }
    all
}

fn sockets(families: &[u64]) -> Recording {
    let mut one = Recording::of(Run::default());
    one.add(id(SOCKET), 9, [ArgValues::from_values(9, families.iter().copied())]);
    one
}

#[test]
fn the_number_of_runs_decides_what_is_significant() {
    let found = changes(&recording(3, &[]), &recording(40, &[(OPENAT, 40), (SOCKET, 1)]));
    assert_eq!((found.old.runs, found.new_side.runs, found.compared), (3, 40, 3));
    let new =
        |change: &super::Change| (change.syscall.nr, change.old, change.new, change.is_significant);
    let all: Vec<_> = found.new.iter().map(new).collect();
    assert_eq!(all, [(SOCKET, 0, 1, false), (OPENAT, 0, 40, true)]);
    assert!(found.disappeared.is_empty());
    assert_eq!(found.too_few, None);
    // The reverse.
    let found = changes(&recording(40, &[(OPENAT, 40), (SOCKET, 1)]), &recording(3, &[]));
    let all: Vec<_> = found.disappeared.iter().map(new).collect();
    assert_eq!(all, [(SOCKET, 1, 0, false), (OPENAT, 40, 0, true)]);
    assert!(found.new.is_empty());
}

#[test]
fn few_runs_are_too_few_for_many_comparisons() {
    let found = changes(&recording(1, &[]), &recording(1, &[(OPENAT, 1)]));
    assert_eq!(found.new[0].chance, Some(1.0));
    // 2 / C(8, 4) = 0.029 is more than half of 0.05, 2 / C(10, 5) = 0.008 is not.
    assert_eq!(found.too_few, Some(5));
    let found = changes(&recording(4, &[]), &recording(4, &[(OPENAT, 4)]));
    assert_eq!((found.new[0].is_significant, found.too_few), (false, Some(5)));
    let found = changes(&recording(5, &[]), &recording(5, &[(OPENAT, 5)]));
    assert_eq!((found.new[0].is_significant, found.too_few), (true, None));
    // Several differences at once support each other.
    let found = changes(&recording(4, &[]), &recording(4, &[(OPENAT, 4), (SOCKET, 4), (3, 4)]));
    assert!(found.new.iter().all(|change| change.is_significant), "{found:?}");
}

#[test]
fn the_same_recording_has_no_changes() {
    let all = recording(7, &[(OPENAT, 3)]);
    let found = changes(&all, &all);
    assert!(found.new.is_empty() && found.disappeared.is_empty());
    let found = changes(&Recording::default(), &Recording::default());
    assert_eq!((found.old.runs, found.compared), (1, 0));
}

#[test]
fn values_of_limited_arguments_are_compared() {
    let found = changes(&sockets(&[1, 2]), &sockets(&[1, 10]));
    let value = |value| Changed::Value { arg: 0, name: "family", mask: u64::from(u32::MAX), value };
    assert_eq!(found.new.iter().map(|change| change.what).collect::<Vec<_>>(), [value(10)]);
    assert_eq!(found.disappeared.iter().map(|change| change.what).collect::<Vec<_>>(), [value(2)]);
    // socket, and the values 1, 2 and 10.
    assert_eq!(found.compared, 4);

    // Values that are not listed may be old ones.
    let many: Vec<u64> = (0..=MAX_VALUES as u64).collect();
    let found = changes(&sockets(&many), &sockets(&[7, 32, 63, 64]));
    assert_eq!(
        found.new.iter().map(|change| change.what).collect::<Vec<_>>(),
        [value(63), value(64)]
    );
    assert!(found.disappeared.is_empty());
    let found = changes(&sockets(&[7]), &sockets(&many));
    assert_eq!(found.new[0].what, Changed::ManyValues { arg: 0, name: "family" });
    assert_eq!(found.new[0].chance, None);

    // The descriptor of read is not compared, and values that are not all known are not.
    let reads = |fd| {
        let mut one = Recording::default();
        one.observe(id(READ), &[fd, 0, 0, 0, 0, 0]);
        one
    };
    assert!(changes(&reads(3), &reads(4)).new.is_empty());
    let mut partly = sockets(&[1]);
    partly.count(id(SOCKET), 1);
    assert!(changes(&partly, &sockets(&[10])).new.is_empty());
}

/// Calculated by hand; the decimal fraction is an example of textbooks.
#[test]
fn probabilities_are_those_of_the_test() {
    for ((a, n), (b, m), expected) in [
        ((3, 3), (0, 40), 1.0 / 12_341.0),
        ((3, 3), (0, 3), 0.1),
        ((4, 4), (0, 4), 2.0 / 70.0),
        ((0, 1), (1, 1), 1.0),
        ((0, 3), (1, 40), 1.0),
        ((1, 10), (11, 14), 0.002_759),
        ((5, 10), (5, 10), 1.0),
        ((0, 5000), (5000, 5000), 0.0),
    ] {
        let chance = ExactTest::new(n, m).chance(a, b);
        assert!((chance - expected).abs() < 1e-6, "{a}/{n} {b}/{m}: {chance}");
    }
}
