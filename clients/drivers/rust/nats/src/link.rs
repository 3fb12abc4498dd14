//! The connections of one client of the SDK, written down.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event, ReconnectToServer};
use driver::{Ack, Conn, Gate, Process};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_local;

/// How long an attempt, a request, and closing may take.
pub const WAIT: Duration = Duration::from_secs(5);

/// A client of the SDK, which connects again by itself until it is closed.
pub struct Link {
    process: Rc<Process>,
    client: RefCell<Option<Client>>,
    conn: RefCell<Option<Rc<Conn>>>,
    pub closed: Gate,
}

/// What the SDK says, from its own tasks.
enum Said {
    /// It is about to connect, and waits for which endpoint.
    Attempt(oneshot::Sender<usize>),
    Event(Event),
}

impl Link {
    pub fn open(process: &Rc<Process>) -> Rc<Link> {
        let link = Rc::new(Link {
            process: process.clone(),
            client: RefCell::new(None),
            conn: RefCell::new(None),
            closed: Gate::new(false),
        });
        spawn_local(link.clone().run());
        link
    }

    pub fn client(&self) -> Option<Client> {
        self.client.borrow().clone()
    }

    /// The connection, while it is up.
    pub fn conn(&self) -> Option<Rc<Conn>> {
        self.conn.borrow().clone().filter(|conn| conn.is_up())
    }

    /// Closes the connection and keeps it closed.
    pub async fn close(&self) {
        self.closed.open();
        let client = self.client.take();
        if let (Some(conn), Some(client)) = (self.conn(), client) {
            if client.drain().await.is_ok() {
                conn.over().wait_for(WAIT).await;
            }
        }
        self.end(Ack::unknown("closed by the client"));
    }

    fn end(&self, why: Ack) {
        let conn = self.conn.take();
        if let Some(conn) = conn {
            conn.end(why);
        }
    }

    async fn run(self: Rc<Self>) {
        let (said, mut heard) = mpsc::unbounded_channel();
        let endpoints = self.process.client.endpoints.clone();
        match options(&self.process, said).connect(endpoints.clone()).await {
            Ok(client) => *self.client.borrow_mut() = Some(client),
            Err(error) => return self.process.log(&format!("connect: {error}")),
        }
        let mut tried = None; // since the last connection
        while let Some(said) = heard.recv().await {
            match said {
                Said::Attempt(go) => {
                    self.end(Ack::unknown("connection lost"));
                    let next = tried.map_or(0, |last: usize| (last + 1) % endpoints.len());
                    if next == 0 && tried.is_some() {
                        self.closed.wait_for(self.process.client.reconnect()).await;
                    }
                    if self.closed.is_open() {
                        continue; // it waits for ever
                    }
                    tried = Some(next);
                    *self.conn.borrow_mut() = Some(Conn::attempt(&self.process, &endpoints[next]));
                    let _ = go.send(next); // its task may have ended
                }
                Said::Event(event) => self.event(event, endpoints.len(), &mut tried),
            }
        }
    }

    /// What an event says of the last attempt or of its connection.
    fn event(&self, event: Event, endpoints: usize, tried: &mut Option<usize>) {
        let Some(conn) = self.conn.borrow().clone() else { return };
        match event {
            Event::Connected => {
                *tried = Some(endpoints - 1); // the next is the first, after a while
                conn.accepted(false);
                self.process.connected(&conn);
            }
            Event::Disconnected if conn.is_up() => conn.end(Ack::unknown("connection lost")),
            Event::Closed if conn.is_up() => conn.end(Ack::unknown("closed by the client")),
            Event::ClientError(error) if !conn.is_up() => conn.end(Ack::failed(error)),
            _ => {}
        }
    }
}

/// The options of a client that asks before it connects, and tells of events.
fn options(process: &Process, said: mpsc::UnboundedSender<Said>) -> ConnectOptions {
    let of_events = said.clone();
    ConnectOptions::new()
        .name(&process.client.client_id)
        .connection_timeout(WAIT)
        .request_timeout(Some(WAIT))
        .ping_interval(Duration::from_secs(process.client.keep_alive_s.max(1)))
        .retain_servers_order()
        .ignore_discovered_servers()
        .retry_on_initial_connect()
        .event_callback(move |event| {
            let _ = of_events.send(Said::Event(event)); // the link may be gone
            std::future::ready(())
        })
        .reconnect_to_server_callback(move |servers, _| {
            let said = said.clone();
            async move {
                let (go, which) = oneshot::channel();
                // The SDK tells of the end of the last attempt, or of the
                // connection, through another task, which goes first.
                tokio::task::yield_now().await;
                let _ = said.send(Said::Attempt(go)); // the link may be gone
                let Ok(which) = which.await else {
                    return std::future::pending().await; // closed: the SDK has no other way to stop
                };
                let addr = servers[which].addr.clone();
                Some(ReconnectToServer { addr, delay: Some(Duration::ZERO) })
            }
        })
}
