use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{oneshot, Semaphore};
use tokio::task::{spawn_local, JoinHandle};
use tokio::time::Instant;

use crate::gate::{until, Gate};
use crate::line::Line;
use crate::payload::Header;
use crate::process::{Process, Session};
use crate::spec::{Publish, Stream};

/// How much of a delay the pace makes up for. What a stall kept from being sent
/// for longer is not sent in a burst afterwards.
const CATCH_UP: Duration = Duration::from_millis(100);

/// Publishes a process's messages.
pub struct Producer {
    process: Rc<Process>,
    session: Rc<dyn Session>,
    work: Publish,
    next: RefCell<Vec<i64>>, // sequence number, by stream of work
    window: Rc<Semaphore>,   // a permit for each call that may be open
    stop: Gate,              // opens: no new messages
    task: RefCell<Option<JoinHandle<()>>>,
}

impl Producer {
    pub fn new(process: &Rc<Process>, session: &Rc<dyn Session>, work: Publish) -> Rc<Producer> {
        Rc::new(Producer {
            process: process.clone(),
            session: session.clone(),
            next: RefCell::new(vec![0; work.streams.len()]),
            window: Rc::new(Semaphore::new(work.window())),
            work,
            stop: Gate::new(false),
            task: RefCell::new(None),
        })
    }

    /// Begins to publish.
    pub fn start(self: Rc<Self>) {
        if !self.stop.is_open() {
            let task = spawn_local(self.clone().run());
            *self.task.borrow_mut() = Some(task);
        }
    }

    async fn run(self: Rc<Self>) {
        let mut pace = Pace::new(self.work.rate_per_s, self.work.first());
        let mut sent = 0;
        while self.work.count == 0 || sent < self.work.count {
            let turn = async {
                pace.wait().await;
                self.process.pause.wait().await;
                self.process.online.wait().await;
                self.window.acquire().await.expect("never closed").forget();
            };
            tokio::select! {
                biased;
                _ = self.stop.wait() => return,
                _ = turn => {}
            }
            pace.step();
            let window = self.window.clone();
            let stream = (sent % self.work.streams.len() as u64) as usize;
            self.publish(stream, false, move |_| window.add_permits(1)).await;
            sent += 1;
        }
    }

    /// Publishes the next message of a stream. Its call is in the history
    /// before the SDK hears of it.
    async fn publish(&self, index: usize, end: bool, then: impl FnOnce(bool) + 'static) {
        let stream = &self.work.streams[index];
        let seq = self.next.borrow()[index];
        self.next.borrow_mut()[index] += 1;
        let header = Header {
            run: &self.process.spec.run, process: self.process.client.process, incarnation: self.process.spec.epoch,
            stream: stream.stream, seq, qos: stream.qos, end, len: self.work.payload_bytes,
        };
        let payload = Bytes::from(header.encode());
        let call = self.process.call(Line {
            k: "publish", s: Some(stream.stream), n: Some(seq), q: stream.qos, end, ..Line::default()
        });
        call.then(then);
        if end {
            self.session.publish(call, &Stream { ttl_s: 0, ..stream.clone() }, payload).await;
        } else {
            self.session.publish(call, stream, payload).await;
        }
    }

    /// Stops, waits for what is outstanding, and ends each stream with a marker
    /// that the broker acknowledged, all of it as long as the specification
    /// allows.
    pub async fn finish(&self) {
        self.process.connect();
        self.stop.open();
        let (wait, quit) = (self.process.spec.ack_wait(), &self.process.quit);
        let expires = Instant::now() + wait;
        let task = self.task.take();
        if let Some(task) = task {
            if until(expires, quit, task).await.is_none() {
                return; // the SDK still holds the last message: a marker would overtake it
            }
        }
        let all = self.work.window() as u32;
        let _ = until(expires, quit, self.window.acquire_many(all)).await;
        let expires = Instant::now() + wait;
        let _ = until(expires, quit, self.mark_all()).await;
    }

    /// Publishes markers until each stream has one that was acknowledged: where
    /// the outcome is another the stream goes on by one more.
    async fn mark_all(&self) {
        for index in (0..self.work.streams.len()).filter(|&index| !self.work.streams[index].unmarked) {
            loop {
                let (acked, ack) = oneshot::channel();
                self.publish(index, true, move |ok| {
                    let _ = acked.send(ok); // nobody waits any more
                })
                .await;
                match ack.await {
                    Ok(true) => break,
                    Ok(false) => tokio::time::sleep(self.process.client.reconnect()).await,
                    Err(_) => return, // dropped: it will never be known
                }
            }
        }
    }
}

/// Spaces messages evenly.
struct Pace {
    interval: Duration,
    next: Instant,
}

impl Pace {
    fn new(per_second: f64, first: Duration) -> Pace {
        let interval = if per_second > 0.0 { Duration::from_secs_f64(1.0 / per_second) } else { Duration::ZERO };
        Pace { interval, next: Instant::now() + first }
    }

    /// Waits until the next message is due.
    async fn wait(&self) {
        if self.next > Instant::now() {
            tokio::time::sleep_until(self.next).await;
        }
    }

    /// Is called when the message goes that was due.
    fn step(&mut self) {
        let late = Instant::now().saturating_duration_since(self.next);
        if late > CATCH_UP && !self.interval.is_zero() {
            self.next += late - Duration::from_nanos((late.as_nanos() % self.interval.as_nanos()) as u64);
        }
        self.next += self.interval;
    }
}
