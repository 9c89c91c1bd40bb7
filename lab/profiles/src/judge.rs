//! Compares Callgate's program with the evaluator, for syscalls near a profile's constants.

use callgate::Arch;
use callgate::compile::{self, compile};
use callgate_bpf::diagnostic::Severity;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::RawInsn;
use callgate_core::policy::Policy;
use callgate_formats::{CapSet, oci};

use crate::bpf::{self, Insn};
use crate::generate::Case;
use crate::json::Json;
use crate::machine::{Machine, X32_BIT};
use crate::rng::{OneOf, Rng};
use crate::runtime::{Call, Dialect, Filter, Host, Runc, read};

/// The approximate number of syscalls per profile.
const CALLS: usize = 200;

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// No difference.
    Same {
        /// The number of syscalls.
        calls: usize,
    },
    /// Both refuse the profile.
    BothRefuse,
    /// Callgate refuses the profile and the runtime accepts it, which is permitted for this reason.
    RefusedInDoubt(&'static str),
    /// The evaluator cannot predict whether libseccomp refuses the profile ([`crate::tree`]).
    Undecided,
    /// A difference.
    Differs(Difference),
}

/// A difference.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// The runtime would refuse the profile, for this reason; Callgate compiles it.
    OnlyRuntimeRefuses(String),
    /// Callgate refuses the profile, with this message; the runtime would accept it.
    OnlyCallgateRefuses(String),
    /// A verdict.
    Verdict {
        /// The syscall.
        call: Call,
        /// The verdict of the evaluator.
        expected: u32,
        /// The verdict of the program.
        got: Result<u32, String>,
    },
}

impl Difference {
    /// Whether two differences are of the same kind, which shrinking must preserve.
    pub fn is_like(&self, other: &Difference) -> bool {
        self.kind() == other.kind()
    }

    /// The kind of the difference: the message without names and numbers.
    pub fn kind(&self) -> String {
        let shape = |text: &str| {
            let line = text.lines().next().unwrap_or_default();
            let plain = line.split(['`', '"']).step_by(2).collect::<Vec<_>>().join("_");
            plain
                .chars()
                .filter(|c| !c.is_ascii_digit() && !c.is_ascii_uppercase())
                .collect::<String>()
        };
        match self {
            Difference::OnlyRuntimeRefuses(why) => {
                format!("only the evaluator refuses: {}", shape(why))
            }
            Difference::OnlyCallgateRefuses(why) => {
                format!("only callgate refuses: {}", shape(why))
            }
            Difference::Verdict { .. } => "a verdict".to_owned(),
        }
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Difference::OnlyRuntimeRefuses(why) => write!(f, "only the evaluator refuses: {why}"),
            Difference::OnlyCallgateRefuses(why) => write!(f, "only callgate refuses: {why}"),
            Difference::Verdict { call, expected, got } => {
                let Call { token, nr, ip, args } = call;
                write!(
                    f,
                    "arch {token:#010x}, number {nr} ({nr:#x}), instruction pointer {ip:#x}, arguments"
                )?;
                for arg in args {
                    write!(f, " {arg:#x}")?;
                }
                write!(f, ": {expected:#010x} expected, ")?;
                match got {
                    Ok(got) => write!(f, "{got:#010x} compiled"),
                    Err(why) => write!(f, "but the program fails: {why}"),
                }
            }
        }
    }
}

/// Callgate's name of a machine.
pub fn arch(machine: Machine) -> Option<Arch> {
    Arch::ALL.iter().copied().find(|arch| arch.name() == machine.name())
}

/// Reads a profile with Callgate.
///
/// # Errors
/// Callgate's messages.
pub fn policy(text: &str, host: &Host) -> Result<Policy, String> {
    let native = arch(host.native).ok_or("callgate does not know the architecture")?;
    let dialect = oci::Dialect::from_name(host.dialect.name());
    let (major, minor) = host.kernel;
    let caps: CapSet = match host.caps.is_empty() {
        true => CapSet::none(),
        false => host.caps.join(",").parse().map_err(|error| format!("{error}"))?,
    };
    let version = KernelVersion { major, minor };
    let is_runc = matches!(host.dialect, Dialect::Docker | Dialect::Runc);
    let enosys_above = (is_runc && host.runc == Runc::Listed).then_some(oci::EnosysAbove::Runc1_1);
    let defaults = oci::ReadOptions::new(native, version);
    let options = oci::ReadOptions { dialect, caps, enosys_above, ..defaults };
    let profile = oci::read(text, &options).map_err(|messages| {
        let errors = messages.iter().filter(|message| message.severity == Severity::Error);
        errors.map(ToString::to_string).collect::<Vec<_>>().join("\n")
    })?;
    Ok(profile.policy)
}

/// Compiles a profile with Callgate.
///
/// # Errors
/// Callgate's messages.
pub fn compiled(text: &str, host: &Host) -> Result<Vec<Insn>, String> {
    let policy = policy(text, host)?;
    let compiled = compile(&policy, &compile::Options::default());
    let program = compiled.map_err(|error| format!("not compiled: {error}"))?.program;
    let insn = |raw: RawInsn| Insn { code: raw.code, jt: raw.jt, jf: raw.jf, k: raw.k };
    Ok(program.to_raw().into_iter().map(insn).collect())
}

