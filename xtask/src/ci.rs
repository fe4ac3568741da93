//! `cargo xtask ci`: the CI steps in order, each of which can be run alone by the command that it prints.

use anyhow::{Context, Result, bail};
use std::time::Instant;

/// A step: its name, and the tasks it runs.
struct Step {
    name: &'static str,
    tasks: &'static [&'static [&'static str]],
}

const STEPS: &[Step] = &[
    // First, because everything that embeds the kernels is compiled again when they change. Nothing runs them here.
    Step { name: "kernels", tasks: &[&["kernels", "--arch", "90a", "--portable", "80", "--quick"]] },
    Step { name: "fmt", tasks: &[&["fmt", "--check"]] },
    Step { name: "tidy", tasks: &[&["tidy"]] },
    Step { name: "clippy", tasks: &[&["clippy"]] },
    Step { name: "doc", tasks: &[&["doc"]] },
    Step { name: "test", tasks: &[&["test"]] },
    Step { name: "verify", tasks: &[&["verify", "--backend", "cpu"]] },
    Step { name: "emulate", tasks: &[&["emulate"]] },
    Step { name: "shim", tasks: &[&["shim", "--workspace"]] },
    Step { name: "levels", tasks: &[&["levels", "--workspace"]] },
    Step { name: "fuzz", tasks: &[&["fuzz", "--seconds", "30"]] },
    Step { name: "checkers", tasks: &[&["valgrind", "--workspace"], &["miri"], &["tsan"]] },
    Step { name: "deny", tasks: &[&["deny"]] },
    Step { name: "package", tasks: &[&["package"]] },
    Step { name: "msrv", tasks: &[&["msrv"]] },
];

pub fn run(arguments: &[String]) -> Result<()> {
    let without: Vec<&str> = match arguments {
        [] => Vec::new(),
        [flag] if flag == "--list" => {
            for step in STEPS {
                println!("{}", step.name);
            }
            return Ok(());
        }
        [flag, names] if flag == "--without" => names.split(',').collect(),
        _ => bail!("usage: cargo xtask ci [--list | --without STEP[,STEP]]"),
    };
    if let Some(name) = without.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        bail!("there is no CI step {name:?}; `cargo xtask ci --list` names them");
    }
    let mut times = Vec::new();
    for step in STEPS.iter().filter(|step| !without.contains(&step.name)) {
        eprintln!("== {}", step.name);
        let start = Instant::now();
        for task in step.tasks {
            let task: Vec<String> = task.iter().map(ToString::to_string).collect();
            crate::dispatch(&task).with_context(|| format!("CI step {} failed", step.name))?;
        }
        times.push((step.name, start.elapsed().as_secs_f64()));
    }
    println!("step           seconds");
    for (name, seconds) in &times {
        println!("{name:<12} {seconds:>9.1}");
    }
    println!("{:<12} {:>9.1}", "all", times.iter().map(|(_, seconds)| seconds).sum::<f64>());
    Ok(())
}
