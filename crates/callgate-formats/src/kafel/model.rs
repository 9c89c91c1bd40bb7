//! A parsed policy, before names of syscalls and arguments are resolved, and the parser of its expressions.

use super::lexer::{Mistake, Syntax, Token, TokenKind};
use crate::included::{Place, Span};
use callgate_core::policy::Cmp;
use callgate_core::{Arch, Verdict};

/// All statements of a text with its included files.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// The statements at the top level come first, then those of the policies, in the order of their definition.
    pub(super) policies: Vec<PolicyBody>,
    /// The default action, and where it is given.
    pub(super) default: Option<(Verdict, Place)>,
}

/// The statements of a policy.
#[derive(Debug, Default)]
pub(super) struct PolicyBody {
    /// The name; `None` for the top level.
    pub(super) name: Option<Span>,
    pub(super) statements: Vec<Statement>,
}

#[derive(Debug)]
pub(super) enum Statement {
    /// The index of another policy.
    Use { policy: usize, at: Place },
    /// Rules with the same verdict.
    Block { verdict: Verdict, filters: Vec<Filter> },
}

/// A syscall, perhaps with a condition.
#[derive(Debug)]
pub(super) struct Filter {
    /// Its number in the order of the text, from 0.
    pub(super) index: usize,
    pub(super) syscall: Syscall,
    /// Where the syscall is named.
    pub(super) at: Span,
    /// The names that the policy gives to the arguments.
    pub(super) parameters: Option<Vec<Span>>,
    /// The architectures after `ON`.
    pub(super) arches: Option<Vec<Arch>>,
    /// The condition in postfix order; empty for none.
    pub(super) condition: Vec<Item>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syscall {
    /// By its name.
    Named,
    Number(u32),
    /// A number with a defined name.
    Defined(u32),
}

/// A part of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    pub(super) at: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Number(u64),
    /// A defined name; the number may be also the name of an argument.
    Defined(u64),
    /// A defined name of one of the kernel's constants, whose value depends on the architecture.
    Constant(Span),
    /// An argument or one of the kernel's constants.
    Name,
    /// A variable: `$name`, perhaps with a number added, or complemented.
    Variable {
        addend: u64,
        is_complement: bool,
    },
    BitAnd,
    BitOr,
    Compare(Cmp),
    Not,
    And,
    Or,
}

// Parser of expressions: operator precedence with an explicit stack.
//
// From the loosest: `,` (or), `||`, `&&`, `!`, comparisons, `|`, `&`. Operands are numbers or conditions; a mistake in
// their kinds is an error with the operator's position.

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Condition,
}

/// An operator or an open parenthesis that waits for its right operand.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Operator(Operator, Span),
    Parenthesis(Span),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Operator {
    sign: &'static str,
    kind: ItemKind,
    /// Operators of higher precedence bind more tightly.
    precedence: u8,
}

const NOT: Operator = Operator { sign: "!", kind: ItemKind::Not, precedence: 4 };
/// The precedence of comparisons, which cannot be chained.
const COMPARISON: u8 = 5;

const OPERATORS: &[Operator] = &[
    Operator { sign: ",", kind: ItemKind::Or, precedence: 1 },
    Operator { sign: "||", kind: ItemKind::Or, precedence: 2 },
    Operator { sign: "&&", kind: ItemKind::And, precedence: 3 },
    Operator { sign: "==", kind: ItemKind::Compare(Cmp::Eq), precedence: COMPARISON },
    Operator { sign: "!=", kind: ItemKind::Compare(Cmp::Ne), precedence: COMPARISON },
    Operator { sign: "<", kind: ItemKind::Compare(Cmp::Lt), precedence: COMPARISON },
    Operator { sign: "<=", kind: ItemKind::Compare(Cmp::Le), precedence: COMPARISON },
    Operator { sign: ">", kind: ItemKind::Compare(Cmp::Gt), precedence: COMPARISON },
    Operator { sign: ">=", kind: ItemKind::Compare(Cmp::Ge), precedence: COMPARISON },
    Operator { sign: "|", kind: ItemKind::BitOr, precedence: 6 },
    Operator { sign: "&", kind: ItemKind::BitAnd, precedence: 7 },
];

/// Collects the parts of an expression in postfix order.
#[derive(Default)]
pub(super) struct Expression {
    output: Vec<Item>,
    /// The kinds of the values that the output leaves on a stack.
    kinds: Vec<Kind>,
    waiting: Vec<Waiting>,
    /// Whether the last part was an operand, so that an operator follows.
    has_operand: bool,
}

impl Expression {
    /// Adds an operand.
    pub(super) fn operand(&mut self, item: Item) -> Syntax<()> {
        if self.has_operand {
            return Err(Mistake::new(
                item.at.at,
                "missing operator before this operand",
                "join comparisons with `&&` or `||`",
            ));
        }
        self.output.push(item);
        self.kinds.push(Kind::Number);
        self.has_operand = true;
        Ok(())
    }

