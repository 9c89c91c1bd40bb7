//! Short measurements on the running kernel. Only facts that noise cannot change are asserted.

use std::sync::Arc;
use std::time::Duration;

use callgate::Verdict;
use callgate_core::{Insn, Op, Program};
use callgate_html::Warning;
use callgate_measure::report::{Executed, Report, Shown, aggregates, sections};
use callgate_measure::stats::Interval;
use callgate_measure::{
    Batches, Body, Cold, Estimate, Mean, MeasurableSyscall, Mix, Plan, Subject, Treatment,
    choose_syscalls, measure, page,
};
use callgate_testing::{Need, Skip, TestResult};

/// Emulators and some sandboxes do not have seccomp.
fn needs_seccomp() -> TestResult {
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|why| Skip::new(Need::Proc, format!("/proc/self/status: {why}")))?;
    match status.lines().any(|line| line.starts_with("Seccomp:")) {
        true => Ok(()),
        false => Err(Skip::new(Need::Kernel, "the kernel does not have seccomp")),
    }
}

fn program(insns: &[Insn]) -> Program {
    Program::new(insns.to_vec()).unwrap()
}

fn ret(verdict: Verdict) -> Insn {
    Insn::new(Op::RetK, verdict.0)
}

/// Compares an argument this number of times, and allows.
fn long(comparisons: usize) -> Program {
    let mut insns = vec![Insn::new(Op::LdWordAbs, 16)];
    insns.resize(1 + comparisons, Insn::branch(Op::JeqK, 77, 0, 0));
    insns.push(ret(Verdict::ALLOW));
    program(&insns)
}

fn plan(subjects: Vec<Subject>, syscalls: &[MeasurableSyscall]) -> Plan {
    Plan {
        subjects,
        bodies: syscalls.iter().copied().map(Body::from).collect(),
        mean: None,
        batches: Batches { count: 5, iterations: 200, warm_up: 50, ..Batches::default() },
        min_rounds: 5,
        max_rounds: 5,
        time: Duration::from_secs(20),
        precision: 0.0,
        seed: 1,
    }
}

/// Noise changes the times, but neither how many there are nor their order.
fn a_measurement_has_a_row_per_subject_and_the_noise_floor() -> TestResult {
    needs_seccomp()?;
    let getpid = MeasurableSyscall::find("getpid").unwrap();
    let subjects = vec![
        Subject::none(),
        Subject::new("short", [long(1)]).unwrap(),
        Subject::new("long", [long(4000)]).unwrap(),
    ];
    let treatments = subjects.iter().map(|one| one.treatment(&getpid.data())).collect();
    let mean = Mean { title: "mean <all>".to_owned(), weights: vec![1.0] };
    let plan = Plan { mean: Some(mean), ..plan(subjects, &[getpid]) };
    let mut shares = Vec::new();
    let samples = measure(&plan, &mut |share| shares.push(share)).unwrap();
    assert_eq!(samples.rounds(), 5);
    assert!(shares.windows(2).all(|pair| pair[0] <= pair[1]) && shares[0] == 0.0, "{shares:?}");
    // Each round measures each subject, and the one without a filter twice.
    assert_eq!(shares.len(), 5 * 4);
    for subject in 0..3 {
        assert_eq!(samples.values(subject, 0).len(), 5, "{subject}");
        let Estimate { minimum, median, overhead, spread, .. } =
            samples.estimate(subject, 0).unwrap();
        assert!(0.0 < minimum && minimum <= median, "{minimum} {median}");
        let quartiles = [spread.minimum, spread.lower, spread.median, spread.upper];
        assert!(spread.minimum == minimum && quartiles.is_sorted(), "{spread:?}");
        assert!(is_ordered(overhead), "{overhead:?}");
    }
    assert_eq!(
        samples.estimate(0, 0).unwrap().overhead,
        Interval { median: 0.0, low: 0.0, high: 0.0 }
    );
    let noise = samples.noise(0).unwrap();
    assert!(is_ordered(noise), "{noise:?}");

    let bodies = [Shown { title: getpid.show(), treatments, is_claimed: true }];
    let sections = sections(&plan, &samples, &bodies);
    assert_eq!(sections.len(), 2);
    for section in &sections {
        let rows = section.rows.iter().map(|row| (row.name.as_str(), row.filters, row.insns));
        assert_eq!(
            rows.collect::<Vec<_>>(),
            [("no filter", 0, 0), ("short", 1, 3), ("long", 1, 4002)]
        );
    }
    // The mean of one body is that body.
    let (of_mean, of_body) = (&sections[0].rows[2], &sections[1].rows[2]);
    assert_eq!(of_mean.estimate.median, of_body.estimate.median);
    assert_eq!((of_mean.treatment, of_body.treatment), (None, Some(Treatment::Allowed)));
    assert_eq!(sections[1].noise, noise);
    let executed = |insns| Some(Executed { uncached: insns, cached: insns });
    assert_eq!(of_mean.executed, executed(4002.0));
    assert_eq!(of_body.executed, executed(4002.0));
    let of_short_and_long = &aggregates(&plan, &samples, 1)[0];
    assert_eq!(
        (of_short_and_long.before.as_str(), of_short_and_long.after.as_str()),
        ("short", "long")
    );
    assert_eq!(of_short_and_long.executed, Some(4002.0 / 3.0 - 1.0));
    assert_eq!(samples.batch_times().count(), 4 * 5 * 5, "subjects, rounds, batches");
    let mut report = Report {
        title: "a & b".to_owned(),
        setting: vec![("kernel", "x < y".to_owned())],
        sections,
        aggregates: aggregates(&plan, &samples, 1),
        noisy: Some("\"quoted\"".to_owned()),
        interrupted: true,
    };
    let printed = Warning {
        place: "p.json".to_owned(),
        message: "<printed>".to_owned(),
        help: String::new(),
    };
    let page = page::page(&report, &[printed]);
    is_well_formed(&page, 4);
    for part in ["Too noisy: &quot;quoted&quot;.", "Stopped early", "&lt;printed&gt;", "x &lt; y"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("denied: the kernel"));
    report.sections[1].rows[2].treatment = Some(Treatment::Denied);
    let page = page::page(&report, &[]);
    assert!(page.contains("<td>denied: the kernel skips it</td><td></td>"), "no negative overhead");
    assert!(page.contains("does not execute a denied call"));
    Ok(())
}

