//! The search for reachable functions.

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

use super::linkage::{Definition, Linkage};
use crate::code::{Function, ReferenceKind, Scan, slot_of};
use crate::image::{Image, SymbolKind, Target};
use crate::program::{FunctionId, Program};

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

/// A call, or a jump to another function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) callee: FunctionId,
    pub(crate) caller: FunctionId,
    /// The address of the instruction.
    pub(crate) at: u64,
}

/// Why a function is reachable: the function that refers to it; `None` for an entry point.
type Cause = Option<FunctionId>;

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
    causes: Vec<Vec<Option<Cause>>>,
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
            reachable.map(move |(function, _)| FunctionId::new(image, function))
        })
    }
}

/// How something is referred to.
#[derive(Clone, Copy, Default)]
struct Link {
    from: Option<FunctionId>,
    /// The address of a call, if it is one.
    call: Option<u64>,
    /// The code that refers to the address itself; `None` for data.
    code: Option<PointerCode>,
}

struct Walk<'a> {
    program: Program<'a>,
    linkage: &'a Linkage,
    reach: Reach,
    open: VecDeque<FunctionId>,
    /// Data objects and words that were visited.
    objects: FxHashSet<(usize, u64)>,
    open_objects: Vec<(usize, u64, u64, Option<FunctionId>)>,
    bound: FxHashMap<(usize, u32), Option<Definition>>,
}

