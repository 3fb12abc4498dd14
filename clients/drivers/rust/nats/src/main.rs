//! Drives async-nats, as a client of mq9.
//!
//! The SDK's own requests are used: their inbox is a wildcard, which a broker
//! of mq9 does not find, and so it answers on subscription 0, which is what
//! this SDK calls its inbox. The acknowledgement of a publish is the reply to
//! its send. While the connection is lost the SDK queues what is published and
//! sends it on the next one; what it had handed to the old one it does not
//! repeat.

mod consumer;
mod link;
mod requests;
mod session;

use std::process::ExitCode;

fn main() -> ExitCode {
    driver::main(driver::Sdk {
        name: "async-nats",
        version: env!("CARGO_PKG_VERSION"),
        protocols: &["mq9"],
        dedupes: false,
        cannot: &["session_present", "granted_qos", "told"],
        open: session::Nats::open,
    })
}
