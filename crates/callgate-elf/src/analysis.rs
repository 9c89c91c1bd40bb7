//! The analysis of a program with its libraries.

use std::collections::{BTreeMap, BTreeSet};

use crate::code::Scan;
use crate::error::{ElfError, ElfErrorKind};
use crate::image::{Image, Machine, SymbolKind};
use crate::limits::MAX_FILES;
use crate::naming::Names;
use crate::numbers::{self, Place, Unknown};
use crate::reach::{self, FunctionId, Linkage, Reach, Roots};
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
    let reach = reach::walk(&images, &scans, &linkage, &roots);
    let numbers = numbers::numbers(&images, &scans, &reach);

    let names = Names::of(&images, &scans);
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
    let mut analysis = Analysis {
        machine,
        calls: calls.collect(),
        unresolved: unresolved.collect(),
        remarks: Vec::new(),
        functions: scans.iter().map(|scan| scan.functions.len()).sum(),
        reachable: reach.functions().count(),
    };
    analysis.remarks = remarks(&images, &scans, &reach, &linkage, &roots, &names);
    let others = numbers.others.iter();
    analysis
        .remarks
        .extend(others.map(|place| Remark::OtherArchitecture { place: names.place(*place) }));
    Ok(analysis)
}

/// The functions from an entry point to a function.
fn callers(reach: &Reach, names: &Names<'_>, function: FunctionId) -> Vec<(String, String)> {
    let mut via = Vec::new();
    let mut seen = BTreeSet::from([function]);
    let mut current = reach.cause(function).and_then(|cause| cause.from);
    while let Some(id) = current {
        if via.len() >= MAX_CALLERS || !seen.insert(id) {
            break;
        }
        via.push((names.file(id).to_owned(), names.function(id)));
        current = reach.cause(id).and_then(|cause| cause.from);
    }
    via.reverse();
    via
}

fn remarks(
    images: &[Image],
    scans: &[Scan],
    reach: &Reach,
    linkage: &Linkage,
    roots: &Roots,
    names: &Names<'_>,
) -> Vec<Remark> {
    let mut remarks = BTreeSet::new();
    for (name, number) in &reach.imports {
        let file = images.get(*number).map_or("", Image::name);
        // The C library itself loads modules only for what its callers ask for.
        if roots.loader != Some(*number) {
            remarks.extend(remark::of_import(name, file));
        }
    }
    // A static program has its functions in itself; they are known if it is not stripped.
    for (image, scan) in
        images.iter().zip(scans).filter(|(image, _)| image.layout.dynamic.is_none())
    {
        for symbol in image.debug.all.iter().filter(|symbol| symbol.is_defined) {
            let name = image.debug.name(&image.layout, symbol.name).unwrap_or_default();
            let function = scan
                .function_at(symbol.address)
                .map(|function| FunctionId { image: 0, function: function as u32 });
            if symbol.kind == SymbolKind::Function
                && function.is_some_and(|id| reach.is_reachable(id))
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
        .filter_map(|(definition, ..)| {
            let function = scans.get(definition.image)?.function_at(definition.address)?;
            Some(FunctionId { image: definition.image as u32, function: function as u32 })
        })
        .collect();
    let places = numbers::executable(images, scans, reach, &mappers);
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
