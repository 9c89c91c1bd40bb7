//! Opens included files, within limits.

use super::report::{OTHER, Reports};
use super::source::Includes;
use super::sources::{Place, Sources};
use crate::diagnostics::quote::shorten;
use callgate_bpf::diagnostic::Diagnostic;

/// The maximum number of inclusions.
const MAX_INCLUSIONS: usize = 1000;

/// The maximum size of a policy with all included files, in bytes.
const MAX_TEXT: usize = 10 << 20;

/// Refuses a policy that is too large even without included files.
pub(crate) fn check_text_size(text: &str) -> Result<(), Diagnostic> {
    if text.len() <= MAX_TEXT {
        return Ok(());
    }
    let message = format!("the policy has {} bytes, the maximum is {MAX_TEXT}", text.len());
    Err(Diagnostic::error(None, message).help("split the policy"))
}

/// Counts the inclusions of a policy and their bytes.
pub(crate) struct Inclusions {
    count: usize,
    bytes: usize,
    max_depth: usize,
}

/// An included file.
pub(crate) enum Opened {
    /// Its number in the sources.
    Source(u16),
    /// It cannot be read. An error was reported.
    Nothing,
    /// A limit is exceeded, so that reading must end: messages about the text that is missing would not help. An error
    /// was reported.
    Stop,
}

impl Inclusions {
    /// For a policy of this size, whose inclusions may nest this deep.
    pub(crate) fn new(bytes: usize, max_depth: usize) -> Inclusions {
        Inclusions { count: 0, bytes, max_depth }
    }

    /// Opens the file that a directive at this place names; `open` are the texts that are being read, the innermost last.
    pub(crate) fn open(
        &mut self,
        name: &str,
        at: Place,
        open: &[u16],
        includes: &mut Includes<'_>,
        sources: &mut Sources,
        reports: &mut Reports,
    ) -> Opened {
        let shown = shorten(name);
        let mut stop = |message: String, help: &str| {
            reports.error(at, message).help = help.to_owned();
            Opened::Stop
        };
        self.count += 1;
        if self.count > MAX_INCLUSIONS {
            let message = format!("more than {MAX_INCLUSIONS} files are included");
            return stop(message, "include fewer files");
        }
        let from = open.last().and_then(|source| sources.name(*source));
        let file = match includes(name, from) {
            Ok(file) => file,
            Err(why) => {
                reports.error(at, format!("cannot include \"{shown}\": {why}"));
                return Opened::Nothing;
            }
        };
        let same = open.iter().rev().filter_map(|source| sources.get(*source));
        let mut same = same.filter(|source| source.identity.as_ref() == Some(&file.identity));
        if let Some(again) = same.next() {
            match again.included_at {
                Some(first) => {
                    let message =
                        format!("\"{shown}\" includes itself; it is included first at {OTHER}");
                    reports.error_with(at, first, message).help =
                        "remove one of the two directives".to_owned();
                }
                None => {
                    let message = format!("\"{shown}\" includes itself; it is the policy itself");
                    reports.error(at, message).help = "remove this directive".to_owned();
                }
            }
            return Opened::Nothing;
        }
        if open.len() > self.max_depth {
            let message = format!("inclusions are nested more than {} deep", self.max_depth);
            return stop(message, "include the files from one file");
        }
        self.bytes = self.bytes.saturating_add(file.text.len());
        if self.bytes > MAX_TEXT {
            let message = format!(
                "with \"{shown}\" the policy has {} bytes, the maximum is {MAX_TEXT}",
                self.bytes
            );
            return stop(message, "include smaller files");
        }
        if file.is_private {
            // A file that it includes may be part of the policy again, but names in messages may come from it.
            reports.stop_suggestions();
        }
        Opened::Source(sources.add(file, at))
    }
}
