import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sendJson } from '@berth/client/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BerthProcess } from './berth-process.ts'
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

/** A service with one environment, which answers each `PUT` of a workspace with the next of these. */
async function start(...workspaces: (readonly [status: number, body: object])[]) {
  const calls: string[] = []
  const service = await ScriptedService.start(({ method, path, body }, response) => {
    const { pathname } = new URL(path, 'http://loopback')
    calls.push(`${method} ${pathname.replace(/\/sessions\/[^/]+/, '/sessions/S')}`)
    if (method === 'DELETE' && pathname.startsWith('/v1/sessions/')) response.writeHead(204).end()
    else if (pathname.endsWith('/workspace')) {
      const next = workspaces.shift()
      if (next !== undefined) sendJson(response, ...next)
    } else if (method === 'GET' && pathname === '/v1/environments') {
      sendJson(response, 200, { environments: [environment], hasMore: false, nextCursor: null })
    } else if (pathname.startsWith('/v1/environments/')) {
      const id = pathname.split('/').at(-1)
      const { name } = Object(body.document)
      const shown = method === 'PUT' ? { ...environment, id, name, revision: 1 } : environment
      sendJson(response, method === 'PUT' ? 201 : 200, { environment: shown })
    } else return undefined
    return 'answered'
  })
  return { service, calls, bodyOf: (part: string) => service.taken.find(({ path }) => path.includes(part))?.body }
}

const env = (service: ScriptedService, ...args: string[]) =>
  new BerthProcess(['env', 'test', ...args], { cwd, env: service.env })

describe('berth env test', () => {
  test('shows the log while it happens, and what was done, and gives the sandbox back', async () => {
    const { service, calls, bodyOf } = await start([503, { error: 'cloud_workspace_starting' }])
    await using _ = service
    const it = env(service, 'web')
    service.tell('svc.environment.apply', { ...of, status: 'started' })
    await it.shows('stderr', 'berth: applying revision 3 of web to a fresh sandbox\n')
    service.tell('svc.environment.output', { ...of, offset: 0, text: '\u001b[32madded\u001b[0m 12\rpack' })
    await it.shows('stdout', 'added 12\npack')
    service.tell('svc.environment.output', { ...of, offset: 24, text: 'ages' })
    // Another sandbox of the Session is not the one that is tested.
    service.tell('svc.environment.apply', { ...of, leaseId: 'second', status: 'failed' })
    service.tell('svc.environment.apply', {
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
    expect(calls.at(-1)).toBe('DELETE /v1/sessions/S')
    const created = service.taken.find(({ method, path }) => method === 'PUT' && /sessions\/[^/]+$/.test(path))
    expect(created?.body).toEqual({
      title: 'Test of environment web',
      runtime: 'shell',
      environment: { id: environment.id },
    })
    expect(bodyOf('/workspace')).toEqual({})
  })

  test('fails with the reason and the end of the output, of which the log holds the beginning', async () => {
    const { service, calls } = await start([503, { error: 'cloud_workspace_unavailable' }])
    await using _ = service
    service.tell('svc.environment.apply', { ...of, status: 'started' })
    service.tell('svc.environment.output', { ...of, offset: 0, text: 'begins\n' })
    const failed = { status: 'failed', errorCode: 'setup_exit_nonzero', setupExitCode: 42, durationMs: 900 }
    service.tell('svc.environment.apply', { ...of, ...failed, outputTail: 'and ends\n' })
    const it = env(service, 'web')
    expect(await it.ended()).toBe(1)
    expect(it.lines).toEqual([
      'begins',
      '[…]',
      'and ends',
      'web, revision 3: failed in 900 ms: the setup script ended with exit code 42 (setup_exit_nonzero)',
    ])
    expect(calls.at(-1)).toBe('DELETE /v1/sessions/S')
  })

  test('prints only events as JSON', async () => {
    const { service } = await start()
    await using _ = service
    service.tell('svc.environment.apply', { ...of, status: 'started' })
    service.tell('svc.run.progress', { name: 'bash', status: 'started' })
    service.tell('svc.environment.apply', { ...of, status: 'succeeded' })
    const it = env(service, 'web', '--json')
    expect([await it.ended(), it.stderr]).toEqual([0, ''])
    expect(it.lines.map(line => JSON.parse(line).data.status)).toEqual(['started', 'succeeded'])
  })

  test('reports a service that cannot make the sandbox, and leaves no session behind', async () => {
    const { service, calls } = await start([409, { error: 'cloud_resume_unavailable' }])
    await using _ = service
    const it = env(service, 'web')
    expect([await it.ended(), it.stdout]).toEqual([1, ''])
    expect(it.stderr).toContain('cloud_resume_unavailable')
    expect(calls.at(-1)).toBe('DELETE /v1/sessions/S')
  })

  test('ends on an interrupt and gives the sandbox back; a second one leaves it, and says so', async () => {
    for (const hanging of [false, true]) {
      let archiving = Promise.withResolvers<void>()
      await using service = await ScriptedService.start(({ method, path }, response) => {
        if (path.endsWith('/workspace')) return 'answered'
        if (method === 'GET' && path.startsWith('/v1/environments')) {
          sendJson(response, 200, { environments: [environment], hasMore: false, nextCursor: null })
          return 'answered'
        }
        if (method !== 'DELETE') return undefined
        archiving.resolve()
        if (!hanging) response.writeHead(204).end()
        return 'answered'
      })
      service.tell('svc.environment.apply', { ...of, status: 'started' })
      const it = env(service, 'web')
      await it.shows('stderr', 'applying revision 3')
      it.interrupt()
      await archiving.promise
      if (hanging) it.interrupt()
      expect(await it.ended()).toBe(130)
      expect(/session [0-9a-f-]{36} was not archived: interrupted\n$/.test(it.stderr)).toBe(hanging)
      archiving = Promise.withResolvers<void>()
    }
  })
})

describe('berth env test --file', () => {
  const write = (value: unknown) => writeFileSync(join(cwd, 'berth.env.json'), JSON.stringify(value))
  const document = { name: 'web', setup: 'npm ci\n', extensions: [{ archive: `sha256:${'0'.repeat(64)}` }] }

  test('tests a temporary environment, says what it lacks, and archives it', async () => {
    write({ id: environment.id, revision: 3, document })
    const { service, calls, bodyOf } = await start()
    await using _ = service
    service.tell('svc.environment.apply', { ...of, status: 'started' })
    service.tell('svc.environment.apply', { ...of, status: 'succeeded' })
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
    expect(calls.slice(-2)).toEqual(['DELETE /v1/sessions/S', `DELETE /v1/environments/${id}`])
    expect(bodyOf('/v1/sessions/')).toMatchObject({ environment: { id } })
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
    const { service } = await start()
    await using _ = service
    service.tell('svc.environment.apply', { ...of, status: 'started' })
    service.tell('svc.environment.apply', { ...of, status: 'succeeded' })
    const it = env(service)
    expect(await it.ended()).toBe(0)
    expect(it.stderr).toContain('berth.env.json differs from revision 3, which is tested')
  })
})
