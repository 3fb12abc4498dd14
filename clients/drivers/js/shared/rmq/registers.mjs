// Reads registers: one clean session after the other, and in each what is
// retained on one topic after the other.

import { Call } from './lines.mjs'
import { describe } from './payload.mjs'

export class Reader {
  queues = true

  constructor (p) {
    this.p = p
    this.work = p.c.read_registers
  }

  connect () {
    this.stopped = false
    this.running = this.run()
  }

  async disconnect () {
    this.stopped = true
    this.p.changed()
    await this.running
  }

  async run () {
    while (!this.stopped) {
      await this.p.until(() => !this.p.paused || this.stopped)
      if (!this.stopped) await this.round()
      await this.sleep(this.work.every_ms || 0)
    }
  }

  sleep (ms) {
    let over = false
    setTimeout(() => { over = true; this.p.changed() }, ms)
    return this.p.until(() => over || this.stopped)
  }

  // round reads every register once.
  async round () {
    const client = { ...this.p.c, clean: true, expiry_s: 0, subscribe: null, publish: null, read_registers: null }
    const p = new this.p.constructor(this.p.sdk, this.p.spec, client)
    let conn = null
    this.messages = []
    p.onReady = c => { conn ||= c; this.p.changed() }
    p.onMessage = packet => { if (packet.retain) { this.messages.push(packet); this.p.changed() } }
    p.connect()
    await this.p.until(() => conn || this.stopped)
    conn?.whenLost(() => this.p.changed())
    for (const topic of conn ? this.work.topics : []) {
      if (!await this.fetch(p, conn, topic)) break
    }
    await p.disconnect()
  }

  // fetch reads one register. False when the session is of no more use.
  async fetch (p, conn, topic) {
    const call = new Call(this.p, 'fetch', { x: topic })
    const { outcome, ...fields } = await p.session.subscribe(topic, 1)
    if (outcome !== 'ok') {
      call.done(outcome, fields)
      return false
    }
    let over = false
    const timer = setTimeout(() => { over = true; this.p.changed() }, this.work.wait_ms || 0)
    const found = () => this.messages.find(m => m.topic === topic && m.retain)
    await this.p.until(() => over || this.stopped || conn.lost || found())
    clearTimeout(timer)
    if (found()) {
      call.done('ok', describe(found()))
    } else if (conn.lost || this.stopped) {
      call.done('info', { x: conn.lost ? 'connection lost' : 'the process has ended' })
      return false
    } else {
      call.done('ok')
    }
    return true
  }
}
