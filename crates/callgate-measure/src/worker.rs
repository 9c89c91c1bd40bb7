//! One measuring process: it pins itself, installs the filters, and measures every body in short batches.
//!
//! Once the filters are installed, the process only executes the bodies, reads the clock, and writes to memory that it
//! shares with the parent: any other syscall could be denied. It then waits for the parent to kill it.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use callgate_linux::{Worker, error_text};

use crate::body::{Body, ReadyBody, WorkError};
use crate::cold::{Clutter, Cold};
use crate::pieces::Pieces;
use crate::subject::Subject;
use crate::{interrupt, raw};

/// The number and size of the batches, and the conditions under which they run.
#[derive(Clone, Debug, PartialEq)]
pub struct Batches {
    /// The number of batches of each body in a process.
    pub count: u32,
    /// The number of iterations in a batch.
    pub iterations: u32,
    /// The number of iterations before the first batch.
    pub warm_up: u32,
    /// The code and data with which caches are evicted before each iteration, if any.
    pub cold: Option<Cold>,
    /// The processor to run on, if any.
    pub cpu: Option<usize>,
    /// The time limit of a process.
    pub limit: Duration,
}

impl Default for Batches {
    /// 15 batches of 500, hot, on any processor.
    fn default() -> Batches {
        Batches {
            count: 15,
            iterations: 500,
            warm_up: 500,
            cold: None,
            cpu: None,
            limit: Duration::from_secs(60),
        }
    }
}

impl Batches {
    /// 5 short batches, with caches evicted before each iteration, which takes 0.5 to 20 ms.
    pub fn cold(cold: Cold) -> Batches {
        let iterations = ((64 << 20) / cold.data().max(1)).clamp(2, 10) as u32;
        let batches = Batches::default();
        Batches { cold: Some(cold), count: 5, iterations, warm_up: 2, ..batches }
    }
}

/// The first words of the shared memory; the times of the batches follow.
const STATE: usize = 0;
const PLACE: usize = 1;
const WHY: usize = 2;
const TIMES: usize = 3;

const DONE: u32 = 1;
const NO_CLOCK: u32 = 2;
const NO_MEMORY: u32 = 3;
const NOT_PINNED: u32 = 4;
/// A filter could not be installed: its number is in `PLACE`, the errno in `WHY`.
const REFUSED: u32 = 5;
const NO_THREAD: u32 = 6;
const TOO_SLOW: u32 = 7;
const DESCRIPTORS: u32 = 8;
/// A socket could not be opened or its filter not be attached: the errno is in `WHY`.
const NO_SOCKET: u32 = 9;

/// Measures bodies under a subject in a child process. Returns nanoseconds per iteration, batch by batch, for each body;
/// `None` if it was interrupted.
pub(crate) fn measure(
    subject: &Subject,
    bodies: &[Body],
    batches: &Batches,
) -> Result<Option<Vec<Vec<f64>>>, MeasureError> {
    let failed = |kind| MeasureError { subject: subject.name.clone(), kind };
    let each = batches.count as usize;
    // SAFETY: this crate has started no thread before, and the command has one. Of the locks that a library may hold,
    // the child needs only those of the allocator, which glibc and musl keep usable in a child.
    let worker = unsafe {
        Worker::start(TIMES + bodies.len() * each, |words| {
            let state = work(subject, bodies, batches, words);
            words[STATE].store(state, Ordering::Release);
        })
    };
    let worker = worker.map_err(|why| failed(Kind::NoProcess(why)))?;
    let words = worker.words();
    let (start, mut pause) = (Instant::now(), Duration::from_micros(200));
    loop {
        let state = words[STATE].load(Ordering::Acquire);
        let place = words[PLACE].load(Ordering::Acquire) as usize;
        let why = || io::Error::from_raw_os_error(words[WHY].load(Ordering::Acquire) as i32);
        let kind = match state {
            0 => None,
            DONE => break,
            NO_CLOCK => Some(Kind::NoClock),
            NO_MEMORY => Some(Kind::NoMemory),
            NO_THREAD => Some(Kind::NoThread),
            DESCRIPTORS => Some(Kind::Descriptors),
            TOO_SLOW => Some(Kind::TooSlow { body: place }),
            NO_SOCKET => Some(Kind::NoSocket(why())),
            NOT_PINNED => Some(Kind::NotPinned(batches.cpu.unwrap_or_default())),
            _ => Some(Kind::Refused { filter: place, why: why() }),
        };
        if let Some(kind) = kind {
            return Err(failed(kind));
        }
        if interrupt::is_requested() {
            return Ok(None);
        }
        if worker.has_ended().map_err(|why| failed(Kind::NoProcess(why)))?.is_some() {
            return Err(failed(Kind::Died { body: place }));
        }
        if start.elapsed() > batches.limit {
            return Err(failed(Kind::Late { body: place, limit: batches.limit }));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(1));
    }
    let iterations = f64::from(batches.iterations);
    let times: Vec<f64> = words[TIMES..]
        .iter()
        .map(|time| f64::from(time.load(Ordering::Acquire)) / iterations)
        .collect();
    Ok(Some(times.chunks(each.max(1)).map(<[f64]>::to_vec).collect()))
}

