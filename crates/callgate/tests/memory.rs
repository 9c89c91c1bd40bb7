//! How much memory readers take for inputs that are made to take much. An allocator counts, so the figures are
//! the same on every machine. The tests of this file run one after the other, in one test, because they share it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use callgate::frontend::oci;
use callgate::{Arch, Endian, bpf};
use callgate::{counts, read as recording};

/// Counts the bytes that are allocated.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grown(bytes: usize) {
    let now = NOW.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(now, Relaxed);
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's promises are those that the system's allocator wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() {
            grown(size - layout.size());
        } else {
            NOW.fetch_sub(layout.size() - size, Relaxed);
        }
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that were allocated at a time meanwhile, beside those before.
fn peak<T>(run: impl FnOnce() -> T) -> usize {
    let before = NOW.load(Relaxed);
    PEAK.store(before, Relaxed);
    drop(run());
    PEAK.load(Relaxed) - before
}

const MIB: usize = 1 << 20;

/// A text of so many bytes: a head, a unit again and again, and a tail.
fn text(head: &str, unit: impl Fn(usize) -> String, tail: &str, size: usize) -> String {
    let mut text = head.to_owned();
    for number in 0.. {
        if text.len() >= size {
            break;
        }
        text += &unit(number);
    }
    text + tail
}

fn same(unit: &'static str) -> impl Fn(usize) -> String {
    move |_| unit.to_owned()
}

/// What a profile takes for each byte of its text.
fn profiles() {
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

/// A program as text has as many words at the most as fit into this.
fn programs() {
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
        let took = peak(|| bpf::text::parse(&text, Endian::Little));
        assert!(took < 96 * MIB, "{unit:?}: {took} bytes");
    }
}

/// One with hardly fewer words is read, whatever comes of it.
fn long_programs() {
    for unit in ["a:", "\n", "ret a\n", "ja l\n", "x y\n", "{ 6, 0, 0, 0 },", "(0) ret #0\n"] {
        let tokens = unit.split_inclusive(|c: char| !c.is_alphanumeric()).count() + 4;
        let text = text("", same(unit), "", 1_800_000 / tokens * unit.len());
        let took = peak(|| bpf::text::parse(&text, Endian::Little));
        assert!(took < 256 * MIB, "{unit:?}: {took} bytes");
    }
}

/// A log takes as much memory as it has different calls and processes, however long it is.
fn logs() {
    let options = recording::ReadOptions { arch: Arch::X86_64, strict: false, partial: false };
    let of = |unit: &dyn Fn(usize) -> String, size: usize| {
        let recording = peak(|| {
            let mut reader = recording::RecordingReader::new(&options);
            let (mut written, mut number) = (0, 0);
            while written < size {
                let piece = text("", |n| unit(number + n), "", 4096);
                number += piece.matches('\n').count();
                written += piece.len();
                reader.push(piece.as_bytes()).unwrap();
            }
            reader.finish()
        });
        let counts = peak(|| {
            let mut reader = counts::CountReader::new(Arch::X86_64, false);
            let (mut written, mut number) = (0, 0);
            while written < size {
                let piece = text("", |n| unit(number + n), "", 4096);
                number += piece.matches('\n').count();
                written += piece.len();
                reader.push(piece.as_bytes()).unwrap();
            }
            reader.finish()
        });
        recording.max(counts)
    };
    let units: [(&str, &dyn Fn(usize) -> String); 9] = [
        ("calls", &|n| format!("{} openat(AT_FDCWD, {n:#x}, 0) = 3\n", n % 7)),
        ("interrupted calls", &|n| {
            if n % 2 == 0 {
                "7 read(3, <unfinished ...>\n".to_owned()
            } else {
                "7 <... read resumed>1, 2) = 0\n".to_owned()
            }
        }),
        ("unknown numbers", &|n| format!("syscall_{:#x}(0) = 0\n", 5000 + n % 40_000)),
        ("unknown names", &|n| format!("call{n}(0) = 0\n")),
        ("records", &|n| format!("type=1326 arch=c000003e syscall={} compat=0\n", n % 40_000)),
        ("unknown architectures", &|n| format!("type=1326 arch={n:x} syscall=1 compat=0\n")),
        ("counts", &|n| format!("read {n}\n")),
        ("unknown counts", &|n| format!("reat{n} 1\n")),
        ("words", &|n| format!("[ 12.{n:06}] usb 1-1: new device\n")),
    ];
    for (name, unit) in units {
        let (short, long) = (of(unit, MIB), of(unit, 4 * MIB));
        assert!(long < short + MIB / 4, "{name}: {short} bytes for 1 MiB, {long} for 4 MiB");
        assert!(long < 16 * MIB, "{name}: {long}");
    }
}

#[test]
fn memory_is_bounded() {
    profiles();
    programs();
    long_programs();
    logs();
}
