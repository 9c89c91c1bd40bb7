//! Socket filters beside seccomp filters, for what takes either, such as `simulate`.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::{Endian, SocketProgram};
use callgate_formats::built_in;

use super::format::{ProgramForm, SourceFormat};
use super::loader::{Given, Loader};
use super::message::{Message, Messages};
use super::read::{Reader, reading};
use super::stack::SourceStack;
use super::text::{Content, SourceText};
use super::violations::{SOCKET_FILTER, is_not_seccomp};

/// A program that takes packets.
pub struct SocketFilter {
    /// The name of the source in messages.
    pub name: String,
    /// The program.
    pub program: SocketProgram,
    /// The byte order of its instructions; packets are in network order on every machine.
    pub endian: Endian,
}

/// Seccomp filters, or a socket filter.
pub enum AnyFilter {
    /// Filters that take syscalls.
    Syscalls(SourceStack),
    /// A filter that takes packets.
    Packets(SocketFilter),
}

/// Like [`read_with`](super::read_with), but also reads socket filters: programs whose format is `socket`, or that contain instructions that only
/// socket filters may use, like those of tcpdump. A program that could be either is a seccomp filter, unless `packets` are
/// given.
///
/// # Errors
/// As [`read_with`](super::read_with), and for a source that is not a program if packets are given.
pub fn read_any(
    source: &SourceText,
    packets: bool,
    loader: &mut dyn Loader,
    warnings: &mut Messages,
) -> Result<AnyFilter, Messages> {
    reading(source, loader, warnings, |reader| reader.read_any(packets))
}

/// The message about a source that could not be read as a filter, if it is a socket filter.
pub fn socket_filter(source: &SourceText) -> Option<Message> {
    let read = read_any(source, false, &mut Given(source), &mut Messages::new());
    let error = || Message::about(&source.name, Diagnostic::error(None, SOCKET_FILTER));
    matches!(read, Ok(AnyFilter::Packets(_))).then(error)
}

impl Reader<'_> {
    fn read_any(&mut self, packets: bool) -> Result<AnyFilter, Messages> {
        let source = self.source;
        let what = match &source.content {
            Content::Preset(name) if built_in(name).is_none() => "a preset",
            Content::Texts(texts) => texts.language.language().what,
            _ => "a profile",
        };
        let no_packets = || Err(not_of_packets(&source.name, what));
        let (bytes, text) = match &source.content {
            Content::File(bytes) => (bytes.as_slice(), None),
            Content::Text(text) => (text.as_bytes(), Some(text.as_str())),
            Content::Insns(_) | Content::Bytes(_) => (&[][..], None),
            _ if packets => return no_packets(),
            _ => return self.read().map(AnyFilter::Syscalls),
        };
        let is_code = matches!(source.content, Content::Insns(_) | Content::Bytes(_));
        if source.part.is_some() {
            return if packets { no_packets() } else { self.read().map(AnyFilter::Syscalls) };
        }
        let detected = match is_code {
            true => SourceFormat::Program(ProgramForm::Raw),
            false => SourceFormat::of_file(&source.name, bytes),
        };
        if !is_code {
            self.check_not_empty(bytes)?;
            if text.is_none() {
                self.check_encoding(bytes)?;
            }
            if source.format.is_none() {
                self.check_ambiguous(detected, bytes)?;
            }
        }
        let (form, sure) = match (source.format.unwrap_or(detected), detected) {
            (SourceFormat::Program(form), _) => (form, packets),
            (SourceFormat::Socket, SourceFormat::Program(form)) => (form, true),
            // Not recognizable as a program: the reader of text has the best message.
            (SourceFormat::Socket, _) => (ProgramForm::Text, true),
            (SourceFormat::Policy(_), _) if packets && bytes.trim_ascii().is_empty() => {
                (ProgramForm::Text, true)
            }
            (SourceFormat::Policy(_), _) if packets => return no_packets(),
            (SourceFormat::Policy(_), _) => return self.read().map(AnyFilter::Syscalls),
        };
        if sure {
            return self.packets(form, bytes, text).map(AnyFilter::Packets);
        }
        self.read().map(AnyFilter::Syscalls).or_else(|failure| {
            match self.packets(form, bytes, text) {
                Ok(filter) if is_not_seccomp(&filter.program) => Ok(AnyFilter::Packets(filter)),
                _ => Err(failure),
            }
        })
    }

    /// A program as a socket filter.
    fn packets(
        &mut self,
        form: ProgramForm,
        bytes: &[u8],
        text: Option<&str>,
    ) -> Result<SocketFilter, Messages> {
        let (program, endian, own) = self.accepted(form, bytes, text)?;
        self.warnings.extend(self.all(own));
        Ok(SocketFilter { name: self.source.name.clone(), program, endian })
    }
}

/// The error about a source that takes syscalls, if packets are given.
pub fn not_of_packets(name: &str, what: &str) -> Messages {
    let message = format!("{what} takes syscalls, but packets are given");
    let help = "use packets with a socket filter, such as the output of `tcpdump -ddd`";
    Message::error(name, message, help)
}
