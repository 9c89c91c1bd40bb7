//! Two filters of tcpdump, run by the kernel for packets on the loopback device: the other half of the measurement with
//! which the kernel's new BPF interpreter was published in 2014.
//!
//! The published figures are nanoseconds per run of `tcpdump -i eth0 port 22` (#1) and of the filter of `tcpdump`'s manual
//! for packets of port 22 with data (#2), with the same packet (cache hit) and with 10,000 packets (cache miss), called in a
//! loop inside the kernel. Here a packet is [sent](crate::bodies::PacketPath) to a socket with the filter, and the cost of the filter
//! is the difference from a filter of one instruction with the same verdict, so both packets take the same path. For the
//! cache miss, caches are evicted before each packet. Callgate's engines run the same programs on the same packets, and on
//! 10,000 different ones, in a loop as it was published.
//!
//! Filters of the caller are measured with the same packets. A filter's cost is a difference from one with the same verdict, so
//! a packet counts only if such a filter accepts or rejects it as the published ones do.

use std::sync::Arc;
use std::time::Duration;

use callgate_core::{NoAncillary, SocketProgram};
use callgate_vm::EngineKind;

use super::error::{ExperimentError, ExperimentErrorKind};
use super::runs::{Extra, Runs, Variation};
use super::setup::{Options, Setup};
use crate::bodies::{Namespace, Packet, PacketPath};
use crate::counters;
use crate::finding::Finding;
use crate::jit::Jit;
use crate::published::{Figure, Published, PublishedTable};
use crate::times::Times;
use callgate_measure::Batches;
use callgate_measure::Body;
use callgate_measure::Cold;
use callgate_measure::Subject;
use callgate_measure::engines::workloads::{self, EngineInputs, Workload, port_packet};
use callgate_measure::engines::{self, Cost};
use callgate_measure::interrupt;
use callgate_measure::report::Shown;
use callgate_measure::stats::Interval;
use callgate_measure::{Plan, Samples};

/// The workloads with the published filters.
const FILTERS: [&str; 2] = ["port-22", "port-22-with-data"];

/// The packets: whether filters accept them.
const PACKETS: [(bool, &str); 2] = [(true, "accepted"), (false, "rejected")];

const COLD: &str = "cold caches";
const OFF_COLD: &str = "JIT off, cold caches";

/// The number of packets for which hardware events are counted, and how often.
const COUNTED: u32 = 4_000;
const COUNTS: u64 = 6;

/// How often an engine is measured with a packet, and for how long each time; the approximate time of all of them.
const ENGINE_RUNS: u64 = 6;
const ENGINE_RUN: Duration = Duration::from_millis(24);
const ENGINES: Duration = Duration::from_secs(3);

/// The subjects with the published filters, in the order of the columns.
const PROGRAMS: [usize; 2] = [1, 2];

