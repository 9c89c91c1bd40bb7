//! What filters take of the CPU time of a process, from what was recorded and what was measured.

use std::fmt;
use std::time::Duration;

use super::call::ProcessCall;
use super::paths::{Path, Paths};
use super::subjects::{EMPTY, FILTERS};
use crate::body::Body;
use crate::measure::{Mean, Samples};
use crate::stats::{self, Interval};

/// The relative error of the cost of the recorder. It was measured with one syscall, and the arguments of others may take longer
/// to count.
const RECORDER_ERROR: f64 = 0.1;

/// What a process did in a part of the recorded time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Window {
    /// How long it took.
    pub elapsed: Duration,
    /// The CPU time of the process in it, with what the recorder added.
    pub cpu_time: Duration,
    /// How often each syscall was made, in the order of the [calls](ProcessCall).
    pub counts: Vec<u64>,
}

/// The CPU time that filters take in a process.
#[derive(Clone, Debug)]
pub struct Share {
    /// The share of the CPU time of the process, without that of the recorder: 0.04 for 4 %.
    pub of_cpu_time: Interval,
    /// The same if all of its filters were replaced by one that allows everything.
    pub of_cpu_time_if_empty: Interval,
    /// The share of the time of one processor.
    pub of_processor: Interval,
    /// Nanoseconds for each syscall, the mean of those that have a cost.
    pub per_call: Interval,
    /// The difference of that between two measurements without a filter.
    pub noise: Interval,
    /// Each syscall, in their order.
    pub calls: Vec<CallShare>,
    /// How often syscalls were made, in all windows.
    pub count: u64,
    /// How many of them have no cost.
    pub unmeasured: u64,
    /// The time of all windows.
    pub elapsed: Duration,
    /// The number of windows.
    pub windows: usize,
    /// The CPU time of the process, without that of the recorder.
    pub cpu_time: Duration,
    /// The CPU time that the recorder added.
    pub recorder: Duration,
}

/// What filters take for one syscall.
#[derive(Clone, Debug)]
pub struct CallShare {
    /// Its name.
    pub name: String,
    /// How often it was made.
    pub count: u64,
    /// What the filters do with it.
    pub path: Path,
    /// What was measured in its place, for the shortest and the longest path; none without a cost.
    pub measured: Vec<String>,
    /// The nanoseconds that the filters take for each.
    pub cost: Option<Interval>,
    /// The share of the CPU time of the process.
    pub of_cpu_time: Option<f64>,
}

/// Why there is no share.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareError(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    NoCalls(Duration),
    NoCpuTime { used: Duration, recorder: Duration },
    NothingMeasured,
}

impl ShareError {
    /// Whether more time may help.
    pub fn is_about_time(&self) -> bool {
        !matches!(self.0, Kind::NothingMeasured)
    }

    /// What to do.
    pub fn help(&self) -> &'static str {
        match self.0 {
            Kind::NoCalls(_) | Kind::NoCpuTime { .. } => {
                "record while it has work, or for a longer time"
            }
            Kind::NothingMeasured => "callgate explain shows what its filters do with each syscall",
        }
    }
}

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::NoCalls(time) => {
                write!(f, "it made no syscalls in {:.1} s", time.as_secs_f64())
            }
            Kind::NoCpuTime { used, recorder } => write!(
                f,
                "it used {:.3} ms of CPU time while it was recorded, of which the recorder took {:.3} ms",
                used.as_secs_f64() * 1e3,
                recorder.as_secs_f64() * 1e3
            ),
            Kind::NothingMeasured => f.write_str(
                "none of the syscalls that can be measured takes a path through its filters that its own ones take",
            ),
        }
    }
}

impl std::error::Error for ShareError {}

impl Share {
    /// The bodies to measure: each [measured](Paths::measured) syscall as the bare instruction, and in a function that returns. In a
    /// program, the filters cost between both: a filter makes the return after a syscall slower, and what the program does
    /// between syscalls hides a part of that.
    pub fn bodies(paths: &Paths) -> Vec<Body> {
        paths.measured().flat_map(|call| [Body::from(call), Body::called(call)]).collect()
    }