/// Finds all reachable functions.
pub(crate) fn walk(program: Program<'_>, linkage: &Linkage, roots: &Roots) -> Reach {
    let causes = program.scans.iter().map(|scan| vec![None; scan.functions.len()]).collect();
    let mut walk = Walk {
        program,
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
            let is_loader = roots.loader == Some(image);
            for definition in of_strings(program.images, linkage, image, is_loader) {
                walk.definition(definition, 0, Link::default());
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
fn is_lookup(name: &str) -> bool {
    matches!(name, "dlsym" | "dlvsym")
}

impl Walk<'_> {
    fn roots(&mut self, roots: &Roots) {
        let nothing = Link::default();
        let images = self.program.images;
        for number in roots.entries.iter().copied() {
            if let Some(image) = images.get(number) {
                self.address(number, image.entry, nothing);
            }
        }
        for (number, (image, scan)) in self.program.files().enumerate() {
            for call in &image.calls {
                self.address(number, *call, nothing);
            }
            for (start, size) in &image.arrays {
                self.words(number, *start, start.saturating_add(*size), None, None);
            }
            // Go's linker has removed what is not reachable; its method tables are offsets, which are not followed.
            if image.is_go {
                for function in &scan.functions {
                    self.address(number, function.start, Link { call: Some(0), ..nothing });
                }
                self.words(number, 0, u64::MAX, None, None);
            }
        }
        for number in roots.plugins.iter().copied() {
            let Some(image) = images.get(number) else { continue };
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
        let Some((image, scan, function)) = self.program.function(id) else { return };
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
        for target in jump_targets(image, scan, function) {
            if !(function.start..function.end).contains(&target) {
                // The target is a part of the same function that was placed elsewhere.
                self.address(number, target, Link { from, call: jump, code: None });
            }
        }
    }

    /// Something refers to an address of a file.
    fn address(&mut self, number: usize, address: u64, link: Link) {
        let Some((image, scan)) = self.program.file(number) else { return };
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
            self.reach_function(FunctionId::new(number, function), link);
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
            *cause = Some(link.from);
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
        let Some(image) = self.program.images.get(number) else { return };
        for at in image.relocations_in(start, end).iter().map(|relocation| relocation.at) {
            // Every function that loads a word matters, but only one data object.
            if code.is_some() || self.objects.insert((number, at | 1 << 63)) {
                let code = code.map(|code| PointerCode { address: at, ..code });
                self.word(number, at, Link { from, call: None, code });
            }
        }
    }

    /// Something refers to what the word at an address points to.
    fn word(&mut self, number: usize, at: u64, link: Link) {
        let image = self.program.images.get(number);
        let Some(relocation) = image.and_then(|image| image.relocation(at)) else { return };
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
        let (linkage, images) = (self.linkage, self.program.images);
        if except.is_some() {
            return linkage.resolve(images, number, symbol, except);
        }
        let known = self.bound.entry((number, symbol));
        *known.or_insert_with(|| linkage.resolve(images, number, symbol, None))
    }

    /// Remembers imports that make the result incomplete.
    fn note_import(&mut self, number: usize, symbol: u32) {
        let name = self.program.images.get(number).and_then(|image| image.symbol_name(symbol));
        if let Some(name) = name.filter(|name| crate::remark::is_of_interest(name)) {
            let import = (name.to_owned(), number);
            if !self.reach.imports.contains(&import) {
                self.reach.imports.push(import);
            }
        }
    }
}

/// Names that are shorter are rarely those of functions.
const MIN_NAME: usize = 3;
const MAX_NAME: usize = 200;

/// The functions whose name is a string in the read-only data of a file. A loader also looks up functions of its own, as that of
/// musl does after it has relocated itself; other files call theirs without their names.
fn of_strings(
    images: &[Image],
    linkage: &Linkage,
    number: usize,
    is_loader: bool,
) -> Vec<Definition> {
    let Some(image) = images.get(number) else { return Vec::new() };
    let sections = image.layout.sections.iter().filter(|section| {
        section.name.starts_with(".rodata") || section.name.starts_with(".data.rel.ro")
    });
    let mut ranges: Vec<(u64, u64)> =
        sections.map(|section| (section.address, section.size)).collect();
    if image.layout.sections.is_empty() {
        let read_only = image.layout.segments.iter().filter(|segment| !segment.writable);
        ranges = read_only.map(|segment| (segment.address, segment.memory)).collect();
    }
    let mut seen: FxHashSet<&str> = FxHashSet::default();
    let mut found = Vec::new();
    for (address, size) in ranges {
        let bytes = image.layout.from(address).unwrap_or_default();
        let size = usize::try_from(size).unwrap_or(usize::MAX).min(bytes.len());
        for word in bytes.get(..size).unwrap_or_default().split(|byte| *byte == 0) {
            let is_name = (MIN_NAME..=MAX_NAME).contains(&word.len())
                && word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
            let Some(name) = std::str::from_utf8(word).ok().filter(|_| is_name) else { continue };
            if !seen.insert(name) {
                continue;
            }
            let definitions = linkage.named(images, name).map(|(definition, ..)| definition);
            found.extend(definitions.filter(|definition| {
                (is_loader || definition.image != number)
                    && matches!(definition.kind, SymbolKind::Function | SymbolKind::Resolver)
            }));
        }
    }
    found
}

/// Entries of one table. A larger one is cut.
const MAX_ENTRIES: u64 = 1 << 14;

/// The addresses of code in tables that a function refers to: 32-bit offsets from the start of the table.
///
/// Tables of addresses need relocations, so their targets are found as addresses in data. Tables of aarch64 with smaller
/// entries stay within the function.
pub(super) fn jump_targets(image: &Image, scan: &Scan, function: &Function) -> Vec<u64> {
    let references = scan.references(function);
    if !references.iter().any(|reference| reference.kind == ReferenceKind::IndirectJump) {
        return Vec::new();
    }
    let tables = references.iter().filter(|reference| {
        reference.kind == ReferenceKind::Address && !image.is_code(reference.target)
    });
    let mut found = Vec::new();
    for table in tables.map(|reference| reference.target) {
        let (start, end) = scan.object(image, table);
        if start != table {
            continue;
        }
        for entry in 0..(end.saturating_sub(start) / 4).min(MAX_ENTRIES) {
            let Some(offset) = image.layout.i32(start.wrapping_add(entry * 4)) else { break };
            let target = start.wrapping_add(i64::from(offset) as u64);
            if !image.is_code(target) {
                break;
            }
            found.push(target);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}
