//! The units: fixed ones, those of the packages, and random ones.

use std::path::Path;

use callgate_bpf::random::Rng;
use callgate_formats::systemd::{Directive, SystemdVersion, group_members, group_names};

use callgate_tasks::Result;
use callgate_tasks::files::{files, read, stem};

/// A unit.
pub(super) struct Unit {
    /// Its name, which no other process on the machine has as an argument.
    pub(super) name: String,
    /// Lines in its section `[Service]`.
    pub(super) directives: String,
}

impl Unit {
    /// The unit file.
    pub(super) fn text(&self) -> String {
        format!(
            "[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/callgate/pause {}\n{}\n",
            self.name, self.directives
        )
    }
}

/// Values of each directive. Those that deny do not deny what the waiting process and systemd itself need.
const FIXED: &[&str] = &[
    "ProtectHostname=yes",
    "ProtectKernelTunables=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelLogs=yes",
    "ProtectClock=yes",
    "PrivateDevices=yes",
    "MemoryDenyWriteExecute=yes",
    "RestrictRealtime=yes",
    "RestrictSUIDSGID=yes",
    "LockPersonality=yes",
    "LockPersonality=yes\nPersonality=x86",
    "RestrictAddressFamilies=none",
    "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
    "RestrictAddressFamilies=~AF_PACKET AF_NETLINK",
    "RestrictAddressFamilies=AF_UNIX AF_INET\nRestrictAddressFamilies=~AF_INET",
    "RestrictAddressFamilies=AF_MCTP 'AF_DECnet'",
    "RestrictNamespaces=yes",
    "RestrictNamespaces=no",
    "RestrictNamespaces=user mnt",
    "RestrictNamespaces=~user net",
    "RestrictNamespaces=~user\nRestrictNamespaces=~time\nRestrictNamespaces=user",
    "SystemCallArchitectures=native",
    "SystemCallArchitectures=x86\nSystemCallFilter=@system-service\nLockPersonality=yes",
    "SystemCallArchitectures=x32 x86-64\nSystemCallLog=@mount\nRestrictRealtime=yes",
    "SystemCallArchitectures=native x86 x32",
    "SystemCallArchitectures=arm64",
    "SystemCallArchitectures=no-such",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=@system-service\nSystemCallErrorNumber=EPERM",
    "SystemCallFilter=@system-service\nSystemCallErrorNumber=ENOSYS",
    "SystemCallFilter=@system-service\nSystemCallFilter=~@privileged @resources",
    "SystemCallFilter=@system-service\nSystemCallFilter=~chown:EACCES @clock:EBADF mount:kill",
    "SystemCallFilter=@system-service\nSystemCallFilter=~chown:ENOSYS",
    "SystemCallFilter=@system-service\nSystemCallFilter=~chown:EPERM\nSystemCallErrorNumber=EPERM",
    "SystemCallFilter=@system-service\nSystemCallFilter=~chown:kill",
    "SystemCallFilter=@system-service\nSystemCallFilter=~write:EPERM",
    "SystemCallFilter=@system-service\nSystemCallFilter=~write",
    "SystemCallFilter=~write\nSystemCallErrorNumber=EPERM",
    "SystemCallFilter=~write read\nSystemCallErrorNumber=EPERM",
    "SystemCallFilter=~@mount @swap:ENOSYS\nSystemCallFilter=swapon\nSystemCallErrorNumber=EPERM",
    "SystemCallFilter=~mount:4094",
    "SystemCallFilter=~mount:4095",
    "SystemCallFilter=~mount:0 ptrace:0x26 reboot:kill",
    "SystemCallFilter=no_such_syscall",
    "SystemCallFilter=~no_such_syscall",
    "SystemCallFilter=~",
    "SystemCallFilter=socket socketpair accept\nSystemCallErrorNumber=EPERM",
    "SystemCallFilter=socketcall ipc\nSystemCallErrorNumber=EPERM",
    "SystemCallFilter=~bind shmat semop\nSystemCallErrorNumber=EPERM",
    "SystemCallFilter=~socketcall\nSystemCallErrorNumber=EPERM",
    "SystemCallFilter=@known",
    "SystemCallFilter=@system-service ~@mount\nSystemCallFilter=vm86 vm86old",
    "SystemCallFilter=@system-service \\\n  @mount \\\n# comment\n  @swap\nSystemCallFilter=~umount2",
    "SystemCallFilter=mount\nSystemCallFilter=\nSystemCallFilter=~ptrace\nSystemCallErrorNumber=EPERM",
    "SystemCallLog=@mount ptrace",
    "SystemCallLog=~@default read",
    "SystemCallLog=~",
    "SystemCallLog=@mount\nSystemCallFilter=~@mount\nSystemCallErrorNumber=EPERM",
    "DynamicUser=no\nRestrictSUIDSGID=off",
    "",
];

