//! Facts about the machine on which figures were measured.

use std::fs;
use std::io;

use crate::cold::{self, Cold};
use crate::worker::Batches;

/// Facts about the machine and the measurement: label and text.
pub fn setting(batches: &Batches) -> Vec<(&'static str, String)> {
    // Read as bytes: the status of a thread contains its name, which may have any bytes.
    let one = |path: &str| {
        fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
    };
    let kernel = callgate_linux::kernel::release().unwrap_or_else(|_| "unknown".to_owned());
    let arch = std::env::consts::ARCH;
    let model = one("/proc/cpuinfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let machine = model.map_or(arch.to_owned(), |model| format!("{arch}, {model}"));
    let mut setting = vec![("kernel", format!("Linux {kernel}")), ("machine", machine)];
    let jit = match one("/proc/sys/net/core/bpf_jit_enable").as_deref() {
        Some("0") => Some("off: the kernel interprets filters"),
        Some(_) => Some("on"),
        None => None,
    };
    setting.extend(jit.map(|jit| ("BPF JIT", jit.to_owned())));
    setting.extend(harden_setting().map(|harden| ("JIT harden", harden)));
    let clock = one("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    setting.extend(clock.map(|clock| ("clock", clock)));
    setting.push((
        "processor",
        batches.cpu.map_or("not pinned".to_owned(), |cpu| format!("pinned to number {cpu}")),
    ));
    if let Some(cold) = &batches.cold {
        let caches = [2, 3].map(|level| {
            let size = cold::cache(batches.cpu.unwrap_or(0), level);
            size.map_or(String::new(), |size| format!(", L{level} {}", mebibytes(size)))
        });
        setting.push(("cold", format!("{}{}", touched(cold), caches.concat())));
    }
    let beneath = one("/proc/thread-self/status").and_then(|text| {
        let count = text.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"))?.trim();
        match count {
            "0" => None,
            "1" => Some(
                "this process has a filter already, which also applies to \"no filter\"".to_owned(),
            ),
            _ => Some(format!("{count} filters are under all subjects, no filter too")),
        }
    });
    setting.extend(beneath.map(|beneath| ("sandbox", beneath)));
    let load = one("/proc/loadavg").and_then(|text| Some(text.split(' ').next()?.to_owned()));
    setting.extend(load.map(|load| ("load", load)));
    setting
}

fn touched(cold: &Cold) -> String {
    let data = mebibytes(cold.data());
    match cold.code() {
        0 => format!("{data} of data are read before each call"),
        code => format!("{data} of data and {} of code before each call", mebibytes(code)),
    }
}

fn mebibytes(bytes: usize) -> String {
    match bytes as f64 / f64::from(1 << 20) {
        few if few < 1.0 => format!("{:.0} KiB", few * 1024.0),
        many => format!("{many:.1} MiB").replace(".0 ", " "),
    }
}

/// The setting of `bpf_jit_harden` in words, for the facts about a machine.
fn harden_setting() -> Option<String> {
    match fs::read_to_string("/proc/sys/net/core/bpf_jit_harden").as_deref().map(str::trim) {
        Ok("0") => Some("off".to_owned()),
        Ok("1") => Some("on for users without CAP_BPF".to_owned()),
        Ok("2") => Some("on for all users".to_owned()),
        Ok(other) => Some(other.to_owned()),
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => {
            Some("unknown: only root may read net.core.bpf_jit_harden".to_owned())
        }
        Err(_) => None,
    }
}
