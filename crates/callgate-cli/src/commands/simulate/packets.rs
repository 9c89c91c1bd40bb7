//! The results of a socket filter for packets.

use std::fmt::Write;
use std::time::Instant;

use callgate_core::{NoAncillary, Step};
use callgate_vm::PacketEngine;

use super::args::SimulateArgs;
use super::engine::EngineReport;
use super::trace::{trace_json, trace_text};
use crate::options::Format;
use crate::packets::Packet;
use crate::report::{Failure, Result};
use crate::source::SocketFilter;
use callgate_requests::json::{Json, LongArray};

/// Results are printed when they reach this many bytes, so that those of a large capture are never all in memory.
const PIECE: usize = 1 << 16;

/// The result for a packet.
struct PacketResult {
    len: usize,
    /// The value that the filter returned.
    value: u32,
    /// The number of executed instructions.
    executed: usize,
    /// The executed instructions, with --trace.
    steps: Vec<Step>,
}

/// Prints the result for each packet and then a summary.
pub(super) fn answer(
    args: &SimulateArgs,
    filter: &SocketFilter,
    print: &mut impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    let program = &filter.program;
    let start = Instant::now();
    let Some(made) = args.engine.packet_or_decoded(program) else {
        let why = format!("the engine `{}` supports only seccomp filters", args.engine);
        return Err(Failure::about(&filter.name, why)
            .help("use --engine reference, decoded or jit for packets"));
    };
    let compile = start.elapsed();
    let packets = args.subject.packets.read()?;
    let (engine, report) = EngineReport::of(args.engine, made, compile, PacketEngine::code_bytes);
    let mut passed = 0;
    let mut text = String::new();
    let mut array = LongArray::new("packets");
    for (number, Packet(bytes)) in (1..).zip(&packets) {
        let mut finding =
            PacketResult { len: bytes.len(), value: 0, executed: 0, steps: Vec::new() };
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

impl PacketResult {
    /// The number of bytes kept: the kernel truncates a packet to the returned length.
    fn kept(&self) -> usize {
        self.len.min(self.value as usize)
    }

    fn line(&self, number: usize, of: usize) -> String {
        let PacketResult { len, value, executed, .. } = self;
        let bytes = if *len == 1 { "1 byte".to_owned() } else { format!("{len} bytes") };
        let what = match self.kept() {
            _ if *value == 0 => "dropped".to_owned(),
            kept if kept < *len => format!("passes, truncated to {kept}"),
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
