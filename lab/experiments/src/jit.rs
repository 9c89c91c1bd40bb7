//! The kernel's JIT compiler for BPF, switched for a measurement and switched back.
//!
//! The settings are those of the machine, `net.core.bpf_jit_enable` and `net.core.bpf_jit_harden`, and apply to filters
//! that are installed while they are set. A guardian process restores them when its standard input is closed: by
//! [`Switch`]'s destructor, or by the kernel when this process ends in any way.
//!
//! Limits: kernels with `CONFIG_BPF_JIT_ALWAYS_ON` refuse to switch the compiler off.
//!
//! Source: `kernel/bpf/core.c`, `net/core/sysctl_net_core.c`; Documentation/admin-guide/sysctl/net.rst.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use callgate_linux::error_text;

const ENABLE: &str = "/proc/sys/net/core/bpf_jit_enable";
const HARDEN: &str = "/proc/sys/net/core/bpf_jit_harden";

/// Restores files whose names and contents are its arguments when its input ends.
const GUARDIAN: &str = "trap '' HUP INT TERM; read line; \
                        while [ $# -gt 1 ]; do printf '%s\\n' \"$2\" > \"$1\"; shift 2; done";

/// How the kernel executes filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jit {
    /// By its interpreter.
    Off,
    /// As compiled code.
    On,
    /// As compiled code with blinded constants, also of privileged users (`bpf_jit_harden` is 2).
    Hardened,
}

impl Jit {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Jit::Off => "JIT off",
            Jit::On => "JIT on",
            Jit::Hardened => "JIT hardened",
        }
    }

    /// The present setting; `None` if it cannot be read, or if only the filters of other users are hardened.
    pub fn current() -> Option<Jit> {
        match (read(ENABLE).ok()?.as_str(), read(HARDEN).ok().as_deref()) {
            ("0", _) => Some(Jit::Off),
            (_, Some("0")) => Some(Jit::On),
            (_, Some("2")) => Some(Jit::Hardened),
            _ => None,
        }
    }

    fn values(self) -> Vec<(PathBuf, &'static str)> {
        let (enable, harden) = (PathBuf::from(ENABLE), PathBuf::from(HARDEN));
        match self {
            Jit::Off => vec![(enable, "0")],
            Jit::On => vec![(enable, "1"), (harden, "0")],
            Jit::Hardened => vec![(enable, "1"), (harden, "2")],
        }
    }
}

fn read(path: impl AsRef<Path>) -> io::Result<String> {
    fs::read_to_string(path).map(|text| text.trim().to_owned())
}

/// A changed setting of the machine, which is restored when this is dropped.
#[derive(Debug)]
pub(crate) struct Switch {
    /// Restores the setting when this process ends, however it ends.
    guardian: Child,
    /// The files and what they contained.
    old: Vec<(PathBuf, String)>,
    /// Locked while the setting is changed.
    _lock: File,
}

impl Switch {
    /// Changes the setting; an error in words, with nothing changed, where this process may not or the kernel cannot.
    pub(crate) fn to(jit: Jit) -> Result<Switch, String> {
        Switch::files(&jit.values())
    }

    fn files(values: &[(PathBuf, &str)]) -> Result<Switch, String> {
        let failed = |path: &Path, why: &io::Error| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            format!("{name} cannot be changed: {}", error_text(why))
        };
        let Some((first, _)) = values.first() else { return Err("no setting".to_owned()) };
        let lock = File::open(first).map_err(|why| failed(first, &why))?;
        if lock.try_lock().is_err() {
            return Err("another measurement has changed the JIT setting".to_owned());
        }
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GUARDIAN, "sh"]);
        let mut old = Vec::new();
        for (path, _) in values {
            let value = read(path).map_err(|why| failed(path, &why))?;
            command.arg(path).arg(&value);
            old.push((path.clone(), value));
        }
        // In a process group of its own, Ctrl-C does not reach it.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let guardian = command
            .spawn()
            .map_err(|why| format!("/bin/sh, which restores the setting: {}", error_text(&why)))?;
        let switch = Switch { guardian, old, _lock: lock };
        for (path, new) in values {
            fs::write(path, format!("{new}\n")).map_err(|why| match why.raw_os_error() {
                Some(libc::EINVAL) => format!("{} (CONFIG_BPF_JIT_ALWAYS_ON)", failed(path, &why)),
                _ => failed(path, &why),
            })?;
            if read(path).is_ok_and(|set| set != *new) {
                return Err(format!("{} ignores the change", path.display()));
            }
        }
        Ok(switch)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        drop(self.guardian.stdin.take());
        // It ends once it has restored the files; something else may have ended it before.
        let _ = self.guardian.wait();
        for (path, old) in &self.old {
            if read(path).is_ok_and(|now| now != *old) {
                let _ = fs::write(path, format!("{old}\n"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Files(PathBuf);

    impl Files {
        fn new(name: &str) -> Files {
            let directory =
                std::env::temp_dir().join(format!("callgate-{name}-{}", std::process::id()));
            fs::create_dir_all(&directory).unwrap();
            for (file, value) in [("enable", "1\n"), ("harden", "0\n")] {
                fs::write(directory.join(file), value).unwrap();
            }
            Files(directory)
        }

        fn values<'v>(&self, enable: &'v str, harden: &'v str) -> [(PathBuf, &'v str); 2] {
            [(self.0.join("enable"), enable), (self.0.join("harden"), harden)]
        }

        fn read(&self) -> [String; 2] {
            ["enable", "harden"].map(|name| read(self.0.join(name)).unwrap())
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn settings_are_restored() {
        let files = Files::new("restored");
        let switch = Switch::files(&files.values("5", "2")).unwrap();
        assert_eq!(files.read(), ["5", "2"]);
        let busy = Switch::files(&files.values("7", "7")).unwrap_err();
        assert!(busy.contains("another measurement"), "{busy}");
        drop(switch);
        assert_eq!(files.read(), ["1", "0"]);
    }

    #[test]
    fn settings_are_restored_without_the_guardian() {
        let files = Files::new("unguarded");
        let mut switch = Switch::files(&files.values("5", "2")).unwrap();
        switch.guardian.kill().unwrap();
        drop(switch);
        assert_eq!(files.read(), ["1", "0"]);
    }

    /// What happens when the process is killed: nothing but the end of the guardian's input.
    #[test]
    fn settings_are_restored_without_the_destructor() {
        let files = Files::new("killed");
        let mut switch = Switch::files(&files.values("5", "2")).unwrap();
        drop(switch.guardian.stdin.take());
        switch.guardian.wait().unwrap();
        assert_eq!(files.read(), ["1", "0"]);
    }

    #[test]
    fn a_setting_that_does_not_exist_is_named() {
        let files = Files::new("missing");
        let mut values = files.values("5", "2");
        values[1].0 = files.0.join("missing");
        let why = Switch::files(&values).unwrap_err();
        assert!(why.starts_with("missing cannot be changed"), "{why}");
        assert_eq!(files.read(), ["1", "0"], "nothing is changed");
    }
}
