//! `--node DIR`: records the containers of a Kubernetes node whose pods match patterns.
//!
//! Containers are found by kubelet's links to their logs ([`super::pods`]), and their processes by the ID in the name of a
//! cgroup, so neither kubelet nor the runtime is asked. Each container is recorded in a thread, with one set of eBPF
//! programs for all. A container with a recording in `DIR` ([`super::node_directory`]), also of an earlier run of this
//! command, is not recorded again: a container that is restarted has another ID. A recording that a signal ends before the
//! time of `--for` does not count.
//!
//! Limits: kubelet makes a link after the container has started, so the first moments are missing. If a recording is moved
//! away while its container runs, the container is recorded again.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use callgate_linux::error_text;
use callgate_record::{AttachTarget, Cgroup, Note, Recorders};
use callgate_trace::recording::MAX_LABELS;

use super::args::{RecordArgs, RecordedWords};
use super::attach::check_method;
use super::label::Label;
use super::node_directory::{MAX_FILES, NodeDirectory};
use super::pods::{LinkName, PodContainer, PodPattern};
use super::saving::{Destination, Saving};
use super::warnings::warn_about;
use crate::report::{self, Failure, Result};
use crate::text::{counted, grouped, printable};

/// How often new containers are looked for.
const PAUSE: Duration = Duration::from_secs(1);

/// After which time a container that could not be recorded is tried again.
const RETRY: Duration = Duration::from_secs(60);

/// The labels that each recording gets.
const OWN_LABELS: [&str; 3] = ["namespace", "pod", "container"];

/// Records until a signal arrives.
pub(super) fn run(args: &RecordArgs, directory: &Path) -> Result<u8> {
    check_method(args.via)?;
    let node = Node::new(args, directory)?;
    let recorders =
        Recorders::new().map_err(|error| Failure::new(error.to_string()).help(error.help()))?;
    report::note(&format!(
        "callgate: recording the containers of {} in {}\n",
        printable(&node.logs.display().to_string()),
        printable(&directory.display().to_string())
    ));
    thread::scope(|scope| {
        let mut known: BTreeMap<String, State<'_>> = BTreeMap::new();
        let (mut cut, mut last_limit, mut was_readable) = (BTreeSet::new(), None, true);
        while !recorders.are_ended() {
            let wanted = match node.wanted(&mut cut) {
                Ok(wanted) => wanted,
                Err(failure) => {
                    if was_readable {
                        failure.print_as_warning("new containers are not found meanwhile");
                    }
                    was_readable = false;
                    recorders.wait(PAUSE);
                    continue;
                }
            };
            was_readable = true;
            known.retain(|id, state| state.is_running() || wanted.contains_key(id));
            known.values_mut().for_each(State::update);
            let mut running = known.values().filter(|state| state.is_running()).count();
            let mut waiting = None;
            for (id, container) in wanted {
                if known.get(&id).is_some_and(|state| !state.is_due()) {
                    continue;
                }
                if let Some(limit) = node.limit(running) {
                    waiting = Some((container, limit));
                    break;
                }
                let state = node.start(container, scope, &recorders);
                running += usize::from(state.is_running());
                known.insert(id, state);
            }
            let limit = waiting.as_ref().map(|(_, limit)| *limit);
            if let (Some((container, limit)), true) = (waiting, limit != last_limit) {
                node.warn_of_limit(&container, limit);
            }
            last_limit = limit;
            recorders.wait(PAUSE);
        }
        // Those that are left write what is recorded, and the scope waits for them.
        Ok(0)
    })
}

/// Why a container is not recorded yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limit {
    /// As many are recorded at the same time as may be.
    Running,
    /// The directory has as many recordings as it may have.
    Files,
}

/// What is known about a container.
enum State<'s> {
    Running(ScopedJoinHandle<'s, Ended>),
    /// It was recorded, or has ended.
    Done,
    /// It could not be recorded then.
    Failed(Instant),
}

