//! Which call each packet id is of, told from what the event loop says it
//! sends, and what it still has when a connection is lost.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use bytes::Bytes;
use driver::{Ack, Call};
use tokio::sync::oneshot;

use crate::flavour::Pending;

struct Entry {
    call: Rc<Call>,
    qos: u8,
    payload: Bytes, // by whose place in memory the SDK's copy is known
    sent: bool,
    released: bool, // PUBREC was received
    pending: bool,  // it waits for a connection, unsent
    losses: u32,    // and new connections, before it was called
}

impl Entry {
    /// It is gone from the SDK, which goes on without a word.
    fn dropped(self, why: &str) {
        self.call.done(if self.sent { Ack::unknown(why) } else { Ack::failed(why) });
    }
}

/// A PUBLISH that the loop sends before what is in its queue.
enum Planned {
    Again,
    First,
}

#[derive(Default)]
pub struct Ledger {
    losses: u32, // of connections so far, and new ones
    handed: VecDeque<Entry>, // to the SDK's queue; no packet id yet
    flying: HashMap<u16, VecDeque<Entry>>, // mostly one a packet id, the oldest first
    planned: VecDeque<Planned>,
    collided: Option<u16>, // its newest waits for the oldest's acknowledgement

    subscribes: VecDeque<oneshot::Sender<u8>>, // handed
    planned_subscribes: usize,                 // how many of them wait for a connection
    subscribed: HashMap<u16, oneshot::Sender<u8>>,
}

impl Ledger {
    /// Notes a publish that is being handed over.
    pub fn publish(&mut self, call: Rc<Call>, qos: u8, payload: Bytes) {
        let losses = self.losses;
        self.handed.push_back(Entry { call, qos, payload, sent: false, released: false, pending: false, losses });
    }

    /// The SDK did not take a publish.
    pub fn refused(&mut self, payload: *const u8, why: &str) {
        if let Some(at) = self.handed.iter().position(|entry| entry.payload.as_ptr() == payload) {
            self.handed.remove(at).expect("found").dropped(why);
        }
    }

    /// The SDK's queue is gone.
    pub fn queue_is_gone(&mut self) {
        for entry in self.handed.drain(..) {
            entry.dropped("disconnected before it was sent");
        }
        self.subscribes.clear();
        self.planned_subscribes = 0;
    }

    /// A PUBLISH is on its way. whole is that it was written to a connection
    /// without an error.
    pub fn sent(&mut self, id: u16, whole: bool) {
        if id != 0 && self.collided == Some(id) {
            self.collided = None;
            if let Some(entry) = self.flying.get_mut(&id).and_then(VecDeque::back_mut) {
                entry.sent = true;
            }
            return;
        }
        if let Some(Planned::Again) = self.planned.pop_front() {
            return;
        }
        let Some(mut entry) = self.handed.pop_front() else { return };
        entry.sent = true;
        if id != 0 {
            self.flying.entry(id).or_default().push_back(entry);
            return;
        }
        entry.call.done(if whole { Ack::ok() } else { Ack::unknown("connection lost while it was sent") });
    }

    /// A PUBLISH waits, because its packet id is in use. There is one place to
    /// wait in: who was there is gone.
    pub fn collided(&mut self, id: u16) {
        if let Some(before) = self.collided.replace(id) {
            if let Some(entry) = self.flying.get_mut(&before).and_then(VecDeque::pop_back) {
                entry.dropped("rumqttc dropped it: its packet id and another one were in use");
            }
        }
        let again = matches!(self.planned.pop_front(), Some(Planned::Again));
        let queue = self.flying.entry(id).or_default();
        let entry = if again { queue.pop_front() } else { self.handed.pop_front() };
        queue.extend(entry);
    }