/// The child; returns its final state.
fn work(subject: &Subject, bodies: &[Body], batches: &Batches, words: &[AtomicU32]) -> u32 {
    raw::ignore_interrupts();
    if batches.cpu.is_some_and(|cpu| raw::pin(cpu).is_err()) {
        return NOT_PINNED;
    }
    let clutter = match batches.cold.as_ref().map(Clutter::new).transpose() {
        Ok(clutter) => clutter,
        Err(_) => return NO_MEMORY,
    };
    if bodies.iter().any(Body::needs_no_descriptors) && raw::give_up_descriptors().is_err() {
        return DESCRIPTORS;
    }
    // A filter may deny what this needs.
    let bodies: Result<Vec<ReadyBody>, WorkError> = bodies.iter().map(Body::prepare).collect();
    let bodies = match bodies {
        Ok(bodies) => bodies,
        Err(error) => return state_of(&error),
    };
    let installed = match bodies.iter().any(ReadyBody::has_threads) {
        true => callgate_linux::install_unproved_stack_in_all_threads(subject.programs()),
        false => callgate_linux::install_unproved_stack(subject.programs()),
    };
    if let Err((number, why)) = installed {
        words[PLACE].store(number as u32, Ordering::Release);
        words[WHY].store(why.raw_os_error().unwrap_or(0) as u32, Ordering::Release);
        return REFUSED;
    }
    let mut pieces = Pieces::with_capacity(batches.iterations);
    let mut times = words.iter().skip(TIMES);
    for (number, mut body) in bodies.into_iter().enumerate() {
        words[PLACE].store(number as u32, Ordering::Release);
        if let Err(error) = body.start(subject.socket()) {
            if let WorkError::Socket(why) = &error {
                words[WHY].store(why.raw_os_error().unwrap_or(0) as u32, Ordering::Release);
            }
            return state_of(&error);
        }
        if let Err(state) =
            measure_body(&body, batches, clutter.as_ref(), &mut pieces, times.by_ref())
        {
            return state;
        }
    }
    DONE
}

fn state_of(error: &WorkError) -> u32 {
    match error {
        WorkError::Clock => NO_CLOCK,
        WorkError::Thread => NO_THREAD,
        WorkError::Socket(_) => NO_SOCKET,
    }
}

/// The batches of one body; the state of an error.
fn measure_body<'w>(
    body: &ReadyBody,
    batches: &Batches,
    clutter: Option<&Clutter>,
    pieces: &mut Pieces,
    slots: impl Iterator<Item = &'w AtomicU32>,
) -> Result<(), u32> {
    let mut run = |iterations| body.run(iterations, clutter).map_err(|error| state_of(&error));
    if batches.warm_up > 0 {
        run(batches.warm_up)?;
    }
    // Iterations with cold caches differ too much for a piece to show that it was interrupted. Threads measure CPU time.
    let is_whole = clutter.is_some() || body.has_threads();
    if !is_whole {
        pieces.choose(batches.iterations, &mut run)?;
    }
    for slot in slots.take(batches.count as usize) {
        let time = match is_whole {
            true => run(batches.iterations)?,
            false => pieces.batch(batches.iterations, &mut run)?,
        };
        slot.store(u32::try_from(time).map_err(|_| TOO_SLOW)?, Ordering::Release);
    }
    Ok(())
}

