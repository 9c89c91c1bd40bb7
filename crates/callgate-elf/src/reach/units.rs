//! Functions whose code is one: parts that the compiler or the linker placed apart, such as rarely executed code, and pieces
//! into which code without bounds was split. Control flows into their middle, so that only together they have all values.

use rustc_hash::{FxHashMap, FxHashSet};

use super::walk::{Reach, jump_targets};
use crate::code::{Function, ReferenceKind, Scan};
use crate::image::{Image, Machine, Target};
use crate::program::{FunctionId, Program};

/// The code of a unit, and where it is entered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unit {
    /// Sorted.
    pub(crate) functions: Vec<Function>,
    /// Addresses that calls lead to.
    pub(crate) entries: Vec<u64>,
    /// Addresses that something points to, with any values in registers.
    pub(crate) labels: Vec<u64>,
    /// Where indirect jumps of the unit lead.
    pub(crate) jumps: Vec<u64>,
    /// Whether they may lead to any block of the unit.
    pub(crate) jumps_anywhere: bool,
}

/// All units.
#[derive(Debug, Default)]
pub(crate) struct Units {
    /// For each file and function, the first function of its unit.
    roots: Vec<Vec<u32>>,
    /// Units of several functions, by the first one.
    members: FxHashMap<FunctionId, Vec<u32>>,
    /// Addresses within functions that are entered from elsewhere.
    inner: FxHashMap<FunctionId, Vec<Inner>>,
    /// Functions of larger units that are entered only by jumps of their own unit.
    parts: FxHashSet<FunctionId>,
}

/// An address within a function that something refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Inner {
    at: u64,
    is_called: bool,
    /// The function whose code refers to it, if it is code.
    by: Option<u32>,
}

impl Units {
    pub(crate) fn of(program: Program<'_>, reach: &Reach) -> Units {
        let mut units = Units::default();
        for (number, (image, scan)) in program.files().enumerate() {
            units.add(number as u32, image, scan, reach);
        }
        units
    }

    fn add(&mut self, number: u32, image: &Image, scan: &Scan, reach: &Reach) {
        let mut roots: Vec<u32> = (0..scan.functions.len() as u32).collect();
        // Jumps to the starts of functions, and functions that are entered in another way.
        let mut jumped: Vec<(u32, u32)> = Vec::new();
        let mut entered: FxHashSet<u32> = FxHashSet::default();
        let mut inner: Vec<(u32, Inner)> = Vec::new();
        let mut refer = |at: u64, is_called: bool, by: Option<u32>| {
            let Some(found) = scan.function_at(at) else { return };
            let is_start = scan.functions.get(found).is_some_and(|function| function.start == at);
            match is_start {
                true => {
                    entered.insert(found as u32);
                }
                false => inner.push((found as u32, Inner { at, is_called, by })),
            }
        };
        for id in reach.functions().filter(|id| id.image == number) {
            let Some(function) = scan.functions.get(id.function as usize) else { continue };
            for reference in scan.references(function) {
                let target = reference.target;
                match reference.kind {
                    ReferenceKind::Jump => {
                        let Some(found) = scan.function_at(target) else { continue };
                        let is_start =
                            scan.functions.get(found).is_some_and(|found| found.start == target);
                        if found as u32 == id.function {
                            continue;
                        }
                        match is_start {
                            true => jumped.push((id.function, found as u32)),
                            false => unite(&mut roots, id.function, found as u32),
                        }
                    }
                    ReferenceKind::Call => refer(target, true, None),
                    ReferenceKind::Address if image.is_code(target) => {
                        refer(target, false, Some(id.function));
                    }
                    _ => {}
                }
            }
            for target in jump_targets(image, scan, function) {
                if let Some(found) = scan.function_at(target) {
                    unite(&mut roots, id.function, found as u32);
                }
            }
        }
        for relocation in &image.relocations {
            match relocation.target {
                Target::Local(address) if image.is_code(address) => refer(address, false, None),
                Target::Resolved(address) => refer(address, true, None),
                _ => {}
            }
        }
        let exports = image.exports.all.iter().filter(|symbol| symbol.is_defined);
        for address in exports.map(|symbol| symbol.address).chain([image.entry]) {
            if image.is_code(address) {
                refer(address, true, None);
            }
        }
        for call in &image.calls {
            refer(*call, true, None);
        }
        for function in 0..roots.len() as u32 {
            let root = root(&mut roots, function);
            if root != function {
                let first = FunctionId { image: number, function: root };
                self.members.entry(first).or_insert_with(|| vec![root]).push(function);
            }
        }
        // Jumps from other units are tail calls.
        for (from, to) in jumped {
            if root(&mut roots, from) != root(&mut roots, to) {
                entered.insert(to);
            }
        }
        let of = |function: u32| FunctionId { image: number, function };
        for (first, members) in &self.members {
            let members = members.iter().filter(|_| first.image == number).copied();
            self.parts.extend(members.filter(|member| !entered.contains(member)).map(of));
        }
        for (function, inner) in inner {
            self.inner.entry(of(function)).or_default().push(inner);
        }
        for function in 0..roots.len() as u32 {
            root(&mut roots, function);
        }
        self.roots.push(roots);
    }

