//! Audit records that are not about seccomp: denials by security modules, and syscalls that failed.
//!
//! | module | example |
//! |---|---|
//! | AppArmor | `type=AVC msg=audit(…): apparmor="DENIED" operation="open" profile="docker-default" name="/x" …` |
//! | SELinux | `type=AVC msg=audit(…): avc:  denied  { write } for … scontext=… tcontext=… tclass=file permissive=0` |
//! | Smack | `type=AVC msg=audit(…): lsm=SMACK fn=smack_inode_permission action=denied subject="a" object="b" …` |
//! | Landlock | `type=LANDLOCK_ACCESS msg=audit(…): domain=195ba459b blockers=fs.refer path="/x" …` |
//!
//! What a module only would have denied (`apparmor="ALLOWED"`, `permissive=1`) is not a denial.
//!
//! A record of a failed syscall (`type=SYSCALL … success=no`) is never about a syscall that a filter denied: the kernel runs
//! the filters first, and starts the audit of the syscall only if they let it through. Sources: `syscall_trace_enter` in
//! `kernel/entry/common.c` and its predecessors in `arch`, `__audit_syscall_exit` in `kernel/auditsc.c`;
//! `aa_audit_msg` in `security/apparmor/audit.c`, `avc_audit_pre_callback` in `security/selinux/avc.c`, `smack_log_callback`
//! in `security/smack/smack_access.c`, `landlock_log_denial` in `security/landlock/audit.c`; `audit_type_to_string` in systemd.

use callgate_formats::diagnostics::quote::shorten;

use super::model::{OtherDenials, SecurityModule, kept};
use super::tally::{Counts, Origin};
use crate::logs::audit_fields::{decoded, fields, journal_message};
use crate::logs::lines::AnyOf;
use crate::logs::markers::record_type;

/// Each of these records contains one of these texts.
const MARKS: [&str; 5] = ["apparmor=", "avc:", "lsm=SMACK", "blockers=", "success=no"];

/// The types of these records, by their numbers and names.
const TYPES: [(Type, &str, &str); 4] = [
    (Type::Access, "1400", "AVC"),
    (Type::Access, "1107", "USER_AVC"),
    (Type::Landlock, "1423", "LANDLOCK_ACCESS"),
    (Type::Syscall, "1300", "SYSCALL"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    /// An access that a module checked.
    Access,
    Landlock,
    Syscall,
}

/// What a record says.
enum Said {
    /// A module denied an access, and which one.
    Denied(SecurityModule, String),
    /// A syscall failed.
    Failed,
}

/// The denials of one module.
struct OfModule {
    counts: Counts,
    first: OtherDenials,
}

/// Counts these records.
pub(super) struct OtherRecords {
    marks: AnyOf,
    /// In the order of the log.
    modules: Vec<OfModule>,
    failed: Counts,
}

impl OtherRecords {
    pub(super) fn new() -> OtherRecords {
        let (modules, failed) = (Vec::new(), Counts::default());
        OtherRecords { marks: AnyOf::new(&MARKS), modules, failed }
    }

    /// Reads a line; returns whether it is such a record.
    pub(super) fn line(&mut self, number: u64, line: &str) -> bool {
        if !self.marks.is_in(line.as_bytes()) {
            return false;
        }
        // A program writes the other fields of an entry, and a record of seccomp has texts of programs, too.
        let message = journal_message(line);
        let text = message.as_deref().unwrap_or(line);
        let found = match record_type(text) {
            Some((kind, record)) => with_type(kind, record),
            None => of_journal(text),
        };
        let Some((kind, record, origin)) = found else { return false };
        match said(kind, record) {
            Some(Said::Failed) => self.failed.add(origin),
            Some(Said::Denied(module, what)) => {
                let known = self.modules.iter().position(|one| one.first.module == module);
                let at = known.unwrap_or_else(|| {
                    let text = kept(line);
                    let first = OtherDenials { module, count: 0, line: number, what, text };
                    self.modules.push(OfModule { counts: Counts::default(), first });
                    self.modules.len() - 1
                });
                if let Some(module) = self.modules.get_mut(at) {
                    module.counts.add(origin);
                }
            }
            None => return false,
        }
        true
    }

    /// The denials by each module, and the number of failed syscalls.
    pub(super) fn finish(self) -> (Vec<OtherDenials>, u64) {
        let counted = |one: OfModule| OtherDenials { count: one.counts.count(), ..one.first };
        (self.modules.into_iter().map(counted).collect(), self.failed.count())
    }
}

/// A record of the audit daemon or of the kernel's log.
fn with_type<'r>(kind: &str, record: &'r str) -> Option<(Type, &'r str, Origin)> {
    let number = kind.strip_prefix("UNKNOWN[").and_then(|rest| rest.strip_suffix(']'));
    let is_of =
        |(_, nr, name): &&(Type, &str, &str)| kind == *name || number.unwrap_or(kind) == *nr;
    let (kind, ..) = TYPES.iter().find(is_of)?;
    Some((*kind, record, Origin::Other))
}

