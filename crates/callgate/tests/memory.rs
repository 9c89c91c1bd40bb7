//! How much memory readers take for inputs that are made to take much. An allocator counts, so the figures are
//! the same on every machine. It counts for each thread, so tests can run at the same time: readers start no threads.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;

use callgate::{Arch, Endian};
use callgate_formats::oci;
use callgate_trace::{counts, read as recording};

/// Counts the bytes that are allocated.
struct Counting;

thread_local! {
    /// Negative if a thread frees what another one allocated.
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn grown(bytes: usize) {
    NOW.set(NOW.get() + bytes as isize);
    PEAK.set(PEAK.get().max(NOW.get()));
}

fn shrunk(bytes: usize) {
    NOW.set(NOW.get() - bytes as isize);
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        shrunk(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() {
            grown(size - layout.size());
        } else {
            shrunk(layout.size() - size);
        }
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that were allocated at a time meanwhile, beside those before.
fn peak<T>(run: impl FnOnce() -> T) -> usize {
    let before = NOW.get();
    PEAK.set(before);
    drop(run());
    (PEAK.get() - before) as usize
}

const MIB: usize = 1 << 20;

/// A text of so many bytes: a head, a unit again and again, and a tail.
fn text<S: AsRef<str>>(head: &str, unit: impl Fn(usize) -> S, tail: &str, size: usize) -> String {
    let mut text = head.to_owned();
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        text += unit(number).as_ref();
    }
    text + tail
}

fn same(unit: &'static str) -> impl Fn(usize) -> &'static str {
    move |_| unit
}

#[test]
fn a_counted_peak_includes_what_is_freed_meanwhile() {
    let bytes = |count: usize| black_box(vec![0u8; count]);
    let took = peak(|| drop((bytes(3 * MIB), bytes(MIB))));
    assert!((4 * MIB..4 * MIB + 1024).contains(&took), "{took}");
    assert_eq!(peak(|| bytes(MIB)), MIB);
}

#[test]
fn profiles_take_at_most_24_bytes_per_byte_of_text() {
    let options = oci::ReadOptions::new(Arch::X86_64, "6.18".parse().unwrap());
    const SIZE: usize = MIB / 2;
    let rules = r#"{"defaultAction": "SCMP_ACT_ERRNO", "syscalls": ["#;
    for (name, text) in [
        ("zeros", text("[0", same(",0"), "]", SIZE)),
        ("lists", text("[0", same(",[]"), "]", SIZE)),
        ("lists of lists", text("[0", same(",[[0]]"), "]", SIZE)),
        ("escapes", text("[0", same(",\"\\n\""), "]", SIZE)),
        ("one string", text("\"", same("\\u00e9"), "\"", SIZE)),
        ("empty keys", text("{\"a\":0", same(",\"\":0"), "}", SIZE)),
        ("keys", text("{\"a\":0", |n| format!(",\"{n}\":0"), "}", SIZE)),
        ("newlines", text("{", same("\n"), "}", SIZE)),
        ("empty rules", text(rules, same("{},"), "{}]}", SIZE)),
    ] {
        let took = peak(|| oci::read(&text, &options));
        assert!(took < 24 * SIZE, "{name}: {took} bytes for {SIZE}");
    }
    // What is longer is refused before it takes more.
    let long = text("[0", same(",0"), "]", 16 * MIB);
    let took = peak(|| oci::read(&long, &options));
    assert!(took < 96 * MIB, "{took}");
}

#[test]
fn programs_have_a_limited_number_of_words() {
    for unit in [
        "a:",
        "{",
        "\n",
        "ret a\n",
        "$",
        "ja l\n",
        "6 ",
        "\\x06",
        "{ 6, 0, 0, 0 },",
        "(0) ret #0\n",
    ] {
        let text = text("", same(unit), "", 12 * MIB);
        let took = peak(|| callgate_bpf::text::parse(&text, Endian::Little));
        assert!(took < 96 * MIB, "{unit:?}: {took} bytes");
    }
}

/// One with hardly fewer words is read, whatever comes of it.
#[test]
fn the_longest_programs_take_a_quarter_of_a_gibibyte() {
    for unit in [
        "a:",
        "\n",
        "ret a\n",
        "ja l\n",
        "x y\n",
        "{ 6, 0, 0, 0 },",
        "(0) ret #0\n",
        "+{ 6, 0, 0, 0 },\n",
        "){",
        "{ = {",
        "BPF_STMT(6, a),\n",
        "#define a { a(\n",
        "ld #read\n",
        "A <- P[0:4]\n",
    ] {
        let tokens = unit.split_inclusive(|c: char| !c.is_alphanumeric()).count() + 4;
        let text = text("", same(unit), "", 1_800_000 / tokens * unit.len());
        let took = peak(|| callgate_bpf::text::parse(&text, Endian::Little));
        assert!(took < 256 * MIB, "{unit:?}: {took} bytes");
    }
}

/// Feeds a log of this size to a reader, in pieces.
fn feed(unit: impl Fn(usize) -> String, size: usize, mut push: impl FnMut(&[u8])) {
    let (mut written, mut number) = (0, 0);
    while written < size {
        let piece = text("", |n| unit(number + n), "", 4096);
        number += piece.matches('\n').count();
        written += piece.len();
        push(piece.as_bytes());
    }
}

/// Checks that a log of these lines takes as much memory as it has different syscalls and processes, however long it is.
fn log(unit: impl Fn(usize) -> String) {
    let options = recording::ReadOptions { arch: Arch::X86_64, strict: false, partial: false };
    let took = |size: usize| {
        let recording = peak(|| {
            let mut reader = recording::RecordingReader::new(&options);
            feed(&unit, size, |piece| reader.push(piece).unwrap());
            reader.finish()
        });
        let counts = peak(|| {
            let mut reader = counts::CountReader::new(Arch::X86_64, false);
            feed(&unit, size, |piece| reader.push(piece).unwrap());
            reader.finish()
        });
        recording.max(counts)
    };
    let (short, long) = (took(MIB), took(4 * MIB));
    assert!(long < short + MIB / 4, "{short} bytes for 1 MiB, {long} for 4 MiB");
    assert!(long < 16 * MIB, "{long}");
}

#[test]
fn logs_of_calls() {
    log(|n| format!("{} openat(AT_FDCWD, {n:#x}, 0) = 3\n", n % 7));
}

#[test]
fn logs_of_interrupted_calls() {
    log(|n| match n % 2 {
        0 => "7 read(3, <unfinished ...>\n".to_owned(),
        _ => "7 <... read resumed>1, 2) = 0\n".to_owned(),
    });
}

#[test]
fn logs_with_unknown_calls() {
    log(|n| format!("syscall_{:#x}(0) = 0\n", 5000 + n % 40_000));
    log(|n| format!("call{n}(0) = 0\n"));
}

#[test]
fn logs_of_audit_records() {
    log(|n| format!("type=1326 arch=c000003e syscall={} compat=0\n", n % 40_000));
    log(|n| format!("type=1326 arch={n:x} syscall=1 compat=0\n"));
}

#[test]
fn logs_of_counts() {
    log(|n| format!("read {n}\n"));
    log(|n| format!("reat{n} 1\n"));
}

#[test]
fn logs_without_calls() {
    log(|n| format!("[ 12.{n:06}] usb 1-1: new device\n"));
}
