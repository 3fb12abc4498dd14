// A driver of rmq-mcp for MQTT.js 4.2 to 5.16, MQTT 3.1.1 and 5.
//
// The acknowledgement is the PUBACK or PUBCOMP itself, which the SDK shows by
// its event packetreceive before it handles it; which message a packet id is of
// shows packetsend. What it tells the application is the publish callback. It
// is called with an error, and the message dropped, where a connection is lost
// while the messages of its store are sent again (issue #2015); before 5.0 the
// callback of a refused publish is called twice.
//
// On each new connection it sends again what its store holds, one message after
// the other's acknowledgement, whether or not the session is present, and never
// with DUP. Messages of QoS 2 that arrive are kept by id until PUBREL. The
// stores are given to it, so that they outlive end(). While it is not connected
// it queues, QoS 0 too. In 5.16 a CONNACK that refuses ends reconnecting, unless
// reconnectOnConnackError is set, as it is here; before, it goes on when the
// broker has closed.
//
// It handles one packet after the other: a consumer that holds one up, by
// handleMessage, holds up the answers to its pings.

import './rmq/lines.mjs' // before anything can print
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import { WAIT } from './rmq/conn.mjs'
import { main } from './rmq/driver.mjs'
import { identify } from './rmq/payload.mjs'

const require = createRequire(import.meta.url)
const mqtt = require('mqtt')
const { version } = JSON.parse(readFileSync(require.resolve('mqtt/package.json')))

const SCHEMES = { tcp: 'mqtt', tls: 'mqtts', ws: 'ws', wss: 'wss' }

class Session {
  queues = true

  constructor (p) {
    Object.assign(this, { p, conn: null, client: null })
    this.stores = { incomingStore: new mqtt.Store({ clean: false }), outgoingStore: new mqtt.Store({ clean: false }) }
    this.calls = new Map() // by identity of the message, from publish to the end
    this.sent = new Map() // by packet id: identity of the message, from its sending on
  }

  options () {
    const c = this.p.c
    const transport = c.transport || 'tcp'
    const o = {
      ...this.stores,
      servers: c.endpoints.map(endpoint => this.server(endpoint, SCHEMES[transport])),
      protocol: SCHEMES[transport],
      protocolVersion: c.protocol === 'mqtt5' ? 5 : 4,
      clientId: c.client_id,
      clean: !!c.clean,
      keepalive: c.keep_alive_s || 0,
      reconnectPeriod: Math.max(c.reconnect_ms || 1, 1),
      connectTimeout: 2 * WAIT,
      reconnectOnConnackError: true,
      resubscribe: false,
      path: '/mqtt'
    }
    if (c.username) Object.assign(o, { username: c.username, password: c.password })
    if (c.protocol === 'mqtt5') {
      o.properties = { sessionExpiryInterval: c.expiry_s || 0 }
      if (c.receive_max) o.properties.receiveMaximum = c.receive_max
    }
    if (transport === 'tls' || transport === 'wss') {
      o.ca = readFileSync(c.ca)
      o.checkServerIdentity = () => undefined
      o.wsOptions = { ca: o.ca, checkServerIdentity: o.checkServerIdentity }
    }
    return o
  }

  // server is an entry of the SDK's option servers. The SDK reads its host once
  // for each attempt.
  server (endpoint, protocol) {
    const colon = endpoint.lastIndexOf(':')
    const host = endpoint.slice(0, colon).replace(/[[\]]/g, '')
    const attempt = () => this.attempt(endpoint)
    return { protocol, port: Number(endpoint.slice(colon + 1)), get host () { attempt(); return host } }
  }

  attempt (endpoint) {
    this.conn?.closed('replaced')
    const conn = this.conn = this.p.dial(endpoint)
    setImmediate(() => { // the SDK has its stream now
      const stream = this.client.stream
      stream.on('error', e => { conn.error = e })
      const late = setTimeout(() => { if (stream.connecting) stream.destroy() }, WAIT)
      conn.whenLost(() => clearTimeout(late))
    })
  }

  connect () {
    if (this.client) {
      this.client._reconnectCount = 0 // the first endpoint again
      this.client.reconnect(this.stores)
      return
    }
    const client = this.client = mqtt.connect(this.options())
    client.on('error', e => { if (this.conn && !this.conn.up) this.conn.error ??= e })
    client.on('packetreceive', packet => this.received(packet))
    client.on('packetsend', packet => {
      if (packet.cmd !== 'publish') return
      const identity = identify(packet.payload) // what is sent again is a copy
      const call = this.calls.get(identity)
      if (!call) return
      call.sent = true
      if (packet.qos > 0) this.sent.set(packet.messageId, identity)
    })
    client.on('connect', packet => this.p.ready(this.conn, packet.sessionPresent))
    client.on('close', () => this.closed())
    client.handleMessage = (packet, done) => this.message(packet, done)
  }

