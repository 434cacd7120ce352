// Has an agent solve the tasks of bench/tasks in sandboxes of a service of its own, checks each solution in a fresh one, and
// prints what was solved, with cost, tokens and time. Configuration and installed agents are those of a data directory.
// Run as: node bench/tasks.ts [--agent ID] [--model ID] [--effort E] [--set NAME]... [--task NAME]... [--repeat N]
//   [--parallel N] [--minutes N] [--from DIRECTORY] [--json FILE]
import { randomUUID } from 'node:crypto'
import { symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createClient, findRepository, type SessionSource, settled } from '@berth/client'
import type { Interaction, Run, Session } from '@berth/contract'
import { LOCAL_ACCOUNT } from '../packages/core/src/git-hosts/local/local-host.ts'
import { connectAccount } from '../packages/core/src/repositories/connect-account.ts'
import { installsIn } from '../packages/core/src/runtimes/install-runtime.ts'
import { systemClock } from '../packages/platform/src/kit/clock.ts'
import { openBenchDatabase } from './support/bench-database.ts'
import { startBenchService } from './support/bench-service.ts'
import { removeSandboxes } from './support/remove-sandboxes.ts'
import { type Attempt, figuresOf, printFigures } from './support/task-figures.ts'
import { makeRepository, readTasks, type Task } from './support/task-sets.ts'

const [text, list] = [{ type: 'string' }, { type: 'string', multiple: true }] as const
const sizes = { repeat: text, parallel: text, minutes: text }
const { values } = parseArgs({
  options: { agent: text, model: text, effort: text, set: list, task: list, ...sizes, from: text, json: text },
})
const { agent = 'native', model, effort, set: sets, task: names, json } = values
const [repeat, parallel, minutes] = [values.repeat ?? 1, values.parallel ?? 2, values.minutes ?? 20].map(Number)
const from = resolve(values.from ?? join(import.meta.dirname, '../.berth'))
const tasks = (await readTasks()).filter(
  task => (sets?.includes(task.set) ?? true) && (names?.includes(task.name) ?? true),
)
if (tasks.length === 0) throw new Error('there is no such task')
const interrupt = new AbortController()
const { signal } = interrupt
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupt.abort())

await using bench = await openBenchDatabase()
await using removal = new AsyncDisposableStack()
removal.defer(() => removeSandboxes(bench.dataDir))
for (const task of tasks) await makeRepository(task, join(bench.dataDir, 'repositories/tasks', `${task.name}.git`))
await symlink(installsIn(from), installsIn(bench.dataDir))
const local = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, accountLogin: LOCAL_ACCOUNT }
await connectAccount({ db: bench.db, clock: systemClock }, bench, local, true)
// The settings of this environment, except for those that name the data of another service.
const own = /^(DATABASE_URL|BERTH_(DATA_DIR|BLOBS|MASTER_KEY|HOST|PORT|ROLES|CONFIG))$/
const settings = Object.entries(process.env).filter(([name]) => !own.test(name)) as [string, string][]
const variables = { BERTH_ROLES: 'api,worker,gateway', BERTH_CONFIG: join(from, 'berth.json') }
await using service = await startBenchService(bench, { ...Object.fromEntries(settings), ...variables })
const client = createClient({ baseUrl: service.url, credential: bench.apiKey })

/** Makes a Session with a first Turn, and waits for its end. When its time is up, the Run is cancelled. */
async function runTurn(sessionId: string, body: object, message: string, atMostMinutes: number) {
  const initialTurn = { id: randomUUID(), message }
  const made = await client.call('createSession', { sessionId, body: { ...body, initialTurn } })
  const runId = made.session.activeRunId ?? ''
  const read = async () => {
    const { session } = await client.call('getSession', { sessionId })
    const { run } = await client.call('getRun', { sessionId, runId })
    if (run.endedAt === undefined) await answer(sessionId)
    return { session, run }
  }
  const isOver = ({ session, run }: { session: Session; run: Run }) =>
    run.endedAt !== undefined && session.phase === 'idle'
  const inTime = await settled(read, isOver, { signal, atMostMs: atMostMinutes * 60_000 })
  const isLate = inTime.run.endedAt === undefined
  if (isLate) await client.call('cancelRun', { sessionId, runId })
  const last = await settled(read, isOver, { signal, atMostMs: 120_000 })
  if (!isOver(last)) throw new Error('the Run does not end')
  return { ...last, isLate }
}