    /// Checks that there is something to measure, and returns the mean whose precision matters: the mean over the stand-ins,
    /// weighted by the recorded syscalls that they represent.
    ///
    /// # Errors
    /// If the process made no syscalls, or if none can be measured.
    pub fn mean(
        calls: &[ProcessCall],
        paths: &Paths,
        windows: &[Window],
    ) -> Result<Mean, ShareError> {
        if calls.iter().all(|call| call.count == 0) {
            return Err(ShareError(Kind::NoCalls(windows.iter().map(|one| one.elapsed).sum())));
        }
        let weights = weights(calls, paths);
        let title = "weighted mean".to_owned();
        match weights.iter().any(|weight| *weight > 0.0) {
            true => Ok(Mean { title, weights }),
            false => Err(ShareError(Kind::NothingMeasured)),
        }
    }

    /// Computes it from the samples of the [subjects](super::subjects) and the [bodies](Share::bodies). `recorder` is how much CPU time the recorder added to each syscall.
    ///
    /// # Errors
    /// If the process used no CPU time of its own.
    pub fn of(
        calls: &[ProcessCall],
        paths: &Paths,
        windows: &[Window],
        recorder: Duration,
        samples: &Samples,
    ) -> Result<Share, ShareError> {
        let count: u64 = calls.iter().map(|call| call.count).sum();
        let own_time = |window: &Window| {
            let count = window.counts.iter().sum::<u64>() as f64;
            nanoseconds(window.cpu_time) - nanoseconds(recorder) * count
        };
        let (used, added): (Duration, f64) = (
            windows.iter().map(|window| window.cpu_time).sum(),
            nanoseconds(recorder) * count as f64,
        );
        let cpu_time = nanoseconds(used) - added;
        let recorder = Duration::from_nanos(added.max(0.0) as u64);
        if cpu_time <= 0.0 {
            return Err(ShareError(Kind::NoCpuTime { used, recorder }));
        }
        let weights = weights(calls, paths);
        let measured: f64 = weights.iter().sum();
        let nothing = || ShareError(Kind::NothingMeasured);
        let elapsed: Duration = windows.iter().map(|window| window.elapsed).sum();
        // The costs of each syscall under a subject, and how far they are from the lowest and the highest.
        let costs = |subject| -> Vec<Option<(f64, f64)>> {
            let cost = |path: &Path| between(samples, subject, path.measured?);
            paths.of_calls().iter().map(cost).collect()
        };
        let mean = |subject: usize| Some(samples.weighted(subject, &weights)?.overhead);
        let share = |subject: usize, over: &dyn Fn(&Window) -> f64| -> Option<Interval> {
            let (mean, costs) = (mean(subject)?, costs(subject));
            let sum = |counts: &[u64], of: fn((f64, f64)) -> f64| -> f64 {
                let pairs = counts.iter().zip(&costs);
                pairs.map(|(count, cost)| *count as f64 * cost.map_or(0.0, of)).sum()
            };
            let pairs = windows.iter().map(|one| (sum(&one.counts, |cost| cost.0), over(one)));
            let rate = stats::ratio(&pairs.collect::<Vec<_>>())?;
            let all: f64 = windows.iter().map(over).sum();
            let apart: f64 = windows.iter().map(|one| sum(&one.counts, |cost| cost.1)).sum();
            Some(mean.scaled(measured / all).with_error_of(rate).widened(apart / all))
        };
        let of_cpu_time = |subject| {
            let share = share(subject, &own_time)?;
            Some(share.widened(share.median.abs() * RECORDER_ERROR * added / cpu_time))
        };
        let apart = calls
            .iter()
            .zip(costs(FILTERS))
            .map(|(call, cost)| call.count as f64 * cost.map_or(0.0, |(_, apart)| apart));
        let apart = apart.sum::<f64>() / measured.max(1.0);
        let wall = |window: &Window| nanoseconds(window.elapsed);
        let of_call = |(call, path): (&ProcessCall, &Path)| CallShare {
            name: call.name.clone(),
            count: call.count,
            path: path.clone(),
            measured: names(path, paths),
            cost: path.measured.and_then(|pair| cost(samples, pair, weights.len())),
            of_cpu_time: path.measured.and_then(|pair| {
                let cost = cost(samples, pair, weights.len())?.median;
                Some(call.count as f64 * cost / cpu_time)
            }),
        };
        let calls: Vec<CallShare> = calls.iter().zip(paths.of_calls()).map(of_call).collect();
        let unmeasured = calls.iter().filter(|call| call.cost.is_none());
        Ok(Share {
            of_cpu_time: of_cpu_time(FILTERS).ok_or_else(nothing)?,
            of_cpu_time_if_empty: of_cpu_time(EMPTY).ok_or_else(nothing)?,
            of_processor: share(FILTERS, &wall).ok_or_else(nothing)?,
            per_call: mean(FILTERS).ok_or_else(nothing)?.widened(apart),
            noise: samples.weighted_noise(&weights).ok_or_else(nothing)?,
            count,
            unmeasured: unmeasured.map(|call| call.count).sum(),
            calls,
            elapsed,
            windows: windows.len(),
            cpu_time: Duration::from_nanos(cpu_time as u64),
            recorder,
        })
    }

