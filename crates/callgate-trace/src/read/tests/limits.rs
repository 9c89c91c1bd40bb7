//! Limits of time and memory for hostile texts.

use std::fmt::Write;

use super::*;
use crate::recording::limits::MAX_SYSCALLS;

#[test]
fn syscalls_beyond_the_limit_are_counted_as_lost() {
    let more = 5;
    let mut strace = String::new();
    let mut audit = String::new();
    for nr in 0..MAX_SYSCALLS + more {
        let _ = writeln!(strace, "syscall_{nr:#x}(0) = 0");
        let _ = writeln!(audit, "type=1326 arch=c000003e syscall={nr} compat=0");
    }
    for (log, syscalls) in
        [(strace + "close(3) = 0\n", MAX_SYSCALLS + 6), (audit, MAX_SYSCALLS + 5)]
    {
        let read = read(&log, &OPTIONS).unwrap();
        assert_eq!(read.recording.syscalls().len(), MAX_SYSCALLS);
        assert_eq!(read.recording.runs()[0].lost, more as u64);
        assert_eq!(read.recording.total() + read.recording.runs()[0].lost, syscalls as u64);
        assert_eq!(
            lines(&read.warnings),
            "16385:1: more than 16384 different syscalls, the limit; calls of further ones are counted as lost: 5"
        );
    }
}

#[test]
fn a_known_name_beyond_the_limit_is_lost_too() {
    let mut log = String::new();
    for nr in 1000..1000 + MAX_SYSCALLS {
        let _ = writeln!(log, "syscall_{nr:#x}(0) = 0");
    }
    log += &"close(3) = 0\nsyscall_0x3e8(0) = 0\n".repeat(3);
    let read = read(&log, &OPTIONS).unwrap();
    assert_eq!(read.recording.runs()[0].lost, 3);
    assert_eq!(read.recording.total(), MAX_SYSCALLS as u64 + 3);
    assert!(lines(&read.warnings).ends_with("are counted as lost: 3"));
}

