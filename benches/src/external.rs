//! External programs: a command with placeholders, started once a turn, whose output tells the times of its runs.

use crate::contender::{Contender, median};
use crate::files::{GraphFiles, KINDS};
use crate::task::{Subject, Task};
use anyhow::{Context, Result, bail, ensure};
use std::process::Command;
use std::str::FromStr;

/// `NAME=TASK:COMMAND`. The command is split at blanks and started without a shell. Placeholders: `{sg}`, `{wsg}`, `{mtx}`, `{el}`,
/// `{wel}` (the graph as a file of that format), `{graph}` (its name as given), `{source}`, `{threads}`. `OMP_NUM_THREADS` is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    name: String,
    task: Task,
    words: Vec<String>,
}

impl FromStr for External {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> Result<Self> {
        let form = "a peer is NAME=TASK:COMMAND";
        let (name, rest) = text.split_once('=').with_context(|| format!("{form}; there is no '=' in {text:?}"))?;
        let (task, command) = rest.split_once(':').with_context(|| format!("{form}; there is no ':' in {rest:?}"))?;
        let task = Task::from_name(task.trim()).with_context(|| format!("{form}; there is no task {task:?}"))?;
        let words: Vec<String> = command.split_whitespace().map(str::to_string).collect();
        ensure!(!words.is_empty(), "{form}; the command of {name:?} is empty");
        Ok(Self { name: name.trim().into(), task, words })
    }
}

impl External {
    /// What it computes.
    #[must_use]
    pub fn task(&self) -> Task {
        self.task
    }
    /// The program on a graph; files that it reads are written now.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn contender(&self, subject: &Subject, files: &mut GraphFiles, threads: usize) -> Result<Contender> {
        let mut words = self.words.clone();
        for word in &mut words {
            for kind in KINDS {
                let placeholder = format!("{{{kind}}}");
                if word.contains(&placeholder) {
                    let path = files.path(subject, kind)?;
                    *word = word.replace(&placeholder, &path.to_string_lossy());
                }
            }
            *word = word.replace("{graph}", &subject.loaded.name);
            *word = word.replace("{source}", &subject.source.to_string()).replace("{threads}", &threads.to_string());
        }
        Ok(Contender::external(self.name.clone(), move || run(&words, threads)))
    }
}

fn run(words: &[String], threads: usize) -> Result<f64> {
    let shown = || words.join(" ");
    let output = Command::new(&words[0])
        .args(&words[1..])
        .env("OMP_NUM_THREADS", threads.to_string())
        .env("OMP_PROC_BIND", "true")
        .output()
        .with_context(|| format!("cannot start {}", shown()))?;
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        let last = errors.lines().last().unwrap_or("");
        bail!("{} ended with {}: {last}", shown(), output.status);
    }
    let times = times(&told);
    ensure!(!times.is_empty(), "{} told no time: neither \"Trial Time: SECONDS\" nor \"NUMBER ms\"", shown());
    Ok(median(&times))
}

/// The times that a program tells, in seconds: of lines `Trial Time: SECONDS`, as the GAP suite prints them; if there are none, the
/// first `NUMBER ms` of each line.
#[must_use]
pub fn times(output: &str) -> Vec<f64> {
    let trial = |line: &str| line.trim().strip_prefix("Trial Time:")?.trim().parse::<f64>().ok();
    let trials: Vec<f64> = output.lines().filter_map(trial).collect();
    if !trials.is_empty() {
        return trials;
    }
    let milliseconds = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let unit = |word: &str| word.trim_end_matches([',', ';', '.', ')']) == "ms";
        words.windows(2).find_map(|pair| pair[0].parse::<f64>().ok().filter(|_| unit(pair[1])))
    };
    output.lines().filter_map(milliseconds).map(|ms| ms / 1e3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_programs() {
        let gap = "Read Time:           0.01\nTrial Time:          0.00123\nSource: 5\nTrial Time:          0.00125\nAverage Time: 9\n";
        assert_eq!(times(gap), [0.00123, 0.00125]);
        assert_eq!(times("spmv kron18: median 9.5 ms min 9.2 ms\nloaded in 3 s"), [0.0095]);
        assert!(times("nothing 12 s\nms").is_empty());
    }

    #[test]
    fn peers_on_the_command_line() {
        let peer: External = "GAP=bfs:bin/bfs -f {sg} -r {source} -n 3".parse().unwrap();
        assert_eq!((peer.name.as_str(), peer.task, peer.words.len()), ("GAP", Task::Bfs, 7));
        for bad in ["GAP", "GAP=bfs", "GAP=walk:x", "GAP=cc:  "] {
            assert!(bad.parse::<External>().is_err(), "{bad}");
        }
    }
}
