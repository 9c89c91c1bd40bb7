//! Counts, merging and the JSON round trip of recordings.

use super::*;
use crate::read::{ReadOptions, read};
use callgate_core::Arch;
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
    #![proptest_config(callgate_testing::random::cases(80))]

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

    /// Recordings whose runs have identities are sets of runs, and merging them does not depend on the order.
    #[test]
    fn merging_is_idempotent_per_run(
        parts in prop::collection::vec(recording(), 5),
        sets in prop::collection::vec(1_u32..32, 1..7),
    ) {
        let parts: Vec<Recording> = parts.into_iter().enumerate().map(|(number, mut part)| {
            part.runs_mut()[0].id = Some(RunId::Assigned(number as u64));
            part
        }).collect();
        let union = |set: u32| {
            merged(&(0..5).filter(|run| set >> run & 1 == 1).map(|run| &parts[run]).collect::<Vec<_>>())
        };
        let is_part = |set: &u32| sets.iter().any(|other| other != set && other & set == *set);
        let mut whole: Vec<u32> = sets.iter().copied().filter(|set| !is_part(set)).collect();
        whole.sort_unstable();
        whole.dedup();
        let all = whole.iter().fold(0, |all, set| all | set);
        let is_disjoint = whole.iter().map(|set| set.count_ones()).sum::<u32>() == all.count_ones();

        let inputs: Vec<Recording> = sets.iter().map(|set| union(*set)).collect();
        let reversed: Vec<Recording> = inputs.iter().rev().cloned().collect();
        for inputs in [inputs, reversed] {
            let at_once = Merger::all(&inputs);
            let streamed = streamed(&inputs);
            prop_assert_eq!(at_once.is_ok(), is_disjoint);
            prop_assert_eq!(streamed.is_ok(), is_disjoint);
            if let (Ok(at_once), Ok((streamed, taken))) = (at_once, streamed) {
                prop_assert_eq!(&at_once, &union(all));
                prop_assert_eq!(&streamed, &at_once);
                prop_assert_eq!(taken, whole.len());
            }
        }
    }
}

/// Merges recordings that are added one after the other, a second time if necessary.
fn streamed(inputs: &[Recording]) -> Result<(Recording, usize), MergeError> {
    let mut merger = Merger::default();
    for _ in 0..2 {
        inputs.iter().cloned().for_each(|recording| merger.add(recording));
        match merger.finish()? {
            Merging::Done { merged, taken } => return Ok((merged, taken)),
            Merging::Again(again) => merger = again,
        }
    }
    panic!("a third pass")
}

fn numbered(number: u64) -> Recording {
    Recording::of(Run { id: Some(RunId::Assigned(number)), ..Run::default() })
}

#[test]
fn runs_that_cannot_be_separated_are_an_error() {
    let [a, b, c] = [1, 2, 3].map(numbered);
    let overlapping = [merged(&[&a, &b]), c.clone(), merged(&[&b, &c])];
    let error = streamed(&overlapping).unwrap_err();
    assert_eq!(
        error.to_string(),
        "two recordings share 1 run, for example 0000000000000002, and both also have other runs"
    );
    assert_eq!(error.recordings(), Some([0, 2]));
    // A run without a number may be any run.
    let unknown = merged(&[&a, &Recording::of(Run::default())]);
    assert!(Merger::all(&[unknown.clone(), merged(&[&a, &b])]).is_err());
    assert_eq!(Merger::all(&[unknown.clone(), a, unknown.clone()]), Ok(unknown));
}

#[test]
fn of_recordings_of_a_run_the_most_complete_one_counts() {
    let syscall = SyscallId::new(Arch::X86_64, 3);
    let mut whole = numbered(1);
    whole.count(syscall, 2);
    let mut labelled = whole.clone();
    labelled.label("node", "a");
    let mut cut = labelled.clone();
    cut.count(syscall, 5);
    cut.runs_mut()[0].caveats.push(Caveat::cut_off());
    let mut lossy = labelled.clone();
    lossy.runs_mut()[0].lost = 1;
    let orders = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]];
    for order in orders {
        let inputs = order.map(|index| [&whole, &labelled, &cut, &lossy][index].clone());
        assert_eq!(streamed(&inputs), Ok((labelled.clone(), 1)), "{order:?}");
    }
}

#[test]
fn recordings_that_change_between_the_passes_are_an_error() {
    let [a, b, c] = [1, 2, 3].map(numbered);
    let mut merger = Merger::default();
    merger.add(a.clone());
    merger.add(merged(&[&a, &b]));
    let Ok(Merging::Again(mut merger)) = merger.finish() else { panic!("a part came first") };
    merger.add(c);
    let error = merger.finish().unwrap_err();
    assert_eq!(error.to_string(), "the recordings changed while they were merged");
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
    let mut runs: Vec<Recording> = (0..limits::MAX_RUNS as u64).map(numbered).collect();
    assert!(streamed(&runs).is_ok());
    runs.push(numbered(0));
    assert!(streamed(&runs).is_ok(), "a run that is given twice counts once");
    runs.push(Recording::of(Run::default()));
    let error = streamed(&runs).unwrap_err().to_string();
    assert_eq!(error, "a merged recording has at most 10000 runs, but these have 10001");
}
