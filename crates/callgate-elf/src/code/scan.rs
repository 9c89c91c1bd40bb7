//! All references of the code of a file.

use super::decode;
use super::functions::{self, Function};
use super::insn::{End, Reference, ReferenceKind as Kind};
use crate::error::{ElfError, ElfErrorKind};
use crate::image::{Image, SymbolKind, Target};
use crate::limits::MAX_REFERENCES;

/// The functions of a file and what they refer to.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    /// Sorted, disjoint.
    pub(crate) functions: Vec<Function>,
    /// Sorted by the address of the instruction.
    references: Vec<Reference>,
    /// Where data objects may begin: addresses that code or data refers to, and symbols. Sorted.
    boundaries: Vec<u64>,
    /// Data objects with a known size, sorted by address; of overlapping ones, the larger.
    objects: Vec<(u64, u64)>,
    /// Procedure linkage tables.
    stubs: Vec<(u64, u64)>,
}

impl Scan {
    pub(crate) fn of(image: &Image) -> Result<Scan, ElfError> {
        scan(image).map_err(|kind| ElfError::new(&image.name, kind))
    }

    /// The number of the function with an address.
    pub(crate) fn function_at(&self, address: u64) -> Option<usize> {
        let after = self.functions.partition_point(|function| function.start <= address);
        let number = after.checked_sub(1)?;
        self.functions.get(number).filter(|function| address < function.end).map(|_| number)
    }

    /// What a function refers to.
    pub(crate) fn references(&self, function: &Function) -> &[Reference] {
        let first = self.references.partition_point(|reference| reference.at < function.start);
        let last = self.references.partition_point(|reference| reference.at < function.end);
        self.references.get(first..last).unwrap_or_default()
    }

    /// The functions whose code reads or writes the word at an address, and where they take an address in the object
    /// that it belongs to.
    pub(crate) fn users_of(&self, image: &Image, address: u64) -> Vec<(usize, Vec<Reference>)> {
        let mut users = Vec::new();
        let (start, end) = self.object(image, address);
        let object = start..end.max(address.saturating_add(8));
        for (number, function) in self.functions.iter().enumerate() {
            let (mut uses, mut takes) = (false, Vec::new());
            let add = |reference: Reference| {
                let until = reference.target.saturating_add(reference.size.max(1).into());
                let overlaps = reference.target < address.saturating_add(8) && address < until;
                uses |= overlaps && reference.kind == Kind::Memory;
                if object.contains(&reference.target) && reference.kind == Kind::Address {
                    takes.push(reference);
                }
            };
            decode::references(image, function, None, add);
            if uses || !takes.is_empty() {
                users.push((number, takes));
            }
        }
        users
    }

    pub(crate) fn is_stub(&self, address: u64) -> bool {
        functions::is_in(&self.stubs, address)
    }

    /// The data object with an address: a symbol with its size, or all up to the next address that anything refers to.
    pub(crate) fn object(&self, image: &Image, address: u64) -> (u64, u64) {
        let after = self.objects.partition_point(|(start, _)| *start <= address);
        let before = after.checked_sub(1).and_then(|number| self.objects.get(number));
        if let Some((start, end)) = before.filter(|(_, end)| address < *end) {
            return (*start, *end);
        }
        let after = self.boundaries.partition_point(|boundary| *boundary <= address);
        let next = self.boundaries.get(after).copied().unwrap_or(u64::MAX);
        let end = image
            .layout
            .segment(address)
            .map_or(address, |segment| segment.address.saturating_add(segment.memory));
        (address, next.min(end))
    }
}

