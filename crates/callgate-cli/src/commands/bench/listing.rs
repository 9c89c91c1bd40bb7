//! The syscalls that can be measured.

use callgate_measure::MeasurableSyscall;

use crate::options::Format;
use crate::output;
use crate::report::Result;
use callgate_requests::json::Json;

pub(super) fn print_syscalls(format: Format) -> Result<u8> {
    let all = MeasurableSyscall::all();
    let text = match format {
        Format::Text => all.map(|call| format!("{:<38}{}\n", call.show(), call.effect)).collect(),
        Format::Json => {
            let object = |call: MeasurableSyscall| {
                Json::Object(vec![("call", call.show().into()), ("effect", call.effect.into())])
            };
            format!("{}\n", Json::array(all.map(object)))
        }
    };
    output::print(&text)?;
    Ok(0)
}
