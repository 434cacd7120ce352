import { readFileSync } from 'node:fs'

/** State of a listening socket in the kernel's tables. */
const LISTENING = '0A'
/** Most ports that are told. */
const MOST = 256

/** Returns the ports of the listening sockets in a table of the kernel, `/proc/net/tcp` or `tcp6`. */
export function portsIn(table: string): number[] {
  return table
    .split('\n')
    .slice(1)
    .map(line => line.trim().split(/\s+/))
    .filter(([, , , state]) => state === LISTENING)
    .map(([, local = '']) => Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16))
    .filter(port => port > 0)
}

/** Returns the ports on which programs of this network namespace listen, in order. @param own port of the supervisor */
export function listeningPorts(own: number): readonly number[] {
  const found = ['tcp', 'tcp6'].flatMap(name => {
    try {
      return portsIn(readFileSync(`/proc/self/net/${name}`, 'utf8'))
    } catch {
      // A kernel without IPv6 has no such table.
      return []
    }
  })
  return [...new Set(found)]
    .filter(port => port !== own)
    .sort((one, other) => one - other)
    .slice(0, MOST)
}
