//! Drives robustmq, the SDK that is published for mq9.
//!
//! It speaks mq9 as brokers did until v0.3: a mailbox is answered as mail_id,
//! messages are published to MAILBOX.MSG without a reply and pushed to whoever
//! subscribes to that. Brokers of v0.4 answer with mail_address and an error
//! that is there and empty, which this SDK takes for an error without words,
//! and know no such subject. What is reported here is what an application
//! would see: `send()` says nothing of the broker, so no publish is ever
//! acknowledged, and nothing tells of a connection that is lost.

use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;

use bytes::Bytes;
use driver::spec::{Filter, Stream};
use driver::{Ack, Call, Conn, Later, Message, Process, Session};
use robustmq::mq9::{MQ9Client, Priority, Subscription};
use tokio::sync::mpsc;
use tokio::task::{spawn_local, JoinHandle};

const EXPIRY_S: u64 = 86_400;

fn main() -> ExitCode {
    driver::main(driver::Sdk {
        name: "robustmq",
        version: env!("CARGO_PKG_VERSION"),
        protocols: &["mq9"],
        dedupes: false,
        cannot: &["session_present", "granted_qos", "told", "fetch", "protocol"],
        open: |process| {
            Rc::new(RobustMq {
                process: process.clone(),
                client: RefCell::new(None),
                conn: RefCell::new(None),
                opening: RefCell::new(None),
                subscriptions: RefCell::new(Vec::new()),
            })
        },
    })
}

struct RobustMq {
    process: Rc<Process>,
    client: RefCell<Option<Rc<MQ9Client>>>,
    conn: RefCell<Option<Rc<Conn>>>,
    opening: RefCell<Option<JoinHandle<()>>>,
    subscriptions: RefCell<Vec<(Subscription, JoinHandle<()>)>>,
}

impl RobustMq {
    /// Tries one endpoint after the other: the SDK connects to one server, and
    /// once it has it connects to that again by itself.
    async fn open(self: Rc<Self>) {
        loop {
            for endpoint in &self.process.client.endpoints {
                let conn = Conn::attempt(&self.process, endpoint);
                *self.conn.borrow_mut() = Some(conn.clone());
                match MQ9Client::connect(&format!("nats://{endpoint}")).await {
                    Ok(client) => {
                        *self.client.borrow_mut() = Some(Rc::new(client));
                        conn.accepted(false);
                        return self.process.connected(&conn);
                    }
                    Err(error) => conn.end(Ack::failed(error)),
                }
            }
            tokio::time::sleep(self.process.client.reconnect()).await;
        }
    }

    fn client(&self) -> Option<Rc<MQ9Client>> {
        self.client.borrow().clone()
    }
}

impl Session for RobustMq {
    fn connect(self: Rc<Self>) {
        let opening = spawn_local(self.clone().open());
        *self.opening.borrow_mut() = Some(opening);
    }

    fn disconnect(&self) -> Later<'_, ()> {
        Box::pin(async {
            let (opening, client, conn) = (self.opening.take(), self.client.take(), self.conn.take());
            if let Some(opening) = opening {
                opening.abort();
            }
            for (subscription, reader) in self.subscriptions.take() {
                subscription.unsubscribe();
                reader.abort();
            }
            drop(client); // the SDK closes with the last of them
            if let Some(conn) = conn {
                conn.end(Ack::unknown("closed by the client"));
            }
        })
    }

    /// Makes a mailbox, which has a name only if it is public, and subscribes
    /// to it.
    fn subscribe<'a>(&'a self, _: &'a Conn, filter: &'a Filter) -> Later<'a, Ack> {
        Box::pin(async move {
            let Some(client) = self.client() else { return Ack::failed("closed by the client") };
            let mailbox = match client.create(EXPIRY_S, true, &filter.filter, "").await {
                Ok(mailbox) => mailbox,
                Err(error) => return Ack::failed(error),
            };
            let (sender, mut arrived) = mpsc::unbounded_channel();
            let told = move |message| {
                let _ = sender.send(message); // nobody reads any more
                std::future::ready(())
            };
            let subscription = match client.subscribe(&mailbox.mail_id, told, None, "").await {
                Ok(subscription) => subscription,
                Err(error) => return Ack::failed(error),
            };
            let process = self.process.clone();
            let reader = spawn_local(async move {
                while let Some(robustmq::mq9::Message { mail_id, payload, .. }) = arrived.recv().await {
                    process.pause.wait().await;
                    let (payload, topic) = (payload.into(), mail_id);
                    process.deliver(&Message { payload, topic, qos: 1, dup: false, retain: false, id: 0 });
                    tokio::time::sleep(process.client.delay()).await;
                }
            });
            self.subscriptions.borrow_mut().push((subscription, reader));
            Ack::ok()
        })
    }

    fn publish<'a>(&'a self, call: Rc<Call>, stream: &'a Stream, payload: Bytes) -> Later<'a, ()> {
        Box::pin(async move {
            let Some(client) = self.client() else { return call.done(Ack::failed("closed by the client")) };
            call.done(match client.send(&stream.topic, &payload, Priority::Normal).await {
                Ok(()) => Ack::unknown("send() asks for no acknowledgement"),
                Err(error) => Ack::unknown(error),
            });
        })
    }
}
