//! `cargo lab throughput --share`: what `callgate bench --pid` computes for the server of each variant.
//!
//! The requests stop after the recording, so that the costs are measured on an idle machine. The share that the runs show
//! is that of the CPU time for a request, with the filter and without: neither syscalls nor costs are part of it.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use callgate_experiments::workload::{Plan, VariantShare, Workload, observe};
use callgate_measure::stats::Interval;
use callgate_tasks::files::run;
use callgate_tasks::{Result, workspace};
use jsonc_parser::{JsonObject, JsonValue, parse_to_value};

/// How long the server is recorded, and how long its filters are measured, in seconds.
const RECORD: u64 = 10;
const MEASURE: u64 = 10;

/// How long the command takes before it has read the filters and attached its recorder, at most.
const START: u64 = 2;

/// Asks the command for each variant that has a filter.
pub(super) fn shares(workload: &Workload, plan: &Plan) -> Result<Vec<VariantShare>> {
    let callgate = build()?;
    let with_filter = plan.variants.iter().enumerate().filter(|(_, one)| !one.programs.is_empty());
    with_filter
        .map(|(variant, own)| {
            eprintln!("recording {} under {}", workload.name(), own.name);
            let mut start = |pid: u32| {
                let (pid, record) = (pid.to_string(), format!("{RECORD}s"));
                let mut command = Command::new(&callgate);
                command.args(["bench", "--pid", &pid, "--for", &record, "--format", "json"]);
                command.args(["--time", &MEASURE.to_string()]);
                if let Some(cpu) = plan.server_cpu {
                    command.args(["--cpu", &cpu.to_string()]);
                }
                command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
            };
            let time = Duration::from_secs(RECORD + START);
            let output = observe(workload, plan, own, time, &mut start)
                .map_err(|error| format!("{error}\n  help: {}", error.help()))?;
            if !output.status.success() {
                return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
            }
            let computed = computed(&String::from_utf8_lossy(&output.stdout))?;
            Ok(VariantShare { variant, computed })
        })
        .collect()
}

/// Builds the command.
fn build() -> Result<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "-q", "--profile", "checkout", "-p", "callgate-cli"]);
    run(cargo.current_dir(workspace()))?;
    Ok(workspace().join("target/checkout/callgate"))
}

/// The share of the CPU time in the JSON of the command.
fn computed(text: &str) -> Result<Interval> {
    let value = parse_to_value(text, &Default::default()).ok().flatten();
    let Some(JsonValue::Object(document)) = value else {
        return Err("callgate bench --pid printed no JSON object".to_owned());
    };
    let share = document.get_object("cpu_time_percent");
    let share = share.ok_or("callgate bench --pid printed no cpu_time_percent")?;
    let number = |share: &JsonObject<'_>, key: &str| -> Option<f64> {
        share.get_number(key).and_then(|number| number.parse().ok())
    };
    Ok(Interval {
        median: number(share, "median").ok_or("cpu_time_percent has no median")?,
        // Null after one round, or for one window.
        low: number(share, "low").unwrap_or(f64::NEG_INFINITY),
        high: number(share, "high").unwrap_or(f64::INFINITY),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_may_be_unknown() {
        let of = |low: &str| {
            computed(&format!(
                r#"{{"cpu_time_percent": {{"median": 4.5, "low": {low}, "high": 5}}}}"#
            ))
        };
        assert_eq!(of("4"), Ok(Interval { median: 4.5, low: 4.0, high: 5.0 }));
        assert!(!of("null").unwrap().is_known());
        assert!(computed("[]").unwrap_err().contains("no JSON object"));
        assert!(computed("{}").unwrap_err().contains("no cpu_time_percent"));
    }
}
