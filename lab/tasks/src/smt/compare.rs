//! One comparison: the answers of the MTBDD and of each solver, and a run of the model in the interpreter.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use callgate::{Endian, SeccompData, Verdict, compile};
use callgate_core::diagram::{Func, Store};
use callgate_core::template::Variable;
use callgate_smt::{Filter, GET_VALUE, Side, script};

use super::solver::{Answer, Model, Running, Solver};
use super::subject::{BUDGET, Source};
use callgate_tasks::Result;
use callgate_tasks::files;

/// Two stacks of filters, the oldest first.
pub(crate) struct Comparison<'a> {
    pub(crate) name: String,
    pub(crate) endian: Endian,
    pub(crate) a: Vec<&'a Source>,
    pub(crate) b: Vec<&'a Source>,
    /// Whether they may differ. Not every broken instruction has an effect.
    pub(crate) broken: bool,
}

impl Comparison<'_> {
    fn variables(&self) -> Vec<Variable> {
        let sources = self.a.iter().chain(&self.b);
        let of = |source: &Source| match source {
            Source::Template(template) => Some(template.variables().to_vec()),
            _ => None,
        };
        sources.copied().find_map(of).unwrap_or_default()
    }
}

/// The results of all comparisons.
pub(crate) struct Tally<'a> {
    solvers: &'a [Solver],
    directory: &'a Path,
    limit: Duration,
    equivalent: u64,
    different: u64,
    unharmed: u64,
    refused: Vec<String>,
    unanswered: Vec<String>,
    wrong: Vec<String>,
}

impl<'a> Tally<'a> {
    pub(crate) fn new(solvers: &'a [Solver], directory: &'a Path, limit: Duration) -> Tally<'a> {
        Tally {
            solvers,
            directory,
            limit,
            equivalent: 0,
            different: 0,
            unharmed: 0,
            refused: Vec::new(),
            unanswered: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Counts a filter that cannot be compiled.
    pub(crate) fn refused(&mut self, name: &str, why: &str) {
        self.refused.push(format!("{name}: {why}"));
    }

    /// Compares by the MTBDD and with each solver.
    pub(crate) fn ask(&mut self, comparison: &Comparison<'_>) -> Result<()> {
        let name = &comparison.name;
        let same = match same(comparison) {
            Ok(same) => same,
            // A broken program may be too complex although the original is not.
            Err(error) => {
                self.refused(name, &error);
                return Ok(());
            }
        };
        let path = self.write(comparison)?;
        let running: Vec<Running> = self
            .solvers
            .iter()
            .map(|solver| solver.start(&path, self.limit))
            .collect::<Result<_>>()?;
        for (solver, running) in self.solvers.iter().zip(running) {
            let problem = match running.finish() {
                Ok(Answer::Unsat) if same => continue,
                Ok(Answer::Unsat) => "says unsat, the diagrams differ".to_owned(),
                Ok(Answer::Sat(model)) => match refuted(comparison, &model, same) {
                    None => continue,
                    Some(problem) => problem,
                },
                Ok(Answer::None) => {
                    self.unanswered.push(format!("{name} ({})", solver.version));
                    continue;
                }
                Err(error) => error,
            };
            self.wrong.push(format!("{name}: {}: {problem}", solver.version));
        }
        match (same, comparison.broken) {
            (true, false) => self.equivalent += 1,
            (true, true) => self.unharmed += 1,
            (false, true) => self.different += 1,
            (false, false) => self.wrong.push(format!("{name}: the diagrams differ")),
        }
        Ok(())
    }

    /// Writes the script as users get it, with the command that prints the model.
    fn write(&self, comparison: &Comparison<'_>) -> Result<std::path::PathBuf> {
        let a = Side { name: &comparison.name, filters: filters(&comparison.a) };
        let b = Side { name: "the other side", filters: filters(&comparison.b) };
        let text = script(comparison.endian, &a, &b, &[]).map_err(|error| error.to_string())?;
        let asks = GET_VALUE.trim_start_matches(';');
        let path = self.directory.join("script.smt2");
        files::write(&path, text.replace(GET_VALUE, asks))?;
        Ok(path)
    }

    /// Prints what was not compared, and returns the result of the task.
    pub(crate) fn finish(self) -> Result<()> {
        for refused in &self.refused {
            println!("not compared: {refused}");
        }
        for unanswered in &self.unanswered {
            println!("no answer in {} s: {unanswered}", self.limit.as_secs());
        }
        if self.different == 0 {
            return Err("no broken program was detected, so the check is ineffective".to_owned());
        }
        match self.wrong.as_slice() {
            [] => Ok(()),
            wrong => Err(format!("{} wrong answers:\n{}", wrong.len(), wrong.join("\n"))),
        }
    }
}

impl fmt::Display for Tally<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} comparisons equivalent, {} broken ones different with a model that shows it, {} broken ones \
             equivalent all the same, {} without an answer of a solver, {} not compared, {} wrong",
            self.equivalent,
            self.different,
            self.unharmed,
            self.unanswered.len(),
            self.refused.len(),
            self.wrong.len()
        )
    }
}

