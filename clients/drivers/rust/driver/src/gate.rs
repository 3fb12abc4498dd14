use std::future::Future;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Open or closed; who waits at it passes when it opens.
pub struct Gate(watch::Sender<bool>);

impl Gate {
    pub fn new(open: bool) -> Gate {
        Gate(watch::Sender::new(open))
    }

    /// Opens it, and answers whether it was closed.
    pub fn open(&self) -> bool {
        self.0.send_if_modified(|open| !std::mem::replace(open, true))
    }

    /// Closes it, and answers whether it was open.
    pub fn shut(&self) -> bool {
        self.0.send_if_modified(|open| std::mem::replace(open, false))
    }

    pub fn is_open(&self) -> bool {
        *self.0.borrow()
    }

    pub async fn wait(&self) {
        // An error is the end of the sender, which is this gate itself.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }

    /// Waits for a time at the longest, and answers whether the gate is open.
    pub async fn wait_for(&self, time: Duration) -> bool {
        tokio::time::timeout(time, self.wait()).await.is_ok()
    }
}

/// What something came to by a time, and None where it has not, or where a
/// gate opened first.
pub async fn until<T>(deadline: Instant, quit: &Gate, something: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        result = something => Some(result),
        _ = quit.wait() => None,
        _ = tokio::time::sleep_until(deadline) => None,
    }
}
