//! The search for reachable functions.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::call::{Call, FunctionId};
use super::jump_tables;
use super::linkage::{Definition, Linkage};
use super::names;
use crate::code::{ReferenceKind, Scan, slot_of};
use crate::image::{Image, SymbolKind, Target};

/// Where execution starts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots {
    /// Files whose entry point is executed: programs and loaders.
    pub(crate) entries: Vec<usize>,
    /// Files that are loaded at run time: all of their symbols may be looked up.
    pub(crate) plugins: Vec<usize>,
    /// The loader, which looks functions up by name.
    pub(crate) loader: Option<usize>,
}

/// Why a function is reachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// The function that refers to it; `None` for an entry point.
    pub(crate) from: Option<FunctionId>,
}

/// Code that refers to the address of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PointerUse {
    pub(crate) to: FunctionId,
    pub(crate) from: FunctionId,
    pub(crate) code: PointerCode,
}

/// An instruction that refers to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PointerCode {
    /// The instruction.
    pub(crate) at: u64,
    /// The address that it computes, or the word that it loads it from.
    pub(crate) address: u64,
    pub(crate) is_word: bool,
}

/// The reachable functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// For each file and function, why it is reachable.
    pub(crate) causes: Vec<Vec<Option<Cause>>>,
    /// Functions whose address is known to reachable code, so that they may be called indirectly.
    pub(crate) pointed: FxHashSet<FunctionId>,
    /// Those whose address reachable data holds.
    pub(crate) pointed_by_data: FxHashSet<FunctionId>,
    /// Where code refers to their addresses, sorted.
    pub(crate) pointers: Vec<PointerUse>,
    /// All calls by reachable functions, sorted.
    pub(crate) calls: Vec<Call>,
    /// The numbers of the calls, sorted by caller and address.
    by_caller: Vec<u32>,
    /// Imported functions that reachable code refers to, by name and file. Only those of interest are kept.
    pub(crate) imports: Vec<(String, usize)>,
}

impl Reach {
    pub(crate) fn is_reachable(&self, id: FunctionId) -> bool {
        self.cause(id).is_some()
    }

    pub(crate) fn cause(&self, id: FunctionId) -> Option<Cause> {
        self.causes.get(id.image as usize)?.get(id.function as usize).copied().flatten()
    }

    /// The calls by a function, sorted by address.
    pub(crate) fn calls_by(&self, caller: FunctionId) -> impl Iterator<Item = Call> + '_ {
        let call = |number: &u32| self.calls.get(*number as usize).copied();
        let first = self
            .by_caller
            .partition_point(|number| call(number).is_some_and(|c| c.caller < caller));
        let after = self.by_caller.get(first..).unwrap_or_default();
        after.iter().map_while(call).take_while(move |call| call.caller == caller)
    }

    /// All reachable functions.
    pub(crate) fn functions(&self) -> impl Iterator<Item = FunctionId> + '_ {
        self.causes.iter().enumerate().flat_map(|(image, causes)| {
            let reachable = causes.iter().enumerate().filter(|(_, cause)| cause.is_some());
            reachable.map(move |(function, _)| FunctionId {
                image: image as u32,
                function: function as u32,
            })
        })
    }
}

/// How something is referred to.
#[derive(Clone, Copy)]
struct Link {
    from: Option<FunctionId>,
    /// The address of a call, if it is one.
    call: Option<u64>,
    /// The code that refers to the address itself; `None` for data.
    code: Option<PointerCode>,
}

struct Walk<'a> {
    images: &'a [Image],
    scans: &'a [Scan],
    linkage: &'a Linkage,
    reach: Reach,
    open: VecDeque<FunctionId>,
    /// Data objects and words that were visited.
    objects: FxHashSet<(usize, u64)>,
    open_objects: Vec<(usize, u64, u64, Option<FunctionId>)>,
    bound: FxHashMap<(usize, u32), Option<Definition>>,
}

