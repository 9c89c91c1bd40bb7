//! Evaluates an expression in postfix order to a condition, with an explicit stack.

use super::condition::{MAX_BITS, TooManyBits, compare};
use super::model::{Item, ItemKind};
use super::sources::Span;
use super::word::Word;
use callgate_proof::policy::{Cmp, Condition};

/// The maximum depth of `&&` inside `||` inside `&&` and so on; operations on conditions recurse this deep.
const MAX_DEPTH: usize = 200;

/// An error at a part of the expression, which stops the evaluation.
pub(super) struct Stop {
    pub(super) at: Span,
    pub(super) message: String,
    pub(super) help: String,
}

/// What an expression needs to know of its surroundings.
pub(super) trait Context {
    /// The value of an operand.
    fn operand(&mut self, item: Item) -> Result<Word, Stop>;
    /// Looks at a comparison and its condition.
    fn compared(&mut self, at: Span, left: &Word, cmp: Cmp, right: &Word, condition: &Condition);
}

/// A value on the stack.
enum Value {
    Number(Word),
    Group(Group),
}

/// Conditions that are joined, perhaps negated as a whole.
struct Group {
    is_and: bool,
    is_negated: bool,
    parts: Vec<Condition>,
    /// The depth of the parts.
    depth: usize,
}

impl Group {
    fn into_condition(self) -> Condition {
        let joined =
            if self.is_and { Condition::all(self.parts) } else { Condition::any(self.parts) };
        if self.is_negated { joined.negated() } else { joined }
    }

    /// The parts of an equal group that is joined by `&&`, or by `||`, and not negated.
    fn into_parts(self, is_and: bool) -> (Vec<Condition>, usize) {
        let Group { is_negated, depth, .. } = self;
        match (self.is_and == is_and, is_negated) {
            (true, false) => (self.parts, depth),
            (false, true) => (self.parts.into_iter().map(Condition::negated).collect(), depth),
            _ => {
                let is_single = self.parts.len() == 1;
                (vec![self.into_condition()], depth + usize::from(!is_single))
            }
        }
    }

    fn join(self, other: Group, is_and: bool) -> Group {
        let ((mut many, a), (mut few, b)) = (self.into_parts(is_and), other.into_parts(is_and));
        if many.len() < few.len() {
            std::mem::swap(&mut many, &mut few);
        }
        many.append(&mut few);
        Group { is_and, is_negated: false, parts: many, depth: a.max(b) }
    }
}

/// The condition of an expression; without parts, always.
pub(super) fn evaluate(items: &[Item], context: &mut impl Context) -> Result<Condition, Stop> {
    let mut stack: Vec<Value> = Vec::new();
    // The parser has checked that operands exist and are of the right kind.
    for item in items {
        let value = match item.kind {
            ItemKind::Number(_) | ItemKind::Defined(_) | ItemKind::Constant(_) | ItemKind::Name => {
                Value::Number(context.operand(*item)?)
            }
            ItemKind::BitAnd | ItemKind::BitOr => {
                let (right, left) = (number(&mut stack), number(&mut stack));
                Value::Number(left.join(right, item.kind == ItemKind::BitAnd))
            }
            ItemKind::Compare(cmp) => {
                let (right, left) = (number(&mut stack), number(&mut stack));
                let condition = compare(&left, cmp, &right).map_err(|TooManyBits(bits)| Stop {
                    at: item.at,
                    message: format!(
                        "this comparison depends on {bits} bits of several arguments at once, the maximum is {MAX_BITS}"
                    ),
                    help: "compare each argument with numbers, or only a few bits (`a & 7 == b & 7`)".to_owned(),
                })?;
                context.compared(item.at, &left, cmp, &right, &condition);
                Value::Group(Group {
                    is_and: true,
                    is_negated: false,
                    parts: vec![condition],
                    depth: 0,
                })
            }
            ItemKind::Not => {
                let group = group(&mut stack);
                Value::Group(Group { is_negated: !group.is_negated, ..group })
            }
            ItemKind::And | ItemKind::Or => {
                let (right, left) = (group(&mut stack), group(&mut stack));
                let joined = left.join(right, item.kind == ItemKind::And);
                if joined.depth > MAX_DEPTH {
                    return Err(Stop {
                        at: item.at,
                        message: format!("`&&` and `||` are nested more than {MAX_DEPTH} deep"),
                        help: "write the condition in several rules".to_owned(),
                    });
                }
                Value::Group(joined)
            }
        };
        stack.push(value);
    }
    if stack.is_empty() {
        return Ok(Condition::always());
    }
    Ok(group(&mut stack).into_condition())
}

fn number(stack: &mut Vec<Value>) -> Word {
    match stack.pop() {
        Some(Value::Number(word)) => word,
        _ => Word::Number(0),
    }
}

fn group(stack: &mut Vec<Value>) -> Group {
    match stack.pop() {
        Some(Value::Group(group)) => group,
        // Never holds; the parser has refused such an expression.
        _ => Group { is_and: false, is_negated: false, parts: Vec::new(), depth: 0 },
    }
}
