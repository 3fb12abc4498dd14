use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use bytes::Bytes;
use tokio::sync::{mpsc, Mutex};
use tokio::task::spawn_local;

use crate::call::{Ack, Call};
use crate::conn::Conn;
use crate::gate::Gate;
use crate::line::{Line, Message, Writer};
use crate::producer::Producer;
use crate::registers::Reader;
use crate::spec::{Client, Filter, Spec, Stream};
use crate::Sdk;

pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// One MQTT session in the hands of an SDK.
pub trait Session {
    /// Begins to connect and returns at once. From then on the session keeps
    /// itself connected, and tells the process by [`Process::connected`].
    fn connect(self: Rc<Self>);
    /// Closes the connection in order and keeps it closed. When it is done
    /// nothing more is delivered.
    fn disconnect(&self) -> Later<'_, ()>;
    /// Subscribes on a connection and waits for the SUBACK.
    fn subscribe<'a>(&'a self, conn: &'a Conn, filter: &'a Filter) -> Later<'a, Ack>;
    /// Hands a message to the SDK, in order of its calls. When the broker's
    /// acknowledgement is seen, or it is known that none will come, the call
    /// returns.
    fn publish<'a>(&'a self, call: Rc<Call>, stream: &'a Stream, payload: Bytes) -> Later<'a, ()>;
}

/// What connections and messages are for, instead of subscribing, producing
/// and delivery lines.
pub struct Tap {
    pub ready: mpsc::UnboundedSender<Rc<Conn>>,
    pub messages: mpsc::UnboundedSender<Message>,
}

/// One client of the specification: what its session tells of it becomes
/// lines.
pub struct Process {
    pub client: Client,
    pub spec: Rc<Spec>,
    pub sdk: Rc<Sdk>,
    pub writer: Rc<Writer>,
    pub pause: Gate,  // closed between pause and resume
    pub online: Gate, // closed while it is to be disconnected
    pub quit: Gate,   // opens when stdin has ended: nothing is worth waiting for
    tap: Option<Tap>,
    session: RefCell<Option<Rc<dyn Session>>>,
    producer: RefCell<Option<Rc<Producer>>>,
    started: Cell<bool>,
    subscribed: Mutex<HashSet<Filter>>, // acknowledged ones
}

impl Process {
    pub fn new(sdk: &Rc<Sdk>, spec: &Rc<Spec>, client: Client, writer: &Rc<Writer>, tap: Option<Tap>) -> Rc<Process> {
        let process = Rc::new(Process {
            client,
            spec: spec.clone(),
            sdk: sdk.clone(),
            writer: writer.clone(),
            pause: Gate::new(true),
            online: Gate::new(false),
            quit: Gate::new(false),
            tap,
            session: RefCell::new(None),
            producer: RefCell::new(None),
            started: Cell::new(false),
            subscribed: Mutex::new(HashSet::new()),
        });
        let session = match process.client.read_registers {
            Some(_) => Reader::open(&process),
            None => (sdk.open)(&process),
        };
        *process.session.borrow_mut() = Some(session.clone());
        if let Some(work) = process.client.publish.clone().filter(|work| !work.streams.is_empty()) {
            *process.producer.borrow_mut() = Some(Producer::new(&process, &session, work));
        }
        process
    }

    pub fn session(&self) -> Rc<dyn Session> {
        self.session.borrow().clone().expect("set by new")
    }

    /// Carries out commands until the end.
    pub async fn run(self: Rc<Self>, mut commands: mpsc::UnboundedReceiver<String>) {
        while let Some(command) = commands.recv().await {
            match command.as_str() {
                "connect" => self.connect(),
                "disconnect" => self.disconnect().await,
                "reconnect" => {
                    self.disconnect().await;
                    self.connect();
                }
                "pause" if self.pause.shut() => self.point("pause", ""),
                "resume" if self.pause.open() => self.point("resume", ""),
                "pause" | "resume" => {}
                "finish" => self.finish().await,
                "end" => {
                    self.finish().await;
                    break;
                }
                "abandon" => break,
                _ => eprintln!("driver: no command {command:?} in the contract"),
            }
        }
        self.disconnect().await;
        self.forget();
    }

    /// Ends the publishing, once.
    async fn finish(&self) {
        let producer = self.producer.take();
        if let Some(producer) = producer {
            producer.finish().await;
        }
    }

    /// Lets go of the session and the producer, which point back here.
    pub fn forget(&self) {
        self.session.take();
        self.producer.take();
    }

    pub fn connect(&self) {
        if self.online.open() {
            self.session().connect();
        }
    }

    pub async fn disconnect(&self) {
        if self.online.shut() {
            self.session().disconnect().await;
        }
    }

    /// To be called by the session when a connection of its is ready for use.
    pub fn connected(self: &Rc<Self>, conn: &Rc<Conn>) {
        if let Some(tap) = &self.tap {
            let _ = tap.ready.send(conn.clone()); // the round may have ended
            return;
        }
        let (process, conn) = (self.clone(), conn.clone());
        spawn_local(async move {
            process.subscribe(&conn).await;
            let producer = process.producer.borrow().clone();
            if let Some(producer) = producer.filter(|_| !process.started.replace(true)) {
                producer.start();
            }
        });
    }

    /// Asks for the subscriptions that the session cannot have: all of them
    /// where the broker did not keep it, else those never acknowledged.
    async fn subscribe(&self, conn: &Conn) {
        let mut subscribed = self.subscribed.lock().await;
        if !conn.session_present() {
            subscribed.clear();
        }
        for filter in &self.client.subscribe {
            if subscribed.contains(filter) {
                continue;
            }
            let call = self.call(Line { k: "subscribe", q: filter.qos, x: filter.filter.clone(), ..Line::default() });
            let ack = self.session().subscribe(conn, filter).await;
            if ack.is_ok() {
                subscribed.insert(filter.clone());
            }
            call.done(ack);
        }
    }

    /// The application's callback for a message: its line.
    pub fn deliver(&self, message: &Message) {
        if let Some(tap) = &self.tap {
            let _ = tap.messages.send(message.clone()); // the round may have ended
            return;
        }
        let x = message.topic.clone();
        let mut line = Line { e: "point", k: "deliver", p: self.client.process, x, ..Line::default() };
        message.describe(&mut line);
        self.writer.write(line);
    }

    pub fn point(&self, kind: &'static str, text: &str) {
        let x = text.to_string();
        self.writer.write(Line { e: "point", k: kind, p: self.client.process, x, ..Line::default() });
    }

    /// A mailbox of mq9 is asked for messages, which is done next. It returns with
    /// their number as its id.
    pub fn fetching(&self, mailbox: &str) -> Rc<Call> {
        self.call(Line { k: "fetch", x: mailbox.to_string(), ..Line::default() })
    }

    /// A message of mq9, and all before it in its priority, was acknowledged.
    pub fn acknowledged(&self, id: u64) {
        self.writer.write(Line { e: "point", k: "ack", p: self.client.process, i: id, ..Line::default() });
    }

    /// Writes to the log file of the run.
    pub fn log(&self, text: &str) {
        self.writer.write(Line { e: "log", p: self.client.process, x: text.to_string(), ..Line::default() });
    }

    /// Writes a call.
    pub fn call(&self, line: Line) -> Rc<Call> {
        Call::open(&self.writer, Line { p: self.client.process, ..line })
    }
}