pub(super) fn setup(options: &Options) -> Result<Setup, ExperimentError> {
    let namespace = Namespace::new();
    let path = namespace.as_ref().map_or(PacketPath::Udp, Namespace::path);
    let programs: Vec<SocketProgram> = FILTERS.iter().filter_map(|name| program(name)).collect();
    let mut subjects = vec![Subject::packets("one instruction", None)];
    for (program, name) in programs.iter().zip(["#1, port 22", "#2, port 22 with data"]) {
        subjects.push(Subject::packets(name, Some(program.clone())));
    }
    // The filters of the caller, and whether they decide each packet as the published ones.
    let mut mine: Vec<(String, [bool; 2])> = Vec::new();
    for subject in &options.subjects {
        let Some(program) = subject.socket() else { continue };
        if matches!(path, PacketPath::Udp) {
            return Err(ExperimentError(ExperimentErrorKind::NoPacketSocket));
        }
        let accepts = |is_hit| program.run(&port_packet(is_hit), &NoAncillary) > 0;
        mine.push((subject.name.clone(), PACKETS.map(|(is_hit, _)| accepts(is_hit) == is_hit)));
        subjects.push(subject.clone());
    }
    let packets = PACKETS.map(|(is_hit, _)| Packet { path, is_hit });
    let bodies: Vec<Body> = packets.iter().map(|packet| Body::Work(Arc::new(*packet))).collect();
    let shown = PACKETS.iter().map(|(_, verdict)| Shown {
        title: format!("a packet that the filters {}", verdict.replace("ed", "")),
        treatments: Vec::new(),
        is_claimed: true,
    });
    let plan = options.plan(subjects, bodies, 20);
    let cold = Batches { cpu: options.cpu, ..Batches::cold(Cold::of_machine(options.cpu)) };
    let cold = Plan { batches: cold, ..plan.clone() };
    let extra = Extra::default().with_jit(&[Jit::Off], &plan);
    let mut variations = extra.variations;
    variations.push(Variation { name: COLD, jit: None, plan: cold.clone(), bodies: None });
    if Jit::current() != Some(Jit::Off) {
        let jit = Some(Jit::Off);
        variations.push(Variation { name: OFF_COLD, jit, plan: cold, bodies: None });
    }
    let measured = match path {
        PacketPath::Packet(_) => {
            "measured: send(2) to a packet socket (AF_PACKET) on the loopback device of a network namespace of its own; its \
             receive buffer is full, so accepted packets are discarded after the filter"
        }
        PacketPath::Udp => {
            "measured: send(2) to a UDP socket on 127.0.0.1, because this process may not create a network namespace; the \
             filters load relative to the link-layer header, which is slower, and look for UDP and the socket's port"
        }
    };
    let counted = plan.clone();
    let published = move |runs: &Runs| {
        // The namespace lasts as long as the experiment.
        let _namespace = &namespace;
        published(runs, &programs, &mine, &counted, &packets)
    };
    let notes = vec![measured.to_owned()];
    Ok(Setup {
        may_switch_jit: options.may_switch_jit,
        title: "socket filters: tcpdump's \"port 22\", and with data".to_owned(),
        bodies: shown.collect(),
        plan,
        findings: Box::new(findings),
        extra: Extra { variations, published: Some(Box::new(published)), notes, after: ENGINES },
    })
}

/// The filter of a workload.
fn program(name: &str) -> Option<SocketProgram> {
    match workloads::by_name(name)?.inputs {
        EngineInputs::Packets { program, .. } => Some(program),
        EngineInputs::Syscalls { .. } => None,
    }
}

fn published(
    runs: &Runs,
    programs: &[SocketProgram],
    mine: &[(String, [bool; 2])],
    plan: &Plan,
    packets: &[Packet],
) -> Published {
    let mut published = Published::default();
    let columns = [("#1 hot", 1), ("#1 cold", 1), ("#2 hot", 1), ("#2 cold", 1)];
    let title = "kernel, ns per packet, over a filter of one instruction; cold: caches evicted";
    let mut table = PublishedTable::new("kernel", title, &columns);
    let is_off = runs.jit == Some(Jit::Off);
    let own = if is_off { "interpreter" } else { "JIT" };
    let off = runs.variation(Jit::Off.name());
    let kinds = [
        ("interpreter", off, runs.variation(OFF_COLD)),
        (own, Some(&runs.own), runs.variation(COLD)),
    ];
    let over = |samples: Option<&Samples>, subject: usize, body: usize| {
        Times::of(samples?, 0, body)?.over(subject)
    };
    for (how, hot, cold) in kinds.into_iter().filter(|(_, hot, _)| hot.is_some()) {
        for (body, (_, verdict)) in PACKETS.iter().enumerate() {
            let values = PROGRAMS
                .into_iter()
                .flat_map(|subject| [hot, cold].map(|samples| over(samples, subject, body)));
            table.row(format!("{how}, {verdict}"), values);
        }
    }
    published.tables.push(table);
    if !mine.is_empty() {
        let title = "your filters, ns per packet, over a filter of one instruction";
        let mut table = PublishedTable::new("given", title, &[("hot", 1), ("cold", 1)]);
        for (at, (name, is_like)) in mine.iter().enumerate() {
            let subject = 1 + programs.len() + at;
            for (body, ((_, verdict), is_like)) in PACKETS.iter().zip(is_like).enumerate() {
                let values = [Some(&runs.own), runs.variation(COLD)];
                let values =
                    values.map(|samples| over(samples, subject, body).filter(|_| *is_like));
                table.row(format!("{name}, {verdict}"), values);
                if !is_like {
                    published.notes.push(format!(
                        "not measured: {name}, {verdict}: the filter does not decide this packet as the published ones"
                    ));
                }
            }
        }
        published.tables.push(table);
    }
    if runs.own.interrupted {
        published
            .notes
            .push("not measured: Callgate's engines, because of the interruption".to_owned());
        return published;
    }
    published.tables.push(of_engines(programs));
    match of_counters(plan, packets) {
        Ok(table) => published.tables.push(table),
        Err(why) => published.notes.push(format!("not measured: cycles and branch misses: {why}")),
    }
    published
}

