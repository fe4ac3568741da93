//! Code compiled at run time, kept on disk between runs.
//!
//! # Invariants
//! A file is used only if its own key and the hash of its code are right; anything else is compiled anew and replaced. Files appear
//! whole (written aside, then renamed), so processes may share the folder. Failing to read or write it is never an error.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

/// The variable that sets the folder; an empty value turns the cache off.
pub const FOLDER_VARIABLE: &str = "BITGRAPH_KERNEL_CACHE";
/// The variable that sets the most bytes kept.
pub const BYTES_VARIABLE: &str = "BITGRAPH_KERNEL_CACHE_BYTES";
/// Most bytes kept by default; the files used longest ago go first.
pub const DEFAULT_BYTES: u64 = 256 << 20;

const MAGIC: &[u8; 8] = b"bgkcode1";

/// A folder of compiled code; none if it is turned off.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
    limit: u64,
}

impl Cache {
    /// The folder that the environment says, else `bitgraph/kernels` in the user's cache folder.
    pub fn open() -> Self {
        let limit = std::env::var(BYTES_VARIABLE).ok().and_then(|v| v.parse().ok()).unwrap_or(DEFAULT_BYTES);
        let folder = match std::env::var_os(FOLDER_VARIABLE) {
            Some(v) => (!v.is_empty()).then(|| PathBuf::from(v)),
            None => std::env::var_os("XDG_CACHE_HOME")
                .map(PathBuf::from)
                .or_else(|| std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache")))
                .map(|p| p.join("bitgraph").join("kernels")),
        };
        Self { folder, limit }
    }
    #[cfg(test)]
    fn at(folder: PathBuf, limit: u64) -> Self {
        Self { folder: Some(folder), limit }
    }
    /// The folder, if there is one.
    pub fn folder(&self) -> Option<&PathBuf> {
        self.folder.as_ref()
    }
    /// The most bytes kept.
    pub fn limit(&self) -> u64 {
        self.limit
    }
    /// The bytes in use.
    pub fn bytes(&self) -> u64 {
        self.files().iter().map(|(_, _, size)| size).sum()
    }
    /// The code filed under a key.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        let path = self.path(key)?;
        let content = fs::read(&path).ok()?;
        let code = decode(key, &content)?;
        // The time of use decides what goes first.
        if let Ok(file) = fs::File::options().append(true).open(&path) {
            let _ = file.set_modified(SystemTime::now());
        }
        Some(code)
    }
    /// Files code under a key.
    pub fn put(&self, key: &str, code: &[u8]) {
        let (Some(path), Some(folder)) = (self.path(key), &self.folder) else { return };
        let partial = path.with_extension(format!("{}.new", std::process::id()));
        let written =
            fs::create_dir_all(folder).and_then(|()| fs::write(&partial, encode(key, code))).and_then(|()| fs::rename(&partial, &path));
        if written.is_err() {
            let _ = fs::remove_file(&partial);
        }
        self.shrink();
    }
    fn path(&self, key: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|f| f.join(format!("{key}.code")))
    }
    fn files(&self) -> Vec<(SystemTime, PathBuf, u64)> {
        let Some(entries) = self.folder.as_ref().and_then(|f| fs::read_dir(f).ok()) else { return Vec::new() };
        let file = |e: fs::DirEntry| {
            let (path, data) = (e.path(), e.metadata().ok()?);
            let ours = path.extension().is_some_and(|x| x == "code") && data.is_file();
            ours.then(|| (data.modified().unwrap_or(SystemTime::UNIX_EPOCH), path, data.len()))
        };
        entries.filter_map(|e| file(e.ok()?)).collect()
    }
    fn shrink(&self) {
        let mut files = self.files();
        let mut bytes: u64 = files.iter().map(|(_, _, size)| size).sum();
        files.sort();
        for (_, path, size) in files {
            if bytes <= self.limit {
                break;
            }
            if fs::remove_file(path).is_ok() {
                bytes -= size;
            }
        }
    }
}

/// Magic, length of the key, key, hash of the code, code.
fn encode(key: &str, code: &[u8]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend((key.len() as u64).to_le_bytes());
    out.extend(key.as_bytes());
    out.extend(bitgraph_kernels::fnv(code).to_le_bytes());
    out.extend(code);
    out
}

fn decode(key: &str, content: &[u8]) -> Option<Vec<u8>> {
    let rest = content.strip_prefix(MAGIC)?.strip_prefix(&(key.len() as u64).to_le_bytes())?.strip_prefix(key.as_bytes())?;
    let (hash, code) = rest.split_at_checked(8)?;
    (bitgraph_kernels::fnv(code).to_le_bytes() == hash).then(|| code.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corrupt_files_are_not_used_and_old_ones_go() {
        let folder = std::env::temp_dir().join(format!("bitgraph-cache-{}", std::process::id()));
        let cache = Cache::at(folder.clone(), 1000);
        assert_eq!(cache.get("a"), None);
        cache.put("a", b"code");
        assert_eq!(cache.get("a").as_deref(), Some(&b"code"[..]));
        let path = folder.join("a.code");
        let mut content = fs::read(&path).unwrap();
        *content.last_mut().unwrap() ^= 1;
        fs::write(&path, &content).unwrap();
        assert_eq!(cache.get("a"), None);
        fs::write(&path, b"short").unwrap();
        assert_eq!(cache.get("a"), None);
        // The key is part of the file: one renamed by hand is not taken for another.
        cache.put("b", b"code");
        fs::rename(folder.join("b.code"), folder.join("c.code")).unwrap();
        assert_eq!(cache.get("c"), None);
        cache.put("d", &[0; 900]);
        cache.put("e", &[0; 900]);
        assert!(cache.bytes() <= 1000);
        fs::remove_dir_all(folder).unwrap();
    }
}
