import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { globSync, lstatSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { podUids } from '../packages/sandboxes/src/testing/played-pod.ts'
import { layOut } from './image/lay-out.ts'
import { packageOf, serviceFiles } from './image/service-files.ts'
import { spawn } from './testing/spawn.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

describe('the Containerfile', () => {
  const text = read('deploy/image/Containerfile').replaceAll(/\\\n\s*/g, '')
  const [before = '', ...parts] = text.split(/^FROM /m)
  const stages = new Map(parts.map(part => [/ AS (\w+)/.exec(part)?.[1], `FROM ${part}`.split('\n')]))
  const lineOf = (stage: string, instruction: string) =>
    (stages.get(stage) ?? [])
      .filter(line => line.startsWith(`${instruction} `))
      .map(line => line.slice(instruction.length + 1))

  it('makes both images of the version of this release', () => {
    const { version }: { version: string } = JSON.parse(read('package.json'))
    expect(before).toContain(`\nARG VERSION=${version}\n`)
    for (const stage of ['service', 'sandbox']) {
      expect(lineOf(stage, 'LABEL').join(), stage).toContain(`image.version="\${VERSION}"`)
      expect(lineOf(stage, 'LABEL').join(), stage).toContain(`image.revision="\${REVISION}"`)
      expect(lineOf(stage, 'LABEL').join(), stage).toContain('image.licenses="Apache-2.0"')
    }
  })

  it('runs the service as the user of the chart, with a health check and a stop that need nothing else', () => {
    const [, uid = ''] = /runAsUser: (\d+)/.exec(read('deploy/kubernetes/chart/templates/processes.yaml')) ?? []
    expect(lineOf('service', 'USER')).toEqual([`${uid}:${uid}`])
    expect(lineOf('system', 'RUN').join()).toContain(`--owner ${uid} --group ${uid} --mode 0700 /var/lib/berth`)
    expect(lineOf('service', 'HEALTHCHECK').join()).toContain('CMD ["node", "/opt/berth/health.js"]')
    expect(lineOf('service', 'STOPSIGNAL')).toEqual(['SIGTERM'])
    expect(lineOf('service', 'ENTRYPOINT').join()).toContain('/opt/berth/packages/cli/bin/berth.js')
    expect(lineOf('service', 'CMD')).toEqual(['["serve"]'])
    expect(lineOf('sandbox', 'USER')).toEqual([`${podUids.agent}:${podUids.agent}`])
  })

  it('has the packages of the scripts, and nothing of the build but its result', () => {
    expect(lineOf('system', 'RUN').join()).toContain('missing_packages')
    expect(lineOf('service', 'COPY')).toEqual(['--from=build /image/ /'])
    expect(read('.containerignore')).toMatch(/^\.git$/m)
    expect(read('.dockerignore')).toBe(read('.containerignore'))
  })
})

describe('the health check', () => {
  const check = (variables: NodeJS.ProcessEnv) =>
    new Promise<{ code: unknown; output: string }>(resolve => {
      execFile(process.execPath, [join(root, 'deploy/image/health.js')], { env: variables }, (error, stdout) =>
        resolve({ code: error?.code ?? 0, output: stdout.trim() }),
      )
    })
  let requested: string[] = []
  let status = 200
  const server = createServer(({ url = '' }, response) => {
    requested.push(url)
    response.writeHead(status).end()
  })
  const at = (host: string) => ({ BERTH_HOST: host, BERTH_PORT: `${(server.address() as AddressInfo).port}` })
  beforeAll(() => new Promise<void>(done => server.listen(0, '127.0.0.1', done)))
  afterAll(() => void server.close())

  it.each(['', '0.0.0.0', '127.0.0.1', 'localhost'])('asks the service that listens on "%s"', async host => {
    requested = []
    status = 200
    expect(await check(at(host))).toMatchObject({ code: 0 })
    expect(requested).toEqual(['/healthz'])
  })

  it('fails, and says so, if the service answers with an error or not at all', async () => {
    status = 503
    expect(await check(at('0.0.0.0'))).toMatchObject({ code: 1, output: expect.stringContaining('answers 503') })
    const nobody = createServer().listen(0, '127.0.0.1')
    await once(nobody, 'listening')
    const { port } = nobody.address() as AddressInfo
    await promisify(nobody.close.bind(nobody))()
    const { code, output } = await check({ BERTH_PORT: `${port}` })
    expect([code, output]).toEqual([1, `http://127.0.0.1:${port}/healthz does not answer: ECONNREFUSED`])
  })
})

describe('what the image of the service holds of the checkout', () => {
  let files: readonly string[]
  let place: string
  beforeAll(async () => {
    files = await serviceFiles(root)
    place = mkdtempSync(join(tmpdir(), 'berth-tree-'))
    for (const path of files) layOut(join(root, path), join(place, path))
  }, 300_000)
  afterAll(() => rmSync(place, { recursive: true, force: true }))

  it('has every migration, every lock of a runtime, the console, the documentation and the programs of sandboxes', () => {
    const folders = ['platform/src/storage/migrations', 'core/runtimes', 'console/dist', 'site/dist', 'supervisor/dist']
    const wanted = folders.flatMap(folder => {
      const found = globSync(`packages/${folder}/**/*.*`, { cwd: root, withFileTypes: true })
      expect(found, folder).not.toHaveLength(0)
      return found
        .filter(entry => entry.isFile())
        .map(entry => join(entry.parentPath, entry.name).slice(root.length + 1))
    })
    const held = new Set(files)
    expect(wanted.filter(path => !held.has(path) && !path.endsWith('inputs'))).toEqual([])
  })

  it('has no tests, no types, no caches and no package of development', () => {
    const { packages }: { packages: Record<string, { dev?: boolean }> } = JSON.parse(read('package-lock.json'))
    const installed = new Set(files.flatMap(path => packageOf(path) ?? []))
    expect(installed.size).toBeGreaterThan(100)
    expect([...installed].filter(path => packages[path]?.dev === true)).toEqual([])
    expect(files.filter(path => /\.test\.ts$|\.d\.[cm]?ts$|^packages\/[^/]+\/test\/|\/\.cache\//.test(path))).toEqual(
      [],
    )
  })

  it('has the manifest of each package, and its licence if it comes with one', () => {
    const installed = new Set(files.flatMap(path => packageOf(path) ?? []))
    const held = new Set(files)
    expect([...installed].filter(path => !held.has(`${path}/package.json`))).toEqual([])
    const licences = [...installed].filter(path =>
      lstatSync(join(root, path, 'LICENSE'), { throwIfNoEntry: false })?.isFile(),
    )
    expect(licences.length).toBeGreaterThan(100)
    expect(licences.filter(path => !held.has(`${path}/LICENSE`))).toEqual([])
  })

  it('is enough for a service that starts, answers and stops', { timeout: 300_000 }, async () => {
    const data = mkdtempSync(join(tmpdir(), 'berth-tree-data-'))
    const settings = { BERTH_DATA_DIR: data, BERTH_PORT: '0', BERTH_POOL_MOST: '0', BERTH_LOG_FORMAT: 'json' }
    const service = spawn(process.execPath, [join(place, 'packages/cli/bin/berth.js'), 'serve'], {
      env: { PATH: process.env['PATH'], HOME: data, ...settings },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      let ready: { baseUrl: string } | undefined
      const lines: string[] = []
      for await (const line of createInterface(service.stdout)) {
        lines.push(line)
        if (JSON.parse(line).msg !== 'Berth is ready') continue
        ready = JSON.parse(line)
        break
      }
      if (ready === undefined) throw new Error(`no start: ${lines.join('\n')}`)
      for (const path of ['/healthz', '/readyz', '/v1/openapi.json', '/docs/', '/']) {
        expect((await fetch(new URL(path, ready.baseUrl))).status, path).toBe(200)
      }
      const ended = new Promise(resolve => service.once('exit', resolve))
      service.stdout.resume()
      service.kill('SIGTERM')
      expect(await ended).toBe(0)
    } finally {
      service.kill('SIGKILL')
      rmSync(data, { recursive: true, force: true })
    }
  })
})
