use super::*;
use crate::logs::lines::MAX_REJECTED_LINES;
use crate::read::{ReadOptions, read as read_recording};
use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_codegen::{Count, Weights};
use callgate_core::Arch;

fn counts(text: &str) -> Vec<(String, f64)> {
    let read = read(text, Arch::X86_64, false).unwrap();
    assert_eq!(read.warnings, []);
    read.counts.into_iter().map(|count| (count.name, count.count)).collect()
}

fn pairs(pairs: &[(&str, f64)]) -> Vec<(String, f64)> {
    pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
}

fn lines(messages: &[Diagnostic]) -> String {
    messages.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn errors(text: &str) -> String {
    lines(&read(text, Arch::X86_64, false).unwrap_err())
}

fn warnings(text: &str) -> String {
    lines(&read(text, Arch::X86_64, false).unwrap().warnings)
}

#[test]
fn two_columns_in_either_order() {
    let text = "\u{feff}# counts\r\nfutex\t870063\r\n\n  2.5 read\n\u{a0}1e3 write\nfutex 1\n";
    let expected = [("futex", 870_064.0), ("read", 2.5), ("write", 1000.0)];
    assert_eq!(counts(text), pairs(&expected));
}

#[test]
fn the_table_of_strace() {
    let text = "\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 61.11    0.000055          55         1           execve
 38.89    0.000035           5         7         2 openat
------ ----------- ----------- --------- --------- ----------------
100.00    0.000090          11         8         2 total
";
    assert_eq!(counts(text), pairs(&[("execve", 1.0), ("openat", 7.0)]));
    // Tables of several runs in one file, after the syscalls that strace -C lists.
    let listed = format!("brk(NULL) = 0x5581\nread 3 of 4 bytes\n{text}{text}");
    assert_eq!(counts(&listed), pairs(&[("execve", 2.0), ("openat", 14.0)]));
}

#[test]
fn a_table_in_a_document_may_be_numbered_and_incomplete() {
    let table = "\
30 % time seconds usecs/call calls errors syscall
31 ------ ----------- ----------- --------- --------- ----------------
32 62.10 431.7 496 870 46 futex
33 0.28 1.9 16 115 fstat
34 ...
35 ------ ----------- ----------- --------- --------- ----------------
36 100.00 695.3 447 1552 46 total
";
    let counted = |text: &str| -> Vec<(String, f64)> {
        let counts = read(text, Arch::X86_64, false).unwrap().counts;
        counts.into_iter().map(|count| (count.name, count.count)).collect()
    };
    let expected = pairs(&[("futex", 870.0), ("fstat", 115.0)]);
    assert_eq!(counted(table), expected);
    assert_eq!(warnings(table), "5:4: rows of the table are left out here");
    let plain: String = table.lines().map(|line| line.split_at(3).1.to_owned() + "\n").collect();
    assert_eq!(counted(&plain), expected);
    assert_eq!(warnings(&plain), "5:1: rows of the table are left out here");
}

#[test]
fn a_table_of_strace_with_selected_columns() {
    let text = "\
syscall               calls
---------------- ----------
execve                    1
openat                    7
---------------- ----------
total                     8
";
    let expected = pairs(&[("execve", 1.0), ("openat", 7.0)]);
    assert_eq!(counts(text), expected);
    // The column of errors may have any position, and is empty for syscalls that never failed.
    let text = "\
   errors syscall               calls % time
--------- ---------------- ---------- ------
          execve                    1  12.50
        2 openat                    7  87.50
--------- ---------------- ---------- ------
        2 total                     8 100.00
";
    assert_eq!(counts(text), expected);
    assert_eq!(
        errors("name calls\nread 1\n  write\n"),
        "3:3: expected 2 columns as in the header, found 1"
    );
}

const PERF: &str = "
 Summary of events:

 my server (worker) (22167), 162 events, 21.2%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   wait4                  5      1     5.384     0.017     1.077     5.258     97.08%
\t\t\t\tECHILD: 1
   clock_nanosleep   123456      0     0.431     0.017     0.027     0.038      5.38%


 ls (22168), 338 events, 44.2%

   syscall            calls  errors  total       min       avg       max       stddev
                                     (msec)    (msec)    (msec)    (msec)        (%)
   --------------- --------  ------ -------- --------- --------- ---------     ------
   wait4                 30      0     0.865     0.020     0.029     0.065      6.48%


";

#[test]
fn tables_of_perf_trace_add_up_over_threads() {
    let expected = [("wait4", 35.0), ("clock_nanosleep", 123_456.0)];
    assert_eq!(counts(PERF), pairs(&expected));
    let sums = [("clock_nanosleep".to_owned(), 123_456.0), ("wait4".to_owned(), 35.0)];
    let read = read(PERF, Arch::X86_64, false).unwrap().counts;
    assert_eq!(Weights::of(read).unwrap(), Weights::counts(sums).unwrap());
    // One table for all threads, as --summary-mode=total prints it.
    let total = PERF.replace("my server (worker) (22167), 162 events, 21.2%", "total, 162 events");
    assert_eq!(counts(&total), pairs(&expected));
    // With -S, the syscalls are listed first.
    let with_calls = format!(
        "     0.000 ( 0.018 ms): ls/22173 brk()    = 0x56376a4cd000\n\
                  ? (         ): ls/22173  ... [continued]: execve())   = 0\n{PERF}"
    );
    assert_eq!(counts(&with_calls), pairs(&expected));
    // Before Linux 4.12 there was no column for errors.
    let old = "
 dd (4242), 12 events, 66.7%

   syscall            calls    total       min       avg       max      stddev
                               (msec)    (msec)    (msec)    (msec)        (%)
   --------------- -------- --------- --------- --------- ---------     ------
   read                   3     0.005     0.000     0.002     0.004     62.28%

";
    assert_eq!(counts(old), pairs(&[("read", 3.0)]));
}

#[test]
fn a_damaged_table_is_an_error_with_its_position() {
    let cut = PERF.find("clock_nanosleep").unwrap();
    assert_eq!(errors(&PERF[..cut + 9]), "11:4: expected 8 columns as in the header, found 1");
    let negative = PERF.replace("123456 ", "-12345 ");
    assert_eq!(errors(&negative), "11:22: the count of clock_nanosleep is negative: -12345");
}

#[test]
fn a_count_outside_tables_is_reported_as_ignored() {
    let text = format!("read 5\nsomething else\n{PERF}write 7\n");
    assert_eq!(
        warnings(&text),
        "1:1: this looks like a count, but is outside the tables; ignored\n\
         24:1: this looks like a count, but is outside the tables; ignored"
    );
}

#[test]
fn errors_are_reported_with_their_position() {
    assert_eq!(
        errors("read 1\n write -3\nopen many\nclose\n7 8 9\nread nan\ninf write\nread 1e999\n+inf"),
        "2:8: the count of write is negative: -3\n\
         3:6: \"many\" is not a count\n\
         4:1: expected 2 columns, found 1\n\
         5:1: expected 2 columns, found 3\n\
         6:6: \"nan\" is not a count\n\
         7:5: \"write\" is not a count\n\
         8:6: the count of read is larger than 1.7e308, the limit: 1e999\n\
         9:1: expected 2 columns, found 1"
    );
    assert_eq!(errors(""), "1:1: no counts in this file");
    assert_eq!(errors("# nothing\n\n"), "1:1: no counts in this file");
    assert_eq!(errors("read 0\nwrite -0\n"), "1:1: every count in this file is 0");
    assert_eq!(errors("read 1\nwr\0te 2"), "2:3: not text: zero byte");
}

#[test]
fn unknown_names_are_warnings_or_errors() {
    let text = "read 1\nreed 2\nfrobnicate 3\n";
    let lenient = read(text, Arch::X86_64, false).unwrap();
    assert_eq!(lenient.counts.len(), 1);
    assert_eq!(
        lines(&lenient.warnings),
        "2:1: \"reed\" is not the name of a syscall; ignored\n\
         3:1: \"frobnicate\" is not the name of a syscall; ignored"
    );
    assert_eq!(lenient.warnings[0].help, "did you mean \"read\"?");
    assert_eq!(
        lines(&read(text, Arch::X86_64, true).unwrap_err()),
        "2:1: \"reed\" is not the name of a syscall\n\
         3:1: \"frobnicate\" is not the name of a syscall"
    );
    // Without any known name, there are no weights.
    assert_eq!(
        errors("reed 2"),
        "1:1: \"reed\" is not the name of a syscall; ignored\n\
         1:1: no counts in this file"
    );
}

#[test]
fn the_number_of_messages_is_limited() {
    let text = "read 1\n".to_owned() + &"x\n".repeat(100_000);
    let errors = read(&text, Arch::X86_64, false).unwrap_err();
    assert_eq!(errors.len(), 501);
    assert_eq!(errors[500].message, "99500 more errors are left out");
}

fn recording(syscalls: &str) -> String {
    format!("{{\"callgate\": \"recording\", \"version\": 1,\n \"calls\": [{syscalls}]}}")
}

#[test]
fn a_recording_counts_by_architecture() {
    let text = recording(
        r#"{"arch": "x86_64", "name": "read", "nr": 0, "count": 123, "args": [[1, 2]]},
           {"arch": "i386", "name": "read", "count": 9223372036854775807},
           {"arch": "x32", "nr": 1073741824, "count": 7}"#,
    );
    let count = |arch, count| Count { arch: Some(arch), name: "read".to_owned(), count };
    let expected =
        vec![count(Arch::X86_64, 123.0), count(Arch::X86, i64::MAX as f64), count(Arch::X32, 7.0)];
    let read = read(&text, Arch::X86_64, true).unwrap();
    assert_eq!((read.counts, read.warnings), (expected, vec![]));
    // What a later recorder adds is ignored.
    let text = text.replacen('{', "{\"command\": [\"ls\"], ", 1);
    assert_eq!(super::read(&text, Arch::X86_64, true).unwrap().counts.len(), 3);
}

#[test]
fn what_is_wrong_with_a_recording_is_said_with_its_place() {
    let syscalls = r#"
      {"arch": "x86_65", "name": "read", "count": 1},
      {"arch": "x86_64", "name": "read", "nr": 1, "count": 1},
      {"arch": "x86_64", "name": "read", "count": -1},
      {"arch": "x86_64", "name": "read", "count": 1.5},
      {"arch": "x86_64", "name": "read", "count": "many"},
      {"arch": "x86_64", "name": "read", "count": 1e300},
      {"arch": "x86_64", "count": 1},
      {"name": "read"},
      {"arch": "x86_64", "name": 3, "count": 1},
      {"arch": "x86_64", "name": "read", "name": "write", "count": 1},
      7"#;
    assert_eq!(
        errors(&recording(syscalls)),
        "3:16: `arch` must be an architecture, but is the string \"x86_65\"\n\
         4:48: `nr` is 1, but read is 0 on x86_64\n\
         5:51: `count` is -1, but must be an integer from 0 to 9223372036854775807\n\
         6:51: `count` is 1.5, but must be an integer from 0 to 9223372036854775807\n\
         7:51: `count` must be an integer, but is the string \"many\"\n\
         8:51: `count` is 1e300, but must be an integer from 0 to 9223372036854775807\n\
         9:7: missing `name` or `nr` in an item of `calls`\n\
         10:7: missing `arch` in an item of `calls`\n\
         10:7: missing `count` in an item of `calls`\n\
         11:34: `name` must be a string, but is the number 3\n\
         12:42: `name` is given twice, first at 12:26\n\
         13:7: each item of `calls` must be an object, but is the number 7"
    );
    assert_eq!(errors(&recording("")), "1:1: no counts in this file");
    let zero = r#"{"arch": "x86_64", "name": "read", "count": 0}"#;
    assert_eq!(errors(&recording(zero)), "1:1: every count in this file is 0");
}

#[test]
fn syscalls_that_an_architecture_does_not_have_are_ignored() {
    let syscalls = r#"{"arch": "x86_64", "name": "read", "count": 1},
      {"arch": "x86_64", "name": "socketcall", "count": 1},
      {"arch": "x86_64", "name": "reed", "count": 1},
      {"arch": "x86_64", "nr": 4000, "count": 1}"#;
    assert_eq!(
        warnings(&recording(syscalls)),
        "3:34: x86_64 has no syscall \"socketcall\"; ignored\n\
         4:34: \"reed\" is not the name of a syscall; ignored\n\
         5:32: x86_64 has no syscall with the number 4000; ignored"
    );
    assert_eq!(read(&recording(syscalls), Arch::X86_64, true).unwrap_err().len(), 3);
}

#[test]
fn other_json_is_not_a_recording() {
    let no = "this JSON is not a recording: missing `\"callgate\": \"recording\"`";
    for text in ["{}", "[]", "{\"defaultAction\": \"SCMP_ACT_ALLOW\"}", "[{\"callgate\": 1}]"] {
        assert_eq!(errors(text), format!("1:1: {no}"), "{text}");
    }
    assert_eq!(errors("{\"callgate\": \"profile\"}"), format!("1:14: {no}"));
    let versions = [
        ("2", "1:38: `version` is 2, but only version 1 is supported"),
        ("0", "1:38: `version` is 0, but only version 1 is supported"),
        ("\"1\"", "1:38: `version` must be an integer, but is the string \"1\""),
        ("null", "1:1: missing `version` in the recording"),
    ];
    for (version, message) in versions {
        let text =
            format!("{{\"callgate\": \"recording\", \"version\": {version}, \"calls\": []}}");
        assert_eq!(errors(&text), message);
    }
    let text = "{\"callgate\": \"recording\", \"version\": 1}";
    assert_eq!(errors(text), "1:1: missing `calls` in the recording");
    let whole = recording(r#"{"arch": "x86_64", "name": "read", "count": 1}"#);
    for cut in 1..whole.len() {
        let errors = read(&whole[..cut], Arch::X86_64, false).unwrap_err();
        assert!(errors[0].position.is_some(), "{cut}: {errors:?}");
    }
    let deep = "[".repeat(100_000);
    assert_eq!(errors(&deep), "1:513: nesting is deeper than the limit of 512 levels");
}

#[test]
fn logs_count_each_syscall() {
    let log = "1 read(0, 0x1, 5) = 1\n1 open(0x1, 0) = 3\n1 read(0, 0x1, 5) = 0\n";
    // Without an architecture, as in two columns: weights use the first one of the filter.
    let read = |arch| read(log, arch, false).unwrap();
    let counted: Vec<_> =
        read(Arch::X86_64).counts.into_iter().map(|one| (one.arch, one.name)).collect();
    assert_eq!(counted, [(None, "read".to_owned()), (None, "open".to_owned())]);
    assert_eq!(read(Arch::X86_64).counts[0].count, 2.0);
    let warned = lines(&read(Arch::Aarch64).warnings);
    assert!(warned.contains("aarch64 has no syscall \"open\""), "{warned}");
}

#[test]
fn records_of_syscalls_without_a_name_are_reported() {
    let record = |nr| {
        format!(
            "type=SECCOMP msg=audit(1:2): arch=c000003e syscall={nr} compat=0 ip=0x1 code=0x0\n"
        )
    };
    let both = record(0) + &record(4000);
    let read = |strict| read(&both, Arch::Aarch64, strict);
    let counts = read(false).unwrap();
    assert_eq!(lines(&counts.warnings), "x86_64 has no syscall with the number 4000");
    assert_eq!((counts.counts.len(), counts.counts[0].arch), (1, Some(Arch::X86_64)));
    assert!(read(true).is_err());
    assert_eq!(
        errors(&record(4000)),
        "x86_64 has no syscall with the number 4000\nno counts in this file"
    );
}

#[test]
fn the_result_does_not_depend_on_the_pieces() {
    let of_strace = "12 read(3, \"\", 1) = 0\nclose(3) = 0\n";
    for text in
        ["read 1\nwrite 2\nread 3\nreed 4\n", PERF, of_strace, "", "nothing here\n", "{\"a\": 1}"]
    {
        let whole = read(text, Arch::X86_64, false);
        for size in [1, 5, 64] {
            let mut reader = CountReader::new(Arch::X86_64, false);
            text.as_bytes().chunks(size).for_each(|piece| reader.push(piece).unwrap());
            assert_eq!(reader.finish(), whole, "{text:?} by {size}");
        }
    }
}

/// Integers take a shortcut after some lines, fractions do not.
#[test]
fn the_shortcut_for_repeated_counts_gives_the_same_result() {
    let lines =
        |count: &str| format!("read {count}\n{count} close\n\twrite {count}\r\n").repeat(400);
    let behind = [
        "",
        "reed 1\n",
        "how are you\n",
        "% time     seconds  usecs/call     calls    errors syscall\n 61.11 0.000055 55 1 execve\n",
        "close(3) = 0\n",
        "type=1326 arch=c000003e syscall=3 compat=0\n",
    ];
    for behind in behind {
        let [integers, fractions] = ["7", "7.0"].map(|count| {
            let before = format!("nothing is a call\n% time\ntotal\n{}", lines(count));
            let text = format!("{}{behind}{}", lines(count), lines(count));
            let options = ReadOptions { arch: Arch::X86_64, strict: false, partial: false };
            let all = [text, before + behind]
                .map(|text| (read(&text, Arch::X86_64, false), read_recording(&text, &options)));
            format!("{all:?}")
        });
        assert_eq!(integers, fractions, "{behind:?}");
    }
}

#[test]
fn a_text_with_too_many_rejected_lines_may_only_be_an_audit_log() {
    let names = "zz 1\n".repeat(MAX_REJECTED_LINES + 100_000);
    let counts = format!("read 1\n{names}read 1\n");
    let messages = read(&counts, Arch::X86_64, false).unwrap_err();
    let limit = "more than 1000000 lines are errors or have unknown names, the limit";
    assert!(messages.iter().any(|message| message.message == limit), "{:?}", messages.last());
    let record = "type=SECCOMP msg=audit(1.2:3): arch=c000003e syscall=165 compat=0 ip=0x7f00\n";
    let options = ReadOptions { arch: Arch::X86_64, strict: false, partial: false };
    let read = read_recording(&(counts + record), &options).unwrap();
    assert_eq!(read.recording.total(), 1);
}

#[test]
fn a_strace_log_with_too_many_unknown_names_is_an_error() {
    let log: String =
        (0..MAX_REJECTED_LINES + 100_000).map(|nr| format!("zz{nr}() = 0\n")).collect();
    let options = ReadOptions { arch: Arch::X86_64, strict: false, partial: false };
    let messages = read_recording(&format!("close(3) = 0\n{log}"), &options).unwrap_err();
    let limit = "more than 1000000 lines are errors or have unknown names, the limit";
    let given_up = messages.iter().find(|message| message.message == limit).unwrap();
    assert_eq!(given_up.position, Some(Position { line: 1_000_002, column: 1 }));
}

#[test]
fn an_audit_log_with_too_many_unknown_names_is_an_error() {
    let record = |name| format!("type=SECCOMP msg=audit(1.2:3): arch=c000003e syscall={name} \n");
    let log = record("165") + &record("zz").repeat(MAX_REJECTED_LINES + 2) + &record("166");
    let options = ReadOptions { arch: Arch::X86_64, strict: false, partial: false };
    let messages = read_recording(&log, &options).unwrap_err();
    let limit = "more than 1000000 lines are errors or have unknown names, the limit";
    let given_up = messages.iter().find(|message| message.message == limit).unwrap();
    assert_eq!(given_up.position, Some(Position { line: 1_000_003, column: 1 }));
}
