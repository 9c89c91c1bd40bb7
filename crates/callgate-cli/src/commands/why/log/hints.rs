//! Hints for a log that lacks the wanted denial.

use callgate_bpf::syscalls::is_known_name;
use callgate_trace::denials::{DenialLog, SecurityModule, UnreadLine};

/// Where the record of a denial is. Records that auditd receives are not in the kernel's ring buffer.
const RECORDS: &str = "find the record of the kernel: `journalctl -k --grep type=1326` or `dmesg | grep type=1326`; if \
                       auditd runs, only `ausearch -m SECCOMP` has it";

/// How to see denials that have no record.
const WITHOUT_RECORD: &str = "syscalls that fail with an errno have no record, unless the filter is installed with \
                              SECCOMP_FILTER_FLAG_LOG: log the program with `strace -f -o LOG CMD`, or `callgate record -- CMD`";

/// What to do to get a log that can be read.
pub(super) fn next() -> String {
    format!("{RECORDS}; {WITHOUT_RECORD}")
}

/// What shows the syscall of an app that Android ended.
const ANDROID: &str = "the crash dump names the syscall, in the line \"Cause:\" and in the registers below it: `adb logcat -b crash -d`, or \
                       /data/tombstones; give it to callgate why";

/// What to do next about the lines that were not read.
pub(super) fn next_of(log: &DenialLog) -> String {
    let Some(first) = log.unread.lines.first() else { return next() };
    if first.why.starts_with("gVisor") {
        return "see https://gvisor.dev/docs/user_guide/compatibility/ for the syscalls that gVisor has".to_owned();
    }
    if first.why.starts_with("no filter denied this") {
        return match first.why.contains("uid_map") {
            true => "see the sections about mappings in user_namespaces(7), and newuidmap(1)",
            false => "no change to a seccomp profile helps",
        }
        .to_owned();
    }
    if first.text.contains("Fatal signal 31 (SIGSYS)") {
        return ANDROID.to_owned();
    }
    let has_error = |line: &UnreadLine| {
        let text = line.text.to_ascii_lowercase();
        ["operation not permitted", "permission denied", "function not implemented"]
            .iter()
            .any(|error| text.contains(error))
    };
    // Which syscall to ask about, if the reason names one.
    let asked = first.why.split_once("callgate why SOURCE ").map(|(_, rest)| rest);
    let asked = asked.and_then(|rest| rest.split([' ', ';']).next());
    if let Some(name) = asked.filter(|name| *name != "SYSCALL" && is_known_name(name)) {
        return format!(
            "`callgate why {name}` says what the usual profiles do with it; or strace names the syscall: `strace -f -o LOG CMD`, and then \
             `callgate why SOURCE --from LOG`"
        );
    }
    if has_error(first) || first.why.contains("strace -f") {
        return "strace names the syscall: `strace -f -o LOG CMD`, and then `callgate why SOURCE --from LOG`".to_owned();
    }
    let mut deaths = log.unread.lines.iter().filter_map(|line| Death::of(&line.text));
    deaths.next().map_or_else(next, |death| death.next())
}

/// The end of a process by SIGSYS, as systemd and its dumps of memory report it.
#[derive(Debug, PartialEq, Eq)]
struct Death<'t> {
    unit: Option<&'t str>,
    process: Option<u32>,
    has_dump: bool,
}