fn scan(image: &Image) -> Result<Scan, ElfErrorKind> {
    let mut functions = functions::find(image)?;
    let stubs = functions::linkage_tables(image);
    let mut references: Vec<Reference> = Vec::new();
    // Where code that was found between functions does not continue from the previous instruction.
    let mut fresh: Vec<u64> = Vec::new();
    let mut too_many = false;
    for (number, function) in functions.iter().enumerate() {
        let mut add = |reference: Reference| {
            let is_kept = match reference.kind {
                Kind::Jump => {
                    !function.is_exact
                        || !(function.start..function.end).contains(&reference.target)
                }
                Kind::Address => image.layout.is_mapped(reference.target),
                Kind::Memory => {
                    let end = reference.target.saturating_add(reference.size.into());
                    !image.relocations_in(reference.target, end).is_empty()
                }
                _ => true,
            };
            if is_kept {
                too_many |= references.len() as u64 >= MAX_REFERENCES;
                if !too_many {
                    references.push(reference);
                }
            }
        };
        let fresh = Some(&mut fresh).filter(|_| !function.is_exact);
        let Some(end) = decode::references(image, function, fresh, &mut add) else { continue };
        // Assembly code may continue in the next function.
        let next = functions.get(number + 1).filter(|next| next.start == function.end);
        if let Some(next) = next {
            let continues = match end {
                End::Stops => false,
                End::Calls => !(function.is_exact && next.is_exact),
                End::Continues => true,
            };
            if continues {
                let at = function.end.saturating_sub(1);
                add(Reference { target: next.start, at, kind: Kind::Jump, size: 0 });
            }
        }
        if too_many {
            let limit = MAX_REFERENCES;
            return Err(ElfErrorKind::TooMany {
                what: "references of code",
                given: limit + 1,
                limit,
            });
        }
    }
    split(&mut functions, &mut references, &fresh);
    let (objects, boundaries) = objects(image, &references);
    references.shrink_to_fit();
    Ok(Scan { functions, references, boundaries, objects, stubs })
}

/// Splits code that was found between functions where it is called or its address is taken.
fn split(functions: &mut Vec<Function>, references: &mut Vec<Reference>, fresh: &[u64]) {
    if functions.iter().all(|function| function.is_exact) {
        return;
    }
    // A jump to code that nothing continues to may be a tail call. If it is not, both parts still have each other as
    // callers, so no value is lost.
    let entered = references.iter().filter(|reference| match reference.kind {
        Kind::Call | Kind::Address => true,
        Kind::Jump => fresh.binary_search(&reference.target).is_ok(),
        _ => false,
    });
    let mut targets: Vec<u64> = entered.map(|reference| reference.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let mut all = Vec::with_capacity(functions.len());
    let mut continued = Vec::new();
    for function in functions.iter() {
        if function.is_exact {
            all.push(*function);
            continue;
        }
        let first = targets.partition_point(|target| *target <= function.start);
        let last = targets.partition_point(|target| *target < function.end);
        let mut at = function.start;
        for target in targets.get(first..last).unwrap_or_default() {
            all.push(Function { start: at, end: *target, is_exact: false });
            if fresh.binary_search(target).is_err() {
                let last = target.saturating_sub(1);
                continued.push(Reference { target: *target, at: last, kind: Kind::Jump, size: 0 });
            }
            at = *target;
        }
        all.push(Function { start: at, end: function.end, is_exact: false });
    }
    *functions = all;
    references.extend(continued);
    references.sort_by_key(|reference| reference.at);
}

/// The data objects with known sizes, and where others may begin.
fn objects(image: &Image, references: &[Reference]) -> (Vec<(u64, u64)>, Vec<u64>) {
    let mut objects: Vec<(u64, u64)> = Vec::new();
    let mut boundaries: Vec<u64> = Vec::new();
    for symbol in image.exports.all.iter().chain(&image.debug.all) {
        let is_data = matches!(symbol.kind, SymbolKind::Object | SymbolKind::Label);
        if symbol.is_defined && is_data && !image.is_code(symbol.address) {
            boundaries.push(symbol.address);
            if symbol.size > 0 {
                let end = symbol.address.saturating_add(symbol.size);
                boundaries.push(end);
                objects.push((symbol.address, end));
            }
        }
    }
    let is_data = |address: &u64| !image.is_code(*address);
    let taken = references.iter().filter(|reference| reference.kind == Kind::Address);
    boundaries.extend(taken.map(|reference| reference.target).filter(is_data));
    let pointed = image.relocations.iter().filter_map(|relocation| match relocation.target {
        Target::Local(address) => Some(address).filter(is_data),
        _ => None,
    });
    boundaries.extend(pointed);
    boundaries.extend(image.layout.sections.iter().filter(|s| s.loaded).map(|s| s.address));
    boundaries.sort_unstable();
    boundaries.dedup();
    objects.sort_unstable_by_key(|(start, end)| (*start, std::cmp::Reverse(*end)));
    let mut disjoint: Vec<(u64, u64)> = Vec::new();
    for object in objects {
        if disjoint.last().is_none_or(|(_, end)| object.0 >= *end) {
            disjoint.push(object);
        }
    }
    (disjoint, boundaries)
}
