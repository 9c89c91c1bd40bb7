//! What the filter costs: instructions, by the cost models of kernels, and as measured.

use callgate::compile::{Basis, Execution, SyscallCost};
use callgate_bpf::SyscallTable;
use callgate_core::Arch;

use crate::describe::{counted, grouped};
use crate::markup::Markup;
use crate::page::Section;

/// The cost of the programs of a page.
#[derive(Clone, Copy, Debug)]
pub struct Cost<'a> {
    /// The programs, the compiled one last.
    pub programs: &'a [ProgramCost<'a>],
    /// Where the weights are from; `None` without given weights.
    pub weights: Option<&'a str>,
    /// How to give weights, as a clause, or empty.
    pub how_to_weigh: &'a str,
    /// What was measured, as a fragment of a page.
    pub measured: Option<&'a Markup>,
}

/// The cost of a program.
#[derive(Clone, Copy, Debug)]
pub struct ProgramCost<'a> {
    /// What it is: "as given", "compiled".
    pub name: &'a str,
    /// Its execution under the weights.
    pub execution: &'a Execution,
}

/// The maximum number of syscalls that are listed.
const MAX_SYSCALLS: usize = 20;

/// The section about cost.
pub fn cost(cost: &Cost<'_>) -> Section {
    Section::new("cost", "Cost", |body| {
        body.paragraph(&basis(cost));
        body.table(
            "",
            &[
                "Program",
                "Instructions",
                "Executed, Linux before 5.11",
                "Executed, Linux 5.11 and later",
                "Cached syscalls",
            ],
            |table| {
                cost.programs.iter().for_each(|program| row(table, program));
            },
        );
        body.quiet(
            "Executed: the mean number of instructions per syscall. Linux 5.11 and later caches which syscalls are \
             always allowed and executes nothing for them; Linux before 5.11 executes the filter for each syscall. \
             What an instruction costs depends on the machine.",
        );
        if let (Some(_), Some(program)) = (cost.weights, cost.programs.last()) {
            syscalls(body, program);
        }
        if let Some(measured) = cost.measured {
            body.leaf("h3", &[], "Measured");
            body.append(measured);
        }
    })
}

/// The syscalls over which means are taken, in a sentence.
fn basis(cost: &Cost<'_>) -> String {
    let means =
        cost.programs.last().map(|program| (program.execution.basis, program.execution.mean()));
    let syscalls = match (means, cost.weights) {
        (Some((_, None)), _) => {
            return "The filter allows no syscall, so there are no means.".to_owned();
        }
        (Some((Basis::Permitted, _)), None) => {
            "No syscall of the first architecture is always allowed, so means are over the syscalls that are allowed for \
             some arguments, as if they were equally frequent"
        }
        (Some((Basis::Permitted, _)), Some(weights)) => {
            return format!(
                "No syscall of the filter occurs in {weights}, so means are over the allowed syscalls, as if they were \
                 equally frequent."
            );
        }
        (_, Some(weights)) => {
            return format!("Means are over syscalls as frequent as in {weights}.");
        }
        (_, None) => {
            "Means are over all always-allowed syscalls of the first architecture, as if they were equally frequent"
        }
    };
    match cost.how_to_weigh {
        "" => format!("{syscalls}."),
        how => format!("{syscalls}; {how}."),
    }
}

fn row(table: &mut Markup, program: &ProgramCost<'_>) {
    let number = |mean: Option<f64>| mean.map_or("unknown".to_owned(), |mean| format!("{mean:.2}"));
    table.element("tr", &[], |tr| {
        tr.leaf("th", &[("scope", "row")], program.name);
        tr.leaf("td", &[], &grouped(program.execution.insns.len()));
        tr.leaf("td", &[], &number(program.execution.mean()));
        tr.leaf("td", &[], &number(program.execution.mean_with_cache()));
        tr.leaf("td", &[], &grouped(program.execution.cached));
    });
}

/// The most frequent syscalls.
fn syscalls(body: &mut Markup, program: &ProgramCost<'_>) {
    let all = &program.execution.syscalls;
    body.leaf("h3", &[], "The most frequent syscalls");
    body.table("", &["Syscall", "Share", "Executed instructions", "Cached"], |table| {
        all.iter().take(MAX_SYSCALLS).for_each(|cost| syscall(table, cost));
    });
    if let Some(more @ 1..) = all.len().checked_sub(MAX_SYSCALLS) {
        body.paragraph(&format!("{} are left out.", counted(more, "more syscall")));
    }
}

fn syscall(table: &mut Markup, cost: &SyscallCost) {
    let (token, nr) = (cost.syscall.token, cost.syscall.nr);
    let arch = Arch::of_syscall(token, nr);
    let name = arch.and_then(|arch| arch.syscall_name(nr)).map_or(nr.to_string(), str::to_owned);
    table.element("tr", &[], |tr| {
        tr.element("th", &[("scope", "row")], |th| th.leaf("code", &[], &name));
        tr.leaf("td", &[], &percent(cost.syscall.weight));
        tr.leaf("td", &[], &format!("{:.1}", cost.executed));
        tr.leaf("td", &[], if cost.is_cached() { "yes" } else { "no" });
    });
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        few if few < 0.01 => "< 0.01 %".to_owned(),
        few if few < 10.0 => format!("{few:.2} %"),
        many => format!("{many:.0} %"),
    }
}