/// A random sequence is one body: with chosen arguments, and with a signal frame.
fn a_mix_is_measured_like_a_syscall() -> TestResult {
    needs_seccomp()?;
    let find = |name| MeasurableSyscall::find(name).unwrap();
    let closed = find("fstat").with_args([3, 0, 0, 0, 0, 0]).unwrap();
    let mut calls = vec![(find("getpid"), 0.5), (closed, 0.3)];
    calls.extend(MeasurableSyscall::find("rt_sigreturn").map(|call| (call, 0.2)));
    let mix = Mix::draw(&calls, 256, 1).unwrap();
    assert_eq!((mix.length(), mix.shares().count()), (256, calls.len()));
    // The number of getpid decides how many instructions are executed.
    let by_number = program(&[
        Insn::new(Op::LdWordAbs, 0),
        Insn::branch(Op::JeqK, find("getpid").data().nr, 1, 0),
        Insn::new(Op::LdWordAbs, 16),
        ret(Verdict::ALLOW),
    ]);
    let subjects = vec![Subject::none(), Subject::new("by number", [by_number]).unwrap()];
    let share = mix.shares().next().unwrap().1;
    let plan = Plan { bodies: vec![Body::Mix(Arc::new(mix))], ..plan(subjects, &[]) };
    let samples = measure(&plan, &mut |_| {}).unwrap();
    assert_eq!(samples.values(1, 0).len(), 5);
    assert!(samples.estimate(1, 0).unwrap().minimum > 0.0);
    let shown = Shown { title: "mix".to_owned(), treatments: Vec::new(), is_claimed: true };
    let sections = sections(&plan, &samples, &[shown]);
    let executed = sections[0].rows[1].executed.unwrap();
    // The cache answers getpid, and no other.
    assert!((executed.uncached - (4.0 - share)).abs() < 1e-9, "{executed:?} {share}");
    assert!((executed.cached - 4.0 * (1.0 - share)).abs() < 1e-9, "{executed:?} {share}");
    Ok(())
}

fn is_ordered(interval: Interval) -> bool {
    interval.low <= interval.median && interval.median <= interval.high
}

fn a_cold_call_is_measured() -> TestResult {
    needs_seccomp()?;
    let cold = Cold::of_machine(None).with_data(1 << 20);
    let hot = plan(vec![Subject::none()], &[MeasurableSyscall::find("getpid").unwrap()]);
    let plan = Plan { batches: Batches::cold(cold), ..hot };
    let samples = measure(&plan, &mut |_| {}).unwrap();
    let values = samples.values(0, 0);
    assert!(values.len() == 5 && values.iter().all(|value| *value > 0.0), "{values:?}");
    Ok(())
}

/// A page is well-formed XML without scripts, and has this number of charts.
fn is_well_formed(page: &str, charts: usize) {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(page, options).unwrap();
    let count =
        |name: &str| document.descendants().filter(|node| node.tag_name().name() == name).count();
    assert_eq!((count("svg"), count("script")), (charts, 0));
}

