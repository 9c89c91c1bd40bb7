//! What was proved.

use std::ops::Deref;
use std::sync::Arc;

use crate::template::{Template, ValueError};
use crate::{Endian, LongProgram, Program};

use crate::spec::{FilterSpec, Spec};

/// A program, or a template of programs, that computes what a [`Spec`] describes, which was proved by
/// [`Meaning`](crate::Meaning) or by [`Cases`](crate::Cases). Nothing else makes one, but for a program as its
/// [own description](Proved::itself), and a proved template whose variables [get values](Proved::instantiate).
///
/// ```compile_fail
/// use callgate_core::Program;
/// use callgate_core::Proved;
///
/// fn forge(other: Program, proved: Proved) -> Proved {
///     Proved { program: other, ..proved } // the fields are private
/// }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Proved<P = Program> {
    program: P,
    // Shared with the meaning: it may hold many filters.
    spec: Arc<Spec>,
}

impl<P> Proved<P> {
    /// For the proofs of this crate.
    pub(crate) fn new(program: P, spec: Arc<Spec>) -> Proved<P> {
        Proved { program, spec }
    }

    /// What the program was proved to compute.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The program alone, which may be changed.
    pub fn into_program(self) -> P {
        self.program
    }
}

impl Proved {
    /// A program as its own description: it computes what it computes.
    pub fn itself(program: Program, endian: Endian) -> Proved {
        let spec = Spec::Filter(FilterSpec::Program(LongProgram::clone(&program), endian));
        Proved::new(program, Arc::new(spec))
    }
}

impl Proved<Template> {
    /// The program for these values of the variables, which computes the policy for these values.
    ///
    /// # Errors
    /// If the number of values is not that of the variables, or a value does not fit.
    pub fn instantiate(&self, values: &[u64]) -> Result<Proved, ValueError> {
        let spec = match &*self.spec {
            Spec::Filter(FilterSpec::Policy(policy)) => {
                Arc::new(Spec::Filter(FilterSpec::Policy(policy.given(values)?)))
            }
            // Only policies have variables.
            _ => self.spec.clone(),
        };
        Ok(Proved::new(self.program.instantiate(values)?, spec))
    }
}

impl From<Proved> for Program {
    fn from(proved: Proved) -> Program {
        proved.program
    }
}

impl From<Proved> for LongProgram {
    fn from(proved: Proved) -> LongProgram {
        proved.program.into()
    }
}

/// As the program alone: what is read from somewhere is not proved.
#[cfg(feature = "serde")]
impl<P: serde::Serialize> serde::Serialize for Proved<P> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.program.serialize(serializer)
    }
}

impl<P: PartialEq> PartialEq<P> for Proved<P> {
    fn eq(&self, other: &P) -> bool {
        self.program == *other
    }
}

impl<P> Deref for Proved<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.program
    }
}
