//! `cargo xtask containers`: random profiles in real containers. The filter that runc or crun installs is read
//! from the container's process and compared with Callgate's program for equivalence.
//!
//! [`profiles`] makes the profiles, [`runtime`] starts the containers with [`idle`] in them, [`mod@compare`]
//! compares.

mod compare;
mod idle;
mod profiles;
mod runtime;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;

use callgate_profile_fuzz::judge;
use callgate_profile_fuzz::machine::Machine;
use callgate_profile_fuzz::runtime::{Contradiction, Dialect, Host, Runc, read};

use crate::files::make;
use crate::task::{Result, workspace};
use compare::{Compared, compare};
use runtime::{NotStarted, Runtime};

pub(crate) const HELP: &str = "\
usage: cargo xtask containers [--profiles N] [--seed N] [--first N] [--runtime NAME]...

Starts containers under random profiles with runc and crun, reads the installed filters,
and compares them, for all syscalls, with callgate's programs for `runc:` and `crun:`.
Callgate must refuse a profile that a runtime refuses. Needs root and the runtimes, and
fails without one of them. Containers end after at most a minute; the next run removes
those of an interrupted one.

Up to version 2.6.1, libseccomp's program may contradict its own rules, which are known
defects. Then the rules are decisive, and the profile is counted separately. Profiles for
which libseccomp hangs are not started, and are counted too.

  --profiles N     the number of profiles per runtime (default 200)
  --seed N         the seed (default 1)
  --first N        the number of the first profile (default 0)
  --runtime NAME   runc or crun (default: both)
";

/// One in this many containers may fail to start for a reason other than its profile.
const TOLERANCE: u64 = 20;

struct Options {
    profiles: u64,
    seed: u64,
    first: u64,
    runtimes: Vec<&'static str>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options { profiles: 200, seed: 1, first: 0, runtimes: Vec::new() };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("missing value: {word} …"))?;
            let number =
                || value.parse().map_err(|_| format!("{word} takes a number, not {value:?}"));
            match word.as_str() {
                "--profiles" => options.profiles = number()?,
                "--seed" => options.seed = number()?,
                "--first" => options.first = number()?,
                "--runtime" => {
                    let name = runtime::NAMES.into_iter().find(|name| name == value);
                    options.runtimes.push(name.ok_or("--runtime takes runc or crun")?);
                }
                _ => return Err(format!("unknown option {word:?}; try --help")),
            }
        }
        if options.runtimes.is_empty() {
            options.runtimes = runtime::NAMES.to_vec();
        }
        Ok(options)
    }
}

/// The result for a profile.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Same,
    BothRefuse,
    Doubtful,
    Contradicted(Contradiction),
    LibraryWouldHang,
    NotStarted,
    Differs,
}

impl Outcome {
    fn text(&self) -> &'static str {
        match self {
            Outcome::Same => "the same function",
            Outcome::BothRefuse => "refused by both",
            Outcome::Doubtful => "refused by callgate alone, because it is doubtful",
            Outcome::Contradicted(Contradiction::SharedComparisons) => {
                "libseccomp contradicts its rules: shared comparisons by order or `!=`"
            }
            Outcome::Contradicted(Contradiction::NumberNotLoaded) => {
                "libseccomp contradicts its rules: number not loaded"
            }
            Outcome::LibraryWouldHang => "not started: libseccomp hangs over the rules",
            Outcome::NotStarted => "not started, for another reason than the profile",
            Outcome::Differs => "DIFFERENT",
        }
    }
}

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

impl Runtime {
    /// The architectures for which this version of runc adds its own part.
    fn runc(&self) -> Runc {
        // `runc version 1.1.5+ds1`
        let version = self.version.rsplit(' ').next().unwrap_or_default();
        let mut numbers =
            version.split(['.', '+', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
        let mut next = || numbers.next().unwrap_or(0);
        if (next(), next(), next()) < (1, 1, 15) { Runc::Listed } else { Runc::All }
    }
}
