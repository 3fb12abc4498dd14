//! What rumqttc's two modules, for MQTT 3.1.1 and 5, have in common.

use std::io::ErrorKind;

use bytes::Bytes;
use driver::spec::{Client, Filter, Stream};
use driver::{Ack, Message};

/// How many requests wait in the SDK's queue, as its examples have it.
pub const QUEUE: usize = 10;

/// Seconds of keep alive: less panics, before 0.24 also 0, which is the SDK's
/// default here.
pub fn keep_alive(client: &Client) -> std::time::Duration {
    std::time::Duration::from_secs(match client.keep_alive_s {
        0 => 60,
        seconds => seconds.max(5),
    })
}

/// The largest packet that MQTT has, in bytes.
pub const LARGEST: u32 = 268_435_455;

/// An event loop and its options.
pub trait Flavour: Sized + 'static {
    /// What the application hands requests to.
    type Handle: Handle;

    fn open(client: &Client) -> Result<(Self, Self::Handle), String>;
    /// Says which endpoint the next connect is to.
    fn aim(&mut self, endpoint: &str) -> Result<(), String>;
    async fn poll(&mut self) -> Result<Event<Self::Handle>, Ack>;
    /// The next event that came before the last error.
    fn buffered(&mut self) -> Option<Event<Self::Handle>>;
    /// What will be sent on the next connection before anything else.
    fn pending(&self) -> Vec<Pending>;
    /// The payload that waits for its packet id to be free.
    fn collision(&self) -> Option<*const u8>;
    /// Closes the connection, and takes a DISCONNECT out of the queue. Where
    /// the SDK has no way to, this is another loop, which goes on with what the
    /// old one has; what no event has been seen of is gone.
    fn cut(&mut self) -> Option<Self::Handle>;
}

/// What the application hands requests to.
pub trait Handle: Clone + 'static {
    /// A PUBLISH that arrived, to acknowledge.
    type Received: 'static;

    async fn publish(&self, stream: &Stream, payload: Bytes) -> Result<(), String>;
    async fn subscribe(&self, filter: &Filter) -> Result<(), String>;
    async fn ack(&self, received: &Self::Received) -> Result<(), String>;
    async fn disconnect(&self) -> Result<(), String>;
}

/// What polling answers, as far as it matters here. Numbers are packet ids
/// and reason codes.
pub enum Event<H: Handle> {
    Connected { session_present: bool },
    Arrived(Message, H::Received),
    PubAck(u16, u8),
    PubRec(u16, u8),
    PubComp(u16, u8),
    SubAck(u16, u8),
    /// A PUBLISH is on its way, or waits because its packet id is in use.
    Sent(u16),
    Collided(u16),
    Subscribed(u16),
    /// PUBCOMP was sent.
    Completed(u16),
    Other,
}

/// A request that waits for a connection.
pub enum Pending {
    Publish { id: u16, payload: *const u8 },
    Release(u16),
    Subscribe,
    Other,
}

/// How an error of the operating system reads where a connect was tried.
pub fn io_error(error: &std::io::Error) -> Ack {
    match error.kind() {
        ErrorKind::ConnectionRefused | ErrorKind::InvalidInput | ErrorKind::AddrNotAvailable => Ack::failed(error),
        _ => match error.raw_os_error() {
            #[cfg(unix)]
            Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => Ack::failed(error),
            _ => Ack::unknown(error),
        },
    }
}