    /// What is said beside the shares: `not resolved`, `rough`, or nothing, as beside the mean cost of a syscall.
    pub fn remark(&self) -> &'static str {
        self.per_call.remark(self.noise)
    }
}

fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

/// The bodies of a measured syscall: the bare instruction, and the instruction in a function.
fn bodies_of(measured: usize) -> [usize; 2] {
    [2 * measured, 2 * measured + 1]
}

/// The bodies of a path, each of which counts a quarter.
fn bodies_of_path((least, most): (usize, usize)) -> impl Iterator<Item = usize> {
    bodies_of(least).into_iter().chain(bodies_of(most))
}

/// How many syscalls each body stands for.
fn weights(calls: &[ProcessCall], paths: &Paths) -> Vec<f64> {
    let mut weights = vec![0.0; Share::bodies(paths).len()];
    for (call, path) in calls.iter().zip(paths.of_calls()) {
        for body in path.measured.into_iter().flat_map(bodies_of_path) {
            let weight = weights.iter_mut().skip(body).take(1);
            weight.for_each(|weight| *weight += call.count as f64 / 4.0);
        }
    }
    weights
}

/// The mean of the costs of the bodies of a path, and half of the difference between the lowest and the highest.
fn between(samples: &Samples, subject: usize, path: (usize, usize)) -> Option<(f64, f64)> {
    let median = |body| Some(samples.estimate(subject, body)?.overhead.median);
    let costs = bodies_of_path(path).map(median).collect::<Option<Vec<f64>>>()?;
    let low = costs.iter().copied().min_by(f64::total_cmp)?;
    let high = costs.iter().copied().max_by(f64::total_cmp)?;
    Some((costs.iter().sum::<f64>() / costs.len() as f64, (high - low) / 2.0))
}

/// The nanoseconds that the filters take for a syscall on a path, of this number of bodies.
fn cost(samples: &Samples, path: (usize, usize), bodies: usize) -> Option<Interval> {
    let count = |body| bodies_of_path(path).filter(|own| *own == body).count();
    let weights: Vec<f64> = (0..bodies).map(|body| count(body) as f64 / 4.0).collect();
    let (_, apart) = between(samples, FILTERS, path)?;
    Some(samples.weighted(FILTERS, &weights)?.overhead.widened(apart))
}

/// The measured syscalls of a path.
fn names(path: &Path, paths: &Paths) -> Vec<String> {
    let Some((least, most)) = path.measured else { return Vec::new() };
    let name = |at| paths.measured().nth(at).map(|call| call.show());
    let names = [least, most].map(name);
    let count = if least == most { 1 } else { 2 };
    names.into_iter().flatten().take(count).collect()
}

#[cfg(test)]
mod tests {
    use callgate::Verdict;
    use callgate_core::{Insn, Op, Program};

    use super::super::call::ArgumentValues;
    use super::*;
    use crate::stats::{STATE, STATE_OF_TIME};
    use crate::subject::Subject;
    use crate::syscalls::MeasurableSyscall;

