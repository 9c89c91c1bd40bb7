//! The costs of entering seccomp, of a filter and of an instruction.
//!
//! Kees Cook's `seccomp_benchmark` (Linux selftests, 2020): getpid without a filter, with one, with two.
//! The filters here load an argument, so that they always run; one subject measures the cached case.

use callgate::bpf::{Insn, Op, Program};
use callgate::{Endian, Verdict, Word};

use super::error::ExperimentError;
use super::setup::{Options, Setup, overhead, shown, syscall};
use crate::body::Body;
use crate::measure::Samples;
use crate::report::Finding;
use crate::subject::Subject;

/// The number of comparisons in the long filter.
const COMPARISONS: u8 = 250;

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let (one, long) = (filter(0), filter(COMPARISONS));
    let subjects = vec![
        Subject::none(),
        Subject::constant_allow(),
        Subject::new("1 filter", one.clone())?,
        Subject::new("2 filters", one.iter().chain(&one).cloned())?,
        Subject::new("1 filter, 250 more", long)?,
    ];
    let getpid = syscall("getpid")?;
    Ok(Setup {
        title: "getpid: entry, filters and instructions apart".to_owned(),
        bodies: shown(&subjects, &[getpid]),
        plan: options.plan(subjects, vec![Body::from(getpid)], 6),
        findings,
    })
}

/// A filter that loads an argument, compares it this number of times, and allows. Each comparison has a taken edge to
/// another verdict, because the kernel's JIT compiler generates no branch for a comparison with equal successors.
fn filter(comparisons: u8) -> Option<Program> {
    let endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
    let mut code = vec![Insn::new(Op::LdWordAbs, Word::arg_low(0)?.offset(endian))];
    let compare = |to_go| Insn::branch(Op::JeqK, 0x1234_5678, to_go, 0);
    code.extend((1..=comparisons).rev().map(compare));
    code.push(Insn::new(Op::RetK, Verdict::ALLOW.0));
    if comparisons > 0 {
        code.push(Insn::new(Op::RetK, Verdict::errno(1).0));
    }
    Program::new(code).ok()
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let of = |subject| overhead(samples, subject, 0);
    let (Some(cached), Some(one), Some(two), Some(long)) = (of(1), of(2), of(3), of(4)) else {
        return Vec::new();
    };
    let ns = |key, text, value| Finding::new(key, text, value, "ns");
    let per_filter = two - one;
    vec![
        ns("cached_ns", "a call that the kernel's cache answers", cached),
        ns("entry_ns", "entering seccomp, before the first filter", one - per_filter),
        ns("filter_ns", "each filter, of two instructions", per_filter),
        ns(
            "insn_ns",
            "each further instruction (a comparison)",
            (long - one) / f64::from(COMPARISONS),
        ),
    ]
}
