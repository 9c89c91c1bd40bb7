//! The numbers of syscalls: the values of the number register at each syscall instruction, also where a caller passes the
//! number, as to `syscall(2)` of a C library.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::code::{Convention, Reference, ReferenceKind, Reg};
use crate::image::{Image, SymbolKind, Target};
use crate::program::{FunctionId, Program};
use crate::reach::{Call, Reach, Units};
use crate::values::{Atom, Budget, FunctionValues, Pointer, Returns, State, Value};

/// A place in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) function: FunctionId,
    pub(crate) at: u64,
}

/// Why a number is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unknown {
    /// It comes from memory, or is computed.
    Value,
    /// A function whose caller passes the number may be called through a pointer.
    Pointer,
    /// The function is too large.
    Size,
}

/// The numbers of all reachable syscalls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) known: BTreeMap<u32, BTreeSet<Place>>,
    pub(crate) unknown: BTreeSet<(Place, Unknown)>,
    /// Syscalls of another architecture.
    pub(crate) others: BTreeSet<Place>,
}

/// A function, and where it takes an address.
type User = (FunctionId, Vec<Reference>);

struct Search<'a> {
    program: Program<'a>,
    reach: &'a Reach,
    budget: Budget,
    numbers: Numbers,
    /// From where functions get numbers that they pass on.
    passed: BTreeSet<(FunctionId, Atom, u64)>,
    /// The first function of a unit, what it gets, and the place that uses it.
    open: Vec<(FunctionId, Atom, u64)>,
    /// By the first function of a unit.
    values: FxHashMap<FunctionId, Option<FunctionValues>>,
    units: Units,
    returns: Returns<'a>,
    /// For each file, the functions that use a word of data, and where they take an address in its object.
    users: FxHashMap<(u32, u64), Rc<[User]>>,
    /// Functions that may return twice.
    repeated: FxHashSet<FunctionId>,
}

/// Functions whose values are kept; when there are more, all are computed again.
const MAX_KEPT: usize = 512;

/// Finds the numbers of all syscalls of reachable functions.
pub(crate) fn numbers(program: Program<'_>, reach: &Reach) -> Numbers {
    let mut search = Search::new(program, reach);
    for id in reach.functions() {
        search.function(id);
    }
    while let Some((function, atom, at)) = search.open.pop() {
        match atom {
            Atom::BehindWord(address, offset) => search.shared(function, address, offset),
            _ => search.wrapper(function, atom, at),
        }
    }
    search.numbers
}

