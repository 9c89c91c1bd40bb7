//! Where a recording is written, and how it is saved meanwhile.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use callgate_record::{ExecutableRecording, Save};
use callgate_trace::recording::Recording;

use super::args::RecordedWords;
use super::identity::Identity;
use super::label::Label;
use super::split::SplitDirectory;
use crate::output::{self, NewFile};
use crate::progress::Progress;
use crate::report::{self, Failure, Result};
use crate::text::{counted, printable};

/// The destination of the recording, checked before the command runs.
pub(super) enum Destination {
    Nowhere,
    Stdout,
    File(NewFile),
}

impl Destination {
    pub(super) fn prepare(path: Option<&Path>) -> Result<Destination> {
        /// Enough for a recording of the usual size.
        const ROOM: usize = 256 << 10;
        Ok(match path {
            None => Destination::Nowhere,
            Some(path) if path.as_os_str() == "-" => Destination::Stdout,
            Some(path) => Destination::File(NewFile::reserve(path, ROOM)?),
        })
    }

    /// Writes the recording; `rescues` is whether it may go elsewhere if that fails.
    fn write(self, recording: &Recording, rescues: bool) -> Result<()> {
        match self {
            Destination::Nowhere => Ok(()),
            Destination::Stdout => {
                let text = recording.to_json();
                output::print(&text).map_err(|failure| rescue(&text, true, failure))
            }
            Destination::File(file) => {
                let text = recording.to_json();
                file.finish(text.as_bytes()).map_err(|failure| match rescues {
                    true => rescue(&text, false, failure),
                    false => failure,
                })
            }
        }
    }
}

/// Saves the recording, and meanwhile parts of it in case this process is killed.
pub(super) struct Saving {
    /// `None` once it is saved.
    destination: Option<Destination>,
    saved: Result<()>,
    identity: Identity,
    labels: Vec<Label>,
    words: RecordedWords,
    /// Where the recordings of executables go.
    split: Option<SplitDirectory>,
    /// The file for parts; `None` if the recording is not written to a regular file.
    parts: Option<PathBuf>,
    /// The result of writing the last part; `None` before the first.
    part: Option<Result<()>>,
    /// Running processes that are recorded.
    attachment: Option<Attachment>,
}

/// What is said about running processes while they are recorded.
struct Attachment {
    target: String,
    limit: Option<Duration>,
    is_silent: bool,
    /// `None` if others are recorded at the same time.
    progress: Option<Progress>,
}

impl Saving {
    pub(super) fn to(
        destination: Destination,
        path: Option<&Path>,
        split: Option<SplitDirectory>,
        labels: &[Label],
        words: RecordedWords,
    ) -> Saving {
        // No part is written beside a pipe or a device.
        let is_file = |path: &&Path| std::fs::metadata(path).map_or(true, |found| found.is_file());
        let parts = match destination {
            Destination::File(_) => path.filter(is_file).map(beside),
            Destination::Nowhere | Destination::Stdout => None,
        };
        Saving {
            destination: Some(destination),
            saved: Ok(()),
            identity: Identity::new(),
            labels: labels.to_owned(),
            words,
            split,
            parts,
            part: None,
            attachment: None,
        }
    }

    /// Says when running processes are recorded, and at a terminal for how long.
    pub(super) fn announce(&mut self, target: String, limit: Option<Duration>, is_silent: bool) {
        let progress = Some(Progress::new(Instant::now()));
        self.attachment = Some(Attachment { target, limit, is_silent, progress });
    }

    /// Says when running processes are recorded, of which there are others.
    pub(super) fn announce_one_of_many(&mut self, target: String) {
        let (limit, is_silent, progress) = (None, false, None);
        self.attachment = Some(Attachment { target, limit, is_silent, progress });
    }

    /// Erases the line with the time.
    pub(super) fn end_progress(&self) {
        if let Some(Attachment { progress: Some(progress), .. }) = &self.attachment {
            progress.clear();
        }
    }

