//! Boolean expressions over arguments, and what they mean for one syscall of one architecture.

use std::ops::{BitAnd, BitOr, Not};

use super::arg::Arg;
use super::error::Cause;
use super::matcher::Matcher;
use super::operand::Operand;
use callgate_bpf::Arch;
use callgate_proof::policy::Condition;

/// How deep expressions may nest: what is done with a condition recurses once per level.
const MAX_DEPTH: usize = 64;

/// A boolean expression over the arguments of a syscall: when a rule applies.
///
/// The comparisons of [`Arg`](crate::Arg) make expressions; `&`, `|` and `!` combine them. They may nest 64
/// levels deep; a row of the same operator is one level.
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
#[must_use = "an expression does nothing until a rule has it as its condition"]
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
    /// An expression beyond [`MAX_DEPTH`], which is not kept: even dropping it would recurse.
    TooDeep,
}

impl Expr {
    pub(super) fn test(arg: Arg, matcher: Matcher) -> Expr {
        Expr { shape: Shape::Test(arg, matcher), depth: 0 }
    }

    /// Holds for every call.
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

    /// Holds when all of these do; with none, always.
    ///
    /// ```
    /// # use callgate::{Arch, Expr, Filter, arg};
    /// let zero = Expr::all_of([0, 1, 2].map(|number| arg(number).eq(0)));
    /// assert!(Filter::builder(Arch::X86_64).allow_if("read", zero).is_ok());
    /// ```
    pub fn all_of(parts: impl IntoIterator<Item = Expr>) -> Expr {
        parts.into_iter().fold(Expr::always(), |all, part| all & part)
    }

    /// Holds when at least one of these does; with none, never.
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

    /// An expression of this shape above others; none that would be too deep.
    fn above(shape: Shape, below: usize) -> Expr {
        if below < MAX_DEPTH {
            Expr { shape, depth: below + 1 }
        } else {
            Expr { shape: Shape::TooDeep, depth: below }
        }
    }

    /// What it means for a syscall of an architecture. `call` is the name; `None` for a number
    /// without one.
    pub(super) fn resolve(&self, arch: Arch, call: Option<&str>) -> Result<Condition, Cause> {
        let all = |parts: &[Expr]| -> Result<Vec<Condition>, Cause> {
            parts.iter().map(|part| part.resolve(arch, call)).collect()
        };
        match &self.shape {
            Shape::All(parts) => Ok(Condition::all(all(parts)?)),
            Shape::Any(parts) => Ok(Condition::any(all(parts)?)),
            Shape::Not(part) => Ok(part.resolve(arch, call)?.negated()),
            Shape::Test(arg, matcher) => Operand::of(arg, arch, call)?.resolve(matcher),
            Shape::TooDeep => Err(Cause::TooDeep { limit: MAX_DEPTH }),
        }
    }

    /// Whether it holds for every call by its form alone, and asks for no argument.
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
