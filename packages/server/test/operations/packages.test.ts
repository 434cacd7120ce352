import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { launchChromium } from '@berth/testing/browser/chromium.ts'
import { startSameOrigin } from '@berth/testing/browser/same-origin.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'

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

/** The answer of a script in the browser. */
interface Output {
  readonly titles: readonly string[]
  readonly seen: readonly number[]
}

/** Runs in the page and in its worker: it runs an agent, follows it over a cut stream, and reads a list. */
const inBrowser = `
import { createClient, followRun, verifyWebhook } from '/client/index.js'
export async function work({ credential, title }) {
  const client = createClient({ baseUrl: location.origin, credential })
  const { session } = await client.call('createSession', {
    body: { title, runtime: 'shell', initialTurn: { id: crypto.randomUUID(), message: 'echo from a browser' } },
  })
  const interruptions = []
  const seen = []
  const onInterruption = ({ fault }) => interruptions.push(String(fault))
  const following = followRun({ client, sessionId: session.id, runId: session.activeRunId, onInterruption })
  let last = ''
  for await (const { sequence, type } of following) {
    seen.push(sequence)
    last = type
  }
  const titles = []
  for await (const one of client.items('listSessions', { query: { limit: 1 } })) titles.push(one.title)
  const { verified } = await verifyWebhook('{}', null, 'secret')
  return { inPage: typeof document === 'object', seen, last, titles, cut: interruptions.length > 0, verified }
}
export const workInWorker = order => new Promise((resolve, reject) => {
  const worker = new Worker('/worker.js', { type: 'module' })
  worker.onmessage = ({ data }) => resolve(data)
  worker.onerror = ({ message }) => reject(new Error(message))
  worker.postMessage(order)
})
`
const worker = `
import { work } from '/work.js'
onmessage = async ({ data }) => {
  try { postMessage(await work(data)) } catch (failure) { postMessage({ failure: String(failure) }) }
}
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

test('the client in a bundle for browsers needs nothing of Node', async () => {
  const { build } = await import('esbuild')
  const contents = "export * from '@berth/client'; export * from '@berth/client/documents'"
  const { metafile, outputFiles } = await build({
    stdin: { contents, resolveDir: join(project, 'app') },
    ...{ bundle: true, write: false, format: 'esm', platform: 'browser', metafile: true },
  })
  expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([])
  expect(outputFiles[0]?.text).not.toMatch(/['"]node:|\brequire\(|\bBuffer\b|\bprocess\./)
})

test('the installed client follows a Session in a page and in a worker of a browser', async () => {
  await using site = await startSameOrigin({
    serviceUrl: service.url,
    pages: { '/': '<!doctype html><title>An app</title>', '/work.js': inBrowser, '/worker.js': worker },
    folder: join(project, 'app/node_modules/@berth/client/dist'),
  })
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    await page.goto(site.origin)
    // As text: the loader of tests rewrites functions.
    const run = (name: string, title: string): Promise<Output> =>
      page.evaluate(
        `import('/work.js').then(it => it.${name}(${JSON.stringify({ credential: service.tenant.apiKey, title })}))`,
      )
    const pageRun = await run('work', 'in a page')
    const there = await run('workInWorker', 'in a worker')
    const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1)
    for (const [answer, inPage, title] of [
      [pageRun, true, 'in a page'],
      [there, false, 'in a worker'],
    ] as const) {
      expect(answer).toMatchObject({ inPage, last: 'svc.run.completed', cut: true, verified: false })
      expect(answer.titles).toContain(title)
      expect(answer.seen).toEqual(upTo(answer.seen.length))
    }
    expect(site.streams).toBeGreaterThanOrEqual(4)
  } finally {
    await browser.close()
  }
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