/// Finds all reachable functions.
pub(crate) fn walk(images: &[Image], scans: &[Scan], linkage: &Linkage, roots: &Roots) -> Reach {
    let causes = scans.iter().map(|scan| vec![None; scan.functions.len()]).collect();
    let mut walk = Walk {
        images,
        scans,
        linkage,
        reach: Reach { causes, ..Reach::default() },
        open: VecDeque::new(),
        objects: FxHashSet::default(),
        open_objects: Vec::new(),
        bound: FxHashMap::default(),
    };
    walk.roots(roots);
    // Files that look up functions by name, and those whose strings were taken into account.
    let mut by_name: FxHashSet<usize> = roots.loader.into_iter().collect();
    let mut done: FxHashSet<usize> = FxHashSet::default();
    loop {
        walk.run();
        let lookups = walk.reach.imports.iter().filter(|(name, _)| is_lookup(name));
        by_name.extend(lookups.map(|(_, image)| *image));
        let mut new: Vec<usize> = by_name.difference(&done).copied().collect();
        new.sort_unstable();
        if new.is_empty() {
            break;
        }
        for image in new {
            done.insert(image);
            for definition in names::of_strings(images, linkage, image, roots.loader == Some(image))
            {
                walk.definition(definition, 0, Link { from: None, call: None, code: None });
            }
        }
    }
    walk.reach.calls.sort_unstable();
    walk.reach.calls.dedup();
    let calls = &walk.reach.calls;
    let mut by_caller: Vec<u32> = (0..calls.len() as u32).collect();
    by_caller.sort_by_key(|number| calls.get(*number as usize).map(|call| (call.caller, call.at)));
    walk.reach.by_caller = by_caller;
    walk.reach.pointers.sort_unstable();
    walk.reach.pointers.dedup();
    walk.reach.imports.sort_unstable();
    walk.reach.imports.dedup();
    walk.reach
}

/// Whether a function finds others by name.
pub(crate) fn is_lookup(name: &str) -> bool {
    matches!(name, "dlsym" | "dlvsym")
}

