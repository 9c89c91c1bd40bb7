//! Counts, merging and the JSON round trip of recordings.

use super::*;
use crate::read::{ReadOptions, read};
use callgate_bpf::Arch;
use proptest::prelude::*;

#[test]
fn only_registers_that_are_arguments_are_kept() {
    let mut recording = Recording::default();
    let args = [1, 2, 3, 4, 5, 6];
    for (arch, nr, kept) in [
        (Arch::X86_64, 39, 0),
        (Arch::X86_64, 0, 3),
        (Arch::X32, 0x4000_0000, 3),
        (Arch::X86, 3, 6),
        (Arch::X86_64, 9999, 6),
    ] {
        let syscall = SyscallId::new(arch, nr);
        recording.observe(syscall, &args);
        recording.observe(syscall, &args);
        let seen = recording.get(syscall).unwrap();
        assert_eq!((seen.count(), seen.args().len()), (2, kept), "{syscall:?}");
        assert_eq!(seen.is_known(0), kept > 0);
    }
    assert_eq!(recording.total(), 10);
}

#[test]
fn counts_saturate_at_the_limit() {
    let syscall = SyscallId::new(Arch::X86_64, 0);
    let mut recording = Recording::default();
    recording.count(syscall, u64::MAX);
    recording.count(syscall, 5);
    let other = recording.clone();
    recording.merge(other);
    assert_eq!(recording.get(syscall).unwrap().count(), MAX_COUNT);
}

#[test]
fn a_count_of_zero_adds_no_syscall() {
    let mut recording = Recording::default();
    recording.count(SyscallId::new(Arch::X86_64, 0), 0);
    assert!(recording.is_empty());
}

#[test]
fn a_merged_recording_has_the_syscalls_and_runs_of_both() {
    let mut a = Recording::of(Run { command: vec!["a".into()], ..Run::default() });
    let mut b = Recording::of(Run { command: vec!["b".into()], ..Run::default() });
    let close = SyscallId::new(Arch::X86_64, 3);
    let unknown = SyscallId::new(Arch::X86_64, 4000);
    a.observe(close, &[1; 6]);
    b.observe(close, &[2; 6]);
    b.observe(unknown, &[3; 6]);
    a.merge(b);
    let commands: Vec<_> = a.runs().iter().map(|run| run.command.concat()).collect();
    assert_eq!(commands, ["a", "b"]);
    assert_eq!(a.get(close).unwrap().args()[0].all(), Some(&[1, 2][..]));
    assert!(a.get(unknown).unwrap().is_known(5));
    assert_eq!(a.syscalls().len(), 2);
}

fn run() -> impl Strategy<Value = Run> {
    let caveat = prop::sample::select(vec!["denied-calls", "lost-calls", "of-a-newer-recorder"]);
    let caveats = prop::collection::vec((caveat, prop::option::of(0_u64..4)), 0..3);
    let label = prop::sample::select(vec!["a", "b"]);
    let labels =
        prop::collection::btree_map(prop::sample::select(vec!["node", "image"]), label, 0..3);
    let word = prop::sample::select(vec!["a", "b"]);
    (word, 0_u64..3, caveats, labels).prop_map(|(word, lost, caveats, labels)| {
        let labels =
            labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let caveats = caveats.into_iter().map(|(id, count)| Caveat {
            id: id.to_owned(),
            effect: Effect::Altered,
            count,
            text: "it happened".to_owned(),
        });
        Run {
            command: vec![word.to_owned()],
            lost,
            caveats: caveats.collect(),
            labels,
            ..Run::default()
        }
    })
}

/// A recording of one run: up to 32 or more distinct values, known and unknown ones, counts up to the limit.
fn recording() -> impl Strategy<Value = Recording> {
    let value = prop_oneof![0_u64..4, 0_u64..40, any::<u64>()];
    let nr = prop::sample::select(vec![3_u32, 16, 41, 41, 5000]);
    let count = prop_oneof![4 => 1_u64..4, 1 => Just(MAX_COUNT)];
    let observed = (nr.clone(), prop::array::uniform6(value), 1_usize..3);
    let observed = prop::collection::vec(observed, 0..50);
    let counted = prop::collection::vec((nr, count), 0..2);
    (run(), observed, counted).prop_map(|(run, observed, counted)| {
        let mut recording = Recording::of(run);
        for (nr, args, times) in observed {
            (0..times).for_each(|_| recording.observe(SyscallId::new(Arch::X86_64, nr), &args));
        }
        for (nr, count) in counted {
            recording.count(SyscallId::new(Arch::X86_64, nr), count);
        }
        recording
    })
}

fn merged(parts: &[&Recording]) -> Recording {
    let mut all = Recording::default();
    parts.iter().for_each(|part| all.merge((*part).clone()));
    all
}

