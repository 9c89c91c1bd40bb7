//! MariaDB, driven by `sysbench`: rows read by their key over a Unix socket, 4 connections.
//!
//! The table is never written, so its state is the same in every round.

use super::definition::Workload;
use super::error::WorkloadError;
use super::place::Place;
use super::recipe::{Done, Load, Ready, Recipe, Server, Step, number_behind};
use super::tools::{Need, Tools};

pub(super) const WORKLOAD: Workload = Workload {
    name: "mariadb",
    about: "mariadbd, sysbench reads rows by key",
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
        let args = [
            "oltp_point_select",
            "--db-driver=mysql",
            "--mysql-user=root",
            "--mysql-db=callgate",
            "--tables=1",
            "--table-size=10000",
            "--threads=4",
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
        measures: vec!["SELECT"],
        unit: "transactions",
        read: |text, _| read(text),
    })
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
    fn the_rate_of_transactions_is_read() {
        let text = "    queries performed:\n        total:   900\n    \
                    transactions:        900    (300.50 per sec.)\n    \
                    queries:             900    (301.50 per sec.)\n";
        assert_eq!(read(text), Ok(Done { rates: vec![300.5], count: 900.0, processor: None }));
        assert!(read("FATAL: no connection\n").is_err());
    }
}
