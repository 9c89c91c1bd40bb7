//! Options of `cargo lab minijail`.

use crate::agreement::Accepted;

pub(crate) const HELP: &str = "\
usage: cargo lab minijail --compiler DIR [--policies N] [--seed N] [--arch ARCH] [FILE]...

Reads random minijail policies, and the given files, with callgate's reader and with
minijail's compiler, and compares their meaning: the program of the compiler must have the
same MTBDD as our policy, and both must refuse the same policies. Also compares the
constants that both know.

  --compiler DIR  the directory with minijail's sources (python3 runs DIR/tools), in which
                  `make constants.json` was run
  --policies N    the number of random policies (default 500)
  --seed N        the seed (default 1)
  --arch ARCH     the architecture (default x86_64). For x86_64, DIR/constants.json has the
                  names and numbers, for others callgate's tables

The exit status is 1 if a meaning differs, or if only one of the two refuses a policy.
";

pub(super) const ACCEPTED: Accepted = Accepted {
    compiler: Some(("--compiler", "DIR")),
    number: "--policies",
    default: 500,
    has_arch: true,
    has_library: false,
};
