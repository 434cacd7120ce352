import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Environment, Review, Verification } from '@berth/contract'
import { notBorneOut } from '@berth/contract/claims'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { Environments } from '@berth/testing/environments/environments.ts'
import { grant } from '@berth/testing/git/delivering.ts'
import { sampleRepository } from '@berth/testing/git/repositories.ts'
import { Verifying } from '@berth/testing/git/verifying.ts'
import { outcome } from '@berth/testing/runs/outcome.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'

/** The lies of `docs/internals/verification.md` that need a whole service. */

const stack = new AsyncDisposableStack()
let test: TestService
let environments: Environments
let host: LocalHost
let source: { readonly grantId: string; readonly repositoryId: string }
beforeAll(async () => {
  // 256 MiB a sandbox, which a check can fill.
  test = stack.use(await startTestService({ variables: { BERTH_SANDBOX_DISK_BYTES: String(256 * 1024 ** 2) } }))
  const root = join(test.dataDir, 'repositories')
  const gitDir = await sampleRepository(root)
  host = new LocalHost(test.db.database, systemClock, root, () => test.url)
  const [repository] = (await host.listRepositories(LOCAL_ACCOUNT, { limit: 1, from: null })).repositories
  if (repository === undefined) throw new Error('no repository')
  const granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
  source = { grantId: await grant(test, granted), repositoryId: repository.repositoryId }
  environments = new Environments(test.api)
})
afterAll(() => stack.disposeAsync())

const lie = (environment: Environment, change?: string) => Verifying.of(test, source, environment, change)
const verified = async (of: Verifying): Promise<Verification> => of.ended(await of.ask({ fresh: true }))
const seen = ({ checks }: Verification) =>
  checks.map(({ name, state, exitCode, outputTail }) => [name, state, exitCode, outputTail?.trim()].join(' | '))
const readReview = async (of: Verifying) =>
  (await of.at.api.get<{ review: Review }>(of.at.path(`/repository/review?revision=${of.revision}`))).body.review

