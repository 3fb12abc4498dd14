//! MQTT 3.1.1.

use bytes::Bytes;
use driver::spec::{Client, Filter, Stream};
use driver::{Ack, Message};
use rumqttc::{AsyncClient, ConnectionError, EventLoop, MqttOptions, Outgoing, Packet, Publish, QoS, Request, SubscribeReasonCode};

use crate::flavour::{self, io_error, Event, Flavour, Handle, Pending, LARGEST, QUEUE};
use crate::transport::Transport;

pub struct V4 {
    client: Client,
    transport: Transport,
    aimed: String, // endpoint
    eventloop: EventLoop,
}

impl Flavour for V4 {
    type Handle = AsyncClient;

    fn open(client: &Client) -> Result<(V4, AsyncClient), String> {
        let transport = Transport::new(client)?;
        let aimed = client.endpoints[0].clone();
        let (handle, eventloop) = AsyncClient::new(options(client, &transport, &aimed)?, QUEUE);
        Ok((V4 { client: client.clone(), transport, aimed, eventloop }, handle))
    }

    fn aim(&mut self, endpoint: &str) -> Result<(), String> {
        if self.aimed != endpoint {
            self.eventloop.mqtt_options = options(&self.client, &self.transport, endpoint)?;
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
        self.eventloop.pending.retain(|request| !matches!(request, Request::Disconnect(_)));
        None
    }

    #[cfg(not(feature = "since-0_24"))]
    fn cut(&mut self) -> Option<AsyncClient> {
        let (handle, mut eventloop) = AsyncClient::new(self.eventloop.mqtt_options.clone(), QUEUE);
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
    options
        .set_transport(transport.sdk())
        .set_keep_alive(flavour::keep_alive(client))
        .set_clean_session(client.clean)
        .set_manual_acks(true)
        .set_max_packet_size(LARGEST as usize, LARGEST as usize);
    if !client.username.is_empty() {
        options.set_credentials(&client.username, &client.password);
    }
    Ok(options)
}

fn event(event: rumqttc::Event) -> Event<AsyncClient> {
    match event {
        rumqttc::Event::Incoming(packet) => incoming(packet),
        rumqttc::Event::Outgoing(Outgoing::Publish(id)) => Event::Sent(id),
        rumqttc::Event::Outgoing(Outgoing::AwaitAck(id)) => Event::Collided(id),
        rumqttc::Event::Outgoing(Outgoing::Subscribe(id)) => Event::Subscribed(id),
        rumqttc::Event::Outgoing(Outgoing::PubComp(id)) => Event::Completed(id),
        rumqttc::Event::Outgoing(_) => Event::Other,
    }
}

fn incoming(packet: Packet) -> Event<AsyncClient> {
    match packet {
        Packet::ConnAck(ack) => Event::Connected { session_present: ack.session_present },
        Packet::PubAck(ack) => Event::PubAck(ack.pkid, 0),
        Packet::PubRec(ack) => Event::PubRec(ack.pkid, 0),
        Packet::PubComp(ack) => Event::PubComp(ack.pkid, 0),
        Packet::SubAck(ack) => Event::SubAck(ack.pkid, match ack.return_codes.first() {
            Some(SubscribeReasonCode::Success(qos)) => *qos as u8,
            _ => 0x80,
        }),
        Packet::Publish(publish) => {
            let message = Message {
                payload: publish.payload.clone(), topic: publish.topic.clone(), qos: publish.qos as u8,
                dup: publish.dup, retain: publish.retain, id: publish.pkid.into(),
            };
            Event::Arrived(message, publish)
        }
        _ => Event::Other,
    }
}

/// How a connect went that failed, or why a connection is over.
fn lost(error: ConnectionError) -> Ack {
    match &error {
        ConnectionError::ConnectionRefused(code) => Ack { reason: *code as u8, ..Ack::failed(error) },
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
