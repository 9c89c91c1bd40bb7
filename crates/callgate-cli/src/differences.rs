//! Syscalls for which two filters differ, as text and as JSON.

use std::fmt::Write;

use callgate::codegen::query::Difference;
use callgate::syscalls::list_syscalls;
use callgate::{Arch, Verdict};

use crate::json::Json;
use crate::options::native_arch;
use crate::output::wrap;
use crate::syscall;
use crate::text::printable;

/// Differences, those of this machine's architecture first.
pub(crate) struct Differences {
    list: Vec<Difference>,
    /// Whether there are more than the list contains.
    more: bool,
}

impl Differences {
    /// At most this many of all differences of two filters.
    pub(crate) fn new(mut all: Vec<Difference>, max: Option<u32>) -> Differences {
        let native = native_arch().ok().map(Arch::token);
        all.sort_by_key(|difference| Some(difference.data.arch) != native);
        let most = max.map_or(usize::MAX, |max| max as usize);
        let more = all.len() > most;
        all.truncate(most);
        Differences { list: all, more }
    }

    /// Lines like those of diff(1).
    pub(crate) fn text(&self, a: &str, b: &str) -> String {
        text(a, b, self.more, &self.list)
    }

    /// Whether there are more, and one object for each difference under this key.
    pub(crate) fn fields(&self, key: &'static str) -> [(&'static str, Json); 2] {
        [("more", self.more.into()), (key, json(&self.list))]
    }
}

/// The differences of two filters, with lines like those of diff(1).
fn text(a: &str, b: &str, more: bool, differences: &[Difference]) -> String {
    let mut text = format!("--- {}\n+++ {}\n", printable(a), printable(b));
    for difference in differences {
        let data = &difference.data;
        let arch = syscall::arch_of(data);
        let arch_name = syscall::arch_name(arch, data.arch);
        let _ = writeln!(text, "{arch_name} {}", syscall::show(arch, data));
        let others = list_syscalls(data.arch, &difference.syscalls, Some(data.nr), usize::MAX);
        if !others.is_empty() {
            text.push_str("    also:");
            wrap(&mut text, &format!(" {others}"), 9, 6);
        }
        let _ = writeln!(text, "  - {}\n  + {}", difference.left, difference.right);
    }
    if more {
        text.push_str("… and more; omit --max to print all\n");
    }
    text
}

/// One object for each difference.
fn json(differences: &[Difference]) -> Json {
    let verdict = |verdict: Verdict| {
        Json::Object(vec![("verdict", verdict.to_string().into()), ("value", verdict.0.into())])
    };
    Json::array(differences.iter().map(|difference| {
        let data = &difference.data;
        let arch = syscall::arch_of(data);
        let ranges = difference.syscalls.ranges().iter().map(|(a, b)| Json::array([*a, *b]));
        let mut fields = syscall::fields(arch, data);
        fields.extend([
            ("a", verdict(difference.left)),
            ("b", verdict(difference.right)),
            ("alike", Json::Array(ranges.collect())),
        ]);
        Json::Object(fields)
    }))
}
