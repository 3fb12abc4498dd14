// A driver of rmq-mcp for nats (nats.js), as a client of mq9.
//
// The SDK's own request() listens on a wildcard inbox, which a broker of mq9
// does not find; so replies come to inboxes that are subscribed to literally.
// The acknowledgement of a publish is the reply to its send.
//
// While the connection is lost the SDK takes what is published without a word,
// and drops it when it next tries to connect: only what is published during the
// attempt that succeeds is sent. An attempt that it gives up for its timeout
// keeps its socket (nats.js issue #64).

import './rmq/lines.mjs' // before anything can print
import { createRequire } from 'node:module'

import { WAIT } from './rmq/conn.mjs'
import { main } from './rmq/driver.mjs'
import { Call, write } from './rmq/lines.mjs'
import { Inboxes, NotSent } from './inboxes.mjs'

const require = createRequire(import.meta.url)
const nats = require('nats')
const { NodeTransport } = require('nats/lib/src/node_transport')
const { version } = require('nats/package.json')

const PRIORITIES = ['normal', 'urgent', 'critical'] // the lowest first
const FETCH = { num_msgs: 50, max_wait_ms: 200 }
const ATTEMPTS = 3 // at a request that is the same however often it is made
const IDLE = 100 // milliseconds to do nothing where the broker does not answer

// The SDK makes a transport for each attempt to connect, and gives it the
// options, of which dial is ours.
const { connect } = NodeTransport.prototype
NodeTransport.prototype.connect = async function (server, options) {
  const conn = options.dial(server.toString())
  this.closed().then(error => conn.closed(error?.message || 'connection lost'))
  try {
    await connect.call(this, server, options)
  } catch (e) {
    const text = e.chainedError?.message || e.message
    if (this.socket) conn.closed(text)
    else conn.failed(text)
    throw e
  }
}

class Session {
  constructor (p) {
    Object.assign(this, { p, nc: null, conn: null, stop: null, inboxes: null, filters: [] })
  }

  // queues: not before the SDK has been connected for the first time.
  get queues () {
    return this.nc !== null && !this.nc.isClosed()
  }

  connect () {
    const stop = new AbortController()
    this.stop = () => stop.abort()
    this.open(stop.signal)
  }

  // open makes the connection that the SDK then keeps, and fetches on it.
  async open (stop) {
    const c = this.p.c
    let nc
    try {
      nc = await nats.connect({
        name: c.client_id,
        servers: c.endpoints,
        noRandomize: true,
        resolve: false,
        ignoreClusterUpdates: true,
        timeout: WAIT,
        pingInterval: 1000 * Math.max(c.keep_alive_s || 0, 1),
        waitOnFirstConnect: true,
        maxReconnectAttempts: -1,
        reconnectDelayHandler: () => { // the SDK has no other way to stop before it is connected
          if (stop.aborted) throw new Error('closed by the client')
          return Math.max(c.reconnect_ms || 0, 1)
        },
        dial: endpoint => this.dial(endpoint)
      })
    } catch (e) {
      if (stop.aborted) return
      throw e
    }
    if (stop.aborted) return nc.close()
    Object.assign(this, { nc, inboxes: new Inboxes(nc) })
    this.consume(stop)
    this.up()
    for await (const { type } of nc.status()) {
      if (type === nats.Events.Reconnect) this.up()
    }
  }

  dial (endpoint) {
    this.conn?.closed('replaced')
    this.conn = this.p.dial(endpoint)
    this.conn.whenLost(() => this.p.changed())
    return this.conn
  }

  // up: the SDK says that it is connected.
  up () {
    if (this.conn.lost) return
    this.conn.accepted(false)
    this.p.changed()
    this.p.ready(this.conn, false)
  }

  async disconnect () {
    this.stop()
    this.conn?.closed('closed by the client')
    await this.nc?.close()
  }

  // ask makes a request of JSON and answers the reply.
  ask (subject, fields) {
    return this.inboxes.request(subject, JSON.stringify(fields))
  }

