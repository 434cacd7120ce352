import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestDatabase } from './postgres.ts'

/** A proxy of a test's database that can be cut and restored. */
export interface SeverableDatabase extends AsyncDisposable {
  /** Connection through the proxy. */
  readonly connection: TestDatabase['connection']
  /** Drops every connection and refuses new ones. */
  cut(): Promise<void>
  mend(): Promise<void>
}

/** Puts a proxy with its own unix socket between a service and its database. */
export async function severable({ connection }: Pick<TestDatabase, 'connection'>): Promise<SeverableDatabase> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-database-'))
  const socketName = `.s.PGSQL.${connection.port}`
  const sockets = new Set<Socket>()
  let server: Server | null = null

  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  }
  const mend = async () => {
    const opened = createServer(near => {
      const far = connect(join(connection.host, socketName))
      keep(near)
      keep(far)
      near.pipe(far).pipe(near)
      near.on('close', () => far.destroy())
      far.on('close', () => near.destroy())
    })
    await new Promise<void>((resolve, reject) => {
      opened.once('error', reject)
      opened.listen(join(directory, socketName), resolve)
    })
    server = opened
  }
  const cut = async () => {
    const closing = server
    server = null
    for (const socket of sockets) socket.destroy()
    if (closing !== null) await new Promise<void>(resolve => closing.close(() => resolve()))
  }
  await mend()
  return {
    connection: { ...connection, host: directory },
    cut,
    mend,
    async [Symbol.asyncDispose]() {
      await cut()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
