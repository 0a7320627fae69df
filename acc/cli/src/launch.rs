//! `acc launch -n P -- PROGRAM`

use crate::output::trace::Parts;
use crate::output::{complain, say};
use backend_xla::{DEFAULT_PORT, variables};
use std::ffi::{OsStr, OsString};
use std::net::TcpListener;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Start a program as several processes, which run arrays together on XLA, each with its part (docs/SCALE.md).
///
/// When one of them fails the others end, too. With `--trace`, each process records what it does while its mesh lives; what
/// is killed, or ends by `exit`, leaves no trace, which the trace then says.
#[derive(clap::Args)]
pub struct Args {
    /// How many processes.
    #[arg(short = 'n', long, value_parser = clap::value_parser!(u32).range(1..))]
    processes: Option<u32>,
    /// Start nothing, and print what to start on each of these hosts, a process for each: names, separated by commas. The
    /// first one must be reached by all others.
    #[arg(long, value_delimiter = ',')]
    hosts: Vec<String>,
    /// The port at which the first process listens; a free one if not given.
    #[arg(long)]
    port: Option<u16>,
    /// The program, with its arguments.
    #[arg(last = true, required = true)]
    program: Vec<OsString>,
}

/// How often processes are looked at.
const TIME_BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// How long the others have to tell their errors once a process has failed.
const MAX_TIME_AFTER_FAILURE: Duration = Duration::from_secs(20);

impl Args {
    /// How many processes are started on this machine.
    pub fn processes(&self) -> Option<u32> {
        self.processes.filter(|_| self.hosts.is_empty())
    }
}