    /// Adds an operator or a parenthesis. `false` if the token ends the expression.
    pub(super) fn sign(&mut self, token: Token) -> Syntax<bool> {
        let TokenKind::Sign(sign) = token.kind else { return Ok(false) };
        match sign {
            "(" if self.has_operand => {
                return Err(Mistake::new(
                    token.span.at,
                    "missing operator before `(`",
                    "join comparisons with `&&` or `||`",
                ));
            }
            "(" => self.waiting.push(Waiting::Parenthesis(token.span)),
            "!" if self.has_operand => {
                return Err(Mistake::new(
                    token.span.at,
                    "missing operator before `!`",
                    "write `!=`, `&& !` or `|| !`",
                ));
            }
            "!" => self.waiting.push(Waiting::Operator(NOT, token.span)),
            ")" => {
                self.need_operand(token.span, ")")?;
                self.reduce(0)?;
                match self.waiting.pop() {
                    Some(Waiting::Parenthesis(_)) => {}
                    _ => return Err(Mistake::new(token.span.at, "`)` without `(`", "remove it")),
                }
            }
            _ => {
                let Some(operator) = OPERATORS.iter().find(|one| one.sign == sign) else {
                    return Ok(false);
                };
                self.need_operand(token.span, sign)?;
                self.reduce(operator.precedence)?;
                self.waiting.push(Waiting::Operator(*operator, token.span));
                self.has_operand = false;
            }
        }
        Ok(true)
    }

    /// The number of parts.
    pub(super) fn len(&self) -> usize {
        self.output.len() + self.waiting.len()
    }

    /// Whether nothing was added.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The parts, at the token after the expression.
    pub(super) fn finish(mut self, end: Span) -> Syntax<Vec<Item>> {
        if !self.has_operand {
            return Err(Mistake::new(
                end.at,
                "missing operand at the end of the expression",
                "add a name, a number or a condition",
            ));
        }
        self.reduce(0)?;
        if let Some(Waiting::Parenthesis(at)) = self.waiting.last() {
            return Err(Mistake::new(at.at, "`(` without `)`", "close it"));
        }
        match (self.kinds.as_slice(), self.output.last()) {
            ([Kind::Condition], _) => Ok(self.output),
            (_, last) => Err(Mistake::new(
                last.map_or(end, |item| item.at).at,
                "this is a number, not a condition",
                "compare it, for example with `!= 0`",
            )),
        }
    }

    fn need_operand(&self, at: Span, sign: &str) -> Syntax<()> {
        if self.has_operand {
            return Ok(());
        }
        Err(Mistake::new(
            at.at,
            format!("missing operand before `{sign}`"),
            "add a name, a number or a condition",
        ))
    }

    /// Outputs the waiting operators of at least this precedence.
    fn reduce(&mut self, precedence: u8) -> Syntax<()> {
        while let Some(Waiting::Operator(operator, at)) = self.waiting.last().copied() {
            if operator.precedence < precedence {
                break;
            }
            if operator.precedence == COMPARISON && precedence == COMPARISON {
                return Err(Mistake::new(
                    at.at,
                    "comparisons cannot be chained",
                    "write `a < b && b < c`, or use parentheses",
                ));
            }
            self.waiting.pop();
            self.output_operator(operator, at)?;
        }
        Ok(())
    }

    fn output_operator(&mut self, operator: Operator, at: Span) -> Syntax<()> {
        let (wanted, result) = match operator.kind {
            ItemKind::BitAnd | ItemKind::BitOr => (Kind::Number, Kind::Number),
            ItemKind::Compare(_) => (Kind::Number, Kind::Condition),
            _ => (Kind::Condition, Kind::Condition),
        };
        let operands = if operator.kind == ItemKind::Not { 1 } else { 2 };
        for _ in 0..operands {
            if self.kinds.pop() != Some(wanted) {
                let sign = operator.sign;
                return Err(match wanted {
                    Kind::Condition => Mistake::new(
                        at.at,
                        format!("an operand of `{sign}` is a number, not a condition"),
                        "compare it, for example with `!= 0`",
                    ),
                    Kind::Number if matches!(operator.kind, ItemKind::Compare(_)) => Mistake::new(
                        at.at,
                        format!("an operand of `{sign}` is a condition, not a number"),
                        "use `&&`, `||` and `!`",
                    ),
                    Kind::Number => Mistake::new(
                        at.at,
                        format!("an operand of `{sign}` is a condition, not a number"),
                        format!("did you mean `{sign}{sign}`?"),
                    ),
                });
            }
        }
        self.kinds.push(result);
        self.output.push(Item { kind: operator.kind, at });
        Ok(())
    }
}
