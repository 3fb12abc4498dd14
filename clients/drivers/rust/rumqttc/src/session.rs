//! One MQTT session: an event loop, polled while it is to be connected.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use driver::spec::{Filter, Stream};
use driver::{until, Ack, Call, Conn, Gate, Later, Process};
use tokio::task::{spawn_local, JoinHandle};
use tokio::time::Instant;

use crate::flavour::{Event, Flavour, Handle};
use crate::inbox::{Inbox, Item};
use crate::ledger::Ledger;

/// Bounds the wait for a SUBACK.
const SUBACK_WAIT: Duration = Duration::from_secs(5);

/// Bounds each step of disconnecting: handshakes, DISCONNECT, the broker's
/// closing.
const STEP: Duration = Duration::from_millis(500);

pub struct Session<F: Flavour> {
    process: Rc<Process>,
    parked: RefCell<Option<F>>, // the loop, while it is not polled
    handle: RefCell<F::Handle>,
    ledger: RefCell<Ledger>,
    inbox: Inbox<F::Handle>,
    conn: RefCell<Option<Rc<Conn>>>, // the last one
    leave: Gate,                     // opens: no message is taken, no connection made
    stop: Gate,                      // opens: the loop is not polled any more
    tasks: RefCell<Vec<JoinHandle<()>>>,
}

impl<F: Flavour> Session<F> {
    pub fn open(process: &Rc<Process>) -> Rc<dyn driver::Session> {
        let (sdk, handle) = F::open(&process.client).unwrap_or_else(|why| {
            eprintln!("driver: client {}: {why}", process.client.process);
            std::process::exit(2);
        });
        Rc::new(Session {
            process: process.clone(),
            parked: RefCell::new(Some(sdk)),
            handle: RefCell::new(handle),
            ledger: RefCell::default(),
            inbox: Inbox::new(),
            conn: RefCell::new(None),
            leave: Gate::new(false),
            stop: Gate::new(false),
            tasks: RefCell::default(),
        })
    }

    /// Tries one endpoint after the other until leave opens.
    async fn stay_connected(&self, sdk: &mut F) {
        let client = &self.process.client;
        loop {
            for endpoint in &client.endpoints {
                if self.leave.is_open() || self.serve(sdk, endpoint).await {
                    break;
                }
            }
            if self.leave.wait_for(client.reconnect()).await {
                return;
            }
        }
    }

    /// Connects to an endpoint and answers, when the connection has ended,
    /// whether there was one.
    async fn serve(&self, sdk: &mut F, endpoint: &str) -> bool {
        let conn = Conn::attempt(&self.process, endpoint);
        if let Err(why) = sdk.aim(endpoint) {
            conn.end(Ack::failed(why));
            return false;
        }
        *self.conn.borrow_mut() = Some(conn.clone());
        let mut up = false;
        let why = loop {
            let polled = tokio::select! {
                biased;
                polled = sdk.poll() => polled,
                _ = self.leave.wait(), if !up => Err(Ack::unknown("not tried any more")),
                _ = self.stop.wait() => Err(Ack::unknown("closed by the client")),
            };
            match polled {
                Ok(event) => self.note(event, sdk, &conn, true),
                Err(why) => break why,
            }
            up = up || conn.is_up();
        };
        while let Some(event) = sdk.buffered() {
            self.note(event, sdk, &conn, false);
        }
        up = up || conn.is_up();
        conn.end(if self.leave.is_open() { Ack::unknown("closed by the client") } else { why });
        self.inbox.connection_is_over();
        self.ledger.borrow_mut().compare(&sdk.pending(), sdk.collision());
        up
    }