impl<'a> Search<'a> {
    fn new(program: Program<'a>, reach: &'a Reach) -> Search<'a> {
        Search {
            program,
            reach,
            budget: Budget::new(),
            numbers: Numbers::default(),
            passed: BTreeSet::new(),
            open: Vec::new(),
            values: FxHashMap::default(),
            users: FxHashMap::default(),
            units: Units::of(program, reach),
            returns: Returns::new(program, reach),
            repeated: repeated(program),
        }
    }

    /// The syscalls of a function.
    fn function(&mut self, id: FunctionId) {
        let Some((image, scan, function)) = self.program.function(id) else { return };
        let number = Convention::of(image.machine).number;
        for reference in scan.references(function) {
            let place = Place { function: id, at: reference.at };
            match reference.kind {
                ReferenceKind::Syscall => {
                    let state = self.state(id, |values| values.before(reference.at));
                    match state {
                        Some(state) => self.add(place, &state.register(number)),
                        None => self.unknown(place, Unknown::Size),
                    }
                }
                ReferenceKind::OtherSyscall => {
                    self.numbers.others.insert(place);
                }
                _ => {}
            }
        }
    }

    /// The callers of a unit that gets a number from them, and uses it at a place.
    fn wrapper(&mut self, first: FunctionId, atom: Atom, at: u64) {
        let reach = self.reach;
        let members = self.units.members(first);
        let is_alone = members.len() == 1;
        for member in members {
            // Another part of the unit may be entered from elsewhere, and never come here.
            let entries = self.units.entries(self.program, member);
            let leads = self.state(member, |values| {
                Some(entries.iter().any(|entry| values.reaches(*entry, at)))
            });
            if !is_alone && leads == Some(false) {
                continue;
            }
            if reach.pointed.contains(&member) && self.pointers(first, member, atom).is_none() {
                let at = entries.first().copied().unwrap_or_default();
                self.unknown(Place { function: member, at }, Unknown::Pointer);
            }
            let calls = &reach.calls;
            let start = calls.partition_point(|call| call.callee < member);
            let end = calls.partition_point(|call| call.callee <= member);
            for call in calls.get(start..end).unwrap_or_default() {
                self.caller(first, call, atom);
            }
        }
    }

    /// What a function gets from calls through its address; `None` if code or data may call it elsewhere.
    fn pointers(&mut self, first: FunctionId, callee: FunctionId, atom: Atom) -> Option<()> {
        if self.reach.pointed_by_data.contains(&callee) {
            return None;
        }
        let pointers = &self.reach.pointers;
        let start = pointers.partition_point(|one| one.to < callee);
        let uses = pointers.get(start..)?.iter().take_while(|one| one.to == callee);
        let mut by_unit: BTreeMap<FunctionId, Pointer> = BTreeMap::new();
        for one in uses {
            let pointer = by_unit.entry(self.units.first(one.from)).or_default();
            pointer.at.push(one.code.at);
            pointer.atoms.push(match one.code.is_word {
                true => Atom::Word(one.code.address),
                false => Atom::Const(one.code.address),
            });
        }
        for (caller, mut pointer) in by_unit {
            pointer.at.sort_unstable();
            let uses = self.state(caller, |values| values.uses_of(&pointer))?;
            for at in uses.calls {
                self.caller(first, &Call { callee, caller, at }, atom);
            }
            for (at, register) in uses.passed {
                let value = self.beside(caller, at, register, atom)?;
                self.add(Place { function: caller, at }, &value);
            }
        }
        Some(())
    }

    /// What a function reads behind its first argument if its address is passed on together with a pointer to a local
    /// structure, which is the next argument: the usual form of a callback with its context. So setuid(2) of musl
    /// reaches all threads.
    fn beside(&mut self, caller: FunctionId, at: u64, register: Reg, atom: Atom) -> Option<Value> {
        let (image, _) = self.program.file(caller.image as usize)?;
        let arguments = Convention::of(image.machine).arguments;
        let Atom::Behind(read, offset) = atom else { return None };
        let mut after = arguments.iter().skip_while(|argument| **argument != register).skip(1);
        let next = after.next().filter(|_| arguments.first() == Some(&read))?;
        self.state(caller, |values| {
            let state = values.before(at)?;
            let context = state.register(*next);
            let is_local = matches!(context, Value::One(Atom::Frame(_)));
            is_local.then(|| behind(image, &state, &context, offset))
        })
    }

    /// What a caller passes to a unit.
    fn caller(&mut self, first: FunctionId, call: &Call, atom: Atom) {
        let place = Place { function: call.caller, at: call.at };
        let Some((image, _)) = self.program.file(call.caller.image as usize) else { return };
        let convention = Convention::of(image.machine);
        let is_inside = self.units.first(call.caller) == first;
        let found = self.state(call.caller, |values| {
            // Jumps within the unit pass nothing.
            if is_inside && !values.is_call(call.at) {
                return Some(None);
            }
            let state = values.at_target(call.at).or_else(|| values.after_last(call.at));
            // Only padding has no values, and it is not executed.
            let Some(state) = state else { return Some(None) };
            let pushed = if values.is_call(call.at) { convention.pushed } else { 0 };
            Some(Some(argument(image, &state, atom, &convention, pushed)))
        });
        match found {
            Some(Some(value)) => self.add(place, &value),
            Some(None) => {}
            None => self.unknown(place, Unknown::Size),
        }
    }

    /// A number in a structure whose address is in a word of data. It is not known if a structure's address may be in the
    /// word; otherwise the code is not executed. The handler by which setuid(2) reaches all threads of glibc gets its number
    /// in this way, also in programs without setuid(2).
    fn shared(&mut self, id: FunctionId, address: u64, offset: i64) {
        let Some((image, scan, function)) = self.program.function(id) else { return };
        let place = Place { function: id, at: function.start };
        let users = match self.users.get(&(id.image, address)) {
            Some(users) => users.clone(),
            None => {
                // All code is decoded, which takes less time than to execute it.
                let sizes = scan.functions.iter().map(|one| one.end.saturating_sub(one.start));
                if self.budget.spend(sizes.sum::<u64>() / 16).is_none() {
                    return self.unknown(place, Unknown::Size);
                }
                let users = scan.users_of(image, address).into_iter();
                let users = users
                    .map(|(function, takes)| (id.beside(function as u32), takes))
                    .filter(|(user, _)| self.reach.is_reachable(*user));
                let users: Rc<[User]> = users.collect();
                self.users.insert((id.image, address), users.clone());
                users
            }
        };
        let is_taken = users.iter().any(|(user, takes)| !self.stays(*user, takes));
        // Through its address, anything may store into the word, and something may be in it from the start.
        let word = address..address.saturating_add(8);
        let is_exported = image.exports.all.iter().any(|symbol| {
            symbol.is_defined
                && !symbol.is_local
                && symbol.kind == SymbolKind::Object
                && symbol.address == address
        });
        // Program headers of a file without relocations have the addresses of segments.
        let is_header = |at: u64| {
            image
                .layout
                .offset(at)
                .is_some_and(|(offset, _)| image.layout.headers.contains(&offset))
        };
        let is_pointed = image.relocations.iter().any(|one| match one.target {
            Target::Local(to) | Target::Resolved(to) => word.contains(&to) && !is_header(one.at),
            Target::Symbol(..) | Target::Copy(_) => false,
        });
        if is_exported
            || is_pointed
            || is_taken
            || !image.relocations_in(word.start, word.end).is_empty()
            || image.layout.u64(address).is_some_and(|word| word != 0)
        {
            self.unknown(place, Unknown::Value);
        }
        // If nothing reachable stores an address, the word is zero, and the code does not read behind it.
        for (user, _) in users.iter() {
            let user = *user;
            let Some(stores) = self.state(user, |values| Some(values.stores_to(address))) else {
                self.unknown(place, Unknown::Value);
                continue;
            };
            for (value, state) in stores {
                if value == Value::constant(0) {
                    continue;
                }
                let start = self.program.function(user).map(|(.., user)| user.start);
                let place = Place { function: user, at: start.unwrap_or_default() };
                // Who finds the address in the word may change what is behind it; this is what is there at first.
                self.add(place, &behind(image, &state, &value, offset));
                self.unknown(place, Unknown::Value);
            }
        }
    }

    /// Whether a function only loads and stores through these addresses: compilers reach several variables through the
    /// address of one.
    fn stays(&mut self, user: FunctionId, takes: &[Reference]) -> bool {
        let mut pointer = Pointer {
            atoms: takes.iter().map(|taken| Atom::Const(taken.target)).collect(),
            at: takes.iter().map(|taken| taken.at).collect(),
        };
        pointer.at.sort_unstable();
        takes.is_empty()
            || self
                .state(user, |values| values.uses_of(&pointer))
                .is_some_and(|uses| uses.calls.is_empty() && uses.passed.is_empty())
    }

    /// Computes something from the values of a function.
    fn state<T>(
        &mut self,
        id: FunctionId,
        get: impl FnOnce(&FunctionValues) -> Option<T>,
    ) -> Option<T> {
        if self.values.len() > MAX_KEPT {
            self.values.clear();
        }
        let (program, budget) = (self.program, &mut self.budget);
        let (units, returns) = (&self.units, &mut self.returns);
        let (reach, repeated) = (self.reach, &self.repeated);
        let first = units.first(id);
        let values = self.values.entry(first).or_insert_with(|| {
            let (image, _) = program.file(id.image as usize)?;
            let unit = units.unit(program, first);
            let members = units.members(first);
            let mut final_calls: Vec<u64> =
                members.into_iter().flat_map(|member| returns.final_calls(member)).collect();
            final_calls.sort_unstable();
            let calls = units.members(first).into_iter().flat_map(|member| reach.calls_by(member));
            let repeated = calls.filter(|call| repeated.contains(&call.callee));
            let mut repeated: Vec<u64> = repeated.map(|call| call.at).collect();
            repeated.sort_unstable();
            FunctionValues::of(image, &unit, final_calls, &repeated, budget)
        });
        get(values.as_ref()?)
    }

    fn unknown(&mut self, place: Place, why: Unknown) {
        self.numbers.unknown.insert((place, why));
    }

    /// Adds the values that a number may have.
    fn add(&mut self, place: Place, value: &Value) {
        let Some(atoms) = value.atoms() else { return self.unknown(place, Unknown::Value) };
        for atom in atoms {
            match *atom {
                Atom::Const(number) => {
                    self.numbers.known.entry(number as u32).or_default().insert(place);
                }
                Atom::Bits(bits) => match bits.numbers() {
                    Some(numbers) => {
                        for number in numbers {
                            self.numbers.known.entry(number).or_default().insert(place);
                        }
                    }
                    None => self.unknown(place, Unknown::Value),
                },
                Atom::Frame(_) | Atom::Word(_) => self.unknown(place, Unknown::Value),
                atom @ (Atom::Entry(_)
                | Atom::EntryStack(_)
                | Atom::Behind(..)
                | Atom::BehindWord(..)) => {
                    let first = self.units.first(place.function);
                    if self.passed.insert((first, atom, place.at)) {
                        self.open.push((first, atom, place.at));
                    }
                }
            }
        }
    }

    /// The protection that a call of mmap or mprotect asks for.
    fn protection(&mut self, call: &Call) -> Option<Value> {
        let (image, _) = self.program.file(call.caller.image as usize)?;
        let argument = *Convention::of(image.machine).arguments.get(2)?;
        self.state(call.caller, |values| Some(values.before(call.at)?.register(argument)))
    }
}

