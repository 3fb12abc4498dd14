//! Lines, each of which is in the pipe before what it announces is done.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write};

use serde::Serialize;

use crate::clock;
use crate::payload::{checksum, HEADER_LEN};

#[derive(Serialize, Default, Clone)]
pub struct Line {
    pub e: &'static str,
    pub t: u64,
    #[serde(skip_serializing_if = "nothing")]
    pub k: &'static str,
    pub p: i32,
    #[serde(skip_serializing_if = "nothing")]
    pub c: u64,
    #[serde(skip_serializing_if = "nothing")]
    pub o: &'static str,
    #[serde(skip_serializing_if = "nothing")]
    pub r: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub s: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub n: Option<i64>,
    #[serde(skip_serializing_if = "nothing")]
    pub end: bool,
    #[serde(skip_serializing_if = "nothing")]
    pub q: u8,
    #[serde(skip_serializing_if = "nothing")]
    pub i: u64,
    #[serde(skip_serializing_if = "nothing")]
    pub a: String,
    #[serde(skip_serializing_if = "nothing")]
    pub sp: bool,
    #[serde(skip_serializing_if = "nothing")]
    pub dup: bool,
    #[serde(skip_serializing_if = "nothing")]
    pub ret: bool,
    #[serde(skip_serializing_if = "nothing")]
    pub h: String,
    #[serde(skip_serializing_if = "nothing")]
    pub crc: String,
    #[serde(skip_serializing_if = "nothing")]
    pub len: usize,
    #[serde(skip_serializing_if = "nothing")]
    pub x: String,
    #[serde(skip_serializing_if = "nothing")]
    pub contract: u32,
    #[serde(skip_serializing_if = "nothing")]
    pub sdk: &'static str,
    #[serde(skip_serializing_if = "nothing")]
    pub version: &'static str,
    #[serde(skip_serializing_if = "nothing")]
    pub clock: &'static str,
    #[serde(skip_serializing_if = "nothing")]
    pub cannot: &'static [&'static str],
    #[serde(skip_serializing_if = "nothing")]
    pub dedupes: bool,
    #[serde(skip_serializing_if = "nothing")]
    pub lines: u64,
}

fn nothing<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A message that arrived.
#[derive(Clone)]
pub struct Message {
    pub payload: bytes::Bytes,
    pub topic: String,
    pub qos: u8,
    pub dup: bool,
    pub retain: bool,
    pub id: u64,
}

impl Message {
    /// Fills in what a line says of a message that arrived.
    pub fn describe(&self, line: &mut Line) {
        let header = &self.payload[..self.payload.len().min(HEADER_LEN)];
        line.q = self.qos;
        line.dup = self.dup;
        line.ret = self.retain;
        line.i = self.id;
        line.len = self.payload.len();
        line.h = header.iter().map(|&byte| byte as char).collect();
        line.crc = format!("{:08x}", checksum(&self.payload));
    }
}

/// Writes lines, and numbers the calls among them.
pub struct Writer(RefCell<Inner>);

struct Inner {
    out: File,
    buffer: Vec<u8>,
    lines: u64,
    calls: u64,
}

impl Writer {
    pub fn new(out: File) -> Writer {
        Writer(RefCell::new(Inner { out, buffer: Vec::new(), lines: 0, calls: 0 }))
    }

    /// Writes one line, with the time that it is written.
    pub fn write(&self, line: Line) {
        self.0.borrow_mut().write(line);
    }

    /// Writes a call line and answers the number it gave the call.
    pub fn call(&self, mut line: Line) -> u64 {
        let mut inner = self.0.borrow_mut();
        inner.calls += 1;
        let number = inner.calls;
        line.e = "call";
        line.c = number;
        inner.write(line);
        number
    }

    /// Writes the last line.
    pub fn bye(&self) {
        let mut inner = self.0.borrow_mut();
        let lines = inner.lines;
        inner.write(Line { e: "bye", lines, ..Line::default() });
    }
}

impl Inner {
    /// Where nobody reads any more, that is the end of the driver.
    fn write(&mut self, mut line: Line) {
        line.t = clock::monotonic();
        if let Err(error) = self.put(&line) {
            eprintln!("driver: write a line: {error}");
            std::process::exit(1);
        }
        self.lines += 1;
    }

    fn put(&mut self, line: &Line) -> io::Result<()> {
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, line)?;
        self.buffer.push(b'\n');
        self.out.write_all(&self.buffer)
    }
}
