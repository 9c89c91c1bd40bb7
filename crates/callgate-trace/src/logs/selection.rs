//! Which records of a log count: those of some programs, processes, systemd units or containers.
//!
//! Audit records name the program (`comm`, `exe`) and the process (`pid`), and neither a unit nor a container. These are in
//! entries of the journal as JSON (`_SYSTEMD_UNIT`, `CONTAINER_NAME`), and in events of recorders (`container`, `pod`). For text
//! logs, a caller can add the processes that a unit or a container has now.

use std::collections::BTreeSet;
use std::fmt;

use callgate_formats::syntax::json;
use callgate_formats::syntax::tree::{Node, NodeKind};

use super::audit_fields::{fields, is_of_program, is_program};

/// Keys of systemd units in JSON.
const UNIT_KEYS: [&str; 4] = ["_SYSTEMD_UNIT", "UNIT", "_SYSTEMD_USER_UNIT", "OBJECT_SYSTEMD_UNIT"];

/// Keys of containers and pods in JSON.
const CONTAINER_KEYS: [&str; 14] = [
    "CONTAINER_NAME",
    "CONTAINER_ID",
    "CONTAINER_ID_FULL",
    "container",
    "containerName",
    "container_name",
    "containerID",
    "container_id",
    "containerId",
    "pod",
    "podName",
    "pod_name",
    "runtimeContainerName",
    "runtimeContainerId",
];

/// Those of them that have an identifier, of which the start is enough.
const ID_KEYS: [&str; 6] = [
    "CONTAINER_ID",
    "CONTAINER_ID_FULL",
    "containerID",
    "container_id",
    "containerId",
    "runtimeContainerId",
];

/// The length from which on the start of a container's identifier is enough.
const MIN_ID: usize = 8;

/// A program, a process, a unit or a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selected {
    /// A program: its name, its path, or the last part of the path.
    Program(String),
    /// A process, by its number.
    Process(u32),
    /// A systemd unit.
    Unit(String),
    /// A container or a pod: its name or its identifier.
    Container(String),
}

impl Selected {
    /// The selection of a word: `nginx`, `/usr/sbin/nginx`, `pid:7`, `unit:nginx.service`, `container:web`.
    ///
    /// # Errors
    /// If the part after the colon is empty, or not the number of a process.
    pub fn parse(word: &str) -> Result<Selected, String> {
        let (kind, value) = word.split_once(':').unwrap_or(("", word));
        let selected = match kind {
            "pid" => match value.parse() {
                Ok(pid) => Selected::Process(pid),
                Err(_) => return Err(format!("\"{value}\" is not the number of a process")),
            },
            "unit" if value.contains('.') => Selected::Unit(value.to_owned()),
            "unit" => Selected::Unit(format!("{value}.service")),
            "container" => Selected::Container(value.to_owned()),
            _ => Selected::Program(word.to_owned()),
        };
        if value.is_empty() || value == ".service" {
            return Err("a selection is a program, pid:N, unit:NAME or container:NAME".to_owned());
        }
        Ok(selected)
    }
}

impl fmt::Display for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selected::Program(name) => f.write_str(name),
            Selected::Process(pid) => write!(f, "pid:{pid}"),
            Selected::Unit(name) => write!(f, "unit:{name}"),
            Selected::Container(name) => write!(f, "container:{name}"),
        }
    }
}

/// The records that count: those of any of these.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    all: Vec<Selected>,
    processes: BTreeSet<u32>,
}

impl Selection {
    /// The records of these.
    pub fn new(all: Vec<Selected>) -> Selection {
        Selection { all, processes: BTreeSet::new() }
    }

    /// Also those of these processes, which belong to a unit or a container.
    #[must_use]
    pub fn with_processes(mut self, processes: impl IntoIterator<Item = u32>) -> Selection {
        self.processes.extend(processes);
        self
    }

    /// Whether everything counts.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a line is selected by what it says.
    pub(crate) fn has_line(&self, line: &str, is_raw: bool) -> bool {
        let is_own = |one: &Selected| match one {
            Selected::Program(name) => is_of_program(line, is_raw, name),
            Selected::Process(_) | Selected::Unit(_) | Selected::Container(_) => false,
        };
        let mut pids = fields(line, "pid").filter_map(|pid| pid.parse().ok());
        self.all.iter().any(is_own)
            || pids.next().is_some_and(|pid| self.has_process(pid))
            || self.is_of_entry(line)
    }

    /// Whether a line of an audit record says whether it is of what is selected. One of no selection says nothing.
    pub(crate) fn says_whose(&self, line: &str) -> bool {
        let has = |key| fields(line, key).next().is_some();
        let is_said = |one: &Selected| match one {
            Selected::Program(_) => has("comm") || has("exe"),
            Selected::Process(_) | Selected::Unit(_) | Selected::Container(_) => has("pid"),
        };
        !self.all.is_empty() && self.all.iter().all(is_said)
    }

    /// Whether the name or the path of a program is selected.
    pub(crate) fn has_program(&self, program: &str) -> bool {
        let is_own = |one: &Selected| match one {
            Selected::Program(name) => is_program(program, name),
            _ => false,
        };
        self.all.iter().any(is_own)
    }

    /// Whether a process is selected.
    pub(crate) fn has_process(&self, pid: u32) -> bool {
        self.processes.contains(&pid) || self.all.contains(&Selected::Process(pid))
    }

