//! Which calls of a log the filters deny: a search in their MTBDD with the arguments that the log contains.

use std::collections::BTreeMap;

use callgate::{Action, SeccompData, Verdict};
use callgate_bpf::SyscallTable;
use callgate_core::diagram::{Compared, Comparison, Func, NodeSet, Store};
use callgate_core::policy::Field;
use callgate_core::{Endian, Word};
use callgate_trace::denials::{Evidence, LoggedCall};
use callgate_trace::recording::SyscallId;

/// How many calls are remembered.
const MAX_REMEMBERED: usize = 4096;

/// Whether a verdict explains what the log says.
pub fn explains(evidence: Evidence, verdict: Verdict) -> bool {
    match evidence {
        Evidence::Filter => !verdict.permits(),
        Evidence::Failed(errno) => verdict == Verdict::errno(errno),
        Evidence::NoReturn => {
            matches!(verdict.action(), Action::KillProcess | Action::KillThread)
        }
    }
}

/// The action of a verdict in a record of the kernel, which does not have its data.
pub fn action(verdict: Verdict) -> &'static str {
    match verdict.action() {
        Action::KillProcess => "KILL_PROCESS",
        Action::KillThread => "KILL_THREAD",
        Action::Trap(_) => "TRAP",
        Action::Errno(_) => "ERRNO",
        Action::UserNotif(_) => "USER_NOTIF",
        Action::Trace(_) => "TRACE",
        Action::Log => "LOG",
        Action::Allow => "ALLOW",
        _ => "UNKNOWN",
    }
}

/// A call with the known arguments and a wanted verdict. The unknown arguments are zero where possible.
pub fn find(
    diagram: &(Store, Func),
    call: &LoggedCall,
    is_wanted: impl Fn(Verdict) -> bool,
) -> Option<SeccompData> {
    find_with(diagram, data(call), &known_words(call), is_wanted)
}

/// A call with a wanted verdict. The known words have the values of `data`, the other words have them where possible.
pub fn find_with(
    (store, root): &(Store, Func),
    data: SeccompData,
    known: &[Word],
    is_wanted: impl Fn(Verdict) -> bool,
) -> Option<SeccompData> {
    let mut seen = NodeSet::new(store.len());
    let mut open = vec![(*root, data)];
    while let Some((node, mut data)) = open.pop() {
        if !seen.insert(node) {
            continue;
        }
        if let Some(verdict) = store.as_verdict(node) {
            if is_wanted(verdict) {
                return Some(data);
            }
            continue;
        }
        let (var, low, high) = store.branch(node);
        // Comparisons with variables and of two words follow all words.
        let Some(word) = store.top_word(node) else {
            match store.top_comparison(node).filter(|of| compares_known(of, known)) {
                Some(of) if of.holds(&data, Endian::NATIVE, &[]) => open.push((high, data)),
                Some(_) => open.push((low, data)),
                None => open.extend([(low, data), (high, data)]),
            }
            continue;
        };
        let bit = 1 << (31 - u32::from(var % 32));
        let value = data.word(word);
        let [preferred, other] = if value & bit != 0 { [high, low] } else { [low, high] };
        if !known.contains(&word) {
            let mut flipped = data;
            flipped.set_word(word, value ^ bit);
            open.push((other, flipped));
        }
        data.set_word(word, value);
        open.push((preferred, data));
    }
    None
}

/// Whether two known words are compared.
fn compares_known(comparison: &Comparison, known: &[Word]) -> bool {
    match comparison.other {
        Compared::Word(other) => known.contains(&comparison.word) && known.contains(&other),
        Compared::Half(..) => false,
    }
}

/// The call as a filter sees it; arguments that are not known are 0.
pub fn data(call: &LoggedCall) -> SeccompData {
    SeccompData {
        nr: call.syscall.nr,
        arch: call.syscall.arch.token(),
        args: call.args.map(Option::unwrap_or_default),
        ..SeccompData::default()
    }
}

