import { createServer } from 'node:net'
import { parseArgs } from 'node:util'
import { closeInheritedDescriptors } from './inherited-descriptors.ts'
import { Journal } from './journal.ts'
import { JOURNAL_FD, LISTEN_FD, PROXY_PORT, PROXY_SOCKET } from './protocol.ts'
import { forwardToProxy } from './proxy-forwarder.ts'
import { Supervision } from './supervision.ts'

/**
 * First program of a sandbox: owns the agent, journals its traffic, outlives every worker.
 * `--proxy-port` and `--proxy-socket` move the way out, for use outside of a sandbox.
 */
const { values } = parseArgs({
  options: {
    'proxy-port': { type: 'string', default: String(PROXY_PORT) },
    'proxy-socket': { type: 'string', default: PROXY_SOCKET },
  },
})

// Under its own name, an agent's `pkill node` does not end the sandbox.
process.title = 'berth-supervisor'

// A sandbox ends by its destruction, never by a signal that an agent sends around. USR1 would start Node's debugger;
// XFSZ would end the process where a write past the file-size bound must fail instead.
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGALRM', 'SIGXFSZ'] as const) {
  process.on(signal, () => {})
}

closeInheritedDescriptors()

const server = createServer()
new Supervision(new Journal(JOURNAL_FD), server)
server.listen({ fd: LISTEN_FD })
forwardToProxy(Number(values['proxy-port']), values['proxy-socket'])
