// Requests of mq9, and where their replies come.

import { createRequire } from 'node:module'

import { WAIT } from './rmq/conn.mjs'

const { createInbox } = createRequire(import.meta.url)('nats')

const PREFIX = '$mq9.AI.'

// NotSent is a request that the SDK did not take.
export class NotSent extends Error {}

// Inboxes are subscribed to once, each for one request at a time, and never
// unsubscribed. One whose request was not answered in time is not used again:
// its answer may come yet.
export class Inboxes {
  constructor (nc) {
    Object.assign(this, { nc, free: [] })
  }

  // request answers the reply, which is JSON. Other errors than NotSent leave
  // open whether it took effect.
  async request (subject, data, headers) {
    const box = this.send(subject, data, headers)
    const message = await new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no reply within ${WAIT / 1000} s`)), WAIT)
      box.answer = message => {
        clearTimeout(late)
        resolve(message)
      }
    })
    this.free.push(box)
    return message.json()
  }

  send (subject, data, headers) {
    try {
      const box = this.free.pop() || this.open()
      this.nc.publish(PREFIX + subject, data, { reply: box.subject, headers })
      return box
    } catch (e) {
      throw new NotSent(e.message)
    }
  }

  open () {
    const box = { subject: createInbox(), answer: () => {} }
    const callback = (error, message) => { if (!error) box.answer(message) }
    this.nc.subscribe(box.subject, { callback })
    return box
  }
}
