import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { GitHubWorkers } from '@berth/testing/environments/github-workers.ts'
import { tipOf } from '@berth/testing/git/repositories.ts'
import { until } from '@berth/testing/until.ts'
import { touch } from '@berth/testing/workspaces/workspace.ts'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'

let github: GitHubWorkers
beforeAll(async () => {
  github = await GitHubWorkers.start()
})
afterAll(() => github[Symbol.asyncDispose]())
afterEach(() => github.server.mend())

/** Looks for tokens, as they are and as git sends them; the pattern does not match its own text. */
const search = `grep -rqsE 'gh[s]_[0-9a-f]{32}|eC1hY2Nlc3MtdG9rZ[W]46' /workspace /home /tmp /run /etc /dev/shm \
  /proc/[0-9]*/environ /proc/[0-9]*/cmdline && echo found || echo nowhere`
const waits = 'until [ -e go ]; do sleep 0.1; done'
const attempt = 'git ls-remote'

const mintedFor = (...installations: string[]) =>
  github.server.minted.filter(({ installation }) => installations.includes(installation))

describe('git in a sandbox', () => {
  it('clones and pushes with a token that is in no file, no variable and no row', async () => {
    await using _worker = await github.work()
    const granted = await github.grant('acme/private', '100')
    const session = await github.begin(`
      git clone -q ${github.server.url}/acme/private.git && cd private || exit
      git -c user.name=a -c user.email=a@b commit -q --allow-empty -m made
      git push -q origin HEAD:refs/heads/made && git rev-parse HEAD
      env | grep -c ghs_; ${search}`)
    const output = await github.output(session)
    expect(output).toBe(`${await tipOf(granted.gitDir, 'made')}\n0\nnowhere\n`)
    // One for the apply, which tells that there are tokens, and one for the Run.
    const minted = mintedFor('100')
    expect(minted).toHaveLength(2)
    expect(github.server.minted.at(-1)).toMatchObject({
      repositories: [granted.id],
      permissions: { contents: 'write', pull_requests: 'write', metadata: 'read' },
    })
    // They end with the Run, the apply's as well.
    await until('the revocation', () => minted.every(({ token }) => github.server.revoked.includes(token)))
    // Nor in the host's journal, record and blobs of the sandbox, or in a row.
    for (const { token } of minted) {
      const kept = promisify(execFile)('grep', ['-rqsF', '--devices=skip', token, github.test.dataDir])
      await expect(kept).rejects.toMatchObject({ code: 1 })
      const { rows } = await github.test.db.database.query(
        `select 1 from events where envelope like '%' || $1 || '%'
         union all select 1 from session_secrets where session_id = $2
         union all select 1 from session_tokens where position(convert_to($1, 'UTF8') in sealed) > 0`,
        [token, session.id],
      )
      expect(rows).toEqual([])
    }
  })

  it('keeps its credentials beside what the home, a repository and the environment configure', async () => {
    await using _worker = await github.work()
    await github.grant('beside/one', '101')
    const output = await github.run(`
      git config --global credential.helper cache; git config --global user.name a; git init -q . 2>/dev/null
      GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=a.b GIT_CONFIG_VALUE_0=c ${attempt} ${github.server.url}/beside/one.git HEAD | wc -l`)
    expect(output).toBe('1\n')
  })
})

describe('a program that asks for a token', () => {
  it('gets it from berth-token and gh, and the log masks it', async () => {
    await using _worker = await github.work()
    await github.grant('ask/one', '110')
    const output = await github.run(`
      berth-token github ask
      mkdir bin; printf '#!/bin/sh\\necho "$GH_HOST \${#GH_ENTERPRISE_TOKEN} \${GH_TOKEN-none} $*"\\n' > bin/gh; chmod +x bin/gh
      gh --version; echo $?
      PATH=$PATH:$PWD/bin; gh pr list --repo ask/one; GH_TOKEN=mine gh api repos/ask/one; GH_REPO=ask/one gh issue list
      berth-token gitlab; echo $?`)
    const host = new URL(github.server.url).host
    expect(output.split('\n')).toEqual([
      '[secret]',
      'gh: not installed in this sandbox',
      '127',
      `${host} 40 none pr list --repo ask/one`,
      ' 0 mine api repos/ask/one',
      `${host} 40 none issue list`,
      'usage: berth-token github [OWNER]',
      '2',
      '',
    ])
  })

  it('is told to name an owner if several accounts are connected, and gets that account alone', async () => {
    await using _worker = await github.work()
    const { tenant, api } = await github.test.newTenant()
    const first = await github.grant('many-a/one', '120', tenant)
    await github.grant('many-b/one', '121', tenant)
    const script = `berth-token github; berth-token github other; berth-token github MANY-A; ${attempt} ${github.server.url}/many-b/one.git HEAD | wc -l`
    expect((await github.run(script, {}, api)).split('\n')).toEqual([
      'berth-git-credential: name an owner: several accounts are connected (many-a, many-b)',
      'berth-git-credential: no account of other is connected for this session; connected: many-a, many-b',
      '[secret]',
      '1',
      '',
    ])
    const minted = mintedFor('120', '121')
    expect(minted.map(({ installation }) => installation).slice(2)).toEqual(['120', '121'])
    expect(minted[2]?.repositories).toEqual([first.id])
  })

  it("is refused in a Session without the document's consent, and in one whose owner has no account", async () => {
    await using _worker = await github.work()
    await github.grant('refuse/one', '130')
    const closed = await github.run('berth-token github refuse', { github: false })
    expect(closed).toContain("this session's environment gives no tokens: set `github: true`")
    const { api } = await github.test.newTenant()
    const foreign = await github.run('berth-token github refuse', {}, api)
    expect(foreign).toContain('no account is connected for the owner of this session')
    expect(mintedFor('130')).toEqual([])
  })
})

