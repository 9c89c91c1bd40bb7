//! What `callgate bench --format json` prints is what `docs/schemas/bench.json` describes.

use std::path::Path;
use std::process::Command;

use callgate_testing::{Need, Skip, TestResult};
use serde_json::{Value, json};

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas/bench.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Why a value does not match, for the keywords of JSON Schema that the document uses.
fn mismatch(root: &Value, schema: &Value, value: &Value, place: &str) -> Option<String> {
    let wrong = |what: &str| Some(format!("{place}: {what}: {value}"));
    for (keyword, rule) in schema.as_object().unwrap() {
        let found = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => None,
            "$ref" => {
                let name = rule.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                mismatch(root, &root["$defs"][name], value, place)
            }
            "oneOf" => {
                let all = rule.as_array().unwrap().iter();
                let errors: Vec<_> = all.map(|one| mismatch(root, one, value, place)).collect();
                match errors.iter().filter(|error| error.is_none()).count() {
                    1 => None,
                    count => wrong(&format!("matches {count}: {errors:?}")),
                }
            }
            "type" => {
                let own = std::slice::from_ref(rule);
                let types = rule.as_array().map_or(own, Vec::as_slice);
                let is = |name: &Value| match name.as_str().unwrap() {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "string" => value.is_string(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    "integer" => value.is_u64() || value.is_i64(),
                    "number" => value.is_number(),
                    other => panic!("unknown type {other}"),
                };
                if types.iter().any(is) { None } else { wrong(&format!("is not {rule}")) }
            }
            "const" => {
                if value == rule {
                    None
                } else {
                    wrong("is another constant")
                }
            }
            "enum" => match rule.as_array().unwrap().contains(value) {
                true => None,
                false => wrong("is not in the list"),
            },
            "minimum" | "maximum" => {
                let (limit, own) = (rule.as_f64().unwrap(), value.as_f64());
                let is_within =
                    |own| if keyword == "minimum" { own >= limit } else { own <= limit };
                if own.is_none_or(is_within) { None } else { wrong(keyword) }
            }
            "minItems" | "maxItems" => {
                let (limit, own) =
                    (rule.as_u64().unwrap(), value.as_array().map(|own| own.len() as u64));
                let is_within =
                    |own| if keyword == "minItems" { own >= limit } else { own <= limit };
                if own.is_none_or(is_within) { None } else { wrong(keyword) }
            }
            "required" => rule
                .as_array()
                .unwrap()
                .iter()
                .filter(|_| value.is_object())
                .find(|key| value.get(key.as_str().unwrap()).is_none())
                .map(|key| format!("{place}: missing {key}")),
            "additionalProperties" => value.as_object().and_then(|object| {
                let known = schema["properties"].as_object().unwrap();
                let other = object.keys().find(|key| !known.contains_key(*key))?;
                Some(format!("{place}: unknown key {other}"))
            }),
            "properties" => rule.as_object().unwrap().iter().find_map(|(key, rule)| {
                mismatch(root, rule, value.get(key)?, &format!("{place}.{key}"))
            }),
            "items" => value.as_array().and_then(|items| {
                items
                    .iter()
                    .enumerate()
                    .find_map(|(at, item)| mismatch(root, rule, item, &format!("{place}[{at}]")))
            }),
            other => panic!("the test does not know the keyword {other}"),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

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

#[track_caller]
fn must_match(value: &Value) {
    let schema = schema();
    if let Some(error) = mismatch(&schema, &schema, value, "$") {
        panic!("{error}");
    }
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
    must_match(&value);
    assert_eq!(value["experiment"], Value::Null);
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
    Ok(())
}

fn weighted_means_match_the_schema() -> TestResult {
    needs_seccomp()?;
    let value = bench(&["--experiment", "weighted", "--time", "2"]);
    must_match(&value);
    assert_eq!(value["experiment"], "weighted");
    // Three filters, compared over two baselines.
    assert_eq!(value["aggregates"].as_array().unwrap().len(), 6);
    let mean = &value["sections"][0];
    assert!(mean["title"].as_str().unwrap().starts_with("weighted mean ("), "{mean}");
    let executed = |row: usize| mean["rows"][row]["executed"]["uncached"].as_f64().unwrap();
    assert_eq!((executed(0), executed(1)), (0.0, 1.0));
    assert!(executed(2) > executed(4), "libseccomp's list executes more than Callgate");
    Ok(())
}

fn published_tables_and_box_plots_match_the_schema() -> TestResult {
    needs_seccomp()?;
    let value = bench(&["--experiment", "open-read-close", "--time", "1"]);
    must_match(&value);
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
        notes.contains("shortened by --time: a process measures 3 batches instead of 100"),
        "{notes}"
    );
    // Conditions that are not possible here are notes.
    must_match(&bench(&["--experiment", "getpid", "--time", "1"]));
    Ok(())
}

fn engines_match_the_schema() -> TestResult {
    let value = bench(&["engines", "--workload", "port-22", "--engine", "decoded", "--time", "1"]);
    must_match(&value);
    assert_eq!(value["workloads"][0]["name"], "port-22");
    Ok(())
}

fn other_documents_do_not_match() -> TestResult {
    let interval = json!({ "median": 1.0, "low": 0.5, "high": 1.5 });
    let good = json!({
        "callgate": "bench workload", "version": 1, "workload": "redis", "setting": [],
        "rounds": 3, "measures": [], "noisy": null, "interrupted": false,
        "comparisons": [{ "measure": "GET", "variant": "a", "over": "b", "ratio": interval }],
    });
    must_match(&good);
    let schema = schema();
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
        assert!(mismatch(&schema, &schema, &bad, "$").is_some(), "{key}");
    }
    Ok(())
}

callgate_testing::tests![
    measurements_match_the_schema,
    weighted_means_match_the_schema,
    published_tables_and_box_plots_match_the_schema,
    engines_match_the_schema,
    other_documents_do_not_match,
];
