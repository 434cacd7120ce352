import { randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, readlink, rename, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '@berth/platform/kit/log.ts'
import { errorCode } from '@berth/platform/kit/system-errors.ts'
import { leaveProcess } from '@berth/platform/processes/process-sql.ts'
import type { Queryable } from '@berth/platform/storage/postgres/database.ts'
import { topics, type Wakeups } from '@berth/platform/storage/postgres/wakeups.ts'
import { withShortPath } from '@berth/sandboxes/egress/socket-directory.ts'
import { processStartTime } from '@berth/sandboxes/linux/process-start-time.ts'

/** A process that is ending has closed its connections before it is a zombie; it is checked so often until then. */
const CHECKS = 100
const CHECK_MS = 20
const PAGE = '.json'

/** How a worker names itself to the others of its machine. */
interface Page {
  /** Id of its row. */
  readonly id: string
  readonly pid: number
  readonly startTime: string
  /** Pids mean something to those of the same namespace alone. */
  readonly pids: string
}

interface WitnessParts {
  readonly db: Queryable
  readonly wakeups: Pick<Wakeups, 'publish'>
  readonly log: Log
  /** The directory of this machine's workers; one data directory is one machine. */
  readonly directory: string
}

/**
 * Notices at once that another worker of this machine has died. Each worker listens at a socket, and each other one stays
 * connected to it: the kernel closes the connection with the process. Its pid and start time then prove the death, and the
 * witness ends its row, so that others take over without waiting for a silence. A worker that hangs keeps its socket: for it,
 * and for those of other machines, the row lapses.
 *
 * A wrong verdict would cost a takeover and no work, since each write proves its fence.
 */
export class Witness implements AsyncDisposable {
  readonly #parts: WitnessParts
  readonly #id: string
  readonly #name = randomUUID()
  readonly #peers = new Map<string, Socket>()
  readonly #guests = new Set<Socket>()
  #server: Server | undefined
  #stopping = false
  #finding: Promise<void> | undefined
  #again = false

  /** @param id id of this process's row */
  constructor(parts: WitnessParts, id: string) {
    this.#parts = parts
    this.#id = id
  }

  /** Listens, once, and connects to the workers that it does not know yet. What fails is tried again by the next call. */
  async findPeers(): Promise<void> {
    if (this.#stopping) return
    this.#again = this.#finding !== undefined
    this.#finding ??= this.#findPeers()
      .catch(error => this.#parts.log.warn({ err: error }, 'the workers of this machine were not found'))
      .finally(() => {
        this.#finding = undefined
        // Somebody may have come after the directory was read.
        if (this.#again) void this.findPeers()
      })
    await this.#finding
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping = true
    await this.#finding
    // Without its page it is not judged: it has ended its row itself.
    await this.#remove(this.#name)
    this.#server?.close()
    for (const socket of [...this.#peers.values(), ...this.#guests]) socket.destroy()
  }

  async #findPeers(): Promise<void> {
    const { directory } = this.#parts
    await this.#listen()
    for (const file of await readdir(directory)) {
      const name = file.slice(0, -PAGE.length)
      if (file.endsWith(PAGE) && name !== this.#name && !this.#peers.has(name)) await this.#meet(name)
    }
  }

  async #listen(): Promise<void> {
    if (this.#server !== undefined) return
    const { directory } = this.#parts
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const server = createServer(socket => {
      this.#guests.add(socket)
      socket.once('close', () => this.#guests.delete(socket))
      socket.on('error', () => socket.destroy()).resume()
      // Whoever connects may be new here.
      void this.findPeers()
    })
    await withShortPath(directory, async short => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      server.once('error', reject)
      server.listen(short(this.#name), resolve)
      await promise
    })
    this.#server = server.unref()
    const startTime = (await processStartTime(process.pid)) ?? ''
    const page: Page = { id: this.#id, pid: process.pid, startTime, pids: await pidNamespace() }
    // Whole from the moment on that it has its name.
    await writeFile(join(directory, `${this.#name}.new`), JSON.stringify(page))
    await rename(join(directory, `${this.#name}.new`), join(directory, this.#name + PAGE))
  }

  async #meet(name: string): Promise<void> {
    const page = await this.#read(name)
    if (page === undefined || page.pids !== (await pidNamespace())) return
    const socket = await withShortPath(this.#parts.directory, async short => {
      const { promise, resolve } = Promise.withResolvers<Socket | undefined>()
      const made = connect(short(name), () => resolve(made))
      made.once('error', () => resolve(undefined))
      return await promise
    })
    // Nobody listens: it died before this worker knew it.
    if (socket === undefined) return await this.#judge(name, page)
    this.#peers.set(name, socket)
    socket.unref().resume()
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      this.#peers.delete(name)
      if (this.#stopping) return
      this.#judge(name, page).catch(error =>
        this.#parts.log.warn({ err: error, worker: page.id }, 'the row of a dead worker was not ended; it lapses'),
      )
    })
  }

  /** Ends the row of a worker if it is dead. */
  async #judge(name: string, { id, pid, startTime }: Page): Promise<void> {
    for (let checks = 0; checks < CHECKS; checks += 1) {
      if ((await this.#read(name)) === undefined) return
      if ((await processStartTime(pid)) !== startTime) {
        const { db, wakeups, log } = this.#parts
        await leaveProcess(db, id)
        wakeups.publish(topics.queue)
        await this.#remove(name)
        log.warn({ worker: id }, 'a worker of this machine has died; others take over what it held')
        return
      }
      if (this.#stopping) return
      await sleep(CHECK_MS, undefined, { ref: false })
    }
  }

  async #read(name: string): Promise<Page | undefined> {
    try {
      return JSON.parse(await readFile(join(this.#parts.directory, name + PAGE), 'utf8')) as Page
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
      throw error
    }
  }

  async #remove(name: string): Promise<void> {
    const { directory } = this.#parts
    await Promise.all([name + PAGE, name].map(file => rm(join(directory, file), { force: true })))
  }
}

const pidNamespace = () => readlink('/proc/self/ns/pid')