/// Compares one profile.
pub fn judge(case: &Case) -> Judgement {
    judge_program(case, compiled(&case.profile.to_string(), &case.host))
}

/// Compares the program of a profile, or why Callgate refused it.
pub fn judge_program(case: &Case, compiled: Result<Vec<Insn>, String>) -> Judgement {
    let meaning = read(&case.profile.to_string(), &case.host);
    let is_certain = meaning.is_certain();
    let filter = match (meaning.outcome, compiled) {
        (Err(_), Err(_)) => return Judgement::BothRefuse,
        (Err(_), Ok(_)) | (Ok(_), Err(_)) if !is_certain => return Judgement::Undecided,
        (Err(refusal), Ok(_)) => {
            return Judgement::Differs(Difference::OnlyRuntimeRefuses(refusal.why));
        }
        (Ok(_), Err(why)) => {
            return match meaning.doubt {
                Some(doubt) => Judgement::RefusedInDoubt(doubt),
                None => Judgement::Differs(Difference::OnlyCallgateRefuses(why)),
            };
        }
        (Ok(filter), Ok(program)) => (filter, program),
    };
    let (filter, program) = filter;
    let calls = calls(case, filter.as_ref());
    for call in &calls {
        let expected = filter.as_ref().map_or(ALLOW, |filter| filter.verdict(call));
        let got = bpf::run(&program, call, case.host.native);
        let is_right = |got| filter.as_ref().is_some_and(|filter| filter.allows(call, got));
        if got != Ok(expected) && !got.as_ref().is_ok_and(|got| is_right(*got)) {
            return Judgement::Differs(Difference::Verdict { call: *call, expected, got });
        }
    }
    Judgement::Same { calls: calls.len() }
}

const ALLOW: u32 = 0x7fff_0000;

/// Syscalls near the constants of the profile: each number and its neighbours, numbers at the ends of tables,
/// architectures that are not in the filter; arguments equal to constants and next to them, with other high halves.
pub fn calls(case: &Case, filter: Option<&Filter>) -> Vec<Call> {
    let machines: Vec<Machine> = match filter {
        Some(filter) => filter.machines().collect(),
        None => vec![case.host.native],
    };
    let (mut names, mut numbers) = (Vec::new(), vec![0, 1, u64::MAX]);
    constants(&case.profile, &mut names, &mut numbers);
    let mut places: Vec<(u32, u32)> = Vec::new();
    for machine in &machines {
        let token = machine.token();
        for name in &names {
            let direct = machine.number(name);
            let multiplexed = machine.multiplexed(name);
            if let Some(multiplexed) = multiplexed {
                numbers.push(multiplexed.call);
            }
            for nr in direct.into_iter().chain(multiplexed.map(|call| call.number)) {
                // The syscall itself is more frequent than its neighbours.
                places.extend([(token, nr); 6]);
                places.extend([nr.wrapping_sub(1), nr + 1, nr ^ X32_BIT].map(|nr| (token, nr)));
            }
        }
        let borders = [0, u32::MAX, X32_BIT, X32_BIT - 1, 0x7fff_ffff, 0x8000_0000, 6, 999];
        places.extend(borders.map(|nr| (token, nr)));
    }
    for token in [0xdead_beef, 0, Machine::X86_64.token(), Machine::S390x.token()] {
        places.push((token, places.first().map_or(0, |place| place.1)));
    }
    numbers.sort_unstable();
    numbers.dedup();
    let mut rng =
        Rng::new(numbers.iter().fold(places.len() as u64, |seed, n| seed.rotate_left(7) ^ n));
    let count = CALLS.max(places.len());
    (0..count)
        .map(|i| {
            let (token, nr) = places[i % places.len()];
            let mut args = [0; 6];
            let base = value(&mut rng, &numbers);
            for arg in &mut args {
                *arg = if rng.one_in(3) { base } else { value(&mut rng, &numbers) };
            }
            Call { token, nr, ip: rng.next(), args }
        })
        .collect()
}

fn value(rng: &mut Rng, numbers: &[u64]) -> u64 {
    let number = rng.one_of(numbers);
    match rng.below(12) {
        0 => number.wrapping_add(1),
        1 => number.wrapping_sub(1),
        2 => number ^ 1 << (32 + rng.below(32)),
        3 => number & 0xffff_ffff,
        4 => number | 0xffff_ffff_0000_0000,
        5 => number | rng.one_of(numbers),
        6 => number & rng.one_of(numbers),
        7 => rng.below(12) as u64,
        _ => number,
    }
}

/// The names and numbers in a profile.
fn constants<'a>(value: &'a Json, names: &mut Vec<&'a str>, numbers: &mut Vec<u64>) {
    match value {
        Json::Number(number) => numbers.push(*number),
        Json::String(text) => names.push(text),
        Json::Array(items) => items.iter().for_each(|item| constants(item, names, numbers)),
        Json::Object(members) => {
            members.iter().for_each(|(_, item)| constants(item, names, numbers));
        }
        _ => {}
    }
}
