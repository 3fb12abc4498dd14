//! What a client does to read its mailboxes.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use async_nats::Client;
use driver::{Ack, Conn, Message};

use crate::link::Link;
use crate::requests::{ask, json, Acknowledge, Fetch, FetchConfig};
use crate::session::{Nats, Reading};

const PRIORITIES: [&str; 3] = ["normal", "urgent", "critical"]; // the lowest first
const IDLE: Duration = Duration::from_millis(20); // where there is nothing to do, or the broker does not answer

/// Fetches from one mailbox after the other until the link is closed.
pub async fn consume(session: Rc<Nats>, link: Rc<Link>) {
    let mut turn = 0;
    while !link.closed.is_open() {
        turn += 1;
        let (of, conn, client) = (session.reading(turn), link.conn(), link.client());
        let (Some(of), Some(conn), Some(client)) = (of, conn, client) else {
            link.closed.wait_for(IDLE).await;
            continue;
        };
        let fetched = tokio::select! {
            biased;
            _ = link.closed.wait() => return,
            _ = conn.over().wait() => continue,
            fetched = fetch(&session, &conn, &client, &of) => fetched,
        };
        if let Err(why) = fetched {
            session.process.log(&format!("fetch: {}", why.text));
            link.closed.wait_for(IDLE).await;
        }
    }
}

/// Reads what the mailbox has for this client's group, and acknowledges it.
async fn fetch(session: &Nats, conn: &Conn, client: &Client, of: &Reading) -> Result<(), Ack> {
    let process = &session.process;
    if !unpaused(session, conn).await {
        return Ok(());
    }
    let (group_name, mailbox) = (of.group.as_str(), of.mailbox.as_str());
    let config = FetchConfig { num_msgs: 50, max_wait_ms: 200 };
    let request = json(Fetch { group_name, deliver: "earliest", config });
    let call = process.fetching(mailbox);
    let messages = match ask(client, &format!("MSG.FETCH.{mailbox}"), request).await {
        Ok(reply) => reply.messages.unwrap_or_default(),
        Err(why) => {
            call.done(Ack { text: why.text.clone(), outcome: why.outcome, ..Ack::default() });
            return Err(why);
        }
    };
    call.done(Ack { id: messages.len() as u64, ..Ack::ok() });
    let mut last: HashMap<String, u64> = HashMap::new(); // id, by priority
    for message in messages {
        if !unpaused(session, conn).await {
            break; // what is not acknowledged is fetched again
        }
        process.deliver(&Message {
            payload: message.payload.into(),
            topic: mailbox.to_string(),
            qos: 1,
            dup: false,
            retain: false,
            id: message.msg_id,
        });
        let highest = last.entry(message.priority).or_default();
        *highest = message.msg_id.max(*highest);
        if !process.client.delay().is_zero() {
            conn.over().wait_for(process.client.delay()).await;
        }
    }
    // A broker that takes an id for all priorities then skips the least.
    for priority in PRIORITIES {
        let Some(&msg_id) = last.get(priority) else { continue };
        let request = json(Acknowledge { group_name, mail_address: mailbox, msg_id });
        ask(client, &format!("MSG.ACK.{mailbox}"), request).await?;
        process.acknowledged(msg_id);
    }
    Ok(())
}

/// Waits out a pause, and answers whether the connection has outlived it.
async fn unpaused(session: &Nats, conn: &Conn) -> bool {
    tokio::select! {
        biased;
        _ = conn.over().wait() => false,
        _ = session.process.pause.wait() => true,
    }
}
