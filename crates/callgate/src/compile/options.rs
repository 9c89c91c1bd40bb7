//! Options of a compilation, its phases, and its result.

use callgate_bpf::SyscallTable;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_codegen::{Aim, Instructions, Model, Weights};
use callgate_core::diagram::Budget;
use callgate_core::template::Template;
use callgate_core::{Arch, Proved};

/// Options of a compilation.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The cost model of the kernel; it matters without weights.
    pub model: Model,
    /// The primary objective: speed, size, or the time of the compilation.
    pub aim: Aim,
    /// The instructions that the program may contain: all, or only those that simple interpreters know.
    pub instructions: Instructions,
    /// How often each syscall occurs.
    pub weights: Weights,
    /// The budget of the diagram.
    pub budget: Budget,
    /// Whether [`Stats::expected_insns`] and [`Stats::filtered_insns`] are computed; true by default. For filters that allow most syscalls, it takes up
    /// to a third of the time.
    pub expected_insns: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            model: Model::default(),
            aim: Aim::default(),
            instructions: Instructions::default(),
            weights: Weights::default(),
            budget: Budget::default(),
            expected_insns: true,
        }
    }
}

/// A proved program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Compiled {
    /// The program, proved equal to its description.
    pub program: Proved,
    /// Its figures.
    pub stats: Stats,
}

/// A proved program with variables.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompiledTemplate {
    /// The program, proved equal to its description for all values of its variables.
    pub template: Proved<Template>,
    /// Syscalls that are always allowed for some values of the variables and not for others, as arch token and number. The
    /// kernel's cache does not know them: it recognizes a syscall that is always allowed by comparisons of arch and
    /// number only (`seccomp_is_const_allow` in kernel/seccomp.c).
    pub uncached: Vec<(u32, u32)>,
    /// Its figures.
    pub stats: Stats,
}

impl CompiledTemplate {
    /// A warning that the kernel cannot cache the [`uncached`](CompiledTemplate::uncached) syscalls, if there are any.
    #[must_use]
    pub fn cache_warning(&self) -> Option<Diagnostic> {
        let (token, nr) = self.uncached.first()?;
        let first = Arch::of_syscall(*token, *nr).and_then(|arch| arch.syscall_name(*nr));
        let first = first.map_or_else(|| nr.to_string(), str::to_owned);
        let (others, is, whose) = match self.uncached.len() - 1 {
            0 => (String::new(), "is", "its verdict"),
            1 => (" and 1 more syscall".to_owned(), "are", "their verdict"),
            others => (format!(" and {others} more syscalls"), "are", "their verdict"),
        };
        let message = format!(
            "the kernel cannot cache that `{first}`{others} {is} allowed: {whose} depends only on variables"
        );
        let help = "compile a filter for each case, so that the kernel can cache that it is always allowed";
        Some(Diagnostic::warning(None, message).help(help))
    }
}

/// Figures of a compilation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// The number of instructions.
    pub insns: usize,
    /// The mean number of executed instructions under the weights, see [`expected_insns`](super::expected_insns); also
    /// `None` without [`Options::expected_insns`], for a program with variables, and if it was proved by cases and there is no
    /// diagram, which the mean needs, within the budget.
    pub expected_insns: Option<f64>,
    /// The same for permitted syscalls for which every kernel runs the filter, see [`filtered_insns`](super::filtered_insns).
    pub filtered_insns: Option<f64>,
    /// The number of known syscalls that are constant allow.
    pub constant_allow: usize,
    /// The number of nodes of the diagram; 0 if the program was made and [proved by cases](callgate_core::Cases).
    pub nodes: usize,
}

/// The end of a phase of a compilation, for callers that measure time: this crate reads no clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// The program is generated, but not yet checked.
    Generated,
    /// The program has passed all checks.
    Proved,
}
