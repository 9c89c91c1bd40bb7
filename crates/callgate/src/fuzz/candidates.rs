//! Candidate syscalls, derived from the constants of policies and programs.
//!
//! If two programs differ, they usually differ near a constant of one of them. So the values tried in a word are the
//! constants that a program or rule compares with that word, plus and minus one, with a flipped bit, masks and their
//! complements, the halves of an argument exchanged; in `arch` all known tokens, in `nr` all known numbers, also
//! with the bit of x32.

use callgate_bpf::SyscallTable;
use rustc_hash::FxHashSet as HashSet;

use callgate_bpf::random::Rng;
use callgate_core::cfg::{Facts, Forward};
use callgate_core::policy::{Policy, Rule, Shape};
use callgate_core::{
    Arch, Endian, Insn, Op, Program, SCRATCH_WORDS, SeccompData, Source, Word, X32_SYSCALL_BIT,
};

/// Boundary values that are tried for every filter.
const SPECIAL: [u32; 8] =
    [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff];

/// The maximum number of syscalls of the sweep over numbers, without arguments.
const SWEPT: usize = 200_000;

/// A bitmap of the words that a value depends on.
type Words = u16;

/// Candidate values per word.
pub(super) struct Candidates {
    words: [Vec<u32>; Word::COUNT],
    /// The arch tokens of the filter, and those it compares with.
    compared: Vec<u32>,
    /// The numbers that the filter compares with, and their neighbours.
    edges: Vec<u32>,
}

