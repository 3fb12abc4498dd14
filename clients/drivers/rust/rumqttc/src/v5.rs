//! MQTT 5.

use bytes::Bytes;
use driver::spec::{Client, Filter, Stream};
use driver::{Ack, Message};
use rumqttc::v5::mqttbytes::v5::{ConnectReturnCode, Packet, PubAckReason, PubCompReason, Publish, SubscribeReasonCode};
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::{self, AsyncClient, ConnectionError, EventLoop, MqttOptions, Request};
use rumqttc::Outgoing;

use crate::flavour::{self, io_error, Event, Flavour, Handle, Pending, LARGEST, QUEUE};
use crate::transport::Transport;

pub struct V5 {
    client: Client,
    transport: Transport,
    aimed: String, // endpoint
    eventloop: EventLoop,
}

impl Flavour for V5 {
    type Handle = AsyncClient;

    fn open(client: &Client) -> Result<(V5, AsyncClient), String> {
        let transport = Transport::new(client)?;
        let aimed = client.endpoints[0].clone();
        let (handle, eventloop) = AsyncClient::new(options(client, &transport, &aimed)?, QUEUE);
        Ok((V5 { client: client.clone(), transport, aimed, eventloop }, handle))
    }

    fn aim(&mut self, endpoint: &str) -> Result<(), String> {
        if self.aimed != endpoint {
            self.eventloop.options = options(&self.client, &self.transport, endpoint)?;
            self.aimed = endpoint.to_string();
        }
        Ok(())
    }

    async fn poll(&mut self) -> Result<Event<AsyncClient>, Ack> {
        self.eventloop.poll().await.map(event).map_err(lost)
    }

    fn buffered(&mut self) -> Option<Event<AsyncClient>> {
        self.eventloop.state.events.pop_front().map(event)
    }

    fn pending(&self) -> Vec<Pending> {
        #[cfg(feature = "since-0_24")]
        let requests = self.eventloop.pending.iter();
        #[cfg(not(feature = "since-0_24"))]
        let requests = self.eventloop.pending.as_slice().iter();
        let pending = |request: &Request| match request {
            Request::Publish(publish) => Pending::Publish { id: publish.pkid, payload: publish.payload.as_ptr() },
            Request::PubRel(pubrel) => Pending::Release(pubrel.pkid),
            Request::Subscribe(_) => Pending::Subscribe,
            _ => Pending::Other,
        };
        requests.map(pending).collect()
    }

    fn collision(&self) -> Option<*const u8> {
        self.eventloop.state.collision.as_ref().map(|publish| publish.payload.as_ptr())
    }

    #[cfg(feature = "since-0_24")]
    fn cut(&mut self) -> Option<AsyncClient> {
        self.eventloop.clean();
        self.eventloop.pending.retain(|request| !matches!(request, Request::Disconnect));
        None
    }

    #[cfg(not(feature = "since-0_24"))]
    fn cut(&mut self) -> Option<AsyncClient> {
        let (handle, mut eventloop) = AsyncClient::new(self.eventloop.options.clone(), QUEUE);
        std::mem::swap(&mut eventloop.state, &mut self.eventloop.state);
        let mut pending: Vec<_> = self.eventloop.pending.by_ref().collect();
        pending.extend(eventloop.state.clean());
        eventloop.pending = pending.into_iter();
        self.eventloop = eventloop;
        Some(handle)
    }
}

fn options(client: &Client, transport: &Transport, endpoint: &str) -> Result<MqttOptions, String> {
    let (address, port) = transport.address(endpoint)?;
    let mut options = MqttOptions::new(&client.client_id, address, port);
    let mut properties = v5::mqttbytes::v5::ConnectProperties::new();
    properties.session_expiry_interval = Some(client.expiry_s);
    properties.max_packet_size = Some(LARGEST);
    if client.receive_max > 0 {
        properties.receive_maximum = Some(client.receive_max);
    }
    options
        .set_transport(transport.sdk())
        .set_keep_alive(flavour::keep_alive(client))
        .set_clean_start(client.clean)
        .set_manual_acks(true)
        .set_connect_properties(properties);
    if !client.username.is_empty() {
        options.set_credentials(&client.username, &client.password);
    }
    Ok(options)
}