fn filters<'a>(sources: &[&'a Source]) -> Vec<Filter<'a>> {
    let filter = |source: &&'a Source| match source {
        Source::Policy(policy) => Filter::Policy(policy),
        Source::Program(program) => Filter::Program(program),
        Source::Template(template) => Filter::Template(template),
    };
    sources.iter().map(filter).collect()
}

/// The answer of `callgate diff`.
fn same(comparison: &Comparison<'_>) -> Result<bool> {
    let mut store = Store::with_variables(BUDGET, comparison.variables());
    let a = diagram(&mut store, &comparison.a, comparison.endian)?;
    let b = diagram(&mut store, &comparison.b, comparison.endian)?;
    Ok(a == b)
}

fn diagram(store: &mut Store, sources: &[&Source], endian: Endian) -> Result<Func> {
    let one = |store: &mut Store, source: &Source| match source {
        Source::Policy(policy) => compile::diagram(store, policy),
        Source::Program(program) => Ok(store.program(program, endian)?),
        Source::Template(template) => Ok(store.template(template, endian)?),
    };
    let all = match sources {
        [source] => one(store, source),
        _ => store.stacked(sources.iter().copied(), one),
    };
    all.map_err(|error| error.to_string())
}

/// Why a model is wrong, if it is.
fn refuted(comparison: &Comparison<'_>, model: &Model, same: bool) -> Option<String> {
    let returned =
        [&comparison.a, &comparison.b].map(|side| run(side, &model.data, comparison.endian));
    if same {
        Some(format!(
            "says sat, the diagrams are the same node; {:x?} gives {returned:x?}",
            model.data
        ))
    } else if returned != model.verdicts {
        let verdicts = model.verdicts;
        Some(format!("{:x?} gives {returned:x?}, not {verdicts:x?}", model.data))
    } else if returned[0] == returned[1] {
        Some(format!("{:x?} shows no difference: {returned:x?}", model.data))
    } else {
        None
    }
}

/// The verdict of a stack for a syscall, by evaluating policies and interpreting programs.
fn run(sources: &[&Source], data: &SeccompData, endian: Endian) -> u32 {
    let one = |source: &Source| match source {
        Source::Policy(policy) => policy.evaluate(data),
        Source::Program(program) => program.run(data, endian).verdict,
        // The values of variables are not part of a model, as if they were 0.
        Source::Template(template) => template.program().run(data, endian).verdict,
    };
    if let [source] = sources {
        return one(source).0;
    }
    let turn = |kept: Verdict, next: Verdict| {
        if next.precedence() > kept.precedence() { next } else { kept }
    };
    sources.iter().rev().map(|source| one(source)).fold(Verdict::ALLOW, turn).0
}
