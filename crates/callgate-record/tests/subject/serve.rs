//! A server that makes syscalls on request, to which tests attach while it runs. Each request makes a syscall that no
//! other request makes.
//!
//! A line on standard input is a request with a number; the server answers each with a line:
//!
//! - `call N`: the main thread makes N syscalls. `work N`: so does each of three threads that existed before.
//! - `thread N`, `child N`, `program N`: so does a new thread, a new process, another program.
//! - `relay N`: threads that start each other make a syscall each, continuously; answers when there were N more.
//! - `made`: answers how many of those syscalls there were.
//! - `exit`: ends.
//!
//! With arguments, it is another program:
//!
//! - `leaf N`: makes N syscalls.
//! - `join FILE N`: makes syscalls, writes its process ID to the file, makes syscalls, and executes the leaf.
//! - `stay FILE N`: like that, but executes a program that does not exist, and makes syscalls again.

#![allow(missing_docs)]

use std::io::{BufRead as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use libc::c_long;

const SELF: &str = "/proc/self/exe";

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[1..] {
        ["leaf", count] => times(count.parse().unwrap(), libc::SYS_geteuid),
        ["join", file, count] => {
            enter(file);
            panic!("{}", Command::new(SELF).args(["leaf", count]).exec());
        }
        ["stay", file, count] => {
            enter(file);
            let _ = Command::new("/nonexistent/program").exec();
            times(count.parse().unwrap(), libc::SYS_setsid);
        }
        _ => serve(),
    }
}

/// Makes a syscall without arguments this often.
fn times(count: usize, nr: c_long) {
    for _ in 0..count {
        // SAFETY: these syscalls take no arguments.
        unsafe { libc::syscall(nr) };
    }
}

fn enter(file: &str) {
    times(25, libc::SYS_setsid);
    std::fs::write(file, std::process::id().to_string()).unwrap();
    times(25, libc::SYS_setsid);
}

fn serve() {
    let (done, wait_for) = mpsc::channel();
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let (give, take) = mpsc::channel::<usize>();
            let done = done.clone();
            std::thread::spawn(move || {
                for count in take {
                    times(count, libc::SYS_munlockall);
                    done.send(()).unwrap();
                }
            });
            give
        })
        .collect();
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let (request, count) = line.split_once(' ').unwrap_or((&line, "0"));
        let count: usize = count.parse().unwrap();
        match request {
            "call" => times(count, libc::SYS_getegid),
            "work" => {
                workers.iter().for_each(|give| give.send(count).unwrap());
                workers.iter().for_each(|_| wait_for.recv().unwrap());
            }
            "thread" => {
                std::thread::spawn(move || times(count, libc::SYS_getgid)).join().unwrap();
            }
            "child" => child(count),
            "program" => {
                let count = count.to_string();
                Command::new(SELF).args(["leaf", &count]).status().unwrap();
            }
            "relay" => {
                let until = MADE.load(Ordering::Acquire) + count as u64;
                if until == count as u64 {
                    relay();
                }
                while MADE.load(Ordering::Acquire) < until {
                    std::thread::yield_now();
                }
            }
            "made" => {
                println!("{}", MADE.load(Ordering::Acquire));
                continue;
            }
            _ => break,
        }
        println!("done");
    }
    let _ = std::io::stdout().flush();
}

fn child(count: usize) {
    // SAFETY: the child only makes syscalls.
    unsafe {
        match libc::fork() {
            0 => {
                times(count, libc::SYS_getuid);
                libc::_exit(0);
            }
            child => libc::waitpid(child, std::ptr::null_mut(), 0),
        }
    };
}

/// How many syscalls the threads of the relay have made.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Makes a syscall in a new thread, which starts the next one.
fn relay() {
    std::thread::spawn(|| {
        times(1, libc::SYS_getpgid);
        MADE.fetch_add(1, Ordering::Release);
        relay();
    });
}
