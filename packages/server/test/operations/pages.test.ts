import { execFile } from 'node:child_process'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { startTestService, type TestService, variablesAlongside } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { commandBlocks } from '../../../../script/docs/command-blocks.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../../..')
const stack = new AsyncDisposableStack()
let service: TestService
let directory: string

beforeAll(async () => {
  service = stack.use(await startTestService())
  directory = await mkdtemp(join(tmpdir(), 'berth-pages-'))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  // As in the directory of a checkout in which the service was started.
  await symlink(service.dataDir, join(directory, '.berth'))
  for (const name of ['examples', 'bin']) await symlink(join(root, name), join(directory, name))
})
afterAll(() => stack.disposeAsync())

interface Done {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs commands as a person types them, with the command of the checkout on the PATH. */
async function shell(commands: string, variables: Readonly<Record<string, string>> = {}): Promise<Done> {
  const env = { HOME: directory, PATH: [join(root, 'bin'), process.env['PATH']].join(delimiter), ...variables }
  const done = run('bash', ['-c', `set -euo pipefail\n${commands}`], { cwd: directory, env })
  return done.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  )
}

/** Returns the block of a page that has the text. */
function block(page: string, text: string): string {
  const found = commandBlocks(root, page).find(each => each.includes(text))
  if (found === undefined) throw new Error(`${page} has no commands with ${text}`)
  return found
}

it('docs/quickstart.md says hello, and leads a sample from a test that fails to a merge', async () => {
  const [, hello = '', make = '', inspect = '', change = ''] = commandBlocks(root, 'docs/quickstart.md')
  const first = await shell(hello)
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toMatch(/hello from \w/)
  expect(await shell(make)).toMatchObject({ code: 0, stderr: '' })
  const inspected = await shell(inspect)
  expect(inspected.stdout).toContain('./greet.sh --spanish Ada says "Hello, --spanish", not "Hola, Ada"')
  expect(inspected.code).toBe(1)
  const changed = await shell(`sample=.berth/repositories/sample/greeter.git\n${change}`)
  expect(changed.stderr).toBe('')
  expect(changed.code).toBe(0)
  expect(changed.stdout).toContain('+case $1 in --spanish)')
  expect(changed.stdout).toMatch(/Greet in Spanish[\s\S]*greet\.sh \|/)
})

describe('README.md', () => {
  it('leads to a Session and to its log', async () => {
    const first = block('README.md', 'bin/berth run').split('\n')[1] ?? ''
    const began = await shell(first)
    expect(began).toMatchObject({ code: 0, stderr: '' })
    expect(began.stdout).toMatch(/hello from \w/)
    const attached = await shell(block('README.md', 'berth attach').replace('sleep 1', 'sleep 0.1'))
    expect(attached).toMatchObject({ code: 0, stderr: '' })
    expect(attached.stdout).toMatch(/tick 1[\s\S]*tick 3/)
  })

  it('shows the same with curl alone', async () => {
    const commands = block('README.md', 'curl -N')
      .replaceAll('http://127.0.0.1:4100', service.url)
      .replace('sleep 1', 'sleep 0.1')
      .replace(/^curl -X/m, 'curl --fail -X')
      // The stream goes on; its reader has seen enough at the end of the Run.
      .replace(/^curl -N.*$/m, found => `${found} | sed '/svc.run.completed/q' || true`)
    const { stdout, code } = await shell(commands)
    expect(code).toBe(0)
    expect(stdout).toMatch(/tick 3[\s\S]*svc\.run\.completed/)
  })
})

it('docs/ci.md gets its result as JSON', async () => {
  await writeFile(
    join(directory, 'schema.json'),
    JSON.stringify({ type: 'object', properties: { open: { type: 'integer' } }, required: ['open'] }),
  )
  const commands = block('docs/ci.md', '--output-schema')
    .replace('berth run', 'berth run --runtime shell')
    .replace("'list the open questions'", `"echo '{\\"open\\":2}'"`)
  const done = await shell(commands)
  expect([done.code, done.stderr]).toEqual([0, ''])
  expect(JSON.parse(done.stdout)).toEqual({ open: 2 })
})

it('docs/extensions.md packs an extension and gives it to an environment', async () => {
  const environment = JSON.stringify({ document: { name: 'web', setup: 'true' } })
  await writeFile(join(directory, 'berth.env.json'), environment)
  const [pack = '', upload = ''] = commandBlocks(root, 'docs/extensions.md')
  const done = await shell(`berth env apply\n${pack}\n${upload}`)
  expect([done.code, done.stderr]).toEqual([0, ''])
  expect(done.stdout).toContain('tools')
})

describe('an operator', () => {
  const operator = () => variablesAlongside(service)

  it('protects a branch and records a check, as docs/git-hosts.md has it', async () => {
    const rules = block('docs/git-hosts.md', 'admin rule set').replaceAll('sample/greeter', 'sample/ruled')
    const make = block('docs/quickstart.md', 'fast-import').replace('greeter.git', 'ruled.git')
    const done = await shell(`${make}\nclone=$sample\n${rules}`, operator())
    expect([done.code, done.stderr]).toEqual([0, ''])
  })

  it('grants a data directory and takes it back, as docs/git-hosts.md has it', async () => {
    const { installationId, organizationId } = service.tenant
    const local = block('docs/git-hosts.md', 'admin grant add')
      .split('\n')
      .filter(line => !line.includes('--account') && !line.includes('"$'))
    expect(local).toContain('berth admin grant list')
    const grants = block('docs/git-hosts.md', 'admin grant add')
      .split('\n')
      .filter(line => line.includes('--host local'))
    const done = await shell([...grants, ...local].join('\n'), {
      ...operator(),
      installation: installationId,
      organization: organizationId,
    })
    expect([done.code, done.stderr]).toEqual([0, ''])
  })

  it('bounds what an organization may spend, as docs/gateway.md has it', async () => {
    const commands = block('docs/gateway.md', 'admin quota').replaceAll('<organization>', service.tenant.organizationId)
    expect(await shell(commands, operator())).toMatchObject({ code: 0, stderr: '' })
  })

  it('admits, marks and removes a machine, as docs/operations.md has it', async () => {
    const [list = '', token = '', pooled = '', ...marks] = block('docs/operations.md', 'hosts uncordon').split('\n')
    const { organizationId } = service.tenant
    const commands = [
      list,
      token.replace('<id>', organizationId),
      pooled,
      `host=$(berth hosts list --json | node -p '${idOf('rack-2')}')`,
      ...marks.map(line => line.replace('<host>', '"$host"')),
      list,
    ]
    const done = await shell(commands.join('\n'), operator())
    expect([done.code, done.stderr]).toEqual([0, ''])
    expect(done.stdout.split('\n').filter(line => line.includes('rack-2'))).toEqual([])
    expect(done.stdout).toContain('rack-1')
  })

  it('asks whether the service is ready, as docs/troubleshooting.md has it', async () => {
    const commands = block('docs/troubleshooting.md', 'readyz').replace('http://127.0.0.1:4100', service.url)
    const { stdout } = await shell(commands.replace('berth doctor', 'berth doctor || true').replace('curl', 'curl -f'))
    expect(stdout).toContain('bubblewrap')
  })
})

/** A program of Node.js that reads lines of JSON and prints the id of the host of that name. */
function idOf(name: string): string {
  return `require("node:fs").readFileSync(0,"utf8").split("\\n").filter(Boolean).map(JSON.parse).find(h=>h.name==="${name}").id`
}
