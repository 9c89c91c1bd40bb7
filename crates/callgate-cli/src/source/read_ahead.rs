//! Reads a log in a thread of its own, which also takes part in parsing it.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use callgate_trace::read::{TextPart, TextSplitter};

/// The number of bytes that are read at once.
const PIECE: usize = 256 << 10;

/// The number of parts that are read ahead.
const AHEAD: usize = 4;

/// The parts of a log, in order.
///
/// The thread parses a part before it sends it, unless the receiver has no other part: then the receiver parses it, and
/// the thread reads on. So both threads are busy, no matter how long it takes to parse a log and to combine its parts.
///
/// If the log is not read to its end, the thread may stay blocked in `read`: it is not waited for, and ends with the
/// process or with the next part.
pub(super) struct ReadAhead {
    parts: Receiver<io::Result<ReadPart>>,
    /// Parts whose allocations can be used again.
    spare: Sender<TextPart>,
    /// The number of parts that were sent and not received.
    waiting: Arc<AtomicUsize>,
    reader: Option<JoinHandle<()>>,
}

/// A part of a log.
pub(super) struct ReadPart {
    pub(super) part: TextPart,
    /// The number of bytes that were read so far.
    pub(super) read: u64,
}

impl ReadAhead {
    pub(super) fn start(input: impl Read + Send + 'static) -> io::Result<ReadAhead> {
        let (to, parts) = sync_channel(AHEAD);
        let (spare, from) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let sender =
            PartSender { to, spare: from, waiting: Arc::clone(&waiting), is_received: true };
        let reader = thread::Builder::new().name("reader".to_owned());
        let reader = Some(reader.spawn(move || read_all(input, sender))?);
        Ok(ReadAhead { parts, spare, waiting, reader })
    }

    /// The next part; `None` at the end of the log.
    pub(super) fn next(&mut self) -> io::Result<Option<ReadPart>> {
        match self.parts.recv() {
            Ok(part) => {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                part.map(Some)
            }
            // The thread ends at the end of the log, so this does not block.
            Err(_) => match self.reader.take().map(JoinHandle::join) {
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                _ => Ok(None),
            },
        }
    }

    /// Returns a buffer to the reader for reuse.
    pub(super) fn reuse(&self, part: TextPart) {
        // After the end of the log, no further part is needed.
        let _ = self.spare.send(part);
    }
}

/// The thread's end of the channels.
struct PartSender {
    to: SyncSender<io::Result<ReadPart>>,
    spare: Receiver<TextPart>,
    waiting: Arc<AtomicUsize>,
    is_received: bool,
}

impl PartSender {
    /// Sends a part, and leaves a spare one. `read` is the number of bytes that were read so far.
    fn part(&mut self, part: &mut TextPart, read: u64) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            part.parse();
        }
        let spare = self.spare.try_recv().unwrap_or_default();
        self.send(Ok(ReadPart { part: std::mem::replace(part, spare), read }));
    }

    fn send(&mut self, part: io::Result<ReadPart>) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.is_received = self.is_received && self.to.send(part).is_ok();
    }
}

/// Reads until the end of the log, an error, or the end of the receiver.
fn read_all(mut input: impl Read, mut sender: PartSender) {
    let mut splitter = TextSplitter::default();
    let mut piece = vec![0; PIECE];
    let mut read = 0;
    while sender.is_received && !splitter.has_failed() {
        let count = match input.read(&mut piece) {
            Ok(0) => return splitter.finish(&mut |part| sender.part(part, read)),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return sender.send(Err(error)),
        };
        read += count as u64;
        splitter.push(&piece[..count], &mut |part| sender.part(part, read));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate::Arch;
    use callgate_trace::read::{ReadOptions, RecordingReader};
    use callgate_trace::recording::Recording;

    fn reader() -> RecordingReader {
        RecordingReader::new(&ReadOptions { arch: Arch::X86_64, strict: true, partial: false })
    }

    /// The recording in a log, and the number of bytes that were read. `each` is called before each part.
    fn read(input: impl Read + Send + 'static, each: impl Fn()) -> (Recording, u64) {
        let mut ahead = ReadAhead::start(input).unwrap();
        let (mut reader, mut all) = (reader(), 0);
        while let Some(ReadPart { mut part, read }) = ahead.next().unwrap() {
            each();
            reader.add(&mut part).unwrap();
            ahead.reuse(part);
            all = read;
        }
        (reader.finish().unwrap().recording, all)
    }

    /// An input that gives at most this many bytes at once, is interrupted each time, and fails at its end.
    struct Failing(&'static [u8], usize, bool);

    impl Read for Failing {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            self.2 = !self.2;
            if self.2 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = self.1.min(self.0.len()).min(to.len());
            if count == 0 {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            to[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    /// An input that panics after some lines.
    struct Panicking(bool);

    impl Read for Panicking {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            assert!(!self.0, "this input panics");
            self.0 = true;
            (&b"close(3) = 0\n"[..]).read(to)
        }
    }

    #[test]
    fn a_log_is_read_in_order_by_a_fast_and_by_a_slow_receiver() {
        let lines =
            "12 read(3,  <unfinished ...>\n13 close(4) = 0\n12 <... read resumed>\"\", 9) = 0\n";
        let text = lines.repeat(20_000);
        let mut whole = reader();
        whole.push(text.as_bytes()).unwrap();
        let whole = (whole.finish().unwrap().recording, text.len() as u64);
        assert!(read(io::Cursor::new(text.clone()), || {}) == whole);
        let slow = || thread::sleep(std::time::Duration::from_millis(1));
        assert!(read(io::Cursor::new(text), slow) == whole);
    }

    #[test]
    fn an_error_follows_what_was_read_before() {
        let mut ahead = ReadAhead::start(Failing(b"close(3) = 0\n", 7, false)).unwrap();
        assert_eq!(ahead.next().unwrap().map(|part| part.read), Some(13));
        let error = ahead.next().err().map(|error| error.kind());
        assert_eq!(error, Some(io::ErrorKind::BrokenPipe));
        assert!(ahead.next().unwrap().is_none());
    }

    #[test]
    fn nothing_is_read_after_a_text_is_known_to_be_useless() {
        let mut ahead = ReadAhead::start(io::repeat(0)).unwrap();
        let mut part = ahead.next().unwrap().unwrap();
        assert!(reader().add(&mut part.part).is_err());
        assert!(ahead.next().unwrap().is_none());
    }

    /// An input without end, but a panic if it is read long after the receiver ended.
    struct Endless {
        left: usize,
    }

    impl Read for Endless {
        fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
            self.left = self.left.checked_sub(1).expect("the thread reads on without a receiver");
            // Few lines, so that their number does not end the text.
            to.fill(b'a');
            to[0] = b'\n';
            Ok(to.len())
        }
    }

    #[test]
    fn the_thread_ends_with_its_receiver() {
        // More than fill the channel, so that the thread is stopped by its receiver.
        let mut ahead = ReadAhead::start(Endless { left: 100 * AHEAD }).unwrap();
        let thread = ahead.reader.take().unwrap();
        drop(ahead);
        thread.join().unwrap();
    }

    #[test]
    #[should_panic = "this input panics"]
    fn a_panic_of_the_thread_is_passed_on() {
        read(Panicking(false), || {});
    }
}
