// A connection to a broker, from the attempt to its end.

import { Call, write } from './lines.mjs'

export const WAIT = 5000 // milliseconds, for a connection, for its CONNACK, and for a SUBACK

// A Conn is one attempt to connect, and the connection that came of it. It
// writes down, once, how the attempt went and that the connection is over.
export class Conn {
  constructor (p, endpoint) {
    Object.assign(this, { p, up: false, lost: false, waiting: [] })
    this.call = new Call(p, 'connect', { a: endpoint })
  }

  // accepted: CONNACK said yes. present is whether the session is.
  accepted (present) {
    this.up = this.p.connected = true
    this.call.done('ok', { sp: present || undefined })
  }

  refused (reason) {
    this.call.done('fail', { r: reason, x: 'the broker refused' })
  }

  // failed: the connection could not be opened.
  failed (text) {
    this.call.done('fail', { x: text })
    this.closed(text)
  }

  // closed: the connection is over, whoever ended it.
  closed (text) {
    if (this.lost) return
    this.lost = true
    if (this.up) {
      this.p.connected = false
      write('point', { k: 'disconnect', p: this.p.id, x: text })
    } else {
      this.call.done('info', { x: `${text} before CONNACK` })
    }
    for (const then of this.waiting) then()
  }

  // whenLost calls then when the connection is over.
  whenLost (then) {
    if (this.lost) then()
    else this.waiting.push(then)
  }
}
