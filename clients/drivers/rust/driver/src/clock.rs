//! The clock of the lines.

#[cfg(unix)]
pub const NAME: &str = "monotonic";

/// Nanoseconds of the clock that every process of this machine shares.
#[cfg(unix)]
pub fn monotonic() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // It cannot fail: the clock exists and the pointer is good.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(not(unix))]
pub const NAME: &str = "process";

/// Nanoseconds since this was first asked.
#[cfg(not(unix))]
pub fn monotonic() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    ORIGIN.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}
