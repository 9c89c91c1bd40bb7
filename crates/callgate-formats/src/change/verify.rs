//! The syscall that a change is to allow, and the proof that the change allows nothing else.

use std::fmt;

use callgate_bpf::SyscallTable;
use callgate_bpf::constants::Family;
use callgate_codegen::query::{self, ArgPart, ValueCondition, ValueSet};
use callgate_core::diagram::{DiagramError, Func, Pred, Split, Store};
use callgate_core::policy::{Cmp, Field, Test};
use callgate_core::{Arch, SeccompData, Verdict, Word};

/// A syscall, with all arguments or with some values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// The architecture.
    pub arch: Arch,
    /// The name.
    pub name: String,
    /// Indices and values of the arguments; none for all arguments.
    pub args: Vec<(u8, u64)>,
    /// The bits of each argument that are compared; others may have any value.
    pub masks: [u64; 6],
    /// Whether the upper halves of arguments of 32 bits are zero, because the language compares whole registers. Otherwise
    /// they have any value: the kernel ignores them, and programs leave other values there.
    pub zero_upper: bool,
}

/// An argument as a filter is to compare it.
pub(crate) struct Compared {
    pub(crate) index: u8,
    /// The value, of at most 32 bits if the kernel reads only these.
    pub(crate) value: u64,
    /// The bits that are compared, if not all of the register are.
    pub(crate) mask: Option<u64>,
    /// Whether the kernel reads 32 bits.
    pub(crate) is_narrow: bool,
    /// Whether the register has an upper half, which the kernel ignores.
    pub(crate) is_low: bool,
}

/// The verdict for syscalls outside of a region: no other one is stricter.
const OUTSIDE: Verdict = Verdict::KILL_PROCESS;

impl Allowed {
    /// A syscall with all arguments.
    pub fn all(arch: Arch, name: impl Into<String>) -> Allowed {
        Allowed::with_args(arch, name, Vec::new())
    }

    /// A syscall with these values of arguments.
    pub fn with_args(arch: Arch, name: impl Into<String>, args: Vec<(u8, u64)>) -> Allowed {
        Allowed { arch, name: name.into(), args, masks: [u64::MAX; 6], zero_upper: false }
    }

    /// The same syscall, comparing all bits of its arguments.
    #[must_use]
    pub fn with_whole_arguments(&self) -> Allowed {
        Allowed { masks: [u64::MAX; 6], ..self.clone() }
    }

    /// The same syscall with all arguments.
    #[must_use]
    pub fn with_all_arguments(&self) -> Allowed {
        Allowed::all(self.arch, self.name.clone())
    }

    /// The condition on the arguments, such as `family == AF_NETLINK`; `None` for all arguments.
    pub fn condition(&self) -> Option<String> {
        let test = |Compared { index, value, mask, is_narrow, is_low }| {
            if let Some(mask) = mask.filter(|mask| !is_low || *mask != u64::from(u32::MAX)) {
                let values = ValueSet::Masked { mask, wanted: value };
                let condition = ValueCondition { arg: Some(index), part: ArgPart::Whole, values };
                return condition.describe_on(self.arch, Some(&self.name));
            }
            // Constants such as AT_FDCWD are negative.
            let signed = value as u32 as i32 as u64;
            let named = Family::of(self.arch, &self.name, index)
                .and_then(|family| family.name(self.arch, signed))
                .filter(|named| is_narrow && !named.contains("0x"));
            let value = if named.is_some() { signed } else { value };
            let condition = ValueCondition {
                arg: Some(index),
                part: ArgPart::Whole,
                values: ValueSet::Ranges(vec![(value, value)]),
            };
            condition.describe_on(self.arch, Some(&self.name))
        };
        let tests: Vec<String> = self.compared().map(test).collect();
        let is_whole = self.zero_upper && self.compared().any(|compared| compared.is_narrow);
        let upper = if is_whole { ", with zeros in the upper half of the register" } else { "" };
        (!tests.is_empty()).then(|| tests.join(" and ") + upper)
    }

    /// Whether an argument of flags is compared with a value as a whole: calls with more flags need another one.
    pub fn compares_flags(&self) -> bool {
        self.args.iter().any(|(index, _)| self.is_of_flags(*index) && self.mask(*index) == u64::MAX)
    }

    /// Whether an argument is a set of flags.
    pub fn is_of_flags(&self, index: u8) -> bool {
        Family::of(self.arch, &self.name, index).is_some_and(|of| !of.is_enumeration())
    }

    /// Whether an argument may have these bits in a mask of its low half.
    pub fn may_have(&self, index: u8, mask: u32, bits: u32) -> bool {
        let is_other = |(own, value): &(u8, u64)| {
            let differing = (*value ^ u64::from(bits)) & u64::from(mask);
            *own == index && differing & self.mask(index) != 0
        };
        !self.args.iter().any(is_other)
    }

