// The payload: a text header, padding, a checksum over both.

import * as zlib from 'node:zlib'

import { monotonic } from './lines.mjs'

const HEADER = 92 // bytes
const CHECKSUM = HEADER - 9 // where the checksum's own field begins
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz'

const table = Int32Array.from({ length: 256 }, (_, n) => {
  for (let i = 0; i < 8; i++) n = n & 1 ? (n >>> 1) ^ 0xEDB88320 : n >>> 1
  return n
})

// crc32 is zlib's; Node has it from 20.15 on.
const crc32 = zlib.crc32 || ((bytes, crc = 0) => {
  crc = ~crc
  for (const b of bytes) crc = table[(crc ^ b) & 0xFF] ^ (crc >>> 8)
  return ~crc >>> 0
})

const hex = (n, digits) => n.toString(16).padStart(digits, '0')

// make makes a payload of size bytes, at least 92.
export function make (run, process, epoch, stream, seq, qos, kind, size) {
  size = Math.max(size, HEADER)
  const head = `RQ1|${run}|${hex(process, 8)}|${hex(epoch, 4)}|${hex(stream, 8)}|${hex(seq, 16)}|${qos}|${kind}|` +
    `${hex(monotonic(), 16)}|${hex(size, 8)}|`
  const start = (stream + seq) % 26
  const rest = size - HEADER
  const padding = ALPHABET.repeat(Math.ceil(rest / 26) + 1).slice(start, start + rest)
  const crc = crc32(Buffer.from(padding), crc32(Buffer.from(head)))
  return Buffer.from(`${head}${hex(crc, 8)}|${padding}`)
}

// identify answers what tells a payload of ours from every other of the run.
export function identify (payload) {
  return payload.toString('latin1', 13, 52) // producer, incarnation, stream, sequence number
}

function checksum (payload) {
  if (payload.length < HEADER) return crc32(payload)
  return crc32(payload.subarray(HEADER), crc32(payload.subarray(0, CHECKSUM)))
}

// describe answers the fields of a line about a message that arrived.
export function describe ({ payload, qos, retain, dup, messageId }) {
  payload = Buffer.from(payload)
  return {
    q: qos,
    i: messageId,
    dup: dup || undefined,
    ret: retain || undefined,
    h: payload.subarray(0, HEADER).toString('latin1'),
    crc: hex(checksum(payload), 8),
    len: payload.length
  }
}
