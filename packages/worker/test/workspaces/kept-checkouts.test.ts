import { readdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { zstdDecompressSync } from 'node:zlib'
import type { Session } from '@berth/contract'
import { runGit } from '@berth/core/git/run-git.ts'
import { listShownTrees } from '@berth/core/sessions/leases/lease-image-sql.ts'
import { FileBlobs } from '@berth/platform/storage/blobs/file-blobs.ts'
import { announce, topics } from '@berth/platform/storage/postgres/wakeups.ts'
import { localRepository } from '@berth/testing/git/local-repository.ts'
import { commitTo, tipOf } from '@berth/testing/git/repositories.ts'
import { activitiesOf, endedRun, outcomeOf } from '@berth/testing/runs/ended-run.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { workerContext } from '@berth/testing/services/worker-context.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Worker } from '../../src/worker.ts'

let test: TestService
beforeAll(async () => {
  test = await startTestService()
})
afterAll(async () => {
  await test[Symbol.asyncDispose]()
})

let next = 0
async function repository() {
  const fullName = `o/r${next++}`
  const granted = await localRepository(test, fullName, { first: 'file' })
  return { ...granted, source: { grantId: granted.grantId, repositoryId: granted.repository.repositoryId } }
}

interface Outcome {
  readonly session: Session
  readonly outcome: string
  readonly output: string
  readonly tree: string | null
  readonly started: readonly object[]
}

async function run(source: object, script: string): Promise<Outcome> {
  const session = await test.api.createSession({ runtime: 'shell', source }, script)
  const ended = await endedRun(test.api, session, session.activeRunId ?? '', 60_000)
  await until('the end of sealing', async () => (await test.api.session(session.id)).phase === 'idle')
  const { rows } = await test.db.database.query<{ tree: string | null }>(
    'select tree from leases where session_id = $1 order by created_at desc limit 1',
    [session.id],
  )
  const output = String(activitiesOf(ended).at(-1)?.output)
  const started = ended.events.filter(({ type }) => type === 'svc.run.started').map(({ data }) => data)
  return { session, outcome: outcomeOf(ended), output, tree: rows[0]?.tree ?? null, started }
}

const trees = () => join(test.dataDir, 'images')
const project = (name: string) => join(trees(), name, 'workspace/project')
/** @returns a blob's content, unpacked */
const contentOf = async (blob: Readable) => {
  const content = await buffer(blob)
  return content.readUInt32LE() === ZSTD ? zstdDecompressSync(content).toString('latin1') : content.toString('latin1')
}
/** How zstd's frames begin. */
const ZSTD = 0xfd2fb528

/** Tells a project of a lower tree from one that was checked out into the sandbox. */
const asks = 'git config core.checkStat || echo whole; git status --short --branch'
const shown = 'minimal\n## main...origin/main\n'
const whole = 'whole\n## main...origin/main\n'

