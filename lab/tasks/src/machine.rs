//! The machine and the day of a run.

use std::fs;
use std::process::Command;

/// The date, the machine and the versions of a run.
pub(crate) fn lines() -> Vec<String> {
    let cpu =
        fs::read("/proc/cpuinfo").ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    // Those of the machine, also if this process may not use all of them.
    let cores = cpu.as_deref().map_or(0, cores);
    let cpu = cpu.as_deref().and_then(model).unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let kernel: String = kernel.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let cores = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    vec![
        format!("{}; {cpu}, {cores}; Linux {}", today(), kernel.trim_end_matches('.')),
        format!("Callgate {}, {}", env!("CARGO_PKG_VERSION"), rustc()),
    ]
}

/// The load average of the last minute, before or after a measurement.
pub(crate) fn load(when: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    Some(format!("load average {when} the measurement: {}", text.split(' ').next()?))
}

/// The first "model name" of /proc/cpuinfo.
fn model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The number of processors in /proc/cpuinfo.
fn cores(cpuinfo: &str) -> usize {
    cpuinfo.lines().filter(|line| line.starts_with("processor")).count()
}

/// The date, UTC.
pub(crate) fn today() -> String {
    said("date", &["-u", "+%Y-%m-%d"]).unwrap_or_else(|| "a day unknown".to_owned())
}

fn rustc() -> String {
    let version = said("rustc", &["--version"]).unwrap_or_else(|| "rustc".to_owned());
    version.split(" (").next().unwrap_or_default().to_owned()
}

/// The output of a command, if it succeeded and printed something.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nmodel name\t: other\n";
        assert_eq!(model(text).as_deref(), Some("Some CPU @ 2 GHz"));
        assert_eq!(model("processor\t: 0\n"), None);
        assert_eq!(cores(&text.replace("model name\t: other", "processor\t: 1")), 2);
    }
}
