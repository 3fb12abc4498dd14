//! Drives rumqttc, MQTT 3.1.1 and 5, the way its users do: an `AsyncClient`
//! that hands requests to an `EventLoop`, which is polled and connects again
//! when it is polled after an error. Other endpoints are tried as its comments
//! say: by changing the loop's options between polls.
//!
//! `publish().await` is told of nothing but a place in a queue, and no other
//! event is about one publish: the driver cannot `told`. The acknowledgement
//! is the PUBACK or PUBCOMP that `poll` answers. A packet id is given in the
//! loop; the events `Outgoing::Publish` come in the order of the requests and
//! say which (ledger.rs), but for what a connection was lost over: there the
//! order is the SDK's own, and an acknowledgement is `info`. They are manual, since automatic ones
//! are sent before `poll` answers the message.
//!
//! What was read and seen of these versions:
//! - A resent PUBLISH never has DUP. What is unacknowledged is resent on every
//!   connection, also of a clean session. From 0.25 on only where the session
//!   is present, and else dropped, together with requests that were never sent:
//!   those return `fail`, what was sent once `info`.
//! - Before 0.24 what was still to be resent is dropped when the connection is
//!   lost again; from 0.24 on it is resent out of order.
//! - QoS 2: what arrives is answered at PUBLISH, however often it comes. A
//!   PUBREL of an earlier connection is an error, so that the broker's resending
//!   it ends each connection again. So handshakes that run are let end before
//!   DISCONNECT. The packet id of a PUBREL that waits is used again.
//! - A packet id in use (`collision`) blocks all requests until its
//!   acknowledgement; after a lost session there is none.
//! - A packet over 10 KiB ends the connection (`set_max_packet_size`); here it
//!   is as large as MQTT has it. Keep alive is 5 s at least. 5 s are for
//!   connecting and CONNACK together.
//! - MQTT 5 in 0.20 has no properties, so no session outlives its connection.

mod flavour;
mod inbox;
mod ledger;
mod session;
mod tls;
mod transport;
mod v4;
#[cfg(feature = "since-0_22")]
mod v5;

use std::process::ExitCode;
use std::rc::Rc;

use driver::{Process, Sdk};

#[cfg(feature = "since-0_22")]
const PROTOCOLS: &[&str] = &["mqtt3", "mqtt5"];
#[cfg(not(feature = "since-0_22"))]
const PROTOCOLS: &[&str] = &["mqtt3"];

fn main() -> ExitCode {
    driver::main(Sdk {
        name: "rumqttc",
        version: env!("CARGO_PKG_VERSION"),
        protocols: PROTOCOLS,
        dedupes: false,
        cannot: &["exactly_once", "told"],
        open,
    })
}

fn open(process: &Rc<Process>) -> Rc<dyn driver::Session> {
    match process.client.protocol.as_str() {
        #[cfg(feature = "since-0_22")]
        "mqtt5" => session::Session::<v5::V5>::open(process),
        _ => session::Session::<v4::V4>::open(process),
    }
}