/// The words whose value is known. Of an argument of which the kernel reads 32 bits, a log contains these only.
fn known_words(call: &LoggedCall) -> Vec<Word> {
    let arch = call.syscall.arch;
    let name = call.syscall.name().unwrap_or_default();
    let mut known = vec![Word::ARCH, Word::NR];
    for (index, arg) in (0..).zip(call.args) {
        let Some(field) = Field::arg(index) else { continue };
        let bits = arch.argument_at(name, index.into()).ok().and_then(|argument| argument.bits);
        let is_low = bits.is_some_and(|bits| bits <= 32);
        known.extend(arg.map(|_| field.low_word()));
        // Registers of 32 bits have no upper half.
        let is_high_known = arg.is_some() && !is_low || !arch.has_wide_registers();
        known.extend(field.high_word().filter(|_| is_high_known));
    }
    known
}

/// Decides which calls of a log are denials of the filters with one MTBDD.
#[derive(Default)]
pub struct Relevance {
    /// For the function of each syscall, the arguments that it tests, and its verdicts.
    syscalls: BTreeMap<Func, (u8, Vec<Verdict>)>,
    /// Calls with the arguments that matter, and whether they are denials.
    remembered: BTreeMap<LoggedCall, bool>,
}

impl Relevance {
    /// The arguments that matter, a bit for each; `None` if the filters are not the reason that a syscall failed.
    pub fn of(&mut self, diagram: &(Store, Func), call: &LoggedCall) -> Option<u8> {
        let (store, root) = diagram;
        let own = of_syscall(store, *root, call.syscall);
        let facts = || (arguments_of(store, own), store.verdicts(own));
        let (mask, verdicts) = self.syscalls.entry(own).or_insert_with(facts);
        let mask = *mask;
        if call.evidence == Evidence::Filter {
            return Some(mask);
        }
        let explains = |verdict| explains(call.evidence, verdict);
        if !verdicts.iter().copied().any(explains) {
            return None;
        }
        let mut call = *call;
        for (index, arg) in call.args.iter_mut().enumerate() {
            *arg = arg.filter(|_| mask >> index & 1 == 1);
        }
        if let Some(is_denial) = self.remembered.get(&call) {
            return is_denial.then_some(mask);
        }
        let is_denial = find(diagram, &call, explains).is_some();
        if self.remembered.len() < MAX_REMEMBERED {
            self.remembered.insert(call, is_denial);
        }
        is_denial.then_some(mask)
    }
}

/// The function of a syscall.
fn of_syscall(store: &Store, root: Func, syscall: SyscallId) -> Func {
    let of_arch = store.follow(root, Word::ARCH, syscall.arch.token());
    store.follow(of_arch, Word::NR, syscall.nr)
}

/// The arguments of a syscall that filters test, a bit for each.
pub fn tested_arguments(store: &Store, root: Func, syscall: SyscallId) -> u8 {
    arguments_of(store, of_syscall(store, root, syscall))
}

/// The bits of an argument of a syscall that filters test.
pub fn tested_bits(store: &Store, root: Func, syscall: SyscallId, index: u8) -> u64 {
    let Some(field) = Field::arg(index) else { return 0 };
    let mut mask = 0;
    let mut seen = NodeSet::new(store.len());
    let mut open = vec![of_syscall(store, root, syscall)];
    while let Some(node) = open.pop() {
        if !seen.insert(node) || store.as_verdict(node).is_some() {
            continue;
        }
        let (var, low, high) = store.branch(node);
        let bit = 1 << (31 - u64::from(var % 32));
        match store.top_word(node) {
            // A comparison with a variable tests all bits.
            None => mask = u64::MAX,
            word if word == Some(field.low_word()) => mask |= bit,
            word if word == field.high_word() => mask |= bit << 32,
            _ => {}
        }
        open.extend([low, high]);
    }
    mask
}

/// The arguments that a function tests, a bit for each.
fn arguments_of(store: &Store, func: Func) -> u8 {
    let mut mask = 0;
    let mut seen = NodeSet::new(store.len());
    let mut open = vec![func];
    while let Some(node) = open.pop() {
        if !seen.insert(node) {
            continue;
        }
        let compared = store.top_comparison(node).map(|comparison| match comparison.other {
            Compared::Word(other) => [comparison.word, other],
            Compared::Half(..) => [comparison.word; 2],
        });
        for word in store.top_word(node).into_iter().chain(compared.into_iter().flatten()) {
            mask |= word.argument().map_or(0, |(index, _)| 1 << index);
        }
        let (low, high) = store.children(node);
        if low != node {
            open.extend([low, high]);
        }
    }
    mask
}
