//! Downloads the sources on a Debian system: two packages, with a private apt configuration, and the running
//! kernel's trace events.
//!
//! The system is not changed; see [`callgate_tasks::apt`].

use super::sources::{FORMATS, HEADERS, MANPAGE, read};
use callgate_tasks::Result;
use callgate_tasks::apt::Apt;
use callgate_tasks::files::{remove, run, write};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Mount points of tracefs; the second is the older one.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Replaces the contents of `directory`, after everything was downloaded.
pub(super) fn fetch(directory: &Path) -> Result<()> {
    let formats = formats()?;
    println!("fetching linux-libc-dev and manpages-dev (Debian sid)");
    let apt = Apt::new(&directory.join("apt"), "sid", None).map_err(|error| {
        format!(
            "{error}; on another system unpack Debian's linux-libc-dev and manpages-dev by hand, \
             see `Sources` in xtask/checks/src/syscalls/sources.rs"
        )
    })?;
    apt.download(&["linux-libc-dev", "manpages-dev"])?;

    let unpacked = directory.join("apt/unpacked");
    remove(&unpacked)?;
    for package in ["linux-libc-dev", "manpages-dev"] {
        apt.unpack(package, &unpacked.join(package))?;
    }
    let page = run(Command::new("gzip")
        .arg("-dc")
        .arg(unpacked.join("manpages-dev/usr/share/man/man2/syscalls.2.gz")))?;

    let headers = directory.join(HEADERS);
    remove(&headers)?;
    fs::rename(unpacked.join("linux-libc-dev"), &headers)
        .map_err(|error| format!("{}: {error}", headers.display()))?;
    remove(&unpacked)?;
    write(&directory.join(MANPAGE), page)?;
    write(&directory.join(FORMATS), formats)
}

/// The trace events of all syscalls of the running kernel.
fn formats() -> Result<String> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(format!(
            "the arguments come from the trace events of an x86-64 kernel, and this is {}; \
             run this on x86-64, or copy {FORMATS} of such a run and give --sources",
            std::env::consts::ARCH
        ));
    }
    let events = TRACEFS.iter().map(|root| Path::new(root).join("events/syscalls"));
    let Some(events) = events.into_iter().find(|path| path.exists()) else {
        return Err(format!(
            "no {}/events/syscalls: mount it (`mount -t tracefs nodev {}`) on a kernel with \
             CONFIG_FTRACE_SYSCALLS, and run this as a user who may read it",
            TRACEFS[0], TRACEFS[0]
        ));
    };
    let fail = |error: std::io::Error| format!("{}: {error}", events.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(&events).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if entry.file_name().to_string_lossy().starts_with("sys_enter_") {
            paths.push(entry.path().join("format"));
        }
    }
    paths.sort();
    let release = read(Path::new("/proc/sys/kernel/osrelease"))?;
    let version: String = release.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let mut text = format!("kernel {}\n", version.trim_end_matches('.'));
    for path in paths {
        // Event identifiers differ between boots and are irrelevant here.
        let format = read(&path)?;
        text.extend(format.lines().filter(|l| !l.starts_with("ID:")).flat_map(|l| [l, "\n"]));
    }
    Ok(text)
}
