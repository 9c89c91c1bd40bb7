//! Compiles the policies with every plan, and proves each program both ways.

use callgate::compile::{Options, compile};
use callgate_codegen::{Aim, Model};
use callgate_core::diagram::Budget;
use callgate_core::policy::Policy;
use callgate_core::{Cases, Insn, Meaning, Op, Program};
use callgate_tasks::Result;
use callgate_testing::random::Rng;

use super::corpus;

pub(crate) const HELP: &str = "\
usage: cargo xtask proofs [--policies N] [--seed N]

Compiles the built-in profiles and random policies with every aim and cost model, and
proves each program by diagrams and by cases. Does the same with programs in which an
instruction was changed. Fails if one proof accepts a program that the other refutes,
or if more than 1 % of the programs have one proof only, of those policies that both
proofs can state.

  --policies N   the number of random policies of each kind (default 150)
  --seed N       the seed, 0 to 255 (default 1)
";

/// Of the programs of policies that both proofs can state, all but one in this many must have both proofs.
const ONE_PROOF_ONLY: usize = 100;

/// What the two proofs said.
#[derive(Debug, Default)]
struct Count {
    /// Programs with both proofs.
    both: usize,
    /// Programs that have only the proof by diagrams.
    only_diagrams: usize,
    /// Programs that have only the proof by cases: the diagram exceeded its budget.
    only_cases: usize,
    /// Programs whose policy cannot be stated as cases.
    not_stated: usize,
    /// Changed programs that both proofs refuse.
    refused: usize,
    /// Changed programs that compute the same: proved by diagrams, not by cases.
    equal_by_diagrams: usize,
    /// Changed programs that compute the same: proved by cases, not by diagrams.
    equal_by_cases: usize,
    /// Changed programs that compute the same: proved both ways.
    equal_both: usize,
}

/// Proves all programs both ways.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (policies, seed) = parse(arguments)?;
    let built_in = corpus::built_in()?;
    let random = corpus::random(seed, policies);
    let mut rng = Rng::new(u64::from(seed));
    let mut total = Count::default();
    for policy in built_in.iter().chain(&random) {
        check(policy, &mut rng, &mut total)?;
    }
    println!("{} built-in and {} random policies, seed {seed}", built_in.len(), random.len());
    println!("{:>7} programs proved by diagrams and by cases", total.both);
    println!("{:>7} proved by diagrams only", total.only_diagrams);
    println!("{:>7} proved by cases only", total.only_cases);
    println!("{:>7} of policies that cannot be stated as cases", total.not_stated);
    println!("{:>7} changed programs refused by both", total.refused);
    println!(
        "{:>7} changed programs that compute the same, {} of them proved by diagrams only, {} by cases only",
        total.equal_both + total.equal_by_diagrams + total.equal_by_cases,
        total.equal_by_diagrams,
        total.equal_by_cases
    );
    let one_only = total.only_diagrams + total.only_cases;
    let stated = total.both + one_only;
    println!("{:>6.2}% have one proof only", 100.0 * one_only as f64 / stated.max(1) as f64);
    if total.both == 0 || total.refused == 0 {
        return Err("nothing was compared".to_owned());
    }
    if one_only * ONE_PROOF_ONLY > stated {
        return Err(format!(
            "{one_only} of {stated} programs have one proof only; at most one of {ONE_PROOF_ONLY} may"
        ));
    }
    Ok(())
}

fn parse(arguments: &[String]) -> Result<(usize, u8)> {
    let (mut policies, mut seed) = (150, 1);
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("missing value: {word} …"))?;
        let wrong = |_| format!("{word} takes a number, not {value:?}");
        match word.as_str() {
            "--policies" => policies = value.parse().map_err(wrong)?,
            "--seed" => seed = value.parse().map_err(wrong)?,
            _ => return Err(format!("unknown option {word:?}; try --help")),
        }
    }
    Ok((policies, seed))
}

/// Compiles a policy with every plan, and proves the programs and a changed one of each.
fn check(policy: &Policy, rng: &mut Rng, count: &mut Count) -> Result<()> {
    let cases = Cases::of_policy(policy);
    let mut meaning = Meaning::of_policy(policy, Budget::default()).ok();
    let mut seen: Vec<Program> = Vec::new();
    for (aim, model) in plans() {
        let options = Options { aim, model, expected_insns: false, ..Options::default() };
        // A policy may need more instructions or nodes than there may be; then there is no program to prove.
        let Ok(compiled) = compile(policy, &options) else { continue };
        let program = compiled.program.into_program();
        if seen.contains(&program) {
            continue;
        }
        let verdict = prove(policy, &program, cases.as_ref(), meaning.as_mut())?;
        match (verdict, &cases) {
            (_, None) => count.not_stated += 1,
            (Verdict::Both, _) => count.both += 1,
            (Verdict::Diagrams, _) => count.only_diagrams += 1,
            (Verdict::Cases, _) => count.only_cases += 1,
            (Verdict::Neither, _) => {
                return Err(format!("a compiled program has no proof now: {policy:?}"));
            }
        }
        if let Some(changed) = changed(&program, rng) {
            match prove(policy, &changed, cases.as_ref(), meaning.as_mut())? {
                Verdict::Neither => count.refused += 1,
                Verdict::Both => count.equal_both += 1,
                Verdict::Diagrams => count.equal_by_diagrams += 1,
                Verdict::Cases => count.equal_by_cases += 1,
            }
        }
        seen.push(program);
    }
    Ok(())
}

/// All aims and cost models.
pub(crate) fn plans() -> impl Iterator<Item = (Aim, Model)> {
    let aims = [Aim::Speed, Aim::Size, Aim::Quick];
    aims.into_iter().flat_map(|aim| Model::ALL.iter().map(move |model| (aim, *model)))
}

/// Which proofs accept a program.
enum Verdict {
    Both,
    Diagrams,
    Cases,
    Neither,
}

/// Proves a program both ways.
///
/// # Errors
/// If the proof by cases accepts a program that the diagram refutes.
fn prove(
    policy: &Policy,
    program: &Program,
    cases: Option<&Cases>,
    meaning: Option<&mut Meaning>,
) -> Result<Verdict> {
    let by_cases = cases.is_some_and(|cases| cases.proves(program));
    let by_diagrams = meaning.map(|meaning| meaning.prove(program));
    Ok(match (by_cases, by_diagrams) {
        (true, Some(Ok(_))) => Verdict::Both,
        (false, Some(Ok(_))) => Verdict::Diagrams,
        (true, Some(Err(refused))) if refused.witness().is_some() => {
            return Err(format!(
                "the proof by cases accepts what the diagram refutes: {refused}\n{policy:?}\n{:?}",
                program.insns()
            ));
        }
        (true, _) => Verdict::Cases,
        (false, _) => Verdict::Neither,
    })
}

/// The program with one instruction changed, if the kernel accepts it.
pub(crate) fn changed(program: &Program, rng: &mut Rng) -> Option<Program> {
    let mut insns = program.insns().to_vec();
    let at = rng.below(insns.len());
    let insn: &mut Insn = insns.get_mut(at)?;
    match rng.below(4) {
        0 => insn.k ^= 1 << rng.below(32),
        1 => insn.k = insn.k.wrapping_add(1),
        2 if insn.op.is_branch() => (insn.jt, insn.jf) = (insn.jf, insn.jt),
        _ if insn.op.is_branch() => insn.op = rng.pick(&[Op::JsetK, Op::JgtK, Op::JgeK])?,
        _ => insn.k = 0,
    }
    Program::new(insns).ok().filter(|changed| changed != program)
}
