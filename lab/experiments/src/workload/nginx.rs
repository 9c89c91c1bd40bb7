//! nginx with one process, driven by `wrk`, or by `ab` if wrk is not installed: a file of 1 KiB over 16 persistent
//! connections.
//!
//! One process (`master_process off`), because a worker outlives a master that is killed.

use super::definition::Workload;
use super::error::WorkloadError;
use super::place::Place;
use super::place::free_port;
use super::recipe::{Done, Load, Ready, Recipe, Server, Step, number_behind};
use super::tools::{Need, Tools};

pub(super) const WORKLOAD: Workload = Workload {
    name: "nginx",
    about: "nginx, wrk or ab requests a file of 1 KiB",
    loads: &[],
    needs: &[Need::new(&["nginx"], "nginx-light"), Need::new(&["wrk", "ab"], "wrk")],
    recipe,
};

/// The maximum number of requests of `ab`, in addition to its time limit.
const MOST_REQUESTS: &str = "10000000";

fn recipe(tools: &Tools, place: &Place, load: &Load) -> Result<Recipe, WorkloadError> {
    let failed = |why| WorkloadError::place(&why);
    let port = free_port().map_err(failed)?;
    place.make("www").map_err(failed)?;
    place.write("www/index.html", &"callgate\n".repeat(114)).map_err(failed)?;
    let configuration = place.write("nginx.conf", &configuration(port)).map_err(failed)?;
    let server = Step::new(tools.get(0), ["-e", "stderr", "-p"])
        .and("", place.path())
        .and("-c", &configuration);
    let (seconds, url) =
        (load.seconds().to_string(), format!("http://127.0.0.1:{port}/index.html"));
    let client = match tools.is(1, "wrk") {
        true => Step::new(tools.get(1), ["-t1", "-c16", "-d", &seconds, &url]),
        false => {
            let args = ["-q", "-k", "-c", "16", "-t", &seconds, "-n", MOST_REQUESTS, &url];
            Step::new(tools.get(1), args)
        }
    };
    Ok(Recipe {
        prepare: Vec::new(),
        server: Some(Server { step: server, ready: Ready::Port(port), stop: libc::SIGTERM }),
        fill: Vec::new(),
        client,
        measures: vec!["GET"],
        unit: "requests",
        read: |text, _| read(text),
    })
}

fn configuration(port: u16) -> String {
    let mut text = String::from(
        "daemon off;\nmaster_process off;\npid nginx.pid;\nerror_log stderr warn;\n\
         events { worker_connections 256; }\n\
         http {\n  access_log off;\n  sendfile on;\n  keepalive_requests 100000000;\n",
    );
    for module in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        text += &format!("  {module}_temp_path {module};\n");
    }
    text + &format!("  server {{ listen 127.0.0.1:{port}; root www; }}\n}}\n")
}

/// The rate of wrk or ab. The exit status of neither tells whether requests failed.
fn read(text: &str) -> Result<Done, String> {
    for complaint in ["Non-2xx", "Socket errors:", "Failed requests:"] {
        let lines = text.lines().map(str::trim);
        let line = lines.filter(|line| line.starts_with(complaint)).find(|line| {
            let numbers = line.split(|c: char| !c.is_ascii_digit());
            // The 2 of Non-2xx is a digit, too.
            numbers
                .skip(if complaint == "Non-2xx" { 2 } else { 0 })
                .any(|number| number.parse::<u64>().is_ok_and(|number| number > 0))
        });
        if let Some(line) = line {
            return Err(format!("requests failed ({line})"));
        }
    }
    let rate = number_behind(text, "Requests/sec:");
    let rate = rate.or_else(|_| number_behind(text, "Requests per second:"))?;
    let of_wrk = text.lines().find_map(|line| line.split_once(" requests in "));
    let count = of_wrk.and_then(|(count, _)| count.trim().parse().ok());
    let count = count.map_or_else(|| number_behind(text, "Complete requests:"), Ok)?;
    Ok(Done { rates: vec![rate], count, processor: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_either_client_is_read() {
        let wrk =
            "  1200 requests in 3.00s, 1.5MB read\nRequests/sec:    400.25\nTransfer/sec: 1MB\n";
        assert_eq!(read(wrk), Ok(Done { rates: vec![400.25], count: 1200.0, processor: None }));
        let ab = "Complete requests:      1536\nFailed requests:        0\nRequests per second:    512.50 [#/sec] (mean)\n";
        assert_eq!(read(ab), Ok(Done { rates: vec![512.5], count: 1536.0, processor: None }));
    }

    #[test]
    fn failed_requests_are_no_throughput() {
        for text in [
            "  Non-2xx or 3xx responses: 7\nRequests/sec: 400\n",
            "  Socket errors: connect 0, read 3, write 0, timeout 0\nRequests/sec: 400\n",
            "Failed requests:        12\nRequests per second:    512.50 [#/sec] (mean)\n",
        ] {
            assert!(read(text).unwrap_err().starts_with("requests failed ("), "{text}");
        }
        let none = "  Socket errors: connect 0, read 0, write 0, timeout 0\n\
                    9 requests in 1s\nRequests/sec: 400\n";
        assert_eq!(read(none), Ok(Done { rates: vec![400.0], count: 9.0, processor: None }));
        assert!(read("").is_err());
    }
}