impl Walk<'_> {
    fn roots(&mut self, roots: &Roots) {
        let nothing = Link { from: None, call: None, code: None };
        for image in roots.entries.iter().copied() {
            if let Some(entry) = self.images.get(image).map(|image| image.entry) {
                self.address(image, entry, nothing);
            }
        }
        for number in 0..self.images.len() {
            let Some(image) = self.images.get(number) else { continue };
            for call in &image.calls {
                self.address(number, *call, nothing);
            }
            for (start, size) in &image.arrays {
                self.words(number, *start, start.saturating_add(*size), None, None);
            }
            // Go's linker has removed what is not reachable; its method tables are offsets, which are not followed.
            if image.is_go {
                let scan = self.scans.get(number);
                for function in scan.map(|scan| scan.functions.as_slice()).unwrap_or_default() {
                    self.address(
                        number,
                        function.start,
                        Link { from: None, call: Some(0), code: None },
                    );
                }
                self.words(number, 0, u64::MAX, None, None);
            }
        }
        for number in roots.plugins.iter().copied() {
            let Some(image) = self.images.get(number) else { continue };
            for symbol in &image.exports.all {
                if symbol.is_defined && symbol.kind != SymbolKind::ThreadLocal {
                    self.address(number, symbol.address, nothing);
                }
            }
        }
    }

    /// Visits everything that is open.
    fn run(&mut self) {
        loop {
            if let Some(id) = self.open.pop_front() {
                self.function(id);
            } else if let Some((image, start, end, from)) = self.open_objects.pop() {
                self.words(image, start, end, from, None);
            } else {
                return;
            }
        }
    }

    /// Visits what a function refers to.
    fn function(&mut self, id: FunctionId) {
        let number = id.image as usize;
        let (Some(image), Some(scan)) = (self.images.get(number), self.scans.get(number)) else {
            return;
        };
        let Some(function) = scan.functions.get(id.function as usize) else { return };
        let from = Some(id);
        for reference in scan.references(function) {
            let target = reference.target;
            let call = Some(reference.at).filter(|_| reference.kind.is_transfer());
            let at = reference.at;
            let is_word = reference.kind == ReferenceKind::Memory;
            let code = Some(PointerCode { at, address: target, is_word });
            let link = Link { from, call, code };
            match reference.kind {
                ReferenceKind::Call | ReferenceKind::Jump | ReferenceKind::Address => {
                    self.address(number, target, link);
                }
                ReferenceKind::CallThrough | ReferenceKind::JumpThrough => {
                    self.word(number, target, link);
                }
                ReferenceKind::Memory => {
                    let end = target.saturating_add(reference.size.into());
                    self.words(number, target, end, from, code);
                }
                ReferenceKind::Syscall
                | ReferenceKind::OtherSyscall
                | ReferenceKind::IndirectJump => {}
            }
        }
        let indirect = scan.references(function).iter();
        let indirect = indirect.filter(|reference| reference.kind == ReferenceKind::IndirectJump);
        let jump = indirect.map(|reference| reference.at).next();
        for target in jump_tables::targets(image, scan, function) {
            if !(function.start..function.end).contains(&target) {
                // The target is a part of the same function that was placed elsewhere.
                self.address(number, target, Link { from, call: jump, code: None });
            }
        }
    }

    /// Something refers to an address of a file.
    fn address(&mut self, number: usize, address: u64, link: Link) {
        let (Some(image), Some(scan)) = (self.images.get(number), self.scans.get(number)) else {
            return;
        };
        if !image.is_code(address) {
            let (start, end) = scan.object(image, address);
            if self.objects.insert((number, start)) {
                self.open_objects.push((number, start, end, link.from));
            }
            return;
        }
        let found = scan.function_at(address);
        let is_start = found
            .and_then(|found| scan.functions.get(found))
            .is_some_and(|function| function.start == address);
        if (scan.is_stub(address) || !is_start)
            && let Some(slot) = slot_of(image, address)
        {
            self.word(number, slot, link);
            return;
        }
        if let Some(function) = found {
            let id = FunctionId { image: number as u32, function: function as u32 };
            self.reach_function(id, link);
        }
    }

    fn reach_function(&mut self, id: FunctionId, link: Link) {
        match (link.call, link.from) {
            (Some(at), Some(caller)) if caller != id => {
                self.reach.calls.push(Call { callee: id, caller, at });
            }
            (Some(_), _) => {}
            (None, from) => {
                // An address within the own function is that of a label.
                if from != Some(id) {
                    self.reach.pointed.insert(id);
                    match (from, link.code) {
                        (Some(from), Some(code)) => {
                            self.reach.pointers.push(PointerUse { to: id, from, code });
                        }
                        _ => {
                            self.reach.pointed_by_data.insert(id);
                        }
                    }
                }
            }
        }
        let causes = self.reach.causes.get_mut(id.image as usize);
        if let Some(cause) = causes.and_then(|causes| causes.get_mut(id.function as usize))
            && cause.is_none()
        {
            *cause = Some(Cause { from: link.from });
            self.open.push_back(id);
        }
    }

    /// Something refers to all words of a range: code that loads them, or a data object.
    fn words(
        &mut self,
        number: usize,
        start: u64,
        end: u64,
        from: Option<FunctionId>,
        code: Option<PointerCode>,
    ) {
        let Some(image) = self.images.get(number) else { return };
        for index in image.relocations_in(start, end) {
            let Some(at) = image.relocations.get(index).map(|relocation| relocation.at) else {
                continue;
            };
            // Every function that loads a word matters, but only one data object.
            if code.is_some() || self.objects.insert((number, at | 1 << 63)) {
                let code = code.map(|code| PointerCode { address: at, ..code });
                self.word(number, at, Link { from, call: None, code });
            }
        }
    }

    /// Something refers to what the word at an address points to.
    fn word(&mut self, number: usize, at: u64, link: Link) {
        let Some(relocation) = self.images.get(number).and_then(|image| image.relocation(at))
        else {
            return;
        };
        match relocation.target {
            Target::Local(address) => self.address(number, address, link),
            Target::Resolved(address) => {
                self.address(number, address, Link { call: Some(0), ..link });
            }
            Target::Symbol(symbol, addend) => {
                self.note_import(number, symbol);
                if let Some(definition) = self.bind(number, symbol, None) {
                    self.definition(definition, addend, link);
                }
            }
            Target::Copy(symbol) => {
                if let Some(definition) = self.bind(number, symbol, Some(number)) {
                    self.definition(definition, 0, link);
                }
            }
        }
    }

    fn definition(&mut self, definition: Definition, addend: i64, link: Link) {
        match definition.kind {
            SymbolKind::ThreadLocal => {}
            // The loader calls it, and the program what it returns.
            SymbolKind::Resolver => {
                let link = Link { call: Some(0), ..link };
                self.address(definition.image, definition.address, link);
            }
            _ => {
                let address = definition.address.wrapping_add(addend as u64);
                self.address(definition.image, address, link);
            }
        }
    }

    fn bind(&mut self, number: usize, symbol: u32, except: Option<usize>) -> Option<Definition> {
        if except.is_some() {
            return self.linkage.resolve(self.images, number, symbol, except);
        }
        let (linkage, images) = (self.linkage, self.images);
        let known = self.bound.entry((number, symbol));
        *known.or_insert_with(|| linkage.resolve(images, number, symbol, None))
    }

    /// Remembers imports that make the result incomplete.
    fn note_import(&mut self, number: usize, symbol: u32) {
        let name = self.images.get(number).and_then(|image| image.symbol_name(symbol));
        if let Some(name) = name.filter(|name| crate::remark::is_of_interest(name)) {
            let import = (name.to_owned(), number);
            if !self.reach.imports.contains(&import) {
                self.reach.imports.push(import);
            }
        }
    }
}