    /// The directory with the recordings of executables.
    pub(super) fn split(&self) -> Option<&SplitDirectory> {
        self.split.as_ref()
    }

    /// The result. Warns if parts could not be written.
    pub(super) fn end(&mut self) -> Result<()> {
        let split = self.split.as_ref().map(SplitDirectory::path);
        let path = self.parts.as_deref().or(split);
        if let (Some(path), Some(Err(_))) = (path, &self.part) {
            report::warn_about(
                &path.display().to_string(),
                "parts of the recording could not be written while the command ran",
                "the recording itself is complete; parts matter only if the recorder is killed",
            );
        }
        std::mem::replace(&mut self.saved, Ok(()))
    }
}

/// The file for parts.
pub(super) fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

impl Save for Saving {
    fn wants_parts(&self) -> bool {
        self.parts.is_some() || self.split.is_some()
    }

    fn wants_executables(&self) -> bool {
        self.split.is_some()
    }

    fn keeps_arguments(&self) -> bool {
        self.words == RecordedWords::All
    }

    fn part(&mut self, whole: &Recording, executables: &[ExecutableRecording]) {
        let mut written = Ok(());
        if let Some(path) = &self.parts {
            let text = self.identity.of(whole, &self.labels).to_json();
            written = output::write_recording(path, text.as_bytes());
        }
        if let Some(split) = &mut self.split {
            written = written.and(split.write(executables, &self.labels));
        }
        self.part = Some(written);
    }

    fn attached(&mut self, threads: u64) {
        let Some(Attachment { target, is_silent: false, progress, .. }) = &self.attachment else {
            return;
        };
        let (target, threads) = (printable(target), counted(threads, "thread"));
        let ends = if progress.is_some() { "; Ctrl-C ends the recording" } else { "" };
        report::note(&format!("callgate: attached to {target}, {threads}{ends}\n"));
    }

    fn waits(&mut self, time: Duration) {
        let Some(Attachment { limit, is_silent: false, progress: Some(progress), .. }) =
            &mut self.attachment
        else {
            return;
        };
        let limit =
            limit.map_or_else(String::new, |limit| format!(" of {} s", limit.as_secs_f64()));
        progress.tell(|| format!("recorded for {} s{limit}", time.as_secs()));
    }

    fn whole(&mut self, whole: &Recording, executables: &[ExecutableRecording]) {
        if let Some(destination) = self.destination.take() {
            // The output of a recorder of many is a log that others read.
            let is_one_of_many = |one: &Attachment| one.progress.is_none();
            let rescues = !self.attachment.as_ref().is_some_and(is_one_of_many);
            self.saved = destination.write(&self.identity.of(whole, &self.labels), rescues);
            if let Some(split) = &mut self.split {
                let written = split.write(executables, &self.labels);
                self.saved = std::mem::replace(&mut self.saved, Ok(())).and(written);
            }
        }
        // If the recording could not be written, the last part remains.
        if let (Some(path), Some(_), Ok(())) = (&self.parts, &self.part, &self.saved) {
            let _ = output::remove_file(path);
        }
    }
}

/// A recording may have taken hours. If it cannot be written to its file, it goes to the directory for temporary files,
/// and if that fails too, to a standard stream.
fn rescue(text: &str, is_stdout: bool, failure: Failure) -> Failure {
    /// Other files may have these names.
    const ATTEMPTS: usize = 8;
    let (directory, process) = (std::env::temp_dir(), std::process::id());
    let paths = (0..ATTEMPTS)
        .map(|attempt| directory.join(format!("callgate-recording-{process}-{attempt}.json")));
    let mut saved = paths.filter(|path| output::write_new_file(path, text.as_bytes()).is_ok());
    if let Some(path) = saved.next() {
        return failure.help(format!("the recording is in {}", path.display()));
    }
    let full = format!("{} cannot be written either", directory.display());
    if !is_stdout && output::print(text).is_ok() {
        return failure.help(format!("{full}, so the recording was printed on standard output"));
    }
    report::note(text);
    failure.help(format!("{full}, so the recording was printed above, on standard error"))
}
