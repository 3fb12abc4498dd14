// Publishes a process's messages.

import { Call, milliseconds } from './lines.mjs'
import { make } from './payload.mjs'

const CATCH_UP = 100 // milliseconds of delay that the pace makes up for
const BURST = 64 // messages handed over before others have their turn

export class Producer {
  constructor (p) {
    Object.assign(this, { p, work: p.c.publish, n: 0, open: 0, due: 0, started: false, stopped: false, timer: null })
    this.next = this.work.streams.map(() => 0)
    this.window = this.work.max_inflight || 20
    this.interval = this.work.rate_per_s > 0 ? 1000 / this.work.rate_per_s : 0
  }

  start () {
    if (!this.started) this.due = milliseconds() + (this.work.first_ms || 0)
    this.started = true
    this.pump()
  }

  // takes: the session takes a message.
  takes () {
    return this.p.online && (this.p.session.queues || this.p.connected)
  }

  // pump publishes what is due and allowed. It is called again when that
  // changes.
  pump () {
    if (this.timer || !this.started || this.stopped) return
    for (let i = 0; ; i++) {
      if (this.p.paused || !this.takes() || this.open >= this.window || (this.work.count && this.n >= this.work.count)) return
      const now = milliseconds()
      const late = now - this.due
      if (late > CATCH_UP && this.interval > 0) this.due += late - late % this.interval
      if (this.due > now || i === BURST) {
        const again = () => { this.timer = null; this.pump() }
        this.timer = i === BURST ? setImmediate(again) : setTimeout(again, this.due - now)
        return
      }
      this.due += this.interval
      this.open++
      this.publish(this.n++ % this.work.streams.length, 'M', () => {
        this.open--
        this.p.changed()
      })
    }
  }

  // publish publishes the next message of a stream. Its call is in the history
  // before the SDK hears of it.
  publish (index, kind, then) {
    const s = this.work.streams[index]
    const seq = this.next[index]++
    const payload = make(this.p.spec.run, this.p.id, this.p.spec.epoch || 0, s.stream, seq, s.qos || 0, kind, this.work.payload_bytes || 0)
    const call = new Call(this.p, 'publish', { s: s.stream, n: seq, q: s.qos || 0, end: kind === 'E' || undefined }, then)
    this.p.session.publish(call, s, payload)
  }

  // finish stops, waits for what is outstanding, and ends each stream with a
  // marker that the broker acknowledged.
  async finish () {
    const p = this.p
    p.connect()
    this.stopped = true
    const wait = p.spec.ack_wait_ms || 0
    await this.within(wait, expired => p.until(() => this.open === 0 || expired() || p.quit))
    await this.within(wait, async expired => {
      for (let i = 0; i < this.work.streams.length; i++) {
        while (!this.work.streams[i].unmarked && !await this.mark(i, expired)) {
          if (expired() || p.quit) return
          await new Promise(resolve => setTimeout(resolve, Math.max(p.c.reconnect_ms || 0, 10)))
        }
      }
    })
  }

  async within (wait, work) {
    let over = false
    const timer = setTimeout(() => { over = true; this.p.changed() }, wait)
    await work(() => over)
    clearTimeout(timer)
  }

  // mark publishes one end marker. False where it was not acknowledged: the
  // stream goes on by one more.
  async mark (index, expired) {
    const done = () => expired() || this.p.quit
    await this.p.until(() => this.takes() || done())
    if (done()) return false
    let outcome
    this.publish(index, 'E', o => { outcome = o; this.p.changed() })
    await this.p.until(() => outcome || done())
    return outcome === 'ok'
  }
}