#[test]
fn a_recording_in_json_has_limits() {
    let entry = |nr| format!("{{\"arch\": \"x86_64\", \"nr\": {nr}, \"count\": 1}}");
    let entries = |count| (0..count).map(entry).collect::<Vec<_>>().join(",\n");
    assert_eq!(
        read(&json(&entries(MAX_SYSCALLS)), &OPTIONS).unwrap().recording.syscalls().len(),
        MAX_SYSCALLS
    );
    let message = errors(&json(&entries(MAX_SYSCALLS + 2)));
    assert!(message.contains(":1: more than 16384 different syscalls, the limit"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    let runs = |count| {
        let runs = vec!["{}"; count].join(",");
        json(&entry(0)).replacen('{', &format!("{{\"runs\": [{runs}], "), 1)
    };
    assert_eq!(read(&runs(10_000), &OPTIONS).unwrap().recording.runs().len(), 10_000);
    let message = errors(&runs(10_001));
    assert!(message.contains("`runs` has 10001 items; the limit is 10000"), "{message}");
    let zeros = format!("{{\"calls\": [0{}]}}", ",0".repeat(2_000_000));
    let message = errors(&zeros);
    assert!(message.contains("the text exceeds the limit of 2000000 keys and values"), "{message}");
}

#[test]
fn unfinished_syscalls_are_limited() {
    let log = |processes: u32| {
        let mut log = String::new();
        for process in 1..=processes {
            let _ = writeln!(log, "{process} close(3 <unfinished ...>");
        }
        log
    };
    assert_eq!(counts(&quiet(&log(100_000))), "close×100000");
    let message = errors(&log(100_002));
    assert!(
        message
            .contains("100001:8: more than 100000 unfinished syscalls at the same time, the limit"),
        "{message}"
    );
    // So are the arguments that are kept: further values are not known.
    let long = "x".repeat(1 << 20);
    let mut log = String::new();
    for process in 1..=65 {
        let _ = writeln!(log, "{process} write(1, \"{long}\", 7 <unfinished ...>");
    }
    for process in 1..=65 {
        let _ = writeln!(log, "{process} <... write resumed>) = 7");
    }
    let recording = quiet(&log);
    let write = recording.get(x86_64("write")).unwrap();
    let observed = write.args().iter().map(|values| values.observed()).collect::<Vec<_>>();
    assert_eq!((write.count(), observed), (65, vec![63, 0, 63]));
}

#[test]
fn comparisons_of_resumed_syscalls_are_limited() {
    let log = |resumed: usize| {
        let mut log = String::new();
        for process in 1..=100_000 {
            let _ = writeln!(log, "{process} close(3 <unfinished ...>");
        }
        log + &"<... read resumed>) = 0\n".repeat(resumed)
    };
    // A syscall is compared with each of the 100,000.
    assert_eq!(counts(&quiet(&log(100))), "read×100 close×100000");
    assert_eq!(
        errors(&log(101)),
        "100101:1: more than 10000000 comparisons of resumed syscalls that name no process with unfinished ones, the \
         limit"
    );
}

#[test]
fn a_number_beyond_the_largest_process_is_a_time() {
    // strace --absolute-timestamps=unix
    let log = "1700000000 close(3 <unfinished ...>\n1700000001 <... close resumed>) = 0\n";
    assert_eq!(values(&quiet(log), x86_64("close")), [Some(vec![3])]);
}

#[test]
fn a_line_causes_at_most_one_message() {
    let long = "abcdefgh".repeat(1 << 17);
    for (line, message) in [
        (
            format!("{long}(1) = 0"),
            "1:1: \"abcdefghabcdefghabcdefghabcdefghabcdefgh…\" is not the name of a syscall; ignored",
        ),
        (format!("write(1, \"{long}\") = 8"), ""),
        (format!("close(1{}) = 0", ",1".repeat(1 << 19)), ""),
        ("]".to_owned() + &"[".repeat(1 << 20), "1:1: this line is not a syscall; skipped"),
    ] {
        let read = read(&(line + "\nclose(3) = 0\n"), &OPTIONS).unwrap();
        assert_eq!(lines(&read.warnings), message);
    }
}

#[test]
fn the_result_does_not_depend_on_the_pieces() {
    let texts = [
        full().to_json(),
        full().to_json().replacen('{', " \n\u{feff}\t{", 1),
        "[1, 2]".to_owned(),
        "[".to_owned(),
        "[ \n{\"a\": 1}]".to_owned(),
        "[pid 1] close(3) = 0\n[pid 2] reed(4) = 0".to_owned(),
        "type=1326 arch=c000003e syscall=3 compat=0\nclose(3) = 0\n".to_owned(),
        "close(3) = 0\ntype=1326 arch=c000003e syscall=3 compat=0\n".to_owned(),
        "read 1\nwrite é\n".to_owned(),
        " \n\n".to_owned(),
        String::new(),
    ];
    for text in texts {
        let whole = read(&text, &OPTIONS);
        for size in [1, 7, 1000] {
            let mut reader = RecordingReader::new(&OPTIONS);
            text.as_bytes().chunks(size).for_each(|piece| reader.push(piece).unwrap());
            assert_eq!(reader.finish(), whole, "{text:?} by {size}");
        }
    }
}

#[test]
fn json_may_be_one_long_line_up_to_the_limit() {
    let blanks = " ".repeat(17 << 20);
    let text = full().to_json().replacen('{', &format!("{{{blanks}"), 1);
    assert_eq!(read(&text, &OPTIONS).unwrap().recording, full());
    let mut reader = RecordingReader::new(&OPTIONS);
    let result = std::iter::once("{").chain(std::iter::repeat_n(blanks.as_str(), 4));
    let errors = result.map(|piece| reader.push(piece.as_bytes())).find_map(Result::err).unwrap();
    assert_eq!(lines(&errors), "1:1: this JSON is larger than 64 MiB, the limit for a recording");
}
