import { randomUUID } from 'node:crypto'
import type { Event } from '@berth/contract'
import { findLiveLease } from '@berth/core/sessions/leases/lease-sql.ts'
import { parseApprovalRules } from '@berth/platform/settings/approval-rules.ts'
import { AskingHosts, fetchFrom, refusalsIn } from '@berth/testing/environments/asking-hosts.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { NetworkAccess } from '../../src/claim/network-access.ts'

const stack = new AsyncDisposableStack()
let hosts: AskingHosts
let network: NetworkAccess

beforeAll(async () => {
  hosts = stack.use(await AskingHosts.open())
  const rule = { confinements: ['network'], hosts: ['*.ruled.example.org'] }
  const approvalRules = parseApprovalRules(JSON.stringify({ allow: [rule] }), 'rules.json')
  ;({ network } = (await hosts.startWorker(stack, { approvalRules })).context)
})
afterAll(() => stack.disposeAsync())

const ask = { mode: 'ask', hosts: ['named.example.org'] }
const interactionsIn = (events: readonly Event[]) =>
  events
    .filter(({ type }) => type.startsWith('svc.interaction.'))
    .map(({ type, data }) => [type.replace('svc.interaction.', ''), data['resolution'] ?? null])

describe('an environment that asks', () => {
  it('puts a host that it does not name to people, and lets the connection that waits go on', async () => {
    const script = `${fetchFrom('named.example.org')}; ${fetchFrom('new.example.org', '-A tool/1.2')}`
    const session = await hosts.session(ask, script)
    const approval = await hosts.onlyOpen(session)
    expect(approval).toMatchObject({
      kind: 'approval',
      status: 'open',
      runId: session.activeRunId,
      request: {
        approval: {
          toolName: 'network',
          kind: 'fetch',
          confinement: 'network',
          destination: 'new.example.org:80',
          title: 'tool wants to reach new.example.org:80',
          input: { host: 'new.example.org', port: 80, program: 'tool/1.2' },
          rememberScopes: ['turn', 'chat', 'project'],
        },
      },
    })
    expect((await hosts.api.session(session.id)).phase).toBe('running')
    expect(await hosts.decide(session, approval, 'allow_once')).toMatchObject({ status: 200 })
    const { output, events } = await hosts.ended(session)
    expect(output).toBe('reached named.example.org\nreached new.example.org\n')
    expect(interactionsIn(events)).toEqual([
      ['opened', null],
      ['resolved', 'approved'],
    ])
    const reached = (await hosts.egress(session)).hosts.toSorted((a, b) => a.host.localeCompare(b.host))
    expect(reached).toEqual([
      expect.objectContaining({ host: 'named.example.org', port: 80, reached: 1, refused: 0 }),
      expect.objectContaining({ host: 'new.example.org', port: 80, reached: 1, refused: 0 }),
    ])
  })

  it('asks once for ten programs that want one host', async () => {
    const script = `for at in $(seq 10); do (${fetchFrom('ten.example.org')}) & done; wait`
    const session = await hosts.session(ask, script)
    const approval = await hosts.onlyOpen(session)
    await hosts.decide(session, approval, 'allow_once')
    const { output, events } = await hosts.ended(session)
    expect(output.match(/reached ten\.example\.org/g)).toHaveLength(10)
    expect(interactionsIn(events)).toHaveLength(2)
  })

  it('keeps the approval for a program that gave up: its next try finds the decision', async () => {
    const script = `curl -sS -m 1 http://later.example.org/ 2>&1; echo gave up; until [ -e go ]; do sleep 0.1; done; ${fetchFrom('later.example.org')}`
    const session = await hosts.session(ask, `cd /workspace; ${script}`)
    const approval = await hosts.onlyOpen(session)
    await hosts.decide(session, approval, 'allow_once')
    const release = hosts.touch(session, 'go')
    await release
    expect((await hosts.ended(session)).output).toMatch(/gave up\nreached later\.example\.org\n$/)
  })

  it('tells a program that a person refused its host, and asks no more in that Turn', async () => {
    const again = fetchFrom('denied.example.org')
    const session = await hosts.session(ask, `${again}; ${again}`)
    await hosts.decide(session, await hosts.onlyOpen(session), 'deny')
    const { output, events } = await hosts.ended(session)
    const reason = 'a person refused denied.example.org:80 for this turn'
    expect(output.split(reason)).toHaveLength(3)
    expect(interactionsIn(events)).toHaveLength(2)
    expect(refusalsIn(events)).toEqual([
      expect.objectContaining({ host: 'denied.example.org', port: 80, reason: 'denied', count: expect.any(Number) }),
    ])
    const next = await hosts.api.submitTurn(session.id, again)
    const question = await hosts.onlyOpen(session)
    await hosts.decide(session, question, 'allow_chat')
    expect((await hosts.ended(session, next.run.id)).output).toBe('reached denied.example.org\n')
    const last = await hosts.api.submitTurn(session.id, again)
    const third = await hosts.ended(session, last.run.id)
    expect(third.output).toBe('reached denied.example.org\n')
    expect(interactionsIn(third.events).at(-1)).toEqual(['resolved', 'always_allowed'])
  })

  it('asks about eight hosts at once, and refuses further ones at once', async () => {
    const script = `for at in $(seq 100); do (${fetchFrom('h$at.example.org')}) & done; wait`
    const session = await hosts.session(ask, script)
    const open = await hosts.open(session, 8)
    await until('the others', async () => {
      const { hosts: reached } = await hosts.egress(session)
      return reached.reduce((sum, { refused }) => sum + refused, 0) === 92
    })
    for (const approval of open) await hosts.decide(session, approval, 'deny')
    const { output, events } = await hosts.ended(session)
    expect(output.match(/people are asked about too many hosts/g)).toHaveLength(92)
    expect(output.match(/a person refused/g)).toHaveLength(8)
    const refusals = refusalsIn(events)
    expect(refusals.length).toBeLessThanOrEqual(22)
    expect(refusals.reduce((sum, { count }) => sum + Number(count), 0)).toBe(100)
    expect(refusals.filter(({ reason }) => reason === 'further')).toHaveLength(1)
  })

  it('refuses a host that was allowed and leads to a private address', async () => {
    hosts.addresses.set('moving.example.org', '10.0.0.1')
    const session = await hosts.session(ask, fetchFrom('moving.example.org'))
    await hosts.decide(session, await hosts.onlyOpen(session), 'allow_chat')
    const { output, events } = await hosts.ended(session)
    expect(output).toContain('moving.example.org')
    expect(output).not.toContain('reached')
    expect(refusalsIn(events)).toEqual([expect.objectContaining({ reason: 'policy' })])
    expect(hosts.served).not.toContain('moving.example.org')
  })

  it("is answered by an operator's rule without people, and logs that once a Run", async () => {
    const again = fetchFrom('a.ruled.example.org')
    const session = await hosts.session(ask, `${again}; ${again}`)
    const { output, events } = await hosts.ended(session)
    expect(output).toBe('reached a.ruled.example.org\nreached a.ruled.example.org\n')
    expect(interactionsIn(events)).toEqual([['resolved', 'project_allowed']])
  })

  it('has nobody to ask while it is applied, and says that it would have', async () => {
    const setup = fetchFrom('setup.example.org')
    const session = await hosts.session(ask, 'echo done', { setup })
    const { events } = await hosts.ended(session)
    const applied = events.findLast(({ type }) => type === 'svc.environment.apply')
    expect(String(applied?.data['outputTail'])).toContain('there is nobody to ask here')
    expect(refusalsIn(events)).toEqual([
      expect.objectContaining({ host: 'setup.example.org', reason: 'nobody_to_ask', wouldAsk: true, count: 1 }),
    ])
    expect(interactionsIn(events)).toEqual([])
  })

  it('asks nobody in a Session that a trigger made', async () => {
    const { id } = await hosts.environments.make({ network: ask })
    const session = await hosts.sessionOf(id, 'echo idle')
    await hosts.ended(session)
    const made = 'update sessions set trigger_id = $2 where id = $1'
    await hosts.test.db.database.query(made, [session.id, randomUUID()])
    const next = await hosts.api.submitTurn(session.id, fetchFrom('night.example.org'))
    const { output, events } = await hosts.ended(session, next.run.id)
    expect(output).toContain('there is nobody to ask here')
    expect(refusalsIn(events)).toEqual([expect.objectContaining({ reason: 'nobody_to_ask', wouldAsk: true })])
  })

  it('asks nobody about a name that holds a secret', async () => {
    // Names of hosts lose their case.
    const secret = 'AVerySecretValue0123456789'
    const environment = await hosts.environments.make({ network: ask })
    await hosts.environments.writeSecret(environment.id, 'TOKEN', secret, 1)
    const session = await hosts.sessionOf(environment.id, fetchFrom('$TOKEN.example.org'))
    const { output, events } = await hosts.ended(session)
    expect(output).toContain('the name of the host holds a secret of this session')
    expect(refusalsIn(events)).toEqual([expect.objectContaining({ reason: 'secret_not_for_host' })])
    expect(JSON.stringify([events, await hosts.egress(session)]).toLowerCase()).not.toContain(secret.toLowerCase())
    const { database: db } = hosts.test.db
    const { rows } = await db.query('select 1 from interactions where session_id = $1', [session.id])
    expect(rows).toEqual([])
    // What the worker's own log would have of it.
    const lease = await findLiveLease(db, { organizationId: session.organizationId, sessionId: session.id })
    if (lease === null) throw new Error('the sandbox has ended')
    expect(await network.route(lease).masked(`at ${secret}.example.org`)).toBe('at [secret].example.org')
    expect(await network.route(lease).masked(`at ${secret.toLowerCase()}`)).toBe('at [secret]')
  })

  it('closes what is open with its Run', async () => {
    const session = await hosts.session(ask, fetchFrom('cancelled.example.org'))
    await hosts.onlyOpen(session)
    await hosts.api.call('POST', `/v1/sessions/${session.id}/runs/${session.activeRunId}/cancel`)
    const { events } = await hosts.ended(session)
    expect(interactionsIn(events).at(-1)).toEqual(['expired', 'run_cancelled'])
  })
})

