//! Measures one guest.

use callgate::SeccompData;
use callgate_codegen::{Count, Weights};

use super::answers::Answers;
use super::boot::{LIMITS, boot};
use super::experiments::Experiment;
use super::guests::Guest;
use super::options::Options;
use super::plan::{Line, Plan};
use super::prepare::Ready;
use super::programs;
use super::published;
use super::verdicts::{self, Tally};
use super::weighted::{Overhead, WeighedLines, Weighted};
use callgate_tasks::Result;
use callgate_tasks::files::write;

/// The guest has two copies of its initial file system while it boots, in half of its 512 MB.
const MAX_INITRD: usize = 120 << 20;

/// The results of one guest.
pub(super) struct Results {
    pub(super) experiments: Vec<Experiment>,
    /// The names and sizes of the programs with weighted costs.
    pub(super) weighed: Vec<(String, usize)>,
    pub(super) modes: Vec<Mode>,
    /// The number of boots for figures, of figures per boot, and of figures that differ between boots.
    pub(super) boots: usize,
    pub(super) figures: usize,
    pub(super) unsteady: usize,
}

/// The results with or without the JIT compiler.
pub(super) struct Mode {
    pub(super) jit: bool,
    /// Per experiment and column, guest instructions per syscall.
    pub(super) figures: Vec<Vec<Option<f64>>>,
    /// Per program.
    pub(super) overheads: Vec<Option<Overhead>>,
    pub(super) tally: Tally,
}

/// The lines of the plan in one mode.
struct Lines {
    jit: bool,
    experiments: Vec<Vec<Line>>,
    weighed: WeighedLines,
    asked: Vec<Line>,
}

/// Measures a guest: one boot for the verdicts, and several for the figures, which should be equal.
pub(super) fn measure(
    guest: &Guest,
    ready: &Ready,
    counts: &[Count],
    options: &Options,
    notes: &mut Vec<String>,
    progress: &dyn Fn(&str),
) -> Result<Results> {
    let name = guest.name();
    let (machine, endian) = (guest.machine, guest.machine.arch.endian());
    progress(&format!("{name}: programs and syscalls"));
    let weights = Weights::of(counts.iter().cloned()).map_err(|error| error.to_string())?;
    let filters = options.filters.as_deref();
    let candidates = programs::candidates(guest, &weights, filters, notes)?;
    let depth = options.depth();
    let calls: Result<Vec<Vec<SeccompData>>> =
        candidates.iter().map(|one| verdicts::calls(machine.arch, one, depth)).collect();
    let calls = calls?;
    let questions = verdicts::questions(guest, &candidates, &calls, depth)?;
    let mut experiments = Experiment::all(guest)?;
    experiments.extend(published::experiments(guest)?);
    let weighed = || candidates.iter().zip(&calls).filter(|(one, _)| one.is_weighed);
    let weighted = Weighted::new(machine.arch, counts, weighed());

    let (mut questioning, mut timing) = (Plan::new(endian), Plan::new(endian));
    let mut lines = Vec::new();
    for &jit in guest.modes() {
        questioning.jit(jit);
        timing.jit(jit);
        lines.push(Lines {
            jit,
            asked: questions.iter().map(|one| one.ask(&mut questioning)).collect(),
            experiments: experiments.iter().map(|one| one.plan(&mut timing)).collect(),
            weighed: weighted.plan(&mut timing),
        });
    }

    let path = ready.directory.join(format!("initrd-{}", machine.name));
    let boots = options.boots();
    let start = |plan: &Plan, what: String| {
        progress(&format!("{name}: {what}"));
        let initrd = plan.initrd(&ready.program)?;
        if initrd.len() > MAX_INITRD {
            return Err(format!(
                "programs and syscalls need {} MB, but the guest has {}; give fewer filters",
                initrd.len() >> 20,
                MAX_INITRD >> 20
            ));
        }
        write(&path, initrd)?;
        let said = boot(machine, &ready.kernel.path, &path, LIMITS, progress)?;
        let answers = Answers::read(&said)?;
        check(&answers, guest).map(|()| answers)
    };
    let verdicts = start(&questioning, "verdicts".to_owned())?;
    let figures: Result<Vec<Answers>> =
        (1..=boots).map(|n| start(&timing, format!("figures, boot {n} of {boots}"))).collect();
    let figures = figures?;
    let (first, others) = figures.split_first().ok_or("no boot")?;
    let differences = others.iter().map(|other| first.differences(other));
    let (figures, unsteady) = differences.max_by_key(|(_, differ)| *differ).unwrap_or((0, 0));

    let mut modes = Vec::new();
    for lines in &lines {
        let mut tally = Tally::default();
        for (questions, line) in questions.iter().zip(&lines.asked) {
            questions.count(*line, &verdicts, &mut tally)?;
        }
        modes.push(Mode {
            jit: lines.jit,
            figures: experiments
                .iter()
                .zip(&lines.experiments)
                .map(|(experiment, lines)| experiment.figures(lines, first))
                .collect(),
            overheads: weighted.overheads(&lines.weighed, first),
            tally,
        });
    }
    let weighed = weighed().map(|(one, _)| (one.name.clone(), one.program.len())).collect();
    Ok(Results { experiments, weighed, modes, boots, figures, unsteady })
}

/// Checks that the guest executed the plan.
pub(super) fn check(answers: &Answers, guest: &Guest) -> Result<()> {
    if let Some(error) = answers.errors.first() {
        return Err(format!("{error} ({} errors in total)", answers.errors.len()));
    }
    let as_told = |(wanted, is): &(u32, Option<u32>)| *is == guest.has_jit.then_some(*wanted);
    match answers.jit.iter().find(|one| !as_told(one)) {
        Some((wanted, is)) => {
            let is = is.map_or("not there".to_owned(), |is| is.to_string());
            Err(format!("net.core.bpf_jit_enable was set to {wanted} and is {is}"))
        }
        None => Ok(()),
    }
}
