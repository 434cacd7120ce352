import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openStream, sendJson } from '@berth/client/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
import { runEvent } from './event-fixtures.ts'
import { ScriptedService } from './scripted-service.ts'

let cwd: string
beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), 'berth-cli-'))
})
afterAll(() => rmSync(cwd, { recursive: true }))

const environment = {
  id: '0191d5a0-0000-7000-8000-00000000e001',
  name: 'web',
  revision: 3,
  isDefault: false,
  archivedAt: null,
  document: { name: 'web', description: '', setup: 'npm ci\n', variables: {}, extensions: [], secrets: [] },
  secrets: [{ name: 'NPM_TOKEN', version: 1 }],
  warnings: [],
}
const of = { leaseId: 'first', environmentId: environment.id, name: 'web', revision: 3 }

const trial = {
  id: '0191d5a0-0000-7000-8000-00000000e0aa',
  environmentId: environment.id,
  state: 'starting',
  endedAt: null,
}

/** A trial of a scripted service, whose stream the test writes. */
class ScriptedTrial {
  readonly #frames: string[] = []
  readonly #streams = new Set<ServerResponse>()

  /** Appends an Event to the log. */
  append(type: string, data: object): void {
    const sequence = this.#frames.length + 1
    this.#write(JSON.stringify({ kind: 'event', event: { ...runEvent(sequence, type, { ...data }) } }))
  }

  /** Ends the trial behind the Events. */
  end(state: string, result: object | null = {}): void {
    this.#write(
      JSON.stringify({ kind: 'trial', trial: { ...trial, state, endedAt: '2026-01-01T00:00:00.000Z', result } }),
    )
  }

  open(response: ServerResponse): void {
    openStream(response)
    for (const frame of this.#frames) response.write(frame)
    this.#streams.add(response)
  }

  #write(data: string): void {
    const frame = `data: ${data}\n\n`
    this.#frames.push(frame)
    for (const stream of this.#streams) stream.write(frame)
  }
}

/** A service with one environment, which accepts a trial, or refuses it so. */
async function start(refused?: readonly [status: number, body: object]) {
  const calls: string[] = []
  const scripted = new ScriptedTrial()
  const service = await ScriptedService.start(({ method, path, body }, response) => {
    const { pathname } = new URL(path, 'http://loopback')
    calls.push(`${method} ${pathname}`)
    if (pathname.endsWith('/trials')) sendJson(response, ...(refused ?? ([201, { trial }] as const)))
    else if (pathname.endsWith(`/trials/${trial.id}/stream`)) scripted.open(response)
    else if (pathname.includes('/trials/')) sendJson(response, 200, { trial })
    else if (method === 'GET' && pathname === '/v1/environments') {
      sendJson(response, 200, { environments: [environment], hasMore: false, nextCursor: null })
    } else if (pathname.startsWith('/v1/environments/')) {
      const id = pathname.split('/').at(-1)
      const { name } = Object(body.document)
      const shown = method === 'PUT' ? { ...environment, id, name, revision: 1 } : environment
      sendJson(response, method === 'PUT' ? 201 : 200, { environment: shown })
    } else return undefined
    return 'answered'
  })
  return {
    service,
    trial: scripted,
    calls,
    bodyOf: (part: string) => service.taken.find(({ path }) => path.includes(part))?.body,
  }
}

const env = (service: ScriptedService, ...args: string[]) =>
  new BerthProcess(['env', 'test', ...args], { cwd, env: service.env })

