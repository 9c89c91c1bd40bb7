//! `callgate bench --pid`: what it prints for a process whose syscalls are known.

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use callgate_testing::TestResult;
use serde_json::Value;

use crate::schema::must_match;
use crate::session::needs;

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        the_syscalls_of_a_process_and_what_its_filters_execute_for_them,
        both_filters_of_a_process_are_measured,
        a_process_that_makes_no_syscalls_is_an_error,
    ]
}

/// Inspects the size of each write, and allows everything else by number.
const SIZES: &str = "\
  ld nr
  jeq #write, size, allow
size: ld args[2].low
  jeq #1, allow, deny
deny: ret ERRNO(1)
allow: ret ALLOW
";

/// A process under a filter.
struct Subject(Child);

impl Subject {
    /// Runs a command under filters, and waits until it is executed.
    fn start(name: &str, filters: &[&str], command: &[&str]) -> Subject {
        let callgate = env!("CARGO_BIN_EXE_callgate");
        let mut words = Vec::new();
        for (at, text) in filters.iter().enumerate() {
            let path = format!("{}/bench_pid_{name}_{at}.asm", env!("CARGO_TARGET_TMPDIR"));
            std::fs::write(&path, text).unwrap();
            words.extend([callgate.to_owned(), "run".into(), "-s".into(), path, "--".into()]);
        }
        words.extend(command.iter().map(|word| (*word).to_owned()));
        let mut process = Command::new(&words[0]);
        process.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let subject = Subject(process.spawn().unwrap());
        let start = Instant::now();
        let comm = format!("/proc/{}/comm", subject.0.id());
        while std::fs::read_to_string(&comm).unwrap_or_default().trim() != command[0] {
            assert!(start.elapsed() < Duration::from_secs(60), "{command:?} is not executed");
            std::thread::sleep(Duration::from_millis(2));
        }
        subject
    }

    /// One that reads and writes byte by byte.
    fn copies(name: &str, filters: &[&str]) -> Subject {
        Subject::start(name, filters, &["dd", "if=/dev/zero", "of=/dev/null", "bs=1"])
    }

    fn measured(&self) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        command.args(["bench", "--pid", &self.0.id().to_string(), "--for", "2s", "--time", "1"]);
        command.args(["--format", "json"]).output().unwrap()
    }

    fn json(&self) -> Value {
        let Output { stdout, stderr, status } = self.measured();
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(0), "{said}");
        let value = serde_json::from_slice(&stdout).unwrap_or_else(|why| panic!("{why}: {said}"));
        must_match("bench.json", &value);
        value
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn call<'v>(value: &'v Value, name: &str) -> &'v Value {
    let mut calls = value["calls"].as_array().unwrap().iter();
    calls.find(|call| call["name"] == name).unwrap_or_else(|| panic!("no {name}: {value}"))
}

fn the_syscalls_of_a_process_and_what_its_filters_execute_for_them() -> TestResult {
    needs("admin")?;
    needs("bpf")?;
    let subject = Subject::copies("sizes", &[SIZES]);
    let value = subject.json();
    assert_eq!(value["process"]["name"], "dd");
    assert_eq!(value["process"]["pid"], subject.0.id());
    assert_eq!((&value["filters"]["count"], &value["filters"]["insns"]), (&1.into(), &6.into()));
    let recorded = &value["recorded"];
    assert!(recorded["windows"].as_u64().unwrap() >= 2, "{recorded}");
    assert!(recorded["calls"].as_u64().unwrap() > 1000, "{recorded}");
    assert!(recorded["cpu_seconds"].as_f64().unwrap() > 0.0, "{recorded}");
    let write = call(&value, "write");
    assert_eq!((&write["cached"], &write["denied"]), (&false.into(), &"never".into()));
    assert_eq!((&write["executed_least"], &write["executed_most"]), (&5.into(), &5.into()));
    assert_eq!(write["arguments_known"], true);
    // Its size is that of the process, so the filter allows it.
    assert!(write["measured_as"][0].as_str().unwrap().starts_with("write(1, "), "{write}");
    let read = call(&value, "read");
    assert_eq!((&read["cached"], &read["executed_most"]), (&true.into(), &3.into()));
    assert_eq!(value["unmeasured_calls"], 0);
    // On a busy machine, the time may be enough for one round, which has no interval.
    let is_known = value["rounds"].as_u64().unwrap() > 1;
    for key in ["cpu_time_percent", "processor_percent", "per_call_ns"] {
        let is_number = |bound: &str| value[key][bound].is_number();
        assert_eq!([is_number("low"), is_number("high")], [is_known; 2], "{value}");
    }
    Ok(())
}

fn both_filters_of_a_process_are_measured() -> TestResult {
    needs("admin")?;
    needs("bpf")?;
    let value = Subject::copies("both", &["ret ALLOW\n", SIZES]).json();
    assert_eq!((&value["filters"]["count"], &value["filters"]["insns"]), (&2.into(), &7.into()));
    assert_eq!(call(&value, "write")["executed_most"], 6);
    assert_eq!(call(&value, "read")["cached"], true);
    Ok(())
}

fn a_process_that_makes_no_syscalls_is_an_error() -> TestResult {
    needs("admin")?;
    needs("bpf")?;
    let subject = Subject::start("idle", &["ret ALLOW\n"], &["sleep", "1000"]);
    let Output { status, stdout, stderr } = subject.measured();
    assert_eq!((status.code(), stdout.len()), (Some(2), 0));
    let said = String::from_utf8(stderr).unwrap();
    assert!(said.contains("(sleep): it made no syscalls in "), "{said}");
    assert!(said.contains("help: record while it has work"), "{said}");
    Ok(())
}
