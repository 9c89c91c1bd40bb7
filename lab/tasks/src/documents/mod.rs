//! `cargo lab yaml` and `cargo lab json`: compares the readers of profiles in YAML and JSON with those of Go's
//! `sigs.k8s.io/yaml` and `encoding/json`, which Kubernetes, Docker, Podman and runc use.
//!
//! [`generate`] makes a random profile as a tree, [`write`](mod@write) writes it as YAML or JSON in one of many ways, and [`mutate`]
//! damages the text. [`driver`] is the program in Go that reads it and returns what it understood; [`judge`] compares that
//! with what our reader understood, [`shrink`] minimizes a text with a difference, and [`run`](mod@run) counts.

mod driver;
mod generate;
mod judge;
mod mutate;
mod options;
mod run;
mod shrink;
mod tree;
mod write;

pub(crate) use options::{JSON_HELP, YAML_HELP};
pub(crate) use run::{json, yaml};