describe('berth env test', () => {
  test('shows the log while it happens, and what was done, and gives the sandbox back', async () => {
    const { service, trial: tried, calls, bodyOf } = await start()
    await using _ = service
    const it = env(service, 'web')
    tried.append('svc.environment.apply', { ...of, status: 'started' })
    await it.shows('stderr', 'berth: applying revision 3 of web to a fresh sandbox\n')
    tried.append('svc.environment.output', { ...of, offset: 0, text: '\u001b[32madded\u001b[0m 12\rpack' })
    await it.shows('stdout', 'added 12\npack')
    tried.append('svc.environment.output', { ...of, offset: 24, text: 'ages' })
    tried.append('svc.environment.apply', {
      ...of,
      status: 'succeeded',
      durationMs: 12_340,
      outputTail: 'added 12\r\npackages',
      cache: 'skipped_secret',
      cacheSkip: { reason: 'secret', path: '~/.npm' },
      repositories: [{ repository: 'acme/tools', path: 'tools', state: 'cloned' }],
      extensions: [{ ref: 'sha256:0', id: 'demo', version: '1.0.0', state: 'failed', reason: 'missing' }],
      github: { status: 'granted', owners: ['acme'] },
    })
    tried.end('succeeded')
    expect([await it.ended(), it.stderr]).toEqual([0, 'berth: applying revision 3 of web to a fresh sandbox\n'])
    expect(it.lines).toEqual([
      'added 12',
      'packages',
      'github: granted for acme',
      'repository acme/tools: cloned (tools)',
      'extension demo 1.0.0: failed, missing',
      'cache: skipped_secret (secret: ~/.npm)',
      'web, revision 3: succeeded in 12.3 s',
    ])
    // The service gives the sandbox back by itself.
    expect(calls.filter(call => call.startsWith('DELETE'))).toEqual([])
    expect(bodyOf('/trials')).toEqual({ runtime: 'shell' })
  })

  test('fails with the reason and the end of the output, of which the log holds the beginning', async () => {
    const { service, trial: tried, calls } = await start()
    await using _ = service
    tried.append('svc.environment.apply', { ...of, status: 'started' })
    tried.append('svc.environment.output', { ...of, offset: 0, text: 'begins\n' })
    const failed = { status: 'failed', errorCode: 'setup_exit_nonzero', setupExitCode: 42, durationMs: 900 }
    tried.append('svc.environment.apply', { ...of, ...failed, outputTail: 'and ends\n' })
    tried.end('failed')
    const it = env(service, 'web')
    expect(await it.ended()).toBe(1)
    expect(it.lines).toEqual([
      'begins',
      '[…]',
      'and ends',
      'web, revision 3: failed in 900 ms: the setup script ended with exit code 42 (setup_exit_nonzero)',
    ])
    expect(calls.filter(call => call.startsWith('DELETE'))).toEqual([])
  })

  test('prints only events as JSON', async () => {
    const { service, trial: tried } = await start()
    await using _ = service
    tried.append('svc.environment.apply', { ...of, status: 'started' })
    tried.append('svc.run.progress', { name: 'bash', status: 'started' })
    tried.append('svc.environment.apply', { ...of, status: 'succeeded' })
    tried.end('succeeded')
    const it = env(service, 'web', '--json')
    expect([await it.ended(), it.stderr]).toEqual([0, ''])
    expect(it.lines.map(line => JSON.parse(line).data.status)).toEqual(['started', 'succeeded'])
  })

  test('reports a service that refuses the trial, and one that cannot make the sandbox', async () => {
    const { service, calls } = await start([409, { error: 'quota_exceeded' }])
    await using _ = service
    const it = env(service, 'web')
    expect([await it.ended(), it.stdout]).toEqual([1, ''])
    expect(it.stderr).toContain('quota_exceeded')
    expect(calls.filter(call => call.startsWith('DELETE'))).toEqual([])
    const other = await start()
    await using __ = other.service
    other.trial.end('failed', null)
    const failed = env(other.service, 'web')
    expect([await failed.ended(), failed.stderr]).toEqual([1, 'berth: the service could not make a sandbox\n'])
  })

  test('ends on an interrupt and gives the sandbox back; a second one leaves it, and says so', async () => {
    for (const hanging of [false, true]) {
      let stopping = Promise.withResolvers<void>()
      const tried = new ScriptedTrial()
      await using service = await ScriptedService.start(({ method, path }, response) => {
        if (path.endsWith('/trials')) {
          sendJson(response, 201, { trial })
          return 'answered'
        }
        if (path.includes('/stream')) {
          tried.open(response)
          return 'answered'
        }
        if (method === 'GET' && path.startsWith('/v1/environments')) {
          sendJson(response, 200, { environments: [environment], hasMore: false, nextCursor: null })
          return 'answered'
        }
        if (method !== 'DELETE') return undefined
        stopping.resolve()
        if (!hanging) sendJson(response, 200, { trial })
        return 'answered'
      })
      tried.append('svc.environment.apply', { ...of, status: 'started' })
      const it = env(service, 'web')
      await it.shows('stderr', 'applying revision 3')
      it.interrupt()
      await stopping.promise
      if (hanging) it.interrupt()
      expect(await it.ended()).toBe(130)
      expect(/trial [0-9a-f-]{36} was not stopped: interrupted\n$/.test(it.stderr)).toBe(hanging)
      stopping = Promise.withResolvers<void>()
    }
  })
})

