//! Short experiments on the running kernel. Only facts that noise cannot change are asserted.

use callgate_bpf::SyscallTable;
use std::time::Duration;

use callgate::Verdict;
use callgate_core::SyscallSet;
use callgate_core::policy::{Condition, Policy, Rule, Section};
use callgate_experiments::experiment::{Experiment, Options};
use callgate_experiments::finding::Finding;
use callgate_experiments::libseccomp::Libseccomp;
use callgate_experiments::published::Published;
use callgate_experiments::report::ExperimentReport;
use callgate_experiments::{Jit, page};
use callgate_measure::report::Report;
use callgate_measure::{Batches, Plan, Subject, measure};
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

/// A page is well-formed XML without scripts, and has this number of charts.
fn is_well_formed(page: &str, charts: usize) {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(page, options).unwrap();
    let count =
        |name: &str| document.descendants().filter(|node| node.tag_name().name() == name).count();
    assert_eq!((count("svg"), count("script")), (charts, 0));
}

fn of_policy(policy: Policy) -> Options {
    Options {
        policy,
        is_given: false,
        libseccomp: Libseccomp::of_machine(env!("CARGO_BIN_EXE_callgate-lab")),
        may_switch_jit: false,
        subjects: Vec::new(),
        weights: Vec::new(),
        cpu: None,
        cold: None,
        seed: 7,
    }
}

fn every_experiment_can_be_set_up_and_measured() -> TestResult {
    needs_seccomp()?;
    let arch = callgate::Arch::native().unwrap();
    let options = callgate_formats::oci::ReadOptions {
        arches: vec![arch],
        enosys_above: Some(callgate_formats::oci::EnosysAbove::Off),
        ..callgate_formats::oci::ReadOptions::new(arch, "6.12".parse().unwrap())
    };
    let policy = callgate_formats::container_default(&options).unwrap().policy;
    let options = of_policy(policy);
    for experiment in Experiment::ALL {
        let (findings, published) = once(*experiment, &options);
        let is_finite = |finding: &Finding| finding.figure.median.is_finite();
        assert!(findings.iter().all(is_finite), "{findings:?}");
        assert_eq!(findings.is_empty(), *experiment == Experiment::Weighted);
        assert!(!published.tables.is_empty(), "{experiment:?}");
        let mut keys: Vec<&str> = published.tables.iter().map(|table| table.key).collect();
        keys.sort_unstable();
        assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");
        for table in &published.tables {
            assert!(!table.rows.is_empty(), "{table:?}");
            for row in &table.rows {
                assert_eq!(row.values.len(), table.columns.len(), "{table:?}");
                for figure in row.values.iter().flatten() {
                    assert!(figure.value().is_none_or(f64::is_finite), "{table:?}");
                    // After one round, no interval of a process is known; engines are measured several times.
                    let is_known = figure.interval().is_some_and(|interval| interval.is_known());
                    assert!(!is_known || ["engines", "counters"].contains(&table.key), "{table:?}");
                }
            }
        }
        // The published setting is skipped in tests, and that is told.
        if Jit::current() != Some(Jit::Off) && *experiment == Experiment::LongJumps {
            let told = published.notes.iter().any(|note| note.contains("not measured: JIT off"));
            assert!(told, "{:?}", published.notes);
        }
        assert!(experiment.duration(true) < experiment.duration(false));
    }
    Ok(())
}

/// An experiment with one short round.
fn once(experiment: Experiment, options: &Options) -> (Vec<Finding>, Published) {
    let short = |plan: &Plan| {
        let batches = Batches { count: 2, iterations: 3, warm_up: 1, ..plan.batches.clone() };
        let plan =
            Plan { min_rounds: 1, max_rounds: 1, time: Duration::ZERO, batches, ..plan.clone() };
        measure(&plan, &mut |_| {}).map_err(|error| format!("{experiment:?}: {error}"))
    };
    let setup = experiment.setup(options).unwrap();
    assert_eq!(setup.bodies.len(), setup.plan.bodies.len());
    let runs = setup.vary(short(&setup.plan).unwrap(), &mut |plan, bodies| {
        assert_eq!(plan.bodies.len(), bodies.len());
        short(plan)
    });
    ((setup.findings)(&runs.own), setup.published(&runs))
}

/// A filter may deny everything that starts a thread; the threads exist before it.
fn threads_wait_under_a_filter_that_denies_starting_them() -> TestResult {
    needs_seccomp()?;
    let arch = callgate::Arch::native().unwrap();
    let denied = ["clone", "clone3", "rseq", "mmap", "mprotect", "set_robust_list", "sigaltstack"];
    let rules = denied.iter().filter_map(|name| {
        let (syscalls, when) = (SyscallSet::one(arch.number(name)?), Condition::always());
        Some(Rule { syscalls, when, verdict: Verdict::errno(1) })
    });
    // As in all rules of libseccomp.
    let x32 = (arch == callgate::Arch::X86_64).then(|| Rule {
        syscalls: SyscallSet::range(1 << 30, u32::MAX - 1),
        when: Condition::always(),
        verdict: Verdict::KILL_PROCESS,
    });
    let section = Section::new(arch, rules.chain(x32).collect(), Verdict::ALLOW);
    let policy = Policy::new(vec![section], Verdict::KILL_PROCESS).unwrap();
    let (findings, published) =
        once(Experiment::CondWait, &Options { is_given: true, ..of_policy(policy) });
    assert!(findings.iter().any(|finding| finding.key == "list_ns"), "{findings:?}");
    let rows = published.tables[0].rows.iter().map(|row| row.label.as_str());
    assert!(!rows.clone().any(|label| label == "denylist") && rows.count() == 7);
    Ok(())
}

