// What a driver writes: a line an event. Import this module before any SDK: it
// keeps descriptor 1 for the lines, and what prints goes to descriptor 2.

import { writeSync } from 'node:fs'
import { Console } from 'node:console'

Object.defineProperty(process, 'stdout', { value: process.stderr })
globalThis.console = new Console(process.stderr, process.stderr)

// On Linux hrtime is CLOCK_MONOTONIC; elsewhere it depends on the version.
export const clock = process.platform === 'linux' ? 'monotonic' : 'process'
export const monotonic = process.hrtime.bigint
export const milliseconds = () => performance.now()

let lines = 0
let calls = 0

// write writes a line; it is in the pipe when write returns.
export function write (e, fields) {
  emit(`{"e":"${e}","t":${monotonic()},${JSON.stringify(fields).slice(1)}\n`)
}

export function bye () {
  write('bye', { p: 0, lines })
}

function emit (text) {
  let rest = Buffer.from(text)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (e) {
      if (e.code !== 'EAGAIN') process.exit(1) // nobody reads any more
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1) // whoever gave us the pipe made it non-blocking
    }
  }
  lines++
}

// A Call is in the history and has not returned. Only its first return counts,
// and only the first word of the SDK on it.
export class Call {
  constructor (p, kind, fields, then) {
    Object.assign(this, { p, kind, fields, then, returned: false, wasTold: false })
    this.number = ++calls
    emit(`{"e":"call","t":${monotonic()},"c":${this.number},${JSON.stringify({ k: kind, p: p.id, ...fields }).slice(1)}\n`)
  }

  // done writes the return: ok, fail or info. fields are those of a line.
  done (outcome, fields) {
    if (this.returned) return
    this.returned = true
    write('return', { k: this.kind, p: this.p.id, c: this.number, o: outcome, ...fields })
    if (this.then) this.then(outcome)
  }

  // told writes what the SDK tells the application of a publish: ok, or fail.
  told (outcome, text) {
    if (this.wasTold) {
      write('log', { p: this.p.id, x: `told again of message ${this.fields.n} of stream ${this.fields.s}: ${outcome} ${text || ''}` })
      return
    }
    this.wasTold = true
    write('point', { k: 'told', p: this.p.id, s: this.fields.s, n: this.fields.n, o: outcome, x: text })
  }
}
