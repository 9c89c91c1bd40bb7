//! What `cargo xtask syscalls --help` prints.

pub(crate) const HELP: &str = "\
usage: cargo xtask syscalls [--check] [--fetch] [--sources DIR] [--headers DIR]

Writes crates/callgate-bpf/src/syscalls/generated/*.rs from three sources:
  numbers    the kernel's uapi headers of all architectures
  versions   the table of the man page syscalls(2)
  arguments  /sys/kernel/tracing/events/syscalls of an x86-64 kernel

  --check        write nothing; fail if a generated file would change
  --fetch        download the sources again (default: only if DIR lacks them)
  --sources DIR  the directory of the sources; default: target/syscall-sources
  --headers DIR  take the numbers from this unpacked linux-libc-dev, with the
                 directories usr/lib/linux/uapi/ARCH/asm and usr/include/linux

Downloads Debian's newest linux-libc-dev and manpages-dev (suite sid) with a private apt
configuration and this system's mirror and keyring; installs nothing and does not need root.
The arguments need a mounted tracefs that this user may read.
";
