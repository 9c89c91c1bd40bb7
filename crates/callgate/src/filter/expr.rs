//! Boolean expressions over arguments, and their resolution for a syscall of an architecture.

use std::ops::{BitAnd, BitOr, Not};

use super::arg::Arg;
use super::error::RuleErrorKind;
use super::operand::{Matcher, Operand};
use callgate_core::Arch;
use callgate_core::policy::Condition;
use callgate_core::template::VariableList;

/// The maximum depth of an expression: operations on conditions recurse once per level.
const MAX_DEPTH: usize = 64;

/// A boolean expression over the arguments of a syscall: the condition of a rule.
///
/// The comparisons of [`Arg`](crate::Arg) return expressions; `&`, `|` and `!` combine them. The maximum depth is 64
/// levels; a sequence of the same operator is one level.
///
/// ```
/// use callgate::{Arch, Filter, Verdict, arg};
///
/// let tcp = arg("family").is_in([2, 10]) & arg("type").masked(0xf).eq(1);
/// let unix = arg("family").eq(1);
/// let filter = Filter::builder(Arch::X86_64).allow_if("socket", unix | tcp)?.build()?;
/// assert_eq!(filter.verdict(Arch::X86_64, 41, [2, 0x80001, 6, 0, 0, 0]), Verdict::ALLOW);
/// assert_eq!(filter.verdict(Arch::X86_64, 41, [2, 2, 17, 0, 0, 0]), Verdict::KILL_PROCESS);
/// # Ok::<(), callgate::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "an expression has no effect unless a rule uses it as its condition"]
pub struct Expr {
    shape: Shape,
    /// Levels of `All`, `Any` and `Not`.
    depth: usize,
}

#[derive(Clone, Debug)]
enum Shape {
    All(Vec<Expr>),
    Any(Vec<Expr>),
    Not(Box<Expr>),
    Test(Arg, Matcher),
    /// An expression deeper than [`MAX_DEPTH`]. It is discarded, because even its destructor would recurse.
    TooDeep,
}

impl Expr {
    pub(super) fn test(arg: Arg, matcher: Matcher) -> Expr {
        Expr { shape: Shape::Test(arg, matcher), depth: 0 }
    }

    /// Holds for every syscall.
    ///
    /// ```
    /// # use callgate::{Arch, Expr, Filter, Verdict};
    /// let filter = Filter::builder(Arch::X86_64).allow_if("read", Expr::always())?.build()?;
    /// assert_eq!(filter.verdict(Arch::X86_64, 0, [9; 6]), Verdict::ALLOW);
    /// # Ok::<(), callgate::Error>(())
    /// ```
    pub fn always() -> Expr {
        Expr { shape: Shape::All(Vec::new()), depth: 1 }
    }

    /// Holds if all of these do; without any, always.
    ///
    /// ```
    /// # use callgate::{Arch, Expr, Filter, arg};
    /// let zero = Expr::all_of([0, 1, 2].map(|number| arg(number).eq(0)));
    /// assert!(Filter::builder(Arch::X86_64).allow_if("read", zero).is_ok());
    /// ```
    pub fn all_of(parts: impl IntoIterator<Item = Expr>) -> Expr {
        parts.into_iter().fold(Expr::always(), |all, part| all & part)
    }

    /// Holds if at least one of these does; without any, never.
    ///
    /// ```
    /// # use callgate::{Arch, Expr, Filter, arg};
    /// let known = Expr::any_of(["fd", "count"].map(|name| arg(name).eq(0)));
    /// assert!(Filter::builder(Arch::X86_64).allow_if("read", known).is_ok());
    /// ```
    pub fn any_of(parts: impl IntoIterator<Item = Expr>) -> Expr {
        let never = Expr { shape: Shape::Any(Vec::new()), depth: 1 };
        parts.into_iter().fold(never, |any, part| any | part)
    }

    /// An expression of this shape, one level above `below`; `TooDeep` beyond the maximum depth.
    fn above(shape: Shape, below: usize) -> Expr {
        if below < MAX_DEPTH {
            Expr { shape, depth: below + 1 }
        } else {
            Expr { shape: Shape::TooDeep, depth: below }
        }
    }

    /// The condition for a syscall of an architecture, with its variables in this list. `name` is `None` for a number
    /// without a name.
    pub(super) fn resolve(
        &self,
        arch: Arch,
        name: Option<&str>,
        variables: &mut VariableList,
    ) -> Result<Condition, RuleErrorKind> {
        let mut all = |parts: &[Expr]| -> Result<Vec<Condition>, RuleErrorKind> {
            parts.iter().map(|part| part.resolve(arch, name, variables)).collect()
        };
        match &self.shape {
            Shape::All(parts) => Ok(Condition::all(all(parts)?)),
            Shape::Any(parts) => Ok(Condition::any(all(parts)?)),
            Shape::Not(part) => Ok(part.resolve(arch, name, variables)?.negated()),
            Shape::Test(arg, matcher) => Operand::of(arg, arch, name)?.resolve(matcher, variables),
            Shape::TooDeep => Err(RuleErrorKind::TooDeep { limit: MAX_DEPTH }),
        }
    }

    /// Whether it is syntactically true: no arguments are tested.
    pub(super) fn is_always(&self) -> bool {
        matches!(&self.shape, Shape::All(parts) if parts.is_empty())
    }
}

impl BitAnd for Expr {
    type Output = Expr;

    fn bitand(self, other: Expr) -> Expr {
        let parts = |expr: Expr| match expr.shape {
            Shape::All(parts) => (parts, expr.depth.saturating_sub(1)),
            shape => (vec![Expr { shape, ..expr }], expr.depth),
        };
        let ((mut all, left), (more, right)) = (parts(self), parts(other));
        all.extend(more);
        Expr::above(Shape::All(all), left.max(right))
    }
}

impl BitOr for Expr {
    type Output = Expr;

    fn bitor(self, other: Expr) -> Expr {
        let parts = |expr: Expr| match expr.shape {
            Shape::Any(parts) => (parts, expr.depth.saturating_sub(1)),
            shape => (vec![Expr { shape, ..expr }], expr.depth),
        };
        let ((mut any, left), (more, right)) = (parts(self), parts(other));
        any.extend(more);
        Expr::above(Shape::Any(any), left.max(right))
    }
}

impl Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        match self.shape {
            Shape::Not(inner) => *inner,
            shape => {
                let depth = self.depth;
                Expr::above(Shape::Not(Box::new(Expr { shape, depth })), depth)
            }
        }
    }
}