/// An engine with a packet, and what it took with each program.
struct EngineRow {
    label: String,
    kind: EngineKind,
    workloads: Vec<(Workload, Vec<Cost>)>,
}

/// Callgate's engines on the same packets, and on 10,000 different ones.
fn of_engines(programs: &[SocketProgram]) -> PublishedTable {
    let columns = [("#1 hot", 1), ("#1 10k", 1), ("#2 hot", 1), ("#2 10k", 1)];
    let title = "Callgate's engines, ns per run; 10k: 10,000 different packets";
    let mut table = PublishedTable::new("engines", title, &columns);
    let mut rows: Vec<EngineRow> = Vec::new();
    for kind in EngineKind::ALL {
        for (is_hit, verdict) in PACKETS {
            let workload = |program: &SocketProgram| {
                let Workload { name, inputs } = workloads::of_packets("", program.clone());
                let EngineInputs::Packets { program, cold, .. } = inputs else { return None };
                let inputs = EngineInputs::Packets { program, hot: port_packet(is_hit), cold };
                Some((Workload { name, inputs }, Vec::new()))
            };
            let label = format!("{}, {verdict}", kind.name());
            let workloads = programs.iter().filter_map(workload).collect();
            rows.push(EngineRow { label, kind: *kind, workloads });
        }
    }
    // One after the other, several times: a disturbance affects all of them alike.
    for _ in 0..ENGINE_RUNS {
        for EngineRow { kind, workloads, .. } in &mut rows {
            for (workload, costs) in workloads.iter_mut().filter(|_| !interrupt::is_requested()) {
                costs.extend(engines::measure_for(*kind, workload, ENGINE_RUN).ok().flatten());
            }
        }
    }
    for EngineRow { label, workloads, .. } in rows {
        let values = workloads.iter().flat_map(|(_, costs)| {
            let of = |value: fn(&Cost) -> f64| {
                Interval::of(&costs.iter().map(value).collect::<Vec<_>>(), 0)
            };
            [of(|cost| cost.hot_ns), of(|cost| cost.cold_ns)]
        });
        let values: Vec<Option<Interval>> = values.collect();
        // An engine for syscalls only, or one that this machine does not support.
        if values.iter().any(Option::is_some) {
            table.row(label, values);
        }
    }
    table
}

/// Hardware counters per packet, of the whole path.
fn of_counters(plan: &Plan, packets: &[Packet]) -> Result<PublishedTable, String> {
    let columns = counters::NAMES.map(|name| (name, 1));
    let mut table =
        PublishedTable::new("counters", "per packet, the whole path with the filter", &columns);
    for (body, (_, verdict)) in packets.iter().zip(PACKETS) {
        for subject in &plan.subjects {
            let mut counts = Vec::new();
            for _ in 0..COUNTS {
                counts.push(counters::per_iteration(subject, body, COUNTED, plan.batches.cpu)?);
            }
            let column = |at: usize| {
                let values: Vec<f64> =
                    counts.iter().filter_map(|counts| counts.get(at).copied()).collect();
                Interval::of(&values, 0).map(Figure::from)
            };
            table.row(format!("{}, {verdict}", subject.name), (0..columns.len()).map(column));
        }
    }
    Ok(table)
}

fn findings(samples: &Samples) -> Vec<Finding> {
    let texts = [
        ("port_22_ns", "tcpdump's \"port 22\" for a packet that it accepts", 1, 0),
        ("port_22_rejected_ns", "filter #1 for a packet that it rejects", 1, 1),
        ("with_data_ns", "the filter for packets with data, for one that it accepts", 2, 0),
        ("with_data_rejected_ns", "filter #2 for a packet that it rejects", 2, 1),
    ];
    let finding = |(key, text, subject, body)| {
        Some(Finding::new(key, text, Times::of(samples, 0, body)?.over(subject)?, "ns"))
    };
    texts.into_iter().filter_map(finding).collect()
}
