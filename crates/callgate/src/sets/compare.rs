//! Which of two filters permits more, by all bits of arguments or by those that the kernel reads.
//!
//! A filter sees 64 bits of each argument, but the kernel converts an argument of type `int` to its low 32 bits
//! (`SYSCALL_DEFINE` in `include/linux/syscalls.h`). So syscalls that differ only in the high half of such an argument are
//! one syscall for the kernel, and a program that may make one of them may have the kernel do what any of them does. On
//! ABIs with 32-bit registers, the kernel reads no high half, but a filter may see one: a 64-bit process on x86-64 that
//! executes `int $0x80` (`syscall_get_arguments` in `arch/x86/include/asm/syscall.h`).
//!
//! Widths are those of the kernel's definitions ([`Arch::argument_at`]). Where one is not known, all 64 bits count. This is
//! safe: a filter that permits no more than another one with more bits also permits no more with fewer.

use callgate_bpf::SyscallTable;
use callgate_codegen::query::{self, Difference, differences};
use callgate_core::diagram::{Compared, Comparison, DiagramError, Func, NodeSet, Split, Store};
use callgate_core::{Arch, SeccompData, Verdict, Word};
use rustc_hash::FxHashMap;

use crate::description::Description;
use crate::error::{BuildError, Result};

/// The syscalls for which the first filter has a looser verdict than the second one: at most `limit` groups, each with a
/// witness. If there are none, the first filter permits nothing that the second one does not.
///
/// ```
/// use callgate::sets::not_in;
/// use callgate::{Arch, Filter};
///
/// let small = Filter::builder(Arch::X86_64).allow(["read"])?.build()?;
/// let large = Filter::builder(Arch::X86_64).allow(["read", "write"])?.build()?;
/// assert!(not_in(&small, &large, 10)?.is_empty());
/// assert_eq!(not_in(&large, &small, 10)?[0].data.nr, 1); // write
/// # Ok::<(), callgate::Error>(())
/// ```
///
/// # Errors
/// If their byte orders differ, or if they are too complex for the default budget.
pub fn not_in<'a, 'b>(
    first: impl Into<Description<'a>>,
    second: impl Into<Description<'b>>,
    limit: usize,
) -> Result<Vec<Difference>> {
    let (first, second) = (first.into(), second.into());
    if first.endian() != second.endian() {
        return Err(BuildError::ByteOrders.into());
    }
    let mut store = Store::default();
    let (a, b) = (first.diagram(&mut store)?, second.diagram(&mut store)?);
    Ok(not_in_func(&mut store, a, b, limit)?)
}

/// As [`not_in`], for functions of one store.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn not_in_func(
    store: &mut Store,
    first: Func,
    second: Func,
    limit: usize,
) -> Result<Vec<Difference>, DiagramError> {
    // It differs from the first one exactly where that is looser; there it is the second one.
    let both = store.highest_precedence(first, second)?;
    differences(store, first, both, limit)
}

/// The set of syscalls that a function permits (ALLOW or LOG), as a function: ALLOW for these, and
/// [`Verdict::KILL_PROCESS`] for all others. Two functions of a store permit the same if their sets are the same node.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn permitted(store: &mut Store, of: Func) -> Result<Func, DiagramError> {
    store.replace_verdicts(of, &|verdict| match verdict.permits() {
        true => Verdict::ALLOW,
        false => Verdict::KILL_PROCESS,
    })
}

/// Which bits of arguments count in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arguments {
    /// All 64 bits, as filters see them.
    Filter,
    /// Those that the kernel reads.
    Kernel,
}

impl Arguments {
    /// The name in options and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Arguments::Filter => "filter",
            Arguments::Kernel => "kernel",
        }
    }

    /// The function that a comparison is about.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn read(self, store: &mut Store, func: Func) -> Result<Func, DiagramError> {
        match self {
            Arguments::Filter => Ok(func),
            Arguments::Kernel => as_the_kernel_reads(store, func),
        }
    }
}