/// What a caller passes.
fn argument(
    image: &Image,
    state: &State,
    atom: Atom,
    convention: &Convention,
    pushed: i64,
) -> Value {
    match atom {
        Atom::Entry(register) => state.register(register),
        Atom::EntryStack(at) => match state.register(convention.stack) {
            Value::One(Atom::Frame(stack)) => {
                state.slot(stack.wrapping_sub(pushed).wrapping_add(at), 8)
            }
            _ => Value::Unknown,
        },
        Atom::Behind(register, offset) => behind(image, state, &state.register(register), offset),
        Atom::Const(_) | Atom::Bits(_) | Atom::Frame(_) | Atom::Word(_) | Atom::BehindWord(..) => {
            Value::Unknown
        }
    }
}

/// The functions that may return twice.
fn repeated(program: Program<'_>) -> FxHashSet<FunctionId> {
    const NAMES: [&str; 4] = ["setjmp", "sigsetjmp", "vfork", "getcontext"];
    let mut found = FxHashSet::default();
    for (number, image) in program.images.iter().enumerate() {
        for symbols in [&image.exports, &image.debug] {
            for symbol in symbols.all.iter().filter(|symbol| symbol.is_defined) {
                let name = symbols.name(&image.layout, symbol.name).unwrap_or_default();
                if NAMES.contains(&name.trim_start_matches('_')) {
                    found.extend(program.function_at(number, symbol.address));
                }
            }
        }
    }
    found
}

