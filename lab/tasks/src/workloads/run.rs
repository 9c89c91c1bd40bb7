//! Runs the workloads, and prints the table.

use std::path::Path;
use std::process::Command;

use jsonc_parser::{JsonObject, JsonValue, parse_to_value};

use super::options::Options;
use super::probe::Probe;
use super::runner::{Runner, keep};
use super::workload::{Workload, all};
use crate::table::Table;
use callgate_tasks::files::{make, remove, run as run_command};
use callgate_tasks::{Result, workspace};

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let mut build = Command::new(env!("CARGO"));
    run_command(build.args(["build", "-q", "-p", "callgate-cli"]).current_dir(workspace()))?;
    let callgate = workspace().join("target/debug/callgate");
    let work = std::env::temp_dir().join(format!("callgate-workloads-{}", std::process::id()));
    make(&work)?;
    let result = table(&options, &callgate, &work);
    remove(&work)?;
    let (table, failures) = result?;
    print!("{}", table.markdown());
    match failures.as_slice() {
        [] => Ok(()),
        failures => Err(failures.join("\n")),
    }
}

fn table(options: &Options, callgate: &Path, work: &Path) -> Result<(Table, Vec<String>)> {
    run_command(Command::new("chmod").arg("755").arg(work))?;
    let probe = Probe::compile(work)?;
    let without = probe.created(None)?;
    if without.is_empty() {
        eprintln!("workloads: this kernel lets user 65534 create no namespaces without a filter");
    }
    let mut table = Table::new([
        "workload",
        "runs without a death",
        "granted",
        "by the runtime",
        "runtimes",
        "namespaces",
        "dangerous, recorded",
        "dangerous, not recorded",
    ]);
    let mut failures = Vec::new();
    let wanted =
        |workload: &Workload| options.only.is_empty() || options.only.contains(&workload.name);
    for workload in all()?.into_iter().filter(wanted) {
        if let Some(missing) = workload.programs.iter().find(|program| !is_installed(program)) {
            eprintln!("workloads: {} is omitted: {missing} is not installed", workload.name);
            continue;
        }
        eprintln!("workloads: {}", workload.name);
        let directory = work.join(&workload.name);
        let runner = Runner { callgate, directory, workload: &workload };
        let profile = match runner.prepare().and_then(|()| runner.profile(options.recordings)) {
            Ok(profile) => profile,
            Err(error) => {
                failures.push(format!("{}: {error}", workload.name));
                continue;
            }
        };
        if let Some(directory) = &options.keep {
            keep(&runner, &profile, directory)?;
        }
        let mut survived = 0;
        for number in 1..=options.runs {
            match runner.run(&profile) {
                Ok(()) => survived += 1,
                Err(error) => failures.push(format!("{}: run {number}: {error}", workload.name)),
            }
        }
        let created = probe.created(Some(&profile.program))?;
        if !created.is_empty() {
            failures.push(format!("{}: creates namespaces: {}", workload.name, created.join(", ")));
        }
        let summary = Summary::of(&profile.summary)?;
        if !summary.unrecorded.is_empty() {
            let calls = summary.unrecorded.join(", ");
            failures.push(format!("{}: dangerous, and not recorded: {calls}", workload.name));
        }
        let or_none = |names: &[String]| match names {
            [] => "none".to_owned(),
            names => names.join(" "),
        };
        table.row([
            workload.name.clone(),
            format!("{survived} of {}", options.runs),
            summary.granted.to_string(),
            summary.by_runtime.to_string(),
            summary.languages.join(" "),
            or_none(&created),
            or_none(&summary.recorded),
            or_none(&summary.unrecorded),
        ]);
    }
    Ok((table, failures))
}

/// Whether a program, a file or a directory exists.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    program.starts_with('/') && Path::new(program).exists()
        || std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// What `callgate generate --format json` says.
struct Summary {
    granted: usize,
    by_runtime: usize,
    languages: Vec<String>,
    /// Dangerous syscalls that Docker's default profile denies.
    recorded: Vec<String>,
    unrecorded: Vec<String>,
}

impl Summary {
    fn of(text: &str) -> Result<Summary> {
        let value = parse_to_value(text, &Default::default()).ok().flatten();
        let Some(JsonValue::Object(summary)) = value else {
            return Err("the summary is not an object".to_owned());
        };
        let texts = |object: &JsonObject<'_>, key: &str| {
            object.get_string(key).map(|text| text.to_string())
        };
        let objects = |key: &str| -> Vec<JsonObject<'_>> {
            let list = summary.get_array(key).cloned();
            list.into_iter()
                .flat_map(|list| list.take_inner())
                .filter_map(|one| match one {
                    JsonValue::Object(object) => Some(object),
                    _ => None,
                })
                .collect()
        };
        let grants = objects("grants");
        let by_runtime =
            grants.iter().filter(|grant| texts(grant, "reason").as_deref() == Some("by_runtime"));
        let names = |is_recorded: bool| {
            let calls = objects("dangerous").into_iter();
            let wanted =
                calls.filter(move |call| call.get_number("count").is_some() == is_recorded);
            wanted.filter_map(|call| texts(&call, "call")).collect::<Vec<_>>()
        };
        let languages = summary.get_array("languages").cloned().into_iter();
        let languages = languages.flat_map(|list| list.take_inner()).filter_map(|one| match one {
            JsonValue::String(text) => Some(text.to_string()),
            _ => None,
        });
        Ok(Summary {
            granted: grants.len(),
            by_runtime: by_runtime.count(),
            languages: languages.collect(),
            recorded: names(true),
            unrecorded: names(false),
        })
    }
}
