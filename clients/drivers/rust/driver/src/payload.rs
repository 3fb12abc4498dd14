//! The payload: a text header of fixed width, then padding.

use crate::clock;

pub const RUN_LEN: usize = 8;
pub const HEADER_LEN: usize = 92;
const CRC: std::ops::Range<usize> = 83..HEADER_LEN;

/// What a header says.
pub struct Header<'a> {
    pub run: &'a str,
    pub process: i32,
    pub incarnation: u16,
    pub stream: i32,
    pub seq: i64,
    pub qos: u8,
    pub end: bool,
    pub len: usize,
}

impl Header<'_> {
    pub fn encode(&self) -> Vec<u8> {
        let len = self.len.max(HEADER_LEN);
        let kind = if self.end { 'E' } else { 'M' };
        let mut text = format!(
            "RQ1|{}|{:08x}|{:04x}|{:08x}|{:016x}|{}|{}|{:016x}|{:08x}|........|",
            self.run, self.process, self.incarnation, self.stream, self.seq, self.qos, kind,
            clock::monotonic(), len,
        )
        .into_bytes();
        text.try_reserve_exact(len - HEADER_LEN).expect("memory for a payload");
        let shift = self.stream as u64 + self.seq as u64;
        text.extend((HEADER_LEN..len).map(|i| b'a' + ((shift + i as u64) % 26) as u8));
        let crc = format!("{:08x}|", checksum(&text));
        text[CRC].copy_from_slice(crc.as_bytes());
        text
    }
}

/// The CRC-32 of all but the checksum and its bar; of what is shorter than a
/// header, of all of it.
pub fn checksum(payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    if payload.len() < HEADER_LEN {
        hasher.update(payload);
    } else {
        hasher.update(&payload[..CRC.start]);
        hasher.update(&payload[CRC.end..]);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_vector_of_the_contract() {
        let payload = b"RQ1|run00001|00000007|0001|00000003|000000000000002a|1|M|00000000075bcd15|00000064|13e24850|tuvwxyza";
        assert_eq!(super::checksum(payload), 0x13e24850);
    }
}
