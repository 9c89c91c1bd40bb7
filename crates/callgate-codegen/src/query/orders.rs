//! What a function costs with another word first, without its diagram in that order.
//!
//! A diagram has a node per bit, so bringing a word to the front creates very many nodes, and most orders are not worth
//! it. Here a function is a graph with a node per function of a word. Values of a word that lead to the same exit in all
//! nodes of that word are one *atom*, so a node is the list of its exits by atom. These lists are as canonical as the
//! diagram: two functions of a word are equal exactly if their lists are. So the counts are those of the diagram.

use crate::Result;
use std::cmp::Ordering;

use rustc_hash::{FxHashMap as HashMap, FxHashSet};

use callgate_core::Word;
use callgate_core::diagram::{Func, Store};

use super::reorder::Tuples;

/// The maximum number of atoms of a word.
const MAX_ATOMS: usize = 512;

/// A function as a graph of words.
pub(crate) struct WordGraph {
    /// The functions; the first one is the root.
    nodes: Vec<WordNode>,
    numbers: HashMap<Func, usize>,
    words: [WordNodes; Word::COUNT],
    /// A lower bound of the instructions in the order of the diagram: a load and a test for each function of a word, and
    /// one more test for each further exit.
    pub(crate) insns: usize,
}

struct WordNode {
    func: Func,
    /// `None`: a verdict.
    word: Option<Word>,
    exits: Vec<usize>,
    /// The exit of each atom of the word, once they are known.
    by_atom: Vec<usize>,
}

/// The nodes that test a word.
#[derive(Default)]
struct WordNodes {
    numbers: Vec<usize>,
    atoms: Atoms,
}

#[derive(Clone, Copy, Default)]
enum Atoms {
    #[default]
    Unknown,
    Known(usize),
    TooMany,
}

impl WordGraph {
    /// The graph of a function without variables.
    pub(crate) fn new(store: &Store, func: Func) -> WordGraph {
        let mut graph = WordGraph {
            nodes: Vec::new(),
            numbers: HashMap::default(),
            words: Default::default(),
            insns: 0,
        };
        graph.number(store, func);
        let mut next = 0;
        while let Some(WordNode { func, word, .. }) = graph.nodes.get(next) {
            if let Some(word) = *word {
                let exits = store.exits(*func, word, usize::MAX).unwrap_or_default();
                graph.insns += exits.len();
                graph.words[word.index()].numbers.push(next);
                graph.nodes[next].exits =
                    exits.into_iter().map(|exit| graph.number(store, exit)).collect();
            }
            next += 1;
        }
        graph
    }

    fn number(&mut self, store: &Store, func: Func) -> usize {
        *self.numbers.entry(func).or_insert_with(|| {
            let word = store.top_word(func);
            self.nodes.push(WordNode { func, word, exits: Vec::new(), by_atom: Vec::new() });
            self.nodes.len() - 1
        })
    }

    /// The words that several functions test first. Another one determines nothing about the others.
    pub(crate) fn shared_words(&self) -> Vec<Word> {
        Word::all().filter(|word| self.words[word.index()].numbers.len() > 1).collect()
    }

    /// As [`WordGraph::insns`], with this word first; `None` if they are too many. If so many are, more of them are, too.
    ///
    /// # Errors
    /// If the budget is exhausted.
    pub(crate) fn insns_with_first(
        &mut self,
        store: &mut Store,
        word: Word,
        too_many: impl Fn(usize) -> bool,
    ) -> Result<Option<usize>> {
        // Each atom has a cofactor of its own, which is an exit.
        let others = self.least_besides(word);
        let exits = |number: &usize| self.nodes[*number].exits.len();
        if too_many(self.words[word.index()].numbers.iter().map(exits).max().unwrap_or(1) + others)
        {
            return Ok(None);
        }
        let too_many_atoms = |atoms: usize| too_many(atoms + others);
        let Some(atoms) = self.atoms(store, word, &too_many_atoms)? else { return Ok(None) };
        let mut known = HashMap::default();
        for earlier in Word::all().take_while(|earlier| *earlier < word) {
            if self.atoms(store, earlier, &|_| false)?.is_none() {
                return Ok(None);
            }
            for number in &self.words[earlier.index()].numbers {
                known.insert((earlier, self.nodes[*number].by_atom.clone()), *number);
            }
        }
        let mut reordered = Reordered {
            graph: self,
            word,
            known,
            next: self.nodes.len(),
            cofactors: Vec::new(),
            counted: FxHashSet::default(),
            insns: atoms,
        };
        for atom in 0..atoms {
            reordered.cofactors = vec![None; self.nodes.len()];
            reordered.cofactor(store, 0, atom)?;
            if too_many(reordered.insns) {
                return Ok(None);
            }
        }
        Ok(Some(reordered.insns))
    }

