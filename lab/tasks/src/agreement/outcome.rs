//! Compares what a text means to a reader and to the compiler of its language.

use callgate::Endian;
use callgate_bpf::diagnostic::{Diagnostics, Severity};
use callgate_core::LongProgram;
use callgate_core::diagram::Store;
use callgate_core::policy::Policy;

use callgate_tasks::Result;

/// The result of a comparison.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The same MTBDD.
    Equal,
    /// The meaning differs.
    Different,
    /// The meaning differs, and the reader reports it.
    Reported,
    /// Both refuse the text.
    BothRefuse,
    /// The other compiler's program is too long for the kernel.
    TooLong,
    /// Only one side refuses the text: who, and why.
    OneRefuses { who: &'static str, why: String },
}

impl Outcome {
    /// Compares policies with the programs of the other compiler, one for each.
    pub(crate) fn of(
        endian: Endian,
        ours: std::result::Result<Vec<Policy>, Diagnostics>,
        theirs: std::result::Result<Vec<LongProgram>, String>,
    ) -> Result<Outcome> {
        Ok(match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => match Outcome::is_equal(endian, &ours, &theirs)? {
                true => Outcome::Equal,
                false => Outcome::Different,
            },
            (Err(_), Err(_)) => Outcome::BothRefuse,
            (Err(ours), Ok(_)) => {
                let first = ours.iter().find(|one| one.severity == Severity::Error);
                let why = first.map_or_else(String::new, |error| error.message.clone());
                Outcome::OneRefuses { who: "callgate", why }
            }
            (Ok(_), Err(why)) => Outcome::OneRefuses { who: "the other compiler", why },
        })
    }

    fn is_equal(endian: Endian, ours: &[Policy], theirs: &[LongProgram]) -> Result<bool> {
        let mut store = Store::default();
        let fail = |error| format!("an MTBDD is too large: {error}");
        let mut is_equal = ours.len() == theirs.len();
        for (policy, program) in ours.iter().zip(theirs) {
            let policy = store.policy(policy).map_err(fail)?;
            is_equal &= policy == store.program(program, endian).map_err(fail)?;
        }
        Ok(is_equal)
    }
}
