//! Texts of recordings that are parsed at the same time.

use std::sync::Arc;
use std::thread;

use callgate_bpf::diagnostic::{Diagnostic, Diagnostics};
use callgate_trace::read::{ReadOptions, ReadRecording, read};

/// How many texts are parsed at once.
const MAX_TEXTS: usize = 64;

/// How many bytes are parsed at once, unless one text has more.
const MAX_BYTES: usize = 8 << 20;

/// How many threads parse. More would wait for the merging of their results.
const MAX_THREADS: usize = 8;

/// A text and where it is from.
pub(super) struct Text {
    pub(super) name: Arc<str>,
    /// The line in which it starts.
    pub(super) line: u32,
    pub(super) bytes: Vec<u8>,
}

pub(super) type Parsed = Result<ReadRecording, Diagnostics>;

/// Texts that have not been parsed yet.
#[derive(Default)]
pub(super) struct Batch {
    texts: Vec<Text>,
    bytes: usize,
}

impl Batch {
    pub(super) fn push(&mut self, text: Text) {
        self.bytes += text.bytes.len();
        self.texts.push(text);
    }

    pub(super) fn is_full(&self) -> bool {
        self.texts.len() >= MAX_TEXTS || self.bytes >= MAX_BYTES
    }

    /// Parses the texts; the results are in their order.
    pub(super) fn parse(self, options: &ReadOptions) -> Vec<(Text, Parsed)> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let size = self.texts.len().div_ceil(threads).max(1);
        let parsed: Vec<Parsed> = thread::scope(|scope| {
            let parts: Vec<_> = self.texts.chunks(size).collect();
            let (own, others) =
                parts.split_first().map_or((&[][..], &[][..]), |(own, others)| (own, others));
            let start = |part| {
                let parser = thread::Builder::new().name("parser".to_owned());
                (part, parser.spawn_scoped(scope, move || parse_all(part, options)))
            };
            let started: Vec<_> = others.iter().copied().map(start).collect();
            let mut parsed = parse_all(own, options);
            for (part, thread) in started {
                parsed.extend(match thread.map(thread::ScopedJoinHandle::join) {
                    Ok(Ok(part)) => part,
                    Ok(Err(panic)) => std::panic::resume_unwind(panic),
                    // There may be too many threads.
                    Err(_) => parse_all(part, options),
                });
            }
            parsed
        });
        self.texts.into_iter().zip(parsed).collect()
    }
}

fn parse_all(texts: &[Text], options: &ReadOptions) -> Vec<Parsed> {
    texts.iter().map(|text| parse(text, options)).collect()
}

fn parse(text: &Text, options: &ReadOptions) -> Parsed {
    match str::from_utf8(&text.bytes) {
        Ok(text) => read(text, options),
        Err(_) => Err(Diagnostic::error(None, "this recording is not UTF-8").into()),
    }
}