/// A record in the format of the journal, which starts a message with the type: `AVC apparmor=…`, or `AUDIT1400 …` if
/// the journal does not know its name.
fn of_journal(line: &str) -> Option<(Type, &str, Origin)> {
    let message = message_of_audit(line);
    TYPES.iter().find_map(|(kind, nr, name)| {
        let names = [(*name).to_owned(), format!("AUDIT{nr}"), format!("<audit-{nr}>")];
        let rest = names.iter().find_map(|name| message.strip_prefix(name.as_str()))?;
        rest.starts_with(' ').then_some((*kind, rest, Origin::Journal))
    })
}

/// The message of a line, if that is one of the audit: `… host audit[7]: MESSAGE`, `MESSAGE=…` in the export format, a line of
/// an entry in JSON, or the message alone.
fn message_of_audit(line: &str) -> &str {
    let line = line.trim_start();
    let starts = ["MESSAGE=", "\"MESSAGE\" : \"", "\"MESSAGE\":\""];
    if let Some(message) = starts.iter().find_map(|start| line.strip_prefix(start)) {
        return message;
    }
    // What follows the first colon is written by the program that is named before it.
    match line.split_once(": ") {
        Some((before, message)) => {
            let identifier = before.rsplit(' ').next().unwrap_or_default();
            let is_audit = identifier == "audit"
                || identifier.strip_prefix("audit[").is_some_and(|pid| pid.ends_with(']'));
            if is_audit { message } else { line }
        }
        None => line,
    }
}

fn said(kind: Type, record: &str) -> Option<Said> {
    match kind {
        Type::Syscall => (field(record, "success")? == "no").then_some(Said::Failed),
        Type::Landlock => {
            let what = parts(record, [("", "blockers"), ("domain ", "domain")]);
            Some(Said::Denied(SecurityModule::Landlock, what))
        }
        Type::Access => {
            // What programs report is in quotes.
            let record = record.split_once("msg='").map_or(record, |(_, message)| message);
            apparmor(record).or_else(|| selinux(record)).or_else(|| smack(record))
        }
    }
}

fn apparmor(record: &str) -> Option<Said> {
    let verdict = field(record, "apparmor")?;
    let what = || parts(record, [("", "operation"), ("profile ", "profile")]);
    (verdict == "DENIED").then(|| Said::Denied(SecurityModule::AppArmor, what()))
}

fn selinux(record: &str) -> Option<Said> {
    let (_, rest) = record.split_once("avc:")?;
    let rest = rest.trim_start().strip_prefix("denied")?;
    // In JSON, other text follows.
    if field(rest, "permissive").is_some_and(|value| value.starts_with('1')) {
        return None;
    }
    let permissions = rest
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'))
        .map(|(inside, _)| shorten(inside.trim()));
    // user:role:type:level; the rules are about types.
    let domain = field(rest, "scontext").and_then(|context| context.split(':').nth(2).map(shorten));
    let mut what: Vec<String> = permissions.into_iter().collect();
    what.extend(domain.map(|domain| format!("domain {domain}")));
    what.extend(field(rest, "tclass").map(|class| format!("class {}", shorten(&class))));
    Some(Said::Denied(SecurityModule::Selinux, what.join(", ")))
}