    /// The first function of a unit, which stands for it.
    pub(crate) fn first(&self, id: FunctionId) -> FunctionId {
        let roots = self.roots.get(id.image as usize);
        let root = roots.and_then(|roots| roots.get(id.function as usize)).copied();
        id.beside(root.unwrap_or(id.function))
    }

    /// The functions of a unit, by the first one.
    pub(crate) fn members(&self, first: FunctionId) -> Vec<FunctionId> {
        match self.members.get(&first) {
            Some(members) => members.iter().map(|function| first.beside(*function)).collect(),
            None => vec![first],
        }
    }

    /// Where a function is entered: its start, and addresses within it that calls lead to.
    pub(crate) fn entries(&self, program: Program<'_>, id: FunctionId) -> Vec<u64> {
        let start = program.function(id).map(|(.., function)| function.start);
        let inner = self.inner.get(&id).into_iter().flatten();
        let inner = inner.filter(|inner| inner.is_called).map(|inner| inner.at);
        start.into_iter().chain(inner).collect()
    }

    /// The code of a unit, by the first function.
    pub(crate) fn unit(&self, program: Program<'_>, first: FunctionId) -> Unit {
        let mut unit = Unit::default();
        let members = self.members(first);
        let mut jumps_indirectly = false;
        let mut is_aarch64 = false;
        for id in &members {
            let Some((image, scan, function)) = program.function(*id) else { continue };
            is_aarch64 = image.machine == Machine::Aarch64;
            unit.functions.push(*function);
            unit.jumps.extend(jump_targets(image, scan, function));
            let references = scan.references(function).iter();
            jumps_indirectly |=
                references.clone().any(|reference| reference.kind == ReferenceKind::IndirectJump);
            if !self.parts.contains(id) {
                unit.entries.push(function.start);
            }
        }
        for id in &members {
            for inner in self.inner.get(id).into_iter().flatten() {
                let by_data = inner.by.is_none();
                let by_itself = inner.by.is_some_and(|by| self.first(first.beside(by)) == first);
                match inner.is_called {
                    true => unit.entries.push(inner.at),
                    // A table of addresses, or the label from which a table of aarch64 counts.
                    false if jumps_indirectly && (by_data || by_itself) => {
                        unit.jumps_anywhere |= by_itself && is_aarch64;
                        unit.jumps.push(inner.at);
                    }
                    false => unit.labels.push(inner.at),
                }
            }
        }
        if unit.entries.is_empty() {
            unit.entries.extend(unit.functions.first().map(|function| function.start));
        }
        unit.functions.sort_unstable_by_key(|function| function.start);
        unit.jumps.sort_unstable();
        unit.jumps.dedup();
        unit
    }
}

/// The representative of a set, to which the whole path is shortened.
fn root(roots: &mut [u32], function: u32) -> u32 {
    let parent = |roots: &[u32], of: u32| roots.get(of as usize).copied().unwrap_or(of);
    let mut found = function;
    while parent(roots, found) != found {
        found = parent(roots, found);
    }
    let mut at = function;
    while at != found {
        let next = parent(roots, at);
        if let Some(entry) = roots.get_mut(at as usize) {
            *entry = found;
        }
        at = next;
    }
    found
}

fn unite(roots: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root(roots, one), root(roots, other));
    if let Some(entry) = roots.get_mut(one.max(other) as usize) {
        *entry = one.min(other);
    }
}
