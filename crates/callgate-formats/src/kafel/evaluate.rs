//! Evaluates an expression in postfix order to a condition, with an explicit stack.

use super::condition::{MAX_BITS, TooManyBits, compare, compare_with_variable, swapped};
use super::lexer::{Mistake, Syntax};
use super::lower::Resolver;
use super::model::{Item, ItemKind};
use super::word::Word;
use crate::included::Span;
use callgate_core::policy::{Cmp, Condition, VariableRelation};
use callgate_core::template::Symbol;

/// The maximum depth of `&&` inside `||` inside `&&` and so on; operations on conditions recurse this deep.
const MAX_DEPTH: usize = 200;

/// A value on the stack.
enum Value {
    Number(Word),
    Symbol(Symbol),
    /// The bits that a number shares with a variable.
    Shared(Word, Symbol),
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
    fn of(condition: Condition) -> Group {
        Group { is_and: true, is_negated: false, parts: vec![condition], depth: 0 }
    }

    fn into_condition(self) -> Condition {
        let joined =
            if self.is_and { Condition::all(self.parts) } else { Condition::any(self.parts) };
        if self.is_negated { joined.negated() } else { joined }
    }

    /// An equal group that is joined by `&&`, or by `||`, or is the negation of a group that is joined by the other one.
    fn joined_by(self, is_and: bool) -> Group {
        if (self.is_and == is_and) != self.is_negated {
            return self;
        }
        let depth = self.depth + usize::from(self.parts.len() != 1);
        Group { is_and, is_negated: false, parts: vec![self.into_condition()], depth }
    }

    /// Joins two groups. The smaller one takes the form of the larger one, so that each part is negated at most as often
    /// as the number of parts around it doubles.
    fn join(self, other: Group, is_and: bool) -> Group {
        let (many, few) = (self.joined_by(is_and), other.joined_by(is_and));
        let (mut many, few) =
            if many.parts.len() < few.parts.len() { (few, many) } else { (many, few) };
        let depth = many.depth.max(few.depth);
        if few.is_negated == many.is_negated {
            many.parts.extend(few.parts);
        } else {
            many.parts.extend(few.parts.into_iter().map(Condition::negated));
        }
        Group { depth, ..many }
    }
}

