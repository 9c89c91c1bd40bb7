//! The result depends neither on the pieces in which a text arrives, nor on who parses its parts.

use super::*;
use callgate_bpf::diagnostic::Diagnostics;
use proptest::prelude::*;

/// Lines of all formats, complete and not, and some that depend on the lines before.
const LINES: &[&str] = &[
    "12 close(3) = 0\n",
    "13 read(3,  <unfinished ...>\n",
    "13 <... read resumed>\"a\", 4096) = 5\r\n",
    "<... close resumed>) = 0\n",
    "mmap(1<<3 /* a */, -1, 5</a,b>, 0x1, 3 /* x << y */, 010) = 0\n",
    "strace: Process 14 attached\n",
    "[pid 14] write(1, \"x\\\"\", strace: Process 15 attached\n",
    "5) = 3\n",
    ", 5) = 3\n",
    "[ Process PID=12 runs in 32 bit mode. ]\n",
    "12 +++ superseded by execve in pid 13 +++\n",
    "13 +++ exited with 0 +++\n",
    "--- SIGCHLD {} ---\n",
    "20:36:23.5 reed(3) = 0\n",
    "syscall_0x3e8(1, 2) = 0\n",
    "% time     seconds  usecs/call     calls    errors syscall\n",
    "------ ----------- ----------- --------- --------- ----------------\n",
    " 61.11    0.000055          55         1           execve\n",
    "100.00    0.000090                     4         1 total\n",
    "read 5\n",
    "nothing here\n",
    "\n\n\n",
    "é\n",
    "type=SECCOMP msg=audit(1.1:1): arch=c000003e syscall=3 compat=0\n",
    "type=1326 arch=zz syscall=1 compat=0\n",
    "# comment\n",
    "12 close(3",
    "{\"calls\": [",
];

/// A text of these lines, which may not be UTF-8.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = proptest::sample::select(LINES).prop_map(|line| line.as_bytes().to_vec());
    let binary = proptest::sample::select(vec![&b"\0"[..], b"\xff", b"\xc3"]);
    let part = prop_oneof![40 => line, 1 => binary.prop_map(<[u8]>::to_vec)];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

/// Reads a text that is split elsewhere; every part whose number has its bit in `parsed` is parsed there.
fn read_split(pieces: &[&[u8]], parsed: u32) -> Result<ReadRecording, Diagnostics> {
    let mut parts = Vec::new();
    let mut each = |part: &mut TextPart| {
        if parsed >> (parts.len() % 32) & 1 == 1 {
            part.parse();
        }
        parts.push(std::mem::take(part));
    };
    let mut splitter = TextSplitter::default();
    pieces.iter().for_each(|piece| splitter.push(piece, &mut each));
    splitter.finish(&mut each);
    let mut reader = RecordingReader::new(&OPTIONS);
    parts.iter_mut().try_for_each(|part| reader.add(part))?;
    reader.finish()
}

fn read_pieces(pieces: &[&[u8]]) -> Result<ReadRecording, Diagnostics> {
    let mut reader = RecordingReader::new(&OPTIONS);
    pieces.iter().try_for_each(|piece| reader.push(piece))?;
    reader.finish()
}

proptest! {
    #![proptest_config(callgate_testing::random::cases(80))]

    #[test]
    fn texts_may_be_split_anywhere_and_parsed_by_anyone(text in text(), parsed: u32) {
        let whole = read_pieces(&[&text]);
        for at in 0..=text.len() {
            let (before, after) = text.split_at(at);
            prop_assert_eq!(&read_pieces(&[before, after]), &whole, "{:?}", text);
            prop_assert_eq!(&read_split(&[before, after], parsed), &whole, "{:?}", text);
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        prop_assert_eq!(&read_split(&bytes, parsed), &whole, "{:?}", text);
    }
}

#[test]
fn a_long_text_has_many_parts() {
    let line = "12 mmap(NULL, 4096, -1, \"é\") = 0\n13 read(3, <unfinished ...>\n13 <... read resumed>\"\", 7) = 0\n";
    let text = line.repeat(10_000);
    let (mut splitter, mut parts) = (TextSplitter::default(), 0);
    let mut count = |_: &mut TextPart| parts += 1;
    splitter.push(text.as_bytes(), &mut count);
    splitter.finish(&mut count);
    // About 1 MB, in parts of 128 KiB.
    assert!(parts >= 7, "{parts}");
    let whole = read(&text, &OPTIONS).unwrap();
    assert_eq!(counts(&whole.recording), "read×10000 mmap×10000");
    for parsed in [0, u32::MAX, 0x5555_5555] {
        assert_eq!(read_split(&[text.as_bytes()], parsed), Ok(whole.clone()));
    }
}

#[test]
fn nothing_follows_an_error() {
    let mut parts = 0;
    let mut splitter = TextSplitter::default();
    let mut each = |_: &mut TextPart| parts += 1;
    splitter.push(b"close(3) = 0\n", &mut each);
    assert!(!splitter.has_failed());
    splitter.push(b"\0", &mut each);
    assert!(splitter.has_failed());
    splitter.push(b"close(3) = 0\n", &mut each);
    splitter.finish(&mut each);
    assert_eq!(parts, 2);
}
