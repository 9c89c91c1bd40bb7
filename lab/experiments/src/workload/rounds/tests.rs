//! Tests of all parts together, with shell scripts in place of servers and clients.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

use callgate::Verdict;
use callgate_core::{Insn, Op};

use super::*;
use crate::workload::recipe::{Done, number_behind};

/// Orphans are adopted by the process, which all tests share.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn shell(script: &str) -> Step {
    Step::new(Path::new("/bin/sh"), ["-c", script])
}

/// A server that can make directories or not, and a client that says how often.
fn recipe(place: &Place, server: &str, client: &str) -> Recipe {
    let ready = Ready::Probe(Step::new(Path::new("/bin/sh"), ["-c", "test -e ready"]));
    Recipe {
        prepare: vec![shell("echo 100 > made")],
        server: Some(Server { step: shell(server), ready, stop: libc::SIGTERM }),
        fill: vec![shell("test -e ready && test -e made && echo filled > filled")],
        client: shell(client).and("", place.path()),
        measures: vec!["directories"],
        unit: "directories",
        read: |text, _| {
            Ok(Done { rates: vec![number_behind(text, "rate:")?], count: 1.0, processor: None })
        },
    }
}

const SERVER: &str = "trap 'rm ready; exit 0' TERM
    rate=50; mkdir new 2>/dev/null && rate=100 && rmdir new
    echo \"$rate\" > rate; echo > ready
    while :; do sleep 0.02; done";

/// It can make directories, because it has no filter.
const CLIENT: &str = "mkdir own && rmdir own && cat filled && echo \"rate: $(cat rate)\"";

/// A filter with this verdict for making directories.
fn no_directories(verdict: Verdict) -> Variant {
    let mut insns = vec![Insn::new(Op::LdWordAbs, 0)];
    let numbers = [
        Some(libc::SYS_mkdirat),
        #[cfg(target_arch = "x86_64")]
        Some(libc::SYS_mkdir),
    ];
    for number in numbers.into_iter().flatten() {
        insns.push(Insn::branch(Op::JeqK, number as u32, 0, 1));
        insns.push(Insn::new(Op::RetK, verdict.0));
    }
    insns.push(Insn::new(Op::RetK, Verdict::ALLOW.0));
    Variant { name: "no directories".into(), programs: vec![Program::new(insns).unwrap()] }
}

fn plan(variant: Variant) -> Plan {
    Plan {
        variants: vec![Variant::none(), variant],
        run: Duration::from_secs(1),
        load: None,
        threads: None,
        ready: Duration::from_secs(20),
        min_rounds: 2,
        max_rounds: 3,
        time: Duration::from_secs(60),
        precision: 0.0,
        server_cpu: None,
        client_cpu: None,
        seed: 1,
    }
}

fn failed(server: &str, client: &str, plan: &Plan) -> WorkloadError {
    let place = Place::new().unwrap();
    follow(&recipe(&place, server, client), &place, plan, &mut |_, _| {}).unwrap_err()
}

#[test]
fn the_server_runs_under_the_filter_and_the_client_does_not() {
    let _alone = alone();
    let place = Place::new().unwrap();
    let mut told = Vec::new();
    let plan = plan(no_directories(Verdict::errno(1)));
    let tell = &mut |text: &str, share: f64| {
        assert!((0.0..=1.0).contains(&share));
        told.push(text.to_owned());
    };
    let runs = follow(&recipe(&place, SERVER, CLIENT), &place, &plan, tell).unwrap();
    assert_eq!((runs.rounds(), runs.interrupted), (3, false));
    let own = runs.measured(1, 0).unwrap();
    assert_eq!((own.throughput, own.ratio.median), (50.0, 0.5));
    assert_eq!(runs.measures()[0].unit, "directories/s");
    assert_eq!(runs.measures()[1].unit, "directories/s of CPU time");
    assert!(runs.measured(1, 1).unwrap().throughput > 0.0);
    let noise = runs.noise(0).unwrap();
    assert_eq!((noise.throughput, noise.ratio.median), (100.0, 1.0));
    assert_eq!(told.first().unwrap(), "preparing: sh");
    assert_eq!(told.iter().filter(|text| text.starts_with("round ")).count(), 9);
}

#[test]
fn precise_ratios_end_it() {
    let _alone = alone();
    let place = Place::new().unwrap();
    let plan = plan(no_directories(Verdict::errno(1)));
    let plan = Plan { precision: 0.01, max_rounds: 9, ..plan };
    let runs = follow(&recipe(&place, SERVER, CLIENT), &place, &plan, &mut |_, _| {}).unwrap();
    assert_eq!(runs.rounds(), FEWEST);
}

#[test]
fn a_server_that_the_filter_ends_is_told_with_its_last_lines() {
    let _alone = alone();
    let server =
        SERVER.replace("rate=50;", "rate=50; mkdir x || { echo no place; exit 3; }; rmdir x;");
    let plan = &plan(no_directories(Verdict::errno(1)));
    let error = failed(&server, CLIENT, plan);
    let text = error.to_string();
    assert!(text.starts_with("sh ended with exit status: 3 under no directories; its"), "{text}");
    assert!(text.ends_with("\n    no place"), "{text}");
    assert!(error.help().contains("callgate record"), "{}", error.help());
}

