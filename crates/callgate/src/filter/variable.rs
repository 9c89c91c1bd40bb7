//! Variables in conditions.

use std::ops::{Add, Not};

use super::arg::Arg;
use super::value::ArgValue;
use callgate_core::template::{Symbol, VariableError, VariableList};

/// A value that is set when the filter is installed, such as the number of a file descriptor. [`var`] creates one.
#[derive(Clone, Debug)]
pub struct Var {
    name: String,
    /// What is compared, for variable 0.
    symbol: Symbol,
}

/// A variable: a value that is set when the filter is installed.
///
/// [`Arg::eq`](crate::Arg::eq) and the other comparisons accept it in place of a constant; `var("v") + 4096` and
/// `!var("v")` are possible as well. A filter with variables is compiled by [`Filter::compile_template`](
/// crate::Filter::compile_template) to a program that is proved for all values.
///
/// A variable has 64 bits if it is compared with 64 bits of an argument somewhere, otherwise 32.
///
/// ```
/// use callgate::{Arch, Filter, Verdict, arg, values_by_name, var};
///
/// let filter = Filter::builder(Arch::X86_64)
///     .allow_if("sendmsg", arg("fd").eq(var("controller_fd")))?
///     .allow_if("mmap", arg("prot").bits_within(var("allowed_prot")))?
///     .build()?;
/// let template = filter.compile_template()?;
/// let values = values_by_name(template.variables(), [("controller_fd", 7), ("allowed_prot", 3)])?;
/// let program = template.instantiate(&values)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn var(name: impl Into<String>) -> Var {
    Var { name: name.into(), symbol: Symbol::new(0) }
}

impl Var {
    /// The symbol, with the variable in this list.
    pub(super) fn symbol(&self, variables: &mut VariableList) -> Result<Symbol, VariableError> {
        let own = variables.symbol(&self.name)?;
        Ok(self.symbol.of_same_variable(own))
    }
}

impl Add<u64> for Var {
    type Output = Var;

    /// The value plus a constant, modulo 2^64.
    fn add(self, constant: u64) -> Var {
        Var { symbol: self.symbol.plus(constant), ..self }
    }
}

impl Not for Var {
    type Output = Var;

    /// The complement: all 64 bits inverted.
    fn not(self) -> Var {
        Var { symbol: self.symbol.complement(), ..self }
    }
}

/// What an argument is compared with: a constant, a variable, or another argument; all convert into it.
#[derive(Clone, Debug)]
pub struct Comparand(pub(super) Kind);

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Constant(ArgValue),
    Variable(Var),
    Argument(Box<Arg>),
}

impl<V: Into<ArgValue>> From<V> for Comparand {
    fn from(value: V) -> Comparand {
        Comparand(Kind::Constant(value.into()))
    }
}

/// All bits of another argument, as the kernel reads them.
///
/// ```
/// use callgate::{Arch, Filter, Verdict, arg};
///
/// let builder = Filter::builder(Arch::X86_64);
/// let filter = builder.allow_if("dup2", arg("oldfd").ne(arg("newfd")))?.build()?;
/// assert_eq!(filter.verdict(Arch::X86_64, 33, [3, 4, 0, 0, 0, 0]), Verdict::ALLOW);
/// assert_eq!(filter.verdict(Arch::X86_64, 33, [4, 4, 0, 0, 0, 0]), Verdict::KILL_PROCESS);
/// # Ok::<(), callgate::Error>(())
/// ```
impl From<Arg> for Comparand {
    fn from(argument: Arg) -> Comparand {
        Comparand(Kind::Argument(Box::new(argument)))
    }
}

impl From<Var> for Comparand {
    fn from(variable: Var) -> Comparand {
        Comparand(Kind::Variable(variable))
    }
}
