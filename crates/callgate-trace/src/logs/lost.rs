//! What the audit system and the journal say about records that they lost.
//!
//! | message | of | number |
//! |---|---|---|
//! | `audit_printk_skb: 47 callbacks suppressed`, `kauditd_printk_skb: …` | the kernel's log, whose rate is limited | records since the last message |
//! | `audit_lost=312 audit_rate_limit=0 audit_backlog_limit=64` | `audit_log_lost` | records since the start of the machine |
//! | `backlog limit exceeded`, `rate limit exceeded`, `audit_backlog=65 > audit_backlog_limit=64`, full queues | the kernel | unknown |
//! | `Missed 12 kernel messages` | journald | messages |
//! | `Suppressed 12 messages from …` of the audit socket, `imuxsock … lost` | journald, rsyslog | not about records of the kernel: not read |
//!
//! Messages of other rate limits (`net_ratelimit: 3 callbacks suppressed`) are not about records.
//!
//! Sources: `audit_log_lost`, `audit_log_start` and `kauditd_printk_skb` in `kernel/audit.c`, `___ratelimit` in
//! `lib/ratelimit.c`, `dev_kmsg_record` in systemd's `journald-kmsg.c`, `auditd-event.c` of the audit daemon.

use super::lines::AnyOf;
use crate::recording::Caveat;

/// Each message contains one of these.
const MARKS: [&str; 5] =
    ["callbacks suppressed", "audit_", "limit exceeded", " queue ", " kernel messages"];

/// Messages of the kernel and of the audit daemon without a number.
const UNNUMBERED: [&str; 8] = [
    "backlog limit exceeded",
    "rate limit exceeded",
    "hold queue overflow",
    "retry queue overflow",
    "main queue overflow",
    "audit_backlog=",
    "auditd queue full",
    "dispatch queue overflow",
];

/// The records that a log says were lost.
#[derive(Debug)]
pub(crate) struct LostRecords {
    marks: AnyOf,
    /// Records that the kernel did not write to its log, and messages of the kernel that journald missed.
    suppressed: u64,
    /// The largest value of the kernel's counter.
    counter: u64,
    /// Messages without a number.
    unnumbered: u64,
}

impl Default for LostRecords {
    fn default() -> LostRecords {
        LostRecords { marks: AnyOf::new(&MARKS), suppressed: 0, counter: 0, unnumbered: 0 }
    }
}

impl LostRecords {
    /// Whether a text may have a message about lost records.
    pub(crate) fn may_be_in(&self, text: &[u8]) -> bool {
        self.marks.is_in(text)
    }

    /// Reads a line; returns whether it is such a message.
    pub(crate) fn line(&mut self, line: &str) -> bool {
        if let Some((before, _)) = line.split_once(" callbacks suppressed") {
            let number = before.rsplit_once("_printk_skb: ").and_then(|(function, number)| {
                let is_of_audit = function.ends_with("audit") || function.ends_with("kauditd");
                number.parse().ok().filter(|_| is_of_audit)
            });
            self.suppressed = self.suppressed.saturating_add(number.unwrap_or(0_u64));
            return number.is_some();
        }
        if let Some(lost) = number_after(line, "audit_lost=").filter(|_| is_of_audit(line)) {
            self.counter = self.counter.max(lost);
            return true;
        }
        let is_of_journal = line.contains("journald") && line.contains(" kernel messages");
        if let Some(missed) = number_after(line, "Missed ").filter(|_| is_of_journal) {
            self.suppressed = self.suppressed.saturating_add(missed);
            return true;
        }
        let is_unnumbered = is_of_audit(line) && UNNUMBERED.iter().any(|text| line.contains(text));
        self.unnumbered = self.unnumbered.saturating_add(u64::from(is_unnumbered));
        is_unnumbered
    }

    /// The records as a caveat of a recording; `None` if no message said that any were lost.
    pub(crate) fn caveat(&self) -> Option<Caveat> {
        let known = self.suppressed.saturating_add(self.counter);
        if known == 0 && self.unnumbered == 0 {
            return None;
        }
        let mut parts = Vec::new();
        if self.counter > 0 {
            let counter = self.counter;
            parts.push(format!("{counter} lost by the audit system since the machine started"));
        }
        if self.suppressed > 0 {
            parts.push(format!("{} not written to the log", self.suppressed));
        }
        // The message about the limit comes with the counter.
        if self.unnumbered > 0 && self.counter == 0 {
            parts.push("an unknown number lost by the audit system".to_owned());
        }
        let text = format!("the log says that audit records are missing: {}", parts.join(", "));
        Some(Caveat::incomplete("lost-records", (known > 0).then_some(known), text))
    }
}

/// Whether the audit system wrote a line; names of its messages may occur in other ones.
fn is_of_audit(line: &str) -> bool {
    let line = line.trim_start();
    ["audit:", "audit: ", "audit_lost=", "auditd[", "auditd:"]
        .iter()
        .any(|name| line.starts_with(name) || line.contains(&format!(" {name}")))
}

fn number_after(line: &str, before: &str) -> Option<u64> {
    let (_, rest) = line.split_once(before)?;
    let end = rest.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(log: &str) -> Option<(Option<u64>, String)> {
        let mut lost = LostRecords::default();
        for line in log.split_inclusive('\n') {
            if lost.may_be_in(line.as_bytes()) {
                lost.line(line);
            }
        }
        lost.caveat().map(|caveat| (caveat.count, caveat.text))
    }

    #[test]
    fn messages_with_numbers_add_up_and_the_counter_does_not() {
        let log = "kernel: kauditd_printk_skb: 4791 callbacks suppressed\n\
                   [  12.5] audit_printk_skb: 9 callbacks suppressed\n\
                   kernel: audit: audit_lost=300 audit_rate_limit=0 audit_backlog_limit=64\n\
                   kernel: audit: audit_lost=312 audit_rate_limit=0 audit_backlog_limit=64\n\
                   kernel: audit: backlog limit exceeded\n\
                   host systemd-journald[201]: Missed 30 kernel messages\n";
        let (count, text) = lost(log).unwrap();
        assert_eq!(count, Some(4791 + 9 + 312 + 30));
        let parts =
            "312 lost by the audit system since the machine started, 4830 not written to the log";
        assert!(text.ends_with(parts), "{text}");
    }

    #[test]
    fn messages_without_a_number_are_counted_as_unknown() {
        for message in [
            "audit: backlog limit exceeded\n",
            "[    3.2] audit: rate limit exceeded\n",
            "kernel: audit: audit_backlog=65 > audit_backlog_limit=64\n",
            "Jan  2 10:00:00 host kernel: audit: kauditd hold queue overflow\n",
        ] {
            assert_eq!(lost(message).map(|(count, _)| count), Some(None), "{message}");
        }
    }

    #[test]
    fn other_messages_are_innocent() {
        for message in [
            "kernel: net_ratelimit: 47 callbacks suppressed\n",
            "nginx: request rate limit exceeded for client\n",
            "app: the audit backlog limit exceeded my patience\n",
            "dmesg: Missed 3 kernel messages\n",
            "type=SYSCALL msg=audit(1.2:3): arch=c000003e syscall=2\n",
            "audit: audit_lost=0 audit_rate_limit=0 audit_backlog_limit=64\n",
        ] {
            assert_eq!(lost(message), None, "{message}");
        }
    }
}