describe('a host that is allowed for the environment', () => {
  it('holds at once for its other Sessions, is proposed, and is taken by a write of the document', async () => {
    const environment = await hosts.environments.make({ network: ask })
    const script = fetchFrom('project.example.org')
    const [session, other] = [
      await hosts.sessionOf(environment.id, script),
      await hosts.sessionOf(environment.id, script),
    ]
    const [approval] = [await hosts.onlyOpen(session), await hosts.onlyOpen(other)]
    expect(await hosts.decide(session, approval, 'allow_project')).toMatchObject({
      status: 200,
      body: { outcome: { resolution: 'project_allowed' } },
    })
    expect((await hosts.ended(session)).output).toBe('reached project.example.org\n')
    const elsewhere = await hosts.ended(other)
    expect(elsewhere.output).toBe('reached project.example.org\n')
    expect(interactionsIn(elsewhere.events)).toEqual([
      ['opened', null],
      ['resolved', 'project_allowed'],
    ])
    const read = async () => (await hosts.environments.read(environment.id)).body.environment
    const { installationId } = hosts.test.tenant
    const proposed = {
      host: 'project.example.org',
      sessionId: session.id,
      decidedBy: { kind: 'app_installation', id: installationId },
      decidedAt: expect.any(String),
    }
    expect((await read()).proposedHosts).toEqual([proposed])
    const { secrets: _, ...document } = (await read()).document
    const hostsNow = [...ask.hosts, 'project.example.org']
    await hosts.environments.put(environment.id, { ...document, network: { ...ask, hosts: hostsNow } }, 1)
    expect((await read()).proposedHosts).toEqual([])
    // The sandbox is of the first revision, which does not name it.
    const next = await hosts.api.submitTurn(session.id, script)
    expect((await hosts.ended(session, next.run.id)).output).toBe('reached project.example.org\n')
    await hosts.environments.put(environment.id, { ...document, network: ask }, 2)
    const last = await hosts.api.submitTurn(session.id, script)
    await hosts.decide(session, await hosts.onlyOpen(session), 'deny')
    expect((await hosts.ended(session, last.run.id)).output).toContain('a person refused')
  })

  it('is asked about again once the proposal is removed', async () => {
    const environment = await hosts.environments.make({ network: ask })
    const script = fetchFrom('removed.example.org')
    const session = await hosts.sessionOf(
      environment.id,
      `${script}; until [ -e /workspace/go ]; do sleep 0.1; done; ${script}`,
    )
    await hosts.decide(session, await hosts.onlyOpen(session), 'allow_project')
    await until('the first answer', async () => hosts.served.includes('removed.example.org'))
    const path = `/v1/environments/${environment.id}/proposed-hosts/removed.example.org`
    const { tenant: _, api: stranger } = await hosts.test.newTenant()
    expect((await stranger.call('DELETE', path)).status).toBe(404)
    const removed = await hosts.api.call<{ environment: { proposedHosts: unknown[] } }>('DELETE', path)
    expect([removed.status, removed.body.environment.proposedHosts]).toEqual([200, []])
    await hosts.touch(session, 'go')
    await hosts.decide(session, await hosts.onlyOpen(session), 'deny')
    expect((await hosts.ended(session)).output).toMatch(/^reached removed\.example\.org\n[\s\S]*a person refused/)
  })

  it('decides what is open about it, and overrides a refusal in the Turn', async () => {
    const script = fetchFrom('button.example.org')
    const session = await hosts.session(ask, `${script}; until [ -e /workspace/go ]; do sleep 0.1; done; ${script}`)
    await hosts.decide(session, await hosts.onlyOpen(session), 'deny')
    const path = `/v1/sessions/${session.id}/egress/hosts/button.example.org`
    const { api: stranger } = await hosts.test.newTenant()
    expect((await stranger.put(path, undefined)).status).toBe(404)
    expect(await hosts.api.put(path, undefined)).toMatchObject({
      status: 200,
      body: { host: 'button.example.org', state: 'allowed' },
    })
    await hosts.touch(session, 'go')
    expect((await hosts.ended(session)).output).toMatch(/a person refused[\s\S]*\nreached button\.example\.org\n$/)
    const other = await hosts.session(ask, fetchFrom('open.example.org'))
    await hosts.onlyOpen(other)
    await hosts.api.put(`/v1/sessions/${other.id}/egress/hosts/open.example.org`, undefined)
    const { output, events } = await hosts.ended(other)
    expect([output, interactionsIn(events).at(-1)]).toEqual([
      'reached open.example.org\n',
      ['resolved', 'project_allowed'],
    ])
  })

  it.each(['10.0.0.1', 'localhost', 'Upper.example.org', '*.example.org'])(
    'is a public name, and not %s',
    async host => {
      const session = await hosts.session(ask, 'echo idle')
      expect((await hosts.api.put(`/v1/sessions/${session.id}/egress/hosts/${host}`, undefined)).status).toBe(400)
    },
  )

  it('needs an environment', async () => {
    const session = await hosts.api.createSession({ runtime: 'shell' })
    const answer = await hosts.api.put(`/v1/sessions/${session.id}/egress/hosts/a.example.org`, undefined)
    expect([answer.status, answer.body['error']]).toEqual([409, 'environment_conflict'])
  })

  it('is offered by no approval of an agent', async () => {
    const session = await hosts.session(ask, fetchFrom('offered.example.org'))
    const approval = await hosts.onlyOpen(session)
    const text = `update interactions set request = replace(request, ',"project"', '') where id = $1`
    await hosts.test.db.database.query(text, [approval.id])
    expect((await hosts.decide(session, approval, 'allow_project')).status).toBe(400)
    await hosts.decide(session, approval, 'deny')
    await hosts.ended(session)
  })
})

