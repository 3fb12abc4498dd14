//! The specification and the commands, as the contract has them.

use std::time::Duration;

use serde::Deserialize;

pub const CONTRACT: u32 = 1;

#[derive(Deserialize)]
pub struct Spec {
    pub contract: u32,
    pub run: String,
    #[serde(default)]
    pub epoch: u16,
    pub clients: Vec<Client>,
    #[serde(default)]
    ack_wait_ms: u64,
}

impl Spec {
    pub fn ack_wait(&self) -> Duration {
        Duration::from_millis(self.ack_wait_ms)
    }
}

#[derive(Deserialize, Clone, Default)]
#[serde(default)]
pub struct Client {
    pub process: i32,
    pub client_id: String,
    pub endpoints: Vec<String>,
    pub protocol: String,
    pub transport: String,
    pub ca: String,
    pub username: String,
    pub password: String,
    pub clean: bool,
    pub expiry_s: u32,
    pub keep_alive_s: u64,
    pub receive_max: u16,
    reconnect_ms: u64,
    pub start: String,
    pub subscribe: Vec<Filter>,
    pub publish: Option<Publish>,
    pub read_registers: Option<ReadRegisters>,
    delay_ms: u64,
}

impl Client {
    /// The time between attempts, never so short that a broker which refuses
    /// at once keeps the processor busy.
    pub fn reconnect(&self) -> Duration {
        Duration::from_millis(self.reconnect_ms.max(10))
    }

    pub fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms)
    }
}

#[derive(Deserialize, Clone, PartialEq, Eq, Hash)]
pub struct Filter {
    pub filter: String,
    #[serde(default)]
    pub qos: u8,
    /// Of the mailbox of mq9 where this makes it; 0 is not said.
    #[serde(default)]
    pub ttl_s: u64,
}

#[derive(Deserialize, Clone)]
pub struct Publish {
    #[serde(default)]
    pub streams: Vec<Stream>,
    #[serde(default)]
    pub rate_per_s: f64,
    #[serde(default)]
    first_ms: u64,
    #[serde(default)]
    pub count: u64,
    #[serde(default)]
    pub payload_bytes: usize,
    #[serde(default)]
    max_inflight: usize,
}

impl Publish {
    /// How long the first message is put off.
    pub fn first(&self) -> Duration {
        Duration::from_millis(self.first_ms)
    }

    pub fn window(&self) -> usize {
        if self.max_inflight == 0 {
            return 20;
        }
        self.max_inflight
    }
}

#[derive(Deserialize, Clone)]
pub struct Stream {
    pub stream: i32,
    pub topic: String,
    #[serde(default)]
    pub qos: u8,
    #[serde(default)]
    pub retain: bool,
    #[serde(default)]
    pub priority: String,
    /// Of each message of mq9 but end markers; 0 is none.
    #[serde(default)]
    pub ttl_s: u64,
    /// It gets no end marker.
    #[serde(default)]
    pub unmarked: bool,
}

#[derive(Deserialize, Clone)]
pub struct ReadRegisters {
    pub topics: Vec<String>,
    #[serde(default)]
    every_ms: u64,
    #[serde(default)]
    wait_ms: u64,
}

impl ReadRegisters {
    pub fn every(&self) -> Duration {
        Duration::from_millis(self.every_ms)
    }

    pub fn wait(&self) -> Duration {
        Duration::from_millis(self.wait_ms)
    }
}

#[derive(Deserialize)]
pub struct Command {
    #[serde(rename = "do")]
    pub what: String,
    #[serde(default = "all")]
    pub process: i32,
}

/// The process of a command that is for every client.
pub const ALL: i32 = -1;

fn all() -> i32 {
    ALL
}
