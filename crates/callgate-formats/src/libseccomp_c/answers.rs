//! The arguments of a call, as libseccomp reads them.

use super::context::Target;
use super::header::operator;
use crate::ruleset::Comparison;
use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_bpf::text::calls::{Argument, Call};
use callgate_core::Verdict;

type Result<T> = std::result::Result<T, Diagnostic>;

/// The arguments of a call.
#[derive(Clone, Copy)]
pub(super) struct Arguments<'c> {
    pub(super) call: &'c Call<'c>,
}

/// The most comparisons of a rule: one per argument.
pub(super) const MAX_ARGS: usize = 6;

impl<'c> Arguments<'c> {
    fn error(self, message: String) -> Diagnostic {
        Diagnostic::error(Some(self.call.position), message)
    }

    /// The error for a value that is not known.
    fn not_known(self, what: &str, why: &str, advice: &Advice) -> Diagnostic {
        self.error(format!("{what} is not known: {why}")).help(advice.clone())
    }

    fn get(self, index: usize, what: &str) -> Result<&'c Argument> {
        self.call.arguments.get(index).ok_or_else(|| {
            let message = format!(
                "the call of `{}` has {} arguments: {what} is missing",
                self.call.function,
                self.call.arguments.len()
            );
            self.error(message).help("see the man page of the function")
        })
    }

    /// A number.
    pub(super) fn number(self, index: usize, what: &str) -> Result<i128> {
        match self.get(index, what)? {
            Argument::Number(number) => Ok(*number),
            Argument::Unknown(why, advice) => Err(self.not_known(what, why, advice)),
            _ => Err(self.error(format!("{what} is not a number"))),
        }
    }

    /// A number of the type `uint32_t`.
    pub(super) fn word(self, index: usize, what: &str) -> Result<u32> {
        Ok(self.number(index, what)? as u32)
    }

    pub(super) fn verdict(self, index: usize, what: &str) -> Result<Verdict> {
        Ok(Verdict(self.word(index, what)?))
    }

    /// A context; `None` for a null pointer.
    pub(super) fn context(self, index: usize) -> Result<Option<usize>> {
        const WHAT: &str = "the filter";
        match self.get(index, WHAT)? {
            Argument::Handle(context) => Ok(Some(*context)),
            Argument::Number(0) => Ok(None),
            Argument::Unknown(why, advice) => {
                Err(self.not_known("the filter that this call is about", why, advice))
            }
            _ => Err(self.error("the first argument is not a filter".to_owned())),
        }
    }

    /// A string, if it is known.
    pub(super) fn text(self, index: usize) -> Option<&'c str> {
        match self.call.arguments.get(index) {
            Some(Argument::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The syscall of a rule.
    pub(super) fn target(self, index: usize) -> Result<Target> {
        const WHAT: &str = "the syscall of this rule";
        if let Argument::Absent(known) = self.get(index, WHAT)? {
            return Ok(Target::Absent(*known));
        }
        let number = self.number(index, WHAT)? as i32;
        if number <= -100 {
            let message =
                format!("{number} is libseccomp's number for a syscall of other architectures");
            return Err(self.error(message).help("write its name: SCMP_SYS(name)"));
        }
        Ok(Target::Number(number))
    }

    /// The comparisons of a rule, of which the call has a number; `Err` inside for those that libseccomp refuses.
    pub(super) fn comparisons(
        self,
        in_array: bool,
    ) -> Result<std::result::Result<Vec<Comparison>, String>> {
        let count = self.word(3, "the number of comparisons")? as usize;
        if count > MAX_ARGS {
            let why = format!("it has {count} comparisons, and {MAX_ARGS} is the limit");
            return Ok(Err(why));
        }
        let given: &[Argument] = match (in_array, self.call.arguments.get(4)) {
            _ if count == 0 => &[],
            (false, _) => self.call.arguments.get(4..).unwrap_or_default(),
            (true, Some(Argument::Array(given))) => given,
            (true, Some(Argument::Unknown(why, advice))) => {
                return Err(self.not_known("the array of comparisons", why, advice));
            }
            (true, Some(Argument::Number(0))) => {
                return Ok(Err("it has no array of comparisons".to_owned()));
            }
            (true, _) => return Err(self.error("the comparisons are not an array".to_owned())),
        };
        let Some(given) = given.get(..count) else {
            let message =
                format!("this rule has {count} comparisons, of which {} are given", given.len());
            return Err(self
                .error(message)
                .help("give as many comparisons as the number before them says"));
        };
        let mut comparisons: Vec<Comparison> = Vec::with_capacity(count);
        for argument in given {
            let comparison = match self.comparison(argument)? {
                Ok(comparison) => comparison,
                Err(why) => return Ok(Err(why)),
            };
            if comparisons.iter().any(|other| other.arg() == comparison.arg()) {
                return Ok(Err(format!("it compares argument {} twice", comparison.arg())));
            }
            comparisons.push(comparison);
        }
        Ok(Ok(comparisons))
    }

    fn comparison(self, argument: &Argument) -> Result<std::result::Result<Comparison, String>> {
        let fields = match argument {
            Argument::Record(fields) => fields,
            Argument::Unknown(why, advice) => {
                return Err(self.not_known("a comparison", why, advice));
            }
            _ => return Err(self.error("a comparison is not a libseccomp structure".to_owned())),
        };
        let number = |index: usize, what: &str| match fields.get(index) {
            Some(Argument::Number(number)) => Ok(*number),
            Some(Argument::Unknown(why, advice)) => Err(self.not_known(what, why, advice)),
            _ => {
                let why = "it is an address, which only a run of the program shows";
                let advice = Advice::ReadProcessOr("write the value that is meant");
                Err(self.not_known(what, why, &advice))
            }
        };
        let arg = number(0, "the argument of a comparison")?;
        let op = number(1, "the operator of a comparison")?;
        let first = number(2, "the value of a comparison")? as u64;
        let second = number(3, "the second value of a comparison")? as u64;
        let Some(operator) = operator(op, first) else {
            return Ok(Err(format!("{op} is not an operator")));
        };
        let value = if let crate::ruleset::Op::MaskedEq(_) = operator { second } else { first };
        let arg = u8::try_from(arg).ok().and_then(|arg| Comparison::new(arg, operator, value));
        Ok(arg.ok_or_else(|| "it compares an argument that syscalls do not have".to_owned()))
    }

    /// How many comparisons are given beyond the number that the call has.
    pub(super) fn unused(self) -> usize {
        let count = match self.call.arguments.get(3) {
            Some(Argument::Number(count)) => usize::try_from(*count).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        self.call.arguments.len().saturating_sub(4).saturating_sub(count)
    }
}