  // subscribe makes the mailbox, unless it is there, and goes on to fetch from it.
  async subscribe (filter) {
    const ttl = this.p.c.subscribe.find(f => f.filter === filter)?.ttl_s || undefined
    const [, name] = this.cut(filter)
    for (let attempt = 1; ; attempt++) {
      try {
        const { error } = await this.ask('MAILBOX.CREATE', { name, ttl })
        if (error && !error.includes('already exists')) return { outcome: 'fail', x: error }
        break
      } catch (e) {
        if (attempt === ATTEMPTS) return { outcome: 'info', x: e.message }
      }
    }
    if (!this.filters.includes(filter)) this.filters.push(filter)
    return { outcome: 'ok' }
  }

  // cut returns the group as which this client reads by a filter, and the mailbox.
  cut (filter) {
    const [, group, mailbox] = /^\$share\/([^/]*)\/(.*)$/.exec(filter) ?? [filter, this.p.c.client_id, filter]
    return [group, mailbox]
  }

  // publish sends a message. The reply says under which id it is kept.
  async publish (call, { topic, priority, ttl_s: ttl }, payload) {
    let headers
    if (priority || ttl) headers = nats.headers()
    if (priority) headers.set('mq9-priority', priority)
    if (ttl && !call.fields.end) headers.set('mq9-ttl', String(ttl))
    try {
      const reply = await this.inboxes.request(`MSG.SEND.${topic}`, payload, headers)
      if (reply.error) call.done('fail', { x: reply.error })
      else if (reply.msg_id === undefined) call.done('info', { x: 'a reply without msg_id' })
      else call.done('ok', { i: reply.msg_id })
    } catch (e) {
      call.done(e instanceof NotSent ? 'fail' : 'info', { x: e.message })
    }
  }

  // consume fetches from one mailbox after the other until it is to stop.
  async consume (stop) {
    for (let turn = 0; ; turn++) {
      await this.p.until(() => stop.aborted || (this.filters.length > 0 && this.p.connected && !this.p.paused))
      if (stop.aborted) return
      try {
        await this.fetch(this.filters[turn % this.filters.length], stop)
      } catch (e) {
        if (stop.aborted) return
        write('log', { p: this.p.id, x: `fetch: ${e.message}` })
        await new Promise(resolve => setTimeout(resolve, IDLE))
      }
    }
  }

  // fetch reads what the mailbox of a filter has for this client's group, and acknowledges it.
  async fetch (filter, stop) {
    const conn = this.conn
    const [group, mailbox] = this.cut(filter)
    const call = new Call(this.p, 'fetch', { x: mailbox })
    const request = this.ask(`MSG.FETCH.${mailbox}`, { group_name: group, deliver: 'earliest', config: FETCH })
    const reply = await request.catch(e => {
      call.done('info', { x: e.message })
      throw e
    })
    if (reply.error) {
      call.done('fail', { x: reply.error })
      throw new Error(reply.error)
    }
    call.done('ok', { i: (reply.messages || []).length })
    const last = new Map() // id, by priority
    for (const m of reply.messages || []) {
      await this.p.until(() => !this.p.paused || conn.lost)
      if (this.p.paused || stop.aborted) break // what is not acknowledged is fetched again
      this.p.deliver({ payload: m.payload, qos: 1, messageId: m.msg_id })
      last.set(m.priority, Math.max(last.get(m.priority) ?? 0, m.msg_id))
      await this.takeTime(conn)
    }
    // A broker that takes an id for all priorities then skips the least.
    for (const priority of PRIORITIES.filter(p => last.has(p))) {
      const id = last.get(priority)
      const { error } = await this.ask(`MSG.ACK.${mailbox}`, { group_name: group, mail_address: mailbox, msg_id: id })
      if (error) throw new Error(error)
      write('point', { k: 'ack', p: this.p.id, i: id })
    }
  }

  // takeTime passes the time that the application takes for a message.
  async takeTime (conn) {
    if (!this.p.c.delay_ms) return
    await new Promise(resolve => {
      setTimeout(resolve, this.p.c.delay_ms)
      conn.whenLost(resolve)
    })
  }
}

main({
  name: 'nats',
  version,
  protocols: ['mq9'],
  transports: ['tcp'],
  dedupes: false,
  cannot: ['session_present', 'granted_qos', 'told'],
  open: p => new Session(p)
})
