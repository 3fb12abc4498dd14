use std::cell::Cell;
use std::rc::Rc;

use crate::line::{Line, Message, Writer};

pub const OK: &str = "ok";
pub const FAIL: &str = "fail";
pub const INFO: &str = "info";

/// How a call went.
#[derive(Default)]
pub struct Ack {
    pub outcome: &'static str,
    pub reason: u8,
    /// The packet id; in mq9 the message's.
    pub id: u64,
    pub session_present: bool,
    pub text: String,
    pub read: Option<Message>,
}

impl Ack {
    /// It took effect.
    pub fn ok() -> Ack {
        Ack { outcome: OK, ..Ack::default() }
    }

    /// It did not take effect: refused, or never sent.
    pub fn failed(why: impl ToString) -> Ack {
        Ack { outcome: FAIL, text: why.to_string(), ..Ack::default() }
    }

    /// It may have taken effect.
    pub fn unknown(why: impl ToString) -> Ack {
        Ack { outcome: INFO, text: why.to_string(), ..Ack::default() }
    }

    pub fn is_ok(&self) -> bool {
        self.outcome == OK
    }
}

/// A call is in the history and has not returned yet.
pub struct Call {
    number: u64,
    kind: &'static str,
    process: i32,
    writer: Rc<Writer>,
    then: Cell<Option<Then>>,
    returned: Cell<bool>,
}

type Then = Box<dyn FnOnce(bool)>;

impl Call {
    pub fn open(writer: &Rc<Writer>, line: Line) -> Rc<Call> {
        Rc::new(Call {
            kind: line.k,
            process: line.p,
            writer: writer.clone(),
            number: writer.call(line),
            then: Cell::new(None),
            returned: Cell::new(false),
        })
    }

    /// What happens after the return, which is told whether it was ok.
    pub fn then(&self, then: impl FnOnce(bool) + 'static) {
        self.then.set(Some(Box::new(then)));
    }

    /// Writes the return of the call. Only the first counts.
    pub fn done(&self, ack: Ack) {
        if self.returned.replace(true) {
            return;
        }
        let ok = ack.is_ok();
        let mut line = Line {
            e: "return", k: self.kind, p: self.process, c: self.number,
            o: ack.outcome, r: ack.reason, i: ack.id, sp: ack.session_present, x: ack.text,
            ..Line::default()
        };
        if let Some(message) = ack.read {
            message.describe(&mut line);
        }
        self.writer.write(line);
        if let Some(then) = self.then.take() {
            then(ok);
        }
    }
}