    /// A filter that allows `getpid` by number, and looks at an argument of all others.
    fn filters() -> Subject {
        let getpid = MeasurableSyscall::find("getpid").unwrap().data().nr;
        let insns = vec![
            Insn::new(Op::LdWordAbs, 0),
            Insn::branch(Op::JeqK, getpid, 1, 0),
            Insn::new(Op::LdWordAbs, 16),
            Insn::new(Op::RetK, Verdict::ALLOW.0),
        ];
        Subject::new("x", Program::new(insns)).unwrap()
    }

    fn call(name: &str, count: u64) -> ProcessCall {
        let own = MeasurableSyscall::find(name).unwrap();
        let data = own.data();
        let args = [ArgumentValues::All(vec![0])];
        ProcessCall::new(name, count, (data.arch, data.nr), &args, Some(own), &filters())
    }

    /// Rounds in which getpid costs 30 ns and close 100 under the filters, and 20 under an empty one; with noise, in
    /// opposite directions in every other round.
    fn samples(noise: f64, rounds: usize) -> Samples {
        let times = |[getpid, close]: [f64; 2]| {
            let rounds = |cost: f64| {
                (0..rounds)
                    .map(|round| vec![cost + if round % 2 == 0 { noise } else { -noise }])
                    .collect()
            };
            // Each as an instruction and in a function.
            vec![rounds(getpid), rounds(getpid), rounds(close), rounds(close)]
        };
        let none: Vec<_> =
            [50.0, 50.0, 60.0, 60.0].map(|time| vec![vec![time]; rounds]).into_iter().collect();
        Samples::of_times(vec![none.clone(), times([70.0, 80.0]), times([80.0, 160.0]), none])
    }

    /// Windows of a second, each with this CPU time in seconds and these thousands of syscalls.
    fn window(cpu_time: f64, getpid: u64, close: u64) -> Window {
        let counts = vec![getpid * 1000, close * 1000];
        let cpu_time = Duration::from_secs_f64(cpu_time);
        Window { elapsed: Duration::from_secs(1), cpu_time, counts }
    }

    fn share(windows: &[Window], recorder: u64, samples: &Samples) -> Result<Share, ShareError> {
        let count = |at: usize| windows.iter().map(|window| window.counts[at]).sum();
        let calls = [call("getpid", count(0)), call("close", count(1))];
        let paths = Paths::of(&calls, &filters());
        let mean = Share::mean(&calls, &paths, windows)?;
        assert_eq!(mean.weights, [0, 0, 1, 1].map(|at| count(at) as f64 / 2.0));
        Share::of(&calls, &paths, windows, Duration::from_nanos(recorder), samples)
    }

    /// What another state of the machine changes in a cost, of this and that without filters.
    fn of_state(cost: f64, base: f64) -> f64 {
        (STATE * cost).hypot(STATE_OF_TIME * base)
    }

    fn near(own: f64, expected: f64) {
        assert!((own - expected).abs() < 1e-9, "{own} instead of {expected}");
    }

    #[test]
    fn the_share_is_calls_times_costs_over_cpu_time() {
        // 100,000 times 30 ns and 50,000 times 100 ns are 8 ms of half a second.
        let own = share(&vec![window(0.5, 100, 50); 4], 0, &samples(0.0, 10)).unwrap();
        near(own.of_cpu_time.median, 0.016);
        near(own.of_processor.median, 0.008);
        near(own.of_cpu_time_if_empty.median, 0.006);
        near(own.per_call.median, 8e6 / 150e3);
        near(own.calls[0].of_cpu_time.unwrap(), 0.006);
        near(own.calls[1].of_cpu_time.unwrap(), 0.010);
        // Per syscall, the filters take as long as the syscall without them.
        let state = of_state(1.0, 1.0);
        near(own.of_cpu_time.width(), 2.0 * 0.016 * state);
        assert_eq!((own.count, own.unmeasured, own.windows), (600_000, 0, 4));
        assert_eq!(own.calls[1].measured, ["close(-1)"]);
        assert_eq!(own.remark(), "");
        // 150,000 times 1 µs are 0.15 s less.
        let own = share(&vec![window(0.65, 100, 50); 4], 1000, &samples(0.0, 10)).unwrap();
        near(own.of_cpu_time.median, 0.016);
        assert_eq!((own.cpu_time.as_millis(), own.recorder.as_millis()), (2000, 600));
        // A tenth of 0.6 s more or less are 3 % of 2 s.
        near(own.of_cpu_time.width(), 2.0 * 0.016 * (state + 0.03));
        near(own.of_processor.width(), 2.0 * 0.008 * state);
    }

