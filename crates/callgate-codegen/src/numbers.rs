//! The search for arch and number: over runs of values, weighted by the calls that happen.

use crate::query;
use rustc_hash::FxHashMap as HashMap;

use super::Aim;
use super::code::{Code, CodeId, Held};
use super::lower::Lowering;
use super::tree::{Price, Run, Tree, search_tree};
use super::twin::{self, Stretch, To, Twins};
use callgate_bpf::Op;
use callgate_bpf::data::Word;
use callgate_proof::diagram::{DiagramError, Func};

/// Above so many runs no search tree is built. It is far above what fits into a program: whoever
/// comes near it shall hear how many instructions it would take.
pub(super) const MAX_RUNS: usize = 1 << 15;

/// Twins with more than this share of the weight are searched for like all other numbers: sharing
/// takes some tests more to find them.
const RARE: f64 = 0.2;

const NO_PLACE: DiagramError =
    DiagramError::defect("a search tree has a class that leads somewhere");

/// A search tree, and where its classes lead.
struct Search {
    tree: Tree,
    exits: Vec<To>,
}

impl Lowering<'_> {
    /// A search tree for arch or number; `None` when there are too many runs.
    pub(super) fn search(
        &mut self,
        func: Func,
        word: Word,
    ) -> Result<Option<CodeId>, DiagramError> {
        let Some(intervals) = query::partition(self.store, func, word, MAX_RUNS) else {
            return Ok(None);
        };
        let weights = match word {
            Word::ARCH => self.arches.clone(),
            _ => self.numbers.get(&func).cloned().unwrap_or_default(),
        };
        let is_shared = |bit| self.aim == Aim::Size || share(&weights, bit) <= RARE;
        if let Some(twins) = twin::twins(&intervals).filter(|twins| is_shared(twins.bit)) {
            return self.search_twins(word, &twins, &weights).map(Some);
        }
        let stretches: Vec<Stretch> = intervals
            .iter()
            .map(|interval| (interval.first, interval.last, To::Exit(interval.then)))
            .collect();
        let search = self.tree_over(&stretches, &weights);
        self.searched(word, &search, &[]).map(Some)
    }

    fn tree_over(&self, stretches: &[Stretch], weights: &[(u32, f64)]) -> Search {
        let mut exits = Vec::new();
        let stretches = &frequent_apart(stretches, weights);
        let runs = classify(stretches, weights, &mut exits);
        Search { tree: search_tree(&runs, Price::of_number(self.aim)), exits }
    }

    /// The code of a search; `places` says where those exits lead that are no functions.
    fn searched(
        &mut self,
        word: Word,
        search: &Search,
        places: &[(To, CodeId)],
    ) -> Result<CodeId, DiagramError> {
        let mut codes = Vec::with_capacity(search.exits.len());
        for exit in &search.exits {
            codes.push(match exit {
                To::Exit(func) => self.entry(*func)?,
                // A class of values that do not come here needs a place too: any one.
                _ => match places.iter().find(|(to, _)| to == exit) {
                    Some((_, code)) => *code,
                    None => *codes.first().ok_or(NO_PLACE)?,
                },
            });
        }
        Ok(self.tree(&search.tree, &codes, &codes, Held { word, mask: u32::MAX }))
    }

    /// The search for numbers of which some are nearly those without a bit.
    fn search_twins(
        &mut self,
        word: Word,
        twins: &Twins,
        weights: &[(u32, f64)],
    ) -> Result<CodeId, DiagramError> {
        let (bit, held) = (twins.bit, Held { word, mask: u32::MAX });
        let with = self.tree_over(&twins.with, weights);
        if self.aim == Aim::Size {
            // Those with the bit are found first of all, so the search for the others is one piece.
            let at = twins.all.partition_point(|(first, ..)| *first < bit);
            let (low, high) = twins.all.split_at(at);
            let [low, high] = [low, high].map(|stretches| self.tree_over(stretches, weights));
            let otherwise = self.searched(word, &low, &[])?;
            let with = self.with_bit(word, &with, bit, otherwise)?;
            let then = self.searched(word, &high, &[(To::Twin, with)])?;
            return Ok(self.graph.add(Code::Branch {
                held,
                op: Op::JgeK,
                k: bit,
                then,
                otherwise,
            }));
        }
        // They are found in their place among all numbers; the tests on the way there are made again
        // for those that are the same as without the bit.
        let all = self.tree_over(&twins.all, weights);
        let never = all.exits.iter().position(|exit| *exit == To::Twin).unwrap_or(usize::MAX);
        let tree = twin::below(&all.tree, bit, never);
        let without = self.searched(word, &Search { tree, exits: all.exits.clone() }, &[])?;
        let with = self.with_bit(word, &with, bit, without)?;
        self.searched(word, &all, &[(To::Twin, with)])
    }

    /// The search among the numbers with the bit, of which some go on `without` it.
    fn with_bit(
        &mut self,
        word: Word,
        search: &Search,
        bit: u32,
        without: CodeId,
    ) -> Result<CodeId, DiagramError> {
        let held = Held { word, mask: u32::MAX };
        let without = self.graph.add(Code::And { held, mask: !bit, next: without });
        self.searched(word, search, &[(To::Same, without)])
    }
}