describe.runIf(process.getuid?.() === 0)('a session on a repository that this host keeps a checkout of', () => {
  it('starts from the tree, which its changes never reach, and its next sandbox has its work', async () => {
    const { source } = await repository()
    const first = await run(source, `${asks}; echo mine > first; rm greet.sh; git add -A; git commit -qm mine`)
    const second = await run(source, `${asks}; cat first`)
    expect([first.output, second.output]).toEqual([shown, `${shown}file`])
    expect(first.tree).not.toBe(null)
    expect(second.tree).toBe(first.tree)
    expect(second.started).toMatchObject([{ keptCheckout: true }])
    await test.db.database.query("update leases set expires_at = 'epoch' where session_id = $1 and ended_at is null", [
      first.session.id,
    ])
    const { run: later } = await test.api.submitTurn(
      first.session.id,
      'cat first; git status --short; git log --format=%s -1',
    )
    const ended = await endedRun(test.api, first.session, later.id, 60_000)
    expect(String(activitiesOf(ended).at(-1)?.output)).toBe('mine\nmine\n')
  })

  it('is sealed by what it has changed, and nothing of another session is in what it shares', async () => {
    const { source } = await repository()
    const blobsOf = async ({ session }: Outcome) => {
      const text = 'select blobs from checkpoints where session_id = $1'
      return (await test.db.database.query<{ blobs: string[] }>(text, [session.id])).rows[0]?.blobs ?? []
    }
    const blobs = await FileBlobs.open(join(test.dataDir, 'blobs'))
    const secret = 'only of the first'
    const first = await run(source, `echo '${secret}' > first; rm greet.sh`)
    const second = await run(source, 'echo second > second; cat first')
    const [ofFirst, ofSecond] = [new Set(await blobsOf(first)), new Set(await blobsOf(second))]
    const shared = ofFirst.intersection(ofSecond)
    expect(shared.size).toBeGreaterThan(0)
    const content = async (names: Iterable<string>) =>
      (await Promise.all([...names].map(async name => contentOf(await blobs.get(name))))).join('\n')
    expect(await content(ofFirst)).toContain(secret)
    expect(await content(shared)).not.toContain(secret)
    expect((await readdir(trees())).filter(name => name.startsWith('seal-of-'))).toContain(`seal-of-${first.tree}`)
    const { body } = await test.api.call<{ session: Session }>('POST', `/v1/sessions/${second.session.id}/forks`, {})
    const { run: later } = await test.api.submitTurn(body.session.id, 'cat first second; git status --short')
    const ended = await endedRun(test.api, body.session, later.id, 60_000)
    expect(String(activitiesOf(ended).at(-1)?.output)).toBe('filesecond\n?? second\n')
  })

  it('has one tree with one seal, also if two workers of a directory begin with it at once', async () => {
    const { source, gitDir } = await repository()
    const oid = await tipOf(gitDir, 'main')
    await using stack = new AsyncDisposableStack()
    await stack.use(new Worker(await workerContext(test, stack))).start()
    const outcomes = await Promise.all(Array.from({ length: 4 }, (_, n) => run(source, `${asks}; echo ${n} > own`)))
    expect(outcomes.map(({ output }) => output)).toEqual(Array(4).fill(shown))
    const [tree] = new Set(outcomes.map(outcome => outcome.tree))
    expect((await readdir(trees())).filter(name => name.endsWith(oid)).toSorted()).toEqual([tree, `seal-of-${tree}`])
  })

  it('has the names of its own branch, whichever branch the tree was made for', async () => {
    const { source, gitDir } = await repository()
    const tip = await tipOf(gitDir, 'main')
    await commitTo(gitDir, 'side', tip, {})
    const side = await tipOf(gitDir, 'side')
    const made = await run({ ...source, baseBranch: 'side' }, 'git status --short --branch')
    expect(made.output).toBe('## side...origin/side\n')
    await runGit(['update-ref', 'refs/heads/twin', side], { gitDir })
    const script = `git status --short --branch; git rev-parse HEAD origin/twin; git branch -a | xargs; git config branch.side.merge; git fsck 2>&1 | grep -v dangling; git reflog`
    const other = await run({ ...source, baseBranch: 'twin' }, script)
    expect(other.tree).toBe(made.tree)
    expect(other.output).toBe(`## twin...origin/twin\n${side}\n${side}\n* twin remotes/origin/twin\n`)
  })

  it('starts from the next commit as a layer, also after the branch was rewritten', async () => {
    const { source, gitDir } = await repository()
    const first = await run(source, 'true')
    await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { second: 'file', first: null })
    const second = await run(source, `${asks}; ls first 2>&1 | wc -l; cat second`)
    expect(second.output).toBe(`${shown}1\nfile`)
    expect(await readdir(project(second.tree ?? ''))).toEqual(['.git', 'first', 'second'])
    await commitTo(gitDir, 'main', `${await tipOf(gitDir, 'main')}~2`, { other: 'history' })
    const third = await run(source, `${asks}; ls -d first second 2>/dev/null; cat other`)
    expect(third.output).toBe(`${shown}history`)
    expect(new Set([first.tree, second.tree, third.tree]).size).toBe(3)
  })

  it('is checked out into its sandbox if the tree is damaged while others show it, or cannot be made', async () => {
    const { source, gitDir } = await repository()
    const first = await run(source, asks)
    await rename(join(project(first.tree ?? ''), '.git/index'), join(test.dataDir, 'index'))
    const second = await run(source, asks)
    expect([second.outcome, second.output, second.tree]).toEqual(['completed completed - 1', whole, null])
    await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { new: 'file' })
    // Nobody can write below a file.
    await rename(trees(), `${trees()}.away`)
    await writeFile(trees(), '')
    try {
      expect((await run(source, asks)).output).toBe(whole)
    } finally {
      await rm(trees())
      await rename(`${trees()}.away`, trees())
    }
    expect((await run(source, asks)).output).toBe(shown)
  })

  it('finds the tree of a pushed commit there already, made while nobody waited', async () => {
    const { source, gitDir } = await repository()
    await run(source, 'true')
    const oid = await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { second: 'file' })
    const made = async () => (await readdir(trees())).some(name => name.startsWith('checkout-') && name.endsWith(oid))
    expect(await made()).toBe(false)
    await announce(test.db.database, topics.heads)
    await until('the tree of the pushed commit', made)
    expect((await run(source, asks)).output).toBe(shown)
  })

  it('finds the tree that a schedule is about to name', async () => {
    const { source, gitDir } = await repository()
    await run(source, 'true')
    const oid = await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), { second: 'file' })
    const { db } = test
    await db.database.query({
      text: `
        insert into triggers (organization_id, id, installation_id, name, message, session, enabled, cron, time_zone, due_at,
          created_at, updated_at)
        select organization_id, gen_random_uuid(), owner_id, 'nightly', 'true', $1, true, '0 0 * * *', 'UTC',
          now() + interval '100 seconds', now(), now()
        from sessions where source ->> 'grantId' = $2 limit 1`,
      values: [JSON.stringify({ source }), source.grantId],
    })
    await db.database.query('update leases set ended_at = now(), state = $1, end_reason = $2 where ended_at is null', [
      'ended',
      'expired',
    ])
    await announce(db.database, topics.heads)
    await until('the tree', async () => (await readdir(trees())).some(name => name.endsWith(oid)))
  })

  it('holds the tree as long as any of 200 leases lives', async () => {
    const { source } = await repository()
    const { session, tree } = await run(source, 'true')
    const { database } = test.db
    await database.query({
      text: `
        with made as (
          insert into sessions (organization_id, id, owner_kind, owner_id, request_hash, title, created_at, updated_at)
          select organization_id, gen_random_uuid(), owner_kind, owner_id, '', 'copy', now(), now()
          from sessions, generate_series(1, 199) where id = $1 returning id)
        insert into leases select (jsonb_populate_record(l, jsonb_build_object('id', gen_random_uuid(), 'session_id', made.id))).*
        from leases l, made where l.session_id = $1 and l.ended_at is null`,
      values: [session.id],
    })
    const { rows } = await database.query<{ host: string }>('select host from leases where session_id = $1', [
      session.id,
    ])
    const held = async () =>
      (await listShownTrees(database, [rows[0]?.host ?? ''])).filter(name => name === tree).length
    const end = (which: string) =>
      database.query(
        `update leases set ended_at = now(), state = 'ended', end_reason = 'expired'
         where tree = $1 and ended_at is null and ${which} $2`,
        [tree, session.id],
      )
    expect(await held()).toBe(1)
    await end('session_id <>')
    expect(await held()).toBe(1)
    await end('session_id =')
    expect(await held()).toBe(0)
  })

  it('starts from the tree once its mirror was fetched again', async () => {
    const { source } = await repository()
    const first = await run(source, asks)
    for (const name of await readdir(join(test.dataDir, 'mirrors'))) {
      if (name.endsWith('.git')) await rm(join(test.dataDir, 'mirrors', name), { recursive: true })
    }
    const second = await run(source, `${asks}; git log --oneline | wc -l; git fsck --connectivity-only`)
    expect([second.tree, second.output]).toEqual([first.tree, `${shown}7\n`])
  })
})