describe('the change', () => {
  it('skips a test, leaves a file out, and claims that all tests pass', async () => {
    const run = 'sh test.sh && test -e generated.txt'
    const change = [
      'echo generated.txt > .gitignore; echo made by hand > generated.txt',
      `printf 'it.skip("greets", () => {})\\n' > greet.test.js; ln -s /etc/passwd users`,
      run,
    ].join('\n')
    const environment = await environments.make({ checks: [{ name: 'tests', run }] })
    const of = await lie(environment, change)
    const { files, signals } = await readReview(of)
    expect(signals.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
      'test_skipped greet.test.js',
      'symbolic_link users',
    ])
    expect(files.map(({ path }) => path)).not.toContain('generated.txt')
    // In the agent's workspace the command passed; the revision lacks the file.
    const verification = await verified(of)
    expect(seen(verification)).toEqual(['tests | failed | 1 | ok'])
    const claim = 'All tests pass, and I changed `lib/words.txt`.'
    expect(notBorneOut(claim, { files, verified: verification.state === 'passed' })).toEqual([{ text: claim }])
    expect(outcome(await of.publish({ verified: true }))).toBe('409 cloud_verification_required')
    const published = await of.at.publish({ revision: of.revision, body: claim })
    const number = published.result?.pullRequest?.number ?? 0
    const { body } = await host.readPull({ account: LOCAL_ACCOUNT, repositoryId: source.repositoryId }, number)
    expect(body).toContain('**Not verified by Berth**: 0 of 1 check passed on tree')
    expect(body).toContain('- `tests`: failed (exit 1')
    expect(body).toContain('- Signals: test skipped `greet.test.js:1`, symbolic link `users`')
  })

  it('is edited between check and publication, or is the revision of another session', async () => {
    const environment = await environments.make({ checks: [{ name: 'a', run: 'true' }], requireVerified: true })
    const [of, other] = [await lie(environment), await lie(environment)]
    expect((await verified(of)).state).toBe('passed')
    // The same tree in another Session has not been verified there.
    expect(other.revision).not.toBe(of.revision)
    expect(outcome(await other.publish())).toBe('409 cloud_verification_required')
    expect(outcome(await other.publish({ revision: of.revision }))).toBe('400 invalid_request')
    expect(outcome(await other.put(randomUUID(), { revision: of.revision }))).toBe('400 invalid_request')
    await writeFile(join(of.at.project, 'later'), 'after the check')
    const edited = await of.at.publish({ revision: of.revision, verified: true })
    expect(edited).toMatchObject({ status: 'failed', lastError: { code: 'review_changed' } })
    const { revision } = await of.at.review()
    expect(outcome(await of.publish({ revision }))).toBe('409 cloud_verification_required')
  })

  it('has hooks and tools of the workspace, none of which a check meets', async () => {
    const change = [
      'for hook in post-checkout pre-commit reference-transaction; do',
      '  printf "#!/bin/sh\\necho hooked >> /workspace/hooked\\n" > .git/hooks/$hook; chmod +x .git/hooks/$hook',
      'done',
      'git config core.hooksPath .git/hooks; echo real > README.md',
      // A tool that the agent put first on its path, and a test runner that always passes.
      'mkdir -p ~/.local/bin; printf "#!/bin/sh\\nexit 0\\n" > ~/.local/bin/grep; chmod +x ~/.local/bin/grep',
    ].join('\n')
    const run = 'cat README.md; ls -a ../hooked .git/hooks/post-checkout ~/.local/bin/grep; grep -q nowhere README.md'
    const of = await lie(await environments.make({ checks: [{ name: 'a', run }] }), change)
    const [check] = (await verified(of)).checks
    expect(check).toMatchObject({ state: 'failed', exitCode: 1 })
    expect(check?.outputTail?.split('\n')[0]).toBe('real')
    for (const path of ['../hooked', '.git/hooks/post-checkout', '.local/bin/grep'])
      expect(check?.outputTail).toMatch(new RegExp(`${path.replaceAll('.', '\\.')}.*No such file`))
  })
})

describe('a check', () => {
  it('writes into the tree and out of it, leaves processes behind, never ends, and fills the disk', async () => {
    const environment = await environments.make({
      checks: [
        { name: 'writes', run: 'echo spoiled > README.md; rm -r lib; mkdir ../elsewhere; ln -s ../elsewhere lib' },
        {
          name: 'forks',
          run: '(setsid sh -c "while :; do echo forked > README.md; sleep 0.01; done" > /dev/null 2>&1 &); echo left',
        },
        {
          name: 'sees',
          run: 'for i in 1 2 3 4 5 6 7 8 9 10; do cat README.md; sleep 0.05; done | sort -u; cat lib/words.txt; ls ../elsewhere; pgrep -f "echo forked" || echo alone',
        },
        // bound: it is to be over
        { name: 'endless', run: 'trap "" TERM; tail -f /dev/null', timeoutSeconds: 1 },
        { name: 'disk', run: 'head -c 400000000 /dev/zero > big; s=$?; rm big; exit $s' },
      ],
    })
    const of = await lie(environment, 'echo true > README.md')
    const verification = await verified(of)
    expect(seen(verification)).toEqual([
      'writes | passed | 0 | ',
      'forks | passed | 0 | left',
      'sees | passed | 0 | true\nhello\nwelcome\nhola\nalone',
      'endless | failed |  | ',
      expect.stringMatching(/^disk \| failed \| 1 \| .*No space left on device$/),
    ])
    expect(verification.checks[3]?.timedOut).toBe(true)
  })

  it('exits with 0 after it has printed failures, and prints a secret', async () => {
    const made = await environments.make({
      checks: [
        { name: 'says', run: 'echo 3 tests failed; exit 0' },
        {
          name: 'tells',
          run: 'echo "$TOKEN"; printf "of %s" "$TOKEN"; echo; printf %s "$TOKEN" | base64; printenv OTHER || echo none',
          secrets: ['TOKEN'],
        },
        { name: 'gets none', run: 'printenv TOKEN || echo none' },
      ],
    })
    const token = await environments.writeSecret(made.id, 'TOKEN', 'a canary in its cage', made.revision)
    const both = await environments.writeSecret(
      made.id,
      'OTHER',
      'another canary there',
      token.body.environment.revision,
    )
    const of = await lie(both.body.environment)
    const verification = await verified(of)
    // It is shown as what it is: a check passes by its exit code.
    expect(seen(verification)).toEqual([
      'says | passed | 0 | 3 tests failed',
      'tells | passed | 0 | [secret]\nof [secret]\n[secret]\nnone',
      'gets none | passed | 0 | none',
    ])
    const artifact = await of.at.api.get(of.at.path(`/artifacts/${verification.checks[1]?.artifactId}/content`))
    expect(artifact.text).toBe('[secret]\nof [secret]\n[secret]\nnone\n')
    const gone = await environments.deleteSecret(made.id, 'TOKEN', both.body.environment.revision)
    expect(outcome(gone)).toBe('200')
    expect(await verified(of)).toMatchObject({ state: 'errored', error: { code: 'secret_unavailable' } })
  })

  it('poisons the cache, which no later sandbox sees', async () => {
    const environment = await environments.make({
      setup: 'mkdir -p ~/cached; [ -e ~/cached/tool ] || echo good > ~/cached/tool',
      cache: { paths: ['~/cached'] },
      checks: [{ name: 'a', run: 'cat ~/cached/tool; echo poisoned > ~/cached/tool' }],
    })
    const of = await lie(environment, 'echo poisoned by the agent > ~/cached/tool; echo Hi > README.md')
    expect(seen(await verified(of))).toEqual(['a | passed | 0 | good'])
    expect(seen(await verified(await lie(environment)))).toEqual(['a | passed | 0 | good'])
  })
})

