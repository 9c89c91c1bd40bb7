//! The list of workloads.

use super::definition::Workload;
use super::{build, ffmpeg, mariadb, nginx, postgres, redis, unittest};

impl Workload {
    /// All of them.
    pub const ALL: &'static [Workload] = &[
        redis::WORKLOAD,
        nginx::WORKLOAD,
        mariadb::WORKLOAD,
        ffmpeg::WORKLOAD,
        postgres::WORKLOAD,
        unittest::WORKLOAD,
        build::WORKLOAD,
    ];
}
