//! MariaDB, driven by `sysbench` over a Unix socket: by default rows read by their key, with 4 connections.
//!
//! The other loads are those of a published comparison of MySQL inside and outside of containers (2022), with 1 to 64
//! connections. Loads that only read find the table in the same state in every round; the others change it, for all
//! variants alike.

use super::definition::Workload;
use super::error::WorkloadError;
use super::place::Place;
use super::recipe::{Done, Load, Ready, Recipe, Server, Step, number_behind};
use super::tools::{Need, Tools};

pub(super) const WORKLOAD: Workload = Workload {
    name: "mariadb",
    about: "mariadbd and sysbench",
    loads: &["ps", "ro", "rw", "wo", "update-index", "update-non-index", "insert"],
    needs: &[
        Need::new(&["mariadbd", "mysqld"], "mariadb-server"),
        Need::new(&["mariadb-install-db", "mysql_install_db"], "mariadb-server"),
        Need::new(&["mariadb", "mysql"], "mariadb-client"),
        Need::new(&["sysbench"], "sysbench"),
    ],
    recipe,
};

fn recipe(tools: &Tools, place: &Place, load: &Load) -> Result<Recipe, WorkloadError> {
    let (data, socket) = (place.join("data"), place.join("socket"));
    let install = Step::new(
        tools.get(1),
        ["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"],
    )
    .and("--datadir=", &data);
    let server = Step::new(
        tools.get(0),
        ["--no-defaults", "--skip-networking", "--innodb-buffer-pool-size=64M"],
    )
    .and("--datadir=", &data)
    .and("--socket=", &socket)
    .and("--pid-file=", &place.join("pid"));
    let create =
        Step::new(tools.get(2), ["--no-defaults", "-u", "root", "-e", "CREATE DATABASE callgate"])
            .and("--socket=", &socket);
    let sysbench = |what: &str| {
        let seconds = format!("--time={}", load.seconds());
        let threads = format!("--threads={}", load.threads);
        let args = [
            script(load.name).0,
            "--db-driver=mysql",
            "--mysql-user=root",
            "--mysql-db=callgate",
            "--tables=1",
            "--table-size=10000",
            &threads,
            "--events=0",
            &seconds,
            what,
        ];
        Step::new(tools.get(3), args).and("--mysql-socket=", &socket)
    };
    Ok(Recipe {
        prepare: vec![install],
        server: Some(Server {
            step: server,
            ready: Ready::Socket(socket.clone()),
            stop: libc::SIGTERM,
        }),
        fill: vec![create, sysbench("prepare")],
        client: sysbench("run"),
        measures: vec![script(load.name).1],
        unit: "transactions",
        read: |text, _| read(text),
    })
}

/// The script of sysbench for a load, and the name of its measure.
fn script(load: Option<&str>) -> (&'static str, &'static str) {
    match load {
        Some("ro") => ("oltp_read_only", "RO"),
        Some("rw") => ("oltp_read_write", "RW"),
        Some("wo") => ("oltp_write_only", "WO"),
        Some("update-index") => ("oltp_update_index", "UPDATE_INDEX"),
        Some("update-non-index") => ("oltp_update_non_index", "UPDATE_NON_INDEX"),
        Some("insert") => ("oltp_insert", "INSERT"),
        _ => ("oltp_point_select", "SELECT"),
    }
}

/// The rate is in parentheses after the number of transactions.
fn read(text: &str) -> Result<Done, String> {
    let line = text.lines().find(|line| line.trim_start().starts_with("transactions:"));
    let line = line.ok_or("missing line of transactions")?;
    Ok(Done {
        rates: vec![number_behind(line, "(")?],
        count: number_behind(line, ":")?,
        processor: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_has_a_script_of_its_own() {
        let mut scripts: Vec<_> = WORKLOAD.loads.iter().map(|load| script(Some(load))).collect();
        assert_eq!(scripts.first(), Some(&script(None)), "the default is the first");
        scripts.sort_unstable();
        scripts.dedup();
        assert_eq!(scripts.len(), 7);
    }

    #[test]
    fn the_rate_of_transactions_is_read() {
        let text = "    queries performed:\n        total:   900\n    \
                    transactions:        900    (300.50 per sec.)\n    \
                    queries:             900    (301.50 per sec.)\n";
        assert_eq!(read(text), Ok(Done { rates: vec![300.5], count: 900.0, processor: None }));
        assert!(read("FATAL: no connection\n").is_err());
    }
}