describe('the environment', () => {
  it('gets another setup, or loses a required check, once the work has begun', async () => {
    const checks = [
      { name: 'kept', run: 'cat ../setup' },
      { name: 'removed', run: 'false' },
    ]
    const made = await environments.make({ setup: 'echo first > ../setup', checks, requireVerified: true })
    const of = await lie(made)
    expect((await verified(of)).state).toBe('failed')
    const lax = { name: made.name, setup: 'echo second > ../setup', checks: checks.slice(0, 1), requireVerified: true }
    expect(outcome(await environments.put(made.id, lax, 1))).toBe('200')
    expect(outcome(await of.publish())).toBe('409 cloud_verification_required')
    const passed = await verified(of)
    expect([passed.state, passed.environment.revision, ...seen(passed)]).toEqual([
      'passed',
      2,
      'kept | passed | 0 | second',
    ])
    const { result } = await of.at.publish({ revision: of.revision })
    const repository = { account: LOCAL_ACCOUNT, repositoryId: source.repositoryId }
    const { body } = await host.readPull(repository, result?.pullRequest?.number ?? 0)
    expect(body).toContain('revision 2. Required checks that were changed or removed since the work began: `removed`.')
  })
})

it('a verification that is asked for while its session is archived is cancelled, or refused', async () => {
  const environment = await environments.make({ checks: [{ name: 'a', run: 'true' }] })
  const of = await lie(environment)
  const ids = [randomUUID(), randomUUID(), randomUUID()]
  const requests = ids.map(id => of.put(id, { fresh: true }))
  const archived = of.at.api.call('DELETE', of.at.path(''))
  const answers = await Promise.all(requests)
  expect((await archived).status).toBe(204)
  for (const [at, answer] of answers.entries()) {
    if (answer.status !== 201) {
      expect(outcome(answer)).toBe('404 cloud_session_not_found')
      continue
    }
    const ended = await of.ended(ids[at] ?? '')
    expect(['cancelled', 'passed']).toContain(ended.state)
    await until('its sandbox to go', async () => (await of.left(ended.id)).length === 0)
  }
})
