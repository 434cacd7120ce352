import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { createBubblewrapDriver } from '../src/bubblewrap/create-driver.ts'
import { defaultBounds } from '../src/bubblewrap/options.ts'
import { insidePaths } from '../src/inside-paths.ts'

// A service reduced to its sandbox driver, in a process whose user the test chooses. It makes one sandbox, reports its
// limits, and runs each script that it reads as a line of JSON.

/** Runs in the supervisor's place with the same privileges, and answers each script with its exit code and output. */
const standIn = `
  const { spawn } = require('node:child_process')
  process.title = 'berth-supervisor'
  process.on('uncaughtException', () => {})
  require('node:net').createServer({ allowHalfOpen: true }, socket => {
    let script = ''
    socket.on('data', part => { script += part })
    socket.on('end', () => {
      const child = spawn('/bin/bash', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
      let out = ''
      child.stdout.on('data', part => { out += part })
      child.stderr.on('data', part => { out += part })
      child.on('error', error => socket.end(JSON.stringify({ code: -1, out: String(error) })))
      child.on('close', (code, signal) => socket.end(JSON.stringify({ code: code ?? signal, out })))
    })
  }).listen({ fd: 3 })`

const [dataDir] = process.argv.slice(2)
if (dataDir === undefined) throw new Error('name a data directory')
const bundlesDir = join(dataDir, 'bundles')
const bounds = { ...defaultBounds, memoryBytes: 2 * 1024 ** 3, processes: 200, diskBytes: 512 * 1024 ** 2 }
const leaseId = `escape-${process.pid}`
const log = { info: () => undefined, warn: console.error, error: console.error }
const options = { dataDir, nodePath: process.execPath, bundlesDir, bounds, log, spares: 0 }
const driver = await createBubblewrapDriver(options)
const command = [insidePaths.closedNode, '-e', standIn]
await driver.create({ leaseId, command, bounds, mounts: [], egress: { reach: [] } })
process.stdout.write(`${JSON.stringify(driver.describe())}\n`)
for await (const line of createInterface({ input: process.stdin })) {
  const socket = await driver.attach(leaseId)
  socket.end(JSON.parse(line))
  process.stdout.write(`${await text(socket)}\n`)
}
await driver.destroy(leaseId)
await driver[Symbol.asyncDispose]()
