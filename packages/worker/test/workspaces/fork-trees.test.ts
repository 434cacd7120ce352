import { readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Session } from '@berth/contract'
import { GitHubServer } from '@berth/testing/git/github-server.ts'
import { grantRepository } from '@berth/testing/git/grants.ts'
import { commitTo, sampleRepository, tipOf } from '@berth/testing/git/repositories.ts'
import { activitiesOf, endedRun } from '@berth/testing/runs/ended-run.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Tells everything of a project that a checkpoint keeps. */
const look = `find . -printf '%y %m %TY%Tm%Td%TH%TM %p %l\\n' | sort | sha256sum; find . -type f | sort | xargs -d '\\n' sha256sum | sha256sum`

// Only root shows trees below sandboxes.
describe.runIf(process.getuid?.() === 0)('a fork of a session on a repository', () => {
  let test: TestService
  let server: GitHubServer
  let source: object
  beforeAll(async () => {
    server = await GitHubServer.start()
    const gitHosts = [{ kind: 'github', baseUrl: server.url, appId: server.appId, privateKey: server.privateKey }]
    test = await startTestService({ config: { gitHosts } })
    const gitDir = await sampleRepository(join(test.dataDir, 'served'), 'o/r')
    const more = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`more-${n}`, `${n}`]))
    await commitTo(gitDir, 'main', await tipOf(gitDir, 'main'), more)
    const served = server.addRepository({ id: 1, fullName: 'o/r', gitDir, installations: ['1'] })
    const account = {
      ...{ host: `github:${new URL(server.url).host}`, provider: 'github', account: '1', accountLogin: 'o' },
    }
    const named = { repositoryId: '1', fullName: served.fullName }
    const grant = await grantRepository(test.db.database, test.tenant, account, named)
    source = { grantId: grant.id, repositoryId: '1' }
  })
  afterAll(async () => {
    await test[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  /** @returns the output of the script of a Run whose work is sealed */
  const ended = async (session: Session, runId = session.activeRunId ?? '') => {
    const run = await endedRun(test.api, session, runId, 60_000)
    await until('the end of sealing', async () => (await test.api.session(session.id)).phase === 'idle')
    return String(activitiesOf(run).at(-1)?.output)
  }
  const next = async (session: Session, script: string) =>
    ended(session, (await test.api.submitTurn(session.id, script)).run.id)
  const fork = async ({ id }: Session) =>
    (await test.api.call<{ session: Session }>('POST', `/v1/sessions/${id}/forks`, {})).body.session
  const treeOf = async ({ id }: Session) => {
    const text = 'select tree from leases where session_id = $1 order by created_at desc limit 1'
    const { rows } = await test.db.database.query<{ tree: string | null }>(text, [id])
    return rows[0]?.tree ?? null
  }

  it('finds all of it in layers over the checkout, ten at once, and as a fork of forks', async () => {
    const change = `
      printf x > same; touch -d @1600000000 same; mkdir -m 700 closed; mkdir empty; ln -s same link
      printf odd > $'odd \\xff name'; git rm -q test.sh; git -c user.name=a -c user.email=a@b commit -qm gone; rm -rf words`
    let session = await test.api.createSession({ runtime: 'shell', source }, `${change}; ${look}`)
    let before = await ended(session)
    expect(await treeOf(session)).toMatch(/^checkout-/)
    for (const generation of [1, 2, 3]) {
      session = await fork(session)
      expect(await next(session, look)).toBe(before)
      before = await next(
        session,
        `echo ${generation} > generation; printf y > same; touch -d @1600000000 same; ${look}`,
      )
    }
    const kept = await treeOf(session)
    expect(kept).toMatch(/^checkpoint-/)
    expect(await readdir(join(test.dataDir, 'images', kept ?? ''))).toContain('base')
    const forks = await Promise.all(Array.from({ length: 10 }, () => fork(session)))
    for (const output of await Promise.all(forks.map(one => next(one, `${look}; git status --short`)))) {
      expect(output.startsWith(before)).toBe(true)
    }
    expect(new Set(await Promise.all(forks.map(treeOf))).size).toBe(1)
  })

  it('is unpacked into its sandbox where the host can keep no tree', async () => {
    const session = await test.api.createSession({ runtime: 'shell', source }, `echo x > own; ${look}`)
    const before = await ended(session)
    await rm(join(test.dataDir, 'images'), { recursive: true })
    await writeFile(join(test.dataDir, 'images'), '')
    expect(await next(await fork(session), look)).toBe(before)
  })
})