    /// Handles one event. whole is that polling went well.
    fn note(&self, event: Event<F::Handle>, sdk: &F, conn: &Rc<Conn>, whole: bool) {
        let mut ledger = self.ledger.borrow_mut();
        match event {
            Event::Connected { session_present } => {
                ledger.compare(&sdk.pending(), sdk.collision());
                conn.accepted(session_present);
                self.process.connected(conn);
            }
            Event::Arrived(message, received) => self.inbox.put(Item { message, received, conn: conn.clone() }),
            Event::Sent(id) => ledger.sent(id, whole),
            Event::Collided(id) => ledger.collided(id),
            Event::PubAck(id, reason) => ledger.acknowledged(id, 1, acknowledgement(reason)),
            Event::PubRec(id, reason) => ledger.received(id, Some(acknowledgement(reason)).filter(|ack| !ack.is_ok())),
            Event::PubComp(id, reason) => {
                let ack = acknowledgement(reason);
                ledger.acknowledged(id, 2, if ack.is_ok() { ack } else { Ack { reason, ..Ack::unknown(ack.text) } });
            }
            Event::Subscribed(id) => ledger.subscribed(id),
            Event::SubAck(id, reason) => ledger.suback(id, reason),
            Event::Completed(id) => self.inbox.completed(id.into()),
            Event::Other => {}
        }
    }

    /// Leaves in order, as far as broker and SDK let it.
    async fn leave(&self) {
        self.leave.open();
        let conn = self.conn.borrow().clone();
        if let Some(conn) = conn.filter(|conn| conn.is_up()) {
            let handle = self.handle.borrow().clone();
            let _ = until(Instant::now() + STEP, conn.over(), self.inbox.settle()).await;
            let _ = until(Instant::now() + STEP, conn.over(), handle.disconnect()).await;
            let _ = conn.over().wait_for(STEP).await;
        }
        self.stop.open();
        let tasks = self.tasks.take();
        for task in tasks {
            let _ = task.await; // a panic ends the driver
        }
        self.close();
        self.inbox.close(&self.process);
    }

    /// Closes what connection there is left.
    fn close(&self) {
        let (mut parked, mut ledger) = (self.parked.borrow_mut(), self.ledger.borrow_mut());
        let sdk = parked.as_mut().expect("the loop is not polled");
        if let Some(handle) = sdk.cut() {
            *self.handle.borrow_mut() = handle;
            ledger.queue_is_gone();
        }
        ledger.compare(&sdk.pending(), sdk.collision());
    }

    async fn ask(&self, conn: &Conn, filter: &Filter) -> Ack {
        let answer = self.ledger.borrow_mut().subscribe();
        let handle = self.handle.borrow().clone();
        let asked = async {
            match handle.subscribe(filter).await {
                Ok(()) => answer.await.map_err(|_| Ack::failed("rumqttc dropped it")),
                Err(why) => Err(Ack::failed(why)),
            }
        };
        match until(Instant::now() + SUBACK_WAIT, conn.over(), asked).await {
            Some(Ok(reason)) => acknowledgement(reason),
            Some(Err(ack)) => ack,
            None if conn.is_up() => Ack::unknown("no SUBACK within 5 s"),
            None => Ack::unknown("connection lost before SUBACK"),
        }
    }
}

fn acknowledgement(reason: u8) -> Ack {
    if reason >= 0x80 {
        return Ack { reason, ..Ack::failed("the broker refused") };
    }
    Ack { reason, ..Ack::ok() }
}

impl<F: Flavour> driver::Session for Session<F> {
    fn connect(self: Rc<Self>) {
        self.leave.shut();
        self.stop.shut();
        let polling = self.clone();
        let poll = spawn_local(async move {
            let mut sdk = polling.parked.take().expect("disconnected");
            polling.stay_connected(&mut sdk).await;
            *polling.parked.borrow_mut() = Some(sdk);
        });
        let consuming = self.clone();
        let consume = spawn_local(async move {
            consuming.inbox.consume(&consuming.process, &consuming.handle, &consuming.leave).await;
        });
        *self.tasks.borrow_mut() = vec![poll, consume];
    }

    fn disconnect(&self) -> Later<'_, ()> {
        Box::pin(self.leave())
    }

    fn subscribe<'a>(&'a self, conn: &'a Conn, filter: &'a Filter) -> Later<'a, Ack> {
        Box::pin(self.ask(conn, filter))
    }

    fn publish<'a>(&'a self, call: Rc<Call>, stream: &'a Stream, payload: Bytes) -> Later<'a, ()> {
        Box::pin(async move {
            let place = payload.as_ptr();
            self.ledger.borrow_mut().publish(call, stream.qos, payload.clone());
            let handle = self.handle.borrow().clone();
            if let Err(why) = handle.publish(stream, payload).await {
                self.ledger.borrow_mut().refused(place, &why);
            }
        })
    }
}