    #[test]
    fn the_interval_has_the_errors_of_costs_and_of_rates() {
        let steady = vec![window(0.5, 100, 50); 10];
        let varying: Vec<Window> =
            (0..10).map(|at| window(0.5, 90 + 20 * (at % 2), 45 + 10 * (at % 2))).collect();
        let width = |windows: &[Window], noise| {
            let own = share(windows, 0, &samples(noise, 20)).unwrap().of_cpu_time;
            near(own.median, 0.016);
            own.width()
        };
        let (costs, rates) = (width(&steady, 5.0), width(&varying, 0.0));
        assert!(costs > 1e-4 && rates > 1e-4, "{costs} {rates}");
        // Each has the error of the machine's state.
        let state = width(&steady, 0.0);
        near(width(&varying, 5.0).powi(2), costs.powi(2) + rates.powi(2) - state.powi(2));
        let one = share(&steady[..1], 0, &samples(0.0, 20)).unwrap();
        assert!(!one.of_cpu_time.is_known(), "one window");
        let one = share(&steady, 0, &samples(0.0, 1)).unwrap();
        assert!(!one.of_cpu_time.is_known(), "one round");
        assert_eq!(one.remark(), "not resolved");
    }

    #[test]
    fn two_paths_widen_the_interval() {
        let windows = vec![window(0.5, 0, 100); 4];
        let mut calls = [call("getpid", 0), call("close", 400_000)];
        // With one value of its argument, close would be answered like getpid.
        let number = calls[0].seen[0];
        calls[1].seen.push(number);
        let paths = Paths::of(&calls, &filters());
        assert_eq!(paths.of_calls()[1].executed, (3, 4));
        let own = Share::of(&calls, &paths, &windows, Duration::ZERO, &samples(0.0, 10));
        // Not from the cache, so the only path that is measured is its own.
        let cost = own.unwrap().calls[1].cost.unwrap();
        near(cost.median, 100.0);
        let widened = super::cost(&samples(0.0, 10), (0, 1), 4).unwrap();
        near(widened.median, 65.0);
        let state = of_state(65.0, 55.0);
        near(widened.low, 30.0 - state);
        near(widened.high, 100.0 + state);
    }

    #[test]
    fn the_cost_is_between_that_of_an_instruction_and_that_of_a_function() {
        let rounds = |time: f64| vec![vec![time]; 10];
        let none = vec![rounds(50.0), rounds(80.0)];
        let own = vec![rounds(80.0), rounds(130.0)];
        let samples = Samples::of_times(vec![none.clone(), none.clone(), own, none]);
        let calls = [call("getpid", 300_000)];
        let paths = Paths::of(&calls, &filters());
        let windows = vec![Window { counts: vec![100_000], ..window(0.5, 0, 0) }; 3];
        let own = Share::of(&calls, &paths, &windows, Duration::ZERO, &samples).unwrap();
        for (own, scale) in
            [(own.per_call, 1.0), (own.of_cpu_time, 5_000.0), (own.of_processor, 10_000.0)]
        {
            let state = of_state(40.0, 65.0);
            near(own.median * scale, 40.0);
            near(own.low * scale, 30.0 - state);
            near(own.high * scale, 50.0 + state);
        }
        assert_eq!(own.remark(), "rough", "it is not known to 10 %");
    }

    #[test]
    fn without_work_there_is_no_share() {
        let nothing = share(&[window(0.0, 0, 0)], 0, &samples(0.0, 10)).unwrap_err();
        assert_eq!(nothing.to_string(), "it made no syscalls in 1.0 s");
        let few = share(&[window(0.001, 1, 0)], 1000, &samples(0.0, 10)).unwrap_err();
        assert!(few.to_string().contains("of which the recorder took 1.000 ms"), "{few}");
        assert!(!few.help().is_empty());
    }
}