/// How the recording of a container ended.
enum Ended {
    /// There is a file, or there was nothing to record.
    Done,
    Failed,
}

impl State<'_> {
    fn failed() -> Self {
        State::Failed(Instant::now())
    }

    fn is_running(&self) -> bool {
        matches!(self, State::Running(_))
    }

    /// Whether its recording should be started.
    fn is_due(&self) -> bool {
        matches!(self, State::Failed(since) if since.elapsed() >= RETRY)
    }

    /// Takes note of the end of a recording.
    fn update(&mut self) {
        if !matches!(self, State::Running(thread) if thread.is_finished()) {
            return;
        }
        if let State::Running(thread) = std::mem::replace(self, State::Done) {
            // A panic has written its message already.
            if !matches!(thread.join(), Ok(Ended::Done)) {
                *self = State::failed();
            }
        }
    }
}

/// What is recorded, and where it is written.
struct Node {
    logs: PathBuf,
    directory: NodeDirectory,
    patterns: Vec<PodPattern>,
    labels: Vec<Label>,
    time: Option<Duration>,
    most: usize,
}

impl Node {
    fn new(args: &RecordArgs, directory: &Path) -> Result<Node> {
        let mut labels = args.label.clone();
        if let Some(own) = labels.iter().find(|label| OWN_LABELS.contains(&&*label.key)) {
            return Err(Failure::new(format!("--label {} is set by --node", own.key))
                .help("use another key"));
        }
        if labels.iter().all(|label| label.key != "node") {
            labels.extend(host_name().map(|name| Label { key: "node".to_owned(), value: name }));
        }
        let count = labels.len() + OWN_LABELS.len();
        if count > MAX_LABELS {
            return Err(Failure::new(format!(
                "with those of --node, a run has {count} labels, more than {MAX_LABELS}, the limit"
            ))
            .help("give fewer labels"));
        }
        let node = Node {
            logs: args.logs.clone(),
            directory: NodeDirectory::open(directory)?,
            patterns: args.pods.clone(),
            labels,
            time: args.time,
            most: args.most.into(),
        };
        // An error at the start, and not for each container.
        node.wanted(&mut BTreeSet::new())?;
        node.directory.keep_parts();
        Ok(node)
    }

    /// What stops another recording from starting while `running` are being made.
    fn limit(&self, running: usize) -> Option<Limit> {
        if running >= self.most {
            Some(Limit::Running)
        } else {
            self.directory.is_full(running).then_some(Limit::Files)
        }
    }

    fn warn_of_limit(&self, container: &PodContainer, limit: Limit) {
        match limit {
            Limit::Running => {
                let most = counted(self.most as u64, "container");
                report::warn(
                    format!("{container} waits: the limit of {most} at a time is reached"),
                    "--most N sets the limit; each container takes about 1 MB per processor",
                );
            }
            Limit::Files => report::warn_about(
                &self.directory.path().display().to_string(),
                format!(
                    "{container} is not recorded, because the directory has {} recordings with those that are being \
                     made, the limit",
                    grouped(MAX_FILES as u64)
                ),
                "merge them (callgate record merge DIR), and remove those of containers that have ended",
            ),
        }
    }

