import { randomBytes } from 'node:crypto'
import type { Event } from '@berth/contract'
import { Environments } from '@berth/testing/environments/environments.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

let service: TestService
let environments: Environments
beforeAll(async () => {
  service = await startTestService()
  environments = new Environments(service.api)
})
afterAll(() => service[Symbol.asyncDispose]())

/** The types in order; output may be told in any number of pieces. */
const types = (events: readonly Event[]) =>
  events
    .map(({ type }) => type.replace('svc.', ''))
    .filter((type, index, all) => type !== 'environment.output' || all[index - 1] !== type)
const dataOf = (events: readonly Event[], type: string) =>
  events.filter(event => event.type === type).map(({ data }) => data)
const applies = (events: readonly Event[]) => dataOf(events, 'svc.environment.apply')
const reports = (events: readonly Event[]) =>
  dataOf(events, 'svc.environment.output')
    .map(({ text }) => text)
    .join('')

/** Runs the first Turn of a Session that is bound to an environment. */
async function run(environmentId: string, message = 'true') {
  const session = await service.api.createSession({ runtime: 'shell', environment: { id: environmentId } }, message)
  const events = await service.api.runEnded(session.id, session.activeRunId ?? '')
  return { session: await service.api.session(session.id), events }
}

describe('a fresh sandbox of a bound session', () => {
  test('is set up before its first Run begins, and the log tells how', async () => {
    const { id } = await environments.make({ name: 'web', setup: 'pwd; echo made > note; echo loud >&2' })
    const { session, events } = await run(id, 'cat note')
    expect(types(events).slice(0, 5)).toEqual([
      'message.created',
      'environment.apply',
      'environment.output',
      'environment.apply',
      'run.started',
    ])
    const runId = events.at(-1)?.subject.runId
    for (const event of events.slice(1)) expect(event.subject.runId).toBe(runId)
    const of = { leaseId: expect.any(String), environmentId: id, name: 'web', revision: 1 }
    expect(applies(events)).toEqual([
      { ...of, status: 'started' },
      {
        ...of,
        status: 'succeeded',
        setupExitCode: 0,
        durationMs: expect.any(Number),
        outputTail: '/workspace\nloud\n',
      },
    ])
    expect(reports(events)).toBe('/workspace\nloud\n')
    expect(dataOf(events, 'svc.activity.completed')[0]).toMatchObject({ output: 'made\n' })
    expect(session.environment).toEqual({ id, name: 'web', revision: 1 })
  })

  test('is attached at once where the revision has nothing to run', async () => {
    const { id } = await environments.make({ name: 'empty', variables: { COLOUR: 'green' } })
    const { events } = await run(id, 'echo "$COLOUR"')
    expect(types(events).slice(0, 4)).toEqual([
      'message.created',
      'environment.apply',
      'environment.apply',
      'run.started',
    ])
    expect(applies(events).map(({ status }) => status)).toEqual(['started', 'succeeded'])
    expect(dataOf(events, 'svc.activity.completed')[0]).toMatchObject({ output: 'green\n' })
  })

  test('has no access to models while setup runs', async () => {
    const { id } = await environments.make({
      name: 'models',
      setup: "curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:3128/v1/models",
    })
    const { events } = await run(id)
    expect(reports(events)).toBe('401')
  })

  test('gives its Run up if setup fails', async () => {
    const { id } = await environments.make({ name: 'broken', setup: 'echo why\nexit 42' })
    const { session, events } = await run(id)
    expect(types(events)).toEqual([
      'message.created',
      'environment.apply',
      'environment.output',
      'environment.apply',
      'run.failed',
    ])
    expect(applies(events)[1]).toMatchObject({
      status: 'failed',
      errorCode: 'setup_exit_nonzero',
      setupExitCode: 42,
      outputTail: 'why\n',
    })
    expect(events.at(-1)?.data).toEqual({
      status: 'failed',
      stopReason: 'error',
      errorCode: 'environment_setup_failed',
    })
    expect(session).toMatchObject({ environment: { revision: null }, workspace: { state: 'unavailable' } })
  })
})