fn event(event: v5::Event) -> Event<AsyncClient> {
    match event {
        v5::Event::Incoming(packet) => incoming(packet),
        v5::Event::Outgoing(Outgoing::Publish(id)) => Event::Sent(id),
        v5::Event::Outgoing(Outgoing::AwaitAck(id)) => Event::Collided(id),
        v5::Event::Outgoing(Outgoing::Subscribe(id)) => Event::Subscribed(id),
        v5::Event::Outgoing(Outgoing::PubComp(id)) => Event::Completed(id),
        v5::Event::Outgoing(_) => Event::Other,
    }
}

fn incoming(packet: Packet) -> Event<AsyncClient> {
    match packet {
        Packet::ConnAck(ack) => Event::Connected { session_present: ack.session_present },
        Packet::PubAck(ack) => Event::PubAck(ack.pkid, PUBLISH_REASONS[ack.reason as usize]),
        Packet::PubRec(ack) => Event::PubRec(ack.pkid, PUBLISH_REASONS[ack.reason as usize]),
        Packet::PubComp(ack) => Event::PubComp(ack.pkid, match ack.reason {
            PubCompReason::Success => 0,
            PubCompReason::PacketIdentifierNotFound => 0x92,
        }),
        Packet::SubAck(ack) => Event::SubAck(ack.pkid, ack.return_codes.first().map_or(0x80, subscribe_reason)),
        Packet::Publish(publish) => {
            let message = Message {
                payload: publish.payload.clone(), topic: String::from_utf8_lossy(&publish.topic).into_owned(),
                qos: publish.qos as u8, dup: publish.dup, retain: publish.retain, id: publish.pkid.into(),
            };
            Event::Arrived(message, publish)
        }
        _ => Event::Other,
    }
}

/// The numbers of `PubAckReason` and `PubRecReason`, which are in this order.
const PUBLISH_REASONS: [u8; 9] = [0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99];
const _: () = assert!(PubAckReason::PayloadFormatInvalid as usize == PUBLISH_REASONS.len() - 1);

/// The numbers of `ConnectReturnCode`, which are in this order.
const CONNECT_REASONS: [u8; 25] = [
    0x00, 0x01, 0x02, 0x03, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x90, 0x95, 0x97,
    0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9f,
];
const _: () = assert!(ConnectReturnCode::ConnectionRateExceeded as usize == CONNECT_REASONS.len() - 1);

fn subscribe_reason(code: &SubscribeReasonCode) -> u8 {
    match code {
        SubscribeReasonCode::Success(qos) => *qos as u8,
        SubscribeReasonCode::Failure | SubscribeReasonCode::Unspecified => 0x80,
        SubscribeReasonCode::ImplementationSpecific => 0x83,
        SubscribeReasonCode::NotAuthorized => 0x87,
        SubscribeReasonCode::TopicFilterInvalid => 0x8f,
        SubscribeReasonCode::PkidInUse => 0x91,
        SubscribeReasonCode::QuotaExceeded => 0x97,
        SubscribeReasonCode::SharedSubscriptionsNotSupported => 0x9e,
        SubscribeReasonCode::SubscriptionIdNotSupported => 0xa1,
        SubscribeReasonCode::WildcardSubscriptionsNotSupported => 0xa2,
    }
}

/// How a connect went that failed, or why a connection is over.
fn lost(error: ConnectionError) -> Ack {
    match &error {
        ConnectionError::ConnectionRefused(code) => Ack { reason: CONNECT_REASONS[*code as usize], ..Ack::failed(error) },
        ConnectionError::Io(io) => io_error(io),
        ConnectionError::Websocket(_) => Ack::failed(error),
        ConnectionError::Tls(_) => Ack::failed(error),
        _ => Ack::unknown(error),
    }
}

impl Handle for AsyncClient {
    type Received = Publish;

    async fn publish(&self, stream: &Stream, payload: Bytes) -> Result<(), String> {
        let sent = self.publish_bytes(stream.topic.clone(), qos(stream.qos), stream.retain, payload);
        sent.await.map_err(|e| e.to_string())
    }

    async fn subscribe(&self, filter: &Filter) -> Result<(), String> {
        AsyncClient::subscribe(self, filter.filter.clone(), qos(filter.qos)).await.map_err(|e| e.to_string())
    }

    async fn ack(&self, received: &Publish) -> Result<(), String> {
        AsyncClient::ack(self, received).await.map_err(|e| e.to_string())
    }

    async fn disconnect(&self) -> Result<(), String> {
        AsyncClient::disconnect(self).await.map_err(|e| e.to_string())
    }
}

fn qos(number: u8) -> QoS {
    match number {
        0 => QoS::AtMostOnce,
        1 => QoS::AtLeastOnce,
        _ => QoS::ExactlyOnce,
    }
}