describe('an environment that lists its hosts', () => {
  it('refuses others with words for the agent, and only takes them as proposed', async () => {
    const script = fetchFrom('other.example.org')
    const environment = await hosts.environments.make({ network: { mode: 'listed', hosts: ['*.named.example.org'] } })
    const session = await hosts.sessionOf(environment.id, `${fetchFrom('a.named.example.org')}; ${script}`)
    const { output, events } = await hosts.ended(session)
    expect(output).toContain('reached a.named.example.org\n')
    expect(output).toContain(`other.example.org:80 is not among the hosts of the environment “${environment.name}”`)
    expect(refusalsIn(events)).toEqual([
      expect.objectContaining({ host: 'other.example.org', port: 80, reason: 'not_listed', count: 1 }),
    ])
    const path = `/v1/sessions/${session.id}/egress/hosts/other.example.org`
    expect((await hosts.api.put(path, undefined)).body).toEqual({ host: 'other.example.org', state: 'proposed' })
    const next = await hosts.api.submitTurn(session.id, script)
    expect((await hosts.ended(session, next.run.id)).output).toContain('is not among the hosts')
  })

  it('reaches nothing that the policy of the organization closes, whoever allows it', async () => {
    const policy = { neverHosts: ['*.closed.example.org'] }
    const set = 'update organizations set egress_policy = $2 where id = $1'
    const { organizationId } = hosts.test.tenant
    await hosts.test.db.database.query(set, [organizationId, JSON.stringify(policy)])
    try {
      const session = await hosts.session(ask, fetchFrom('a.closed.example.org'))
      const { output, events } = await hosts.ended(session)
      expect(output).toContain('the policy of the organization closes a.closed.example.org:80')
      expect(refusalsIn(events)).toEqual([expect.objectContaining({ reason: 'never_host' })])
    } finally {
      await hosts.test.db.database.query(set, [organizationId, '{}'])
    }
  })
})