impl<'t> Death<'t> {
    fn of(text: &'t str) -> Option<Death<'t>> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let at = |wanted: &str| words.iter().position(|word| *word == wanted);
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u32>().ok());
        // `TIME PID UID GID SIGSYS present EXE` of coredumpctl.
        let row = at("SIGSYS").and_then(|at| at.checked_sub(3)).and_then(number);
        // Of the end of a process as an audit record, and of nsjail.
        let of_field = words
            .iter()
            .find_map(|word| word.strip_prefix("pid=")?.trim_end_matches(',').parse::<u32>().ok());
        let is_death = row.is_some()
            || of_field.is_some()
            || ["31/SYS", "signal=SYS", "31 (SYS)"].iter().any(|part| text.contains(part));
        if !is_death {
            return None;
        }
        const KINDS: [&str; 5] = [".service", ".scope", ".socket", ".mount", ".swap"];
        let is_unit =
            |word: &&str| !word.contains('/') && KINDS.iter().any(|kind| word.ends_with(kind));
        let unit = words.iter().map(|word| word.trim_end_matches([':', ','])).find(is_unit);
        let named = ["Process:", "PID:", "Process"].iter().find_map(|name| number(at(name)? + 1));
        let has_dump = row.is_some() && text.contains("present")
            || text.contains("dumped")
            || text.contains("31 (SYS)");
        Some(Death { unit, process: row.or(named).or(of_field), has_dump })
    }

    fn next(&self) -> String {
        let mut next = Vec::new();
        next.push(match self.process {
            Some(process) => format!(
                "the kernel's record names the syscall: `ausearch -m SECCOMP -p {process}`, or without auditd `journalctl -k --grep \
                 'type=1326.* pid={process} '`; give it to callgate why"
            ),
            None => "the kernel's record names the syscall: `ausearch -m SECCOMP`, or without auditd `journalctl -k --grep type=1326`; \
                     give it to callgate why"
                .to_owned(),
        });
        if let (true, Some(process)) = (self.has_dump, self.process) {
            next.push(format!(
                "the dump of memory has it, too: `coredumpctl debug {process}`, and there `p $_siginfo`"
            ));
        }
        next.push(match self.unit {
            Some(unit) => format!(
                "then `callgate why {unit} SYSCALL` shows whether SystemCallFilter= of the unit denies it; otherwise the program \
                 installed a filter itself"
            ),
            None => "then `callgate why NAME.service SYSCALL` shows whether SystemCallFilter= of its unit denies it; otherwise the \
                     program installed a filter itself"
                .to_owned(),
        });
        next.join("; ")
    }
}

/// The hint for a log without denials: where the kernel writes them and when it does not, or the security modules that denied
/// something. `None` if the log has a denial, or if the kernel does not write to such a log.
pub(super) fn after_none(log: &DenialLog) -> Option<String> {
    let is_without = log.denials.is_empty() && log.unread.count == 0;
    if !is_without || !log.is_of_kernel || log.logged > 0 {
        return None;
    }
    if !log.other.is_empty() {
        let hints: Vec<&str> = log.other.iter().map(|one| of_module(one.module)).collect();
        return Some(format!(
            "a seccomp profile does not change what these modules deny: {}",
            hints.join("; ")
        ));
    }
    Some(format!(
        "if a denial is missing, {RECORDS}; the kernel writes no records if /proc/cmdline has `audit=0`; it writes none for \
         actions that `sysctl kernel.seccomp.actions_logged` does not list; {WITHOUT_RECORD}"
    ))
}

/// What shows the reason for a denial by a module.
fn of_module(module: SecurityModule) -> &'static str {
    match module {
        SecurityModule::AppArmor => {
            "for AppArmor, `aa-status` lists the profiles, and `aa-logprof` proposes rules"
        }
        SecurityModule::Selinux => {
            "for SELinux, `ausearch -m AVC,USER_AVC | audit2why` explains them"
        }
        SecurityModule::Smack => "for Smack, the rules are in /sys/fs/smackfs/load2",
        SecurityModule::Landlock => {
            "for Landlock, the program or what started it restricted itself: see its documentation"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_and_the_process_are_named_where_the_line_has_them() {
        for (text, unit, process, has_dump) in [
            (
                "systemd[1]: app.service: Main process exited, code=killed, status=31/SYS",
                Some("app.service"),
                None,
                false,
            ),
            ("Process: 12 ExecStart=/bin/app (code=dumped, signal=SYS)", None, Some(12), true),
            ("Main PID: 7 (code=killed, signal=SYS)", None, Some(7), false),
            (
                "Fri 2026-01-02 10:00:00 CET 12 1000 1001 SIGSYS present /usr/bin/app 48.1K",
                None,
                Some(12),
                true,
            ),
            (
                "systemd-coredump[9]: Process 12 (app) of user 1000 terminated abnormally with signal 31/SYS, processing...",
                None,
                Some(12),
                false,
            ),
            (
                "type=ANOM_ABEND msg=audit(1.2:3): auid=1 ses=1 subj=docker-default pid=12 comm=\"a\" exe=\"/a\" sig=31 res=1",
                None,
                Some(12),
                false,
            ),
            (
                "[W][7] void seccompViolation():288 pid=12, SiSyscall: 31, SiCode: 2, SP: 0, PC: 0",
                None,
                Some(12),
                false,
            ),
        ] {
            let expected = Death { unit, process, has_dump };
            assert_eq!(Death::of(text), Some(expected), "{text}");
        }
        assert_eq!(Death::of("SIGSYS: bad system call"), None);
        assert_eq!(Death::of("app.service: Main process exited, status=9/KILL"), None);
    }
}
