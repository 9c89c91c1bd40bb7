//! Install a filter in this process, and show that it denies a syscall.
//!
//!     cargo run -p callgate --example sandbox
//!
//! With `--dry-run`, the filter is compiled and explained, but not installed.

use std::error::Error;
use std::io::ErrorKind;

use callgate::{Arch, Filter, Verdict, arg};
use callgate_linux::FilterFlags;
use libc::{EPERM, F_GETFD, F_GETFL, PROT_READ, PROT_WRITE};

fn main() -> Result<(), Box<dyn Error>> {
    let arch = Arch::native().ok_or("no syscall table for this machine")?;
    let filter = Filter::builder(arch)
        .default(Verdict::errno(EPERM as u16))
        .allow(["read", "write", "writev", "close", "munmap", "exit_group", "sigaltstack"])?
        .allow_if("fcntl", arg("cmd").is_in([F_GETFD, F_GETFL]) & arg("fd").le(2))?
        .allow_if("mmap", arg("prot").bits_within(PROT_READ | PROT_WRITE))?
        .build()?;
    let program = filter.compile()?; // proved
    println!("{} instructions", program.len());
    if std::env::args().any(|argument| argument == "--dry-run") {
        return Ok(());
    }

    callgate_linux::install(&program, FilterFlags::NONE)?;
    println!("allowed: write(2)");
    match std::fs::read_to_string("/etc/hostname") {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => println!("denied: openat(2)"),
        other => return Err(format!("openat(2) should be denied, but gave {other:?}").into()),
    }
    Ok(())
}