    /// Whether an entry in JSON is of a selected unit or container.
    fn is_of_entry(&self, line: &str) -> bool {
        let wanted = |one: &Selected| matches!(one, Selected::Unit(_) | Selected::Container(_));
        if !self.all.iter().any(wanted) {
            return false;
        }
        let Some(start) = line.find('{') else { return false };
        let Some(entry) = line.get(start..).and_then(|text| json::parse(text.trim_end()).ok())
        else {
            return false;
        };
        self.all.iter().any(|one| match one {
            Selected::Unit(name) => has(&entry, &UNIT_KEYS, &|value| value == name),
            Selected::Container(name) => {
                let is_start = |value: &str| {
                    // `containerd://0123…`
                    let (_, id) = value.rsplit_once('/').unwrap_or(("", value));
                    id.starts_with(name.as_str()) && is_hexadecimal(id)
                };
                has(&entry, &CONTAINER_KEYS, &|value| {
                    value == name || value.ends_with(&format!("/{name}"))
                }) || (name.len() >= MIN_ID && has(&entry, &ID_KEYS, &is_start))
            }
            Selected::Program(_) | Selected::Process(_) => false,
        })
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.all.iter().map(Selected::to_string).collect();
        f.write_str(&all.join(", "))
    }
}

/// Whether a text may be a container's identifier: its beginning is one, too.
fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether an object has one of these keys with a text that meets a test: itself or in an object inside of it.
fn has(object: &Node<'_>, keys: &[&str], test: &dyn Fn(&str) -> bool) -> bool {
    let mut objects = vec![object];
    while let Some(next) = objects.pop() {
        let NodeKind::Map(members) = &next.kind else { continue };
        for member in members {
            match &member.value.kind {
                NodeKind::Text(text) if keys.contains(&&*member.key) && test(text) => return true,
                NodeKind::Map(_) => objects.push(&member.value),
                _ => {}
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = "type=SECCOMP msg=audit(1.2:3): auid=0 uid=0 pid=200 comm=\"nginx\" exe=\"/usr/sbin/nginx\" sig=0 \
                          arch=c000003e syscall=41 compat=0 ip=0x0 code=0x7ffc0000";

    fn has_line(word: &str, line: &str) -> bool {
        Selection::new(vec![Selected::parse(word).unwrap()]).has_line(line, true)
    }

    #[test]
    fn records_are_selected_by_program_and_process() {
        for word in ["nginx", "/usr/sbin/nginx", "pid:200"] {
            assert!(has_line(word, RECORD), "{word}");
        }
        for word in ["ngin", "/usr/bin/nginx", "pid:20", "unit:nginx", "container:nginx", "other"] {
            assert!(!has_line(word, RECORD), "{word}");
        }
        let of_unit =
            Selection::new(vec![Selected::Unit("a.service".into())]).with_processes([200]);
        assert!(!has_line("/usr/sbin/nginx-debug", RECORD), "a path of 15 bytes is complete");
        let comm = "pid=1 comm=\"systemd-network\"";
        assert!(has_line("systemd-networkd", comm), "a name of 15 bytes may be cut");
        for (word, line, is_said) in [
            ("nginx", "pid=1 comm=\"a\"", true),
            ("nginx", "pid=1", false),
            ("pid:2", "pid=1", true),
            ("pid:2", "comm=\"a\"", false),
        ] {
            let selection = Selection::new(vec![Selected::parse(word).unwrap()]);
            assert_eq!(selection.says_whose(line), is_said, "{word} {line}");
        }
        assert!(!Selection::default().says_whose(RECORD));
        assert!(of_unit.has_line(RECORD, true) && !of_unit.has_program("nginx"));
    }

    #[test]
    fn entries_in_json_are_selected_by_unit_and_container() {
        let journal =
            "{\"_SYSTEMD_UNIT\":\"nginx.service\",\"MESSAGE\":\"SECCOMP pid=7 syscall=1\"}";
        assert!(has_line("unit:nginx", journal) && has_line("unit:nginx.service", journal));
        assert!(!has_line("unit:other", journal) && !has_line("unit:nginx.socket", journal));
        let event =
            "{\"k8s\":{\"podName\":\"web-1\",\"containerName\":\"app\"},\"syscall\":\"mount\"}";
        assert!(has_line("container:app", event) && has_line("container:web-1", event));
        assert!(!has_line("container:ap", event));
        let id = "{\"CONTAINER_ID_FULL\":\"0123456789abcdef\"}";
        assert!(has_line("container:0123456789", id) && !has_line("container:0123", id));
        assert!(has_line(
            "container:01234567",
            "{\"containerID\":\"containerd://0123456789abcdef\"}"
        ));
        for other in [
            "{\"CONTAINER_NAME\":\"frontend-admin\"}",
            "{\"CONTAINER_ID\":\"frontend-admin\"}",
            "{\"pod\":\"frontend-7d9\"}",
        ] {
            assert!(!has_line("container:frontend", other), "{other}");
        }
        assert!(!has_line("container:deadbeef", "{\"CONTAINER_NAME\":\"deadbeef01\"}"));
        for broken in ["{", "x {\"pod\"", "{\"pod\":1}"] {
            assert!(!has_line("container:web", broken), "{broken}");
        }
    }

    #[test]
    fn words_are_selections() {
        assert_eq!(Selected::parse("unit:a"), Ok(Selected::Unit("a.service".into())));
        assert_eq!(Selected::parse("a:b"), Ok(Selected::Program("a:b".into())));
        for wrong in ["", "pid:", "pid:x", "unit:", "container:"] {
            assert!(Selected::parse(wrong).is_err(), "{wrong}");
        }
    }
}
