//! Reads a recording in JSON.

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Severity};
use callgate_formats::syntax::json;
use callgate_formats::syntax::reader::Reader;
use callgate_formats::syntax::tree::{Node, NodeKind};

use super::args::args;
use super::entry::entries;
use super::header::{check, is_recording};
use super::only_in::seen;
use super::runs::{labels, runs};
use super::truncated;
use crate::recording::caveat::Caveat;
use crate::recording::labels::CommonLabels;
use crate::recording::limits::MAX_SYSCALLS;
use crate::recording::model::Recording;
use crate::recording::run::Run;
use crate::recording::syscall::SyscallId;

/// Reads a recording, or with `partial` the complete entries of a truncated one. Numbers that the syscall tables do
/// not have are kept; unknown names are reported with the severity `unknown`.
pub(crate) fn read(
    text: &str,
    reader: &mut Reader<'_>,
    unknown: Severity,
    partial: bool,
) -> Recording {
    let mut recording = Recording::default();
    let document = match json::parse(text) {
        Ok(tree) => check(tree, reader).map(|tree| Document { tree, is_truncated: false }),
        Err(error) => truncated_document(text, reader, error, partial),
    };
    let Some(Document { tree, is_truncated }) = document else { return recording };
    runs(reader, &tree).into_iter().for_each(|run| recording.push_run(run));
    if is_truncated {
        if recording.runs().is_empty() {
            recording.push_run(Run::default());
        }
        for run in recording.runs_mut() {
            run.lost = run.lost.saturating_add(1);
            run.caveats.push(Caveat::cut_off());
        }
    }
    let common = recording.common_labels();
    for entry in entries(reader, &tree) {
        let seen = seen(reader, &entry, recording.runs());
        let args = args(reader, &entry, seen, recording.runs());
        let Some(nr) = entry.resolved.as_ref().ok().copied().or(entry.given_nr) else {
            entry.report_unknown(reader, unknown);
            continue;
        };
        let syscall = SyscallId::new(entry.arch, nr);
        if recording.syscalls().len() >= MAX_SYSCALLS && recording.get(syscall).is_none() {
            let message = format!("more than {MAX_SYSCALLS} different syscalls, the limit");
            reader.error(entry.node.at, message).help =
                "no kernel has that many syscalls; check what was recorded".to_owned();
            break;
        }
        recording.add_of_runs(syscall, entry.count, seen, args);
        if recording.runs().len() > 1 {
            let own = entry.node.get("common").map(|node| CommonLabels::of(labels(reader, node)));
            recording.set_common_labels(syscall, own.unwrap_or_else(|| common.clone()));
        }
    }
    recording
}

/// A recording in a supported version.
struct Document<'t> {
    tree: Node<'t>,
    is_truncated: bool,
}

/// The complete entries of a truncated recording. Without `partial`, the error says how many there are.
fn truncated_document(
    text: &str,
    reader: &mut Reader<'_>,
    mut error: Diagnostic,
    partial: bool,
) -> Option<Document<'static>> {
    let complete = truncated::complete_part(text)
        .and_then(|part| json::parse(&part).ok().map(Node::into_owned));
    let tree = complete.filter(is_recording);
    let syscalls = tree.as_ref().and_then(|tree| tree.get("calls"));
    let count = match syscalls.map(|syscalls| &syscalls.kind) {
        Some(NodeKind::List(items)) => items.len(),
        _ => 0,
    };
    if count > 0 && partial {
        let message = format!(
            "the recording is truncated here; complete entries of `calls` that are used: {count}"
        );
        reader.warn(text.len(), message).help =
            "record again, or expect missing syscalls: later entries are not known".to_owned();
        return Some(Document { tree: check(tree?, reader)?, is_truncated: true });
    }
    if count > 0 {
        error.set_help(Advice::ReadPartially { complete: count });
    }
    reader.add(error);
    None
}
