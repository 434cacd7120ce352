import { Readable, Writable } from 'node:stream'
import { ndJsonStream } from '@agentclientprotocol/sdk'
import manifest from '../package.json' with { type: 'json' }
import { engineAgent } from './engine-agent.ts'
import { readEnvironment } from './environment.ts'

/** Time for commands and servers to end before the process exits. */
const END_MS = 800

const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>
const { app, stop } = engineAgent(manifest.version, readEnvironment(process.env))
const connection = app.connect(ndJsonStream(Writable.toWeb(process.stdout), input))

// Commands run in their own process groups, which a signal to this process does not reach, so stop them first.
const end = async () => {
  setTimeout(() => process.exit(1), END_MS)
  await stop()
  process.exit(0)
}
process.on('SIGTERM', end)
void connection.closed.then(end)
