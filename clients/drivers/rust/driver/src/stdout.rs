//! Keeps what an SDK prints from the lines: descriptor 1 becomes stderr.

use std::fs::File;
use std::io;

#[cfg(unix)]
pub fn protect() -> io::Result<File> {
    use std::os::fd::FromRawFd;
    // dup and dup2 take descriptors that are open: the standard ones.
    let lines = unsafe { libc::dup(1) };
    if lines < 0 || unsafe { libc::dup2(2, 1) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // The descriptor is new and has no other owner.
    Ok(unsafe { File::from_raw_fd(lines) })
}

#[cfg(windows)]
pub fn protect() -> io::Result<File> {
    use std::os::windows::io::{AsHandle, OwnedHandle};
    let lines: OwnedHandle = io::stdout().as_handle().try_clone_to_owned()?;
    Ok(File::from(lines))
}
