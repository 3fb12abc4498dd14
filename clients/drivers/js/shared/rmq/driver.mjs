// What the drivers of JavaScript SDKs share: the specification and the
// commands, the lines, the payloads, the pace, the bookkeeping.
// clients/CONTRACT.md says what a driver does. An SDK adds a session and calls
// main.

import { createInterface } from 'node:readline'

import { bye, clock, write } from './lines.mjs'
import { Process } from './process.mjs'

const CONTRACT = 1

function fail (text) {
  process.stderr.write(`driver: ${text}\n`, () => process.exit(1))
}

// wrong says what of a specification cannot be done; '' for nothing.
function wrong (sdk, spec) {
  if (spec.contract !== CONTRACT) return `specification of contract ${spec.contract}, this driver speaks ${CONTRACT}`
  for (const c of spec.clients) {
    const transport = c.transport || 'tcp'
    if (!sdk.protocols.includes(c.protocol) || !sdk.transports.includes(transport)) {
      return `client ${c.process} wants ${c.protocol} over ${transport}; ${sdk.name} ${sdk.version} speaks ` +
        `${sdk.protocols.join(', ')} over ${sdk.transports.join(', ')}`
    }
  }
  return ''
}

// ours reports whether an error came out of our own code: the first of its frames that is
// in a file, and not in Node itself, is in no package.
function ours (error) {
  const frame = String(error?.stack).split('\n').find(line => /^ +at .*[/\\]/.test(line) && !line.includes('node:'))
  return frame !== undefined && !frame.includes('node_modules')
}

// main is a driver. sdk has name, version, protocols, transports, dedupes,
// cannot, and open(process), which makes a session.
export function main (sdk) {
  process.on('uncaughtExceptionMonitor', error => {
    if (ours(error)) process.on('exit', () => { process.exitCode = 70 })
  })
  let processes = null
  const input = createInterface({ input: process.stdin })
  input.on('line', line => {
    if (processes) {
      const command = JSON.parse(line)
      for (const p of processes) {
        if ([-1, p.id].includes(command.process ?? -1)) p.do(command.do)
      }
      return
    }
    const spec = JSON.parse(line)
    const text = wrong(sdk, spec)
    processes = []
    if (text) return fail(text)
    write('hello', { p: 0, contract: CONTRACT, sdk: sdk.name, version: sdk.version, clock, dedupes: sdk.dedupes, cannot: sdk.cannot })
    processes = spec.clients.map(c => new Process(sdk, spec, c))
    for (const p of processes) {
      if (p.c.start !== 'waiting') p.do('connect')
    }
    Promise.all(processes.map(p => p.run())).then(() => {
      bye()
      process.exit(0)
    })
  })
  input.on('close', () => {
    if (!processes) fail('no specification on stdin; the driver is started by rmq-mcp')
    for (const p of processes || []) p.do('abandon')
  })
}
