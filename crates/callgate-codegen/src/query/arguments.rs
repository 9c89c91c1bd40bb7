//! Branches of comparisons of two arguments.
//!
//! In the diagram, they are comparisons of halves. Where those of the high halves and of the low halves together compare all
//! bits, there is one condition.

use callgate_core::diagram::{Compared, Func, Store};
use callgate_core::policy::{Cmp, VariableRelation};
use callgate_core::{Relation, Verdict, Word};

use super::condition::{ArgPart, Branch, ValueCondition, ValueSet};

/// The branches of the comparison of two arguments that a function tests first; `None` if it tests another comparison.
pub(super) fn compared(store: &Store, func: Func) -> Option<Vec<Branch>> {
    let Outcomes { words, branches } = Outcomes::of(store, func)?;
    let whole = halves(words).and_then(|low| branches.merged(store, low));
    let is_whole = whole.is_some();
    let [left, right] = [part_of(words[0])?, part_of(words[1])?]
        .map(|(arg, part)| if is_whole { (arg, ArgPart::Whole) } else { (arg, part) });
    let branch = |(relation, size, then)| {
        let values = ValueSet::Compared { relation, arg: right.0, part: right.1 };
        Branch { condition: ValueCondition { arg: left.0, part: left.1, values }, size, then }
    };
    Some(whole.unwrap_or(branches).listed(store).into_iter().map(branch).collect())
}

/// The outcomes of the comparison of two words.
struct Outcomes {
    words: [Word; 2],
    branches: Branches,
}

#[derive(Clone, Copy)]
enum Branches {
    /// The functions where the first word is equal to the second one, greater, and less.
    Order { equal: Func, above: Func, below: Func },
    /// The functions where the words share a bit, and where they do not.
    Shares { any: Func, none: Func },
}

impl Outcomes {
    fn of(store: &Store, func: Func) -> Option<Outcomes> {
        let compared = |func: Func| {
            let comparison = store.top_comparison(func)?;
            match comparison.other {
                Compared::Word(other) => Some((comparison.relation, [comparison.word, other])),
                Compared::Half(..) => None,
            }
        };
        let (relation, words) = compared(func)?;
        let (low, high) = store.children(func);
        let branches = match relation {
            Relation::Equal => match compared(low) {
                Some((Relation::Greater, same)) if same == words => {
                    let (below, above) = store.children(low);
                    Branches::Order { equal: high, above, below }
                }
                _ => Branches::Order { equal: high, above: low, below: low },
            },
            // Only where the words differ.
            Relation::Greater => Branches::Order { equal: low, above: high, below: low },
            Relation::Shares => Branches::Shares { any: high, none: low },
            Relation::AtLeast => return None,
        };
        Some(Outcomes { words, branches })
    }
}

impl Branches {
    /// The outcomes for all bits, if these are those of the high halves, and the low halves are compared alike where the high ones
    /// do not decide.
    fn merged(self, store: &Store, low: [Word; 2]) -> Option<Branches> {
        let undecided = match self {
            Branches::Order { equal, .. } => equal,
            Branches::Shares { none, .. } => none,
        };
        let of_low = Outcomes::of(store, undecided).filter(|outcomes| outcomes.words == low)?;
        match (self, of_low.branches) {
            (
                Branches::Order { above, below, .. },
                inner @ Branches::Order { above: low_above, below: low_below, .. },
            ) if (above, below) == (low_above, low_below) => Some(inner),
            (Branches::Shares { any, .. }, inner @ Branches::Shares { any: low_any, .. })
                if any == low_any =>
            {
                Some(inner)
            }
            _ => None,
        }
    }

    /// The relations with the number of values, for a value of the second word, and their functions. What is permitted comes first.
    fn listed(self, store: &Store) -> Vec<(VariableRelation, u128, Func)> {
        const HALF: u128 = 1 << 63;
        let of = |cmp, size, func| (VariableRelation::Cmp(cmp), size, func);
        let mut list = match self {
            Branches::Order { equal, above, below } if above == below => {
                return vec![of(Cmp::Eq, 1, equal), of(Cmp::Ne, 2 * HALF, above)];
            }
            Branches::Order { equal, above, below } if equal == above => {
                vec![of(Cmp::Lt, HALF, below), of(Cmp::Ge, HALF, above)]
            }
            Branches::Order { equal, above, below } if equal == below => {
                vec![of(Cmp::Le, HALF, below), of(Cmp::Gt, HALF, above)]
            }
            Branches::Order { equal, above, below } => {
                vec![of(Cmp::Eq, 1, equal), of(Cmp::Lt, HALF, below), of(Cmp::Gt, HALF, above)]
            }
            Branches::Shares { any, none } => {
                vec![(VariableRelation::AnyBit, HALF, any), (VariableRelation::NoBit, HALF, none)]
            }
        };
        let permits = |func: Func| store.as_verdict(func).is_some_and(Verdict::permits);
        list.sort_by_key(|(_, size, func)| (*size, !permits(*func)));
        list
    }
}

/// The comparison of two arguments.
pub(super) fn as_text(left: &str, relation: VariableRelation, right: &str) -> String {
    let sign = match relation {
        VariableRelation::Cmp(Cmp::Eq) => "==",
        VariableRelation::Cmp(Cmp::Ne) => "!=",
        VariableRelation::Cmp(Cmp::Lt) => "<",
        VariableRelation::Cmp(Cmp::Le) => "<=",
        VariableRelation::Cmp(Cmp::Gt) => ">",
        VariableRelation::Cmp(Cmp::Ge) => ">=",
        VariableRelation::AnyBit => return format!("{left} & {right} != 0"),
        VariableRelation::NoBit => return format!("{left} & {right} == 0"),
    };
    format!("{left} {sign} {right}")
}

/// The argument of a word, and which half it is; no argument for the instruction pointer.
fn part_of(word: Word) -> Option<(Option<u8>, ArgPart)> {
    let half = |is_high| if is_high { ArgPart::High } else { ArgPart::Low };
    match word.argument() {
        Some((arg, is_high)) => Some((Some(arg), half(is_high))),
        None if word > Word::NR => Some((None, half(word == Word::IP_HIGH))),
        None => None,
    }
}

/// The low halves of two high halves.
fn halves(words: [Word; 2]) -> Option<[Word; 2]> {
    let low = |word| {
        let (_, part) = part_of(word)?;
        Word::from_index(word.index() + 1).filter(|_| part == ArgPart::High)
    };
    Some([low(words[0])?, low(words[1])?])
}
