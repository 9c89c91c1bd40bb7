//! A server of static files for this machine alone.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use callgate_tasks::Result;

use super::html::decoded;

/// How long a connection may take to send its request or to take the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum size of a request.
const MAX_REQUEST: u64 = 16 << 10;

/// What a request is answered with.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    File(PathBuf),
    /// Another address for a directory, so that links of its page are relative to it.
    Moved(String),
    Missing,
    NotAllowed,
}

/// Serves a directory on a port of 127.0.0.1 until the process is ended; port 0 is any free one.
pub(super) fn serve(directory: &Path, port: u16) -> Result<()> {
    let failed = |error| format!("127.0.0.1:{port}: {error}");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    println!("http://{address}/");
    for stream in listener.incoming().flatten() {
        let directory = directory.to_owned();
        // A browser opens connections that it does not use yet. What one connection does wrong is not the server's error.
        std::thread::spawn(move || drop(answer(stream, &directory)));
    }
    Ok(())
}

fn answer(mut stream: TcpStream, directory: &Path) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut lines = BufReader::new(stream.try_clone()?.take(MAX_REQUEST)).lines();
    let request = lines.next().transpose()?.unwrap_or_default();
    // The rest of the request must be read, or closing the connection may discard the answer.
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let (status, header, body) = match find(directory, &request) {
        Answer::File(path) => {
            ("200 OK", format!("Content-Type: {}", media_type(&path)), std::fs::read(path)?)
        }
        Answer::Moved(to) => ("301 Moved Permanently", format!("Location: {to}"), Vec::new()),
        Answer::Missing => ("404 Not Found", PLAIN.to_owned(), b"not found\n".to_vec()),
        Answer::NotAllowed => ("405 Method Not Allowed", PLAIN.to_owned(), Vec::new()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\n{header}\r\nContent-Length: {length}\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    if !request.starts_with("HEAD ") {
        stream.write_all(&body)?;
    }
    Ok(())
}

const PLAIN: &str = "Content-Type: text/plain";

/// The answer to the first line of a request.
fn find(directory: &Path, request: &str) -> Answer {
    let mut words = request.split(' ');
    let (method, address) = (words.next(), words.next().unwrap_or_default());
    if !matches!(method, Some("GET" | "HEAD")) {
        return Answer::NotAllowed;
    }
    let address = address.split(['?', '#']).next().unwrap_or_default();
    let Some(relative) = address.strip_prefix('/') else { return Answer::Missing };
    let relative = decoded(relative);
    let is_below =
        Path::new(&relative).components().all(|part| matches!(part, Component::Normal(_)));
    let path = directory.join(&relative);
    match () {
        () if !is_below => Answer::Missing,
        () if path.is_dir() && !address.ends_with('/') => Answer::Moved(format!("{address}/")),
        () if path.is_dir() && path.join("index.html").is_file() => {
            Answer::File(path.join("index.html"))
        }
        () if path.is_file() => Answer::File(path),
        () => Answer::Missing,
    }
}

/// The type of a file, by its name. A browser executes modules only with the right one.
fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "map" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "wasm" => "application/wasm",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use callgate_tasks::files::{make, remove, write};

    use super::*;

    #[test]
    fn files_below_the_directory_are_found_and_no_others() {
        let outer = std::env::temp_dir().join(format!("callgate-serve-{}", std::process::id()));
        let book = outer.join("book");
        remove(&outer).unwrap();
        make(&book.join("a b")).unwrap();
        write(&outer.join("secret"), "").unwrap();
        for name in ["index.html", "a b/index.html", "x.js"] {
            write(&book.join(name), name).unwrap();
        }
        let file = |name: &str| Answer::File(book.join(name));
        for (request, expected) in [
            ("GET / HTTP/1.1", file("index.html")),
            ("HEAD /x.js?v=1 HTTP/1.1", file("x.js")),
            ("GET /a%20b/ HTTP/1.1", file("a b/index.html")),
            ("GET /a%20b HTTP/1.1", Answer::Moved("/a%20b/".to_owned())),
            ("GET /none HTTP/1.1", Answer::Missing),
            ("GET /../secret HTTP/1.1", Answer::Missing),
            ("GET /%2e%2e/secret HTTP/1.1", Answer::Missing),
            ("GET //etc/passwd HTTP/1.1", Answer::Missing),
            ("GET x HTTP/1.1", Answer::Missing),
            ("POST / HTTP/1.1", Answer::NotAllowed),
            ("", Answer::NotAllowed),
        ] {
            assert_eq!(find(&book, request), expected, "{request}");
        }
        remove(&outer).unwrap();
    }

    #[test]
    fn a_connection_gets_type_and_content() {
        let book = std::env::temp_dir().join(format!("callgate-served-{}", std::process::id()));
        make(&book).unwrap();
        write(&book.join("x.wasm"), "module").unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(b"GET /x.wasm HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        answer(listener.accept().unwrap().0, &book).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        remove(&book).unwrap();
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\nContent-Type: application/wasm\r\n"),
            "{text}"
        );
        assert!(text.ends_with("\r\n\r\nmodule"), "{text}");
    }
}
