//! What `callgate bench --format json` prints is what `docs/schemas/bench.json` describes.

use std::process::Command;

use callgate_testing::{Need, Skip, TestResult};
use serde_json::{Value, json};

use crate::schema::{difference, must_match};

const SCHEMA: &str = "bench.json";

/// The parsed output of `callgate bench` with these arguments.
fn bench(args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_callgate"))
        .arg("bench")
        .args(args)
        .args(["--format", "json"])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_str(&text).unwrap_or_else(|why| panic!("{args:?}: {why}: {text}{said}"))
}

fn needs_seccomp() -> TestResult {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    match status.lines().any(|line| line.starts_with("Seccomp:")) {
        true => Ok(()),
        false => Err(Skip::new(Need::Kernel, "the kernel does not have seccomp")),
    }
}

fn measurements_match_the_schema() -> TestResult {
    needs_seccomp()?;
    let calls = "getpid,unshare,futex(0, FUTEX_WAKE, 1)";
    let value = bench(&["--calls", calls, "--time", "1"]);
    must_match(SCHEMA, &value);
    let titles: Vec<&str> = value["sections"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["getpid()", "unshare()", "futex(0, FUTEX_WAKE, 1)"]);
    let profile = &value["sections"][1]["rows"][2];
    assert_eq!(profile["subject"], "container-default");
    assert_eq!(profile["denied"], profile["treatment"] == "denied");
    assert_eq!(profile["overhead_ns"].is_null(), profile["denied"] == true);
    assert_eq!(profile["remark"] == "denied", profile["denied"] == true);
    assert!(value["sections"][0]["rows"][0]["remark"].is_null(), "of the baseline");
    Ok(())
}

fn weighted_means_match_the_schema() -> TestResult {
    needs_seccomp()?;
    let weights = concat!(env!("CARGO_TARGET_TMPDIR"), "/bench_json_weights.txt");
    std::fs::write(weights, "getpid 3\nread 1\n").unwrap();
    let value = bench(&["--weights", weights, "--time", "1"]);
    must_match(SCHEMA, &value);
    let mean = &value["sections"][0];
    assert!(mean["title"].as_str().unwrap().starts_with("weighted mean ("), "{mean}");
    let executed = |row: usize| mean["rows"][row]["executed"]["uncached"].as_f64().unwrap();
    assert_eq!((executed(0), executed(1)), (0.0, 1.0));
    Ok(())
}

fn engines_match_the_schema() -> TestResult {
    let value = bench(&["engines", "--workload", "port-22", "--engine", "decoded", "--time", "1"]);
    must_match(SCHEMA, &value);
    assert_eq!(value["workloads"][0]["name"], "port-22");
    Ok(())
}

fn other_documents_do_not_match() -> TestResult {
    let interval = json!({ "median": 1.0, "low": 0.5, "high": 1.5 });
    let good = json!({
        "callgate": "bench", "version": 1, "title": "cost", "setting": [], "rounds": 3,
        "outliers": 0.0, "sections": [], "noisy": null, "interrupted": false,
        "aggregates": [{
            "subject": "a", "instead_of": "b", "over": "c", "change": interval,
            "executed_change": null, "executed_uncached_change": null,
        }],
    });
    must_match(SCHEMA, &good);
    for (key, value) in [
        ("version", json!(2)),
        ("rounds", json!(0)),
        ("rounds", json!("3")),
        ("noisy", json!(1)),
        ("more", json!(1)),
        ("aggregates", json!([{ "subject": "a" }])),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        assert!(difference(SCHEMA, &bad).is_some(), "{key}");
    }
    Ok(())
}

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        measurements_match_the_schema,
        weighted_means_match_the_schema,
        engines_match_the_schema,
        other_documents_do_not_match,
    ]
}