    /// The containers that match and are not recorded yet, by their IDs. Warns about links without an ID that are not among
    /// the `cut` ones already.
    fn wanted(&self, cut: &mut BTreeSet<OsString>) -> Result<BTreeMap<String, PodContainer>> {
        let entries = std::fs::read_dir(&self.logs).map_err(|why| {
            let logs = self.logs.display().to_string();
            let why = error_text(&why);
            Failure::about(logs, format!("kubelet's links to logs cannot be read: {why}"))
                .help("--logs names another directory with links POD_NAMESPACE_CONTAINER-ID.log")
        })?;
        let mut wanted = BTreeMap::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            match name.to_str().and_then(LinkName::parse) {
                Some(LinkName::Container(one))
                    if self.patterns.iter().any(|pattern| pattern.selects(&one))
                        && !self.directory.file(&one).exists() =>
                {
                    wanted.insert(one.id.clone(), one);
                }
                Some(LinkName::Cut { namespace, pod })
                    if self.patterns.iter().any(|one| one.selects_pod(&namespace, &pod))
                        && cut.insert(name.clone()) =>
                {
                    report::warn_about(
                        &format!("{namespace}/{pod}"),
                        "a container is not recorded, because the link to its log lacks a part of the ID: kubelet cuts names \
                         to 255 bytes",
                        "record it with --container ID; `kubectl get pod -o yaml` has the ID (containerID)",
                    );
                }
                _ => {}
            }
        }
        Ok(wanted)
    }

    /// The processes of a container; the error is what becomes of it instead.
    fn target<'s>(&self, container: &PodContainer) -> std::result::Result<AttachTarget, State<'s>> {
        match Cgroup::of_container(&container.id, &container.to_string()) {
            Ok(cgroup) => Ok(AttachTarget::Cgroup(cgroup)),
            // The link stays for a while.
            Err(error) if error.is_not_found() => Err(State::Done),
            Err(error) => {
                report::warn_about(&container.to_string(), error.to_string(), error.help());
                Err(State::failed())
            }
        }
    }

    /// Starts a thread that records a container.
    fn start<'scope, 'env>(
        &'env self,
        container: PodContainer,
        scope: &'scope Scope<'scope, 'env>,
        recorders: &'env Recorders,
    ) -> State<'scope> {
        let target = match self.target(&container) {
            Ok(target) => target,
            Err(state) => return state,
        };
        let record = move || self.record(recorders, &target, &container);
        match thread::Builder::new().name("recorder".to_owned()).spawn_scoped(scope, record) {
            Ok(thread) => State::Running(thread),
            Err(why) => {
                let why = error_text(&why);
                report::warn(format!("a thread cannot be started: {why}"), "");
                State::failed()
            }
        }
    }

    /// Records a container.
    fn record(
        &self,
        recorders: &Recorders,
        target: &AttachTarget,
        container: &PodContainer,
    ) -> Ended {
        let name = container.to_string();
        let mut path = self.directory.file(container);
        self.directory.keep_part(container);
        let recorded = Destination::prepare(Some(&path)).and_then(|destination| {
            let values = [&container.namespace, &container.pod, &container.container];
            let own = OWN_LABELS.into_iter().zip(values);
            let own = own.map(|(key, value)| Label { key: key.to_owned(), value: value.clone() });
            let labels: Vec<Label> = self.labels.iter().cloned().chain(own).collect();
            let words = RecordedWords::Name;
            let mut saving = Saving::to(destination, Some(&path), None, &labels, words);
            saving.announce_one_of_many(name.clone());
            match recorders.attach_to(target, self.time, &mut saving) {
                Ok(recorded) => saving.end().map(|()| Some(recorded)),
                // It has ended meanwhile.
                Err(error) if error.is_without_processes() => Ok(None),
                Err(error) => Err(Failure::about(&*name, error.to_string())),
            }
        });
        match recorded {
            Ok(None) => Ended::Done,
            Ok(Some(recorded)) => {
                warn_about(&recorded, true, Some(&name));
                if recorded.notes.iter().any(|note| matches!(note, Note::CutShort { .. })) {
                    path = self.directory.keep_cut(container);
                }
                report::note(&format!(
                    "callgate: {name}: {}, {} different, in {} s, written to {}\n",
                    counted(recorded.recording.total(), "syscall"),
                    recorded.recording.syscalls().len(),
                    recorded.time.as_secs(),
                    printable(&path.display().to_string())
                ));
                Ended::Done
            }
            Err(failure) => {
                failure.print_as_warning(&format!(
                    "it is tried again in {} s if the container runs",
                    RETRY.as_secs()
                ));
                Ended::Failed
            }
        }
    }
}

/// The name of this machine, if it may be the value of a label.
fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    (!name.is_empty() && !name.chars().any(char::is_control)).then(|| name.to_owned())
}
