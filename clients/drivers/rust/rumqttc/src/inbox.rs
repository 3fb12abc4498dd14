//! Where messages wait for the application, which may be slow or paused while
//! the event loop goes on.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;

use driver::{Conn, Gate, Message, Process};
use tokio::sync::Notify;

use crate::flavour::Handle;

pub struct Item<H: Handle> {
    pub message: Message,
    pub received: H::Received,
    pub conn: Rc<Conn>,
}

pub struct Inbox<H: Handle> {
    items: RefCell<VecDeque<Item<H>>>,
    arrived: Notify,
    handshakes: RefCell<HashSet<u64>>, // QoS 2: acknowledged by PUBREC, PUBCOMP not sent yet
    settled: Notify,
}

impl<H: Handle> Inbox<H> {
    pub fn new() -> Inbox<H> {
        Inbox {
            items: RefCell::default(),
            arrived: Notify::new(),
            handshakes: RefCell::default(),
            settled: Notify::new(),
        }
    }

    pub fn put(&self, item: Item<H>) {
        self.items.borrow_mut().push_back(item);
        self.arrived.notify_one();
    }

    /// The application: takes one message after the other, until leave opens.
    pub async fn consume(&self, process: &Process, handle: &RefCell<H>, leave: &Gate) {
        loop {
            tokio::select! {
                biased;
                _ = leave.wait() => return,
                _ = self.ready(process) => {}
            }
            let next = self.items.borrow_mut().pop_front();
            let Some(item) = next else { continue };
            process.deliver(&item.message);
            tokio::select! {
                biased;
                _ = self.acknowledge(process, handle, &item) => {}
                _ = item.conn.over().wait() => {} // it will come again
                _ = leave.wait() => {}
            }
        }
    }

    /// Waits until there is a message for an application that is not paused.
    /// What waits longer than its connection lasts is not acknowledged, so the
    /// broker sends it again; of QoS 0 it is the only copy.
    async fn ready(&self, process: &Process) {
        loop {
            let first = self.items.borrow().front().map(|item| (item.conn.clone(), item.message.qos));
            match first {
                None => self.arrived.notified().await,
                Some(_) if process.pause.is_open() => return,
                Some((_, 0)) => process.pause.wait().await,
                Some((conn, _)) => tokio::select! {
                    biased;
                    _ = process.pause.wait() => {}
                    _ = conn.over().wait() => { self.items.borrow_mut().pop_front(); }
                },
            }
        }
    }

    async fn acknowledge(&self, process: &Process, handle: &RefCell<H>, item: &Item<H>) {
        if !process.client.delay().is_zero() {
            tokio::time::sleep(process.client.delay()).await;
        }
        if !item.conn.is_up() {
            return;
        }
        if item.message.qos == 2 {
            self.handshakes.borrow_mut().insert(item.message.id);
        }
        let handle = handle.borrow().clone();
        let _ = handle.ack(&item.received).await; // an error is the end of the loop
    }

    /// PUBCOMP was sent.
    pub fn completed(&self, id: u64) {
        self.handshakes.borrow_mut().remove(&id);
        self.settled.notify_waiters();
    }

    /// No handshake goes on on a connection that is over.
    pub fn connection_is_over(&self) {
        self.handshakes.borrow_mut().clear();
        self.settled.notify_waiters();
    }

    /// Waits until no handshake of QoS 2 runs.
    pub async fn settle(&self) {
        while !self.handshakes.borrow().is_empty() {
            self.settled.notified().await;
        }
    }

    /// After the connection: what the broker sends again is let go, what it
    /// does not is delivered, or kept during a pause.
    pub fn close(&self, process: &Process) {
        self.items.borrow_mut().retain(|item| item.message.qos == 0);
        while process.pause.is_open() {
            let next = self.items.borrow_mut().pop_front();
            let Some(item) = next else { return };
            process.deliver(&item.message);
        }
    }
}
