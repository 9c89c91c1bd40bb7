//! Filters as sets of syscalls: the functions of their unions and differences.

use crate::{Arch, Verdict, Word, X32_SYSCALL_BIT};

use super::{DiagramError, Func, Split, Store};
use crate::spec::{Denial, SetOperation};

impl Store {
    /// The function of two filters that are combined.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub fn combined(
        &mut self,
        first: Func,
        operation: &SetOperation,
        second: Func,
    ) -> Result<Func, DiagramError> {
        match operation {
            SetOperation::Intersect => self.highest_precedence(first, second),
            SetOperation::Union(arches) => {
                let both = self.choose(first, second, |one, other| {
                    !other.permits() || one.precedence() <= other.precedence()
                })?;
                self.on_arches(arches, both, first)
            }
            SetOperation::Subtract(denial) => {
                let denied = self.denial(denial)?;
                let removed =
                    self.replace_verdicts(second, &|verdict| match verdict.permits() {
                        true => Verdict::KILL_PROCESS,
                        false => Verdict::ALLOW,
                    })?;
                let is_denied = |_, removed| removed == Verdict::KILL_PROCESS;
                let removed = self.choose(denied, removed, is_denied)?;
                self.highest_precedence(first, removed)
            }
        }
    }

    /// The verdicts of a denial.
    fn denial(&mut self, denial: &Denial) -> Result<Func, DiagramError> {
        let mut denied = self.verdict(denial.others)?;
        for (token, verdict) in &denial.by_token {
            let verdict = self.verdict(*verdict)?;
            denied = self.split(Word::ARCH, Split::Equal(*token), verdict, denied)?;
        }
        Ok(denied)
    }

    /// `then` for the syscalls of these architectures, `otherwise` for others: a filter may allow all syscalls of other
    /// architectures, as those of systemd do.
    fn on_arches(
        &mut self,
        arches: &[Arch],
        then: Func,
        otherwise: Func,
    ) -> Result<Func, DiagramError> {
        const NEGATIVE: u32 = 1 << 31;
        let mut result = otherwise;
        for arch in arches {
            let token = arch.token();
            // x86-64 and x32 share a token.
            let of_arch = match arch {
                Arch::X86_64 | Arch::X32 => {
                    let [one, other] = match arch {
                        Arch::X32 => [then, result],
                        _ => [result, then],
                    };
                    let from_x32 = self.split(Word::NR, Split::AtLeast(NEGATIVE), other, one)?;
                    self.split(Word::NR, Split::AtLeast(X32_SYSCALL_BIT), from_x32, other)?
                }
                _ => then,
            };
            result = self.split(Word::ARCH, Split::Equal(token), of_arch, result)?;
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use crate::SeccompData;
    use callgate_bpf::random::Rng;

    use super::*;
    use crate::policy::{Condition, Policy, Rule, Section, SyscallSet};
    use crate::spec::{FilterSpec, SetStep, Spec};
    use crate::{Meaning, diagram::Budget};

    const NUMBERS: [u32; 8] =
        [0, 1, 2, X32_SYSCALL_BIT - 1, X32_SYSCALL_BIT, (1 << 31) - 1, 1 << 31, u32::MAX];
    const ARCHES: [Arch; 4] = [Arch::X86_64, Arch::X32, Arch::X86, Arch::Aarch64];

    fn verdict(rng: &mut Rng) -> Verdict {
        let all = [Verdict::ALLOW, Verdict(0x7fff_0001), Verdict::LOG, Verdict::trap(1)];
        let more = [Verdict::errno(1), Verdict::errno(2), Verdict::KILL_THREAD];
        [&all[..], &more].concat()[rng.below(7)]
    }

    fn filter(rng: &mut Rng) -> FilterSpec {
        let mut sections = Vec::new();
        for arch in &[Arch::X86_64, Arch::X86, Arch::Aarch64] {
            let rules = NUMBERS.iter().filter(|_| rng.below(2) == 0).collect::<Vec<_>>();
            let rules = rules.into_iter().map(|nr| Rule {
                syscalls: SyscallSet::one(*nr),
                when: Condition::always(),
                verdict: verdict(rng),
            });
            let rules = rules.collect();
            sections.push(Section::new(*arch, rules, verdict(rng)));
        }
        FilterSpec::Policy(Policy::new(sections, verdict(rng)).unwrap())
    }

    /// The diagram of a set is its definition, for all tokens and the numbers at which the ABIs of x86-64 meet.
    #[test]
    fn sets_are_those_of_the_definition() {
        let mut rng = Rng::new(11);
        for _ in 0..300 {
            let first = filter(&mut rng);
            let step = |rng: &mut Rng| {
                let some = ARCHES.iter().copied().filter(|_| rng.below(2) == 0).collect();
                let operation = match rng.below(3) {
                    0 => SetOperation::Intersect,
                    1 => SetOperation::Union(some),
                    _ => {
                        let by_token = some.iter().map(|arch| (arch.token(), verdict(rng)));
                        let by_token = by_token.collect();
                        SetOperation::Subtract(Denial { by_token, others: verdict(rng) })
                    }
                };
                SetStep { operation, operand: filter(rng) }
            };
            let steps: Vec<SetStep> = (0..3).map(|_| step(&mut rng)).collect();
            let spec = Spec::Set { first: first.clone(), steps: steps.clone() };
            let meaning = Meaning::of_set(first, steps, Budget::default(), &mut |_| ()).unwrap();
            for arch in ARCHES.map(Arch::token).into_iter().chain([7]) {
                for nr in NUMBERS {
                    let data = SeccompData { nr, arch, ..SeccompData::default() };
                    let of_diagram = meaning.store().evaluate(meaning.func(), &data).unwrap();
                    assert_eq!(Some(of_diagram), spec.run(&data), "{data:x?} {spec:?}");
                }
            }
        }
    }
}