#[test]
fn a_server_that_the_filter_kills_is_told_with_its_signal() {
    let _alone = alone();
    let place = Place::new().unwrap();
    // Nothing is filled: that needs a server without filter, and this one would end at once.
    let server = Server {
        step: shell("exec mkdir new"),
        ready: Ready::Probe(shell("false")),
        stop: libc::SIGTERM,
    };
    let recipe =
        Recipe { server: Some(server), fill: Vec::new(), ..recipe(&place, SERVER, CLIENT) };
    let plan =
        Plan { variants: vec![no_directories(Verdict::KILL_PROCESS)], ..plan(Variant::none()) };
    let error = follow(&recipe, &place, &plan, &mut |_, _| {}).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("sh ended with signal: 31 (SIGSYS)"), "{text}");
    assert!(text.contains("under no directories, and printed nothing"), "{text}");
}

#[test]
fn a_server_that_does_not_come_up_is_not_waited_for() {
    let _alone = alone();
    let plan = Plan { ready: Duration::from_millis(300), ..plan(Variant::none()) };
    let start = Instant::now();
    let error = failed("echo waiting; sleep 100", CLIENT, &plan);
    assert!(
        error.to_string().contains("sh was not ready within 0 s; its last lines:\n    waiting")
    );
    assert!(start.elapsed() < Duration::from_secs(20), "it is killed");
}

#[test]
fn a_client_that_fails_or_says_nothing_is_told() {
    let _alone = alone();
    let plan = &plan(no_directories(Verdict::errno(1)));
    let text = failed(SERVER, "test $(cat rate) = 100 && echo rate: 1", plan).to_string();
    let wanted = "sh ended with exit status: 1 while sh ran under no directories, and printed";
    assert!(text.starts_with(wanted), "{text}");
    let text = failed(SERVER, "echo rate: none", plan).to_string();
    assert!(text.contains("has no throughput: missing positive number"), "{text}");
}

#[test]
fn a_server_that_ends_is_to_blame_and_not_its_client() {
    let _alone = alone();
    let server = SERVER.replace("while :;", "trap 'echo bye; exit 4' USR1; echo $$ > id; while :;");
    let text = failed(&server, "kill -USR1 $(cat id); sleep 1; exit 9", &plan(Variant::none()));
    assert!(text.to_string().contains("ended with exit status: 4"), "{text}");
}

#[test]
fn what_leaves_its_group_is_ended_too() {
    let _alone = alone();
    let place = Place::new().unwrap();
    let server = format!("setsid sh -c 'echo $$ >> left; exec sleep 1000' &\n{SERVER}");
    let mut recipe = recipe(&place, &server, CLIENT);
    recipe.client = shell("while ! test -s left; do sleep 0.01; done; echo rate: 1");
    follow(&recipe, &place, &plan(Variant::none()), &mut |_, _| {}).unwrap();
    let left = fs::read_to_string(place.join("left")).unwrap();
    assert!(left.lines().count() >= 9, "one for each start: {left}");
    for id in left.lines() {
        assert!(!Path::new("/proc").join(id).exists(), "{id} is still there");
    }
}

#[test]
fn an_observer_runs_beside_requests_to_a_server_under_the_filter() {
    let _alone = alone();
    let place = Place::new().unwrap();
    let recipe = recipe(&place, SERVER, "echo asked >> asked; sleep 0.05; echo rate: 1");
    let (family, plan) = (Family::new(), plan(Variant::none()));
    let bench = Bench { recipe: &recipe, place: &place, plan: &plan, family: &family };
    bench.prepare(&mut |_, _| {}).unwrap();
    fs::remove_file(place.join("asked")).unwrap_or_default();
    // It ends after the second request.
    let script = "while [ $(cat asked 2>/dev/null | wc -l) -lt 2 ]; do sleep 0.01; done
        grep ^Seccomp: /proc/$0/status; exit 3";
    let mut start = |pid: u32| {
        let mut observer = std::process::Command::new("sh");
        observer.args(["-c", script, &pid.to_string()]).current_dir(place.path());
        observer.stdout(std::process::Stdio::piped()).spawn()
    };
    let server = recipe.server.as_ref().unwrap();
    let variant = no_directories(Verdict::errno(1));
    let time = Duration::from_secs(60);
    let begun = Instant::now();
    let output = bench.observe(server, &variant, time, &mut start).unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), &b"Seccomp:\t2\n"[..]));
    assert!(begun.elapsed() < time, "the requests end with it");
}

#[test]
fn a_client_that_does_not_end_is_killed() {
    let _alone = alone();
    let place = Place::new().unwrap();
    let around = Around { place: &place, cpu: None, programs: &[], log: "log" };
    let run = Run { program: "sh".into(), under: None, server: None };
    let mut process = Process::start(&shell("echo $$; sleep 100"), run, around).unwrap();
    let limit = Duration::from_millis(300);
    let error = process.finish(limit, || Ok(())).unwrap_err().to_string();
    let id = process.said().trim().to_owned();
    assert_eq!(error, format!("sh did not end within 0 s; its last lines:\n    {id}"));
    assert!(Path::new("/proc").join(&id).exists(), "it is still there");
    drop(process);
    assert!(!Path::new("/proc").join(&id).exists(), "{id} is not");
}