/// What memory holds behind a pointer, also to constants of the file.
fn behind(image: &Image, state: &State, pointer: &Value, offset: i64) -> Value {
    state.behind(pointer, offset, 4, |address| {
        let segment = image.layout.segment(address);
        let is_constant = segment.is_some_and(|segment| !segment.writable);
        let value = image.layout.i32(address).filter(|_| is_constant);
        value.map_or(Value::Unknown, |value| Value::constant(value as u32 as u64))
    })
}

/// The calls of these functions that ask for executable memory (PROT_EXEC).
pub(crate) fn executable(
    program: Program<'_>,
    reach: &Reach,
    functions: &BTreeSet<FunctionId>,
) -> Vec<Place> {
    const PROT_EXEC: u64 = 4;
    let mut search = Search::new(program, reach);
    let mut found = Vec::new();
    for call in reach.calls.iter().filter(|call| functions.contains(&call.callee)) {
        // The C library and the loader map libraries.
        if call.caller.image == call.callee.image {
            continue;
        }
        let value = search.protection(call).unwrap_or(Value::Unknown);
        let asks = value
            .atoms()
            .unwrap_or_default()
            .iter()
            .any(|atom| matches!(atom, Atom::Const(protection) if protection & PROT_EXEC != 0));
        if asks {
            found.push(Place { function: call.caller, at: call.at });
        }
    }
    found
}
