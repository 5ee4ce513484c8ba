//! What a process has used, from /proc. Nothing is known on a system without it, nor of a server
//! on another machine.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Linux counts a process's time in hundredths of a second, on every architecture.
const TICK: Duration = Duration::from_millis(10);

/// Processor time of each of these processes with all its children, also those that have ended.
pub(crate) fn cpu_times(pids: &[Option<u32>]) -> Vec<Option<Duration>> {
    let table = table();
    pids.iter()
        .map(|pid| Some(TICK * u32::try_from(ticks(&table, (*pid)?)?).ok()?))
        .collect()
}

struct Entry {
    parent: u32,
    ticks: u64,
}

fn table() -> HashMap<u32, Entry> {
    let Ok(all) = fs::read_dir("/proc") else {
        return HashMap::new();
    };
    all.flatten()
        .filter_map(|process| {
            let pid = process.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(process.path().join("stat")).ok()?;
            // The second field, the name, may hold anything; it ends at the last parenthesis.
            let (_, rest) = stat.rsplit_once(") ")?;
            let fields: Vec<&str> = rest.split(' ').collect();
            let parent = fields.get(1)?.parse().ok()?;
            let times = fields.get(11..15)?.iter().map(|t| t.parse::<u64>().ok());
            let ticks = times.sum::<Option<u64>>()?;
            Some((pid, Entry { parent, ticks }))
        })
        .collect()
}

fn ticks(table: &HashMap<u32, Entry>, pid: u32) -> Option<u64> {
    let own = table.get(&pid)?.ticks;
    let children = table.iter().filter(|(_, entry)| entry.parent == pid);
    let theirs = children.filter_map(|(child, _)| ticks(table, *child));
    Some(own + theirs.sum::<u64>())
}

/// The most memory that a process ever had in use, in MB.
pub(crate) fn peak_memory(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kb: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kb * 1024.0 / 1e6)
}

/// The local process that listens on a TCP port. The oldest, where several share the socket.
pub(crate) fn listening_on(port: u16) -> Option<u32> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening(&table, port))
        .collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter_map(|process| {
            let pid = process.file_name().to_str()?.parse().ok()?;
            holds(&process.path().join("fd"), &sockets).then_some(pid)
        })
        .min()
}

fn listening(table: &str, port: u16) -> Vec<String> {
    let port = format!(":{port:04X}");
    table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.len() > 9 && fields[1].ends_with(&port) && fields[3] == "0A")
        .map(|fields| format!("socket:[{}]", fields[9]))
        .collect()
}

fn holds(files: &Path, sockets: &[String]) -> bool {
    fs::read_dir(files).is_ok_and(|files| {
        files.flatten().any(|file| {
            fs::read_link(file.path())
                .is_ok_and(|target| sockets.iter().any(|socket| target == Path::new(socket)))
        })
    })
}
