//! Busy loops on every processor.

use callgate_linux::Worker;
use callgate_measure::{allowed_cpus, raw};
use callgate_tasks::Result;

/// Processes that use all the time that they get. They end when this is dropped, and when this process ends in any way.
pub(super) struct Load {
    _loops: Vec<Worker>,
}

impl Load {
    /// Starts this number of them on each processor.
    pub(super) fn start(each: usize) -> Result<Load> {
        let cpus = allowed_cpus().into_iter().flat_map(|cpu| std::iter::repeat_n(cpu, each));
        let start = |cpu| {
            // SAFETY: what the child does takes no lock.
            let worker = unsafe {
                Worker::start(1, |_| {
                    // Without it, the scheduler distributes them.
                    let _ = raw::pin(cpu);
                    let mut turns = 0u64;
                    loop {
                        turns = std::hint::black_box(turns.wrapping_add(1));
                    }
                })
            };
            worker.map_err(|why| format!("a busy loop cannot be started: {why}"))
        };
        Ok(Load { _loops: cpus.map(start).collect::<Result<_>>()? })
    }
}
