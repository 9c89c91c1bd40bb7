//! The share as JSON, with stable keys.

use callgate_requests::json::Json;

use super::share::{CallShare, Share};
use crate::json::{interval, remark};

/// Everything, with stable keys. Shares are in percent.
pub fn json(share: &Share) -> Vec<(&'static str, Json)> {
    vec![
        ("recorded", recorded(share)),
        ("cpu_time_percent", interval(share.of_cpu_time.scaled(100.0))),
        ("cpu_time_percent_if_empty", interval(share.of_cpu_time_if_empty.scaled(100.0))),
        ("processor_percent", interval(share.of_processor.scaled(100.0))),
        ("per_call_ns", interval(share.per_call)),
        ("noise_ns", interval(share.noise)),
        ("remark", remark(share.remark())),
        ("unmeasured_calls", share.unmeasured.into()),
        ("calls", Json::array(share.calls.iter().map(call))),
    ]
}

fn recorded(share: &Share) -> Json {
    Json::Object(vec![
        ("seconds", share.elapsed.as_secs_f64().into()),
        ("windows", share.windows.into()),
        ("calls", share.count.into()),
        ("cpu_seconds", share.cpu_time.as_secs_f64().into()),
        ("recorder_cpu_seconds", share.recorder.as_secs_f64().into()),
    ])
}

fn call(call: &CallShare) -> Json {
    let (least, most) = call.path.executed;
    let (some, all) = call.path.is_denied;
    let denied = match (some, all) {
        (_, true) => "always",
        (true, false) => "sometimes",
        (false, false) => "never",
    };
    Json::Object(vec![
        ("name", call.name.as_str().into()),
        ("calls", call.count.into()),
        ("cached", call.path.is_cached.into()),
        ("denied", denied.into()),
        ("executed_least", least.into()),
        ("executed_most", most.into()),
        ("arguments_known", (!call.path.is_uncertain).into()),
        ("measured_as", Json::array(call.measured.iter().map(String::as_str))),
        ("cost_ns", call.cost.map_or(Json::Null, interval)),
        ("cpu_time_percent", call.of_cpu_time.map_or(Json::Null, |own| Json::Float(own * 100.0))),
    ])
}
