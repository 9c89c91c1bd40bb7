//! A report as an HTML page, and as sections of other pages.

use callgate_html::{Markup, Page, Section as PageSection, Warning};

use crate::chart::{bars, boxes};
use crate::report::{Aggregate, Report, Row, Section};
use crate::stats::Interval;

/// In place of the overhead of a denied syscall.
pub const DENIED: &str = "denied: the kernel skips it";

/// The page, with the warnings that were printed before.
pub fn page(report: &Report, printed: &[Warning]) -> String {
    let warnings = warnings(report.noisy.as_deref(), report.interrupted, printed);
    let (title, facts) = (report.title.clone(), report.setting.clone());
    Page { title, facts, warnings, sections: sections(report) }.html()
}

/// The comparisons and the sections of a report.
pub fn sections(report: &Report) -> Vec<PageSection> {
    let aggregates = (!report.aggregates.is_empty()).then(|| {
        PageSection::new("aggregates", "Change of the mean overhead", |body| {
            let titles = [
                "subject",
                "instead of",
                "overhead over",
                "change",
                "95 %",
                "executed",
                "uncached",
            ];
            body.table("", &titles, |table| {
                report.aggregates.iter().for_each(|one| row(table, &of_aggregate(one)));
            });
        })
    });
    let sections = report.sections.iter().enumerate();
    let measured = sections.map(|(at, section)| {
        PageSection::new(format!("measured-{at}"), section.title.as_str(), |body| {
            body.append(&figures(section));
        })
    });
    aggregates.into_iter().chain(measured).collect()
}

/// The charts and the table of a section.
pub fn figures(section: &Section) -> Markup {
    const TITLES: [&str; 9] = [
        "subject",
        "filters",
        "instructions",
        "executed",
        "call",
        "minimum ns",
        "median ns",
        "overhead ns",
        "95 %",
    ];
    Markup::of(|body| {
        body.append(&bars(section));
        body.append(&boxes(section));
        body.table("", &TITLES, |table| {
            section
                .rows
                .iter()
                .enumerate()
                .for_each(|(at, own)| row(table, &of_row(own, section.noise, at == 0)));
        });
        let noise = section.noise;
        let noise = format!(
            "Noise: two identical children without filter differ by {:.2} ns ({}).",
            noise.median,
            noise.bounds(2, "…")
        );
        body.paragraph(&noise);
        if section.rows.iter().any(Row::is_denied) {
            let why = "The kernel does not execute a denied call, so the difference from no filter is not the cost of the \
                       filter: compare the times of denied calls only with each other.";
            body.paragraph(why);
        }
    })
}

/// Warnings about the figures, and those that were printed.
pub fn warnings(noisy: Option<&str>, is_interrupted: bool, printed: &[Warning]) -> Vec<Warning> {
    let noisy = noisy.map(|why| format!("Too noisy: {why}."));
    let interrupted =
        is_interrupted.then(|| "Stopped early: the figures are from fewer rounds.".to_owned());
    let own = noisy.into_iter().chain(interrupted).map(|message| Warning {
        place: String::new(),
        message,
        help: String::new(),
    });
    own.chain(printed.iter().cloned()).collect()
}

/// A row of a table.
pub fn row(table: &mut Markup, cells: &[String]) {
    table.element("tr", &[], |tr| cells.iter().for_each(|cell| tr.leaf("td", &[], cell)));
}

fn of_aggregate(one: &Aggregate) -> [String; 7] {
    let percent = |share: f64| format!("{:+.1} %", share * 100.0);
    let change = one.change.map_or("not resolved".to_owned(), |change| percent(change.median));
    let range = one.change.map_or(String::new(), |change| {
        format!("{} … {}", percent(change.low), percent(change.high))
    });
    [
        one.after.clone(),
        one.before.clone(),
        one.base.clone(),
        change,
        range,
        one.executed.map_or(String::new(), percent),
        one.executed_uncached.map_or(String::new(), percent),
    ]
}

fn of_row(row: &Row, noise: Interval, is_first: bool) -> [String; 9] {
    let estimate = &row.estimate;
    let over = estimate.overhead;
    let (overhead, interval) = match (is_first, row.is_denied()) {
        (true, _) => (String::new(), String::new()),
        (false, true) => (DENIED.to_owned(), String::new()),
        (false, false) => {
            let bounds = over.bounds(1, "…");
            let interval = match over.remark(noise) {
                "" => bounds,
                remark => format!("{bounds}, {remark}"),
            };
            (format!("{:.1}", over.median), interval)
        }
    };
    [
        row.name.clone(),
        row.filters.to_string(),
        row.insns.to_string(),
        row.executed.map_or(String::new(), |executed| format!("{:.1}", executed.cached)),
        row.treatment.map_or("", |treatment| treatment.name()).to_owned(),
        format!("{:.1}", estimate.minimum),
        format!("{:.1}", estimate.median),
        overhead,
        interval,
    ]
}
