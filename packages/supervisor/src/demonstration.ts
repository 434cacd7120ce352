import { Readable, Writable } from 'node:stream'
import { ndJsonStream } from '@agentclientprotocol/sdk'
import manifest from '../package.json' with { type: 'json' }
import { demonstrationAgent } from './demonstration-agent.ts'

const input = Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>
const connection = demonstrationAgent(manifest.version).connect(ndJsonStream(Writable.toWeb(process.stdout), input))

// As with scripts: closing the connection ends the test that may run, and with it this process.
process.on('SIGTERM', () => {
  connection.close()
  process.stdin.destroy()
})