  closed () {
    const conn = this.conn
    const error = conn.error
    if (!conn.up && error && !['ECONNRESET', 'EPIPE'].includes(error.code)) conn.failed(error.message)
    else conn.closed(!this.p.online ? 'closed by the client' : conn.why || error?.message || 'connection lost')
    // A callback that waits for its connection to be writable is not called any more.
    for (const [identity, call] of this.calls) {
      if (call.fields.q === 0 && call.sent) this.finish(identity, 'info', { x: 'connection lost' })
    }
    this.p.changed()
  }

  received (packet) {
    const reason = packet.reasonCode ?? packet.returnCode ?? 0
    switch (packet.cmd) {
      case 'connack':
        if (reason) {
          this.conn.refused(reason)
        } else {
          this.client._reconnectCount = 0
          this.conn.accepted(packet.sessionPresent)
          this.p.changed()
        }
        break
      case 'disconnect':
        this.conn.why = `the broker disconnected: reason ${reason}`
        break
      case 'puback':
      case 'pubcomp':
        this.acknowledged(packet.messageId, reason >= 0x80 ? (packet.cmd === 'puback' ? 'fail' : 'info') : 'ok', reason)
        break
      case 'pubrec':
        if (reason >= 0x80) this.acknowledged(packet.messageId, 'fail', reason)
    }
  }

  acknowledged (id, outcome, reason) {
    const identity = this.sent.get(id)
    if (!identity) return
    this.sent.delete(id)
    this.finish(identity, outcome, { i: id, r: reason || undefined })
  }

  finish (identity, outcome, fields) {
    const call = this.calls.get(identity)
    this.calls.delete(identity)
    call?.done(outcome, fields)
  }

  publish (call, { topic, qos = 0, retain = false }, payload) {
    const identity = identify(payload)
    this.calls.set(identity, call)
    this.client.publish(topic, payload, { qos, retain }, error => {
      call.told(error ? 'fail' : 'ok', error?.message)
      if (qos === 0 && !error) this.finish(identity, 'ok')
      else if (error) this.finish(identity, call.sent ? 'info' : 'fail', { x: error.message })
    })
  }

  subscribe (topic, qos) {
    return new Promise(resolve => {
      const unknown = text => () => resolve({ outcome: 'info', x: text })
      const timer = setTimeout(unknown('no SUBACK'), WAIT)
      this.conn.whenLost(unknown('connection lost before SUBACK'))
      this.client.subscribe(topic, { qos }, (error, granted) => {
        clearTimeout(timer)
        const reason = granted?.[0]?.qos
        if (reason >= 0x80) resolve({ outcome: 'fail', r: reason, x: 'the broker refused' })
        else if (error) resolve({ outcome: 'info', x: error.message })
        else resolve({ outcome: 'ok', r: reason })
      })
    })
  }

  // message is where the SDK takes backpressure: its acknowledgement waits for
  // done. What is held up until its connection is lost the broker sends again,
  // but for QoS 0.
  async message (packet, done) {
    const conn = this.conn
    conn.whenLost(() => this.p.changed())
    if (this.p.paused) await this.p.until(() => !this.p.paused || !this.p.online || conn.lost)
    if (conn.lost && packet.qos > 0) {
      done(new Error('connection lost'))
      return
    }
    this.p.deliver(packet)
    if (this.p.c.delay_ms) {
      await new Promise(resolve => {
        setTimeout(resolve, this.p.c.delay_ms)
        conn.whenLost(resolve)
      })
    }
    done()
  }

  // disconnect: end() waits for what is in flight, and only forced it does not,
  // but then says no DISCONNECT.
  async disconnect () {
    const client = this.client
    let over = false
    const inFlight = () => Object.keys(client.outgoing).length > 0
    const late = setTimeout(() => { over = true; this.p.changed() }, 1000)
    await this.p.until(() => !client.connected || !inFlight() || over)
    clearTimeout(late)
    const frozen = setTimeout(() => client.stream.destroy(), 2000) // a frozen broker closes nothing
    await new Promise(resolve => client.end(!client.connected || inFlight(), resolve))
    clearTimeout(frozen)
    this.conn.closed('closed by the client')
  }
}

main({
  name: 'mqtt',
  version,
  protocols: ['mqtt3', 'mqtt5'],
  transports: Object.keys(SCHEMES),
  dedupes: true,
  cannot: ['pause_connected'],
  open: p => new Session(p)
})
