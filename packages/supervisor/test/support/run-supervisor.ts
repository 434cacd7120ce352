import { once } from 'node:events'
import { closeSync, constants, mkdtempSync, openSync, renameSync, rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { spawn } from '../../../../script/testing/spawn.ts'
import { descendantsOf } from '../../src/process-tree.ts'

const SUPERVISOR = fileURLToPath(new URL('../../src/supervisor.ts', import.meta.url))

export interface RunningSupervisor extends AsyncDisposable {
  readonly pid: number
  /** This supervisor's own directory, removed with it. */
  readonly directory: string
  /** Path of the journal, if it is a regular file. */
  readonly journalPath: string
  connect(): Promise<Socket>
}

export interface SupervisorOptions {
  /** A replacement for the journal's file; `/dev/full` acts as a full disk. */
  readonly journalPath?: string
  /** Programs that run the supervisor's command line, such as `prlimit`. */
  readonly prefix?: readonly string[]
  readonly proxyPort?: number
  readonly proxySocket?: string
}

/** Runs a real supervisor outside a sandbox, with the socket and the journal that a sandbox's creator passes to it. */
export async function runSupervisor(options: SupervisorOptions = {}): Promise<RunningSupervisor> {
  const directory = mkdtempSync(join(tmpdir(), 'berth-supervisor-'))
  const socketPath = join(directory, 's')
  const journalPath = options.journalPath ?? join(directory, 'journal')
  const journal = openSync(journalPath, constants.O_RDWR | constants.O_CREAT, 0o600)
  // Listen under another name first, because closing this end's listener unlinks the name that it was created with.
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
      // The agent of a failed test would outlive its supervisor.
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
    // It has ended already.
  }
}
