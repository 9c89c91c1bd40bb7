//! The list of workloads.

use callgate_tasks::Result;

const WORKLOADS: &str = include_str!("workloads.txt");

/// Functions that the scripts use.
pub(super) const FUNCTIONS: &str = include_str!("functions.sh");

/// A program and a script that uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Workload {
    pub(super) name: String,
    /// The programs that it needs.
    pub(super) programs: Vec<String>,
    /// Runs once, without a recorder.
    pub(super) prepare: String,
    /// Runs for each recording and for each run under a profile; `$under` is the recorder or the filter.
    pub(super) script: String,
}

/// All workloads: a line `== NAME: PROGRAMS`, the lines that prepare it, a line `--`, and those of the script.
pub(super) fn all() -> Result<Vec<Workload>> {
    let mut workloads: Vec<Workload> = Vec::new();
    let mut prepares = true;
    for line in WORKLOADS.lines().filter(|line| !line.starts_with("##")) {
        if let Some(head) = line.strip_prefix("== ") {
            let (name, programs) =
                head.split_once(": ").ok_or_else(|| format!("no programs: {head}"))?;
            let programs = programs.split(' ').map(str::to_owned).collect();
            workloads.push(Workload { name: name.to_owned(), programs, ..Workload::default() });
            prepares = true;
            continue;
        }
        let last = workloads.last_mut().ok_or_else(|| format!("no workload yet: {line}"))?;
        match (line, prepares) {
            ("--", _) => prepares = false,
            (line, true) => last.prepare += &format!("{line}\n"),
            (line, false) => last.script += &format!("{line}\n"),
        }
    }
    Ok(workloads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workload_has_a_script_that_runs_something_under_the_filter() {
        let workloads = all().unwrap();
        assert_eq!(workloads.len(), 16);
        for workload in workloads {
            let runs = ["$under ", "serve "].iter().any(|word| workload.script.contains(word));
            assert!(runs && !workload.programs.is_empty(), "{}", workload.name);
        }
    }
}
