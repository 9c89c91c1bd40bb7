//! Runs the variants of a workload in rounds.
//!
//! A round runs each variant once, in an order that changes with the round. The first variant, which has no filter, runs
//! twice; the difference is the noise floor. The server is restarted each time, on its own processor; its data is created
//! once.

use std::ffi::OsStr;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use callgate::Verdict;
use callgate_bpf::random::Rng;
use callgate_core::{Insn, Op, Program};

use super::definition::Workload;
use super::error::{Run, WorkloadError};
use super::place::Place;
use super::process::{Around, Family, Process};
use super::recipe::{Load, Ready, Recipe, Server, Step};
use super::results::{Measure, Runs};
use super::tools::Tools;
use callgate_measure::interrupt;

/// The name of the measure of CPU time.
const PROCESSOR: &str = "all";

/// The time limit of each step that creates or fills the data.
const PREPARE_LIMIT: Duration = Duration::from_secs(120);

/// The time limit of a connection attempt, and of a readiness check.
const PROBE_LIMIT: Duration = Duration::from_secs(5);

/// The filters under which a server runs.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The name in tables.
    pub name: String,
    /// The filters, the oldest first, installed unchanged; empty for no filter.
    pub programs: Vec<Program>,
}

impl Variant {
    /// The variant without a filter.
    pub fn none() -> Variant {
        Variant { name: "no filter".to_owned(), programs: Vec::new() }
    }

    /// The variant with the smallest filter, which allows everything: what it costs is the price of having one at all.
    pub fn empty() -> Variant {
        let program = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]);
        Variant { name: "empty filter".to_owned(), programs: program.into_iter().collect() }
    }

    /// The number of instructions of all filters.
    pub fn insns(&self) -> usize {
        self.programs.iter().map(|program| program.len()).sum()
    }
}

/// The variants to measure, and when to stop.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The variants; the first has no filter and is the baseline.
    pub variants: Vec<Variant>,
    /// The approximate duration of a client run; some clients take whole seconds only.
    pub run: Duration,
    /// One of the loads of the [workload](Workload::loads); `None` for the first.
    pub load: Option<&'static str>,
    /// The number of connections, for workloads with loads; `None` for the default.
    pub threads: Option<u32>,
    /// The time limit until a server is ready.
    pub ready: Duration,
    /// The minimum number of rounds, even if the time is over.
    pub min_rounds: usize,
    /// The maximum number of rounds.
    pub max_rounds: usize,
    /// The time, with the preparation: no round starts that would probably end later.
    pub time: Duration,
    /// After `min_rounds`, stop when the confidence intervals of all ratios are at most this wide; 0 for never.
    pub precision: f64,
    /// The processor of the process under the filter, if it is pinned.
    pub server_cpu: Option<usize>,
    /// The processor of the client, if it is pinned.
    pub client_cpu: Option<usize>,
    /// The seed of the order of variants.
    pub seed: u64,
}

/// The number of rounds below which an interval is narrow by chance.
const FEWEST: usize = 3;

impl Plan {
    /// The number of connections, for workloads with loads.
    pub fn connections(&self) -> u32 {
        self.threads.unwrap_or(4)
    }

    fn load(&self) -> Load {
        Load { time: self.run, name: self.load, threads: self.connections() }
    }
}

/// Measures a workload; calls `tell` with the current step and the share of the time that is over.
///
/// Meanwhile, children in other process groups count as orphans of a server and are killed.
///
/// # Errors
/// If a program is not installed, which is checked before anything is started; if a program cannot be started, ends early,
/// is not ready or does not end in time, or reports no throughput; or if the measurement is interrupted before the first
/// round is complete.
pub fn run(
    workload: &Workload,
    plan: &Plan,
    tell: &mut dyn FnMut(&str, f64),
) -> Result<Runs, WorkloadError> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let tools = Tools::find(workload.name, workload.needs, OsStr::new(&search))?;
    let place = Place::new().map_err(|why| WorkloadError::place(&why))?;
    let recipe = (workload.recipe)(&tools, &place, &plan.load())?;
    follow(&recipe, &place, plan, tell)
}

/// Runs a server under a variant once more, with requests of its client for this time, while another program observes it.
/// `start` starts that program, with the process ID of the server. Returns how it ended, and what it printed.
///
/// # Errors
/// If the workload has no server, those of [`run`], and those of `start`.
pub fn observe(
    workload: &Workload,
    plan: &Plan,
    variant: &Variant,
    time: Duration,
    start: &mut dyn FnMut(u32) -> io::Result<Child>,
) -> Result<Output, WorkloadError> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let tools = Tools::find(workload.name, workload.needs, OsStr::new(&search))?;
    let place = Place::new().map_err(|why| WorkloadError::place(&why))?;
    let recipe = (workload.recipe)(&tools, &place, &plan.load())?;
    let family = Family::new();
    let bench = Bench { recipe: &recipe, place: &place, plan, family: &family };
    bench.prepare(&mut |_, _| {})?;
    let server = recipe.server.as_ref().ok_or_else(|| WorkloadError::no_server(workload.name))?;
    bench.observe(server, variant, time, start)
}

