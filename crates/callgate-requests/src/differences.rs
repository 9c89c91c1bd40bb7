//! Differences of two filters as JSON.

use callgate::codegen::query::Difference;

use crate::explanation::verdict_json;
use crate::json::Json;
use crate::syscall;

/// One object for each difference, with the fields of its syscall.
pub fn differences(differences: &[Difference]) -> Json {
    Json::array(differences.iter().map(|difference| {
        let data = &difference.data;
        let arch = syscall::arch_of(data);
        let ranges = difference.syscalls.ranges().iter().map(|(a, b)| Json::array([*a, *b]));
        let mut fields = syscall::fields(arch, data);
        fields.extend([
            ("a", verdict_json(difference.left)),
            ("b", verdict_json(difference.right)),
            ("alike", Json::Array(ranges.collect())),
        ]);
        Json::Object(fields)
    }))
}
