use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use driver::spec::{Filter, Stream};
use driver::{Ack, Call, Conn, Later, Process, Session, INFO};
use tokio::task::{spawn_local, JoinHandle};

use crate::consumer::consume;
use crate::link::Link;
use crate::requests::{ask, json, send, Create};

/// How often a request is made that is the same however often.
const ATTEMPTS: usize = 3;

/// One client of mq9.
pub struct Nats {
    pub process: Rc<Process>,
    link: RefCell<Option<Rc<Link>>>,
    consumer: RefCell<Option<JoinHandle<()>>>,
    reads: RefCell<Vec<Reading>>,
}

/// A mailbox, and the group as which it is read.
#[derive(Clone, PartialEq)]
pub struct Reading {
    pub group: String,
    pub mailbox: String,
}

impl Nats {
    pub fn open(process: &Rc<Process>) -> Rc<dyn Session> {
        Rc::new(Nats {
            process: process.clone(),
            link: RefCell::new(None),
            consumer: RefCell::new(None),
            reads: RefCell::new(Vec::new()),
        })
    }

    /// What is read next.
    pub fn reading(&self, turn: usize) -> Option<Reading> {
        let reads = self.reads.borrow();
        let count = reads.len();
        (count > 0).then(|| reads[turn % count].clone())
    }

    /// What a filter reads: a mailbox for this client alone, or $share/GROUP/MAILBOX together with others.
    fn cut(&self, filter: &str) -> Reading {
        let shared = filter.strip_prefix("$share/").and_then(|rest| rest.split_once('/'));
        let (group, mailbox) = shared.unwrap_or((&self.process.client.client_id, filter));
        Reading { group: group.to_string(), mailbox: mailbox.to_string() }
    }

    fn client(&self) -> Option<async_nats::Client> {
        self.link.borrow().as_ref().and_then(|link| link.client())
    }
}

impl Session for Nats {
    fn connect(self: Rc<Self>) {
        let link = Link::open(&self.process);
        *self.link.borrow_mut() = Some(link.clone());
        let consumer = spawn_local(consume(self.clone(), link));
        *self.consumer.borrow_mut() = Some(consumer);
    }

    fn disconnect(&self) -> Later<'_, ()> {
        Box::pin(async {
            let (link, consumer) = (self.link.take(), self.consumer.take());
            let Some(link) = link else { return };
            link.close().await;
            if let Some(consumer) = consumer {
                let _ = consumer.await; // a panic has been printed
            }
        })
    }

    /// Makes the mailbox, unless it is there, and goes on to fetch from it.
    fn subscribe<'a>(&'a self, _: &'a Conn, filter: &'a Filter) -> Later<'a, Ack> {
        Box::pin(async move {
            let Some(client) = self.client() else { return Ack::failed("closed by the client") };
            let ttl = (filter.ttl_s > 0).then_some(filter.ttl_s);
            let of = self.cut(&filter.filter);
            let mut made = Ok(());
            for _ in 0..ATTEMPTS {
                made = ask(&client, "MAILBOX.CREATE", json(Create { name: &of.mailbox, ttl })).await.map(|_| ());
                if !matches!(&made, Err(why) if why.outcome == INFO) {
                    break;
                }
            }
            match made {
                Err(why) if !why.text.contains("already exists") => return why,
                _ => {}
            }
            let mut reads = self.reads.borrow_mut();
            if !reads.contains(&of) {
                reads.push(of);
            }
            Ack::ok()
        })
    }

    /// Sends a message. The reply says under which id it is kept.
    fn publish<'a>(&'a self, call: Rc<Call>, stream: &'a Stream, payload: Bytes) -> Later<'a, ()> {
        Box::pin(async move {
            let Some(client) = self.client() else { return call.done(Ack::failed("closed by the client")) };
            let (subject, request) = (format!("MSG.SEND.{}", stream.topic), send(payload, stream));
            // Tasks start in the order in which they were spawned.
            spawn_local(async move {
                call.done(match ask(&client, &subject, request).await {
                    Ok(reply) => match reply.msg_id {
                        Some(id) => Ack { id: id.try_into().unwrap_or_default(), ..Ack::ok() },
                        None => Ack::unknown("a reply without msg_id"),
                    },
                    Err(why) => why,
                });
            });
        })
    }
}
