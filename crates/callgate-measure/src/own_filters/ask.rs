//! Makes the calls in child processes, and reports what came back.
//!
//! A child makes one call after the other until it dies or gets no answer; the next child continues behind that call. So
//! a filter that kills costs a process for each call, and others one process in all. The parent shares memory with the child and
//! uses no syscall that was not answered before: it asks for `wait4` and `kill` first.
//!
//! `unsafe` code: the calls, and the handler of `SIGSYS` in the child.

use std::io;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use callgate_linux::{SharedWords, Worker};
use libc::{c_int, c_long, c_void};

use crate::raw::system_call;

/// What came back for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// This errno; 0 is success with the result 0.
    Errno(u16),
    /// Success with another result, of which these are the low 32 bits.
    Value(u32),
    /// `SIGSYS` that cannot be caught.
    Killed,
    /// `SIGSYS` with this number.
    Trapped(u16),
    /// Nothing within the limit of time.
    NoAnswer,
    /// The child ended otherwise, with this wait status.
    Ended(c_int),
    /// It was not made, because it needs the answer of another one.
    NotMade,
}

/// A call with its arguments. A set bit of `own_process` puts the number of the child in place of the argument.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawCall {
    pub(super) nr: c_long,
    pub(super) args: [u64; 6],
    pub(super) own_process: u8,
}

/// Why no calls can be made.
#[derive(Debug)]
pub(super) enum AskError {
    /// No memory, no process, or no wait for one.
    System(io::Error),
    /// The filter does not let this process wait for a child or end it.
    Alone,
    /// A child ended before it made a call, with this wait status.
    Start(c_int),
}

/// Indices of words in shared memory; then come two words for each call, the kind of its outcome and a number.
const STATE: usize = 0;
const HANDLES: usize = 1;
const OUTCOMES: usize = 2;

/// Kinds of outcomes; 0 for none.
const ERRNO: u32 = 1;
const VALUE: u32 = 2;
const TRAPPED: u32 = 3;
const NOT_MADE: u32 = 4;

/// How long a call may take, before it is made alone and given more time.
const LIMIT: Duration = Duration::from_secs(1);
const LAST_LIMIT: Duration = Duration::from_secs(2);

/// After this many calls without an answer, the others wait less.
const PATIENCE: usize = 4;
const SHORT_LIMIT: Duration = Duration::from_millis(200);

/// The size of the memory to which the kernel may write, in words.
const SCRATCH_WORDS: usize = 1024;

/// Memory of zeros at an address that children have as well.
pub(super) struct Scratch(SharedWords);

impl Scratch {
    pub(super) fn new() -> io::Result<Scratch> {
        SharedWords::new(SCRATCH_WORDS).map(Scratch)
    }

    pub(super) fn address(&self) -> u64 {
        self.0.words().as_ptr().expose_provenance() as u64
    }

    fn clear(&self) {
        self.0.words().iter().for_each(|word| word.store(0, Ordering::Relaxed));
    }
}

/// The outcomes, and whether children could catch `SIGSYS`, so that a trap is not taken for a kill.
pub(super) struct Answers {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) catches: bool,
}