/** Allows what an agent asks to do, and tells one with a question that nobody is there. */
async function answer(sessionId: string): Promise<void> {
  const { interactions } = await client.call('listInteractions', { sessionId })
  const replies = interactions.map(({ id, kind, request }: Interaction) =>
    kind === 'approval'
      ? client.call('decideInteraction', {
          ...{ sessionId, interactionId: id },
          body: { requestId: request.approval?.requestId ?? '', choice: 'allow_once', idempotencyKey: randomUUID() },
        })
      : client.call('submitTurn', {
          sessionId,
          body: { message: 'Nobody is here. Decide yourself, and go on.', replyTo: { interactionId: id } },
        }),
  )
  // One that has closed meanwhile is refused.
  await Promise.allSettled(replies)
}

/** Publishes the changes of a Session, and runs the check on them in the sandbox of another. */
async function isSolved({ id: sessionId, changes }: Session, checkId: string, source: SessionSource, task: Task) {
  if (changes === null || changes.files === 0) return false
  const body = { revision: changes.revision, title: `Solve ${task.name}` }
  const { id: publicationId } = (await client.call('createPublication', { sessionId, body })).publication
  const read = async () => (await client.call('getPublication', { sessionId, publicationId })).publication
  const { result, lastError } = await settled(read, ({ completedAt }) => completedAt !== undefined, { signal })
  if (result === undefined) throw new Error(`the changes cannot be published: ${lastError?.code}`)
  const checked = { runtime: 'shell', source: { ...source, baseBranch: result.branch } }
  const { run, isLate } = await runTurn(checkId, checked, task.check, 5)
  if (run.status === 'completed' || run.errorCode === 'shell_exit_nonzero' || isLate) return run.status === 'completed'
  throw new Error(`the check ended with ${run.errorCode ?? run.status}`)
}

/** What keeps an agent from its sandbox or its model says nothing about the agent. */
const faults = /^(model_(not|rate|unavailable|credential)|runtime_|environment_|source_|turn_execution_lost)/

async function attempt(task: Task): Promise<Attempt> {
  const { set, name } = task
  const [sessionId, checkId] = [randomUUID(), randomUUID()]
  let run: Run | undefined
  try {
    const source = await findRepository(client, `tasks/${name}`, { baseBranch: 'main' })
    if (source === null) throw new Error('the repository is missing')
    const body = { runtime: agent, source, ...(model && { model }), ...(effort && { effort }) }
    const message = `${task.message}\nNobody can answer questions. Change the files; you need not commit.`
    const ended = await runTurn(sessionId, body, message, minutes ?? 20)
    run = ended.run
    if (ended.isLate) return { set, name, outcome: 'late', run }
    if (faults.test(run.errorCode ?? '')) throw new Error(`the Run ended with ${run.errorCode}`)
    return { set, name, outcome: (await isSolved(ended.session, checkId, source, task)) ? 'solved' : 'unsolved', run }
  } catch (error) {
    return { set, name, outcome: 'unjudged', reason: error instanceof Error ? error.message : String(error), run }
  } finally {
    const once = { retry: { attempts: 1 } }
    for (const id of [sessionId, checkId]) await client.call('archiveSession', { sessionId: id }, once).catch(() => {})
  }
}

const attempts: Attempt[] = []
const queue = Array.from({ length: repeat ?? 1 }, () => tasks).flat()
async function work(): Promise<void> {
  for (let task = queue.shift(); task !== undefined && !signal.aborted; task = queue.shift()) {
    const one = await attempt(task)
    if (signal.aborted && one.outcome === 'unjudged') return
    attempts.push(one)
    process.stderr.write(`${one.set}/${one.name}: ${[one.outcome, one.reason].filter(Boolean).join(', ')}\n`)
  }
}
await Promise.all(Array.from({ length: parallel ?? 2 }, work))
const figures = figuresOf(attempts)
printFigures(figures)
const report = { agent, model, effort, interrupted: signal.aborted, figures, attempts }
if (json !== undefined) await writeFile(json, `${JSON.stringify(report, undefined, 2)}\n`)
if (signal.aborted || attempts.some(({ outcome }) => outcome === 'unjudged')) process.exitCode = 1
