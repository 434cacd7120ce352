import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, renameSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { descendantsOf } from '../../src/process-tree.ts'

const SUPERVISOR = fileURLToPath(new URL('../../src/supervisor.ts', import.meta.url))

export interface RunningSupervisor extends AsyncDisposable {
  readonly pid: number
  /** A directory of this supervisor's own, removed with it. */
  readonly directory: string
  /** The journal, where it is a regular file. */
  readonly journalPath: string
  connect(): Promise<Socket>
}

export interface SupervisorOptions {
  /** What stands for the journal: `/dev/full` is a disk without room. */
  readonly journalPath?: string
  /** Programs in front of the supervisor's command line, such as `prlimit`. */
  readonly prefix?: readonly string[]
  readonly proxyPort?: number
  readonly proxySocket?: string
}

/** Runs a real supervisor outside of any sandbox, handing it socket and journal the way a sandbox's creator does. */
export async function runSupervisor(options: SupervisorOptions = {}): Promise<RunningSupervisor> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-supervisor-'))
  const socketPath = join(directory, 's')
  const journalPath = options.journalPath ?? join(directory, 'journal')
  const journal = openSync(journalPath, constants.O_RDWR | constants.O_CREAT, 0o600)
  // Under another name first: closing this end's listener unlinks the name it was made with.
  const server = createServer().listen(`${socketPath}.new`)
  await once(server, 'listening')
  renameSync(`${socketPath}.new`, socketPath)
  const proxy = ['--proxy-port', String(options.proxyPort ?? 0), '--proxy-socket', options.proxySocket ?? '/nowhere']
  const [program, ...args] = [...(options.prefix ?? []), process.execPath, SUPERVISOR, ...proxy]
  const child = spawn(program ?? process.execPath, args, {
    env: {},
    cwd: '/',
    stdio: ['ignore', 'ignore', 'ignore', Reflect.get(server, '_handle'), journal],
  })
  const exit = once(child, 'exit')
  await once(child, 'spawn')
  server.close()
  closeSync(journal)
  return {
    pid: child.pid ?? 0,
    directory,
    journalPath,
    async connect() {
      const socket = connect(socketPath)
      await once(socket, 'connect')
      return socket
    },
    async [Symbol.asyncDispose]() {
      // An agent of a failed test would live on without its supervisor.
      const agents = descendantsOf(child.pid ?? 0)
      child.kill('SIGKILL')
      await exit
      for (const agent of agents) endNow(agent)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Ended by itself.
  }
}