/// Makes all calls. `getpid` is the index of the call whose answer is the number of the child; `first` are those of `wait4` and `kill`,
/// which the parent needs itself.
pub(super) fn ask(
    calls: &[RawCall],
    getpid: usize,
    first: &[RawCall],
    scratch: &Scratch,
) -> Result<Answers, AskError> {
    check_that_children_can_be_ended(first, scratch)?;
    let mut answers = Answers { outcomes: vec![Outcome::NotMade; calls.len()], catches: true };
    let (mut next, mut alone, mut unanswered, mut odd_ends) = (0, false, 0, 0);
    while next < calls.len() {
        let pid = matches!(answers.outcomes.get(getpid), Some(Outcome::Value(_)));
        let end = if alone { next + 1 } else { calls.len() };
        let batch =
            Batch { calls: calls.get(..end).unwrap_or(calls), from: next, getpid, knows_pid: pid };
        let worker = start(&batch, scratch)?;
        let limit = match (alone, unanswered >= PATIENCE) {
            (_, true) => SHORT_LIMIT,
            (true, false) => LAST_LIMIT,
            (false, false) => LIMIT,
        };
        let (reached, how) = wait(&worker, limit)?;
        let words = worker.words();
        answers.catches &= reached == 0 || words[HANDLES].load(Ordering::Acquire) != 0;
        for (at, outcome) in answers.outcomes.iter_mut().enumerate().take(end).skip(next) {
            *outcome = outcome_of(words, at).unwrap_or(*outcome);
        }
        // `reached` is the number of calls that were begun.
        match how {
            Stop::Done => next = end,
            Stop::Trapped => next = reached,
            // The machine is busy, or the call waits for a supervisor: once more, alone.
            Stop::Late if !alone && unanswered < PATIENCE => {
                next = reached.saturating_sub(1).max(next);
                alone = true;
                continue;
            }
            Stop::Late if reached == 0 => {
                return Err(AskError::System(io::Error::from(io::ErrorKind::TimedOut)));
            }
            Stop::Late => {
                set(&mut answers.outcomes, reached, Outcome::NoAnswer);
                unanswered += 1;
                next = reached;
            }
            Stop::Ended(status) if reached == 0 => return Err(AskError::Start(status)),
            Stop::Ended(status) => {
                let is_made = outcome_of(words, reached - 1).is_some();
                odd_ends += usize::from(is_made);
                if odd_ends > 3 {
                    return Err(AskError::Start(status));
                }
                if !is_made {
                    let is_sigsys =
                        libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSYS;
                    let outcome = if is_sigsys { Outcome::Killed } else { Outcome::Ended(status) };
                    set(&mut answers.outcomes, reached, outcome);
                }
                next = reached;
            }
        }
        alone = false;
    }
    Ok(answers)
}

/// Sets the outcome of the call that was begun last.
fn set(outcomes: &mut [Outcome], reached: usize, outcome: Outcome) {
    if let Some(slot) = reached.checked_sub(1).and_then(|at| outcomes.get_mut(at)) {
        *slot = outcome;
    }
}

/// Calls that a child makes.
struct Batch<'c> {
    calls: &'c [RawCall],
    from: usize,
    getpid: usize,
    /// Whether `getpid` is known to return the number of the process.
    knows_pid: bool,
}

fn start(batch: &Batch<'_>, scratch: &Scratch) -> Result<Worker, AskError> {
    let words = OUTCOMES + 2 * batch.calls.len();
    // SAFETY: the child makes syscalls and stores words; it takes no lock and allocates nothing.
    unsafe { Worker::start(words, |words| make(batch, scratch, words)) }.map_err(AskError::System)
}

/// How a child stopped.
enum Stop {
    Done,
    Trapped,
    Late,
    Ended(c_int),
}

/// Waits until a child has made all calls or stopped. Returns also the number of calls that were begun.
fn wait(worker: &Worker, limit: Duration) -> Result<(usize, Stop), AskError> {
    let words = worker.words();
    let calls = (words.len() - OUTCOMES) / 2;
    let reached = || words[STATE].load(Ordering::Acquire) as usize;
    let (mut last, mut since) = (0, Instant::now());
    loop {
        let now = reached();
        if now > calls {
            return Ok((calls, Stop::Done));
        }
        if let Some(at) = now.checked_sub(1)
            && words[OUTCOMES + 2 * at].load(Ordering::Acquire) == TRAPPED
        {
            return Ok((now, Stop::Trapped));
        }
        if let Some(status) = worker.has_ended().map_err(AskError::System)? {
            let now = reached();
            let stop = if now > calls { Stop::Done } else { Stop::Ended(status) };
            return Ok((now.min(calls), stop));
        }
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > limit {
            return Ok((now, Stop::Late));
        }
        pause();
    }
}

/// Waits for a millisecond. A filter may deny `clock_nanosleep`; the runtime of Rust needs `poll`.
fn pause() {
    // SAFETY: no descriptors are given.
    unsafe { libc::poll(std::ptr::null_mut(), 0, 1) };
}

/// Whether a filter lets this process wait for children and end them, before it does so.
fn check_that_children_can_be_ended(first: &[RawCall], scratch: &Scratch) -> Result<(), AskError> {
    let batch = Batch { calls: first, from: 0, getpid: usize::MAX, knows_pid: false };
    let worker = start(&batch, scratch)?;
    let words = worker.words();
    let start = Instant::now();
    while (words[STATE].load(Ordering::Acquire) as usize) <= first.len() && start.elapsed() < LIMIT
    {
        pause();
    }
    // The errors of the kernel: no such child, and no such process.
    let errors = [libc::ECHILD, libc::ESRCH].map(|errno| Some(Outcome::Errno(errno as u16)));
    if first.len() == errors.len() && (0..).zip(errors).all(|(at, e)| outcome_of(words, at) == e) {
        return Ok(());
    }
    // It ends with this process.
    std::mem::forget(worker);
    Err(AskError::Alone)
}