    /// PUBACK or PUBCOMP was received. In which order the SDK sends what it kept
    /// and what was queued meanwhile it does not say, so that the packet ids of
    /// messages that a connection was lost over may be each other's.
    pub fn acknowledged(&mut self, id: u16, qos: u8, mut ack: Ack) {
        if let Some(entry) = self.oldest(id, qos) {
            if entry.losses != self.losses && ack.is_ok() {
                ack = Ack::unknown("acknowledged, it or another one that the lost connection left behind");
            }
            entry.call.done(Ack { id: id.into(), ..ack });
        }
    }

    /// PUBREC was received.
    pub fn received(&mut self, id: u16, refused: Option<Ack>) {
        if let Some(ack) = refused {
            self.acknowledged(id, 2, ack);
            return;
        }
        let queue = self.flying.get_mut(&id);
        if let Some(entry) = queue.and_then(|queue| queue.iter_mut().find(|entry| entry.qos == 2 && !entry.released)) {
            entry.released = true;
        }
    }

    /// The oldest of a packet id: another one may be on its way under it.
    fn oldest(&mut self, id: u16, qos: u8) -> Option<Entry> {
        let queue = self.flying.get_mut(&id)?;
        let at = queue.iter().position(|entry| entry.qos == qos && entry.sent)?;
        let entry = queue.remove(at);
        if queue.is_empty() {
            self.flying.remove(&id);
        }
        entry
    }

    /// Compares with what the SDK still has, while it has no connection or a
    /// new one: what it dropped returns.
    pub fn compare(&mut self, pending: &[Pending], collision: Option<*const u8>) {
        self.losses += 1;
        let (mut kept, mut released) = (HashMap::new(), HashSet::new());
        for request in pending {
            match request {
                Pending::Publish { id, payload } => _ = kept.insert(*payload, *id),
                Pending::Release(id) => _ = released.insert(*id),
                _ => {}
            }
        }
        for mut entry in std::mem::take(&mut self.handed) {
            match kept.get(&entry.payload.as_ptr()) {
                Some(0) => {
                    entry.pending = true;
                    self.handed.push_back(entry);
                }
                Some(&id) => { // an error came between its packet id and the event
                    entry.sent = true;
                    self.flying.entry(id).or_default().push_back(entry);
                }
                None if entry.pending => entry.dropped("rumqttc dropped it unsent: the session is not present"),
                None => self.handed.push_back(entry),
            }
        }
        for (id, queue) in std::mem::take(&mut self.flying) {
            for entry in queue {
                let place = entry.payload.as_ptr();
                if kept.contains_key(&place) || collision == Some(place) || entry.released && released.contains(&id) {
                    self.flying.entry(id).or_default().push_back(entry);
                } else {
                    entry.dropped("rumqttc dropped it: the connection was lost");
                }
            }
        }
        self.planned = pending.iter().filter_map(plan).collect();
        let subscribes = pending.iter().filter(|request| matches!(request, Pending::Subscribe)).count();
        for _ in subscribes..self.planned_subscribes {
            self.subscribes.pop_front();
        }
        self.planned_subscribes = subscribes;
    }

    /// Notes a subscribe that is being handed over; the reason code of its
    /// SUBACK is answered.
    pub fn subscribe(&mut self) -> oneshot::Receiver<u8> {
        let (sender, receiver) = oneshot::channel();
        self.subscribes.push_back(sender);
        receiver
    }

    pub fn subscribed(&mut self, id: u16) {
        self.planned_subscribes = self.planned_subscribes.saturating_sub(1);
        if let Some(waiter) = self.subscribes.pop_front() {
            self.subscribed.insert(id, waiter);
        }
    }

    pub fn suback(&mut self, id: u16, reason: u8) {
        if let Some(waiter) = self.subscribed.remove(&id) {
            let _ = waiter.send(reason); // or it has given up
        }
    }
}

fn plan(request: &Pending) -> Option<Planned> {
    match request {
        Pending::Publish { id: 0, .. } => Some(Planned::First),
        Pending::Publish { .. } => Some(Planned::Again),
        _ => None,
    }
}
