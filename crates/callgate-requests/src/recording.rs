//! Recordings as JSON.

use callgate::Arch;
use callgate_bpf::diagnostic::Diagnostics;
use callgate_trace::read::{self, ReadOptions, ReadRecording};
use callgate_trace::recording::{ArgValues, Caveat, Recording, Run, SyscallId, SyscallStats};

use crate::json::Json;
use crate::request::Recorded;
use crate::source::{Message, Messages};

/// Reads a recording; adds warnings.
pub(crate) fn recording(
    recorded: &Recorded,
    machine: Arch,
    warnings: &mut Messages,
) -> Result<Json, Messages> {
    let Recorded { text, name, strict, partial } = recorded;
    let options = ReadOptions { arch: machine, strict: *strict, partial: *partial };
    let ReadRecording { recording, warnings: own, .. } =
        read::read(text, &options).map_err(|errors: Diagnostics| Message::all(name, errors))?;
    warnings.extend(Message::all(name, own));
    Ok(recording_json(name, &recording))
}

fn recording_json(name: &str, recording: &Recording) -> Json {
    let calls = recording.syscalls().map(|(syscall, stats)| call(syscall, stats));
    Json::Object(vec![
        ("source", name.into()),
        ("runs", Json::array(recording.runs().iter().map(run))),
        ("caveats", Json::array(recording.caveats().iter().map(caveat))),
        ("calls", Json::array(calls)),
    ])
}

fn run(run: &Run) -> Json {
    let Run { method, command, processes, threads, lost, status, kernel, .. } = run;
    Json::Object(vec![
        ("how", method.name().into()),
        ("command", Json::array(command.iter().map(String::as_str))),
        ("processes", (*processes).into()),
        ("threads", (*threads).into()),
        ("lost", (*lost).into()),
        ("status", (*status).into()),
        ("kernel", kernel.as_deref().into()),
    ])
}

fn caveat(caveat: &Caveat) -> Json {
    let Caveat { id, effect, count, text } = caveat;
    Json::Object(vec![
        ("id", id.as_str().into()),
        ("effect", effect.name().into()),
        ("count", (*count).into()),
        ("text", text.as_str().into()),
    ])
}

fn call(syscall: SyscallId, stats: &SyscallStats) -> Json {
    Json::Object(vec![
        ("arch", syscall.arch.name().into()),
        ("call", syscall.name().into()),
        ("nr", syscall.nr.into()),
        ("count", stats.count().into()),
        ("runs", stats.runs().into()),
        ("args", args(stats.args())),
    ])
}

/// The values of the arguments, without unknown ones at the end.
fn args(args: &[ArgValues]) -> Json {
    let known = args.iter().rposition(|values| values.observed() > 0).map_or(0, |last| last + 1);
    Json::array(args.iter().take(known).map(values))
}

/// The values of an argument: all, or their bounds; null if none is known.
fn values(values: &ArgValues) -> Json {
    let Some(bounds) = values.bounds() else { return Json::Null };
    let mut fields = vec![("observed", values.observed().into())];
    match values.all() {
        Some(all) => fields.push(("values", Json::array(all.iter().copied()))),
        None => fields.extend([
            ("min", bounds.min.into()),
            ("max", bounds.max.into()),
            ("ever", bounds.ever.into()),
            ("always", bounds.always.into()),
        ]),
    }
    Json::Object(fields)
}