    /// A lower bound of the instructions for other words if this one comes first. Functions of later words remain, because
    /// some values of the words before them lead to each; of each earlier word, at least one function with two exits.
    fn least_besides(&self, word: Word) -> usize {
        let of_words =
            Word::all().zip(&self.words).filter(|(_, of_word)| !of_word.numbers.is_empty());
        let exits = |number: &usize| self.nodes[*number].exits.len();
        of_words
            .map(|(other, WordNodes { numbers, .. })| match other.cmp(&word) {
                Ordering::Less => 2,
                Ordering::Equal => 0,
                Ordering::Greater => numbers.iter().map(exits).sum(),
            })
            .sum()
    }

    /// The number of atoms of a word; `None` if they are too many.
    fn atoms(
        &mut self,
        store: &mut Store,
        word: Word,
        too_many: &impl Fn(usize) -> bool,
    ) -> Result<Option<usize>> {
        let WordNodes { numbers, atoms } = &self.words[word.index()];
        match *atoms {
            Atoms::Known(atoms) => return Ok(Some(atoms).filter(|atoms| !too_many(*atoms))),
            Atoms::TooMany => return Ok(None),
            Atoms::Unknown if numbers.is_empty() => return Ok(Some(1)),
            Atoms::Unknown => {}
        }
        let funcs: Vec<Func> = numbers.iter().map(|number| self.nodes[*number].func).collect();
        let numbers = numbers.clone();
        let mut by_atom = vec![Vec::new(); numbers.len()];
        let mut tuples = Tuples::new(word);
        let mut stack = vec![tuples.tuple(store, &funcs)?];
        let mut seen = FxHashSet::default();
        let mut atoms = 0;
        while let Some(tuple) = stack.pop() {
            if !seen.insert(tuple) {
                continue;
            }
            if let Some((_, cofactors)) = tuples.branch(store, tuple)? {
                stack.extend(cofactors);
                continue;
            }
            atoms += 1;
            if atoms > MAX_ATOMS {
                self.words[word.index()].atoms = Atoms::TooMany;
                return Ok(None);
            }
            if too_many(atoms) {
                return Ok(None);
            }
            store.charge_steps(numbers.len() as u64)?;
            for (list, func) in by_atom.iter_mut().zip(tuples.funcs(tuple)) {
                list.push(self.number(store, func));
            }
        }
        for (number, by_atom) in numbers.into_iter().zip(by_atom) {
            self.nodes[number].by_atom = by_atom;
        }
        self.words[word.index()].atoms = Atoms::Known(atoms);
        Ok(Some(atoms))
    }
}

/// The cofactors of the root for each atom of a word, as nodes of a graph.
struct Reordered<'a> {
    graph: &'a WordGraph,
    word: Word,
    /// The numbers of nodes, of the graph and new ones, by word and exits by atom.
    known: HashMap<(Word, Vec<usize>), usize>,
    /// The number of the next new node.
    next: usize,
    /// The cofactors of the nodes of the graph for the current atom.
    cofactors: Vec<Option<usize>>,
    /// The nodes of the graph that are in `insns`.
    counted: FxHashSet<usize>,
    insns: usize,
}

