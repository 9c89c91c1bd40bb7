//! `cargo lab experiment` and `cargo lab throughput`: what they print, and errors before anything is measured.

#[path = "../../../crates/callgate-cli/tests/schema/mod.rs"]
mod schema;

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use callgate_testing::{Need, Skip, TestResult, needs_program};
use serde_json::{Value, json};

use schema::{difference, must_match};

/// Beside the schemas of the product.
const SCHEMA: &str = "../../lab/schemas/measurements.json";

fn lab(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_callgate-lab"));
    command.args(args);
    command
}

/// The parsed output of `cargo lab` with these arguments.
fn parsed(args: &[&str]) -> Value {
    let Output { stdout, stderr, .. } = lab(args).arg("--json").output().unwrap();
    let (text, said) = (String::from_utf8(stdout).unwrap(), String::from_utf8_lossy(&stderr));
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{args:?}: {why}: {text}{said}"))
}

/// What a command that fails prints.
fn error(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(1), 0));
    String::from_utf8(stderr).unwrap()
}

fn needs_seccomp() -> TestResult {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    match status.lines().any(|line| line.starts_with("Seccomp:")) {
        true => Ok(()),
        false => Err(Skip::new(Need::Kernel, "the kernel does not have seccomp")),
    }
}

fn weighted_means_match_the_schema() -> TestResult {
    needs_seccomp()?;
    let value = parsed(&["experiment", "weighted", "--time", "2"]);
    must_match(SCHEMA, &value);
    assert_eq!(value["experiment"], "weighted");
    let tables = value["published"]["tables"].as_array().unwrap();
    let keys: Vec<&str> = tables.iter().map(|table| table["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["mix", "mix_change", "mean", "mean_change"]);
    // No filter, the smallest one, and three others, of which each pair is compared.
    for (table, rows) in tables.iter().zip([5, 3, 5, 3]) {
        assert_eq!(table["rows"].as_array().unwrap().len(), rows, "{table}");
        assert!(table["title"].as_str().unwrap().contains(" runs of each filter"), "{table}");
    }
    let overhead = &tables[0]["rows"][2];
    for (value, interval) in
        [0, 1, 2].map(|at| (&overhead["values"][at], &overhead["intervals"][at]))
    {
        assert_eq!(value, &interval["median"], "{overhead}");
    }
    let mean = &value["sections"][0];
    assert!(mean["title"].as_str().unwrap().starts_with("weighted mean ("), "{mean}");
    let executed = |row: usize| mean["rows"][row]["executed"]["uncached"].as_f64().unwrap();
    assert_eq!((executed(0), executed(1)), (0.0, 1.0));
    assert!(executed(2) > executed(4), "libseccomp's list executes more than Callgate");
    Ok(())
}

fn published_tables_and_box_plots_match_the_schema() -> TestResult {
    needs_seccomp()?;
    let value = parsed(&["experiment", "open-read-close", "--time", "1"]);
    must_match(SCHEMA, &value);
    assert_eq!(value["experiment"], "open-read-close");
    let published = &value["published"];
    assert_eq!(published["tables"][0]["rows"][0]["label"], "no filter");
    let plot = &published["box_plots"][0]["rows"][0];
    assert_eq!(
        plot["samples"].as_array().map(Vec::len),
        value["rounds"].as_u64().map(|n| n as usize)
    );
    assert_eq!(plot["five_numbers"].as_array().unwrap().len(), 5);
    let notes = published["notes"].to_string();
    assert!(
        notes.contains(
            "shortened by --time or --quick: a process measures 3 batches instead of 100"
        ),
        "{notes}"
    );
    // Conditions that are not possible here are notes.
    must_match(SCHEMA, &parsed(&["experiment", "getpid", "--time", "1"]));
    Ok(())
}

fn other_documents_do_not_match() -> TestResult {
    let interval = json!({ "median": 1.0, "low": 0.5, "high": 1.5 });
    let good = json!({
        "callgate": "lab throughput", "version": 1, "workload": "redis", "setting": [],
        "rounds": 3, "measures": [], "shares": [], "noisy": null, "interrupted": false,
        "comparisons": [{ "measure": "GET", "variant": "a", "over": "b", "ratio": interval }],
    });
    must_match(SCHEMA, &good);
    for (key, value) in [
        ("version", json!(2)),
        ("rounds", json!(0)),
        ("rounds", json!("3")),
        ("noisy", json!(1)),
        ("more", json!(1)),
        ("comparisons", json!([{ "measure": "GET" }])),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        assert!(difference(SCHEMA, &bad).is_some(), "{key}");
    }
    Ok(())
}

fn profiles_that_deny_what_an_experiment_needs_are_refused() -> TestResult {
    needs_seccomp()?;
    for (name, why) in [
        ("futex", "denies futex, which every waiting thread needs"),
        ("clock_gettime", "denies clock_gettime, which reads the CPU time of a thread"),
    ] {
        let path = format!("{}/without-{name}.json", env!("CARGO_TARGET_TMPDIR"));
        let rules = json!([{ "names": [name], "action": "SCMP_ACT_ERRNO" }]);
        let profile = json!({ "defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules });
        std::fs::write(&path, profile.to_string()).unwrap();
        let error = error(&mut lab(&["experiment", "condwait", &path]));
        assert!(error.contains(&format!("the filter \"libseccomp, list\" {why}")), "{error}");
    }
    Ok(())
}

/// The first interruption ends the measurement and keeps what was measured.
fn an_interrupted_experiment_reports_what_was_measured() -> TestResult {
    needs_seccomp()?;
    // A busy machine may need longer for the first round.
    for more in [0, 5, 30] {
        let mut command = lab(&["experiment", "getpid", "--time", "120", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // After a second.
        said.read_line(&mut line).unwrap();
        assert!(line.starts_with("measuring getpid: ") && line.ends_with(" %\n"), "{line}");
        std::thread::sleep(Duration::from_secs(more));
        let kill = format!("kill -INT {}", child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        let mut rest = String::new();
        said.read_to_string(&mut rest).unwrap();
        assert_eq!(output.status.code(), Some(1), "{rest}");
        if rest.contains("before the first round was complete") {
            continue;
        }
        assert!(rest.contains("stopped early: the figures are from fewer rounds"), "{rest}");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        must_match(SCHEMA, &value);
        assert_eq!(value["interrupted"], true);
        assert!(value["published"]["tables"][0]["rows"][0]["values"][0].is_number(), "{value}");
        return Ok(());
    }
    panic!("no round was complete after half a minute");
}

fn programs_that_a_server_needs_are_named_with_their_packages() -> TestResult {
    let error = error(lab(&["throughput", "redis"]).env("PATH", "/nonexistent"));
    assert!(error.contains("needs redis-server, redis-benchmark"), "{error}");
    assert!(error.contains("apt-get install redis-server redis-tools"), "{error}");
    Ok(())
}

/// One subject each, for a tenth of a second: whether it is true is not asserted, because the machine may be busy.
fn a_loop_in_c_is_beside_what_is_measured() -> TestResult {
    needs_seccomp()?;
    needs_program(Need::Tool, "cc")?;
    let value =
        parsed(&["truth", "--experiment", "getpid", "--runs", "1", "--time", "0.1", "--load", "1"]);
    assert_eq!(value["callgate"], "lab truth");
    let case = &value["cases"][0];
    assert_eq!(
        (&case["experiment"], value["cases"].as_array().unwrap().len()),
        (&json!("getpid"), 1)
    );
    let rows = case["rows"].as_array().unwrap();
    let subjects: Vec<&str> = rows.iter().map(|row| row["subject"].as_str().unwrap()).collect();
    let expected =
        ["BPF-less allow", "RET_ALLOW 1 filter", "RET_ALLOW 2 filters", "1 filter, 250 more"];
    assert_eq!(subjects, expected);
    for row in rows {
        let truth = |key: &str| row["truth_ns"][key].as_f64().unwrap();
        assert!(truth("low") <= truth("median") && truth("median") <= truth("high"), "{row}");
        assert!(row["c_loaded_ns"]["median"].is_f64(), "{row}");
        for condition in ["quiet", "loaded"] {
            let condition = &row[condition];
            assert_eq!(condition["runs"], 1, "{row}");
            assert!(condition["estimates"][0]["overhead_ns"]["median"].is_number(), "{row}");
        }
    }
    Ok(())
}

callgate_testing::tests![
    weighted_means_match_the_schema,
    published_tables_and_box_plots_match_the_schema,
    other_documents_do_not_match,
    profiles_that_deny_what_an_experiment_needs_are_refused,
    an_interrupted_experiment_reports_what_was_measured,
    programs_that_a_server_needs_are_named_with_their_packages,
    a_loop_in_c_is_beside_what_is_measured,
];
