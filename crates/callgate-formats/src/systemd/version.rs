//! Versions of systemd, and what differs between them.

use std::fmt;
use std::str::FromStr;

use super::table::RELEASES;

/// A version of systemd, from 252 to 258. Its behaviour and its groups are those of the last stable release of this
/// version that was examined ([`SystemdVersion::release`]); earlier stable releases may lack members of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SystemdVersion(u16);

impl SystemdVersion {
    /// The newest version.
    pub const LATEST: SystemdVersion = SystemdVersion(258);

    /// A version by its number; `None` if it is not supported.
    pub fn new(number: u16) -> Option<SystemdVersion> {
        RELEASES.iter().any(|(known, _)| *known == number).then_some(SystemdVersion(number))
    }

    /// All versions, the oldest first.
    pub fn all() -> impl Iterator<Item = SystemdVersion> {
        RELEASES.iter().map(|(number, _)| SystemdVersion(*number))
    }

    /// The number.
    pub fn number(self) -> u16 {
        self.0
    }

    /// The stable release, such as `v258.10`.
    pub fn release(self) -> &'static str {
        RELEASES.iter().find(|(number, _)| *number == self.0).map_or("", |(_, release)| *release)
    }

    /// Whether syscalls outside `@known` get ENOSYS if the list of `SystemCallFilter=` is an allow list
    /// (`override_default_action` in `seccomp-util.c`).
    pub fn has_enosys_for_unknown(self) -> bool {
        self.0 >= 255
    }

    /// Whether `MemoryDenyWriteExecute=` uses `PR_SET_MDWE` where the kernel has it (`apply_memory_deny_write_execute` in
    /// `execute.c` and `exec-invoke.c`).
    pub(super) fn has_mdwe(self) -> bool {
        self.0 >= 254
    }

    /// Whether the process writes to a descriptor of the manager after `SystemCallFilter=` is in force, so that systemd
    /// permits `write` (`apply_syscall_filter` in `exec-invoke.c`).
    pub fn permits_write(self) -> bool {
        self.0 >= 256
    }

    /// Whether `ProtectHostname=` takes `private` and a host name (`config_parse_protect_hostname`).
    pub(super) fn has_private_hostname(self) -> bool {
        self.0 >= 258
    }

    /// Whether time namespaces are among those that `RestrictNamespaces=` retains unless it names them: before, `~user`
    /// also denied them (`NAMESPACE_FLAGS_ALL` in `nsflags.h`).
    pub(super) fn retains_time_namespaces(self) -> bool {
        self.0 >= 258
    }

    /// Whether systemd installs filters on LoongArch (`seccomp_local_archs`).
    pub(super) fn has_loongarch(self) -> bool {
        self.0 >= 255
    }
}

impl fmt::Display for SystemdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for SystemdVersion {
    type Err = SystemdVersionError;

    /// Reads `258`, and stable releases such as `257.13`, `v257.13` and `257.13-1~deb13u1`, of which only the first number
    /// counts.
    fn from_str(text: &str) -> Result<SystemdVersion, SystemdVersionError> {
        let rest = text.strip_prefix('v').unwrap_or(text);
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (number, suffix) = rest.split_at_checked(digits).unwrap_or((rest, ""));
        let is_suffix = suffix.is_empty() || suffix.starts_with(['.', '-', '~', '+']);
        let version = number.parse().ok().and_then(SystemdVersion::new).filter(|_| is_suffix);
        version.ok_or_else(|| SystemdVersionError { given: text.to_owned() })
    }
}

/// The error that a text is not a supported version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemdVersionError {
    given: String,
}

impl fmt::Display for SystemdVersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = SystemdVersion::all().map(|one| one.to_string()).collect();
        write!(
            f,
            "unknown version of systemd {:?}; the versions are {}",
            self.given,
            numbers.join(", ")
        )
    }
}

impl std::error::Error for SystemdVersionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_number_of_a_release_counts() {
        for text in ["257", "v257", "257.13", "v257.13", "257.13-1~deb13u1", "257~rc3", "257-rc1"] {
            assert_eq!(text.parse(), Ok(SystemdVersion(257)), "{text}");
        }
        for text in ["", "v", "251", "259", "257x", "-257", "65793", "2570", "é"] {
            assert!(text.parse::<SystemdVersion>().is_err(), "{text}");
        }
        assert_eq!(SystemdVersion::all().last(), Some(SystemdVersion::LATEST));
        assert!(SystemdVersion::all().all(|one| one.release().starts_with(&format!("v{one}."))));
        let error = "259".parse::<SystemdVersion>().unwrap_err().to_string();
        assert_eq!(
            error,
            "unknown version of systemd \"259\"; the versions are 252, 253, 254, 255, 256, 257, 258"
        );
    }
}
