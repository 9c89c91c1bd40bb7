//! Descriptions of containers for Docker and Podman that name profiles: Compose files, `devcontainer.json` and the configuration
//! of Docker's daemon.
//!
//! | document | profile | capabilities |
//! |---|---|---|
//! | Compose | `security_opt` of a service, the last one with `seccomp` | `cap_add`, `cap_drop`, `privileged` |
//! | `devcontainer.json` | `securityOpt`, and `--security-opt` in `runArgs` | `capAdd`, and the options in `runArgs` |
//! | `daemon.json` | `seccomp-profile` | the default ones |
//!
//! A service without the option has the default profile, or if it is privileged none. Paths are relative to the file, as those of
//! `docker compose` are to its project.
//!
//! Sources: `parseSecurityOpts` in `pkg/compose/create.go` of docker/compose, `daemon/seccomp_linux.go` of moby, the schema of
//! containers.dev.

use super::command::Options;
use super::container::{option_value, texts};
use super::named::Named;
use crate::built_in::defaults::Engine;
use crate::diagnostics::quote::shorten;
use crate::syntax::tree::{Node, NodeKind};

/// The containers of a document, with their profiles; none if it describes none.
pub(super) fn containers(document: &Node<'_>) -> Vec<Named> {
    if document.get("kind").is_some() {
        return Vec::new();
    }
    if let Some(services) = document.get("services").filter(|node| are_containers(node)) {
        let members = services.members().iter();
        return members.map(|member| service(&member.key, member.key_at, &member.value)).collect();
    }
    let is_development = ["runArgs", "securityOpt"].iter().any(|key| document.get(key).is_some());
    if is_development {
        return vec![development(document)];
    }
    let of_daemon = document.get("seccomp-profile").and_then(|node| Some((node.at, node.text()?)));
    of_daemon.map(|(at, value)| daemon(at, value)).into_iter().collect()
}

/// Whether services are those of Compose: other programs have maps with this name, too.
fn are_containers(services: &Node<'_>) -> bool {
    const KEYS: [&str; 5] = ["build", "cap_add", "extends", "image", "security_opt"];
    let mut members = services.members().iter();
    members.any(|member| KEYS.iter().any(|key| member.value.get(key).is_some()))
}

fn service(name: &str, at: usize, service: &Node<'_>) -> Named {
    let mut options = Options::new(at);
    for item in service.get("security_opt").map_or(&[][..], Node::items) {
        let value = item.text().and_then(option_value);
        if let Some(value) = value {
            options.profile = Some((item.at, value.trim().to_owned()));
        }
    }
    options.is_privileged = is_true(service, "privileged");
    options.add(service.get("cap_add"), service.get("cap_drop"));
    let whose = format!("the service {}", shorten(name));
    options.named(Engine::Docker, whose, Some(name.to_owned()))
}

fn development(document: &Node<'_>) -> Named {
    let mut options = Options::new(document.at);
    options.is_privileged = is_true(document, "privileged");
    for item in document.get("securityOpt").map_or(&[][..], Node::items) {
        if let Some(value) = item.text().and_then(option_value) {
            options.profile = Some((item.at, value.to_owned()));
        }
    }
    options.add(document.get("capAdd"), None);
    let words = document.get("runArgs").map_or(&[][..], Node::items).iter();
    let words: Vec<(usize, String)> =
        words.filter_map(|word| Some((word.at, word.text()?.to_owned()))).collect();
    options.read(&words);
    options.named(Engine::Docker, "the development container".to_owned(), None)
}

fn daemon(at: usize, value: &str) -> Named {
    let mut options = Options::new(at);
    options.profile = Some((at, value.to_owned()));
    options.named(Engine::Docker, "a container of this daemon".to_owned(), None)
}

fn is_true(node: &Node<'_>, key: &str) -> bool {
    node.get(key).is_some_and(|node| node.kind == NodeKind::Bool(true))
}

impl Options {
    /// Adds lists of capabilities.
    fn add(&mut self, added: Option<&Node<'_>>, dropped: Option<&Node<'_>>) {
        let list = |node: Option<&Node<'_>>| -> Vec<String> {
            node.into_iter().flat_map(texts).map(str::to_owned).collect()
        };
        self.added.extend(list(added));
        self.dropped.extend(list(dropped));
    }
}

/// The text of a `devcontainer.json` as JSON: with spaces instead of comments and commas before closing brackets, so that places
/// stay the same. `None` if the text is not such a file.
pub(super) fn without_comments(text: &str) -> Option<String> {
    if !["\"runArgs\"", "\"securityOpt\""].iter().any(|key| text.contains(key)) {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    let mut state = State::Code;
    // The last comma that nothing but white space follows.
    let mut comma = None;
    for at in 0..bytes.len() {
        let (byte, next) = (bytes.get(at).copied()?, bytes.get(at + 1).copied());
        let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at).copied());
        let is_blank = match state {
            State::Code => match byte {
                b'"' => {
                    state = State::Text { is_escaped: false };
                    false
                }
                b'/' if next == Some(b'/') => {
                    state = State::Line;
                    true
                }
                b'/' if next == Some(b'*') => {
                    state = State::Block { from: at };
                    true
                }
                _ => false,
            },
            State::Text { is_escaped: true } => {
                state = State::Text { is_escaped: false };
                false
            }
            State::Text { is_escaped: false } => {
                match byte {
                    b'\\' => state = State::Text { is_escaped: true },
                    b'"' => state = State::Code,
                    _ => {}
                }
                false
            }
            State::Line if byte == b'\n' => {
                state = State::Code;
                false
            }
            State::Line => true,
            State::Block { from } => {
                if byte == b'/' && before == Some(b'*') && at > from + 2 {
                    state = State::Code;
                }
                byte != b'\n'
            }
        };
        if is_blank {
            *bytes.get_mut(at)? = b' ';
            continue;
        }
        match byte {
            b',' if state == State::Code => comma = Some(at),
            b']' | b'}' if state == State::Code => {
                if let Some(comma) = comma.take() {
                    *bytes.get_mut(comma)? = b' ';
                }
            }
            _ if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
    }
    String::from_utf8(bytes).ok()
}

/// Where in a text a byte is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    Text { is_escaped: bool },
    Line,
    Block { from: usize },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_last_commas_become_spaces() {
        for (text, expected) in [
            ("{\"runArgs\": [1,], // x, }\n}", "{\"runArgs\": [1 ]         \n}"),
            ("/*/ a\n*/{\"runArgs\":\"//,]\\\",}\",}", "     \n  {\"runArgs\":\"//,]\\\",}\" }"),
            ("{\"runArgs\": [1, /* é */ ]}", "{\"runArgs\": [1           ]}"),
            ("{\"runArgs\": [1, 2]}", "{\"runArgs\": [1, 2]}"),
        ] {
            assert_eq!(without_comments(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(without_comments("{} // none"), None);
    }
}