fn smack(record: &str) -> Option<Said> {
    if field(record, "lsm")? != "SMACK" || field(record, "action")? != "denied" {
        return None;
    }
    let what = parts(record, [("", "fn"), ("subject ", "subject")]);
    Some(Said::Denied(SecurityModule::Smack, what))
}

/// The fields that a record has, each after its text.
fn parts(record: &str, keys: [(&str, &str); 2]) -> String {
    let part = |(before, key): (&str, &str)| {
        field(record, key).map(|value| format!("{before}{}", shorten(&value)))
    };
    keys.into_iter().filter_map(part).collect::<Vec<String>>().join(", ")
}

/// The first value of a key, without quotes.
fn field(record: &str, key: &str) -> Option<String> {
    let value = fields(record, key).next()?;
    let value = value.strip_suffix('\'').unwrap_or(value);
    Some(decoded(value, false).into_owned())
}

#[cfg(test)]
mod tests {
    use crate::denials::{DenialLog, DenialReader};
    use callgate_core::Arch;

    fn read(log: &str) -> DenialLog {
        let mut reader = DenialReader::new(Arch::X86_64, |_| Some(0));
        reader.push(log.as_bytes());
        reader.finish()
    }

    fn by_modules(log: &str) -> Vec<(&'static str, u64, u64, String)> {
        let log = read(log);
        assert!(log.is_recognized && log.is_of_kernel, "{log:?}");
        assert_eq!((log.denials.len(), log.unread.count), (0, 0), "{log:?}");
        log.other.into_iter().map(|one| (one.module.id(), one.count, one.line, one.what)).collect()
    }

    const APPARMOR: &str = "apparmor=\"DENIED\" operation=\"open\" class=\"file\" profile=\"docker-default\" \
                            name=\"/proc/kcore\" pid=2311 comm=\"cat\" requested_mask=\"r\" denied_mask=\"r\" fsuid=0 ouid=0";
    const SELINUX: &str = "avc:  denied  { write } for  pid=97102 comm=\"httpd\" name=\"bus\" dev=\"tmpfs\" ino=15 \
                           scontext=system_u:system_r:httpd_t:s0 tcontext=system_u:object_r:tmp_t:s0 tclass=sock_file permissive=0";
    const SMACK: &str = "lsm=SMACK fn=smack_inode_permission action=denied subject=\"App\" object=\"_\" requested=w pid=9 \
                         comm=\"app\" name=\"x\" dev=\"sda1\" ino=7";
    const LANDLOCK: &str =
        "domain=195ba459b blockers=fs.write_file path=\"/etc/passwd\" dev=\"vda2\" ino=351";

    /// As the kernel, auditd, the journal and ausearch write them.
    #[test]
    fn denials_by_modules_are_counted() {
        for (module, message, nr, name, what) in [
            ("apparmor", APPARMOR, 1400, "AVC", "open, profile docker-default"),
            ("selinux", SELINUX, 1400, "AVC", "write, domain httpd_t, class sock_file"),
            ("smack", SMACK, 1400, "AVC", "smack_inode_permission, subject App"),
            ("landlock", LANDLOCK, 1423, "LANDLOCK_ACCESS", "fs.write_file, domain 195ba459b"),
        ] {
            let escaped = message.replace('"', "\\\"");
            for line in [
                format!("[   41.230412] audit: type={nr} audit(1706780000.123:45): {message}\n"),
                format!("kernel: type={nr} audit(1706780000.123:45): {message}\n"),
                format!("Feb 01 10:00:00 host kernel: audit: type={nr} audit(1.2:3): {message}\n"),
                format!("type={name} msg=audit(1706780000.123:45): {message}\n"),
                format!("node=a type=UNKNOWN[{nr}] msg=audit(1706780000.123:45): {message}\n"),
                format!("type={name} msg=audit(02/01/2024 10:00:00.123:45) : {message} \n"),
                format!("Feb 01 10:00:00 host audit[2311]: {name} {message}\n"),
                format!("Feb 01 10:00:00 host audit[2311]: AUDIT{nr} {message}\n"),
                format!(
                    "{{\"_TRANSPORT\":\"audit\",\"MESSAGE\":\"{name} {escaped}\",\"_PID\":\"7\"}}\n"
                ),
                format!(
                    "{{\"MESSAGE\":\"audit: type={nr} audit(1.2:3): {escaped}\",\"_PID\":\"7\"}}\n"
                ),
                format!("MESSAGE={name} {message}\n"),
            ] {
                assert_eq!(by_modules(&line), [(module, 1, 1, what.to_owned())], "{line}");
            }
        }
    }

