//! Which lines belong to logs that have the denials of all programs: the kernel's log, the audit log and their journal.

/// Whether a line is an audit record of any type, a line of the kernel's log, or a mark of the journal. Such a log without denials
/// says that nothing was denied; other logs do not.
pub(super) fn is_of_kernel(line: &str) -> bool {
    const INSIDE: [&str; 8] = [
        "msg=audit(",
        "audit: type=",
        "]: SECCOMP ",
        " audit[",
        "\"_TRANSPORT\":\"kernel\"",
        "\"_TRANSPORT\":\"audit\"",
        "\"_TRANSPORT\" : \"kernel\"",
        "\"_TRANSPORT\" : \"audit\"",
    ];
    const AT_START: [&str; 7] = [
        "_TRANSPORT=kernel",
        "_TRANSPORT=audit",
        "-- No entries --",
        "-- Logs begin at ",
        "-- Journal begins at ",
        "-- Boot ",
        "<no matches>",
    ];
    INSIDE.iter().any(|text| line.contains(text))
        || AT_START.iter().any(|text| line.trim_start().starts_with(text))
        || is_of_dmesg(line)
        || is_of_syslog(line)
}

/// Whether a line is one of the kernel as syslog and the journal print it: a time, mostly the name of the host, `kernel: `. Other
/// programs may write these words, too: `error loading seccomp filter into kernel: …`.
fn is_of_syslog(line: &str) -> bool {
    let Some((before, _)) = line.split_once(" kernel: ") else { return false };
    // Between the time and this word, there may be a time zone and the name of the host.
    let mut words = before.rsplit(' ').take(3);
    words.any(is_time) || before.split(' ').next().is_some_and(is_seconds)
}

/// Whether a word has a time of day, or is one in seconds in brackets: `10:00:00`, `2026-01-02T10:00:00+0100`, `12.345678]`.
fn is_time(word: &str) -> bool {
    let is_clock = word.as_bytes().windows(8).any(|bytes| {
        let mut places = bytes.iter().enumerate();
        places.all(|(at, byte)| if at % 3 == 2 { *byte == b':' } else { byte.is_ascii_digit() })
    });
    is_clock || word.strip_suffix(']').is_some_and(|word| is_seconds(word.trim_start_matches('[')))
}

/// Whether a word is a time in seconds with its microseconds. Versions of kernels are not: `6.12`.
fn is_seconds(word: &str) -> bool {
    let parts = word.split_once('.');
    parts.is_some_and(|(whole, rest)| is_number(whole) && is_number(rest) && rest.len() == 6)
}

/// Whether a line starts as `dmesg` prints it: `[   12.345678] `, with `-T` `[Fri Jan  2 10:00:00 2026] `; with a level before it.
fn is_of_dmesg(line: &str) -> bool {
    let line = line.trim_start();
    let line = match line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        Some((level, rest)) if level.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => line,
    };
    // With -x, the facility and the level.
    let line = match line.split_once(": [") {
        Some((level, rest)) if level.starts_with("kern") && level.len() < 20 => rest,
        _ => match line.strip_prefix('[') {
            Some(rest) => rest,
            None => return false,
        },
    };
    let Some((time, _)) = line.split_once("] ") else { return false };
    let is_seconds = time
        .trim_start()
        .split_once('.')
        .is_some_and(|(seconds, rest)| [seconds, rest].iter().all(|part| is_number(part)));
    let is_date = time.len() == 24
        && time.starts_with(|c: char| c.is_ascii_uppercase())
        && time.bytes().filter(|byte| *byte == b':').count() == 2;
    is_seconds || is_date
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_of_the_kernel_are_recognized() {
        for line in [
            "[    0.000000] Linux version 6.12.0",
            "[12345.678901] usb 1-1: new device",
            "<6>[   12.345678] x",
            "kern  :info  : [   12.345678] x",
            "[Fri Jan  2 10:00:00 2026] x",
            "Jan 02 10:00:00 host kernel: x",
            "2026-01-02T10:00:00+0100 host kernel: x",
            "Fri 2026-01-02 10:00:00 CET host kernel: x",
            "[   12.345678] host kernel: x",
            "1767348000.123456 host kernel: x",
            "Jan 02 10:00:00 kernel: x",
            "type=SYSCALL msg=audit(1.2:3): arch=c000003e syscall=2",
            "type=PROCTITLE msg=audit(01/02/2026 10:00:00.123:3) : proctitle=sh",
            "audit: type=1400 audit(1.2:3): apparmor=\"DENIED\"",
            "{\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"x\"}",
            "-- No entries --",
        ] {
            assert!(is_of_kernel(line), "{line}");
        }
        for line in [
            "",
            "{ \"defaultAction\": \"SCMP_ACT_ERRNO\" }",
            "[error] 12: x",
            "[pid 12] x",
            "[12:30:45] x",
            // Of nsjail and other programs.
            "[2026-01-02T10:00:00+0000] [W][1] x",
            "Jan 02 10:00:00 host nginx[12]: x",
            "error loading seccomp filter into kernel: errno 524",
            "time=\"2026-01-02T10:00:00Z\" level=error msg=\"runc: error loading seccomp filter into kernel: errno 524\"",
            "read: 1",
            "booted the new 6.12 kernel: ok",
            "6.12 kernel: ok",
        ] {
            assert!(!is_of_kernel(line), "{line}");
        }
    }
}
