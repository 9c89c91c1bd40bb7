//! The list of workloads.

use super::definition::Workload;
use super::{ffmpeg, mariadb, nginx, postgres, redis};

impl Workload {
    /// All of them.
    pub const ALL: &'static [Workload] = &[
        redis::WORKLOAD,
        nginx::WORKLOAD,
        mariadb::WORKLOAD,
        ffmpeg::WORKLOAD,
        postgres::WORKLOAD,
    ];
}
