import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestService, type TestService } from '../support/services/service.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../../../..')
const stack = new AsyncDisposableStack()
let service: TestService
let project: string
let oldNode: string

/** Typed as a strict project would be, and run by the oldest Node that the package names, if this machine has it. */
const program = `
import { BerthError, createClient, followRun, hasCode, isEvent, type Session } from '@berth/client'
import { mergeDocuments } from '@berth/client/documents'

const [baseUrl = '', credential = ''] = process.argv.slice(2)
const requests: (string | undefined)[] = []
const client = createClient({ baseUrl, credential, hooks: { onRequest: ({ operation }) => requests.push(operation) } })
const { session }: { session: Session } = await client.call('createSession', {
  body: { runtime: 'shell', initialTurn: { id: crypto.randomUUID(), message: 'echo from a package' } },
})
const runId = session.activeRunId
if (runId === undefined) throw new Error('no Run')
let ended = ''
for await (const event of followRun({ client, sessionId: session.id, runId })) {
  if (isEvent(event, 'svc.run.completed')) ended = event.data.status
}
const titles: string[] = []
for await (const { title } of client.items('listSessions', { query: { limit: 1 } })) titles.push(title)
const failure: unknown = await client.call('getRun', { sessionId: session.id, runId: session.id }).catch(error => error)
const refused = hasCode(failure, 'cloud_session_not_found') && failure instanceof BerthError && failure.status
console.log(JSON.stringify({ ended, titles, refused, requests, merges: typeof mergeDocuments, node: process.version }))
`

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'berth-packages-'))
  stack.defer(() => rm(project, { recursive: true, force: true }))
  service = stack.use(await startTestService())
  oldNode = await findOldNode()
  const folder = join(project, 'packages')
  await run(process.execPath, [join(root, 'script/pack.ts'), folder], { cwd: root })
  for (const name of ['client', 'cli']) {
    await run('npm', ['pack', '--silent', '--pack-destination', project], { cwd: join(folder, name) })
  }
  const tarballs = (await readdir(project)).filter(name => name.endsWith('.tgz')).map(name => join(project, name))
  expect(tarballs).toHaveLength(2)
  await mkdir(join(project, 'app'))
  await writeFile(join(project, 'app/package.json'), '{ "private": true, "type": "module" }')
  const install = ['install', '--offline', '--omit=optional', '--no-audit', '--no-fund', ...tarballs]
  await run('npm', install, {
    cwd: join(project, 'app'),
    env: { ...process.env, npm_config_cache: join(project, 'cache') },
  })
  await cp(join(root, 'node_modules/@types/node'), join(project, 'app/node_modules/@types/node'), { recursive: true })
  await cp(join(root, 'node_modules/undici-types'), join(project, 'app/node_modules/undici-types'), { recursive: true })
})
afterAll(() => stack.disposeAsync())

/** Returns a Node from 20 on that is older than the service's; that of the service if there is none. */
async function findOldNode(): Promise<string> {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const found = await run(join(folder, 'node'), ['--version']).catch(() => null)
    const major = Number.parseInt(found?.stdout.slice(1) ?? '0', 10)
    if (major >= 20 && major < 24) return join(folder, 'node')
  }
  return process.execPath
}

test('a typed program on the installed client runs an agent', async () => {
  const app = join(project, 'app')
  await writeFile(join(app, 'program.ts'), program)
  const compilerOptions = {
    ...{ target: 'es2022', module: 'nodenext', lib: ['es2022', 'dom', 'esnext.asynciterable'], types: ['node'] },
    ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, rootDir: '.', outDir: 'out' },
  }
  await writeFile(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }))
  const compiled = await run(join(root, 'node_modules/.bin/tsc'), ['-p', app]).catch(failure => failure)
  expect(compiled.stdout).toBe('')
  const { stdout } = await run(oldNode, [join(app, 'out/program.js'), service.url, service.tenant.apiKey])
  expect(JSON.parse(stdout)).toMatchObject({
    ended: 'completed',
    titles: ['echo from a package'],
    refused: 404,
    merges: 'function',
    requests: expect.arrayContaining(['createSession', 'listSessions', 'getRun']),
  })
})

test('the packages name no file of the workspace, and the client needs nothing but itself', async () => {
  const client = join(project, 'app/node_modules/@berth/client')
  const manifest = JSON.parse(await readFile(join(client, 'package.json'), 'utf8'))
  expect(manifest).not.toHaveProperty('dependencies')
  expect(manifest).not.toHaveProperty('private')
  for (const path of await readdir(client, { recursive: true })) {
    if (!/\.(js|d\.ts|json|md)$/.test(path)) continue
    const text = await readFile(join(client, path), 'utf8')
    expect(
      text.match(/@berth\/(contract|server)|"workspace:|from ['"]node:|from '\..*\.ts'/)?.[0],
      path,
    ).toBeUndefined()
    expect(text.includes(root), path).toBe(false)
  }
})

test('a bundle of one function of the client leaves the others out', async () => {
  const { build } = await import('esbuild')
  const contents = "import { verifyWebhook } from '@berth/client'; console.log(verifyWebhook)"
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: join(project, 'app') },
    ...{ bundle: true, write: false, format: 'esm', platform: 'browser', minify: true },
  })
  const [bundle] = outputFiles
  expect(bundle?.text).not.toContain('/v1/sessions')
  expect(bundle?.contents.length).toBeLessThan(4096)
})

test('the installed command runs an agent', async () => {
  const berth = join(project, 'app/node_modules/.bin/berth')
  const env = { ...process.env, HOME: project, BERTH_URL: service.url, BERTH_API_KEY: service.tenant.apiKey }
  const args = [berth, 'run', '--runtime', 'shell', '--follow', 'echo "hello from a package"']
  const { stdout } = await run(process.execPath, args, { cwd: project, env })
  expect(stdout).toContain('hello from a package')
  const serve = await run(process.execPath, [berth, 'serve'], { cwd: project, env }).catch(failure => failure)
  expect(serve).toMatchObject({ code: 2, stderr: expect.stringContaining('contains only the client') })
})
