//! Records processes that run already.

use std::time::{Duration, Instant};

use crate::bpf::Attached;
use crate::error::RecordError;
use crate::method::RecordMethod;
use crate::note::Note;
use crate::outcome::{Outcome, Recorded};
use crate::running::AttachTarget;
use crate::save::{Counts, Parts, RunDescription, Save};
use crate::signals::{Signals, one_at_a_time};

/// Records running processes and everything that they start, by the tracepoint method, for this long or until a signal
/// arrives or the last of them has ended. The processes are not stopped and do not notice it.
///
/// The recording lacks the syscalls before and after, which a caveat says; it has those in which threads waited when
/// it started. Of a cgroup, processes that enter from outside are recorded from their `execve` on, such as
/// those of `docker exec`. A process that leaves the cgroup is still recorded.
///
/// # Errors
/// If the target has no processes or another PID namespace, or if the method does not work here.
pub fn attach_to(
    target: &AttachTarget,
    limit: Option<Duration>,
    save: &mut dyn Save,
) -> Result<Recorded, RecordError> {
    let _turn = one_at_a_time();
    let signals = Signals::end_recording();
    let command = target.command(save.keeps_arguments());
    let attached = Attached::new(target, save.wants_executables())?;
    let method = RecordMethod::Tracepoint;
    let attached_to = (!target.is_starting()).then(|| (target.to_string(), Instant::now()));
    let description = RunDescription { method, command, attached: attached_to };
    let parts = Parts::new(&mut *save, description.clone());
    let outcome = attached.record(limit, parts, signals);
    let Outcome { tallies, processes, threads, time, cost, notes, signals, .. } = outcome;
    let caveats: Vec<_> = notes.iter().map(Note::caveat).collect();
    let counts = Counts { processes, threads };
    let (recording, executables) = description.recordings(tallies, counts, None, &caveats);
    signals.wait_for_saving();
    save.whole(&recording, &executables);
    drop(signals);
    Ok(Recorded {
        recording,
        executables,
        method,
        why_not_tracepoint: None,
        status: 0,
        time,
        cost_per_syscall: cost,
        notes,
    })
}
