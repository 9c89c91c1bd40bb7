//! Filters that are compared.

use callgate::compile::{self, CompileError, compile, recompile};
use callgate::{Arch, Endian};
use callgate_core::LongProgram;
use callgate_core::diagram::Budget;
use callgate_core::policy::Policy;
use callgate_core::template::Template;

/// Enough for all filters in use. Random programs with arithmetic may exceed any budget, and take long to do so.
pub(crate) const BUDGET: Budget = Budget { nodes: 200_000, steps: 1_000_000 };

/// A filter in either form.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    Policy(Box<Policy>),
    Program(LongProgram),
    /// A program with variables; the other side is its policy.
    Template(Box<Template>),
}

/// A filter with a name.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) endian: Endian,
    pub(crate) arches: Vec<Arch>,
}

impl Subject {
    pub(crate) fn policy(name: impl Into<String>, policy: Policy) -> Subject {
        let (endian, arches) = (policy.endian(), policy.arches().collect());
        Subject { name: name.into(), source: Source::Policy(Box::new(policy)), endian, arches }
    }

    pub(crate) fn program(
        name: impl Into<String>,
        program: LongProgram,
        endian: Endian,
    ) -> Subject {
        let arches = callgate_bpf::compared_arches(&program, endian);
        Subject { name: name.into(), source: Source::Program(program), endian, arches }
    }

    pub(crate) fn compile(&self, options: &compile::Options) -> Result<LongProgram, CompileError> {
        let compiled = match &self.source {
            Source::Policy(policy) => compile(policy, options),
            Source::Program(program) => recompile(program, self.endian, &self.arches, options),
            Source::Template(template) => return Ok(template.program().clone().into()),
        };
        compiled.map(|compiled| compiled.program.into())
    }
}
