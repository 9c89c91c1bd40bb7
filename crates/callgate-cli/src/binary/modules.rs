//! Modules by which the C library looks up users, groups and hosts (nsswitch.conf(5)).

use std::path::PathBuf;

use callgate_elf::Machine;

use super::search::{Paths, Search};
use super::sysroot::Sysroot;

/// Services that are in the C library itself since glibc 2.34.
const BUILT_IN: &[&str] = &["files", "dns"];

/// The installed modules that `/etc/nsswitch.conf` names.
pub(super) fn configured(sysroot: &Sysroot, machine: Machine) -> Vec<PathBuf> {
    let search = Search::new(sysroot.clone(), machine);
    let file = sysroot.resolve(&PathBuf::from("/etc/nsswitch.conf"));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut modules = Vec::new();
    for service in services(&text) {
        let found = search.find(&format!("libnss_{service}.so.2"), &Paths::default());
        modules
            .extend(found.filter(|path| !modules.contains(path)).map(|path| search.resolve(&path)));
    }
    modules
}

/// The services of all databases, without those that are built in.
fn services(text: &str) -> Vec<&str> {
    let mut services = Vec::new();
    for line in text.lines().take(1000) {
        let line = line.split('#').next().unwrap_or_default();
        let Some((_, list)) = line.split_once(':') else { continue };
        // Actions, such as `[NOTFOUND=return]`, are between brackets.
        let mut is_action = false;
        for word in list.split_whitespace() {
            is_action |= word.starts_with('[');
            let is_name = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if !is_action && is_name && !BUILT_IN.contains(&word) && !services.contains(&word) {
                services.push(word);
            }
            is_action &= !word.ends_with(']');
        }
    }
    services
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_listed_once_without_actions() {
        let text = "# comment: none\npasswd: files systemd\nhosts: files mymachines [!UNAVAIL = return] dns ldap\n\
                    group: files [SUCCESS=merge] systemd # more\nbad\nx: ../evil\n";
        assert_eq!(services(text), ["systemd", "mymachines", "ldap"]);
    }
}