describe('berth env test --file', () => {
  const write = (value: unknown) => writeFileSync(join(cwd, 'berth.env.json'), JSON.stringify(value))
  const document = { name: 'web', setup: 'npm ci\n', extensions: [{ archive: `sha256:${'0'.repeat(64)}` }] }

  test('tests a temporary environment, says what it lacks, and archives it', async () => {
    write({ id: environment.id, revision: 3, document })
    const { service, trial: tried, calls } = await start()
    await using _ = service
    tried.append('svc.environment.apply', { ...of, status: 'started' })
    tried.append('svc.environment.apply', { ...of, status: 'succeeded' })
    tried.end('succeeded')
    const it = env(service, '--file', 'berth.env.json')
    expect(await it.ended()).toBe(0)
    expect(it.stderr).toContain('the test has no secrets: it lacks NPM_TOKEN\n')
    expect(it.stderr).toContain('the test has no uploaded extensions: it lacks sha256:')
    const put = service.taken.find(({ method, path }) => method === 'PUT' && path.startsWith('/v1/environments/'))
    expect(put?.path).not.toContain(environment.id)
    expect(put?.body).toEqual({
      document: { name: expect.stringMatching(/^test [0-9a-f]{8} of web$/), setup: 'npm ci\n', extensions: [] },
    })
    const id = put?.path.split('/').at(-1)
    expect(calls.at(-1)).toBe(`DELETE /v1/environments/${id}`)
    expect(calls).toContain(`POST /v1/environments/${id}/trials`)
  })

  test('names what the service refuses by its path in the file', async () => {
    write({ document: { name: 'x'.repeat(64), variables: { HOME: '/' } } })
    const issues = [{ path: ['document', 'variables', 'HOME'], message: 'is a variable that the platform sets itself' }]
    await using service = await ScriptedService.start((_taken, response) => {
      sendJson(response, 400, { error: 'environment_invalid', issues })
      return 'answered'
    })
    const it = env(service, '--file', 'berth.env.json')
    expect([await it.ended(), it.stdout]).toEqual([1, ''])
    expect(it.stderr).toContain('document.variables.HOME: is a variable that the platform sets itself')
    expect(service.taken).toHaveLength(1)
    expect([...Object(service.taken[0]?.body.document).name]).toHaveLength(64)
  })

  test('is not for an environment that is named, nor for a file that is not there', async () => {
    const { service, calls } = await start()
    await using _ = service
    const both = env(service, 'web', '--file', 'berth.env.json')
    expect([await both.ended(), both.stderr]).toEqual([2, expect.stringContaining('not both')])
    const none = env(service, '--file', 'nowhere.json')
    expect([await none.ended(), none.stderr]).toEqual([2, expect.stringContaining('there is no nowhere.json')])
    expect(calls).toEqual([])
  })

  test('is pointed to if the file differs from the revision that is tested', async () => {
    write({ id: environment.id, revision: 3, document: { name: 'web', setup: 'npm test\n' } })
    const { service, trial: tried } = await start()
    await using _ = service
    tried.append('svc.environment.apply', { ...of, status: 'started' })
    tried.append('svc.environment.apply', { ...of, status: 'succeeded' })
    tried.end('succeeded')
    const it = env(service)
    expect(await it.ended()).toBe(0)
    expect(it.stderr).toContain('berth.env.json differs from revision 3, which is tested')
  })
})
