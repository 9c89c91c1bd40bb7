//! The syscalls, experiments and workloads that can be measured.

use callgate_measure::MeasurableSyscall;
use callgate_measure::experiment::Experiment;
use callgate_measure::workload::Workload;

use crate::options::Format;
use crate::output;
use crate::report::Result;
use callgate_requests::json::Json;

pub(super) fn print_syscalls(format: Format) -> Result<u8> {
    let all: Vec<MeasurableSyscall> = MeasurableSyscall::all().collect();
    let rows = all.iter().map(|call| (call.show(), call.effect.to_owned()));
    print(format, 38, ["call", "effect"], rows)
}

/// The experiments with their approximate durations in seconds.
pub(super) fn print_experiments(format: Format) -> Result<u8> {
    let all = Experiment::ALL.iter();
    let text = match format {
        Format::Text => {
            let line = |one: &Experiment| {
                let [full, quick] = [false, true].map(|quick| one.duration(quick).as_secs());
                let (name, about) = (one.name(), one.about());
                format!("{name:<20}{about}: {full} s, --quick {quick} s\n")
            };
            all.map(line).collect()
        }
        Format::Json => {
            let object = |one: &Experiment| {
                Json::Object(vec![
                    ("name", one.name().into()),
                    ("about", one.about().into()),
                    ("seconds", one.duration(false).as_secs().into()),
                    ("quick_seconds", one.duration(true).as_secs().into()),
                ])
            };
            format!("{}\n", Json::array(all.map(object)))
        }
    };
    output::print(&text)?;
    Ok(0)
}

pub(super) fn print_workloads(format: Format) -> Result<u8> {
    let all = Workload::ALL.iter();
    let rows = all.map(|one| (one.name().to_owned(), one.about().to_owned()));
    print(format, 20, ["name", "about"], rows)
}

/// Prints two columns; `width` is that of the first, `keys` are those of the JSON objects.
fn print(
    format: Format,
    width: usize,
    keys: [&'static str; 2],
    rows: impl Iterator<Item = (String, String)>,
) -> Result<u8> {
    let text = match format {
        Format::Text => rows.map(|(one, about)| format!("{one:<width$}{about}\n")).collect(),
        Format::Json => {
            let [first, second] = keys;
            let object = |(one, about): (String, String)| {
                Json::Object(vec![(first, one.into()), (second, about.into())])
            };
            format!("{}\n", Json::array(rows.map(object)))
        }
    };
    output::print(&text)?;
    Ok(0)
}