fn nothing_dies_whatever_a_filter_says() -> TestResult {
    needs_seccomp()?;
    let syscalls =
        [MeasurableSyscall::find("getpid").unwrap(), MeasurableSyscall::find("socket").unwrap()];
    for verdict in [Verdict::KILL_PROCESS, Verdict::KILL_THREAD, Verdict::trap(1), Verdict::LOG] {
        let subjects =
            vec![Subject::none(), Subject::new("deadly", [program(&[ret(verdict)])]).unwrap()];
        let samples = measure(&plan(subjects, &syscalls), &mut |_| {}).unwrap();
        assert!(samples.estimate(1, 1).is_some());
    }
    Ok(())
}

fn what_cannot_be_measured_says_why() -> TestResult {
    needs_seccomp()?;
    let getpid = MeasurableSyscall::find("getpid").unwrap();
    // A division by zero ends the program with KILL_THREAD, which no rewriting of returns prevents.
    let dividing = program(&[Insn::new(Op::DivX, 0), ret(Verdict::ALLOW)]);
    let error = |programs: Vec<Program>| {
        let subjects = vec![Subject::none(), Subject::new("odd", programs).unwrap()];
        measure(&plan(subjects, &[getpid]), &mut |_| {}).unwrap_err()
    };
    let died = error(vec![dividing]);
    assert_eq!((died.subject(), died.body()), (Some("odd"), Some(0)));
    assert!(died.to_string().contains("died") && died.help().contains("zero X"), "{died}");
    let closed = program(&[ret(Verdict::errno(13))]);
    let refused = error(vec![closed, long(1)]);
    assert!(refused.to_string().contains("filter 2"), "{refused}");
    assert!(refused.help().contains("older filter"), "{}", refused.help());
    let mut elsewhere = plan(vec![Subject::none()], &[getpid]);
    elsewhere.batches.cpu = Some(100_000);
    let elsewhere = measure(&elsewhere, &mut |_| {}).unwrap_err();
    assert_eq!(elsewhere.subject(), None, "{elsewhere}");
    assert!(elsewhere.help().contains("--cpu any"), "{}", elsewhere.help());
    let mut late = plan(vec![Subject::none()], &[getpid]);
    late.batches = Batches { count: 1000, iterations: 100_000, ..late.batches };
    late.batches.limit = Duration::from_millis(50);
    let late = measure(&late, &mut |_| {}).unwrap_err();
    assert!(late.to_string().contains("longer than"), "{late}");
    Ok(())
}

fn syscalls_are_chosen_that_show_what_filters_do() -> TestResult {
    needs_seccomp()?;
    let nr = |name| MeasurableSyscall::find(name).unwrap().data().nr;
    let subject = Subject::new(
        "x",
        [program(&[
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JeqK, nr("getpid"), 0, 1),
            ret(Verdict::ALLOW),
            Insn::branch(Op::JeqK, nr("read"), 0, 2),
            Insn::new(Op::LdWordAbs, 16),
            ret(Verdict::ALLOW),
            ret(Verdict::errno(1)),
        ])],
    );
    let chosen = choose_syscalls(&[subject.unwrap()]);
    let names: Vec<&str> = chosen.iter().map(|syscall| syscall.name).collect();
    assert_eq!(names, ["getpid", "read", "socket"]);
    Ok(())
}

/// `BLESS=1` writes the table into the document.
fn the_document_lists_the_syscalls() -> TestResult {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/bench.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (head, tail) = text.split_once("<!-- calls -->\n").unwrap();
    let (old, tail) = tail.split_once("<!-- end -->\n").unwrap();
    let mut table = String::from("| arguments | syscalls | effect |\n|---|---|---|\n");
    for (args, syscalls, effect) in MeasurableSyscall::groups() {
        let names: Vec<String> = syscalls.iter().map(|name| format!("`{name}`")).collect();
        table += &format!("| {args} | {} | {effect} |\n", names.join(" "));
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{head}<!-- calls -->\n{table}<!-- end -->\n{tail}")).unwrap();
    } else {
        assert_eq!(old, table, "BLESS=1 rewrites it");
    }
    Ok(())
}

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        a_measurement_has_a_row_per_subject_and_the_noise_floor,
        a_mix_is_measured_like_a_syscall,
        a_cold_call_is_measured,
        nothing_dies_whatever_a_filter_says,
        what_cannot_be_measured_says_why,
        syscalls_are_chosen_that_show_what_filters_do,
        the_document_lists_the_syscalls,
    ]
}
