//! `record --node` on a node that is made here: links as kubelet makes them, cgroups as containerd names them, and real
//! processes.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use callgate_testing::TestResult;
use serde_json::Value;

use crate::session::needs;

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        containers_of_matching_pods_are_recorded_once_with_labels,
        further_containers_wait_until_one_has_ended,
        containers_that_have_ended_are_not_recorded,
        the_time_limits_each_recording,
        a_container_whose_recording_was_cut_short_is_recorded_again,
        a_directory_has_one_recorder_and_parts_of_killed_ones_are_kept,
    ]
}

/// How long each wait may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what} did not happen in {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A node with its containers.
struct Node {
    number: u32,
    directory: PathBuf,
    /// Above the cgroups of containers.
    cgroup: PathBuf,
    processes: BTreeMap<String, Child>,
}

impl Node {
    fn new(test: &str) -> Node {
        static NODES: AtomicU32 = AtomicU32::new(0);
        let number = NODES.fetch_add(1, Ordering::Relaxed);
        let name = format!("callgate-node-{test}-{}", std::process::id());
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("logs")).unwrap();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mount = mounts.lines().find(|line| line.contains(" - cgroup2 ")).unwrap();
        let cgroup = Path::new(mount.split(' ').nth(4).unwrap()).join(name);
        fs::create_dir(&cgroup).unwrap();
        Node { number, directory, cgroup, processes: BTreeMap::new() }
    }

    /// An ID that no other container of the machine has.
    fn id(&self, number: u32) -> String {
        format!("{:08x}{:08x}{number:048x}", std::process::id(), self.number)
    }

    fn link(&self, pod: &str, id: &str) {
        let link = self.directory.join(format!("logs/{pod}_default_app-{id}.log"));
        symlink(format!("/var/log/pods/default_{pod}_uid/app/0.log"), link).unwrap();
    }

    /// A container whose process sleeps.
    fn start(&mut self, pod: &str, number: u32) -> String {
        let id = self.id(number);
        let cgroup = self.cgroup.join(format!("pod{number}.slice/cri-containerd-{id}.scope"));
        fs::create_dir_all(&cgroup).unwrap();
        let process = Command::new("sh")
            .args(["-c", "echo $$ >\"$0/cgroup.procs\" && exec sleep 1000"])
            .arg(&cgroup)
            .spawn()
            .unwrap();
        until("the start of a container", || {
            fs::read_to_string(cgroup.join("cgroup.procs")).is_ok_and(|text| !text.is_empty())
        });
        self.link(pod, &id);
        self.processes.insert(id.clone(), process);
        id
    }

    fn stop(&mut self, id: &str) {
        let mut process = self.processes.remove(id).unwrap();
        process.kill().unwrap();
        process.wait().unwrap();
    }

    fn record(&self, options: &[&str]) -> Recorder {
        let messages = self.directory.join("messages");
        let process = Command::new(env!("CARGO_BIN_EXE_callgate"))
            .args(["record", "--node", "recordings", "--logs", "logs", "--pods", "default/web-*"])
            .args(options)
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .stderr(fs::File::create(&messages).unwrap())
            .spawn()
            .unwrap();
        Recorder { process, messages }
    }

    /// The recordings by the names of their files.
    fn recordings(&self) -> BTreeMap<String, Value> {
        let read = |entry: std::io::Result<fs::DirEntry>| {
            let entry = entry.unwrap();
            if entry.file_name() == ".lock" {
                return None;
            }
            let text = fs::read_to_string(entry.path()).unwrap();
            Some((entry.file_name().into_string().unwrap(), serde_json::from_str(&text).unwrap()))
        };
        fs::read_dir(self.directory.join("recordings")).unwrap().filter_map(read).collect()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        for process in self.processes.values_mut() {
            let _ = process.kill();
            let _ = process.wait();
        }
        let mut left = vec![self.cgroup.clone()];
        let mut all = Vec::new();
        while let Some(directory) = left.pop() {
            let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path()).filter(|path| path.is_dir()));
            all.push(directory);
        }
        // The deepest first; a process that was killed leaves its cgroup a little later.
        let start = Instant::now();
        for directory in all.iter().rev() {
            while fs::remove_dir(directory).is_err() && start.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The command.
struct Recorder {
    process: Child,
    messages: PathBuf,
}

impl Recorder {
    fn messages(&self) -> String {
        fs::read_to_string(&self.messages).unwrap()
    }

    fn until_it_says(&self, text: &str) {
        let start = Instant::now();
        while !self.messages().contains(text) {
            let messages = self.messages();
            assert!(start.elapsed() < PATIENCE, "no {text:?} in {PATIENCE:?}: {messages}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Ends it as kubelet does, and returns its messages.
    fn end(mut self) -> String {
        // SAFETY: takes numbers; this process was not reaped yet.
        unsafe { libc::kill(self.process.id() as i32, libc::SIGTERM) };
        until("the end of the recorder", || self.process.try_wait().unwrap().is_some());
        let messages = self.messages();
        assert_eq!(self.process.wait().unwrap().code(), Some(0), "{messages}");
        messages
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn containers_of_matching_pods_are_recorded_once_with_labels() -> TestResult {
    needs("bpf")?;
    needs("cgroup")?;
    let mut node = Node::new("once");
    let first = node.start("web-1", 1);
    node.start("db-1", 2);
    let recorder = node.record(&["--label", "node=n1", "--label", "image=web:7"]);
    recorder.until_it_says("attached to default/web-1/app, 1 thread\n");
    let second = node.start("web-2", 3);
    recorder.until_it_says("attached to default/web-2/app, 1 thread\n");
    let messages = recorder.end();
    assert!(!messages.contains("db-1") && !messages.contains("warning"), "{messages}");
    let recordings = node.recordings();
    let names: Vec<&String> = recordings.keys().collect();
    let name = |pod: &str, id: &str| format!("{pod}_default_app-{id}.json");
    assert_eq!(names, [&name("web-1", &first), &name("web-2", &second)]);
    for (pod, recording) in ["web-1", "web-2"].iter().zip(recordings.values()) {
        let run = &recording["runs"][0];
        let labels = serde_json::json!({
            "container": "app", "image": "web:7", "namespace": "default", "node": "n1", "pod": pod
        });
        assert_eq!(run["labels"], labels);
        assert_eq!(run["caveats"][0]["id"], "attached");
        // The process sleeps.
        assert_eq!(recording["calls"][0]["name"], "clock_nanosleep", "{recording}");
    }
    // A later recorder finds the recordings.
    let later = node.record(&[]);
    node.start("web-3", 4);
    later.until_it_says("attached to default/web-3/app");
    let messages = later.end();
    assert!(!messages.contains("web-1") && !messages.contains("web-2"), "{messages}");
    assert_eq!(node.recordings().len(), 3);
    Ok(())
}

fn further_containers_wait_until_one_has_ended() -> TestResult {
    needs("bpf")?;
    needs("cgroup")?;
    let mut node = Node::new("limit");
    let first = node.start("web-1", 1);
    node.start("web-2", 2);
    let recorder = node.record(&["--most", "1"]);
    recorder
        .until_it_says("default/web-2/app waits: the limit of 1 container at a time is reached");
    recorder.until_it_says("attached to default/web-1/app");
    assert!(!recorder.messages().contains("attached to default/web-2/app"));
    node.stop(&first);
    recorder.until_it_says("attached to default/web-2/app");
    let messages = recorder.end();
    let (before, after) = messages.split_once("attached to default/web-2").unwrap();
    assert!(before.contains("callgate: default/web-1/app: 1 syscall, 1 different"), "{messages}");
    assert!(after.contains("callgate: default/web-2/app: 1 syscall, 1 different"), "{messages}");
    assert_eq!(node.recordings().len(), 2);
    Ok(())
}

fn containers_that_have_ended_are_not_recorded() -> TestResult {
    needs("bpf")?;
    needs("cgroup")?;
    let mut node = Node::new("ended");
    // Links stay for a while; the cgroup of one is still there.
    node.link("web-1", &node.id(1));
    let id = node.start("web-2", 2);
    node.stop(&id);
    node.start("web-3", 3);
    let recorder = node.record(&[]);
    recorder.until_it_says("attached to default/web-3/app");
    let messages = recorder.end();
    assert!(!messages.contains("web-1") && !messages.contains("web-2"), "{messages}");
    assert_eq!(node.recordings().len(), 1);
    Ok(())
}

fn the_time_limits_each_recording() -> TestResult {
    needs("bpf")?;
    needs("cgroup")?;
    let mut node = Node::new("time");
    let id = node.start("web-1", 1);
    let recorder = node.record(&["--for", "200ms"]);
    recorder.until_it_says("written to recordings/web-1_default_app-");
    // It runs, and is not recorded again; a container that starts later is.
    node.start("web-2", 2);
    recorder.until_it_says("written to recordings/web-2_default_app-");
    let messages = recorder.end();
    assert_eq!(messages.matches("attached to default/web-1/app").count(), 1);
    assert!(node.processes.contains_key(&id) && node.recordings().len() == 2, "{messages}");
    Ok(())
}

fn a_container_whose_recording_was_cut_short_is_recorded_again() -> TestResult {
    needs("bpf")?;
    needs("cgroup")?;
    let mut node = Node::new("cut");
    let id = node.start("web-1", 1);
    for number in 1..=2 {
        let recorder = node.record(&["--for", "1h"]);
        recorder.until_it_says("attached to default/web-1/app, 1 thread\n");
        let messages = recorder.end();
        assert!(messages.contains("warning: a signal ended the recording after "), "{messages}");
        assert!(messages.contains(&format!("web-1_default_app-{id}.{number}.json")), "{messages}");
    }
    let recordings = node.recordings();
    assert_eq!(recordings.len(), 2, "{:?}", recordings.keys());
    for recording in recordings.values() {
        let caveats = recording["runs"][0]["caveats"].as_array().unwrap();
        assert!(caveats.iter().any(|caveat| caveat["id"] == "cut-short"), "{caveats:?}");
    }
    Ok(())
}

fn a_directory_has_one_recorder_and_parts_of_killed_ones_are_kept() -> TestResult {
    needs("bpf")?;
    needs("cgroup")?;
    let mut node = Node::new("killed");
    let id = node.start("web-1", 1);
    let mut recorder = node.record(&[]);
    recorder.until_it_says("attached to default/web-1/app, 1 thread\n");
    // Should it start, it must not record for ever.
    let second = Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_callgate")])
        .args(["record", "--node", "recordings", "--logs", "logs", "--pods", "default/web-*"])
        .current_dir(&node.directory)
        .output()
        .unwrap();
    let refused = String::from_utf8(second.stderr).unwrap();
    assert!(refused.contains("the directory is used by another recorder"), "{refused}");
    assert_eq!(second.status.code(), Some(2));
    let stem = format!("recordings/web-1_default_app-{id}");
    let part = node.directory.join(format!("{stem}.json.partial"));
    until("a part of the recording", || part.exists());
    recorder.process.kill().unwrap();
    recorder.process.wait().unwrap();
    let later = node.record(&[]);
    later.until_it_says("attached to default/web-1/app, 1 thread\n");
    let messages = later.end();
    assert!(messages.contains(&format!("{stem}.json.partial: warning: ")), "{messages}");
    let names: Vec<String> = node.recordings().into_keys().collect();
    let expected = ["1.json", "json"].map(|end| format!("web-1_default_app-{id}.{end}"));
    assert_eq!(names, expected);
    Ok(())
}
