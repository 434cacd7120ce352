import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import { openaiWire, scriptedUsage } from '@berth/testing/models/openai-wire.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { spawn } from '../script/testing/spawn.ts'
import { readTasks } from './support/task-sets.ts'

/** Of each set, one task that the scripted model solves, and one for which it does nothing. */
const solved = ['pagination-ties', 'task-tags', 'break-cycle']
const idle = ['racing-cache', 'dry-run', 'split-module']
/** A task at which the model never answers. */
const hanging = 'csv-quoting'

const tasks = await readTasks()
let directory: string
/** Names of the tasks that the model was asked about and gave no answer, and those whose agent has gone since. */
const waiting: string[] = []
const left: string[] = []

const model = createServer(async (request, response) => {
  const { method = '', url: path = '', headers } = request
  const body = method === 'POST' ? await json(request) : null
  const received = { method, path, headers, body }
  if (!openaiWire.asksForReply(received)) return response.writeHead(404).end()
  const prompt = JSON.stringify(body)
  const task = tasks.find(({ message }) => prompt.includes(JSON.stringify(message.trim()).slice(1, -1)))
  if (task === undefined) return response.writeHead(400).end('no task')
  if (task.name === hanging) {
    response.once('close', () => left.push(task.name))
    return waiting.push(task.name)
  }
  const command = `cd /workspace/project && git apply <<'END-OF-PATCH'\n${task.solution}END-OF-PATCH`
  const works = solved.includes(task.name) && !prompt.includes('function_call_output')
  openaiWire.write(works ? { calls: [{ name: 'bash', args: { command } }] } : { text: 'Done.' }, received, response)
})

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-tasks-'))
  await mkdir(join(directory, 'tmp'))
  await once(model.listen(0, '127.0.0.1'), 'listening')
  const address = model.address()
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/v1`
  const price = { input: 1, cachedInput: 0.5, output: 10 }
  const models = [{ id: 'm1', contextTokens: 1_000_000, outputTokens: 8192, reasoning: false, price }]
  const providers = [{ id: 'main', kind: 'openai', baseUrl, apiKey: 'sk-bench', models }]
  await writeFile(join(directory, 'berth.json'), JSON.stringify({ providers }), { mode: 0o600 })
})
afterAll(async () => {
  model.closeAllConnections()
  model.close()
  await rm(directory, { recursive: true, force: true })
})

/** Starts the command for some tasks. */
function start(names: readonly string[], ...more: readonly string[]) {
  const places = ['--from', directory, '--json', join(directory, 'report.json')]
  const chosen = names.flatMap(name => ['--task', name])
  const args = ['--model', 'main/m1', ...places, ...chosen, ...more]
  return spawn(process.execPath, [join(import.meta.dirname, 'tasks.ts'), ...args], {
    env: { PATH: process.env.PATH, TMPDIR: join(directory, 'tmp'), BERTH_EGRESS: 'none', BERTH_POOL_MOST: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}
const report = async () => JSON.parse(await readFile(join(directory, 'report.json'), 'utf8'))

describe('a run of tasks', () => {
  test('counts as solved what the check finds solved, and measures each try', { timeout: 480_000 }, async () => {
    await using child = start([...solved, ...idle])
    const [table, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')])
    expect({ status, errors }).toMatchObject({ status: 0 })
    const { agent, figures, attempts } = await report()
    expect(agent).toBe('native')
    const outcomes = attempts.map(({ name, outcome }: { name: string; outcome: string }) => [name, outcome])
    expect(Object.fromEntries(outcomes)).toEqual({
      ...Object.fromEntries(solved.map(name => [name, 'solved'])),
      ...Object.fromEntries(idle.map(name => [name, 'unsolved'])),
    })
    expect(figures.total).toMatchObject({
      tries: solved.length + idle.length,
      solved: solved.length,
      late: 0,
      unjudged: 0,
    })
    expect(figures.total.means.output[0]).toBe(((3 * 2 + 3) / 6) * scriptedUsage.output)
    for (const set of ['repair', 'feature', 'refactor']) {
      expect(figures[set]).toMatchObject({ tries: 2, solved: 1, costUnknown: 0 })
      expect(table).toMatch(new RegExp(`^${set} +1 of 2 +0\\.50 \\(0\\.09\\.\\.0\\.91\\)`, 'm'))
    }
    expect(figures.total.means['fresh input'][0]).toBe(1.5 * (scriptedUsage.input - scriptedUsage.cached))
  })

  test('bounds a task that hangs, and ends its Sessions when it is interrupted', { timeout: 480_000 }, async () => {
    // bound: the model never answers, so the run always lasts this long
    await using child = start([hanging], '--repeat', '2', '--parallel', '1', '--minutes', '0.05')
    const errors = text(child.stderr)
    await until('the second try asks the model', () => waiting.length === 2, 240_000)
    child.kill('SIGTERM')
    const [status] = await once(child, 'exit')
    expect(await errors).toContain(`repair/${hanging}: late`)
    expect(status).toBe(1)
    expect(await report()).toMatchObject({ interrupted: true, figures: { total: { tries: 1, solved: 0, late: 1 } } })
    await until('no agent is left', () => left.length === 2)
    expect(await readdir(join(directory, 'tmp'))).toEqual([])
  })
})