    #[test]
    fn each_module_has_its_count_and_its_first_line() {
        let log = format!(
            "x\ntype=AVC msg=audit(1.2:3): {APPARMOR}\ntype=AVC msg=audit(1.2:4): {SELINUX}\n\
             type=AVC msg=audit(1.2:5): {}\n",
            APPARMOR.replace("docker-default", "b")
        );
        let apparmor = ("apparmor", 2, 2, "open, profile docker-default".to_owned());
        let selinux = ("selinux", 1, 3, "write, domain httpd_t, class sock_file".to_owned());
        assert_eq!(by_modules(&log), [apparmor, selinux]);
        // The journal has a record in both formats.
        let both = format!(
            "host kernel: audit: type=1400 audit(1.2:3): {APPARMOR}\nhost audit[1]: AVC {APPARMOR}\n"
        );
        assert_eq!(by_modules(&both)[0].1, 1);
    }

    #[test]
    fn reports_of_programs_are_of_their_modules() {
        let dbus = "type=USER_AVC msg=audit(1.2:3): pid=962 uid=81 auid=4294967295 ses=4294967295 subj=dbusd_t \
                    msg='avc:  denied  { send_msg } for  scontext=u:r:script_t:s0 tcontext=u:r:locale_t:s0 tclass=dbus \
                    permissive=0 exe=\"/usr/bin/dbus-broker\" sauid=81 hostname=? addr=? terminal=?'\u{1d}UID=\"dbus\"\n";
        let what = "send_msg, domain script_t, class dbus".to_owned();
        assert_eq!(by_modules(dbus), [("selinux", 1, 1, what)]);
        let snap = "Feb 01 10:00:00 host audit[700]: USER_AVC pid=700 uid=103 auid=4294967295 ses=4294967295 subj=unconfined \
                    msg='apparmor=\"DENIED\" operation=\"dbus_method_call\"  bus=\"system\" label=\"snap.a\"'\n";
        assert_eq!(by_modules(snap), [("apparmor", 1, 1, "dbus_method_call".to_owned())]);
    }

    /// What was only logged, and texts of programs.
    #[test]
    fn other_records_of_modules_are_no_denials() {
        for message in [
            APPARMOR.replace("DENIED", "ALLOWED"),
            APPARMOR.replace("DENIED", "AUDIT"),
            "apparmor=\"STATUS\" operation=\"profile_load\" profile=\"unconfined\" name=\"a\""
                .to_owned(),
            SELINUX.replace("permissive=0", "permissive=1"),
            SELINUX.replace("denied", "granted"),
            SMACK.replace("denied", "granted"),
        ] {
            assert_eq!(by_modules(&format!("type=AVC msg=audit(1.2:3): {message}\n")), []);
            let json = message.replace('"', "\\\"");
            assert_eq!(
                by_modules(&format!("{{\"_TRANSPORT\":\"audit\",\"MESSAGE\":\"AVC {json}\"}}\n")),
                []
            );
        }
        let said = format!("Feb 01 10:00:00 host app[7]: user said: AVC {APPARMOR}\n");
        let found = read(&said);
        assert!(found.other.is_empty() && !found.is_recognized, "{found:?}");
        let sudo = format!(
            "Jan 02 10:00:00 host kernel: x\nhost sudo[7]: root : COMMAND=/bin/grep {APPARMOR}\n"
        );
        assert_eq!(by_modules(&sudo), []);
    }