    /// The bits of an argument that are compared.
    fn mask(&self, index: u8) -> u64 {
        self.masks.get(usize::from(index)).copied().unwrap_or(u64::MAX)
    }

    /// The arguments as filters are to compare them.
    pub(crate) fn compared(&self) -> impl Iterator<Item = Compared> + '_ {
        self.args.iter().map(|(index, value)| {
            let is_narrow = self.bits(*index) <= 32;
            let is_low = is_narrow && !self.zero_upper && self.arch.has_wide_registers();
            let wide = if is_narrow { u64::from(u32::MAX) } else { u64::MAX };
            let mask = self.mask(*index) & wide;
            let value = *value & mask;
            // A whole register needs no mask.
            let mask = (is_low || mask != wide).then_some(mask);
            Compared { index: *index, value, mask, is_narrow, is_low }
        })
    }

    /// The argument's width as the kernel reads it; that of a register if it is not known.
    fn bits(&self, index: u8) -> u8 {
        let argument = self.arch.argument_at(&self.name, index.into());
        let bits = argument.ok().and_then(|argument| argument.bits);
        bits.unwrap_or(if self.arch.has_wide_registers() { 64 } else { 32 })
    }

    /// A function with ALLOW for the syscall on its architecture, with exactly these values, and KILL_PROCESS elsewhere.
    pub(crate) fn required(&self, store: &mut Store) -> Result<Func, DiagramError> {
        let mut inside = store.verdict(Verdict::ALLOW)?;
        let outside = store.verdict(OUTSIDE)?;
        for Compared { index, value, mask, is_low, .. } in self.compared() {
            let Some(field) = Field::arg(index) else { continue };
            let field = if is_low { field.low32() } else { field };
            let equal = equal(store, field, mask.unwrap_or(u64::MAX), value)?;
            inside = store.select(equal, inside, outside)?;
        }
        match self.arch.number(&self.name) {
            Some(nr) => at(store, self.arch, nr, inside, outside),
            None => Ok(outside),
        }
    }

    /// Whether the change is for some values of arguments only.
    pub(crate) fn is_conditional(&self) -> bool {
        !self.args.is_empty()
    }

    /// A function with ALLOW where a change may allow something: the syscall on every architecture, with all arguments
    /// `behind` a multiplexer, too. Arguments of which the kernel reads 32 bits may have any upper half.
    pub(crate) fn permitted(&self, store: &mut Store, behind: bool) -> Result<Func, DiagramError> {
        let (allow, outside) = (store.verdict(Verdict::ALLOW)?, store.verdict(OUTSIDE)?);
        let mut region = outside;
        for arch in Arch::ALL {
            if let Some(nr) = arch.number(&self.name) {
                let mut inside = allow;
                for (index, value) in &self.args {
                    let Some(mut field) = Field::arg(*index) else { continue };
                    if self.bits(*index) <= 32 || !arch.is_64bit() {
                        field = field.low32();
                    }
                    let equal = equal(store, field, self.mask(*index), *value)?;
                    inside = store.select(equal, inside, outside)?;
                }
                region = at(store, *arch, nr, inside, region)?;
            }
            // The arguments of a multiplexed syscall are in memory, so a rule is about all of them.
            let multiplexed = arch.multiplexed(&self.name).filter(|_| behind);
            let Some((multiplexer, call)) = multiplexed else { continue };
            if let (Some(nr), Some(field)) = (arch.number(multiplexer), Field::arg(0)) {
                // ipc(2) reads 16 bits.
                let mask = if multiplexer == "ipc" { 0xffff } else { u64::from(u32::MAX) };
                let test = Test { field, mask, cmp: Cmp::Eq, value: call.into() };
                let equal = store.test(&test)?;
                let inside = store.select(equal, allow, outside)?;
                region = at(store, *arch, nr, inside, region)?;
            }
        }
        Ok(region)
    }
}

/// Whether the bits of a field in a mask are those of a value.
fn equal(store: &mut Store, field: Field, mask: u64, value: u64) -> Result<Pred, DiagramError> {
    let mask = mask & field.full_mask();
    store.test(&Test { field, mask, cmp: Cmp::Eq, value: value & mask })
}

/// The function `inside` for a syscall number of an architecture, and `elsewhere` for others.
fn at(
    store: &mut Store,
    arch: Arch,
    nr: u32,
    inside: Func,
    elsewhere: Func,
) -> Result<Func, DiagramError> {
    let of_arch = query::restrict(store, elsewhere, Word::ARCH, arch.token())?;
    let of_arch = store.split(Word::NR, Split::Equal(nr), inside, of_arch)?;
    store.split(Word::ARCH, Split::Equal(arch.token()), of_arch, elsewhere)
}

/// A change that is proved: it allows exactly the wanted syscalls and denies none that was allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// One of the syscalls that are denied before and after the change, but with another verdict.
    pub side_effect: Option<SideEffect>,
    /// A call of a multiplexer, such as `socketcall`, that is permitted now. A filter cannot see the arguments of the
    /// syscall in it, so they may be others than wanted.
    pub multiplexed: Option<SideEffect>,
}

