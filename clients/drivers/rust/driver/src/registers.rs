use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::{spawn_local, JoinHandle};
use tokio::time::Instant;

use crate::call::{Ack, Call};
use crate::conn::Conn;
use crate::gate::{until, Gate};
use crate::line::{Line, Message};
use crate::process::{Later, Process, Session, Tap};
use crate::spec::{Filter, ReadRegisters, Stream};

/// Reads registers: one clean session after the other, and in each what is
/// retained on one topic after the other.
pub struct Reader {
    parent: Rc<Process>,
    work: ReadRegisters,
    stop: Gate,
    task: RefCell<Option<JoinHandle<()>>>,
}

impl Reader {
    pub fn open(parent: &Rc<Process>) -> Rc<dyn Session> {
        let work = parent.client.read_registers.clone().expect("a reader of registers");
        Rc::new(Reader { parent: parent.clone(), work, stop: Gate::new(false), task: RefCell::new(None) })
    }

    async fn run(self: Rc<Self>) {
        loop {
            tokio::select! {
                biased;
                _ = self.stop.wait() => return,
                _ = self.parent.pause.wait() => self.round().await,
            }
            if self.stop.wait_for(self.work.every()).await {
                return;
            }
        }
    }

    /// Reads every register once.
    async fn round(&self) {
        let mut client = self.parent.client.clone();
        (client.clean, client.expiry_s, client.publish, client.read_registers) = (true, 0, None, None);
        client.subscribe.clear();
        let (ready, mut connections) = mpsc::unbounded_channel();
        let (messages, mut arrived) = mpsc::unbounded_channel();
        let tap = Some(Tap { ready, messages });
        let process = Process::new(&self.parent.sdk, &self.parent.spec, client, &self.parent.writer, tap);
        let session = process.session();
        session.clone().connect();
        let conn = tokio::select! {
            conn = connections.recv() => conn,
            _ = self.stop.wait() => None,
        };
        if let Some(conn) = conn {
            for topic in &self.work.topics {
                if !self.fetch(&process, &conn, topic, &mut arrived).await {
                    break;
                }
            }
        }
        session.disconnect().await;
        process.forget();
    }

    /// Reads one register. It is false when the session is of no more use.
    async fn fetch(
        &self, process: &Process, conn: &Conn, topic: &str, arrived: &mut mpsc::UnboundedReceiver<Message>,
    ) -> bool {
        let call = process.call(Line { k: "fetch", x: topic.to_string(), ..Line::default() });
        let filter = Filter { filter: topic.to_string(), qos: 1, ttl_s: 0 };
        let ack = process.session().subscribe(conn, &filter).await;
        if !ack.is_ok() {
            call.done(ack);
            return false;
        }
        let retained = async {
            while let Some(message) = arrived.recv().await {
                if message.retain && message.topic == topic {
                    return Some(message);
                }
            }
            None
        };
        let read = tokio::select! {
            biased;
            read = until(Instant::now() + self.work.wait(), &self.stop, retained) => Ok(read.flatten()),
            _ = conn.over().wait() => Err(()),
        };
        let ack = match read {
            Ok(None) if self.stop.is_open() => Ack::unknown("the process has ended"),
            Ok(read) => Ack { read, ..Ack::ok() },
            Err(()) => Ack::unknown(format!("connection lost while reading {topic}")),
        };
        let ok = ack.is_ok();
        call.done(ack);
        ok
    }
}

impl Session for Reader {
    fn connect(self: Rc<Self>) {
        self.stop.shut();
        let task = spawn_local(self.clone().run());
        *self.task.borrow_mut() = Some(task);
    }

    fn disconnect(&self) -> Later<'_, ()> {
        Box::pin(async {
            self.stop.open();
            let task = self.task.take();
            if let Some(task) = task {
                let _ = task.await; // a panic has been printed
            }
        })
    }

    fn subscribe<'a>(&'a self, _: &'a Conn, _: &'a Filter) -> Later<'a, Ack> {
        Box::pin(async { Ack::failed("a reader of registers") })
    }

    fn publish<'a>(&'a self, call: Rc<Call>, _: &'a Stream, _: Bytes) -> Later<'a, ()> {
        Box::pin(async move { call.done(Ack::failed("a reader of registers")) })
    }
}
