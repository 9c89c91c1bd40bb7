//! Options of `cargo lab lxc`.

use crate::agreement::Accepted;

pub(crate) const HELP: &str = "\
usage: cargo lab lxc --source DIR [--profiles N] [--seed N] [--library FILE] [FILE]...

Reads random LXC profiles, and the given files, with callgate's reader and with LXC's
own parser, and compares their meaning: the program that LXC would install must have the
same MTBDD as our policy, and both must refuse the same profiles.

  --source DIR     a checkout of https://github.com/lxc/lxc; its parser is built with cc and
                   libseccomp's headers (libseccomp-dev)
  --library FILE   the libseccomp.so.2 that the parser uses, such as
                   target/release/libseccomp.so (default: that of the system)
  --profiles N     the number of random profiles (default 1000)
  --seed N         the seed (default 1)

libseccomp up to 2.6.1 generates programs that contradict its own rules, where several rules
of a syscall have ordered comparisons; with --library, our own library shows whether a
difference is of that kind. The exit status is 1 if a meaning differs. Refusals of one side
are listed by reason.
";

pub(super) const ACCEPTED: Accepted = Accepted {
    compiler: Some(("--source", "DIR")),
    number: "--profiles",
    default: 1000,
    has_arch: false,
    has_library: true,
};