impl Reordered<'_> {
    /// The cofactor of a node. Each recursion is at a later word.
    fn cofactor(&mut self, store: &mut Store, number: usize, atom: usize) -> Result<usize> {
        if let Some(done) = self.cofactors[number] {
            return Ok(done);
        }
        let node = &self.graph.nodes[number];
        let cofactor = match node.word {
            Some(word) if word < self.word => {
                for exit in &node.exits {
                    self.cofactor(store, *exit, atom)?;
                }
                store.charge_steps(node.by_atom.len() as u64)?;
                let by_atom = node.by_atom.iter().filter_map(|exit| self.cofactors[*exit]);
                self.node(word, by_atom.collect())
            }
            Some(word) if word == self.word => self.counted(node.by_atom[atom]),
            _ => self.counted(number),
        };
        self.cofactors[number] = Some(cofactor);
        Ok(cofactor)
    }

    /// The node with these exits, which are counted.
    fn node(&mut self, word: Word, by_atom: Vec<usize>) -> usize {
        let mut exits = by_atom.clone();
        exits.sort_unstable();
        exits.dedup();
        if let [exit] = exits.as_slice() {
            return *exit;
        }
        let number = *self.known.entry((word, by_atom)).or_insert(self.next);
        if number == self.next {
            self.next += 1;
        }
        if self.counted.insert(number) {
            self.insns += exits.len();
        }
        number
    }

    /// The same node, after it and those that follow are counted.
    fn counted(&mut self, number: usize) -> usize {
        let mut stack = vec![number];
        while let Some(number) = stack.pop() {
            if self.counted.insert(number) {
                let exits = &self.graph.nodes[number].exits;
                self.insns += exits.len();
                stack.extend(exits);
            }
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::word_first;
    use callgate_core::Verdict;
    use callgate_core::diagram::Split;

    /// The number of exits of all functions of words that an outline leads to.
    fn insns_of(store: &Store, outline: Func, first: Word) -> usize {
        let (mut seen, mut stack) = (FxHashSet::default(), Vec::new());
        let cofactors = store.exits(outline, first, usize::MAX).unwrap();
        stack.extend(cofactors.iter().map(|exit| store.resolve_placeholder(*exit)));
        let mut insns = cofactors.len();
        while let Some(func) = stack.pop() {
            let Some(word) = store.top_word(func).filter(|_| seen.insert(func)) else { continue };
            let exits = store.exits(func, word, usize::MAX).unwrap();
            insns += exits.len();
            stack.extend(exits);
        }
        insns
    }

    /// Random functions of four words whose values repeat, so that cofactors are equal often.
    #[test]
    fn the_counts_are_those_of_the_diagram() {
        let mut random = 1u64;
        let mut below = move |bound: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((random >> 33) % u64::from(bound)) as u32
        };
        let words = [0, 1, 2, 3].map(|arg| Word::arg_low(arg).unwrap());
        let mut fewer = 0;
        for _ in 0..100 {
            let mut store = Store::default();
            let mut func = store.verdict(Verdict::ALLOW).unwrap();
            for _ in 0..3 + below(12) {
                let mut inner = store.verdict(Verdict::errno(below(3) as u16)).unwrap();
                for word in words.into_iter().rev().filter(|_| below(2) == 0).collect::<Vec<_>>() {
                    let split = match below(3) {
                        0 => Split::AtLeast(1 + below(3)),
                        _ => Split::Equal(below(4)),
                    };
                    inner = store.split(word, split, inner, func).unwrap();
                }
                func = inner;
            }
            let mut graph = WordGraph::new(&store, func);
            for word in graph.shared_words() {
                let outline = word_first(&mut store, func, word).unwrap();
                let expected = insns_of(&store, outline, word);
                let insns = graph.insns_with_first(&mut store, word, |_| false).unwrap();
                assert_eq!(insns, Some(expected));
                let too_many = graph.insns_with_first(&mut store, word, |n| n >= expected).unwrap();
                assert_eq!(too_many, None);
                fewer += usize::from(expected < graph.insns);
            }
        }
        assert!(fewer > 10, "{fewer}");
    }
}