    /// A denied program chooses its own name and arguments.
    #[test]
    fn denials_by_seccomp_with_texts_of_other_records_are_read() {
        let fields = "auid=0 uid=0 gid=0 ses=1 pid=7 comm=\"x\" exe=\"/x\" sig=31 arch=c000003e syscall=101 compat=0 ip=0x7f \
                      code=0x80000000";
        let json = |command: &str, message: &str| {
            let message = message.replace('"', "\\\"");
            format!("{{\"_CMDLINE\":\"/bin/a: {command}\",\"MESSAGE\":\"{message}\"}}\n")
        };
        for log in [
            "type=SECCOMP msg=audit(02/01/2024 10:00:00.123:45) : auid=root uid=root gid=root ses=1 pid=7 comm=x \
             exe=/tmp/x: SYSCALL success=no sig=SIGSYS arch=x86_64 syscall=ptrace compat=0 ip=0x7f code=kill\n"
                .to_owned(),
            json("SYSCALL success=no x", &format!("SECCOMP {fields}")),
            json("SYSCALL success=no x", &format!("audit: type=1326 audit(1.2:3): {fields}")),
            json("AVC apparmor=", &format!("SECCOMP {fields}")),
            json("type=X audit(", &format!("SECCOMP {fields}")),
            json("type=EXECVE msg=audit(", &format!("SECCOMP {fields}")),
            // Copied without the type.
            format!("audit(1.1:2): {}\n", fields.replace("\"x\"", "\"type=\"")),
            format!("{}\n", fields.replace("\"x\"", "\"audit(\"")),
        ] {
            let found = read(&log);
            assert_eq!((found.denials.len(), found.failed), (1, 0), "{log}");
            assert_eq!(found.other, [], "{log}");
        }
    }

    /// Of Fedora on x86-64, Ubuntu on arm64, as `ausearch -i` prints them, of Amazon Linux in the journal, of a kernel without
    /// auditd.
    #[test]
    fn records_of_failed_syscalls_are_no_denials_of_a_filter() {
        let log = "type=SYSCALL msg=audit(1364481363.243:24287): arch=c000003e syscall=165 success=no exit=-1 a0=7fffd19c5592 \
                   a1=0 a2=7fffd19c4b50 a3=a items=1 ppid=2686 pid=3538 auid=1000 uid=1000 gid=1000 euid=1000 suid=1000 fsuid=1000 \
                   egid=1000 sgid=1000 fsgid=1000 tty=pts0 ses=1 comm=\"mount\" exe=\"/usr/bin/mount\" \
                   subj=unconfined_u:unconfined_r:unconfined_t:s0 key=\"mounts\"\u{1d}ARCH=x86_64 SYSCALL=mount AUID=\"a\"\n\
                   type=SYSCALL msg=audit(1706780000.123:46): arch=c00000b7 syscall=40 success=no exit=-1 a0=ffffc0 a1=ffffd0 a2=0 \
                   a3=0 items=2 ppid=1 pid=7 auid=1000 uid=1000 tty=(none) ses=4294967295 comm=\"app\" exe=\"/app\" \
                   subj=docker-default key=(null)\n\
                   type=SYSCALL msg=audit(01/17/2022 18:06:43.240:4086) : arch=x86_64 syscall=utimensat success=no \
                   exit=EACCES(Permission denied) a0=0xffffff9c a1=0x7ffd627865d0 a2=0x0 a3=0x0 items=1 ppid=1 pid=97102 \
                   comm=systemd exe=/usr/lib/systemd/systemd key=(null) \n\
                   Feb 01 10:00:00 ip-10-0-0-7 audit[7]: SYSCALL arch=c000003e syscall=101 success=no exit=-38 a0=0 a1=0 items=0 \
                   comm=\"a\" exe=\"/a\" key=(null)\n\
                   [   12.5] audit: type=1300 audit(1.2:3): arch=c000003e syscall=165 success=no exit=-1 comm=\"a\" exe=\"/a\"\n\
                   type=SYSCALL msg=audit(1.2:4): arch=c000003e syscall=165 success=yes exit=0 a0=1 comm=\"a\" exe=\"/a\"\n";
        let found = read(log);
        // Four in the formats of the kernel and of auditd, one in that of the journal, which may be one of the same.
        assert_eq!((found.failed, found.denials.len(), found.unread.count), (4, 0, 0));
        assert_eq!(found.other, []);
    }
}
