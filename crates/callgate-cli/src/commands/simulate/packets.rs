//! What a socket filter does with packets.

use std::fmt::Write;
use std::time::Instant;

use callgate::bpf::{NoAncillary, Step};
use callgate_vm::PacketEngine;

use super::args::SimulateArgs;
use super::engine::Report;
use super::trace::{trace_json, trace_text};
use crate::json::{Json, LongArray};
use crate::options::Format;
use crate::packets::Packet;
use crate::report::{Failure, Result};
use crate::source::SocketFilter;

/// From so many bytes on, what is found out is printed: of a large capture not all is kept in memory.
const PIECE: usize = 1 << 16;

/// What was found out about a packet.
struct Finding {
    len: usize,
    /// What the filter returned.
    value: u32,
    /// How many instructions it executed.
    executed: usize,
    /// Which, if that was asked.
    steps: Vec<Step>,
}

/// Prints what happens to each packet, and then what that is of all of them.
pub(super) fn answer(
    args: &SimulateArgs,
    filter: &SocketFilter,
    print: &mut impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let program = &filter.program;
    let start = Instant::now();
    let Some(made) = args.engine.packet_or_decoded(program) else {
        let why = format!("the engine `{}` is for filters of calls", args.engine);
        return Err(Failure::about(&filter.name, why)
            .help("--engine reference, decoded and jit are for packets too"));
    };
    let compile = start.elapsed();
    let packets = args.subject.packets.read()?;
    let (engine, report) = Report::of(args.engine, made, compile, PacketEngine::code_bytes);
    let mut passed = 0;
    let mut text = String::new();
    let mut array = LongArray::new("packets");
    for (number, Packet(bytes)) in (1..).zip(&packets) {
        let mut finding = Finding { len: bytes.len(), value: 0, executed: 0, steps: Vec::new() };
        finding.value = program.trace(bytes, &NoAncillary, |step| {
            finding.executed += 1;
            finding.steps.extend(args.trace.then_some(step));
        });
        report.check(engine.run(bytes, &NoAncillary), finding.value)?;
        passed += usize::from(finding.value > 0);
        match args.format {
            Format::Json => text.push_str(&array.item(&finding.json(args.trace))),
            Format::Text => {
                text.push_str(&trace_text(&finding.steps));
                text.push_str(&finding.line(number, program.len()));
            }
        }
        if text.len() >= PIECE {
            print(&text)?;
            text.clear();
        }
    }
    match args.format {
        Format::Json => {
            let mut fields = vec![("passed", passed.into())];
            fields.extend(report.fields(args.stats));
            text.push_str(&array.end(&fields));
        }
        Format::Text => {
            if packets.len() > 1 {
                let _ = writeln!(text, "{passed} of {} packets pass", packets.len());
            }
            if args.stats {
                text.push_str(&report.line());
            }
        }
    }
    print(&text)
}

impl Finding {
    /// How many bytes are kept: the kernel trims a packet to what the filter returns.
    fn kept(&self) -> usize {
        self.len.min(self.value as usize)
    }

    fn line(&self, number: usize, of: usize) -> String {
        let Finding { len, value, executed, .. } = self;
        let bytes = if *len == 1 { "1 byte".to_owned() } else { format!("{len} bytes") };
        let what = match self.kept() {
            _ if *value == 0 => "dropped".to_owned(),
            kept if kept < *len => format!("passes, cut to {kept}"),
            _ => "passes".to_owned(),
        };
        format!(
            "packet {number} ({bytes}): {what} (returns {value}), {executed} of {of} instructions \
             executed\n"
        )
    }

    fn json(&self, trace: bool) -> Json {
        let mut fields = vec![
            ("length", self.len.into()),
            ("value", self.value.into()),
            ("passes", (self.value > 0).into()),
            ("kept", self.kept().into()),
            ("executed", self.executed.into()),
        ];
        fields.extend(trace.then(|| ("trace", trace_json(&self.steps))));
        Json::Object(fields)
    }
}
