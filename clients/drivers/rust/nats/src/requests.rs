//! The requests of mq9 and their replies.

use async_nats::{Client, HeaderMap, Request, RequestErrorKind};
use bytes::Bytes;
use driver::spec::Stream;
use driver::Ack;
use serde::{Deserialize, Serialize};

#[derive(Serialize)]
pub struct Create<'a> {
    pub name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
}

#[derive(Serialize)]
pub struct Fetch<'a> {
    pub group_name: &'a str,
    pub deliver: &'a str,
    pub config: FetchConfig,
}

#[derive(Serialize)]
pub struct FetchConfig {
    pub num_msgs: u32,
    pub max_wait_ms: u32,
}

#[derive(Serialize)]
pub struct Acknowledge<'a> {
    pub group_name: &'a str,
    pub mail_address: &'a str,
    pub msg_id: u64,
}

/// What replies of all requests have.
#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Reply {
    pub error: Option<String>,
    pub msg_id: Option<i64>,
    pub messages: Option<Vec<Stored>>,
}

#[derive(Deserialize)]
pub struct Stored {
    pub msg_id: u64,
    pub payload: String,
    #[serde(default)]
    pub priority: String,
}

/// Asks, and answers a reply without an error. Else it is how the call went.
pub async fn ask(client: &Client, subject: &str, request: Request) -> Result<Reply, Ack> {
    let reply = client.send_request(format!("$mq9.AI.{subject}"), request).await.map_err(|error| match error.kind() {
        RequestErrorKind::InvalidSubject | RequestErrorKind::MaxPayloadExceeded => Ack::failed(error),
        _ => Ack::unknown(error),
    })?;
    let reply: Reply =
        serde_json::from_slice(&reply.payload).map_err(|error| Ack::unknown(format!("a reply that is no JSON of mq9: {error}")))?;
    match reply.error.as_deref() {
        None | Some("") => Ok(reply),
        Some(error) => Err(Ack::failed(error)),
    }
}

/// A request of JSON.
pub fn json(fields: impl Serialize) -> Request {
    let text = serde_json::to_vec(&fields).expect("strings and numbers");
    Request::new().payload(text.into())
}

/// A request to keep a message.
pub fn send(payload: Bytes, stream: &Stream) -> Request {
    let mut headers = HeaderMap::new();
    if !stream.priority.is_empty() {
        headers.insert("mq9-priority", stream.priority.as_str());
    }
    if stream.ttl_s > 0 {
        headers.insert("mq9-ttl", stream.ttl_s.to_string().as_str());
    }
    let request = Request::new().payload(payload);
    if headers.is_empty() { request } else { request.headers(headers) }
}