proptest! {
    #[test]
    fn merging_does_not_depend_on_order_or_grouping(
        a in recording(), b in recording(), c in recording(),
    ) {
        let all = merged(&[&a, &b, &c]);
        prop_assert_eq!(&merged(&[&c, &a, &b]), &all);
        prop_assert_eq!(&merged(&[&merged(&[&a, &b]), &c]), &all);
        prop_assert_eq!(&merged(&[&b, &merged(&[&c, &a])]), &all);
        // Nor on writing a recording to a file and reading it.
        let options = ReadOptions { arch: Arch::X86_64, strict: true, partial: false };
        for recording in [&a, &all] {
            if recording.is_empty() {
                continue;
            }
            let read = read(&recording.to_json(), &options).unwrap();
            prop_assert_eq!(&read.recording, recording);
        }
        // A single recording is the same after merging.
        prop_assert_eq!(&merged(&[&a]), &a);
        // The number of runs of each syscall and value is kept, and which ones these are if there are few.
        let runs_of = |has: &dyn Fn(&Recording) -> bool| {
            let alone = |part: &&Recording| merged(&[part, &Recording::of(Run::default())]);
            let with: Vec<Recording> = [&a, &b, &c].iter().filter(|part| has(part)).map(alone).collect();
            let known = |part: &Recording| part.syscalls().next().unwrap().1.seen().known()[0];
            let mut known: Vec<u64> = with.iter().map(known).collect();
            known.sort_unstable();
            if known.len() > 2 { Vec::new() } else { known }
        };
        for (syscall, seen) in all.syscalls() {
            let had = [&a, &b, &c].into_iter().filter_map(|part| part.get(syscall));
            prop_assert_eq!(seen.runs(), had.clone().count() as u64);
            let labels = |part: &&Recording| part.runs()[0].labels.clone();
            let with: Vec<_> = [&a, &b, &c].into_iter().filter(|part| part.get(syscall).is_some()).collect();
            let mut common = labels(&with[0]);
            common.retain(|key, value| with.iter().all(|part| labels(part).get(key) == Some(value)));
            let common = common.iter().map(|(key, value)| (key.as_str(), value.as_str()));
            prop_assert!(seen.common_labels().eq(common));
            let in_runs = seen.seen();
            prop_assert_eq!(in_runs.known(), runs_of(&|part| part.get(syscall).is_some()));
            for (index, values) in seen.args().iter().enumerate() {
                for (value, in_runs) in values.seen() {
                    let has = |seen: &&SyscallStats| {
                        let all = seen.args().get(index).and_then(ArgValues::all);
                        all.is_some_and(|all| all.contains(&value))
                    };
                    prop_assert_eq!(in_runs.runs(), had.clone().filter(has).count() as u64);
                    let known = runs_of(&|part| part.get(syscall).is_some_and(|seen| has(&seen)));
                    prop_assert_eq!(in_runs.known(), known);
                }
            }
        }
    }

    /// Recordings whose runs have identities are sets of runs.
    #[test]
    fn merging_is_idempotent_per_run(
        parts in prop::collection::vec(recording(), 1..5),
        order in prop::collection::vec(0_usize..5, 1..12),
    ) {
        let parts: Vec<Recording> = parts.into_iter().enumerate().map(|(number, mut part)| {
            part.runs_mut()[0].id = Some(RunId::Assigned(number as u64));
            part
        }).collect();
        let mut merger = Merger::default();
        let mut seen = std::collections::BTreeSet::new();
        for number in order {
            let number = number % parts.len();
            prop_assert_eq!(merger.add(parts[number].clone()), Ok(seen.insert(number)));
        }
        let all = merger.finish();
        prop_assert_eq!(&all, &merged(&seen.iter().map(|number| &parts[*number]).collect::<Vec<_>>()));
        // Merged recordings are sets too: parts of the other are recognized in either order.
        let first = *seen.first().unwrap();
        for (one, two) in [(&all, &parts[first]), (&parts[first], &all), (&all, &all)] {
            let mut merger = Merger::default();
            merger.add(one.clone()).unwrap();
            merger.add(two.clone()).unwrap();
            prop_assert_eq!(&merger.finish(), &all);
        }
    }
}

#[test]
fn runs_that_cannot_be_separated_are_an_error() {
    let part = |number| Recording::of(Run { id: Some(RunId::Assigned(number)), ..Run::default() });
    let [a, b, c] = [1, 2, 3].map(part);
    let mut merger = Merger::default();
    merger.add(merged(&[&a, &b])).unwrap();
    let error = merger.add(merged(&[&b, &c])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the recording shares 1 run with others, for example 0000000000000002, and also has other runs"
    );
    assert_eq!(merger.finish(), merged(&[&a, &b]));
}

#[test]
fn a_label_is_added_to_runs_without_it() {
    let syscall = SyscallId::new(Arch::X86_64, 3);
    let of = |command: &str| {
        let mut recording =
            Recording::of(Run { command: vec![command.to_owned()], ..Run::default() });
        recording.count(syscall, 1);
        recording
    };
    let [mut a, b, c] = ["a", "b", "c"].map(of);
    a.label("node", "a");
    let mut both = merged(&[&a, &b]);
    both.label("node", "b");
    both.label("zone", "z");
    let labels = |recording: &Recording, run: usize| recording.runs()[run].labels["node"].clone();
    assert_eq!([labels(&both, 0), labels(&both, 1)], ["a", "b"]);
    assert!(both.get(syscall).unwrap().common_labels().eq([("zone", "z")]));
    let mut same = merged(&[&b, &c]);
    same.label("node", "b");
    assert!(same.get(syscall).unwrap().common_labels().eq([("node", "b")]));
}

#[test]
fn a_merged_recording_has_at_most_10000_runs() {
    let mut merger = Merger::default();
    let run = || Recording::of(Run::default());
    (0..limits::MAX_RUNS).for_each(|_| assert_eq!(merger.add(run()), Ok(true)));
    let error = merger.add(run()).unwrap_err().to_string();
    assert_eq!(error, "a merged recording has at most 10000 runs, but this one makes it 10001");
}
