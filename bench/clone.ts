/**
 * Measures a clone without blobs of a private repository, as an environment's apply makes it in a sandbox: its program,
 * the proxy and the credential helper, against the same `git clone` outside with a helper that knows the token, in turns.
 */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { agentEnvironment } from '../packages/server/src/execution/agent/agent-environment.ts'
import { SupervisorConnection } from '../packages/server/src/execution/supervisor/connection.ts'
import { runGit } from '../packages/server/src/git/run-git.ts'
import { GitHubHost } from '../packages/server/src/git-hosts/github/github-host.ts'
import { systemClock } from '../packages/server/src/kit/clock.ts'
import { createBubblewrapDriver } from '../packages/server/src/sandboxes/bubblewrap/create-driver.ts'
import { defaultBounds } from '../packages/server/src/sandboxes/bubblewrap/options.ts'
import { insidePaths } from '../packages/server/src/sandboxes/inside-paths.ts'
import { GitHubServer } from '../packages/server/test/support/git/github-server.ts'
import { median, show } from './support/statistics.ts'

const ROUNDS = 7
const FILES = 2000
const FILE_BYTES = 10_000
const signal = AbortSignal.timeout(600_000)

const dir = mkdtempSync(join(tmpdir(), 'berth-clone-'))
await using server = await GitHubServer.start()
const driver = await createBubblewrapDriver({
  dataDir: join(dir, 'data'),
  nodePath: process.execPath,
  bundlesDir: resolve('packages/supervisor/dist'),
  bounds: defaultBounds,
  log: { info: () => undefined, warn: console.error, error: console.error },
})
try {
  const gitDir = join(dir, 'large.git')
  await fill(gitDir)
  server.addRepository({ id: 1, fullName: 'a/large', gitDir, installations: ['1'] })
  using host = new GitHubHost({ appId: server.appId, privateKey: server.privateKey, baseUrl: server.url }, systemClock)
  const { value } = await host.tokens.mint('1', ['1'], signal)
  const service = {
    async answer(incoming: IncomingMessage, outgoing: ServerResponse) {
      incoming.resume()
      outgoing.end(`username=x-access-token\npassword=${value}\n`)
    },
  }
  const [inside, outside]: [number[], number[]] = [[], []]
  for (let round = 0; round < ROUNDS; round++) {
    outside.push(await cloneOutside(join(dir, 'outside'), value))
    const leaseId = `clone-${round}`
    const command = [insidePaths.closedNode, `${insidePaths.bundles}/supervisor.js`]
    const egress = { reach: [server.url], service }
    await driver.create({ leaseId, command, bounds: defaultBounds, mounts: [], egress })
    inside.push(await cloneInside(leaseId))
    await driver.destroy(leaseId)
  }
  const [ourMs, theirMs] = [median(inside), median(outside)]
  process.stdout.write(
    `in a sandbox ${show(ourMs, 0)} ms, outside ${show(theirMs, 0)} ms, median of ${ROUNDS}; ` +
      `ratio ${show(ourMs / theirMs)} (bound 1.2)\n`,
  )
} finally {
  await driver[Symbol.asyncDispose]()
  rmSync(dir, { recursive: true, force: true })
}

/** Returns the milliseconds from the order to its result; making the sandbox is no part of them. */
async function cloneInside(leaseId: string): Promise<number> {
  await using connection = await SupervisorConnection.open(await driver.attach(leaseId), {
    fence: 1,
    from: 0,
    helloDeadlineMs: 10_000,
  })
  const from = performance.now()
  const program = [insidePaths.node, `${insidePaths.bundles}/apply.cjs`]
  const env = agentEnvironment([server.url])
  await connection.start({ key: 'clone', command: program, env, cwd: insidePaths.workspace })
  const repositories = [{ url: `${server.url}/a/large.git`, path: 'large' }]
  const order = { clone: { directory: insidePaths.workspace, repositories, timeoutMs: 300_000 } }
  await connection.send('order', JSON.stringify(order))
  for await (const batch of connection.batches()) {
    for (const { type, payload } of batch) {
      if (type === 'x') throw new Error('the program ended without a result')
      if (type !== 'o') continue
      const { end } = JSON.parse(payload.toString())
      if (end === undefined) continue
      if (end.states[0] !== 'cloned') throw new Error(`the clone is ${end.states[0]}`)
      return performance.now() - from
    }
  }
  throw new Error('the supervisor ended')
}

async function cloneOutside(target: string, token: string): Promise<number> {
  const helper = `!f() { echo username=x-access-token; echo password=${token}; }; f`
  const from = performance.now()
  const args = ['-c', `credential.helper=${helper}`, 'clone', '--quiet', '--filter=blob:none']
  await promisify(execFile)('git', [...args, `${server.url}/a/large.git`, target])
  const took = performance.now() - from
  rmSync(target, { recursive: true })
  return took
}

async function fill(gitDir: string): Promise<void> {
  await runGit(['init', '--bare', '--quiet', '--initial-branch=main', gitDir])
  async function* stream() {
    yield 'commit refs/heads/main\ncommitter a <a@b> 1760000000 +0000\ndata 2\nx\n'
    for (let file = 0; file < FILES; file++) {
      yield `M 100644 inline d${file % 50}/f${file}\ndata ${FILE_BYTES}\n`
      yield randomBytes(FILE_BYTES)
      yield '\n'
    }
    yield 'done\n'
  }
  await runGit(['fast-import', '--quiet', '--done'], { gitDir, input: Readable.from(stream()), timeoutMs: 120_000 })
}
