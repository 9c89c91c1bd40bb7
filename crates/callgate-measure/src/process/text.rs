//! The share as text for a terminal.

use std::fmt::Write;

use callgate_bpf::printable::visible;

use super::share::{CallShare, Share};
use crate::stats::Interval;
use crate::text::{HEADING, NAME, between, shortened};

/// How many syscalls are in the table.
const MOST_ROWS: usize = 15;

/// The shares, and a table of the syscalls for which the filters take most. Headings are styled, as those of
/// [`text`](crate::text::text()).
pub fn text(title: &str, setting: &[(&'static str, String)], share: &Share) -> String {
    let mut text = format!("{HEADING}{}{HEADING:#}\n", visible(title));
    for (label, value) in setting {
        let _ = writeln!(text, "  {label:<12}{}", visible(value));
    }
    let remark = match share.remark() {
        "" => String::new(),
        remark => format!(", {remark}"),
    };
    let _ =
        writeln!(text, "\n{HEADING}{:<46}{:>10}  95 % interval{HEADING:#}", "the filters take", "");
    for (what, of) in [
        ("of the CPU time of the process", share.of_cpu_time),
        ("of the time of one processor", share.of_processor),
    ] {
        let _ =
            writeln!(text, "  {what:<44}{:>8.2} %  {}{remark}", percent(of).median, percents(of));
    }
    let cost = share.per_call;
    let what = "for each syscall, on average";
    let _ = writeln!(text, "  {what:<44}{:>7.1} ns  {}{remark}", cost.median, between(cost));
    let empty = share.of_cpu_time_if_empty;
    let what = "an empty filter would take of the CPU time";
    let _ = writeln!(text, "  {what:<44}{:>8.2} %  {}", percent(empty).median, percents(empty));
    text.push_str(&table(share));
    if share.unmeasured > 0 {
        let _ = writeln!(
            text,
            "\n{:.1} % of the syscalls are not in the shares: no syscall that can be measured takes their path",
            share.unmeasured as f64 / share.count.max(1) as f64 * 100.0
        );
    }
    text
}

fn table(share: &Share) -> String {
    let mut calls: Vec<&CallShare> = share.calls.iter().filter(|call| call.count > 0).collect();
    let key = |call: &CallShare| (call.of_cpu_time.unwrap_or(-1.0), call.count as f64);
    calls.sort_by(|a, b| {
        let (a, b) = (key(a), key(b));
        b.0.total_cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    let others = calls.split_off(calls.len().min(MOST_ROWS));
    let mut text = format!(
        "\n{HEADING}{:<NAME$} {:>10}{:>8}{:>14}{:>9}{:>10}  measured as{HEADING:#}\n",
        "syscall", "per second", "%", "instructions", "ns", "% of CPU"
    );
    let seconds = share.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut row =
        |name: &str, count: u64, path: &str, cost: &str, own: Option<f64>, as_what: &str| {
            let part = count as f64 / share.count.max(1) as f64 * 100.0;
            let own = own.map_or("-".to_owned(), |own| format!("{:.2}", own * 100.0));
            let line = format!(
                "{:<NAME$} {:>10.0}{part:>8.1}{path:>14}{cost:>9}{own:>10}  {as_what}",
                shortened(name),
                count as f64 / seconds,
            );
            text += line.trim_end();
            text.push('\n');
        };
    for call in calls {
        let cost = call.cost.map_or("-".to_owned(), |cost| format!("{:.1}", cost.median));
        row(&call.name, call.count, &path(call), &cost, call.of_cpu_time, &how(call));
    }
    if !others.is_empty() {
        let name = format!("{} others", others.len());
        let count = others.iter().map(|call| call.count).sum();
        let own = others.iter().filter_map(|call| call.of_cpu_time).sum();
        row(&name, count, "", "", Some(own), "");
    }
    text
}

/// How many instructions are executed.
fn path(call: &CallShare) -> String {
    let (least, most) = call.path.executed;
    match (call.path.is_cached, least == most) {
        (true, _) => "cached".to_owned(),
        (false, true) => least.to_string(),
        (false, false) => format!("{least}-{most}"),
    }
}

/// What was measured in its place, and what is not certain.
fn how(call: &CallShare) -> String {
    let measured = match call.measured.as_slice() {
        [] => "not measured".to_owned(),
        names => names.join(", "),
    };
    let denied = match call.path.is_denied {
        (_, true) => "; denied",
        (true, false) => "; denied with some arguments",
        (false, false) => "",
    };
    let uncertain = if call.path.is_uncertain { "; not all arguments are known" } else { "" };
    format!("{}{denied}{uncertain}", visible(&measured))
}

fn percent(share: Interval) -> Interval {
    share.scaled(100.0)
}

fn percents(share: Interval) -> String {
    percent(share).bounds(2, "..")
}
