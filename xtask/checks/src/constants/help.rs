//! What `cargo xtask constants --help` prints.

pub(crate) const HELP: &str = "\
usage: cargo xtask constants [--check] [--fetch] [--sources DIR]

Writes crates/callgate-bpf/src/constants/generated/constants.txt from the kernel's headers:
the names and values of AF_*, CLONE_*, PROT_*, TIOC* and others, per architecture.

  --check        write nothing; fail if the generated file would change, or if the headers of
                 this machine's C library have other values
  --fetch        download the sources again (default: only if DIR lacks them)
  --sources DIR  the directory of the sources; default: target/constant-sources

Downloads Debian's newest linux-libc-dev, and linux-headers-*-common for the few constants
that the uapi headers lack (suite sid), with a private apt configuration and this system's
mirror and keyring; installs nothing and does not need root. It needs gcc for x86-64, or
another gcc that is named in $CC and accepts -m32 and -m64.
";