/// The share of the weight that numbers have from `bit` to the next power of two.
fn share(weights: &[(u32, f64)], bit: u32) -> f64 {
    let sum = |of: &dyn Fn(u32) -> bool| -> f64 {
        weights.iter().filter(|(value, _)| of(*value)).map(|(_, weight)| weight).sum()
    };
    let total = sum(&|_| true);
    if total > 0.0 { sum(&|value| value & bit == bit && value >> 1 < bit) / total } else { 0.0 }
}

/// The share of the weight from which on a number is frequent.
const FREQUENT: f64 = 0.03;

/// The same stretches, but frequent numbers are stretches of their own: it may be worth it to test
/// for them before the numbers around them, although those lead to the same place.
fn frequent_apart(stretches: &[Stretch], weights: &[(u32, f64)]) -> Vec<Stretch> {
    let (Some((start, ..)), Some((_, end, _))) = (stretches.first(), stretches.last()) else {
        return Vec::new();
    };
    let here = weights.iter().filter(|(value, _)| (start..=end).contains(&value));
    let total: f64 = here.clone().map(|(_, weight)| weight).sum();
    let mut frequent =
        here.filter(|(_, weight)| *weight > FREQUENT * total).map(|(value, _)| *value).peekable();
    let mut apart = Vec::with_capacity(stretches.len());
    for (first, last, to) in stretches.iter().copied() {
        let mut rest = Some(first);
        while let (Some(first), Some(value)) = (rest, frequent.next_if(|value| *value <= last)) {
            if first < value {
                apart.push((first, value - 1, to));
            }
            apart.push((value, value, to));
            rest = value.checked_add(1).filter(|next| *next <= last);
        }
        apart.extend(rest.map(|first| (first, last, to)));
    }
    apart
}

/// Runs with weights, and their exits as classes.
fn classify(stretches: &[Stretch], weights: &[(u32, f64)], exits: &mut Vec<To>) -> Vec<Run> {
    let mut class_of: HashMap<To, usize> = HashMap::default();
    let start = stretches.first().map_or(0, |(first, ..)| *first);
    let mut weights = weights.iter().skip_while(|(value, _)| *value < start).peekable();
    stretches
        .iter()
        .map(|(first, last, to)| {
            let class = *class_of.entry(*to).or_insert_with(|| {
                exits.push(*to);
                exits.len() - 1
            });
            let mut weight = 0.0;
            while let Some((_, w)) = weights.next_if(|(value, _)| value <= last) {
                weight += w;
            }
            Run { first: *first, last: *last, class, weight }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::Verdict;
    use callgate_proof::diagram::Store;

    #[test]
    fn frequent_numbers_stand_apart() {
        let mut store = Store::default();
        let funcs = [1, 2].map(|errno| store.verdict(Verdict::errno(errno)).unwrap());
        let to = |func: usize| To::Exit(funcs[func - 1]);
        let stretches = [(0, 4, to(1)), (5, 9, to(2)), (10, u32::MAX, to(1))];
        let weights = [(2, 1.0), (4, 0.5), (9, 1.0), (10, 0.001)];
        let apart = frequent_apart(&stretches, &weights);
        let wanted = [
            (0, 1, to(1)),
            (2, 2, to(1)),
            (3, 3, to(1)),
            (4, 4, to(1)),
            (5, 8, to(2)),
            (9, 9, to(2)),
            (10, u32::MAX, to(1)),
        ];
        assert_eq!(apart, wanted);
    }
}