/// Like [`run`], for a recipe.
pub(super) fn follow(
    recipe: &Recipe,
    place: &Place,
    plan: &Plan,
    tell: &mut dyn FnMut(&str, f64),
) -> Result<Runs, WorkloadError> {
    let family = Family::new();
    let bench = Bench { recipe, place, plan, family: &family };
    let start = Instant::now();
    bench.prepare(tell)?;
    let prepared = start.elapsed();
    let again = plan.variants.first();
    let variants: Vec<&Variant> = plan.variants.iter().chain(again).collect();
    let measures = measures(recipe);
    let mut runs = Runs {
        values: vec![vec![Vec::new(); measures.len()]; variants.len()],
        measures,
        rounds: 0,
        interrupted: false,
        elapsed: Duration::ZERO,
    };
    let mut rng = Rng::new(plan.seed);
    let mut order: Vec<usize> = (0..variants.len()).collect();
    while runs.rounds < plan.max_rounds {
        let is_precise = || {
            plan.precision > 0.0
                && runs.rounds >= FEWEST
                && runs.widest().is_some_and(|(width, ..)| width <= plan.precision)
        };
        let elapsed = start.elapsed();
        let round = (elapsed - prepared).div_f64(runs.rounds.max(1) as f64);
        let is_over = elapsed + round > plan.time;
        if runs.rounds >= plan.min_rounds && (is_over || is_precise()) {
            break;
        }
        rng.shuffle(&mut order);
        let mut round = vec![Vec::new(); variants.len()];
        for (done, at) in order.iter().enumerate() {
            let rounds = runs.rounds as f64 + done as f64 / variants.len() as f64;
            let by_time = start.elapsed().as_secs_f64() / plan.time.as_secs_f64().max(1e-9);
            let by_rounds = rounds / plan.max_rounds.max(1) as f64;
            let share = by_time.max(by_rounds).min(rounds / plan.min_rounds.max(1) as f64).min(1.0);
            tell(&format!("round {}, {}", runs.rounds + 1, variants[*at].name), share);
            match bench.measure(variants[*at]) {
                Ok(values) => round[*at] = values,
                Err(error) if error.is_interrupted() => {
                    runs.interrupted = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        if runs.interrupted {
            break;
        }
        // Only complete rounds count.
        for (all, new) in runs.values.iter_mut().zip(round) {
            all.iter_mut().zip(new).for_each(|(all, new)| all.push(new));
        }
        runs.rounds += 1;
    }
    runs.elapsed = start.elapsed();
    match runs.rounds {
        0 => Err(WorkloadError::interrupted()),
        _ => Ok(runs),
    }
}

/// The throughput that the client reports, and that per second of CPU time of the server.
fn measures(recipe: &Recipe) -> Vec<Measure> {
    let per_second =
        recipe.measures.iter().map(|name| Measure { name, unit: format!("{}/s", recipe.unit) });
    let unit = format!("{}/s of CPU time", recipe.unit);
    per_second.chain([Measure { name: PROCESSOR, unit }]).collect()
}

struct Bench<'a> {
    recipe: &'a Recipe,
    place: &'a Place,
    plan: &'a Plan,
    family: &'a Family,
}

impl Bench<'_> {
    /// Creates the data and fills it.
    fn prepare(&self, tell: &mut dyn FnMut(&str, f64)) -> Result<(), WorkloadError> {
        for step in &self.recipe.prepare {
            tell(&format!("preparing: {}", step.name()), 0.0);
            self.complete(step, PREPARE_LIMIT, None)?;
        }
        if let (Some(server), [_, ..]) = (&self.recipe.server, self.recipe.fill.as_slice()) {
            tell(&format!("preparing: {}", server.step.name()), 0.0);
            let mut process = self.serve(server, &Variant::none())?;
            for step in &self.recipe.fill {
                tell(&format!("preparing: {}", step.name()), 0.0);
                self.complete(step, PREPARE_LIMIT, Some(&mut process))?;
            }
            process.stop(server.stop);
        }
        self.family.clear();
        Ok(())
    }

    /// Runs a variant once; returns a number for each measure.
    fn measure(&self, variant: &Variant) -> Result<Vec<f64>, WorkloadError> {
        /// The unit of CPU time, with the 100 ticks per second that the kernel reports.
        const TICK: f64 = 0.01;
        let Recipe { server, client, .. } = self.recipe;
        let load = self.plan.load();
        let limit = Duration::from_secs(load.seconds() * 10 + 30);
        let mut serving = server.as_ref().map(|one| self.serve(one, variant)).transpose()?;
        let run = Run {
            program: client.name(),
            under: name_of(variant),
            server: server.as_ref().map(|one| one.step.name()),
        };
        let around = match server {
            Some(_) => self.around(self.plan.client_cpu, &[], "client.log"),
            None => self.around(self.plan.server_cpu, &variant.programs, "client.log"),
        };
        let before = serving.as_ref().map(Process::cpu_time);
        let mut process = Process::start(client, run.clone(), around)?;
        process.finish(limit, || serving.as_mut().map_or(Ok(()), Process::must_run))?;
        let said = process.said();
        drop(process);
        let after = serving.as_ref().map(Process::cpu_time);
        if let (Some(serving), Some(server)) = (serving, server) {
            serving.stop(server.stop);
        }
        self.family.clear();
        let done = (self.recipe.read)(&said, &load)
            .map_err(|why| WorkloadError::unreadable(run, why, said))?;
        let of_server = before.zip(after).map(|(before, after)| after.saturating_sub(before));
        let processor = of_server.map(|time| time.as_secs_f64()).or(done.processor);
        let mut values = done.rates;
        values.push(done.count / processor.unwrap_or_default().max(TICK));
        Ok(values)
    }

    /// Runs a server with requests while another program observes it.
    fn observe(
        &self,
        server: &Server,
        variant: &Variant,
        time: Duration,
        start: &mut dyn FnMut(u32) -> io::Result<Child>,
    ) -> Result<Output, WorkloadError> {
        /// How long the observer may take after the requests.
        const PATIENCE: Duration = Duration::from_secs(120);
        let client = &self.recipe.client;
        let limit = Duration::from_secs(self.plan.load().seconds() * 10 + 30);
        let mut serving = self.serve(server, variant)?;
        let run = |program: &str| Run {
            program: program.to_owned(),
            under: name_of(variant),
            server: Some(server.step.name()),
        };
        let failed = |why| WorkloadError::not_started(run("the observer"), why);
        let mut observer = Observer(Some(start(serving.id()).map_err(failed)?));
        let begun = Instant::now();
        while begun.elapsed() < time && !observer.has_ended().map_err(failed)? {
            let around = self.around(self.plan.client_cpu, &[], "client.log");
            let mut process = Process::start(client, run(&client.name()), around)?;
            process.finish(limit, || serving.must_run())?;
        }
        while !observer.has_ended().map_err(failed)? {
            if interrupt::is_requested() {
                return Err(WorkloadError::interrupted());
            }
            if begun.elapsed() > time + PATIENCE {
                let said = String::new();
                return Err(WorkloadError::late(run("the observer"), time + PATIENCE, said));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        serving.stop(server.stop);
        self.family.clear();
        observer.output().map_err(failed)
    }

    /// Starts a server and waits until it is ready.
    fn serve(&self, server: &Server, variant: &Variant) -> Result<Process, WorkloadError> {
        // A server that was killed may have left its socket, so that the next one would seem to be ready.
        if let Ready::Socket(path) = &server.ready {
            let _ = std::fs::remove_file(path);
        }
        let run = Run { program: server.step.name(), under: name_of(variant), server: None };
        let around = self.around(self.plan.server_cpu, &variant.programs, "server.log");
        let mut process = Process::start(&server.step, run, around)?;
        process.await_ready(self.plan.ready, || self.is_ready(&server.ready))?;
        Ok(process)
    }

    fn is_ready(&self, ready: &Ready) -> Result<bool, WorkloadError> {
        match ready {
            Ready::Socket(path) => Ok(UnixStream::connect(path).is_ok()),
            Ready::Port(port) => {
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
                Ok(TcpStream::connect_timeout(&address, PROBE_LIMIT).is_ok())
            }
            Ready::Probe(step) => match self.complete(step, PROBE_LIMIT, None) {
                Ok(()) => Ok(true),
                Err(error) if error.is_interrupted() => Err(error),
                Err(_) => Ok(false),
            },
        }
    }

    /// Runs a program without a filter; it must end with status 0.
    fn complete(
        &self,
        step: &Step,
        limit: Duration,
        mut server: Option<&mut Process>,
    ) -> Result<(), WorkloadError> {
        if interrupt::is_requested() {
            return Err(WorkloadError::interrupted());
        }
        let run = Run { program: step.name(), under: None, server: None };
        let around = self.around(self.plan.client_cpu, &[], "step.log");
        let mut process = Process::start(step, run, around)?;
        process.finish(limit, || server.as_mut().map_or(Ok(()), |server| server.must_run()))
    }

    fn around<'a>(
        &'a self,
        cpu: Option<usize>,
        programs: &'a [Program],
        log: &'static str,
    ) -> Around<'a> {
        Around { place: self.place, cpu, programs, log }
    }
}

/// A program that is killed when this is dropped, unless its output was read.
struct Observer(Option<Child>);

impl Observer {
    fn has_ended(&mut self) -> io::Result<bool> {
        self.0.as_mut().map_or(Ok(true), |child| Ok(child.try_wait()?.is_some()))
    }

    fn output(mut self) -> io::Result<Output> {
        let child = self.0.take().ok_or(io::ErrorKind::NotFound)?;
        child.wait_with_output()
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn name_of(variant: &Variant) -> Option<String> {
    (!variant.programs.is_empty()).then(|| variant.name.clone())
}

#[cfg(test)]
mod tests;