fn outcome_of(words: &[AtomicU32], at: usize) -> Option<Outcome> {
    let word = |index: usize| words.get(index).map(|word| word.load(Ordering::Acquire));
    let number = word(OUTCOMES + 2 * at + 1)?;
    match word(OUTCOMES + 2 * at)? {
        ERRNO => Some(Outcome::Errno(number as u16)),
        VALUE => Some(Outcome::Value(number)),
        TRAPPED => Some(Outcome::Trapped(number as u16)),
        NOT_MADE => Some(Outcome::NotMade),
        _ => None,
    }
}

/// The words of the child that has the handler.
static WORDS: AtomicPtr<AtomicU32> = AtomicPtr::new(std::ptr::null_mut());

/// Records that a call was trapped, and waits to be killed: to return from a handler is a syscall as well.
extern "C" fn on_sigsys(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    /// `si_code` of a filter.
    const SYS_SECCOMP: c_int = 1;
    // SAFETY: the kernel passes a valid structure (SA_SIGINFO).
    let (code, data) = unsafe { ((*info).si_code, (*info).si_errno) };
    let words = WORDS.load(Ordering::Acquire);
    if code == SYS_SECCOMP && !words.is_null() {
        // SAFETY: the pointer is to the first of the words of this process, which has a state and two words for the call.
        unsafe {
            let at = (*words.add(STATE)).load(Ordering::Acquire) as usize;
            if let Some(at) = at.checked_sub(1) {
                (*words.add(OUTCOMES + 2 * at + 1)).store(data as u32, Ordering::Release);
                (*words.add(OUTCOMES + 2 * at)).store(TRAPPED, Ordering::Release);
            }
        }
    }
    loop {
        std::hint::spin_loop();
    }
}

/// Installs the handler; whether that was possible.
fn catch_sigsys(words: &[AtomicU32]) -> bool {
    WORDS.store(words.as_ptr().cast_mut(), Ordering::Release);
    // SAFETY: all zeros is a valid action and a valid set; both are valid for the calls, and the handler has this form.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction =
            on_sigsys as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
        action.sa_flags = libc::SA_SIGINFO;
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigaddset(&raw mut set, libc::SIGSYS);
        libc::sigaction(libc::SIGSYS, &raw const action, std::ptr::null_mut()) == 0
            && libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) == 0
    }
}

/// The code of a child.
fn make(batch: &Batch<'_>, scratch: &Scratch, words: &[AtomicU32]) {
    // Without a core file, and without the program that collects them.
    // SAFETY: numbers only.
    unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) };
    words[HANDLES].store(u32::from(catch_sigsys(words)), Ordering::Release);
    let mut pid = 0;
    let getpid = batch.calls.get(batch.getpid).filter(|_| batch.knows_pid);
    if let Some(call) = getpid {
        // SAFETY: `getpid` takes nothing and changes nothing.
        pid = unsafe { system_call(call.nr, call.args) }.max(0) as u64;
    }
    for (at, call) in batch.calls.iter().enumerate().skip(batch.from) {
        words[STATE].store(at as u32 + 1, Ordering::Release);
        let (kind, number) = match with_pid(call, pid) {
            None => (NOT_MADE, 0),
            Some(args) => {
                scratch.clear();
                // SAFETY: the calls of the table change nothing that this process relies on, and write to the scratch memory alone.
                let result = unsafe { system_call(call.nr, args) };
                if at == batch.getpid {
                    pid = result.max(0) as u64;
                }
                match result {
                    -4095..=0 => (ERRNO, -result as u32),
                    other => (VALUE, other as u32),
                }
            }
        };
        words[OUTCOMES + 2 * at + 1].store(number, Ordering::Release);
        words[OUTCOMES + 2 * at].store(kind, Ordering::Release);
    }
    words[STATE].store(batch.calls.len() as u32 + 1, Ordering::Release);
}

/// The arguments with the number of this process; `None` if it is needed and not known.
fn with_pid(call: &RawCall, pid: u64) -> Option<[u64; 6]> {
    let mut args = call.args;
    for (slot, arg) in args.iter_mut().enumerate() {
        if call.own_process >> slot & 1 != 0 {
            *arg = Some(pid).filter(|pid| *pid != 0)?;
        }
    }
    Some(args)
}
