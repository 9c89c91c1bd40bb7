//! `cargo lab throughput`: the throughput of servers under filters.

use std::time::Duration;

use callgate_experiments::libseccomp::Libseccomp;
use callgate_experiments::workload::{self, Plan, Report, Runs, Variant, Workload, text};
use callgate_measure::{Batches, allowed_cpus, setting};
use callgate_tasks::Result;
use callgate_tasks::files::write;

use super::options::Options;
use super::output::{origin, print};
use super::share::shares;
use super::sources::{Content, Source};

pub(crate) const HELP: &str = "\
usage: cargo lab throughput [NAME [SOURCE]...] [OPTION]...

Runs a real server and its client without a filter, with an empty filter (a single ret ALLOW), with a
reference, and with Callgate's program; verdicts are unchanged. The reference of a profile is the list that the libseccomp.so.2 of this
machine makes of its rules, that of a program is the program itself. The server is restarted for
each run, as user nobody if this runs as root. Without NAME, lists the servers. Ctrl-C stops and
reports what was measured so far.

A SOURCE is container-default (the default), a profile (.json, .yaml) or a program (.bpf, .asm).

  --libseccomp PATH    another library than the libseccomp.so.2 of this machine
  --load LOAD      of mariadb: ps (rows by key), ro, rw, wo, update-index, update-non-index or
                   insert (default: ps)
  --threads N      the number of connections of mariadb (default 4)
  --share          also record the server under each filter, let `callgate bench --pid` compute the
                   share of its CPU time that the filter takes, and print it beside the measured one
                   (root, x86-64, half a minute for each filter)
  --time SECONDS   the maximum time (default 120, or 30 with --quick)
  --quick          measure for a fraction of the time
  --cpu N|any      the processor of the server (default: the last)
  --seed N         the seed of the order of the variants
  --precision P    the maximum width of the confidence interval of a ratio, in percent
                   (default 3, or 10 with --quick)
  --html FILE      also write a page with charts
  --samples FILE   also write each run (.csv, .jsonl)
  --json           print JSON

examples:
  cargo lab throughput redis
  cargo lab throughput nginx profile.json --html report.html
  cargo lab throughput redis docs/by-descriptor.json --share
";

/// The default time in seconds, and with --quick.
const TIME: u32 = 120;
const QUICK_TIME: u32 = 30;

/// The approximate duration of a client run in seconds, and with --quick.
const RUN: u32 = 3;
const QUICK_RUN: u32 = 1;

/// The shortest run.
const SHORTEST: Duration = Duration::from_millis(100);

/// The number of rounds for which there should be time.
const GOAL: u32 = 6;

/// The minimum and maximum number of rounds.
const ROUNDS: (usize, usize) = (3, 200);

/// The end of the name of a variant with libseccomp's program.
const LIBSECCOMP: &str = ", libseccomp";

/// The maximum time until a server accepts connections.
const READY: Duration = Duration::from_secs(30);

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments, &["--load", "--threads", "--share"])?;
    let Some((name, sources)) = options.words.split_first() else { return print(&list()) };
    let workload = Workload::ALL.iter().find(|one| one.name() == name).ok_or_else(|| {
        format!("unknown server {name:?}; `cargo lab throughput` lists the servers")
    })?;
    let load = load(&options, workload)?;
    let libseccomp = options.libseccomp();
    let variants = variants(sources, &libseccomp)?;
    let (server_cpu, client_cpu) = processors(&options);
    // Without a filter twice.
    let runs_per_round = variants.all.len() as u32 + 1;
    let longest = Duration::from_secs(if options.quick { QUICK_RUN } else { RUN }.into());
    let run = options
        .time
        .map_or(longest, |time| (time / runs_per_round / GOAL).clamp(SHORTEST, longest));
    let usual = Duration::from_secs(if options.quick { QUICK_TIME } else { TIME }.into());
    let plan = Plan {
        variants: variants.all,
        run,
        load,
        threads: options.threads,
        ready: READY,
        min_rounds: if options.time.is_some() { 1 } else { ROUNDS.0 },
        max_rounds: ROUNDS.1,
        time: options.time.unwrap_or(usual),
        precision: options.precision(),
        server_cpu,
        client_cpu,
        seed: options.seed,
    };
    callgate_measure::on_ctrl_c();
    let shares = if options.share { shares(workload, &plan)? } else { Vec::new() };
    let runs = take(workload, &plan)?;
    let noisy = noisy(&plan, &runs);
    let mut report = Report {
        workload,
        setting: facts(workload, &plan, &runs, &libseccomp)?,
        plan: &plan,
        runs: &runs,
        pairs: &variants.pairs,
        shares: &shares,
        noisy: noisy.as_deref(),
    };
    print(&match options.json {
        true => text::json(&report),
        false => text::text(&report),
    })?;
    if let Some(path) = &options.html {
        report.setting.extend(origin());
        write(path, report.page(&[]))?;
    }
    if let Some(file) = &options.samples {
        file.write(text::sample_rows(workload.name(), &plan, &runs))?;
    }
    if runs.interrupted {
        return Err("stopped early: the figures are from fewer rounds".to_owned());
    }
    if let Some(why) = noisy {
        eprintln!("warning: too noisy for {} %: {why}", options.precision() * 100.0);
    }
    Ok(())
}

fn list() -> String {
    Workload::ALL.iter().map(|one| format!("{:<20}{}\n", one.name(), one.about())).collect()
}

/// The chosen load of a workload.
fn load(options: &Options, workload: &Workload) -> Result<Option<&'static str>> {
    let loads = workload.loads();
    if loads.is_empty() && (options.load.is_some() || options.threads.is_some()) {
        let given = if options.load.is_some() { "--load" } else { "--threads" };
        return Err(format!("{} has no {given}; mariadb has", workload.name()));
    }
    let Some(name) = &options.load else { return Ok(None) };
    match loads.iter().find(|load| *load == name) {
        Some(load) => Ok(Some(load)),
        None => Err(format!(
            "{} has no load {name}; choose one of {}",
            workload.name(),
            loads.join(", ")
        )),
    }
}

