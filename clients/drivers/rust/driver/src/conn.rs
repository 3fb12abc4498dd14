use std::cell::Cell;
use std::rc::Rc;

use crate::call::{Ack, Call};
use crate::gate::Gate;
use crate::line::Line;
use crate::process::Process;

/// A connection to a broker, from the attempt to its end.
pub struct Conn {
    process: Rc<Process>,
    call: Rc<Call>,
    up: Cell<bool>,
    present: Cell<bool>,
    over: Gate,
}

impl Conn {
    /// An attempt. Its call is in the history when this returns.
    pub fn attempt(process: &Rc<Process>, endpoint: &str) -> Rc<Conn> {
        let call = process.call(Line { k: "connect", a: endpoint.to_string(), ..Line::default() });
        Rc::new(Conn {
            process: process.clone(),
            call,
            up: Cell::new(false),
            present: Cell::new(false),
            over: Gate::new(false),
        })
    }

    /// CONNACK said yes.
    pub fn accepted(&self, session_present: bool) {
        self.up.set(true);
        self.present.set(session_present);
        self.call.done(Ack { session_present, ..Ack::ok() });
    }

    /// The connection is over, or never was. Only the first time counts.
    pub fn end(&self, why: Ack) {
        if !self.over.open() {
            return;
        }
        if self.up.get() {
            self.process.point("disconnect", &why.text);
        } else {
            self.call.done(why);
        }
    }

    pub fn session_present(&self) -> bool {
        self.present.get()
    }

    /// CONNACK said yes and the connection has not ended.
    pub fn is_up(&self) -> bool {
        self.up.get() && !self.over.is_open()
    }

    /// Opens when the connection ends.
    pub fn over(&self) -> &Gate {
        &self.over
    }
}
