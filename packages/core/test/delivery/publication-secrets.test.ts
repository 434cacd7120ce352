import { randomBytes } from 'node:crypto'
import { rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '@berth/platform/kit/clock.ts'
import { insidePaths } from '@berth/sandboxes/inside-paths.ts'
import { Delivering, grant } from '@berth/testing/git/delivering.ts'
import { fileAt, sampleRepository } from '@berth/testing/git/repositories.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runGit } from '../../src/git/run-git.ts'
import { LOCAL_ACCOUNT, LocalHost } from '../../src/git-hosts/local/local-host.ts'

const token = `token-${randomBytes(16).toString('hex')}`
const key = ['-----BEGIN KEY-----', randomBytes(30).toString('base64'), '"quoted"', '-----END KEY-----'].join('\n')
const short = 'seven77'
/** A line of the sample repository. */
const known = 'Greets whoever asks.'

let test: TestService
beforeAll(async () => {
  test = await startTestService({
    variables: { TOKEN: token, KEY: `${key}\n`, SHORT: short, KNOWN: known },
    config: {
      runtimes: [
        {
          id: 'with-secrets',
          command: [insidePaths.node, `${insidePaths.bundles}/shell.js`],
          env: { TOKEN: { env: 'TOKEN' }, KEY: { env: 'KEY' }, SHORT: { env: 'SHORT' }, KNOWN: { env: 'KNOWN' } },
        },
      ],
    },
  })
})
afterAll(() => test[Symbol.asyncDispose]())

let count = 0
/** Makes a Session on a new repository, with its sandbox attached. */
async function begin(runtime: string): Promise<Delivering & { gitDir: string }> {
  const root = join(test.dataDir, 'repositories')
  const fullName = `sample/secrets-${++count}`
  const gitDir = await sampleRepository(root, fullName)
  const host = new LocalHost(test.db.database, systemClock, root, () => test.url)
  const { repositories } = await host.listRepositories(LOCAL_ACCOUNT, { limit: 100, from: null })
  const repository = repositories.find(candidate => candidate.fullName === fullName)
  if (repository === undefined) throw new Error(`no ${fullName}`)
  const granted = { host: 'local', provider: 'local', account: LOCAL_ACCOUNT, repository, gitDir }
  const source = { grantId: await grant(test, granted), repositoryId: repository.repositoryId }
  const session = await test.api.createSession({ runtime, source }, 'true')
  return Object.assign(await Delivering.of(test, session), { gitDir })
}

const branchesOf = async (gitDir: string) =>
  (await runGit(['for-each-ref', '--format=%(refname:short)', 'refs/heads'], { gitDir })).stdout.toString()

describe('a publication that would tell a secret of its sandbox', () => {
  let at: Awaited<ReturnType<typeof begin>>
  beforeAll(async () => {
    at = await begin('with-secrets')
  })

  it.each<readonly [string, string, string | Buffer]>([
    ['in a text', 'config.env', `TOKEN=${token}\n`],
    ['in a binary file', 'blob.bin', Buffer.concat([Buffer.alloc(4096), Buffer.from(`\0${token}\0`)])],
    [
      'at the end of a long file of almost the same',
      'long.bin',
      Buffer.concat(
        Array.from({ length: 60_000 }, () => Buffer.from(`${token.slice(0, -1)}.`)).concat(Buffer.from(token)),
      ),
    ],
    ['as a key of several lines', 'id_key', `${key}\n`],
    ['as a JSON string', 'log.json', JSON.stringify({ line: JSON.stringify({ key }) })],
    ['in the name of a file', `${token}.txt`, 'nothing'],
  ])('is failed before anything is pushed, if it stands %s', async (_, name, content) => {
    await writeFile(join(at.project, name), content)
    const publication = await at.publish()
    expect(publication).toMatchObject({ status: 'failed', lastError: { code: 'secret_in_changes' } })
    expect(await branchesOf(at.gitDir)).toBe('main\nspanish\n')
    await rm(join(at.project, name))
  })

  it('is failed for the target of a link, a branch, a title and a body', async () => {
    await symlink(`/tmp/${token}`, join(at.project, 'link'))
    const codes = [(await at.publish()).lastError?.code]
    await rm(join(at.project, 'link'))
    await writeFile(join(at.project, 'harmless'), token.slice(1))
    const { revision } = await at.review()
    for (const body of [
      { branch: `fix/${token}` },
      { title: `Use ${token}` },
      { body: `It is\r\n${key.replaceAll('\n', '\r\n')}` },
    ])
      codes.push((await at.publish({ revision, ...body })).lastError?.code)
    expect(codes).toEqual(Array.from({ length: 4 }, () => 'secret_in_changes'))
    expect((await at.events()).at(-1)).toMatchObject({
      type: 'svc.publication.failed',
      data: { status: 'failed', errorCode: 'secret_in_changes' },
    })
    expect(await branchesOf(at.gitDir)).toBe('main\nspanish\n')
  })
})

it('a publication goes through with short values, parts of values, and what its base holds already', async () => {
  const at = await begin('with-secrets')
  await writeFile(join(at.project, 'harmless'), `${short} ${token.slice(1)} ${key.split('\n')[1]}`)
  await rename(join(at.project, 'README.md'), join(at.project, 'MOVED.md'))
  await rm(join(at.project, 'test.sh'))
  const publication = await at.publish({ title: `With ${short}` })
  expect(publication).toMatchObject({ status: 'succeeded' })
  expect(await fileAt(at.gitDir, publication.result?.commitSha ?? '', 'MOVED.md')).toContain(known)
})

it('secrets of other sessions are no obstacle, and tell nobody that they are secrets', async () => {
  const at = await begin('shell')
  await writeFile(join(at.project, token), `${token}\n${key}`)
  expect(await at.publish({ title: token, body: key })).toMatchObject({ status: 'succeeded' })
})