/// What a filter permits of each syscall as the kernel reads it: the loosest verdict for all values of the bits that the
/// kernel ignores. The result does not depend on these bits, for syscalls with a name.
///
/// ```
/// use callgate::sets::{as_the_kernel_reads, not_in_func};
/// use callgate_core::diagram::Store;
/// use callgate::{Arch, Filter, Verdict, arg};
///
/// // One compares 32 bits of the family, the other one 64.
/// let low = Filter::builder(Arch::X86_64).allow_if("socket", arg(0).low32().eq(1))?.build()?;
/// let all = Filter::builder(Arch::X86_64).allow_if("socket", arg(0).u64().eq(1))?.build()?;
/// let mut store = Store::default();
/// let [a, b] = [&low, &all].map(|filter| store.policy(filter.policy()).unwrap());
/// assert_eq!(not_in_func(&mut store, a, b, 10)?.len(), 1); // socket(0x100000001)
/// let (a, b) = (as_the_kernel_reads(&mut store, a)?, as_the_kernel_reads(&mut store, b)?);
/// assert!(not_in_func(&mut store, a, b, 10)?.is_empty());
/// # Ok::<(), callgate::Error>(())
/// ```
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn as_the_kernel_reads(store: &mut Store, func: Func) -> Result<Func, DiagramError> {
    let mut result = func;
    let mut seen: Vec<u32> = Vec::new();
    for arch in Arch::ALL {
        let token = arch.token();
        if seen.contains(&token) {
            continue;
        }
        seen.push(token);
        let of_arch = store.follow(func, Word::ARCH, token);
        let read = match arch.has_wide_registers() {
            true => low_halves(store, of_arch, token)?,
            false => loosest_of(store, of_arch, ALL_ARGUMENTS)?,
        };
        if read != of_arch {
            result = store.split(Word::ARCH, Split::Equal(token), read, result)?;
        }
    }
    Ok(result)
}

/// A syscall that a function permits and that the kernel reads as this one; itself if the function permits it.
pub fn permitted_alike(store: &Store, func: Func, data: &SeccompData) -> Option<SeccompData> {
    let is_ignored = |half: Word| {
        let index = (0..6).find(|index| Word::arg_high(*index) == Some(half));
        let mut arches = Arch::with_token(data.arch);
        arches.any(|arch| {
            if !arch.has_wide_registers() {
                return index.is_some();
            }
            let Some(name) = arch.syscall_name(data.nr) else { return false };
            index
                .and_then(|index| arch.argument_at(name, index.into()).ok())
                .is_some_and(|argument| argument.bits == Some(32))
        })
    };
    let kept: Vec<Word> = Word::all().filter(|word| !is_ignored(*word)).collect();
    let follow = |func, word: &Word| store.follow(func, *word, data.word(*word));
    let found = query::permitted(store, kept.iter().fold(func, follow), *data)?;
    // Where words are compared with each other, others may have been changed.
    kept.iter().all(|word| found.word(*word) == data.word(*word)).then_some(found)
}

/// A bit for each argument.
const ALL_ARGUMENTS: u8 = 0b11_1111;

/// All high halves of arguments.
fn high_halves() -> impl Iterator<Item = Word> {
    (0..6).filter_map(Word::arg_high)
}

/// The function of an arch token with 64-bit registers, as the kernel reads the arguments of each syscall.
fn low_halves(store: &mut Store, func: Func, token: u32) -> Result<Func, DiagramError> {
    let mut done: FxHashMap<(Func, u8), Func> = FxHashMap::default();
    let mut result = func;
    for arch in Arch::with_token(token) {
        for (nr, name) in arch.syscalls() {
            let is_ignored = |index: u8| {
                let argument = arch.argument_at(name, index.into());
                argument.is_ok_and(|argument| argument.bits == Some(32))
            };
            let ignored = (0..6).filter(|index| is_ignored(*index));
            let ignored = ignored.fold(0u8, |set, index| set | 1 << index);
            let own = store.follow(func, Word::NR, nr);
            if ignored == 0 || store.as_verdict(own).is_some() {
                continue;
            }
            let read = match done.get(&(own, ignored)) {
                Some(read) => *read,
                None => {
                    let read = loosest_of(store, own, ignored)?;
                    done.insert((own, ignored), read);
                    read
                }
            };
            if read != own {
                result = store.split(Word::NR, Split::Equal(nr), read, result)?;
            }
        }
    }
    Ok(result)
}

