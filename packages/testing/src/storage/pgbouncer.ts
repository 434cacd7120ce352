import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn } from '../../../../script/testing/spawn.ts'
import { freePorts } from '../services/free-ports.ts'
import { until } from '../until.ts'
import type { TestDatabase } from './postgres.ts'

/** The PgBouncer to test with. Debian 12 has a release that keeps no prepared statements. */
const program = process.env['PGBOUNCER'] ?? 'pgbouncer'
const version = spawnSync(program, ['--version'], { encoding: 'utf8' })
/** True if PgBouncer is installed; `script/test` installs it. */
export const hasPgBouncer = version.status === 0
const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(version.stdout ?? '') ?? []
/** True if it can keep prepared statements in transaction mode, as from 1.21 on. */
export const keepsStatements = Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 21)

/**
 * Starts the real PgBouncer in front of a test's database.
 * @returns its URL
 */
export async function startPgBouncer(
  { connection }: TestDatabase,
  settings: Readonly<Record<string, string>>,
): Promise<{ readonly url: string } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  // PgBouncer insists on running as a user to whom the server's socket is closed, so a relay connects for it.
  const relay = createServer(client => {
    const server = connect(join(connection.host, `.s.PGSQL.${connection.port}`))
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
      from.pipe(to)
    }
  })
  await once(relay.listen(0, '127.0.0.1'), 'listening')
  const upstream = (relay.address() as AddressInfo).port
  stack.defer(() => void relay.close())
  const [port = 0] = await freePorts(1)

  const directory = await mkdtemp(join(tmpdir(), 'berth-pgbouncer-'))
  stack.defer(() => rm(directory, { recursive: true }))
  await chmod(directory, 0o755)
  const file = join(directory, 'pgbouncer.ini')
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'any',
    ...settings,
  }).map(([name, value]) => `${name} = ${value}`)
  const target = `host=127.0.0.1 port=${upstream} user=${connection.user}`
  await writeFile(file, ['[databases]', `* = ${target}`, '[pgbouncer]', ...lines, ''].join('\n'))
  const nobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  stack.use(spawn(program, [file], { stdio: 'ignore', ...nobody }))
  await until('a PgBouncer that listens', async () => {
    const probe = connect(port, '127.0.0.1')
    return once(probe, 'connect').then(
      () => probe.destroy(),
      () => false,
    )
  })
  const opened = stack.move()
  return {
    url: `postgresql://${connection.user}@127.0.0.1:${port}/${connection.database}`,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
