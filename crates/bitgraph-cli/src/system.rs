//! What the system says about itself through its proc file system.

/// The value of a `name : value` line of a file.
pub fn line_of(file: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|l| l.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

/// Bytes that such a line of the memory's state tells.
pub fn memory(name: &str) -> Option<u64> {
    line_of("/proc/meminfo", name)?.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Bytes that could be allocated now without swapping; none where the system does not say.
pub fn free_memory() -> Option<u64> {
    memory("MemAvailable")
}