/// A filter that allows everything but one syscall, which no experiment makes.
fn harmless() -> Policy {
    let arch = callgate::Arch::native().unwrap();
    let rule = Rule {
        syscalls: SyscallSet::one(arch.number("acct").unwrap()),
        when: Condition::always(),
        verdict: Verdict::errno(1),
    };
    Policy::new(vec![Section::new(arch, vec![rule], Verdict::ALLOW)], Verdict::KILL_PROCESS)
        .unwrap()
}

/// Filters of the caller have rows of their own, in all experiments that measure seccomp filters.
fn filters_of_the_caller_are_measured_beside_those_of_experiments() -> TestResult {
    needs_seccomp()?;
    let policy = harmless();
    let compiled = callgate::compile::compile(&policy, &callgate::compile::Options::default());
    let program = callgate::Program::from(compiled.unwrap().program);
    let mine = Subject::new("mine", [program.clone(), program]).unwrap();
    let options = Options { subjects: vec![mine], ..of_policy(policy) };
    for (experiment, keys) in [
        (Experiment::Getpid, &["given"][..]),
        (Experiment::UnixbenchSyscall, &["given"]),
        (Experiment::LongJumps, &["given"]),
        (Experiment::OpenReadClose, &["runs"]),
        (Experiment::CondWait, &["share", "futex"]),
        (Experiment::Weighted, &["mix", "mean"]),
    ] {
        let (_, published) = once(experiment, &options);
        for key in keys {
            let table = published.tables.iter().find(|table| table.key == *key).unwrap();
            let row = table.rows.iter().find(|row| row.label == "mine").unwrap();
            assert!(row.values[0].is_some(), "{experiment:?} {table:?}");
        }
    }
    Ok(())
}

/// The kernel skips a syscall that is denied: its time would not be that of the filter.
fn filters_that_deny_what_is_measured_are_refused() -> TestResult {
    needs_seccomp()?;
    let deny = callgate_core::Program::new(vec![callgate_core::Insn::new(
        callgate_core::Op::RetK,
        Verdict::errno(1).0,
    )]);
    let mine = Subject::new("mine", deny).unwrap();
    let options = Options { subjects: vec![mine], ..of_policy(harmless()) };
    for (experiment, syscall) in [
        (Experiment::Getpid, "getpid"),
        (Experiment::UnixbenchSyscall, "close"),
        (Experiment::LongJumps, "gettid"),
        (Experiment::OpenReadClose, "open"),
        (Experiment::CondWait, "futex"),
    ] {
        let error = experiment.setup(&options).err().unwrap();
        let text = error.to_string();
        assert!(text.starts_with(&format!("the filter \"mine\" denies {syscall}")), "{text}");
        assert_eq!(error.help(), "give a filter that allows it");
    }
    Ok(())
}

/// Each run of the experiment is a sample of the box plot.
fn runs_are_in_the_box_plot_with_their_samples() -> TestResult {
    needs_seccomp()?;
    let policy = Policy::new(
        vec![Section::new(callgate::Arch::native().unwrap(), Vec::new(), Verdict::ALLOW)],
        Verdict::KILL_PROCESS,
    );
    let (_, published) = once(Experiment::OpenReadClose, &of_policy(policy.unwrap()));
    let [plot] = published.plots.as_slice() else { panic!("{:?}", published.plots) };
    assert_eq!(plot.rows.len(), published.tables[0].rows.len());
    for (name, runs) in &plot.rows {
        assert!(runs.len() == 1 && runs[0] > 0.0, "{name}: {runs:?}");
    }
    let page = page::page(&ExperimentReport { published, ..empty_report() }, &[]);
    is_well_formed(&page, 1);
    assert!(page.contains("minimum, quartiles, median and maximum"));
    Ok(())
}

fn empty_report() -> ExperimentReport {
    let report = Report {
        title: "x".to_owned(),
        setting: Vec::new(),
        sections: Vec::new(),
        aggregates: Vec::new(),
        noisy: None,
        interrupted: false,
    };
    ExperimentReport { name: "x", report, findings: Vec::new(), published: Published::default() }
}

callgate_testing::tests![
    every_experiment_can_be_set_up_and_measured,
    threads_wait_under_a_filter_that_denies_starting_them,
    filters_of_the_caller_are_measured_beside_those_of_experiments,
    filters_that_deny_what_is_measured_are_refused,
    runs_are_in_the_box_plot_with_their_samples,
];