impl Candidates {
    pub(super) fn new<'a>(
        policies: &[&Policy],
        programs: impl IntoIterator<Item = &'a Program>,
        arches: &[Arch],
        endian: Endian,
    ) -> Candidates {
        let mut candidates =
            Candidates { words: Default::default(), compared: Vec::new(), edges: Vec::new() };
        for program in programs {
            candidates.add_program(program, endian);
        }
        for policy in policies {
            candidates.add_policy(policy);
        }
        candidates.add(Word::ARCH, arches.iter().map(|arch| arch.token()));
        candidates.compared = sorted(candidates.of(Word::ARCH).iter().copied());
        let near = |nr: &u32| [*nr, nr.wrapping_sub(1), nr.wrapping_add(1)];
        candidates.edges = sorted(candidates.of(Word::NR).iter().flat_map(near));
        for arch in Arch::ALL {
            candidates.add(Word::ARCH, [arch.token()]);
            if candidates.is_compared(arch.token()) {
                candidates.add(Word::NR, arch.syscalls().map(|(nr, _)| nr));
            }
        }
        for values in &mut candidates.words {
            *values = sorted(values.iter().copied().chain(SPECIAL));
        }
        candidates
    }

    fn of(&self, word: Word) -> &[u32] {
        self.words.get(word.index()).map_or(&[], Vec::as_slice)
    }

    fn add(&mut self, word: Word, values: impl IntoIterator<Item = u32>) {
        if let Some(known) = self.words.get_mut(word.index()) {
            known.extend(values);
        }
    }

    fn add_program(&mut self, program: &Program, endian: Endian) {
        let origins = origins(program, endian);
        for (insn, words) in program.iter().zip(&origins) {
            let k = insn.k;
            let is_used = matches!(insn.arithmetic(), Some((_, Source::K(_))))
                || matches!(insn.comparison(), Some((_, Source::K(_))));
            for word in Word::all().filter(|word| is_used && words >> word.index() & 1 == 1) {
                self.add(word, [k]);
                if matches!(insn.op, Op::AndK | Op::OrK | Op::JsetK) {
                    self.add(word, [!k]);
                }
            }
        }
    }

    fn add_policy(&mut self, policy: &Policy) {
        for section in policy.sections() {
            self.add(Word::ARCH, [section.token()]);
            for rule in &section.rules {
                self.add(Word::NR, rule.syscalls.ranges().iter().flat_map(|(a, b)| [*a, *b]));
                rule.when.for_each_test(&mut |test| {
                    for value in [test.value, test.value | !test.mask, test.mask, !test.mask] {
                        self.add(test.field.low_word(), [value as u32]);
                        if let Some(high) = test.field.high_word() {
                            self.add(high, [(value >> 32) as u32]);
                        }
                    }
                });
            }
        }
    }

    /// Every number that is known or occurs as a constant, and its neighbours, on every arch token of the filter and a few
    /// others.
    pub(super) fn sweep(&self, visit: &mut impl FnMut(SeccompData)) {
        let near = |nr: &u32| [*nr, nr.wrapping_add(1), nr.wrapping_sub(1), *nr ^ X32_SYSCALL_BIT];
        let rng = sorted(self.of(Word::NR).iter().flat_map(near));
        let tokens = self.of(Word::ARCH);
        let known = |token: u32| Arch::with_token(token).next().is_some();
        for &arch in tokens {
            let near = |nr| SeccompData { nr, arch, ..SeccompData::default() };
            // For an arch that the filter does not handle, one number suffices.
            let few = if self.is_compared(arch) { SWEPT / self.compared.len().max(1) } else { 1 };
            for &nr in rng.iter().take(few) {
                visit(near(nr));
            }
            if known(arch) {
                for other in [arch.wrapping_add(1), arch.wrapping_sub(1), arch ^ 0x8000_0000] {
                    visit(SeccompData { arch: other, ..near(0) });
                }
            }
        }
    }

    /// Whether the filter has this token, or compares the arch with it.
    fn is_compared(&self, token: u32) -> bool {
        self.compared.contains(&token)
    }

    /// For each bound of a rule's numbers, arguments at the boundary values of its tests.
    pub(super) fn rules(&self, policy: &Policy, visit: &mut impl FnMut(SeccompData)) {
        for section in policy.sections() {
            for rule in &section.rules {
                for nr in rule.syscalls.ranges().iter().flat_map(|(first, last)| [*first, *last]) {
                    let start = SeccompData { nr, arch: section.token(), ..SeccompData::default() };
                    at_tests(rule, start, visit);
                }
            }
        }
    }

    /// The arguments of some syscalls with the numbers next to constants of the filter: a wrong branch on a number is
    /// visible only where the arguments matter. At most about `most` syscalls.
    pub(super) fn cross(
        &self,
        some: &[SeccompData],
        most: usize,
        visit: &mut impl FnMut(SeccompData),
    ) {
        let mut known = HashSet::default();
        let different = some.iter().filter(|data| known.insert(data.args));
        let rng = self.compared.len() * self.edges.len();
        for data in different.take(most / rng.max(1)) {
            for &arch in &self.compared {
                for &nr in &self.edges {
                    visit(SeccompData { arch, nr, ..*data });
                }
            }
        }
    }

    /// A random syscall: one of `near` with a few changed words, or one made from constants only.
    pub(super) fn random(&self, near: &[SeccompData], rng: &mut Rng) -> SeccompData {
        let mut data = match rng.pick(near) {
            Some(data) if rng.below(4) > 0 => data,
            _ => {
                let mut data = SeccompData::default();
                for word in Word::all() {
                    data.set_word(word, self.value(word, 0, rng));
                }
                data
            }
        };
        for _ in 0..1 + rng.below(3) {
            // Mostly arguments; a call of another number or arch is another call altogether.
            let index = if rng.below(8) == 0 { rng.below(4) } else { 4 + rng.below(12) };
            if let Some(word) = Word::from_index(index) {
                let value = self.value(word, data.word(word), rng);
                data.set_word(word, value);
            }
        }
        data
    }

    /// A value for a word that now has the value `now`.
    fn value(&self, word: Word, now: u32, rng: &mut Rng) -> u32 {
        let bit = 1 << rng.below(32);
        let known = rng.pick(self.of(word)).unwrap_or(now);
        match rng.below(16) {
            0 => rng.next() as u32,
            1 => now ^ bit,
            2 => now.wrapping_add(1),
            3 => now.wrapping_sub(1),
            4 => known ^ bit,
            5 => known.wrapping_add(1),
            6 => known.wrapping_sub(1),
            7 => known & !(bit - 1),
            8 if word.index() >= 4 => 0,
            _ => known,
        }
    }
}