pub fn main(args: &Args, parts: Option<&Parts>) -> crate::Outcome {
    if !args.hosts.is_empty() {
        if args.processes.is_some_and(|n| n as usize != args.hosts.len()) {
            return Err("give as many --hosts as processes; a host may be named more than once".to_string());
        }
        for line in on_hosts(&args.hosts, args.port.unwrap_or(DEFAULT_PORT), &args.program)? {
            say!("{line}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let processes = args.processes.ok_or("say how many processes: acc launch -n 2 -- PROGRAM")?;
    let [program, rest @ ..] = &args.program[..] else { return Err("name a program".to_string()) };
    start(processes, args.port, parts, |_| {
        let mut command = Command::new(program);
        command.args(rest);
        command
    })
}

/// What to start on each host.
fn on_hosts(hosts: &[String], port: u16, program: &[OsString]) -> Result<Vec<String>, String> {
    let first = hosts.first().ok_or("name a host")?;
    let words = program.iter().map(|w| quoted(w)).collect::<Result<Vec<_>, _>>()?.join(" ");
    let line = |(process, host): (usize, &String)| {
        let set = [
            (variables::PROCESS, process.to_string()),
            (variables::PROCESSES, hosts.len().to_string()),
            (variables::COORDINATOR, format!("{first}:{port}")),
        ];
        let set: Vec<String> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{host}: env {} {words}", set.join(" "))
    };
    Ok(hosts.iter().enumerate().map(line).collect())
}

/// A word as a shell reads it.
fn quoted(word: &OsStr) -> Result<String, String> {
    let word = word.to_str().ok_or("the program's arguments must be UTF-8 text")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return Ok(word.to_string());
    }
    Ok(format!("'{}'", word.replace('\'', "'\\''")))
}

/// Starts `acc` with other arguments as processes of which the first one prints.
pub fn this_command(processes: u32, parts: Option<&Parts>, arguments: impl Fn(&mut Command)) -> crate::Outcome {
    let acc = std::env::current_exe().map_err(|e| format!("cannot start processes: {e}"))?;
    start(processes, None, parts, |process| {
        let mut command = Command::new(&acc);
        arguments(&mut command);
        if process > 0 {
            command.stdout(Stdio::null());
        }
        command
    })
}

/// Starts processes on this machine, each with a part of its processors, and waits for them. The exit status is that of the
/// first one that fails.
fn start(processes: u32, port: Option<u16>, parts: Option<&Parts>, command: impl Fn(u32) -> Command) -> crate::Outcome {
    let port = port.map_or_else(free_port, Ok)?;
    let all = processors();
    let mut running: Vec<(u32, Child)> = Vec::new();
    for process in 0..processes {
        let mut command = command(process);
        command
            .env(variables::PROCESS, process.to_string())
            .env(variables::PROCESSES, processes.to_string())
            .env(variables::COORDINATOR, format!("127.0.0.1:{port}"))
            .env(variables::PROCESSORS, part(&all, process, processes));
        if let Some(parts) = parts {
            parts.ask(&mut command);
        }
        if process > 0 {
            command.stdin(Stdio::null());
        }
        match command.spawn() {
            Ok(child) => running.push((process, child)),
            Err(e) => {
                running.iter_mut().for_each(|(_, child)| end(child));
                return Err(format!("cannot start {}: {e}", command.get_program().display()));
            }
        }
    }
    let mut failed: Option<(Instant, ExitCode)> = None;
    while !running.is_empty() {
        let mut left = Vec::new();
        for (process, mut child) in running {
            match child.try_wait() {
                Ok(None) => left.push((process, child)),
                Ok(Some(status)) if status.success() => {}
                Ok(Some(status)) => {
                    complain!("acc launch: process {process} of {processes} failed: {status}");
                    let code =
                        status.code().and_then(|c| u8::try_from(c).ok()).map_or(ExitCode::FAILURE, ExitCode::from);
                    failed.get_or_insert((Instant::now(), code));
                }
                Err(e) => return Err(format!("cannot wait for process {process}: {e}")),
            }
        }
        running = left;
        if failed.is_some_and(|(since, _)| since.elapsed() > MAX_TIME_AFTER_FAILURE) {
            running.iter_mut().for_each(|(_, child)| end(child));
        }
        std::thread::sleep(TIME_BETWEEN_LOOKS);
    }
    Ok(failed.map_or(ExitCode::SUCCESS, |(_, code)| code))
}

fn end(child: &mut Child) {
    // It may have ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr());
    listener.map(|a| a.port()).map_err(|e| format!("there is no free port: {e}"))
}

/// The processors that this process may use, where the system tells.
fn processors() -> Vec<usize> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).unwrap_or_default().trim();
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// The processors of one process of several, none if the system does not tell which there are.
fn part(all: &[usize], process: u32, processes: u32) -> String {
    let (n, process, processes) = (all.len(), process as usize, processes as usize);
    let own = if n < processes {
        process % n.max(1)..process % n.max(1) + 1
    } else {
        process * n / processes..(process + 1) * n / processes
    };
    let own: Vec<String> = all.get(own).unwrap_or(&[]).iter().map(usize::to_string).collect();
    own.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_divided() {
        let all = [0, 1, 4, 5];
        assert_eq!([part(&all, 0, 2), part(&all, 1, 2)], ["0,1", "4,5"]);
        assert_eq!([part(&all, 0, 3), part(&all, 1, 3), part(&all, 2, 3)], ["0", "1", "4,5"]);
        assert_eq!([part(&all[..1], 0, 2), part(&all[..1], 1, 2)], ["0", "0"]);
        assert_eq!(part(&[], 1, 2), "");
    }

    #[test]
    fn hosts_get_lines_of_a_shell() {
        let program: Vec<OsString> = ["./p", "it's", "a b"].map(OsString::from).to_vec();
        let lines = on_hosts(&["n1".to_string(), "n2".to_string()], 7000, &program);
        let line = |host: &str, process: u32| {
            format!("{host}: env ACC_PROCESS={process} ACC_PROCESSES=2 ACC_COORDINATOR=n1:7000 ./p 'it'\\''s' 'a b'")
        };
        assert_eq!(lines, Ok(vec![line("n1", 0), line("n2", 1)]));
    }
}