/// The fixed units: the values above, and each group as an allow list, as a deny list and as a list of logged syscalls.
pub(super) fn fixed(version: SystemdVersion) -> Vec<String> {
    let mut all: Vec<String> = FIXED.iter().map(|text| (*text).to_owned()).collect();
    for group in group_names(version) {
        all.push(format!("SystemCallFilter={group}"));
        all.push(format!("SystemCallLog={group}"));
        if is_deniable(group, version) {
            all.push(format!("SystemCallFilter=~{group}\nSystemCallErrorNumber=EACCES"));
        }
    }
    all
}

/// Whether a group contains nothing that the waiting process or systemd need.
fn is_deniable(group: &str, version: SystemdVersion) -> bool {
    const NEEDED: [&str; 4] = ["execve", "pause", "prctl", "seccomp"];
    let members = group_members(group, version).unwrap_or_default();
    !NEEDED.iter().any(|needed| members.contains(needed))
}

/// The directives of the services in the packages, with some service each.
pub(super) fn shipped(root: &Path) -> Result<Vec<String>> {
    let mut all: Vec<String> = Vec::new();
    for path in files(&root.join("usr/lib/systemd/system"), "service")? {
        let text = String::from_utf8_lossy(&read(&path)?).into_owned();
        let is_own = |line: &&str| {
            let key = line.split('=').next().unwrap_or_default();
            key == "SystemCallErrorNumber" || Directive::ALL.iter().any(|one| one.name() == key)
        };
        let lines: Vec<&str> = text.lines().filter(is_own).collect();
        let directives = lines.join("\n");
        if !directives.is_empty() && !all.contains(&directives) && !stem(&path).is_empty() {
            all.push(directives);
        }
    }
    Ok(all)
}

/// A random unit.
pub(super) fn random(rng: &mut Rng, version: SystemdVersion) -> String {
    let mut lines: Vec<String> = Vec::new();
    for text in FIXED {
        let is_list = text.starts_with("SystemCall");
        if !is_list && rng.below(8) == 0 {
            lines.push((*text).to_owned());
        }
    }
    let groups: Vec<&str> = group_names(version).collect();
    let names: Vec<&str> = group_members("@known", version).unwrap_or_default();
    let mut word = |allows: bool| {
        let name = match rng.below(2) {
            0 => rng.pick(&groups).unwrap_or("@swap"),
            _ => rng.pick(&names).unwrap_or("mount"),
        };
        let is_safe = allows
            || (name.starts_with('@') && is_deniable(name, version))
            || !(name.starts_with('@') || ["execve", "pause", "prctl", "seccomp"].contains(&name));
        if is_safe { name } else { "mount" }.to_owned()
    };
    let mut words =
        |allows: bool, count: usize| (0..count).map(|_| word(allows)).collect::<Vec<_>>().join(" ");
    let allow_list =
        format!("SystemCallFilter={}\nSystemCallFilter=~{}", words(true, 4), words(false, 2));
    let deny_list =
        format!("SystemCallFilter=~{}\nSystemCallFilter={}", words(false, 4), words(true, 2));
    let with_errno =
        format!("SystemCallFilter={}\nSystemCallFilter=~{}:EBUSY", words(true, 3), words(false, 1));
    let log = format!("SystemCallLog={}", words(true, 3));
    lines.extend([allow_list, deny_list, with_errno].into_iter().nth(rng.below(4)));
    lines.extend(Some(log).filter(|_| rng.below(4) == 0));
    lines.extend(Some("SystemCallArchitectures=native".to_owned()).filter(|_| rng.below(4) == 0));
    // The action of a denied syscall must not end the process before it waits.
    lines.push(
        ["SystemCallErrorNumber=EPERM", "SystemCallErrorNumber=ENOSYS"][rng.below(2)].to_owned(),
    );
    lines.join("\n")
}
