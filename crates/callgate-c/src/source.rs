//! Sources and their limits.

use callgate::Arch;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::template::{MAX_NAME, MAX_VARIABLES};
use callgate_requests::source::{Reading, SourceContent, SourceText};
use callgate_requests::{MAX_REQUEST, MAX_SOURCES};

use crate::error::{Failure, Result};
use crate::wording::WORDING;

/// `callgate_source`.
#[derive(Debug)]
pub struct Source {
    pub(crate) text: SourceText,
}

impl Source {
    /// A source for this machine and the running kernel.
    pub(crate) fn new(content: SourceContent) -> Result<Source> {
        let machine = Arch::native().ok_or_else(|| {
            let message = format!("unsupported architecture: {}", std::env::consts::ARCH);
            Failure::argument(message, "use callgate_answer, which takes the machine")
        })?;
        let mut reading = Reading::new(machine);
        reading.kernel = running_kernel();
        Ok(Source { text: SourceText { wording: WORDING, ..SourceText::new(content, reading) } })
    }

    /// A copy for an operation on several sources, with this name if it has none.
    pub(crate) fn named(&self, name: impl Into<String>) -> SourceText {
        let mut text = self.text.clone();
        if text.name == SourceText::UNNAMED {
            text.name = name.into();
        }
        text
    }

    /// Adds a file that the source may include.
    pub(crate) fn add_file(&mut self, name: &str, text: &str) -> Result<()> {
        let used: usize = self.text.files.iter().map(|(name, text)| name.len() + text.len()).sum();
        let all = used + name.len() + text.len();
        if all > MAX_REQUEST {
            let message =
                format!("the files of a source have {all} bytes, the maximum is {MAX_REQUEST}");
            return Err(Failure::argument(message, "add only the files that the source includes"));
        }
        if self.text.files.contains_key(name) {
            let message = format!("the file {name:?} is added twice");
            return Err(Failure::of_argument(Diagnostic::error(None, message)));
        }
        self.text.files.insert(name.to_owned(), text.to_owned());
        Ok(())
    }

    /// Adds a source that the expression combines.
    pub(crate) fn add_source(&mut self, name: &str, source: SourceText) -> Result<()> {
        let SourceContent::Expression(_, sources) = &mut self.text.content else {
            let help = "make it with callgate_source_expression";
            return Err(Failure::argument("the source is not an expression", help));
        };
        if let SourceContent::Expression(..) = source.content {
            let help = "write one expression with all operands";
            return Err(Failure::argument("an operand is an expression", help));
        }
        if sources.len() == MAX_SOURCES {
            let message = format!("an expression combines at most {MAX_SOURCES} sources");
            return Err(Failure::argument(message, ""));
        }
        if sources.contains_key(name) {
            let message = format!("the source {name:?} is added twice");
            return Err(Failure::of_argument(Diagnostic::error(None, message)));
        }
        let own = if source.name == SourceText::UNNAMED { name } else { &source.name }.to_owned();
        sources.insert(name.to_owned(), SourceText { name: own, ..source });
        Ok(())
    }

    /// Gives a variable a value, in place of an earlier one.
    pub(crate) fn set_variable(&mut self, name: &str, value: u64) -> Result<()> {
        let values = &mut self.text.values;
        if let Some((_, earlier)) = values.iter_mut().find(|(other, _)| other == name) {
            *earlier = value.into();
            return Ok(());
        }
        if values.len() == MAX_VARIABLES || name.len() > MAX_NAME {
            let message = format!(
                "a filter has at most {MAX_VARIABLES} variables, with names of at most {MAX_NAME} letters"
            );
            return Err(Failure::argument(message, ""));
        }
        values.push((name.to_owned(), value.into()));
        Ok(())
    }
}

/// The version of the running kernel; `None` if a filter denies `uname(2)`.
fn running_kernel() -> Option<KernelVersion> {
    callgate_linux::kernel::release().ok()?.parse().ok()
}
