// One client of the specification.

import { Conn } from './conn.mjs'
import { Call, write } from './lines.mjs'
import { describe } from './payload.mjs'
import { Producer } from './producer.mjs'
import { Reader } from './registers.mjs'

// A Process is a client: what its SDK's session tells of it becomes lines. A
// session has connect(), disconnect() and subscribe(topic, qos), which answer
// promises, publish(call, stream, payload), and queues: whether it takes
// messages while it is not connected.
export class Process {
  constructor (sdk, spec, client) {
    Object.assign(this, { sdk, spec, c: client, id: client.process })
    Object.assign(this, { paused: false, online: false, connected: false, finished: false, quit: false })
    this.commands = []
    this.waiting = [] // called when something has changed
    this.subscribed = new Set()
    this.onReady = this.onMessage = null // instead of subscribing and producing, of a delivery line
    this.producer = client.publish?.streams?.length ? new Producer(this) : null
    this.session = client.read_registers ? new Reader(this) : sdk.open(this)
  }

  // changed wakes who waits for something of the process to change.
  changed () {
    for (const then of this.waiting.splice(0)) then()
    if (this.producer) this.producer.pump()
  }

  // until waits for a condition on what changed tells of.
  async until (condition) {
    while (!condition()) await new Promise(resolve => this.waiting.push(resolve))
  }

  do (command) {
    this.commands.push(command)
    if (command === 'abandon') this.quit = true
    this.changed()
  }

  async run () {
    for (;;) {
      await this.until(() => this.commands.length > 0)
      const command = this.commands.shift()
      switch (command) {
        case 'connect':
          this.connect()
          break
        case 'disconnect':
          await this.disconnect()
          break
        case 'reconnect':
          await this.disconnect()
          this.connect()
          break
        case 'pause':
        case 'resume':
          if (this.paused !== (command === 'pause')) {
            this.paused = !this.paused
            write('point', { k: command, p: this.id })
            this.changed()
          }
          break
        case 'finish':
          await this.finish()
          break
        case 'end':
        case 'abandon':
          if (command === 'end') await this.finish()
          await this.disconnect()
          return
        default:
          console.log(`driver: no command ${command} in the contract`)
      }
    }
  }

  // finish ends the publishing, once.
  async finish () {
    if (!this.producer || this.finished) return
    this.finished = true
    await this.producer.finish()
  }

  connect () {
    if (this.online) return
    this.online = true
    this.session.connect()
    this.changed()
  }

  async disconnect () {
    if (!this.online) return
    this.online = false
    this.changed()
    await this.session.disconnect()
  }

  // dial is an attempt to connect; its call is written.
  dial (endpoint) {
    return new Conn(this, endpoint)
  }

  // ready is to be called by the session when a connection can be used.
  ready (conn, present) {
    if (this.onReady) this.onReady(conn)
    else this.use(conn, present)
  }

  // use subscribes to what the session cannot have, and begins to publish.
  async use (conn, present) {
    if (!present) this.subscribed.clear()
    for (const { filter, qos } of this.c.subscribe || []) {
      if (conn.lost) return
      if (this.subscribed.has(filter)) continue
      const call = new Call(this, 'subscribe', { q: qos, x: filter })
      const { outcome, ...fields } = await this.session.subscribe(filter, qos)
      if (outcome === 'ok') this.subscribed.add(filter)
      call.done(outcome, fields)
    }
    if (this.producer) this.producer.start()
    this.changed()
  }

  // deliver is the application's callback for a message: it writes it down.
  // The time that the application takes is for the session to pass.
  deliver (packet) {
    if (this.onMessage) this.onMessage(packet)
    else write('point', { k: 'deliver', p: this.id, x: packet.topic, ...describe(packet) })
  }
}
