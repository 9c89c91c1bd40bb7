//! The inputs: files of sessions, and tables.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use callgate::Arch;
use serde_json::{Map, Value, json};

use crate::parity::tables;

/// A filter, or what is taken for one.
pub(crate) struct Input {
    pub(crate) title: String,
    pub(crate) number: usize,
    /// The working directory of the command.
    pub(crate) directory: PathBuf,
    /// The source on the command line.
    pub(crate) argument: String,
    /// The source in requests, without options.
    content: Map<String, Value>,
    pub(crate) options: Options,
}

/// Options about reading.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) arches: Vec<&'static str>,
    pub(crate) caps: Option<&'static str>,
    pub(crate) endian: Option<&'static str>,
    pub(crate) systemd: Option<&'static str>,
    pub(crate) is_strict: bool,
}

/// What texts that include files of the system contain.
const OF_SYSTEM: &[u8] = b"/proc/self/environ";

/// The kernel of all inputs.
const KERNEL: &str = "6.12";

/// The machine of the command.
pub(crate) fn machine() -> &'static str {
    Arch::native().expect("tests run on a machine with an architecture").name()
}

impl Options {
    /// As words of the command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec![format!("--kernel={KERNEL}")];
        words.extend(self.arches.iter().map(|arch| format!("--arch={arch}")));
        words.extend(self.caps.map(|caps| format!("--caps={caps}")));
        words.extend(self.endian.map(|endian| format!("--endian={endian}")));
        words.extend(self.systemd.map(|version| format!("--systemd={version}")));
        words.extend(self.is_strict.then(|| "--strict".to_owned()));
        words
    }

    /// As keys of a source.
    pub(crate) fn of_source(&self) -> Map<String, Value> {
        let mut keys = Map::from_iter([("kernel".to_owned(), KERNEL.into())]);
        let mut set = |key: &str, value: Option<Value>| {
            keys.extend(value.map(|value| (key.to_owned(), value)));
        };
        set("arches", (!self.arches.is_empty()).then(|| json!(self.arches)));
        set("caps", self.caps.map(Value::from));
        set("endian", self.endian.map(Value::from));
        set("systemd", self.systemd.map(Value::from));
        set("strict", self.is_strict.then(|| true.into()));
        keys
    }
}

impl Input {
    /// The source of a request.
    pub(crate) fn source(&self) -> Value {
        let mut source = self.options.of_source();
        source.extend(self.content.clone());
        Value::Object(source)
    }

    /// Whether it is a file with a text.
    pub(crate) fn is_file(&self) -> bool {
        self.text().is_some() && self.directory.join(&self.argument).exists()
    }

    /// The text of the input, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        self.content.get("text")?.as_str()
    }
}

/// All inputs, in directories of their own.
pub(crate) fn inputs() -> Vec<Input> {
    let mut inputs = Inputs { all: Vec::new(), scratch: scratch() };
    inputs.add_sessions();
    for (name, content, options) in tables::files() {
        inputs.file(&name, &BTreeMap::from([(name.clone(), content)]), options);
    }
    for (argument, content, options) in tables::others() {
        inputs.other(argument, content, options);
    }
    inputs.all
}

fn scratch() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("parity");
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir_all(&directory).unwrap();
    directory
}

struct Inputs {
    all: Vec<Input>,
    scratch: PathBuf,
}

impl Inputs {
    /// A file among others, which it may include.
    fn file(&mut self, name: &str, files: &BTreeMap<String, Vec<u8>>, options: Options) {
        let number = self.all.len();
        let directory = self.scratch.join(number.to_string());
        fs::create_dir(&directory).unwrap();
        for (name, content) in files {
            fs::write(directory.join(name), content).unwrap();
        }
        let bytes = &files[name];
        let mut content = Map::from_iter([("name".to_owned(), name.into())]);
        match std::str::from_utf8(bytes) {
            Ok(text) if !name.ends_with(".bpf") => {
                content.insert("text".to_owned(), text.into());
                let texts = files.iter().filter_map(|(name, bytes)| {
                    Some((name.clone(), Value::from(std::str::from_utf8(bytes).ok()?)))
                });
                content.insert("files".to_owned(), Value::Object(texts.collect()));
            }
            _ => {
                let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                content.insert("hex".to_owned(), hex.into());
            }
        }
        let argument = name.to_owned();
        self.all.push(Input {
            title: format!("{number} {name}"),
            number,
            directory,
            argument,
            content,
            options,
        });
    }

    /// A source without a file.
    fn other(&mut self, argument: String, content: Map<String, Value>, options: Options) {
        let number = self.all.len();
        let directory = self.scratch.clone();
        let title = format!("{number} {argument}");
        self.all.push(Input { title, number, directory, argument, content, options });
    }

    /// The files of the sessions of the command.
    fn add_sessions(&mut self) {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
        let mut paths: Vec<PathBuf> =
            fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let files = files_of(&fs::read_to_string(&path).unwrap());
            for (name, content) in &files {
                // The bindings read no files of the system.
                if content.windows(OF_SYSTEM.len()).any(|part| part == OF_SYSTEM) {
                    continue;
                }
                self.file(name, &files, Options::default());
                let session = path.file_stem().unwrap().to_string_lossy();
                if let Some(last) = self.all.last_mut() {
                    last.title = format!("{session}/{name}");
                }
            }
        }
    }
}

/// The files of a session.
fn files_of(session: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut lines = session.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("--- ") else { continue };
        let content: String = lines
            .by_ref()
            .take_while(|line| *line != "---")
            .map(|line| format!("{line}\n"))
            .collect();
        // Names of paths are about directories.
        if !name.contains('/') {
            files.insert(name.to_owned(), content.into_bytes());
        }
    }
    files
}
