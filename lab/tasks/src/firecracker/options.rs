//! Options of `cargo lab firecracker`.

use crate::agreement::Accepted;

pub(crate) const HELP: &str = "\
usage: cargo lab firecracker [--filters N] [--seed N] [--arch ARCH] [FILE]...

Reads random Firecracker documents, and the given files, with callgate's reader and
with the crate seccompiler, and compares their meaning: its program for each thread must
have the same MTBDD as our policy, and both must refuse the same documents.

  --filters N  the number of random documents (default 10000)
  --seed N     the seed (default 1)
  --arch ARCH  the architecture of the files: x86_64 (default), aarch64 or riscv64; random
               documents are for all three

The exit status is 1 if a meaning differs, or if only one of the two refuses a document.
";

pub(super) const ACCEPTED: Accepted = Accepted {
    compiler: None,
    number: "--filters",
    default: 10_000,
    has_arch: true,
    has_library: false,
};
