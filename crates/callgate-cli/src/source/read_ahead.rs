//! Reads an input in a thread of its own, while the caller works on what was read before.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

/// The number of bytes that are read at once.
const PIECE: usize = 256 << 10;

/// The number of pieces that are read ahead.
const AHEAD: usize = 4;

/// The pieces of an input, in order.
///
/// If the input is not read to its end, the thread may stay blocked in `read`: it is not waited for, and ends with the
/// process or with the next piece.
pub(super) struct ReadAhead {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// Pieces that can be used again.
    spare: Sender<Vec<u8>>,
    reader: Option<JoinHandle<()>>,
}

impl ReadAhead {
    pub(super) fn start(input: Box<dyn Read + Send>) -> io::Result<ReadAhead> {
        let (to, pieces) = sync_channel(AHEAD);
        let (spare, from) = channel();
        let reader = thread::Builder::new().name("reader".to_owned());
        let reader = Some(reader.spawn(move || read_all(input, &to, &from))?);
        Ok(ReadAhead { pieces, spare, reader })
    }

    /// The next piece; `None` at the end of the input.
    pub(super) fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        match self.pieces.recv() {
            Ok(piece) => piece.map(Some),
            // The thread ends at the end of the input, so this does not block.
            Err(_) => match self.reader.take().map(JoinHandle::join) {
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                _ => Ok(None),
            },
        }
    }

    /// Takes back a piece that is not needed any more.
    pub(super) fn reuse(&self, piece: Vec<u8>) {
        // After the end of the input, no further piece is needed.
        let _ = self.spare.send(piece);
    }
}

/// Reads until the end of the input, an error, or the end of the receiver.
fn read_all(
    mut input: Box<dyn Read + Send>,
    to: &SyncSender<io::Result<Vec<u8>>>,
    spare: &Receiver<Vec<u8>>,
) {
    loop {
        let mut piece = spare.try_recv().unwrap_or_default();
        piece.resize(PIECE, 0);
        let read = match input.read(&mut piece) {
            Ok(0) => return,
            Ok(count) => {
                piece.truncate(count);
                Ok(piece)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_error = read.is_err();
        if to.send(read).is_err() || is_error {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: impl Read + Send + 'static) -> io::Result<Vec<u8>> {
        let mut ahead = ReadAhead::start(Box::new(input))?;
        let mut all = Vec::new();
        while let Some(piece) = ahead.next()? {
            all.extend_from_slice(&piece);
            ahead.reuse(piece);
        }
        Ok(all)
    }

    /// An input that gives at most this many bytes at once, is interrupted each time, and fails at its end.
    struct Failing(Vec<u8>, usize, bool);

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
            self.0.drain(..count);
            Ok(count)
        }
    }

    #[test]
    fn pieces_arrive_in_order() {
        let text: Vec<u8> = (0..3_000_000_u32).map(|i| (i >> 10) as u8).collect();
        assert!(read(io::Cursor::new(text.clone())).unwrap() == text);
        assert!(read(io::empty()).unwrap().is_empty());
    }

    #[test]
    fn an_error_follows_what_was_read_before() {
        let mut ahead = ReadAhead::start(Box::new(Failing(vec![7; 10], 6, false))).unwrap();
        assert_eq!(ahead.next().unwrap(), Some(vec![7; 6]));
        assert_eq!(ahead.next().unwrap(), Some(vec![7; 4]));
        assert_eq!(ahead.next().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        assert_eq!(ahead.next().unwrap(), None);
    }
}
