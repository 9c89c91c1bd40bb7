//! The analysis of a program with its libraries.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::Scan;
use crate::error::{ElfError, ElfErrorKind};
use crate::image::{Image, Machine, SymbolKind};
use crate::limits::MAX_FILES;
use crate::numbers::{self, Place, Unknown};
use crate::program::{FunctionId, Program};
use crate::reach::{self, Linkage, Reach, Roots};
use crate::remark::{self, Remark};

/// Places of one syscall that are listed.
const MAX_SITES: usize = 32;
/// Callers of a place that are listed.
const MAX_CALLERS: usize = 12;

/// A file of the program.
#[derive(Debug)]
pub struct File {
    /// The file.
    pub image: Image,
    /// What it is for the program.
    pub role: Role,
}

/// What a file is for the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It is executed.
    Program,
    /// It loads the program (PT_INTERP).
    Loader,
    /// A file is linked with it.
    Library,
    /// It is loaded while the program runs, so that any of its symbols may be used.
    Plugin,
}

/// The syscalls that the code of a program can make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// The architecture.
    pub machine: Machine,
    /// The syscalls by number, and where they are made.
    pub calls: BTreeMap<u32, Vec<Site>>,
    /// Syscalls whose number is not known.
    pub unresolved: Vec<Unresolved>,
    /// What makes the bound incomplete.
    pub remarks: Vec<Remark>,
    /// Functions of all files.
    pub functions: usize,
    /// Those that are reachable.
    pub reachable: usize,
}

/// Where a syscall is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The file.
    pub file: String,
    /// The function, or its address if it has no name.
    pub function: String,
    /// The instruction, relative to the start of the function.
    pub offset: u64,
    /// The functions from the entry point to this one, each with its file.
    pub via: Vec<(String, String)>,
}

/// A syscall whose number is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// Where it is made.
    pub site: Site,
    /// Why its number is not known.
    pub why: &'static str,
}

/// Analyses a program. `files` are in the order in which the loader looks up symbols: the program, its libraries breadth
/// first, the loader, and what is loaded later.
///
/// # Errors
/// If files are for different architectures, or a limit is exceeded.
pub fn analyze(files: Vec<File>) -> Result<Analysis, ElfError> {
    let mut roots = Roots::default();
    let mut images = Vec::with_capacity(files.len());
    for (number, file) in files.into_iter().enumerate() {
        match file.role {
            Role::Program => roots.entries.push(number),
            Role::Loader => {
                roots.entries.push(number);
                roots.loader = Some(number);
            }
            Role::Library => {}
            Role::Plugin => roots.plugins.push(number),
        }
        images.push(file.image);
    }
    let machine = images.first().map_or(Machine::X86_64, |image| image.machine);
    for image in &images {
        if image.machine != machine {
            let kind = ElfErrorKind::Mixed { first: machine.name(), this: image.machine.name() };
            return Err(ElfError::new(&image.name, kind));
        }
    }
    if let Some(image) = images.get(MAX_FILES) {
        let (given, limit) = (images.len() as u64, MAX_FILES as u64);
        let kind = ElfErrorKind::TooMany { what: "files of a program", given, limit };
        return Err(ElfError::new(&image.name, kind));
    }
    let scans = images.iter().map(Scan::of).collect::<Result<Vec<Scan>, ElfError>>()?;
    let linkage = Linkage::of(&images);
    let program = Program { images: &images, scans: &scans };
    let reach = reach::walk(program, &linkage, &roots);
    let numbers = numbers::numbers(program, &reach);

    let names = Names::of(program);
    let site = |place: &Place| Site {
        file: names.file(place.function).to_owned(),
        function: names.function(place.function),
        offset: names.offset(*place),
        via: callers(&reach, &names, place.function),
    };
    let calls = numbers.known.iter().map(|(number, places)| {
        let mut functions = BTreeSet::new();
        let places = places.iter().filter(|place| functions.insert(place.function));
        let mut sites: Vec<Site> = places.take(MAX_SITES).map(site).collect();
        sites.sort_by_key(|site| site.via.len());
        (*number, sites)
    });
    let unresolved = numbers.unknown.iter().map(|(place, why)| Unresolved {
        site: site(place),
        why: match why {
            Unknown::Value => "the number is computed, or comes from memory",
            Unknown::Pointer => "the caller passes the number, and may call through a pointer",
            Unknown::Size => "the function is too large to follow its values",
        },
    });
    let mut remarks = remarks(program, &reach, &linkage, roots.loader, &names);
    let others = numbers.others.iter();
    remarks.extend(others.map(|place| Remark::OtherArchitecture { place: names.place(*place) }));
    Ok(Analysis {
        machine,
        calls: calls.collect(),
        unresolved: unresolved.collect(),
        remarks,
        functions: scans.iter().map(|scan| scan.functions.len()).sum(),
        reachable: reach.functions().count(),
    })
}

/// The functions from an entry point to a function.
fn callers(reach: &Reach, names: &Names<'_>, function: FunctionId) -> Vec<(String, String)> {
    let mut via = Vec::new();
    let mut seen = BTreeSet::from([function]);
    let mut current = reach.cause(function).flatten();
    while let Some(id) = current {
        if via.len() >= MAX_CALLERS || !seen.insert(id) {
            break;
        }
        via.push((names.file(id).to_owned(), names.function(id)));
        current = reach.cause(id).flatten();
    }
    via.reverse();
    via
}

