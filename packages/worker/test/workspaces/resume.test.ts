import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import { workspaceLimits } from '@berth/core/checkpoints/limits.ts'
import { losePodHost } from '@berth/core/hosts/pod-host-sql.ts'
import { announceHost } from '@berth/core/runtimes/runtime-hosts.ts'
import { type Blobs, BlobsUnavailable } from '@berth/platform/storage/blobs/blobs.ts'
import { Api } from '@berth/testing/api/api.ts'
import { claimQueued } from '@berth/testing/runs/claim-queued.ts'
import { activitiesOf, messagesOf, outcomeOf, startsOf, typesOf } from '@berth/testing/runs/ended-run.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { WorkerStandIn } from '@berth/testing/runs/states.ts'
import { startTestService, variablesAlongside } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { brokenDriver, damages, Gate, Resuming } from '@berth/testing/workspaces/resuming.ts'
import { signalSandbox } from '@berth/testing/workspaces/sandbox-processes.ts'
import { leaseOf, touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { adoptLapsed } from '../../src/claim/claim-sql.ts'

let bench: Resuming
let stack: AsyncDisposableStack
beforeAll(async () => {
  bench = await Resuming.open()
})
afterAll(() => bench[Symbol.asyncDispose]())
beforeEach(() => {
  stack = new AsyncDisposableStack()
})
afterEach(() => stack.disposeAsync())

const random = 'head -c 2000 /dev/urandom | base64 > random'
const leaseId = (session: Session) => leaseOf(bench.test.db.database, session)
const go = (session: Session, name: string) => touch(bench.test.db.database, bench.test.dataDir, session, name)
const killSandbox = async (session: Session) => signalSandbox(bench.test.dataDir, await leaseId(session), 'SIGKILL')
const phase = (session: Session, wanted: string) =>
  until(wanted, async () => (await bench.api.session(session.id)).phase === wanted)
const outputOf = (run: Parameters<typeof activitiesOf>[0]) => activitiesOf(run).map(activity => activity['output'])
const restorable = (runId: string, fidelity = 'exact') => ({
  canContinue: true,
  state: 'restorable',
  conversation: { fidelity },
  workspace: { fidelity: 'portable_tree' },
  sealedByRunId: runId,
})
const unavailable = (reason: string) => ({
  canContinue: false,
  state: 'unavailable',
  conversation: { fidelity: 'none' },
  workspace: { fidelity: 'none' },
  reason,
})

describe('a session whose lease has ended', () => {
  it('continues in a fresh sandbox with its files, modes, links and git state, and says so', async () => {
    // bound: it is to be over; a lease with a Run does not end
    await bench.work(stack, { limits: { leaseIdleMs: 300 } })
    const { session, run } = await bench.sealed(
      'shell',
      [
        'set -e; git init -q .; git config user.email a@example.com; git config user.name A',
        "mkdir -p src/deep empty $'new\\nline'; echo one > src/deep/file; ln -s src/deep/file link; ln -s /nowhere dangling",
        'git add src; git commit -qm first; git switch -qc topic; echo two > src/deep/file; git add src',
        'echo three >> src/deep/file; echo new > untracked; printf "#!/bin/sh\\n" > run; chmod 750 run; git rev-parse HEAD > head',
      ].join('\n'),
    )
    expect(outcomeOf({ session, run, events: [] })).toBe('completed completed - 1')
    const first = await leaseId(session)
    expect((await bench.expired(session)).continuation).toEqual(restorable(run.id))
    const inspection = [
      "cat src/deep/file; readlink link dangling; stat -c '%a %n' run empty; ls -d $'new\\nline' | wc -l",
      'git log --format=%s; git branch --show-current; git status --porcelain',
      '[ "$(cat head)" = "$(git rev-parse HEAD)" ] && git fsck --no-progress && echo sound',
    ].join('\n')
    const next = await bench.next(session, inspection)
    expect(outputOf(next)).toEqual([
      [
        'two\nthree\nsrc/deep/file\n/nowhere\n750 run\n755 empty\n2',
        'first\ntopic\nMM src/deep/file\n?? head\n?? link\n?? run\n?? untracked\nsound\n',
      ]
        .join('\n')
        .replace('?? head\n?? link', '?? dangling\n?? head\n?? link'),
    ])
    expect(outcomeOf(next)).toBe('completed completed - 1')
    expect(await leaseId(session)).not.toBe(first)
    const restores = (await bench.api.events(session.id)).filter(event => event.data['name'] === 'restore')
    expect(restores).toMatchObject([
      { type: 'svc.activity.completed', visibility: 'transcript', subject: { sessionId: session.id } },
    ])
    expect(restores[0]?.data['title']).toContain(run.id)
    expect(restores[0]?.subject.runId).toBeUndefined()
  })

  it('continues from its newest run by the number of turns, whatever the clocks said', async () => {
    await bench.work(stack)
    const { session } = await bench.sealed('shell', 'echo one > file')
    const { run } = await bench.next(session, 'echo two > file')
    // As if a clock had run an hour ahead and been corrected since.
    for (const set of [
      `update runs set queued_at = queued_at + interval '1 hour' where session_id = $1 and id <> '${run.id}'`,
      "update checkpoints set sealed_at = sealed_at + interval '1 hour' where session_id = $1",
      "update leases set created_at = created_at + interval '1 hour' where session_id = $1",
    ])
      await bench.test.db.database.query(set, [session.id])
    expect((await bench.expire(session)).continuation).toEqual(restorable(run.id))
    const next = await bench.next(session, 'cat file')
    expect(outputOf(next)).toEqual(['two\n'])
    expect((await bench.api.session(session.id)).workspace.state).toBe('attached')
    expect((await bench.expire(session)).continuation).toEqual(restorable(next.run.id))
  })

  it.each([
    ['remembering', 'exact', ['loaded: harbour quay']],
    // This agent could load its conversation, but none was kept: it gets a recap.
    ['scripted', 'result_only', null],
    ['no-load', 'result_only', null],
  ])('and whose agent is %s has a conversation that is %s', async (runtime, fidelity, recalled) => {
    await bench.work(stack)
    const { session } = await bench.sealed(runtime, 'say one\nremember harbour')
    const { run } = await bench.next(session, 'say two\nremember quay')
    expect((await bench.expire(session)).continuation).toEqual(restorable(run.id, fidelity))
    const next = await bench.next(session, recalled === null ? 'say three' : 'recall')
    expect(next.run.status).toBe('completed')
    const texts = messagesOf(next).map(message => String(message['text']))
    if (recalled !== null) {
      expect(texts).toEqual(recalled)
      return
    }
    // This agent executes its prompt line by line and echoes every line that it does not understand.
    const recap = texts.join('\n')
    expect(recap).toMatch(/Earlier in this conversation.*user: say one.*assistant: one.*assistant: two.*three/s)
    expect(recap).not.toContain('user: say three')
    // The recap comes once: the same process continues.
    expect(messagesOf(await bench.next(session, 'say four'))).toMatchObject([{ text: 'four' }])
  })

  it('because its sandbox was killed while idle is restorable', async () => {
    await bench.work(stack)
    const { session, run } = await bench.sealed('shell', 'echo kept > note')
    expect((await bench.api.session(session.id)).continuation.state).toBe('live')
    await killSandbox(session)
    expect((await bench.expired(session)).continuation).toEqual(restorable(run.id))
    expect(outputOf(await bench.next(session, 'cat note'))).toEqual(['kept\n'])
  })

  it('continues from its newest run; two checkpoints are kept, and no reference to an older one', async () => {
    await bench.work(stack)
    const first = await bench.sealed('shell', `${random}; echo 1 > turn`)
    const { session } = first
    const second = await bench.next(session, `${random}; echo 2 > turn`)
    expect(await bench.checkpoints(session)).toEqual([first.run.id, second.run.id])
    const third = await bench.next(session, `${random}; echo 3 > turn`)
    expect(await bench.checkpoints(session)).toEqual([second.run.id, third.run.id])
    expect(await bench.blobFiles(session, first.run.id)).toEqual([])
    expect(await bench.blobFiles(session, third.run.id)).not.toEqual([])
    await bench.expire(session)
    expect(outputOf(await bench.next(session, 'cat turn'))).toEqual(['3\n'])
  })

  it('seals a restored workspace again with its changes', async () => {
    await bench.work(stack)
    const { session } = await bench.sealed('shell', 'echo 1 > one; echo 1 > both; touch -d 2001-01-01 both')
    await bench.expire(session)
    // Same size and time as before: only the content differs.
    const { run } = await bench.next(session, 'echo 2 > two; echo 2 > both; touch -d 2001-01-01 both; rm -f gone')
    expect((await bench.expire(session)).continuation).toEqual(restorable(run.id))
    expect(outputOf(await bench.next(session, 'cat one two both'))).toEqual(['1\n2\n2\n'])
  })
})

describe('a sandbox that is lost in a later turn', () => {
  const lose = async (session: Session, runId: string) => {
    await phase(session, 'running')
    await killSandbox(session)
    return until('an answer to the loss', async () => {
      const run = await bench.api.run(session.id, runId)
      return (run.attempts === 2 || run.endedAt !== undefined) && run
    })
  }

  it('before a tool call costs an attempt: the run starts again from the seal before it', async () => {
    await bench.work(stack)
    const session = await bench.api.createSession({ runtime: 'scripted' }, 'wait /workspace/kept')
    await phase(session, 'running')
    await go(session, 'kept')
    await bench.settled(session)
    const { run } = await bench.api.submitTurn(session.id, 'wait /workspace/kept\nwait /workspace/go')
    await lose(session, run.id)
    await until('another sandbox', async () => {
      const now = await bench.api.session(session.id)
      return now.phase === 'running' && now.workspace.state === 'attached'
    })
    await go(session, 'go')
    const ended = await bench.settled(session, run.id)
    expect(outcomeOf(ended)).toBe('completed completed - 2')
    expect(startsOf(ended).map(start => start['attempt'])).toEqual([1, 2])
    expect(await bench.checkpoints(session)).toEqual([session.activeRunId, run.id])
  })

  it('after a tool call ends the run as crashed, and the session continues from the previous run', async () => {
    await bench.work(stack)
    const { session, run: first } = await bench.sealed('shell', 'echo kept > note')
    const { run } = await bench.api.submitTurn(session.id, 'echo lost > note; sleep 600')
    await until('a tool call', async () =>
      (await bench.api.events(session.id)).some(
        event => event.type === 'svc.run.progress' && event.subject.runId === run.id,
      ),
    )
    await lose(session, run.id)
    expect(outcomeOf(await bench.ended(session, run.id))).toBe('crashed engine_unreachable turn_execution_lost 1')
    expect(await bench.api.session(session.id)).toMatchObject({
      workspace: { state: 'expired' },
      continuation: restorable(first.id),
    })
    expect(outputOf(await bench.next(session, 'cat note'))).toEqual(['kept\n'])
  })

  it('and whose run is cancelled before it restarts leaves the session with the previous seal', async () => {
    const gate = new Gate()
    await bench.work(stack, {
      driver: brokenDriver(real => ({
        create: async spec => {
          await gate.pass()
          await real.create(spec)
        },
      })),
    })
    stack.defer(() => gate.open())
    const { session, run: first } = await bench.sealed('scripted', 'say one')
    const { run } = await bench.api.submitTurn(session.id, 'hang')
    await phase(session, 'running')
    gate.shut()
    await killSandbox(session)
    await until('an attempt to make another sandbox', () => gate.waiting === 1)
    await bench.api.call('POST', `/v1/sessions/${session.id}/runs/${run.id}/cancel`)
    gate.open()
    expect(outcomeOf(await bench.settled(session, run.id))).toMatch(/^cancelled aborted - 2$/)
    const { continuation } = await bench.expire(session)
    expect(continuation).toEqual(restorable(first.id, 'result_only'))
  })
})

describe('a run that is being sealed', () => {
  /** Makes a Session whose Run has ended and whose sealing waits at the gate. */
  async function finalizing(): Promise<{ gate: Gate; session: Session }> {
    const gate = new Gate()
    const { database } = bench.test.db
    const sealing = async () => (await database.query("select 1 from executions where task = 'seal'")).rows.length > 0
    await bench.work(stack, {
      driver: brokenDriver(real => ({
        run: async (id, program) => {
          // Earlier commits store presented files.
          if (await sealing()) await gate.pass()
          return real.run(id, program)
        },
      })),
    })
    stack.defer(() => gate.open())
    gate.shut()
    const session = await bench.api.createSession({ runtime: 'shell' }, 'echo kept > note')
    await bench.ended(session)
    await until('a seal', () => gate.waiting > 0)
    return { gate, session }
  }

  it('lets its session take a turn, which waits for the seal', async () => {
    const { gate, session } = await finalizing()
    const sealing = await bench.api.session(session.id)
    expect(sealing).toMatchObject({ phase: 'finalizing', continuation: { state: 'live' } })
    expect(sealing.activeRunId).toBeUndefined()
    const { run } = await bench.api.submitTurn(session.id, 'cat note')
    expect(run.status).toBe('queued')
    expect(await bench.api.session(session.id)).toMatchObject({ phase: 'finalizing', activeRunId: run.id })
    expect(await bench.checkpoints(session)).toEqual([])
    gate.open()
    const next = await bench.settled(session, run.id)
    expect(outputOf(next)).toEqual(['kept\n'])
    expect(await bench.checkpoints(session)).toEqual([session.activeRunId, run.id])
  })

  it('is left unsealed if every try fails: the session is free, and reports the loss once the sandbox is gone', async () => {
    const blobs = (real: Blobs): Blobs =>
      new Proxy(real, {
        get(target, name: keyof Blobs) {
          if (name !== 'put') return target[name].bind(target)
          return async () => {
            throw new BlobsUnavailable(new Error('down for good'))
          }
        },
      })
    await bench.work(stack, { blobs })
    const { session, run } = await bench.sealed('shell', 'echo kept > note')
    expect(run.status).toBe('completed')
    expect(await bench.checkpoints(session)).toEqual([])
    expect((await bench.api.session(session.id)).continuation.state).toBe('live')
    expect((await bench.expire(session)).continuation).toEqual(unavailable('checkpoint_missing'))
  })

  it('lets its session be archived and is then not sealed', async () => {
    const { gate, session } = await finalizing()
    expect((await bench.api.call('DELETE', `/v1/sessions/${session.id}`)).status).toBe(204)
    const lease = await leaseId(session)
    gate.open()
    await until('the end of the sandbox', async () => {
      return !(await readdir(join(bench.test.dataDir, 'leases'))).includes(lease)
    })
    await stack.disposeAsync()
    stack = new AsyncDisposableStack()
    expect(await bench.checkpoints(session)).toEqual([])
    expect(await bench.api.session(session.id)).toMatchObject({
      phase: 'idle',
      continuation: unavailable('session_archived'),
    })
  })

  it('is sealed by another worker if the first one stops', async () => {
    const { gate, session } = await finalizing()
    // The worker releases its claims at once; the work that hangs at the gate then finds its claim gone.
    const stopping = stack.disposeAsync()
    gate.open()
    await stopping
    stack = new AsyncDisposableStack()
    await bench.work(stack)
    await phase(session, 'idle')
    expect(await bench.checkpoints(session)).toEqual([session.activeRunId])
  })
})

describe('a checkpoint', () => {
  it.each(['removed', 'altered', 'cut'] as const)(
    'of which a blob is %s is refused whole and never offered again',
    async how => {
      await bench.work(stack)
      const { session, run: sealed } = await bench.sealed('shell', `${random}; echo kept > note`)
      await bench.expire(session)
      const files = await bench.blobFiles(session, sealed.id)
      for (const path of files) await damages[how](path)
      const { run } = await bench.api.submitTurn(session.id, 'ls')
      const ended = await bench.settled(session, run.id)
      expect(outcomeOf(ended)).toBe('failed error resume_unavailable 1')
      expect(typesOf(ended)).toEqual(['run.failed'])
      const now = await bench.api.session(session.id)
      expect(now).toMatchObject({ workspace: { state: 'expired' }, continuation: unavailable('checkpoint_missing') })
      const refused = await bench.api.put(`/v1/sessions/${session.id}/turns/${crypto.randomUUID()}`, { message: 'ls' })
      expect(outcome(refused)).toBe('409 cloud_resume_unavailable')
      // The failed restore leaves no sandbox.
      const lease = await leaseId(session)
      await until('the end of the sandbox', async () => {
        return !(await readdir(join(bench.test.dataDir, 'leases'))).includes(lease)
      })
    },
  )

  it('that cannot be read at the moment is kept for later', async () => {
    let away = false
    const blobs = (real: Blobs): Blobs =>
      new Proxy(real, {
        get(target, name: keyof Blobs) {
          if (name !== 'get') return target[name].bind(target)
          return async (sha256: string) => {
            if (away) throw new BlobsUnavailable(new Error('away'))
            return target.get(sha256)
          }
        },
      })
    await bench.work(stack, { blobs, limits: { maxAttempts: 1 } })
    const { session, run: sealed } = await bench.sealed('shell', 'echo kept > note')
    await bench.expire(session)
    away = true
    const { run } = await bench.api.submitTurn(session.id, 'cat note')
    expect(outcomeOf(await bench.settled(session, run.id))).toBe('crashed engine_unreachable turn_execution_lost 1')
    expect((await bench.api.session(session.id)).continuation).toEqual(restorable(sealed.id))
    away = false
    expect(outputOf(await bench.next(session, 'cat note'))).toEqual(['kept\n'])
  })

  it('whose runtime has left the catalog is incompatible', async () => {
    await bench.work(stack)
    const { session } = await bench.sealed('scripted', 'say one')
    await bench.expire(session)
    await using without = await startTestService({
      variables: { BERTH_ROLES: 'api', ...variablesAlongside(bench.test) },
    })
    const api = new Api(without.url, bench.test.tenant.apiKey)
    expect((await api.session(session.id)).continuation).toEqual(unavailable('checkpoint_incompatible'))
    expect((await bench.api.session(session.id)).continuation.state).toBe('restorable')
  })

  it('of too many files is left out, and the report gives the number of files', async () => {
    await bench.work(stack, { checkpointLimits: { workspace: { ...workspaceLimits, files: 3 } } })
    const { session } = await bench.sealed('shell', 'mkdir d && echo a > d/a && echo b > d/b && echo c > d/c')
    const restores = (await bench.api.events(session.id)).at(-1)
    expect(restores).toMatchObject({
      type: 'svc.artifact.omitted',
      data: { count: 4, reason: 'over the cap of 3 files, directories and links' },
    })
    expect(restores?.data['sizeBytes']).toBeLessThanOrEqual(6)
  })

  it('over its cap is left out, and the session continues while its sandbox lives', async () => {
    await bench.work(stack, { checkpointLimits: { workspace: { ...workspaceLimits, storedBytes: 1000 } } })
    const { session, run } = await bench.sealed('shell', random)
    const restores = (await bench.api.events(session.id)).at(-1)
    expect(restores).toMatchObject({
      type: 'svc.artifact.omitted',
      data: { kind: 'workspace_checkpoint', name: 'workspace_checkpoint', reason: expect.stringContaining('stored') },
    })
    expect(restores?.subject.runId).toBeUndefined()
    expect(Number(restores?.data['sizeBytes'])).toBeGreaterThan(1000)
    expect(run.status).toBe('completed')
    expect((await bench.next(session, 'test -e random')).run.status).toBe('completed')
    expect((await bench.expire(session)).continuation).toEqual(unavailable('checkpoint_missing'))
  })
})

describe('a host that is gone', () => {
  const gone = 'a host that is gone'
  const heard = async (host: string, at: string, since: string) => {
    await bench.test.db.database.query(
      `insert into hosts (id, runtimes, seen_at, heard_at, heard_since)
       values ($1, '{}', now(), now() - $2::interval, now() - $3::interval)
       on conflict (id) do update set heard_at = excluded.heard_at, heard_since = excluded.heard_since`,
      [host, at, since],
    )
  }
  const move = (session: Session) =>
    bench.test.db.database.query('update leases set host = $2 where session_id = $1 and ended_at is null', [
      session.id,
      gone,
    ])
  const adoptable = async (host: string) => {
    const by = { holder: 'a', hosts: [host], now: new Date() }
    // Rolled back: only the existence of a candidate matters.
    const { promise, resolve } = Promise.withResolvers<number>()
    await bench.test.db.database
      .transaction(async tx => {
        resolve((await adoptLapsed(tx, by, 10)).length)
        throw new Error('not to be kept')
      })
      .catch(() => undefined)
    return promise
  }

  it('loses its runs to the others once it has been silent for long while they were not', async () => {
    const session = await bench.api.createSession({ runtime: 'shell' }, 'echo done')
    const by = { holder: gone, hosts: [gone], now: new Date() }
    expect(await claimQueued(bench.test.db.database, by, 10)).toHaveLength(1)
    await bench.test.db.database.query("update executions set expires_at = 'epoch' where session_id = $1", [session.id])
    const standIn = new WorkerStandIn(bench.test.db.database)
    await standIn.attach(session)
    await move(session)
    await standIn.start(session, session.activeRunId ?? '')
    for (const [at, since, requestedAt, requestedSince] of [
      ['4 minutes', '1 day', '0', '1 day'],
      ['1 hour', '1 day', '0', '4 minutes'],
      ['1 hour', '1 day', '2 minutes', '1 day'],
    ] as const) {
      await heard(gone, at, since)
      await heard('here', requestedAt, requestedSince)
      expect(await adoptable('here')).toBe(0)
    }
    await heard('here', '0', '6 minutes')
    expect(await adoptable('here')).toBe(1)
    // The cluster says that its pod is gone: nobody has to have waited.
    await heard(gone, '2 minutes', '1 day')
    await heard('here', '0', '1 minute')
    expect(await adoptable('here')).toBe(0)
    await bench.test.db.database.query("update hosts set provisioner = 'pods' where id = $1", [gone])
    await losePodHost(bench.test.db.database, gone, 'pods')
    expect(await adoptable('here')).toBe(1)
    const { host } = await bench.work(stack)
    await heard(host, '0', '6 minutes')
    expect(outcomeOf(await bench.ended(session))).toBe('completed completed - 2')
  })

  it('loses its sandboxes, and their sessions continue from their seals', async () => {
    const { host } = await bench.work(stack)
    await heard(host, '0', '1 day')
    await heard(gone, '0', '1 day')
    const { session, run } = await bench.sealed('shell', 'echo kept > note')
    await move(session)
    await heard(gone, '6 minutes', '1 day')
    expect((await bench.expired(session)).continuation).toEqual(restorable(run.id))
    expect(outputOf(await bench.next(session, 'cat note'))).toEqual(['kept\n'])
  })

  it('is seen without a gap as long as it announces itself', async () => {
    const { db, clock, host } = await bench.work(stack)
    await heard(host, '30 seconds', '1 hour')
    const since = async () => {
      await announceHost(
        db,
        { id: host, driver: 'bubblewrap', runtimes: [], patienceMs: 300_000, packagesFault: null },
        clock.now(),
      )
      const { rows } = await db.query<{ heard: boolean; long: boolean }>({
        text: "select heard_at > now() - interval '10 seconds' as heard, heard_since < now() - interval '10 minutes' as long from hosts where id = $1",
        values: [host],
      })
      return rows
    }
    expect(await since()).toEqual([{ heard: true, long: true }])
    await heard(host, '2 minutes', '1 hour')
    expect(await since()).toEqual([{ heard: true, long: false }])
  })
})
