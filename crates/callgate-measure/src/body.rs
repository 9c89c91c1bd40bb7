//! The loop bodies that a measuring process executes.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::sync::Arc;

use callgate_core::SocketProgram;

use callgate::SeccompData;

use crate::cold::Clutter;
use crate::mix::Mix;
use crate::raw::{self, RawSyscall, called_system_call, system_call};
use crate::sigreturn::SignalFrame;
use crate::subject;
use crate::syscalls::MeasurableSyscall;

/// Why a body was not measured.
#[derive(Debug)]
pub enum WorkError {
    /// The clock cannot be read.
    Clock,
    /// A thread cannot be started.
    Thread,
    /// A socket cannot be opened, or has no filter.
    Socket(io::Error),
}

/// Work other than one syscall, which a measuring process repeats.
pub trait Work: fmt::Debug + Send + Sync {
    /// Starts its threads and allocates its memory, in the measuring process, before filters are installed.
    ///
    /// # Errors
    /// If a thread cannot be started.
    fn prepare(&self) -> Result<Box<dyn ReadyWork>, WorkError>;
}

/// Work with the threads and the memory that it needs.
pub trait ReadyWork {
    /// Whether other threads than the first one make its syscalls.
    fn has_threads(&self) -> bool {
        false
    }

    /// Opens its socket, with the socket filter of the subject: once, under the filters, before it is run, and after other
    /// bodies.
    ///
    /// # Errors
    /// If the socket cannot be opened.
    fn start(&mut self, filter: Option<&SocketProgram>) -> Result<(), WorkError> {
        let _ = filter;
        Ok(())
    }

    /// One iteration.
    fn once(&self);

    /// Runs this number of iterations and returns the nanoseconds that they took.
    ///
    /// # Errors
    /// If the clock cannot be read.
    fn run(&self, count: u32) -> Result<u64, WorkError> {
        let start = now()?;
        for _ in 0..count {
            self.once();
        }
        Ok(now()? - start)
    }
}

fn now() -> Result<u64, WorkError> {
    raw::now().ok_or(WorkError::Clock)
}

/// The body of the measured loop.
#[derive(Clone, Debug)]
pub enum Body {
    /// One syscall: nothing but the instruction.
    Syscall(RawSyscall),
    /// One syscall in a function that returns afterwards.
    Called(RawSyscall),
    /// `rt_sigreturn` with a frame of this process.
    SignalReturn,
    /// The next syscall of a random sequence.
    Mix(Arc<Mix>),
    /// Other work.
    Work(Arc<dyn Work>),
}

impl From<MeasurableSyscall> for Body {
    fn from(syscall: MeasurableSyscall) -> Body {
        match syscall.is_signal_return() {
            true => Body::SignalReturn,
            false => Body::Syscall(syscall.raw()),
        }
    }
}

/// A body with the threads and the memory that it needs, which exist before filters are installed.
pub(crate) enum ReadyBody {
    Syscall(RawSyscall),
    Called(RawSyscall),
    SignalReturn(SignalFrame),
    Mix(ReadyMix),
    Work(Box<dyn ReadyWork>),
}

impl Body {
    /// A syscall in a function that returns afterwards, as programs make it through their C library.
    pub fn called(syscall: MeasurableSyscall) -> Body {
        match Body::from(syscall) {
            Body::Syscall(raw) => Body::Called(raw),
            other => other,
        }
    }

    /// Whether the process must have no descriptors.
    pub(crate) fn needs_no_descriptors(&self) -> bool {
        match self {
            Body::Syscall(syscall) | Body::Called(syscall) => syscall.is_chosen,
            Body::Mix(mix) => mix.needs_no_descriptors(),
            Body::SignalReturn | Body::Work(_) => false,
        }
    }

    /// The syscall as a filter sees it, if the body is one.
    pub(crate) fn data(&self) -> Option<SeccompData> {
        let (nr, args) = match self {
            Body::Syscall(RawSyscall { nr, args, .. })
            | Body::Called(RawSyscall { nr, args, .. }) => (u32::try_from(*nr).ok()?, *args),
            Body::SignalReturn => (u32::try_from(libc::SYS_rt_sigreturn).ok()?, [0; 6]),
            _ => return None,
        };
        subject::syscall_data(nr, args)
    }

    /// Starts its threads and allocates its memory.
    pub(crate) fn prepare(&self) -> Result<ReadyBody, WorkError> {
        Ok(match self {
            Body::Syscall(syscall) => ReadyBody::Syscall(*syscall),
            Body::Called(syscall) => ReadyBody::Called(*syscall),
            Body::SignalReturn => ReadyBody::SignalReturn(SignalFrame::new()),
            Body::Mix(mix) => ReadyBody::Mix(ReadyMix::prepare(mix)?),
            Body::Work(work) => ReadyBody::Work(work.prepare()?),
        })
    }
}

impl ReadyBody {
    /// Whether other threads than the first one make its syscalls.
    pub(crate) fn has_threads(&self) -> bool {
        matches!(self, ReadyBody::Work(work) if work.has_threads())
    }

