//! Starts a container per profile, and compares its filter.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use callgate_profile_fuzz::judge;
use callgate_profile_fuzz::machine::Machine;
use callgate_profile_fuzz::runtime::{Dialect, Host, read};

use super::compare::{Compared, compare};
use super::options::Options;
use super::outcome::Outcome;
use super::profiles;
use super::runtime::{NotStarted, Runtime};
use callgate_tasks::files::make;
use callgate_tasks::{Result, workspace};

/// One in this many containers may fail to start for a reason other than its profile.
const TOLERANCE: u64 = 20;

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments)?;
    let native = Machine::from_name(std::env::consts::ARCH);
    let native = native.ok_or("no profiles are made for this architecture")?;
    // The owner of a process's directory in /proc is its effective user.
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|itself| itself.uid() == 0);
    if !is_root {
        return Err(
            "not measured: only root may start these containers and read filters".to_owned()
        );
    }
    let directory = workspace().join("target/containers");
    make(&directory)?;
    let runtimes: Result<Vec<Runtime>> =
        options.runtimes.iter().map(|name| Runtime::find(name, &directory)).collect();
    let mut failed = false;
    for runtime in runtimes.map_err(|why| format!("not measured: {why}"))? {
        let mut counts: BTreeMap<Outcome, u64> = BTreeMap::new();
        for number in options.first..options.first.saturating_add(options.profiles) {
            let (outcome, why) = one(&runtime, &options, number, native)?;
            if matches!(outcome, Outcome::Differs | Outcome::NotStarted) {
                println!("{}, profile {number}: {}: {why}", runtime.name, outcome.text());
            }
            *counts.entry(outcome).or_default() += 1;
        }
        println!("{}, {} profiles from seed {}:", runtime.version, options.profiles, options.seed);
        for (outcome, count) in &counts {
            println!("  {count:5} {}", outcome.text());
        }
        let count = |outcome| counts.get(&outcome).copied().unwrap_or(0);
        failed |= count(Outcome::Differs) > 0;
        failed |= count(Outcome::NotStarted) * TOLERANCE > options.profiles;
    }
    if failed { Err("the filters of some profiles differ".to_owned()) } else { Ok(()) }
}

/// Tries one profile.
fn one(
    runtime: &Runtime,
    options: &Options,
    number: u64,
    native: Machine,
) -> Result<(Outcome, String)> {
    let dialect = if runtime.name == "runc" { Dialect::Runc } else { Dialect::Crun };
    let case = profiles::startable(options.seed, number, dialect, native);
    let host = Host { runc: runtime.runc(), ..case.host };
    let text = case.profile.to_string();
    let differs = |what: String| (Outcome::Differs, format!("{what}\n  {text}"));
    let meaning = read(&text, &host);
    let compiled = judge::policy(&text, &host);
    if matches!(&meaning.outcome, Ok(Some(filter)) if filter.is_corrupt()) {
        return Ok((Outcome::LibraryWouldHang, String::new()));
    }
    let id = format!("callgate-{}-{number}", std::process::id());
    let container = match (runtime.start(&id, &text), &compiled) {
        (Err(NotStarted::Hung), _) => return Ok(differs("the runtime hangs".to_owned())),
        (Err(NotStarted::Refused(_)), Err(_)) => return Ok((Outcome::BothRefuse, String::new())),
        (Err(NotStarted::Refused(why)), Ok(_))
            if meaning.outcome.is_ok() && !why.contains("seccomp") =>
        {
            return Ok((Outcome::NotStarted, why));
        }
        (Err(NotStarted::Refused(why)), Ok(_)) => {
            return Ok(differs(format!(
                "the runtime refuses the profile, callgate compiles it: {why}"
            )));
        }
        (Ok(container), _) => container,
    };
    let policy = match &compiled {
        Ok(policy) => policy,
        Err(_) if meaning.doubt.is_some() => return Ok((Outcome::Doubtful, String::new())),
        Err(why) => {
            return Ok(differs(format!(
                "callgate refuses the profile, the runtime starts it: {why}"
            )));
        }
    };
    let rules = match meaning.outcome {
        Ok(Some(rules)) => rules,
        Ok(None) => return Ok(differs("the evaluator expects no filter".to_owned())),
        Err(refusal) => {
            return Ok(differs(format!("the evaluator refuses the profile: {}", refusal.why)));
        }
    };
    let dump = match callgate_linux::dump(container.pid) {
        Ok(dump) => dump,
        Err(why) => return Ok((Outcome::NotStarted, format!("its filter cannot be read: {why}"))),
    };
    // The newest filter is the container's; older ones belong to the environment.
    let Some(installed) = dump.filters.last() else {
        return Ok(differs("the container has no filter".to_owned()));
    };
    Ok(match compare(&installed.program, policy, &rules)? {
        Compared::Same => (Outcome::Same, String::new()),
        Compared::Contradicted(defect) => (Outcome::Contradicted(defect), String::new()),
        Compared::Differs(what) => differs(what),
    })
}