/// The loosest verdict for all values of the high halves of these arguments.
///
/// # Errors
/// If the diagram exceeds its budget; if it is not known which outcomes of comparisons of ignored halves are possible together.
fn loosest_of(store: &mut Store, func: Func, ignored: u8) -> Result<Func, DiagramError> {
    if query::has_comparisons(store, func) {
        let of_syscalls = store.exits(func, Word::NR, usize::MAX).unwrap_or_else(|| vec![func]);
        if !of_syscalls.iter().all(|func| are_separate(store, *func, ignored)) {
            return Err(DiagramError::UNDECIDED);
        }
    }
    loosest(store, func, ignored, &mut FxHashMap::default())
}

/// Whether each ignored half that is compared with another word is compared with one ignored half only, and both are not tested
/// otherwise. Then all outcomes of their comparison are possible, whatever the other words are.
fn are_separate(store: &Store, func: Func, ignored: u8) -> bool {
    let (mut tested, mut compared) = (Vec::new(), Vec::new());
    let mut seen = NodeSet::new(store.len());
    let mut pending = vec![func];
    while let Some(node) = pending.pop().filter(|node| store.as_verdict(*node).is_none()) {
        if !seen.insert(node) {
            continue;
        }
        match (store.top_word(node), store.top_comparison(node).and_then(words_of)) {
            (Some(word), _) if is_ignored(word, ignored) => tested.push(word),
            (None, Some(words)) if !compared.contains(&words) => compared.push(words),
            _ => {}
        }
        pending.extend(<[Func; 2]>::from(store.children(node)));
    }
    compared.iter().filter(|words| words.iter().any(|word| is_ignored(*word, ignored))).all(
        |words| {
            let is_alone = |word: &Word| {
                let pairs = compared.iter().filter(|pair| pair.contains(word));
                is_ignored(*word, ignored) && !tested.contains(word) && pairs.count() == 1
            };
            words.iter().all(is_alone)
        },
    )
}

/// The words of a comparison of two words.
fn words_of(comparison: Comparison) -> Option<[Word; 2]> {
    match comparison.other {
        Compared::Word(other) => Some([comparison.word, other]),
        Compared::Half(..) => None,
    }
}

fn is_ignored(word: Word, ignored: u8) -> bool {
    high_halves().enumerate().any(|(index, half)| half == word && ignored >> index & 1 == 1)
}

/// As [`loosest_of`]. Each recursion is at least one variable deeper.
fn loosest(
    store: &mut Store,
    func: Func,
    ignored: u8,
    memo: &mut FxHashMap<Func, Func>,
) -> Result<Func, DiagramError> {
    if store.as_verdict(func).is_some() {
        return Ok(func);
    }
    if let Some(done) = memo.get(&func) {
        return Ok(*done);
    }
    store.charge()?;
    let (var, low, high) = store.branch(func);
    let (low, high) = (loosest(store, low, ignored, memo)?, loosest(store, high, ignored, memo)?);
    let has_ignored = match (store.top_word(func), store.top_comparison(func).and_then(words_of)) {
        (Some(word), _) => is_ignored(word, ignored),
        (None, words) => words.into_iter().flatten().any(|word| is_ignored(word, ignored)),
    };
    let read = match has_ignored {
        true => store.choose(low, high, is_looser)?,
        false => store.make(var, low, high)?,
    };
    memo.insert(func, read);
    Ok(read)
}

fn is_looser(one: Verdict, other: Verdict) -> bool {
    one.precedence() <= other.precedence()
}