describe('variables and secrets', () => {
  test('reach setup and the agent: the later one wins, and the search path begins with ours', async () => {
    const made = await environments.make({
      name: 'variables',
      setup: 'echo "$LANG $PLAIN $TOKEN1 $PATH"',
      variables: { LANG: 'C', PLAIN: 'plain', PATH: '/opt/tools:/usr/bin:/bin' },
    })
    await environments.writeSecret(made.id, 'TOKEN1', 'short', made.revision)
    const { events } = await run(made.id, 'echo "$LANG $PLAIN $TOKEN1 $PATH"; env | grep ^BERTH_')
    const line = 'C plain short /opt/berth:/home/agent/.local/bin:/opt/tools:/usr/bin:/bin\n'
    expect(applies(events)[1]).toMatchObject({ outputTail: line })
    expect(dataOf(events, 'svc.activity.completed')[0]).toMatchObject({ output: line })
  })

  test('that setup exports reach the agent, and the log names what is left out', async () => {
    const { id } = await environments.make({
      name: 'exports',
      setup: [
        'printf "%s\\n" FIRST=1 HOME=/tmp "not a line" "LAST=a = b" >> "$BERTH_ENV"',
        'printf "OLD=caf\\351\\nCR=é\\r\\n" >> "$BERTH_ENV"',
        'printf "%s\\n" /opt/a relative /opt/b >> "$BERTH_PATH"',
        'printf "/opt/caf\\351\\n/opt/c\\r\\n" >> "$BERTH_PATH"',
      ].join('\n'),
    })
    const { events } = await run(id, 'echo "$FIRST|$HOME|$LAST|$OLD|$CR|$PATH"')
    expect(dataOf(events, 'svc.activity.completed')[0]?.['output']).toMatch(
      /^1\|\/home\/agent\|a = b\|\|é\|\/opt\/berth:\/home\/agent\/\.local\/bin:\/opt\/c:\/opt\/b:\/opt\/a:/,
    )
    expect(String(applies(events)[1]?.['outputTail']).split('\n')).toEqual([
      'berth: line 2 of $BERTH_ENV is left out: it is a variable that the platform sets itself',
      'berth: line 3 of $BERTH_ENV is left out: it is not NAME=value',
      'berth: line 5 of $BERTH_ENV is left out: it holds U+FFFD, or bytes that are not UTF-8',
      'berth: line 2 of $BERTH_PATH is left out: it is no absolute path',
      'berth: line 4 of $BERTH_PATH is left out: it holds U+FFFD, or bytes that are not UTF-8',
      '',
    ])
  })

  test('that setup exports count up to 64 KiB, by whole lines, and the log says so', async () => {
    const { id } = await environments.make({
      name: 'many exports',
      setup: `seq -f 'N%g=1' 20000 >> "$BERTH_ENV"; seq -f /opt/%g 20000 >> "$BERTH_PATH"`,
    })
    const { events } = await run(
      id,
      'env | grep -c ^N[0-9]; echo "$N1 $N20000"; echo "$PATH" | tr : "\\n" | grep -c ^/opt/[0-9]',
    )
    const [variables, ends, directories] = String(dataOf(events, 'svc.activity.completed')[0]?.['output']).split('\n')
    const fits = (line: (n: number) => string) => {
      let [count, bytes] = [0, 0]
      for (; bytes <= 65_536; count += 1) bytes += line(count + 1).length + 1
      return String(count - 1)
    }
    expect([variables, ends, directories]).toEqual([fits(n => `N${n}=1`), '1 ', fits(n => `/opt/${n}`)])
    expect(String(applies(events)[1]?.['outputTail'])).toBe(
      [
        'berth: the rest of $BERTH_ENV is left out: it is longer than 64 KiB\n',
        'berth: the rest of $BERTH_PATH is left out: it is longer than 64 KiB\n',
      ].join(''),
    )
  })

  test('leave no secret on record, whoever prints it and wherever the output is cut', async () => {
    const canary = `canary-${randomBytes(18).toString('hex')}`
    const fill = 'head -c 200000 /dev/zero | tr "\\0" x'
    const made = await environments.make({
      name: 'canary',
      setup: `echo "$KEY1"; ${fill}; echo "$KEY1"; ${fill}; printf "%s" "$KEY1"; head -c 8180 /dev/zero | tr "\\0" y
        echo "COPY=$KEY1" >> "$BERTH_ENV"`,
    })
    await environments.writeSecret(made.id, 'KEY1', canary, made.revision)
    const { session, events } = await run(made.id, 'echo "$COPY"; for n in 1 2; do echo "$KEY1"; done')
    expect(dataOf(events, 'svc.activity.completed')[0]).toMatchObject({ output: '[secret]\n[secret]\n[secret]\n' })
    expect(reports(events)).toMatch(/^\[secret\]\nx+$/)
    expect(Buffer.byteLength(reports(events))).toBeLessThanOrEqual(128 * 1024)
    const tail = String(applies(events)[1]?.['outputTail'])
    expect([tail.length <= 8192, tail.endsWith(`]${'y'.repeat(8180)}`)]).toEqual([true, true])
    const { rows } = await service.db.database.query<{ text: string }>(
      `select concat_ws(' ', envelope) as text from events where session_id = $1
       union all select l::text from leases l where session_id = $1
       union all select r::text from runs r where session_id = $1
       union all select e::text from environment_secrets e`,
      [session.id],
    )
    for (const { text } of rows) expect(text).not.toContain(canary.slice(7, 23))
  })
})