    /// Opens its socket, with the filter of the subject.
    pub(crate) fn start(&mut self, filter: Option<&SocketProgram>) -> Result<(), WorkError> {
        match self {
            ReadyBody::Work(work) => work.start(filter),
            _ => Ok(()),
        }
    }

    /// Runs this number of iterations and returns the nanoseconds that they took. With clutter, caches are evicted
    /// before each iteration, which is not counted.
    pub(crate) fn run(&self, count: u32, clutter: Option<&Clutter>) -> Result<u64, WorkError> {
        match (clutter, self) {
            (Some(clutter), _) => self.run_after(count, || {
                clutter.touch();
            }),
            // The loop contains nothing but the syscall.
            (None, ReadyBody::Syscall(RawSyscall { nr, args, .. })) => {
                let start = now()?;
                for _ in 0..count {
                    // SAFETY: syscalls come from `syscalls.rs` and from callers of `RawSyscall::new`, where they write to no
                    // memory and change nothing outside of this process, which has no descriptors if arguments are chosen.
                    unsafe { system_call(*nr, *args) };
                }
                Ok(now()? - start)
            }
            (None, ReadyBody::Called(RawSyscall { nr, args, .. })) => {
                let start = now()?;
                for _ in 0..count {
                    // SAFETY: as above.
                    unsafe { called_system_call(*nr, *args) };
                }
                Ok(now()? - start)
            }
            (None, ReadyBody::SignalReturn(frame)) => {
                let start = now()?;
                for _ in 0..count {
                    frame.signal_return();
                }
                Ok(now()? - start)
            }
            (None, ReadyBody::Mix(mix)) => {
                let start = now()?;
                for _ in 0..count {
                    mix.once();
                }
                Ok(now()? - start)
            }
            (None, ReadyBody::Work(work)) => work.run(count),
        }
    }

    /// Runs iterations, and something else before each, which is not counted.
    fn run_after(&self, count: u32, mut before: impl FnMut()) -> Result<u64, WorkError> {
        let mut sum = 0;
        for _ in 0..count {
            before();
            let start = now()?;
            self.once();
            sum += now()? - start;
        }
        Ok(sum)
    }

    /// One iteration.
    #[inline]
    pub(crate) fn once(&self) {
        match self {
            ReadyBody::Syscall(RawSyscall { nr, args, .. }) => {
                // SAFETY: as in `run`.
                unsafe { system_call(*nr, *args) };
            }
            ReadyBody::Called(RawSyscall { nr, args, .. }) => {
                // SAFETY: as in `run`.
                unsafe { called_system_call(*nr, *args) };
            }
            ReadyBody::SignalReturn(frame) => frame.signal_return(),
            ReadyBody::Mix(mix) => mix.once(),
            ReadyBody::Work(work) => work.once(),
        }
    }
}

/// A mix in a measuring process.
pub(crate) struct ReadyMix {
    calls: Vec<ReadyBody>,
    mix: Arc<Mix>,
    /// The place of the next syscall in the sequence.
    next: Cell<usize>,
}

impl ReadyMix {
    pub(crate) fn prepare(mix: &Arc<Mix>) -> Result<ReadyMix, WorkError> {
        let calls = mix.calls.iter().map(|call| Body::from(*call).prepare());
        Ok(ReadyMix {
            calls: calls.collect::<Result<_, _>>()?,
            mix: mix.clone(),
            next: Cell::new(0),
        })
    }

    /// Makes the next syscall.
    #[inline]
    pub(crate) fn once(&self) {
        let order = &self.mix.order;
        let next = self.next.get();
        if let Some(call) = order.get(next).and_then(|call| self.calls.get(*call)) {
            call.once();
        }
        self.next.set(if next + 1 < order.len() { next + 1 } else { 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_called_syscall_is_the_same_syscall() {
        let getpid = MeasurableSyscall::find("getpid").unwrap();
        assert_eq!(Body::called(getpid).data(), Body::from(getpid).data());
        let close = MeasurableSyscall::find("close").unwrap();
        let chosen = close.with_args([3, 0, 0, 0, 0, 0]).unwrap();
        assert!(Body::called(chosen).needs_no_descriptors(), "it must close nothing");
        assert!(!Body::called(close).needs_no_descriptors());
        Body::called(getpid).prepare().unwrap().run(3, None).unwrap();
    }

    #[test]
    fn other_code_and_data_are_touched_before_each_iteration() {
        let mut touched = 0;
        let body = Body::from(MeasurableSyscall::find("getpid").unwrap()).prepare().unwrap();
        body.run_after(7, || touched += 1).unwrap();
        assert_eq!(touched, 7);
    }

    /// Wherever a batch of the length of the sequence starts, it makes each syscall of it once.
    #[test]
    fn the_first_syscall_follows_the_last() {
        let call = MeasurableSyscall::find("getpid").unwrap();
        let mix = Arc::new(Mix::draw(&[(call, 1.0)], 5, 1).unwrap());
        let ready = ReadyMix::prepare(&mix).unwrap();
        let places: Vec<usize> = (0..12)
            .map(|_| {
                ready.once();
                ready.next.get()
            })
            .collect();
        assert_eq!(places, [1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2]);
    }
}
