//! A granted syscall: why it is granted, and with which limits.

use callgate_formats::annotated::AnnotatedWriter;
use callgate_formats::ruleset::Comparison;

use super::arg_limit::ArgLimit;
use super::language_runtime::LanguageRuntime;

/// How many alternatives the limits of one syscall may have together. Each becomes a rule.
const MAX_ALTERNATIVES: usize = 64;

/// A syscall that the profile allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The name of the syscall.
    pub name: &'static str,
    /// Why it is granted.
    pub reason: GrantReason,
    /// Whether the program that installs the filter makes it afterwards.
    pub at_start: bool,
    /// Where the code of the program makes it, if that is known.
    pub code: Option<String>,
    /// All of these must hold.
    pub limits: Vec<ArgLimit>,
    /// Arguments that could be limited, but are not.
    pub unlimited: Vec<UnlimitedArg>,
}

/// Why a syscall is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantReason {
    /// It was recorded, this many times.
    Recorded(u64),
    /// It was not recorded, but the code of the program can make it.
    Code,
    /// The program that installs the filter makes it afterwards.
    Runtime,
    /// The kernel makes programs call it, for example after a signal.
    Kernel,
    /// A C library or the runtime of a language may make it at any time.
    Language {
        /// Which one.
        runtime: LanguageRuntime,
        /// Where its source makes it.
        source: &'static str,
    },
    /// It replaces or accompanies a recorded syscall.
    Sibling {
        /// The recorded syscall.
        of: &'static str,
        /// How the two are related.
        why: &'static str,
    },
}

/// An argument that could be limited, but is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnlimitedArg {
    /// The name of the argument.
    pub name: &'static str,
    /// Why it is not limited.
    pub why: String,
    /// Whether the reason is that some values are not known.
    pub lacks_values: bool,
}

/// How often something was recorded, for people: `once`, `2 times`.
pub(super) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

impl UnlimitedArg {
    pub(super) fn new(name: &'static str, why: impl Into<String>) -> UnlimitedArg {
        UnlimitedArg { name, why: why.into(), lacks_values: false }
    }
}

impl Grant {
    pub(super) fn new(name: &'static str, reason: GrantReason) -> Grant {
        Grant {
            name,
            reason,
            at_start: false,
            code: None,
            limits: Vec::new(),
            unlimited: Vec::new(),
        }
    }

    /// Whether the syscall was recorded.
    pub fn is_recorded(&self) -> bool {
        matches!(self.reason, GrantReason::Recorded(_))
    }

    /// The limits in disjunctive form, as far as a language has them: at least one alternative must hold.
    pub(super) fn alternatives(&self, to: &AnnotatedWriter) -> Vec<Vec<Comparison>> {
        let mut all = vec![Vec::new()];
        for limit in self.limits.iter().filter(|_| to.has_arguments()) {
            let cubes: Vec<_> =
                limit.cubes().into_iter().map(|cube| limit.comparison(cube)).collect();
            let with = |earlier: &Vec<Comparison>| -> Vec<Vec<Comparison>> {
                let one =
                    |cube: &Option<Comparison>| earlier.iter().copied().chain(*cube).collect();
                cubes.iter().map(one).collect()
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }

    /// Allows these values of all limited arguments as well.
    pub(super) fn widen(&mut self, values: &[u64]) {
        self.limits.iter_mut().for_each(|limit| limit.widen(values));
    }

    /// Removes all limits.
    pub(super) fn unlimit(&mut self, why: &str) {
        let limits = self.limits.drain(..);
        self.unlimited.extend(limits.map(|limit| UnlimitedArg::new(limit.name, why)));
    }

    /// Removes limits that allow every value.
    pub(super) fn remove_vacuous_limits(&mut self) {
        let (real, vacuous): (Vec<ArgLimit>, Vec<ArgLimit>) =
            self.limits.drain(..).partition(|limit| !limit.allows_all());
        self.limits = real;
        self.unlimited.extend(vacuous.into_iter().map(|limit| {
            let why = "recorded and always allowed values are all possible values";
            UnlimitedArg::new(limit.name, why)
        }));
    }

    /// Removes limits, starting with the one that has the most alternatives, until at most [`MAX_ALTERNATIVES`]
    /// remain.
    pub(super) fn limit_alternatives(&mut self) {
        while self.limits.iter().map(|limit| limit.cubes().len()).product::<usize>()
            > MAX_ALTERNATIVES
        {
            let most = (0..self.limits.len())
                .max_by_key(|index| self.limits.get(*index).map(|limit| limit.cubes().len()));
            let Some(most) = most else { return };
            let limit = self.limits.remove(most);
            let why = format!("the limits together would need more than {MAX_ALTERNATIVES} rules");
            self.unlimited.push(UnlimitedArg::new(limit.name, why));
        }
    }
}