fn remarks(
    program: Program<'_>,
    reach: &Reach,
    linkage: &Linkage,
    loader: Option<usize>,
    names: &Names<'_>,
) -> Vec<Remark> {
    let images = program.images;
    let mut remarks = BTreeSet::new();
    for (name, number) in &reach.imports {
        let file = images.get(*number).map_or("", |image| &image.name);
        // The C library itself loads modules only for what its callers ask for.
        if loader != Some(*number) {
            remarks.extend(remark::of_import(name, file));
        }
    }
    // A static program has its functions in itself; they are known if it is not stripped.
    for (image, scan) in program.files().filter(|(image, _)| image.layout.dynamic.is_none()) {
        for symbol in image.debug.all.iter().filter(|symbol| symbol.is_defined) {
            let name = image.debug.name(&image.layout, symbol.name).unwrap_or_default();
            let function = scan.function_at(symbol.address);
            if symbol.kind == SymbolKind::Function
                && function.is_some_and(|function| reach.is_reachable(FunctionId::new(0, function)))
            {
                remarks.extend(remark::of_import(name, &image.name));
            }
        }
    }
    for image in images.iter().filter(|image| image.is_go) {
        remarks.insert(Remark::AllOfGo { file: image.name.clone() });
    }
    let mappers: BTreeSet<FunctionId> = ["mmap", "mmap64", "mprotect", "pkey_mprotect"]
        .into_iter()
        .flat_map(|name| linkage.named(images, name))
        .filter_map(|(definition, ..)| program.function_at(definition.image, definition.address))
        .collect();
    let places = numbers::executable(program, reach, &mappers);
    remarks.extend(
        places.into_iter().map(|place| Remark::ExecutableMemory { place: names.place(place) }),
    );
    for (number, image) in images.iter().enumerate() {
        let symbols = image.exports.all.iter().enumerate();
        let undefined = symbols.filter(|(_, symbol)| {
            symbol.is_imported
                && !symbol.is_local
                && !symbol.is_weak
                && symbol.kind != SymbolKind::ThreadLocal
        });
        let mut undefined = undefined.filter_map(|(index, _)| {
            let is_bound = linkage.resolve(images, number, index as u32, None).is_some();
            if is_bound { None } else { image.symbol_name(index as u32) }
        });
        if let Some(example) = undefined.next() {
            let (file, example) = (image.name.clone(), example.to_owned());
            remarks.insert(Remark::Undefined { file, count: 1 + undefined.count(), example });
        }
    }
    remarks.into_iter().collect()
}

/// Functions by address: start, end, and where the name is.
type Entry = (u64, u64, bool, u32);

/// Finds the names of functions.
#[derive(Debug)]
struct Names<'a> {
    program: Program<'a>,
    /// The functions of each file, sorted.
    entries: Vec<Vec<Entry>>,
}

impl<'a> Names<'a> {
    fn of(program: Program<'a>) -> Names<'a> {
        let entries = program.images.iter().map(|image| {
            let debug = image.debug.all.iter().map(|symbol| (symbol, true));
            let all = image.exports.all.iter().map(|symbol| (symbol, false)).chain(debug);
            let functions = all.filter(|(symbol, _)| {
                symbol.is_defined
                    && matches!(symbol.kind, SymbolKind::Function | SymbolKind::Resolver)
            });
            let mut entries: Vec<Entry> = functions
                .map(|(symbol, is_debug)| {
                    let end = symbol.address.saturating_add(symbol.size.max(1));
                    (symbol.address, end, is_debug, symbol.name)
                })
                .collect();
            entries.sort_unstable();
            // Aliases: the shortest name is that of the documentation.
            let length = |entry: &Entry| name_of(image, entry).map_or(usize::MAX, underscored);
            entries.sort_by_key(|entry| (entry.0, length(entry)));
            entries.dedup_by_key(|entry| entry.0);
            entries
        });
        Names { program, entries: entries.collect() }
    }

    /// The name of the function with an address, without its version; or its address.
    fn function(&self, id: FunctionId) -> String {
        let Some((image, _, function)) = self.program.function(id) else { return String::new() };
        let start = function.start;
        let named = self.entries.get(id.image as usize).and_then(|entries| {
            let after = entries.partition_point(|entry| entry.0 <= start);
            let entry = entries.get(after.checked_sub(1)?)?;
            (start < entry.1).then(|| name_of(image, entry)).flatten()
        });
        named.map_or_else(|| format!("{start:#x}"), printable)
    }

    fn file(&self, id: FunctionId) -> &'a str {
        self.program.file(id.image as usize).map_or("", |(image, _)| image.name.as_str())
    }

    /// How far a place is from the start of its function.
    fn offset(&self, place: Place) -> u64 {
        let function = self.program.function(place.function);
        function.map_or(0, |(.., function)| place.at.saturating_sub(function.start))
    }

    /// `libc.so.6: openat64+0x4f`.
    fn place(&self, place: Place) -> String {
        let (file, function) = (self.file(place.function), self.function(place.function));
        format!("{file}: {function}+{:#x}", self.offset(place))
    }
}

fn name_of<'a>(image: &'a Image, entry: &Entry) -> Option<&'a str> {
    let table = if entry.2 { &image.debug } else { &image.exports };
    table.name(&image.layout, entry.3).filter(|name| !name.is_empty())
}

/// Names with underscores at the start are internal.
fn underscored(name: &str) -> usize {
    name.len() + 100 * name.bytes().take_while(|byte| *byte == b'_').count()
}

/// A name from an untrusted file, safe to print.
fn printable(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(120).collect()
}