/// Error of a measurement.
#[derive(Debug)]
pub struct MeasureError {
    subject: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    NoProcess(io::Error),
    NoMemory,
    NoClock,
    NotPinned(usize),
    Refused { filter: usize, why: io::Error },
    Died { body: usize },
    Late { body: usize, limit: Duration },
    NoThread,
    Descriptors,
    NoSocket(io::Error),
    TooSlow { body: usize },
}

impl MeasureError {
    /// The subject that the error is about, if any.
    pub fn subject(&self) -> Option<&str> {
        let is_elsewhere = matches!(
            self.kind,
            Kind::NoProcess(_)
                | Kind::NoMemory
                | Kind::NoThread
                | Kind::NotPinned(_)
                | Kind::Descriptors
        );
        (!is_elsewhere).then_some(&self.subject)
    }

    /// The index of the body that the error is about, if any.
    pub fn body(&self) -> Option<usize> {
        match self.kind {
            Kind::Died { body } | Kind::Late { body, .. } | Kind::TooSlow { body } => Some(body),
            _ => None,
        }
    }

    /// How to resolve it.
    pub fn help(&self) -> String {
        match &self.kind {
            Kind::Refused { filter: 1.., .. } => "an older filter of the stack may deny seccomp(2) or \
                                                  have taken the budget; measure them one by one"
                .into(),
            Kind::Refused { .. } => {
                "the filter of a sandbox around this process may deny it".into()
            }
            Kind::NoClock => "choose a clock source that needs no call, such as tsc \
                              (/sys/devices/system/clocksource), or a filter that allows clock_gettime"
                .into(),
            Kind::NotPinned(_) => "choose another processor with --cpu, or none with --cpu any".into(),
            Kind::Died { .. } => "a filter that divides by a zero X kills, and the C library aborts when futex \
                                  is denied; measure other calls, or a filter that allows it"
                .into(),
            Kind::NoThread => "raise the limit of processes (ulimit -u, pids.max of the control group) or of memory; \
                               threads start before the filter is installed, so it is not the reason"
                .into(),
            Kind::Descriptors => {
                "a sandbox around this process may deny setrlimit; omit the arguments of --calls".into()
            }
            Kind::NoSocket(_) => "a sandbox around this process may deny sockets or SO_ATTACH_FILTER".into(),
            Kind::Late { .. } | Kind::TooSlow { .. } => "try again on an idle machine".into(),
            Kind::NoMemory => "use less memory, such as --cold=1M, or raise the limit (ulimit -v)".into(),
            Kind::NoProcess(_) => {
                "a sandbox around this process may deny it, or the process limit is reached".into()
            }
        }
    }
}

impl fmt::Display for MeasureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::NoProcess(why) => write!(f, "cannot create a child process: {}", error_text(why)),
            Kind::NoMemory => f.write_str("not enough memory for the code and data of --cold"),
            Kind::NoClock => f.write_str(
                "reading the clock needs a syscall on this machine, and the filter denies it",
            ),
            Kind::NotPinned(cpu) => {
                write!(f, "the measuring process may not run on processor {cpu}")
            }
            Kind::Refused { filter, why } => {
                write!(f, "filter {} was not installed: {}", filter + 1, error_text(why))
            }
            Kind::Died { .. } => f.write_str("the measuring process died under this filter"),
            Kind::NoThread => f.write_str("cannot start the threads of this experiment"),
            Kind::Descriptors => f.write_str(
                "the measuring process cannot give up its descriptors, as chosen arguments require",
            ),
            Kind::NoSocket(why) => {
                write!(f, "cannot open a socket with a filter: {}", error_text(why))
            }
            Kind::TooSlow { .. } => f.write_str("a batch took longer than 4 seconds"),
            Kind::Late { limit, .. } => write!(
                f,
                "the measuring process took longer than {:.0} seconds and was stopped",
                limit.as_secs_f64()
            ),
        }
    }
}

impl std::error::Error for MeasureError {}
