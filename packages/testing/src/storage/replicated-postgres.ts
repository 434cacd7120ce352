import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '@berth/platform/storage/embedded/embedded-postgres.ts'
import { openDatabase } from '@berth/platform/storage/postgres/pool.ts'
import { runProgram } from '@berth/sandboxes/linux/run-program.ts'
import { silentLog } from '../services/log.ts'
import { until } from '../until.ts'
import { type SeverableDatabase, severable } from './severable-database.ts'

/** A primary with a standby that has every commit before the primary acknowledges it, behind one address. */
export interface ReplicatedPostgres extends AsyncDisposable {
  /** Connection of the service through the address. */
  readonly connection: SeverableDatabase['connection']
  /** Connection of the superuser through the address. */
  readonly administration: SeverableDatabase['connection']
  /** Kills the primary with `-9`, promotes the standby and leads the address to it. */
  failOver(): Promise<void>
}

/** @param directory where both keep their data */
export async function startReplicatedPostgres(directory: string): Promise<ReplicatedPostgres> {
  await using stack = new AsyncDisposableStack()
  const [first, second] = [join(directory, 'first'), join(directory, 'second')]
  const start = async (dataDir: string, parameters: Readonly<Record<string, string>> = {}) =>
    stack.use(await startEmbeddedPostgres({ dataDir, log: silentLog, parameters }))
  await (await start(first)).stop()
  const inside = join('postgres', 'data')
  // A server that has stopped in order is a whole backup.
  await mkdir(join(second, 'postgres'), { recursive: true })
  await runProgram('cp', ['-a', join(first, inside), join(second, inside)])
  await writeFile(join(second, inside, 'standby.signal'), '')

  const primary = await start(first, { synchronous_standby_names: '*' })
  const port = await relay(primary, stack)
  const line = `host=127.0.0.1 port=${port} user=${primary.administration.user}`
  const standby = await start(second, { primary_conninfo: line })
  await using asking = openDatabase({ connection: primary.administration, log: silentLog, connections: 1 })
  await until('a synchronous standby', async () => {
    const { rowCount } = await asking.query("select from pg_stat_replication where sync_state <> 'async'")
    return rowCount === 1
  })

  let leading: EmbeddedPostgres = primary
  const address = stack.use(
    await severable({
      connection: {
        ...primary.connection,
        get host() {
          return leading.connection.host
        },
      },
    }),
  )
  const opened = stack.move()
  return {
    connection: address.connection,
    administration: { ...address.connection, user: primary.administration.user },
    async failOver() {
      process.kill(primary.pid, 'SIGKILL')
      await address.cut()
      // It would be started again.
      await primary.stop()
      await using promoting = openDatabase({ connection: standby.administration, log: silentLog, connections: 1 })
      await promoting.query('select pg_promote()')
      leading = standby
      await address.mend()
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** Lets a standby reach its primary, whose socket is closed to it. Returns the port on loopback. */
async function relay({ connection }: EmbeddedPostgres, stack: AsyncDisposableStack): Promise<number> {
  const server = createServer(near => {
    const far = connect(join(connection.host, `.s.PGSQL.${connection.port}`))
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
      from.pipe(to)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  stack.defer(() => void server.close())
  return (server.address() as AddressInfo).port
}
