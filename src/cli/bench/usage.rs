//! What this process and the server's cost: CPU time and memory, where the system tells.

use std::collections::BTreeMap;
use std::time::Duration;

/// CPU time this process has used, all threads.
pub fn own_cpu() -> Option<Duration> {
    #[cfg(target_os = "linux")]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let (seconds, nanos) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
        Some(Duration::new(seconds, nanos))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Each socket is a file: lets this process open as many as the system allows. Returns how many that is.
pub fn raise_file_limit() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        // Refused: what there was stays.
        let _ = setrlimit(Resource::Nofile, limit);
        getrlimit(Resource::Nofile).current
    }
    #[cfg(not(target_os = "linux"))]
    None
}

#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    #[error("--pid {0}: expected a running process, found none")]
    Gone(u32),
    #[error("--pid {pid}: expected {field} in /proc, found none")]
    Unreadable { pid: u32, field: &'static str },
}

/// CPU time and memory of a process at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    pub user: Duration,
    pub system: Duration,
    /// Bytes in memory.
    pub rss: u64,
    /// CPU time by what its threads are called, without their numbers.
    pub threads: BTreeMap<String, Duration>,
}

/// Another process on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    pid: u32,
    ticks_per_second: u64,
}

impl Process {
    /// # Errors
    /// When there is no such process, or this system has no `/proc`.
    pub fn open(pid: u32) -> Result<Self, ProcessError> {
        #[cfg(target_os = "linux")]
        let ticks_per_second = rustix::param::clock_ticks_per_second();
        #[cfg(not(target_os = "linux"))]
        let ticks_per_second = 100;
        let process = Self { pid, ticks_per_second };
        process.usage()?;
        Ok(process)
    }

    /// # Errors
    /// When the process has ended.
    pub fn usage(&self) -> Result<Usage, ProcessError> {
        let pid = self.pid;
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}"));
        let stat = read("stat").map_err(|_| ProcessError::Gone(pid))?;
        let [user, system] = cpu_ticks(&stat).ok_or(ProcessError::Unreadable { pid, field: "utime and stime" })?;
        let status = read("status").map_err(|_| ProcessError::Gone(pid))?;
        let rss = rss_bytes(&status).ok_or(ProcessError::Unreadable { pid, field: "VmRSS" })?;
        Ok(Usage { user: self.time(user), system: self.time(system), rss, threads: self.threads() })
    }

    fn time(&self, ticks: u64) -> Duration {
        Duration::from_secs_f64(ticks as f64 / self.ticks_per_second as f64)
    }

    /// Threads come and go while they are read: what is gone is left out.
    fn threads(&self) -> BTreeMap<String, Duration> {
        let mut threads = BTreeMap::new();
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten().flatten();
        for task in tasks {
            let Ok(stat) = std::fs::read_to_string(task.path().join("stat")) else { continue };
            let (Some([user, system]), Some(name)) = (cpu_ticks(&stat), thread_name(&stat)) else { continue };
            *threads.entry(name).or_default() += self.time(user + system);
        }
        threads
    }
}

/// User and system time out of `/proc/PID/stat`. The process's name, in brackets, may hold spaces and brackets.
fn cpu_ticks(stat: &str) -> Option<[u64; 2]> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    // Fields 14 and 15; the name was the second.
    Some([fields.nth(11)?.parse().ok()?, fields.next()?.parse().ok()?])
}

/// `voxwire-voice-1` and `voxwire-voice-2` do the same work.
fn thread_name(stat: &str) -> Option<String> {
    let (name, _) = stat.split_once('(')?.1.rsplit_once(')')?;
    Some(name.split('|').next()?.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-').to_string())
}

fn rss_bytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1105 0 0 0 123 45 6 7 20 0 3 0 99 1000 200 18446744073709551615";
        assert_eq!(cpu_ticks(stat), Some([123, 45]));
        assert_eq!(cpu_ticks("7 (a) S 1"), None);
        assert_eq!(thread_name(stat).as_deref(), Some("a) b (c"));
        assert_eq!(thread_name("7 (voxwire-voice-12) S").as_deref(), Some("voxwire-voice"));
        assert_eq!(thread_name("7 (actix-rt|system:) S").as_deref(), Some("actix-rt"));
        assert_eq!(rss_bytes("Name:\ta\nVmRSS:\t    2048 kB\nThreads: 1\n"), Some(2 << 20));
        assert_eq!(rss_bytes("Name:\ta\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn work_shows_in_both_clocks() {
        let process = Process::open(std::process::id()).unwrap();
        let (own, seen) = (own_cpu().unwrap(), process.usage().unwrap());
        let mut sum = 0u64;
        while own_cpu().unwrap() - own < Duration::from_millis(60) {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(1));
        }
        let after = process.usage().unwrap();
        let spent = (after.user + after.system).saturating_sub(seen.user + seen.system);
        assert!(spent >= Duration::from_millis(40), "{spent:?} seen of 60 ms spent");
        assert!(after.rss > 1 << 20);
        assert!(!after.threads.is_empty());
        assert!(matches!(Process::open(u32::MAX), Err(ProcessError::Gone(_))));
    }
}