impl Resolver<'_, '_> {
    /// The condition of an expression; without parts, always.
    pub(super) fn evaluate(&mut self, items: &[Item]) -> Syntax<Condition> {
        let mut stack: Vec<Value> = Vec::new();
        // The parser has checked that operands exist and are of the right kind.
        for item in items {
            let value = match item.kind {
                ItemKind::Number(_)
                | ItemKind::Defined(_)
                | ItemKind::Constant(_)
                | ItemKind::Name => Value::Number(self.operand(*item)?),
                ItemKind::Variable { .. } => Value::Symbol(self.variable(*item)?),
                ItemKind::BitAnd | ItemKind::BitOr => {
                    let (right, left) = (number(&mut stack), number(&mut stack));
                    bits(left, right, item.kind == ItemKind::BitAnd)
                        .ok_or_else(|| misused_variable(item.at))?
                }
                ItemKind::Compare(cmp) => {
                    let (right, left) = (number(&mut stack), number(&mut stack));
                    let (left, right) = match (left, right) {
                        (Value::Number(left), Value::Number(right)) => (left, right),
                        (left, right) => {
                            let compared = with_variable(&left, cmp, &right);
                            let (condition, symbol, wide) =
                                compared.ok_or_else(|| misused_variable(item.at))?;
                            self.compared_with_variable(item.at, symbol, wide)?;
                            stack.push(Value::Group(Group::of(condition)));
                            continue;
                        }
                    };
                    let condition = compare(&left, cmp, &right).map_err(|TooManyBits(bits)| {
                    let message = format!(
                        "this comparison depends on {bits} bits of several arguments at once, the maximum is {MAX_BITS}"
                    );
                    let help = "compare whole arguments (`a == b`), each with numbers, or only a few bits (`a & 7 == b & 7`)";
                    Mistake::new(item.at.at, message, help)
                })?;
                    self.compared(item.at, &left, cmp, &right, &condition)?;
                    Value::Group(Group::of(condition))
                }
                ItemKind::Not => {
                    let group = group(&mut stack);
                    Value::Group(Group { is_negated: !group.is_negated, ..group })
                }
                ItemKind::And | ItemKind::Or => {
                    let (right, left) = (group(&mut stack), group(&mut stack));
                    let joined = left.join(right, item.kind == ItemKind::And);
                    if joined.depth > MAX_DEPTH {
                        let message =
                            format!("`&&` and `||` are nested more than {MAX_DEPTH} deep");
                        let help = "write the condition in several rules";
                        return Err(Mistake::new(item.at.at, message, help).too_large());
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
}

fn number(stack: &mut Vec<Value>) -> Value {
    match stack.pop() {
        Some(Value::Group(_)) | None => Value::Number(Word::Number(0)),
        Some(value) => value,
    }
}

/// `left & right` or `left | right`; `None` if that has no meaning for variables.
fn bits(left: Value, right: Value, is_and: bool) -> Option<Value> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            Some(Value::Number(left.join(right, is_and)))
        }
        (Value::Number(word), Value::Symbol(symbol))
        | (Value::Symbol(symbol), Value::Number(word))
            if is_and =>
        {
            Some(Value::Shared(word, symbol))
        }
        _ => None,
    }
}

/// The condition of a comparison with a variable, the variable, and whether 64 bits are compared.
fn with_variable(left: &Value, cmp: Cmp, right: &Value) -> Option<(Condition, Symbol, bool)> {
    let (word, relation, symbol) = match (left, right) {
        (Value::Number(word), Value::Symbol(symbol)) => (word, VariableRelation::Cmp(cmp), symbol),
        (Value::Symbol(symbol), Value::Number(word)) => {
            (word, VariableRelation::Cmp(swapped(cmp)), symbol)
        }
        (Value::Shared(word, symbol), Value::Number(Word::Number(0)))
        | (Value::Number(Word::Number(0)), Value::Shared(word, symbol)) => match cmp {
            Cmp::Eq => (word, VariableRelation::NoBit, symbol),
            Cmp::Ne => (word, VariableRelation::AnyBit, symbol),
            _ => return None,
        },
        _ => return None,
    };
    let (condition, wide) = compare_with_variable(word, relation, *symbol)?;
    Some((condition, *symbol, wide))
}

fn misused_variable(at: Span) -> Mistake {
    let help = "compare it with an argument (`fd == $fd`), with some of its bits (`(flags & 3) == $mode`), or compare \
                the bits that both share with 0 (`(flags & ~$allowed) == 0`)";
    Mistake::new(at.at, "a variable cannot be used like this", help)
}

fn group(stack: &mut Vec<Value>) -> Group {
    match stack.pop() {
        Some(Value::Group(group)) => group,
        // Never holds; the parser has refused such an expression.
        _ => Group { is_and: false, is_negated: false, parts: Vec::new(), depth: 0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::SeccompData;
    use callgate_core::policy::{Field, Test};

    fn argument_is(value: u64) -> Condition {
        Condition::test(Test::eq(Field::arg(0).unwrap(), value))
    }

    fn group(parts: impl IntoIterator<Item = u64>, is_and: bool, is_negated: bool) -> Group {
        let parts = parts.into_iter().map(argument_is).collect();
        Group { is_and, is_negated, parts, depth: 0 }
    }

    /// Otherwise, the time of `!(!(!(…) || b) && c) || d` is quadratic in its length.
    #[test]
    fn a_negated_group_is_joined_without_negating_its_parts() {
        for is_and in [false, true] {
            let joined = group(0..9, !is_and, true).join(group([9], true, false), is_and);
            assert_eq!(joined.parts[..9], (0..9).map(argument_is).collect::<Vec<_>>());
            assert_eq!(joined.parts[9], argument_is(9).negated());
            assert_eq!(joined.depth, 0);
        }
    }

    #[test]
    fn joined_groups_hold_where_the_operator_says() {
        let flags = [false, true];
        let forms = || flags.iter().flat_map(|is_and| flags.iter().map(move |not| (*is_and, *not)));
        for ((a, not_a), (b, not_b)) in forms().flat_map(|a| forms().map(move |b| (a, b))) {
            for is_and in flags {
                for value in 0..5 {
                    let data = SeccompData { args: [value; 6], ..SeccompData::default() };
                    let (left, right) = (|| group([1, 2], a, not_a), || group([2, 3, 3], b, not_b));
                    let [first, second] =
                        [left(), right()].map(|one| one.into_condition().holds(&data));
                    let expected = if is_and { first && second } else { first || second };
                    for joined in [left().join(right(), is_and), right().join(left(), is_and)] {
                        assert_eq!(joined.into_condition().holds(&data), expected, "{value}");
                    }
                }
            }
        }
    }
}