/// The variants of the server, and which are compared.
struct Variants {
    all: Vec<Variant>,
    /// For each source, the indices of the reference and of Callgate's variant.
    pairs: Vec<(usize, usize)>,
}

/// No filter, an empty one, and for each source the reference and Callgate's program.
fn variants(sources: &[String], libseccomp: &Libseccomp) -> Result<Variants> {
    let sources = match sources {
        [] => vec![Source::built_in()?],
        given => given.iter().map(|source| Source::read(source)).collect::<Result<_>>()?,
    };
    let mut variants = Variants { all: vec![Variant::none(), Variant::empty()], pairs: Vec::new() };
    for source in sources {
        let name = &source.name;
        let (reference, own) = match &source.content {
            Content::Profile(policy) => {
                let list = libseccomp
                    .list(policy)
                    .map_err(|error| format!("{name}: {error}\n  help: {}", error.help()))?;
                let reference =
                    Variant { name: format!("{name}{LIBSECCOMP}"), programs: vec![list] };
                (reference, name.clone())
            }
            Content::Program(program) => {
                let programs = vec![program.clone()];
                let reference = Variant { name: format!("{name}, as given"), programs };
                (reference, format!("{name}, optimized"))
            }
        };
        let own = Variant { name: own, programs: vec![source.optimized()?] };
        let next = variants.all.len();
        variants.all.extend([reference, own]);
        variants.pairs.push((next, next + 1));
    }
    Ok(variants)
}

/// The processors of the server and of the client, which are different if there are two.
fn processors(options: &Options) -> (Option<usize>, Option<usize>) {
    let server = options.cpu;
    let others = allowed_cpus().into_iter().find(|cpu| Some(*cpu) != server);
    (server, server.and_then(|server| others.or(Some(server))))
}

fn take(workload: &Workload, plan: &Plan) -> Result<Runs> {
    eprintln!("measuring {}", workload.name());
    workload::run(workload, plan, &mut |_, _| {}).map_err(|error| match error.is_interrupted() {
        true => {
            "stopped before the first round was complete: a round runs each variant once".to_owned()
        }
        false => format!("{error}\n  help: {}", error.help()),
    })
}

/// Why the ratios are less precise than requested.
fn noisy(plan: &Plan, runs: &Runs) -> Option<String> {
    if runs.rounds() < ROUNDS.0 {
        return Some(format!(
            "{} of {} rounds are too few for confidence intervals",
            runs.rounds(),
            ROUNDS.0
        ));
    }
    let measures = runs.measures();
    let off = (0..measures.len()).filter_map(|measure| {
        let off = (runs.noise(measure)?.ratio.median - 1.0).abs();
        (off > plan.precision).then(|| {
            format!(
                "{}: two runs without a filter differed by {:.1} %",
                measures[measure].name,
                off * 100.0
            )
        })
    });
    let widest = runs.widest().filter(|(width, ..)| *width > plan.precision);
    let widest = widest.map(|(width, variant, measure)| {
        format!(
            "{} under {}: the confidence interval is {:.1} % wide",
            measures[measure].name,
            plan.variants[variant].name,
            width * 100.0
        )
    });
    widest.or(off.into_iter().next())
}

fn facts(
    workload: &Workload,
    plan: &Plan,
    runs: &Runs,
    libseccomp: &Libseccomp,
) -> Result<Vec<(&'static str, String)>> {
    let mut facts = setting(&Batches { cpu: plan.server_cpu, ..Batches::default() });
    if let Some(load) = plan.load.or(workload.loads().first().copied()) {
        let connections = plan.connections();
        facts.push(("requests", format!("the load {load} with {}", counted(connections))));
    }
    let client = match (plan.client_cpu, plan.server_cpu) {
        (None, _) => "not pinned".to_owned(),
        (Some(cpu), Some(server)) if cpu == server => "pinned to the same one".to_owned(),
        (Some(cpu), _) => format!("pinned to number {cpu}"),
    };
    facts.push(("client", client));
    facts.push((
        "measured",
        format!(
            "{} rounds of about {:.1} s for each variant, in {:.1} s",
            runs.rounds(),
            plan.run.as_secs_f64(),
            runs.elapsed.as_secs_f64()
        ),
    ));
    // Programs that are given need no library.
    if plan.variants.iter().any(|variant| variant.name.ends_with(LIBSECCOMP)) {
        let identity = libseccomp.identity().map_err(|error| error.to_string())?;
        facts.push(("libseccomp", identity.to_string()));
    }
    Ok(facts)
}

fn counted(connections: u32) -> String {
    format!("{connections} {}", if connections == 1 { "connection" } else { "connections" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_say_what_they_do_not_take() {
        let run = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            run(&words).unwrap_err()
        };
        assert!(run(&["nonsense"]).contains("unknown server \"nonsense\""));
        assert!(run(&["redis", "--load", "ro"]).contains("redis has no --load; mariadb has"));
        assert!(run(&["mariadb", "--load", "oltp"]).contains("choose one of ps, ro"));
        assert!(run(&["mariadb", "--threads", "65"]).contains("from 1 to 64"));
        assert!(run(&["redis", "nonsense.json"]).contains("nonsense.json"));
    }

    #[test]
    fn the_list_has_every_server() {
        let names: Vec<String> =
            list().lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect();
        let expected = ["redis", "nginx", "mariadb", "ffmpeg", "postgres", "unittest", "build"];
        assert_eq!(names, expected);
    }
}
