//! The engine that runs the program, and the report about it.

use std::time::Duration;

use callgate_vm::{EngineError, EngineKind, SelectedEngine};
use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::report::{self, Failure, Result};
use callgate_requests::json::Json;

/// The names of the engines, for the command line.
pub(crate) fn engines() -> impl TypedValueParser<Value = EngineKind> {
    let names = EngineKind::ALL.iter().map(|kind| kind.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<EngineKind>())
}

/// The engine that ran.
pub(super) struct EngineReport {
    kind: EngineKind,
    /// Why it is not the requested one.
    fallback: Option<EngineError>,
    code_bytes: usize,
    compile: Duration,
}

impl EngineReport {
    /// The report about an engine that took this time to prepare. Warns if it is not the requested one.
    pub(super) fn of<E: ?Sized>(
        asked: EngineKind,
        made: SelectedEngine<E>,
        compile: Duration,
        code_bytes: fn(&E) -> usize,
    ) -> (Box<E>, EngineReport) {
        let SelectedEngine { engine, kind, fallback } = made;
        if let Some(why) = &fallback {
            report::warn(
                why.to_string(),
                format!(
                    "`{kind}` is used instead of `{asked}`; it is slower and returns the same verdicts"
                ),
            );
        }
        let code_bytes = code_bytes(&engine);
        (engine, EngineReport { kind, fallback, code_bytes, compile })
    }

    /// Fails unless the engine agrees with the interpreter.
    pub(super) fn check(&self, given: u32, expected: u32) -> Result<()> {
        if given == expected {
            return Ok(());
        }
        let kind = self.kind;
        Err(Failure::new(format!(
            "the engine `{kind}` returns {given:#x}, but the interpreter {expected:#x}: this is a bug \
             in callgate"
        ))
        .help("please report it with the filter and the command line"))
    }

    /// For `--stats`.
    pub(super) fn line(&self) -> String {
        let EngineReport { kind, fallback, code_bytes, compile } = self;
        let instead = match fallback {
            Some(why) => format!(" instead of {}", why.engine()),
            None => String::new(),
        };
        let microseconds = compile.as_secs_f64() * 1e6;
        format!("engine: {kind}{instead}, {code_bytes} bytes, prepared in {microseconds:.1} µs\n")
    }

    pub(super) fn fields(&self, stats: bool) -> Vec<(&'static str, Json)> {
        let mut fields = vec![
            ("engine", self.kind.name().into()),
            ("fallback", self.fallback.as_ref().map(EngineError::to_string).into()),
        ];
        if stats {
            fields.extend([
                ("code_bytes", self.code_bytes.into()),
                ("compile_us", (self.compile.as_secs_f64() * 1e6).into()),
            ]);
        }
        fields
    }
}
