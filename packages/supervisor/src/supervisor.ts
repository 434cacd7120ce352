import { createServer } from 'node:net'
import { parseArgs } from 'node:util'
import { closeInheritedDescriptors } from './inherited-descriptors.ts'
import { Journal } from './journal.ts'
import { JOURNAL_FD, LISTEN_FD, MAX_JOURNAL_BYTES, PROXY_PORT, PROXY_SOCKET, type Resume } from './protocol.ts'
import { forwardToProxy } from './proxy-forwarder.ts'
import { Supervision } from './supervision.ts'

/**
 * The first program of a sandbox: it owns the agent, journals its traffic and outlives every worker.
 * `--proxy-port` and `--proxy-socket` change the proxy's addresses for use outside a sandbox. `--resume` has it go on where a parked
 * one has stopped.
 */
const { values } = parseArgs({
  options: {
    'proxy-port': { type: 'string', default: String(PROXY_PORT) },
    'proxy-socket': { type: 'string', default: PROXY_SOCKET },
    resume: { type: 'string' },
  },
})

// With its own process name, it survives an agent's `pkill node`.
process.title = 'berth-supervisor'

// Only destruction ends a sandbox, never a signal that an agent sends around. USR1 would start Node's debugger. XFSZ
// would end the process, but a write past the file-size limit must only fail.
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGALRM', 'SIGXFSZ'] as const) {
  process.on(signal, () => {})
}

closeInheritedDescriptors()

const server = createServer()
const resume = values.resume === undefined ? undefined : (JSON.parse(values.resume) as Resume)
new Supervision(new Journal(JOURNAL_FD, MAX_JOURNAL_BYTES, resume), server, resume?.fence)
server.listen({ fd: LISTEN_FD })
forwardToProxy(Number(values['proxy-port']), values['proxy-socket'])
