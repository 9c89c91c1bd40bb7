//! Options of `cargo lab snap`.

use crate::agreement::Accepted;

pub(crate) const HELP: &str = "\
usage: cargo lab snap --compiler PROGRAM [--profiles N] [--seed N] [FILE]...

Reads random snap profiles, and the given files, with callgate's reader and with
snap-seccomp, and compares their meaning: both programs of snap-seccomp must have the same
MTBDD as our policies, and both must refuse the same profiles.

  --compiler PROGRAM  snap-seccomp of snapd 2.63 or later: in a checkout of
                      https://github.com/canonical/snapd, go build ./cmd/snap-seccomp
                      (libseccomp-dev, xfslibs-dev)
  --profiles N        the number of random profiles (default 1000)
  --seed N            the seed (default 1)

The exit status is 1 if a meaning differs. Refusals of one side are listed by reason.
";

pub(super) const ACCEPTED: Accepted = Accepted {
    compiler: Some(("--compiler", "PROGRAM")),
    number: "--profiles",
    default: 1000,
    has_arch: false,
    has_library: false,
};
