import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { inspectHost } from '../../packages/sandboxes/src/bubblewrap/host.ts'
import { insideCommand, type Plan, sandboxOptions } from '../../packages/sandboxes/src/bubblewrap/launch/arguments.ts'
import { defaultBounds } from '../../packages/sandboxes/src/bubblewrap/options.ts'
import { insidePaths } from '../../packages/sandboxes/src/inside-paths.ts'
import { passwdFiles } from '../../packages/sandboxes/src/leases/inside-files.ts'
import { leaseFilesAt } from '../../packages/sandboxes/src/leases/lease-files.ts'
import { makeAgentDirectories } from '../../packages/sandboxes/src/leases/loop-disk.ts'
import { makeVisibleDirectory, writeVisibleFile } from '../../packages/sandboxes/src/leases/visible-files.ts'
import { systemMounts } from '../../packages/sandboxes/src/linux/system-mounts.ts'
import { initialize, openSession, prompt } from '../../packages/worker/src/agent/acp-orders.ts'
import { agentEnvironment } from '../../packages/worker/src/agent/agent-environment.ts'
import { SupervisorConnection } from '../../packages/worker/src/supervisor/connection.ts'

const UID = 200_000

/** Starts a supervisor and the shell runtime in `bwrap` with the bare minimum: no driver and no database. */
export interface BareAgents {
  /** Starts both and sends a prompt. @returns milliseconds until the agent reacts to it */
  promptedMs(): Promise<number>
}

/** Prepares a lease's mounts once. `etcDir` is the `sandbox-etc` directory of a service. */
export async function prepareBareAgents(options: {
  readonly dir: string
  readonly etcDir: string
  readonly bundlesDir: string
}): Promise<BareAgents> {
  const { dir, etcDir, bundlesDir } = options
  const files = leaseFilesAt(dir, 'bare')
  for (const made of [dir, files.host, files.disk]) mkdirSync(made, { recursive: true })
  for (const visible of [files.run, files.platform, files.inputs]) makeVisibleDirectory(visible)
  makeAgentDirectories(files.files)
  for (const [name, content] of passwdFiles(UID)) writeVisibleFile(join(files.host, name), content)
  const host = await inspectHost('bwrap')
  const command = [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`]
  const plan: Plan = {
    spec: { leaseId: 'bare', command, bounds: defaultBounds, mounts: [], egress: { reach: [] } },
    files,
    uid: UID,
    privileged: host.privileged,
    canDisableUserNamespaces: host.canDisableUserNamespaces,
    nodePath: process.execPath,
    closedNodePath: process.execPath,
    bundlesDir,
    etcDir,
    systemMounts: systemMounts(),
    processMasks: [],
    rlimits: { memory: false, processes: false },
  }
  const mounts = sandboxOptions(plan)
  // Drop the driver's own milestone: it is not a mount, and needs a socket.
  const args = [...mounts.toSpliced(mounts.indexOf('--file'), 3), '--die-with-parent', '--', ...insideCommand(plan)]
  const socketPath = join(dir, 's')
  const journalPath = join(dir, 'journal')
  return {
    async promptedMs() {
      const begunAt = Date.now()
      const { O_RDWR, O_APPEND, O_CREAT } = constants
      const journal = openSync(journalPath, O_RDWR | O_APPEND | O_CREAT, 0o600)
      // Listen under another name first: closing the listener unlinks its name, and only the supervisor may accept.
      const server: Server = createServer().listen(`${socketPath}.new`)
      await once(server, 'listening')
      renameSync(`${socketPath}.new`, socketPath)
      const child = spawn(host.bwrapPath, args, {
        env: {},
        cwd: '/',
        stdio: ['ignore', 'ignore', 'inherit', Reflect.get(server, '_handle'), journal],
      })
      const exit = once(child, 'exit')
      server.close()
      try {
        await using connection = await SupervisorConnection.open(connect(socketPath), {
          fence: 1,
          from: 0,
          helloDeadlineMs: 10_000,
        })
        return (await reaction(connection)) - begunAt
      } finally {
        child.kill('SIGKILL')
        await exit
        closeSync(journal)
        rmSync(journalPath)
      }
    },
  }
}

/** Sends the commands of an attempt, each after the previous answer. @returns the time of the agent's reaction */
async function reaction(connection: SupervisorConnection): Promise<number> {
  const of = { runId: 'bare', attempt: 1, turnSequence: 0 }
  const { command, env } = {
    command: [insidePaths.node, `${insidePaths.bundles}/shell.js`],
    env: agentEnvironment([]),
  }
  await connection.start({ key: 'start', command, env, cwd: insidePaths.workspace })
  const give = ({ key, line }: { key: string; line: string }) => connection.send(key, line)
  for await (const batch of connection.batches()) {
    for (const record of batch) {
      if (record.type === 's') await give(initialize(1))
      if (record.type !== 'o') continue
      const message: { id?: number; result?: { sessionId?: string }; method?: string } = JSON.parse(
        record.payload.toString(),
      )
      if (message.method === 'session/update') return record.at.getTime()
      if (message.id === 1) await give(openSession(1, insidePaths.workspace, null, []))
      const sessionId = message.result?.sessionId
      if (sessionId !== undefined)
        await give(prompt(of, 1, { sessionId, blocks: [{ type: 'text', text: 'true' }], meta: {} }))
    }
  }
  throw new Error('the agent did not react')
}
