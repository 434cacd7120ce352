import { createServer } from 'node:net'
import { type Finding, failure, ok, warning } from './finding.ts'

/** A port that the settings name; `setting` is the variable that moves it. */
export interface NamedPort {
  readonly setting: string
  readonly host: string
  readonly port: number
}

/**
 * Checks that a start could listen, by listening for a moment.
 * @param serving pids of the services that run on the data directory: a port that is taken is taken to be theirs
 */
export async function examinePort({ setting, host, port }: NamedPort, serving: readonly number[]): Promise<Finding> {
  const where = `${host.includes(':') ? `[${host}]` : host}:${port}`
  if (port === 0) return ok('port', `${setting} is 0: a start takes a free one`)
  const code = await listenOnce(host, port)
  if (code === undefined) return ok('port', `${where} is free`)
  if (code === 'EADDRINUSE' && serving.length > 0) {
    return ok('port', `${where} is in use; process ${serving.join(', ')} serves from this data directory`)
  }
  if (code === 'EADDRINUSE') {
    return failure('port', `another program listens on ${where}`, `${setting}=${port + 1} script/server`)
  }
  if (code === 'EACCES') {
    return failure('port', `this user may not listen on ${where}`, `${setting}=4100 script/server`)
  }
  if (code === 'EADDRNOTAVAIL') {
    return failure('port', `this machine has no address ${host}`, 'BERTH_HOST=127.0.0.1 script/server')
  }
  return warning('port', `${where} cannot be tried: ${code}`, `ss -ltnp 'sport = :${port}'`)
}

/** Returns the code of the error with which listening fails; undefined if it succeeds. */
async function listenOnce(host: string, port: number): Promise<string | undefined> {
  const server = createServer()
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  server.once('error', error => resolve('code' in error ? String(error.code) : error.message))
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  return promise
}