/// A syscall with another verdict than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideEffect {
    /// The syscall.
    pub data: SeccompData,
    /// The verdict before the change.
    pub before: Verdict,
    /// The verdict after the change.
    pub after: Verdict,
}

/// Why a change is not proved.
#[derive(Clone, Debug)]
pub enum Unverified {
    /// A wanted syscall is still denied.
    Denied(Verdict),
    /// The change also affects another syscall.
    Other(SideEffect),
    /// The MTBDD exceeds its budget.
    Budget(DiagramError),
}

impl From<DiagramError> for Unverified {
    fn from(error: DiagramError) -> Unverified {
        Unverified::Budget(error)
    }
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unverified::Denied(verdict) => write!(f, "the syscall would still get {verdict}"),
            Unverified::Other(SideEffect { before, after, .. }) => {
                write!(f, "another syscall would get {after} instead of {before}")
            }
            Unverified::Budget(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unverified {}

/// Proves that a filter with the function `after` permits what one with the function `before` permits, the wanted
/// syscalls, and nothing else. A wanted syscall may also be permitted on other architectures of the filter.
///
/// # Errors
/// If this is not so, with an example, or if the MTBDD exceeds its budget.
pub fn verify(
    store: &mut Store,
    before: Func,
    after: Func,
    wanted: &[Allowed],
) -> Result<Verified, Unverified> {
    let mut region = store.verdict(Verdict::KILL_PROCESS)?;
    // Without what is behind a multiplexer, where the arguments do not matter.
    let mut exact = region;
    for one in wanted {
        let required = one.required(store)?;
        let inside = inside(store, after, required)?;
        if let Some(verdict) = store.verdicts(inside).into_iter().find(|one| !one.permits()) {
            return Err(Unverified::Denied(verdict));
        }
        let permitted = one.permitted(store, true)?;
        region = looser(store, region, permitted)?;
        let permitted = one.permitted(store, !one.is_conditional())?;
        exact = looser(store, exact, permitted)?;
    }
    // What is permitted stays permitted, everywhere.
    let (only_before, only_after) = (permission(store, before)?, permission(store, after)?);
    let either = looser(store, only_before, only_after)?;
    unchanged(store, [either, only_after], [before, after])?;
    // Outside of the region, nothing else is permitted.
    let (kept_before, kept_after) = (looser(store, before, region)?, looser(store, after, region)?);
    let outside = [permission(store, kept_before)?, permission(store, kept_after)?];
    unchanged(store, outside, [before, after])?;
    let side_effect = difference(store, [kept_before, kept_after], [before, after])?;
    let (kept_before, kept_after) = (looser(store, before, exact)?, looser(store, after, exact)?);
    let outside = [permission(store, kept_before)?, permission(store, kept_after)?];
    let multiplexed = difference(store, outside, [before, after])?;
    Ok(Verified { side_effect, multiplexed })
}

/// The looser verdict of both, the first one's if they have the same action.
fn looser(store: &mut Store, first: Func, second: Func) -> Result<Func, DiagramError> {
    store.choose(first, second, |one, other| one.precedence() <= other.precedence())
}

/// The function inside of a region, and ALLOW elsewhere.
fn inside(store: &mut Store, func: Func, region: Func) -> Result<Func, DiagramError> {
    let inverted = store.replace_verdicts(region, &|verdict| match verdict.permits() {
        true => Verdict::KILL_PROCESS,
        false => Verdict::ALLOW,
    })?;
    looser(store, func, inverted)
}

/// ALLOW where the function permits, and KILL_PROCESS elsewhere.
fn permission(store: &mut Store, func: Func) -> Result<Func, DiagramError> {
    store.replace_verdicts(func, &|verdict| match verdict.permits() {
        true => Verdict::ALLOW,
        false => Verdict::KILL_PROCESS,
    })
}

/// Fails if two functions differ, with the verdicts of the filters where they do.
fn unchanged(store: &mut Store, compared: [Func; 2], filters: [Func; 2]) -> Result<(), Unverified> {
    match difference(store, compared, filters)? {
        None => Ok(()),
        Some(other) => Err(Unverified::Other(other)),
    }
}

/// A syscall for which two functions differ, with the verdicts of the filters.
fn difference(
    store: &Store,
    [a, b]: [Func; 2],
    [before, after]: [Func; 2],
) -> Result<Option<SideEffect>, DiagramError> {
    if a == b {
        return Ok(None);
    }
    let found = query::witness(store, a, b, SeccompData::default())?;
    let data = found.ok_or(DiagramError::UNDECIDED)?;
    let (before, after) = (store.evaluate(before, &data)?, store.evaluate(after, &data)?);
    Ok(Some(SideEffect { data, before, after }))
}
