//! Recognizes inputs that are not filters, to say in one line what they are.

use std::path::Path;

use crate::Arch;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::text::has_marks;
use callgate_formats::hidden_characters;
use callgate_formats::languages::detect;
use callgate_trace::read::{ReadOptions, RecordingReader};

use super::unread::unread;

/// What an input is that could not be read as a filter in the format that its content shows; `None` if that is not known.
pub(super) fn explained(bytes: &[u8], machine: Option<Arch>) -> Option<Diagnostic> {
    let has = |key: &str| bytes.windows(key.len()).any(|part| part == key.as_bytes());
    if bytes.trim_ascii_start().starts_with(b"{") && has("\"program\"") && has("\"insns\"") {
        let message = "this is the output of callgate in JSON, not a filter";
        return Some(Diagnostic::error(None, message).help(Advice::ExtractProgram));
    }
    if let Some(error) = unread(bytes) {
        return Some(error);
    }
    if machine.is_some_and(|arch| is_recording(bytes, arch)) {
        let message = "this is a recording of syscalls, not a filter";
        return Some(Diagnostic::error(None, message).help(Advice::UseRecording));
    }
    None
}

/// The error for a text that is the name of a file: a word with the extension of a language, or with a slash. `help` is how a
/// file is given.
pub(super) fn file_name(text: &str, help: &str) -> Option<Diagnostic> {
    /// The longest path that Linux takes (PATH_MAX).
    const MAX_PATH: usize = 4096;
    /// Characters of policies and programs that names of their files do not have.
    const OF_POLICIES: &str = "{}[]()<>\"'`,;:=*|&!#@$%";
    let name = text.trim();
    let is_in_name = |letter: char| {
        !letter.is_whitespace() && !letter.is_control() && !OF_POLICIES.contains(letter)
    };
    if name.len() > MAX_PATH || name.starts_with("//") || !name.chars().all(is_in_name) {
        return None;
    }
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    let likeness = |extension| detect(extension, b"").map(|(_, likeness)| likeness);
    let is_known = |extension| extension == "bpf" || likeness(Some(extension)) > likeness(None);
    (name.contains('/') || extension.is_some_and(is_known)).then(|| {
        let message =
            format!("expected the text of a filter, but this is the name of a file: {name}");
        Diagnostic::error(None, message).help(help.to_owned())
    })
}

/// The errors about a text that was read as a program because its format was not detected: if already its first line is not an
/// instruction, this is what is wrong, and the other lines say nothing more. `advice` is how the format is given.
pub(super) fn of_no_format(errors: Vec<Diagnostic>, bytes: &[u8], advice: &str) -> Vec<Diagnostic> {
    let is_text = |line: &&[u8]| !line.trim_ascii().is_empty() && !line.starts_with(b"#");
    let first = bytes.split(|byte| *byte == b'\n').position(|line| is_text(&line));
    let failed = errors.first().and_then(|error| error.position);
    let fails_at_once = first.zip(failed).is_some_and(|(first, at)| at.line as usize <= first + 1);
    if !fails_at_once || is_known(bytes) {
        return errors;
    }
    let first = errors.into_iter().take(1).map(|error| {
        let message = format!(
            "this text is in no format that callgate detects; as a BPF program: {}",
            error.message
        );
        let mut known = Diagnostic::error(error.position, message).help(advice.to_owned());
        if !error.help.is_empty() {
            known.add_help(&format!("in a program, {}", error.help));
        }
        known
    });
    first.collect()
}

/// Whether it is known what a text is: then its errors are about that. A text with hidden characters is refused because of
/// them, if it is.
fn is_known(bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    has_marks(text) || !hidden_characters(text).is_empty()
}

/// Whether a recording can be read, or a log of another tool.
fn is_recording(bytes: &[u8], arch: Arch) -> bool {
    let mut reader = RecordingReader::new(&ReadOptions { arch, strict: false, partial: true });
    reader.push(bytes).is_ok()
        && reader.finish().is_ok_and(|read| read.recording.syscalls().next().is_some())
}