fn sorted(values: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// Variations of a syscall that reaches a branch: in each word that the branch depends on, every bit flipped, the constant
/// and its neighbours, and changes of the other half of the argument.
pub(super) fn around(insn: Insn, words: Words, data: SeccompData) -> Vec<SeccompData> {
    let mut syscalls = Vec::new();
    for word in Word::all().filter(|word| words >> word.index() & 1 == 1) {
        let mut put = |word: Word, value: u32| {
            let mut other = data;
            other.set_word(word, value);
            syscalls.push(other);
        };
        let value = data.word(word);
        let k = if insn.op.uses_k() { insn.k } else { value };
        for near in [k, k.wrapping_add(1), k.wrapping_sub(1), value | k, value & !k, !value] {
            put(word, near);
        }
        let other_half = |(arg, is_high)| match is_high {
            true => Word::arg_low(arg),
            false => Word::arg_high(arg),
        };
        if let Some(half) = word.argument().and_then(other_half) {
            for other in [0, 1, u32::MAX, value] {
                put(half, other);
            }
        }
        for bit in 0..32 {
            put(word, value ^ 1 << bit);
        }
    }
    syscalls
}

/// The words that each branch or computation depends on.
pub(super) fn origins(program: &Program, endian: Endian) -> Vec<Words> {
    #[derive(Clone, Default)]
    struct Origins {
        a: Words,
        x: Words,
        scratch: [Words; SCRATCH_WORDS],
    }
    impl Facts for Origins {
        fn join(&mut self, other: &Origins) {
            self.a |= other.a;
            self.x |= other.x;
            for (mine, others) in self.scratch.iter_mut().zip(other.scratch) {
                *mine |= others;
            }
        }
    }
    let mut analysis = Forward::new(program.len(), Origins::default());
    let mut origins = vec![0; program.len()];
    for (index, insn) in program.iter().enumerate() {
        let Some(mut state) = analysis.take(index) else { continue };
        let slot = insn.k as usize;
        match insn.op {
            Op::LdWordAbs => {
                state.a = Word::from_offset(insn.k, endian).map_or(0, |word| 1 << word.index());
            }
            Op::LdLen | Op::LdImm => state.a = 0,
            Op::LdxLen | Op::LdxImm => state.x = 0,
            Op::LdMem => state.a = state.scratch.get(slot).copied().unwrap_or(0),
            Op::LdxMem => state.x = state.scratch.get(slot).copied().unwrap_or(0),
            Op::St | Op::Stx => {
                let value = if insn.op == Op::St { state.a } else { state.x };
                if let Some(scratch) = state.scratch.get_mut(slot) {
                    *scratch = value;
                }
            }
            Op::Tax => state.x = state.a,
            Op::Txa => state.a = state.x,
            _ if matches!(insn.arithmetic(), Some((_, Source::X))) => state.a |= state.x,
            _ => {}
        }
        let by_x = matches!(insn.comparison(), Some((_, Source::X)));
        if let Some(origin) = origins.get_mut(index) {
            *origin = if by_x { state.a | state.x } else { state.a };
        }
        for next in insn.successors(index) {
            analysis.arrive(next, &state);
        }
    }
    origins
}

/// Syscalls of a rule with arguments at the boundary values of its tests: one test at a time, and all constants at once.
fn at_tests(rule: &Rule, start: SeccompData, visit: &mut impl FnMut(SeccompData)) {
    visit(start);
    let mut all = start;
    rule.when.for_each_test(&mut |test| {
        let put = |data: &mut SeccompData, value: u64| {
            data.set_word(test.field.low_word(), value as u32);
            if let Some(high) = test.field.high_word() {
                data.set_word(high, (value >> 32) as u32);
            }
        };
        let value = test.value;
        for value in [
            value,
            value.wrapping_add(1),
            value.wrapping_sub(1),
            value | !test.mask,
            test.mask,
            !test.mask,
            value.rotate_left(32),
            value & 0xffff_ffff,
        ] {
            let mut data = start;
            put(&mut data, value);
            visit(data);
            let mut data = all;
            put(&mut data, value);
            visit(data);
        }
        put(&mut all, value);
    });
    rule.when.for_each_leaf(&mut |leaf| {
        let Shape::Fields(test) = leaf else { return };
        let other = test.right.value(&all);
        for value in [other, other.wrapping_add(1), other.wrapping_sub(1), other ^ 1 << 32, !other]
        {
            let mut data = all;
            data.set_word(test.left.low_word(), value as u32);
            if let Some(high) = test.left.high_word() {
                data.set_word(high, (value >> 32) as u32);
            }
            visit(data);
        }
    });
    visit(all);
}