describe('an environment that is open', () => {
  it('closes the address of a host that the policy of the organization closes, in every form', async () => {
    const set = 'update organizations set egress_policy = $2 where id = $1'
    const { organizationId } = hosts.test.tenant
    const open = { mode: 'open', hosts: [] }
    const forms = ['93.184.216.34', '93.184.216.34.', '1572395042', '0x5db8d822', '[2606:2800:220:1::1]']
    const script = [...forms, 'closed.example.org.', 'other.example.org'].map(form => fetchFrom(form, '-g')).join(';')
    await hosts.test.db.database.query(set, [organizationId, JSON.stringify({ neverHosts: ['closed.example.org'] })])
    try {
      const session = await hosts.session(open, script)
      const { output, events } = await hosts.ended(session)
      expect(output.match(/the policy of the organization closes/g)?.length).toBeGreaterThanOrEqual(5)
      expect(output.match(/reached .*/g)).toEqual(['reached other.example.org'])
      const refused = refusalsIn(events).map(({ host, reason }) => `${host} ${reason}`)
      expect(refused).toEqual(
        expect.arrayContaining([
          ...['93.184.216.34 never_host', '[2606:2800:220:1::1] never_host'],
          ...['closed.example.org. never_host'],
        ]),
      )
    } finally {
      await hosts.test.db.database.query(set, [organizationId, '{}'])
    }
    // Without such a policy, an address is as public as its name.
    const session = await hosts.session(open, fetchFrom('93.184.216.34'))
    expect((await hosts.ended(session)).output).toBe('reached 93.184.216.34\n')
  })

  it('names each host that somebody allows, and keeps the hosts of its document and of other proposals', async () => {
    const environment = await hosts.environments.make({ network: ask })
    const session = await hosts.sessionOf(environment.id, 'echo idle')
    await hosts.ended(session)
    const allow = async (host: string) =>
      (await hosts.api.put(`/v1/sessions/${session.id}/egress/hosts/${host}`, undefined)).body
    expect(await allow('first.example.org')).toMatchObject({ state: 'allowed' })
    const read = async () => (await hosts.environments.read(environment.id)).body.environment
    const { secrets: _, ...document } = (await read()).document
    await hosts.environments.put(environment.id, { ...document, network: { ...ask, mode: 'open' } }, 1)
    expect(await allow('second.example.org')).toEqual({ host: 'second.example.org', state: 'named' })
    const after = await read()
    expect(after.document.network).toEqual({ ...ask, mode: 'open' })
    const script = ['named', 'second', 'third'].map(name => fetchFrom(`${name}.example.org`)).join(';')
    const next = await hosts.sessionOf(environment.id, script)
    expect((await hosts.ended(next)).output.match(/reached/g)).toHaveLength(3)
    // Once it asks again, what was allowed while it did is allowed still.
    await hosts.environments.put(environment.id, { ...document, network: ask }, 2)
    const last = await hosts.sessionOf(environment.id, fetchFrom('named.example.org'))
    expect((await hosts.ended(last)).output).toBe('reached named.example.org\n')
    expect((await read()).proposedHosts.map(({ host }) => host)).toEqual(after.proposedHosts.map(({ host }) => host))
    expect(after.proposedHosts.map(({ host }) => host)).toEqual(['first.example.org'])
  })
})

describe('the egress of a Session', () => {
  it('belongs to its tenant', async () => {
    const session = await hosts.session(ask, fetchFrom('named.example.org'))
    await hosts.ended(session)
    expect((await hosts.egress(session)).hosts).toHaveLength(1)
    const { api: stranger } = await hosts.test.newTenant()
    expect((await stranger.get(`/v1/sessions/${session.id}/egress`)).status).toBe(404)
  })
})
