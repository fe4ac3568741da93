//! Whether the memory of a generation can be had, asked before it is touched.

/// Bytes that could be allocated now without swapping; `None` where the system does not say.
pub(crate) fn free() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Zeros that are not touched yet, or `None` if the address space does not hold them.
pub(crate) fn zeros<T: Copy + Default>(len: usize) -> Option<Vec<T>>
where
    Vec<T>: Zeroed,
{
    // The probe is returned before the real allocation, which the zeroing allocator then serves without touching it.
    let mut probe = Vec::<T>::new();
    probe.try_reserve_exact(len).ok()?;
    drop(probe);
    Some(Zeroed::zeroed(len))
}

/// Vectors whose zeros come from the allocator.
pub(crate) trait Zeroed {
    /// `len` zeros.
    fn zeroed(len: usize) -> Self;
}
impl Zeroed for Vec<u16> {
    fn zeroed(len: usize) -> Self {
        vec![0; len]
    }
}
impl Zeroed for Vec<u32> {
    fn zeroed(len: usize) -> Self {
        vec![0; len]
    }
}
