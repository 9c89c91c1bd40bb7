//! Options of `cargo lab kafel`.

use crate::agreement::Accepted;

pub(crate) const HELP: &str = "\
usage: cargo lab kafel --compiler PROGRAM [--policies N] [--seed N] [--arch ARCH] [FILE]...

Reads random Kafel policies, and the given files, with callgate's reader and with another
compiler, and compares their meaning: the program of the other compiler must have the
same MTBDD as our policy, and both must refuse the same policies.

  --compiler PROGRAM  reads a policy from standard input and prints the program as text that
                      callgate reads: Kafel's tools/dump_policy_bpf, which gets the argument -c
  --policies N        the number of random policies (default 1000)
  --seed N            the seed (default 1)
  --arch ARCH         the architecture for which PROGRAM compiles (default: native)

The exit status is 1 if a meaning differs. Refusals of one side are listed by reason.
";

pub(super) const ACCEPTED: Accepted = Accepted {
    compiler: Some(("--compiler", "PROGRAM")),
    number: "--policies",
    default: 1000,
    has_arch: true,
    has_library: false,
};