describe('a Run at work', () => {
  it.each([
    [
      'its account is disconnected',
      '140',
      'update host_connections set revoked_at = now() where installation_id = $1',
      'no account is connected',
    ],
    [
      'its owner may not read repositories',
      '141',
      `update installations set capabilities = array_remove(capabilities, 'svc.cloud.repositories:read') where id = $1`,
      'may not read repositories',
    ],
    [
      'its account asks people for access of their own',
      '142',
      'update host_connections set personal = true where installation_id = $1',
      'no account is connected',
    ],
  ])('gets no token any more once %s', async (_, installation, statement, refusal) => {
    await using _worker = await github.work()
    const { tenant, api } = await github.test.newTenant()
    const { fullName } = await github.grant(`revoked-${installation}/one`, installation, tenant)
    const url = `${github.server.url}/${fullName}.git`
    const session = await github.begin(
      `${attempt} ${url} HEAD | wc -l; touch begun; ${waits}; ${attempt} ${url} HEAD`,
      {},
      api,
    )
    await github.begun(session)
    await github.test.db.database.query(statement, [tenant.installationId])
    await touch(github.test.db.database, github.test.dataDir, session, 'go')
    const output = await github.output(session, api)
    expect(output).toMatch(/^1\n/)
    expect(output).toContain(refusal)
  })

  it('gets another token if its own is near its end', async () => {
    const now = { shift: 0 }
    await using _worker = await github.work({ clock: { now: () => new Date(Date.now() + now.shift) } })
    await github.grant('old/one', '150')
    const url = `${github.server.url}/old/one.git`
    const session = await github.begin(
      `${attempt} ${url} HEAD; ${attempt} ${url} HEAD; touch begun; ${waits}; ${attempt} ${url} HEAD | wc -l`,
    )
    await github.begun(session)
    // One for the apply, one for the Run.
    expect(mintedFor('150')).toHaveLength(2)
    now.shift = 51 * 60_000
    await touch(github.test.db.database, github.test.dataDir, session, 'go')
    expect(await github.output(session)).toMatch(/1\n$/)
    expect(mintedFor('150')).toHaveLength(3)
  })

  it('is answered by the worker that takes over, with a token of its own', async () => {
    const first = await github.work()
    await github.grant('over/one', '160')
    const url = `${github.server.url}/over/one.git`
    const session = await github.begin(`${attempt} ${url} HEAD; touch begun; ${waits}; ${attempt} ${url} HEAD | wc -l`)
    await github.begun(session)
    await first[Symbol.asyncDispose]()
    // Programs of the Run may be at work with the tokens that they have.
    expect(github.server.revoked).not.toContain(mintedFor('160')[1]?.token)
    await using _second = await github.work()
    await touch(github.test.db.database, github.test.dataDir, session, 'go')
    expect(await github.output(session)).toMatch(/1\n$/)
    const [, , last] = mintedFor('160')
    await until('the revocation', () => github.server.revoked.includes(last?.token ?? ''))
    expect(mintedFor('160')).toHaveLength(3)
    expect(github.server.revoked).not.toContain(mintedFor('160')[1]?.token)
  })

  it('ends although the host never answers the revocation of its tokens', async () => {
    await using _worker = await github.work()
    await github.grant('stuck/one', '180')
    github.server.fail({ when: /^DELETE \/installation\/token$/, answer: 'never' })
    const session = await github.begin('berth-token github stuck')
    expect(await github.output(session)).toBe('[secret]\n')
    await until('a revocation', () => github.server.requests.includes('DELETE /installation/token'))
    await until('a sealed run', async () => (await github.api.session(session.id)).phase === 'idle')
    expect(github.server.revoked).not.toContain(mintedFor('180').at(-1)?.token)
  })

  it('is told at once that the host is silent', async () => {
    // bound: the host does not answer
    const impatient = await github.work({ mintMs: 200 })
    await github.grant('silent/one', '170')
    github.server.fail({ when: /installations\/170\/access_tokens/, answer: 'never' })
    expect(await github.run('berth-token github silent; echo $?')).toBe(
      'berth-git-credential: the Git host gave no token of silent in time; try again\n1\n',
    )
    await impatient[Symbol.asyncDispose]()
    // A host that answers gets the time for it, however busy the machine is.
    await using _patient = await github.work()
    github.server.mend()
    github.server.fail({ when: /installations\/170\/access_tokens/, answer: { status: 404 } })
    expect(await github.run('berth-token github silent')).toContain('the Git host refuses a token of silent')
  })
})
