import { Readable, Writable } from 'node:stream'
import { ndJsonStream } from '@agentclientprotocol/sdk'
import manifest from '../package.json' with { type: 'json' }
import { shellAgent } from './shell-agent.ts'

const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>
const connection = shellAgent(manifest.version).connect(ndJsonStream(Writable.toWeb(process.stdout), input))

// Scripts run in their own process groups, which a signal to this process does not reach. Closing the connection aborts
// every prompt, and this process ends when their groups have ended.
process.on('SIGTERM', () => {
  connection.close()
  process.stdin.destroy()
})
