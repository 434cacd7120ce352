import { execFileSync } from 'node:child_process'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BerthClient } from '@berth/client'
import { afterAll, expect, test } from 'vitest'
import { readNamed, type VerifyOptions, verifyNamed } from '../src/commands/verify-statement.ts'
import type { CommandIo } from '../src/io.ts'

const cwd = mkdtempSync(join(tmpdir(), 'berth-verify-'))
const before = process.cwd()
process.chdir(cwd)
afterAll(() => {
  process.chdir(before)
  rmSync(cwd, { recursive: true })
})

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=R', '-c', 'user.email=r@example.com', ...args], { encoding: 'utf8' }).trim()
git('init', '-q')
git('commit', '-q', '--allow-empty', '-m', 'First')
const [commit, tree] = [git('rev-parse', 'HEAD'), git('rev-parse', 'HEAD^{tree}')]
git('commit', '-q', '--allow-empty', '-m', 'Second')

const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const { x = '' } = publicKey.export({ format: 'jwk' })
const kid = createHash('sha256')
  .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
  .digest('base64url')
const keySet = { keys: [{ kty: 'OKP', crv: 'Ed25519', x, kid, nbf: 0, exp: 2_000_000_000 }] }
writeFileSync('keys.json', JSON.stringify(keySet))

const predicate = {
  signedAt: '2026-01-02T00:00:00.000Z',
  session: { id: 's-1' },
  publication: { id: 'p', revision: 'r', requestedBy: { kind: 'person', id: 'ada' } },
  runs: [{ id: 'run', requestedBy: { kind: 'app_installation', id: 'ci' }, status: 'completed' }],
  runtimes: [{ id: 'native', version: '1.0.0' }],
  models: [{ provider: 'anthropic', model: 'm\u001b[2J', requests: 3, costUsd: 0.75, costShare: 0.754 }],
  cost: { usd: 1, complete: false },
  environment: { id: 'e', revision: 4, digest: { sha256: 'd' } },
  verification: {
    id: 'v',
    checks: [
      { name: 'tests', required: true, state: 'passed', exitCode: 0, durationMs: 41_000 },
      { name: 'docs', required: true, state: 'skipped' },
      { name: 'lint', required: false, state: 'failed', exitCode: 3, durationMs: 1000 },
    ],
  },
  approvals: [
    { id: 'i', runId: 'run', decision: 'deny', decidedBy: { kind: 'person', id: 'ada' }, decidedAt: 'now' },
    { id: 'j', runId: 'run', decision: 'allow_once', decidedAt: 'now' },
  ],
  log: { first: 1, last: 9 },
}

function signed(): string {
  const payload = Buffer.from(
    JSON.stringify({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [
        { name: 'o/r@main', digest: { gitCommit: commit } },
        { name: 'o/r@main^{tree}', digest: { gitTree: tree } },
      ],
      predicateType: 'https://berth.dev/attestations/agent-change/v1',
      predicate,
    }),
  )
  const payloadType = 'application/vnd.in-toto+json'
  const encoded = Buffer.concat([Buffer.from(`DSSEv1 28 ${payloadType} ${payload.length} `), payload])
  const sig = sign(null, encoded, privateKey).toString('base64')
  return JSON.stringify({ payload: payload.toString('base64'), payloadType, signatures: [{ keyid: kid, sig }] })
}
writeFileSync('s.json', signed())

/** Verifies as the command does. */
async function verify(named: string, options: VerifyOptions = { keys: 'keys.json' }, client?: object) {
  const lines: string[] = []
  const notes: string[] = []
  const into = (all: string[]) => ({
    paint: (_: string, text: string) => text,
    line: async (line: string) => void all.push(line),
  })
  const io = { stdout: into(lines), stderr: into(notes), client } as unknown as CommandIo & { client: BerthClient }
  return { code: await verifyNamed(await readNamed(named, options), options, io), lines, notes }
}

test('a statement is verified by its file and a copy of the keys, and says what it proves', async () => {
  expect(await verify('s.json', { keys: 'keys.json', commit: 'HEAD~1' })).toEqual({
    code: 0,
    notes: [],
    lines: [
      'verified: the statement holds, and is on this commit',
      '  of         o/r@main',
      `  commit     ${commit}, as you named it`,
      `  tree       ${tree}, as that commit has it here`,
      `  signed     2026-01-02T00:00:00.000Z by key ${kid}`,
      '  checks     1 of 2 required checks passed, 1 had nothing to look at, in a fresh sandbox',
      '             passed   tests  41.0 s',
      '             skipped  docs',
      '             failed   lint  1.0 s  exit code 3  not required',
      '             environment e revision 4, sha256 d',
      '  session    s-1, 1 run of native 1.0.0',
      '  people     asked for by installation ci',
      '             published by person ada',
      '  models     anthropic/m␛[2J  75 % of the cost, 3 requests',
      '             $1.00 in all, and requests whose cost is not known',
      '  approvals  1 allowed, 1 denied, by person ada, rules',
      '  log        events 1 to 9',
      'It proves that the holder of the key says so, and that nothing was changed since.',
      'It does not prove that the checks look at enough, or that the change is good.',
    ],
  })
})

test('a statement that is compared with no commit says so', async () => {
  const { code, lines } = await verify('s.json')
  expect([code, lines[0]]).toEqual([0, 'verified: the statement holds; --commit compares it with a commit'])
  expect(lines).toContain(`  commit     ${commit}`)
})

test('a changed byte, another commit and an unknown key are each refused in words', async () => {
  const file = readFileSync('s.json', 'utf8')
  writeFileSync('changed.json', file.replace('"payload":"ey', '"payload":"ez'))
  expect(await verify('changed.json')).toMatchObject({
    code: 1,
    lines: [`not verified: the key ${kid} has not signed this: it was changed since, or forged`],
  })
  const other = await verify('s.json', { keys: 'keys.json', commit: 'HEAD' })
  expect([other.code, other.lines[0]]).toEqual([
    1,
    `not verified: the statement is on commit ${commit}, not on ${git('rev-parse', 'HEAD')}`,
  ])
  writeFileSync('no-keys.json', '{"keys":[]}')
  expect((await verify('s.json', { keys: 'no-keys.json' })).lines).toEqual([
    `not verified: none of the keys is ${kid}, which the statement names`,
  ])
})

test('a commit has its statement in the file beside it, or the service has it, with its keys', async () => {
  const requests: unknown[] = []
  const client = {
    call: async (operation: string, input: unknown) => {
      requests.push([operation, input])
      if (operation === 'getStatementKeys') return keySet
      if (operation === 'getStatement') return JSON.parse(signed())
      return { statements: [{ sessionId: 's-1', publicationId: 'p' }] }
    },
  }
  expect(await verify('HEAD~1', {}, client)).toMatchObject({ code: 0, notes: [expect.stringContaining('--keys')] })
  expect(requests).toEqual([
    ['listStatements', { query: { commit } }],
    ['getStatement', { sessionId: 's-1', publicationId: 'p' }],
    ['getStatementKeys', undefined],
  ])
  writeFileSync(`statement-${commit.slice(0, 12)}.intoto.json`, signed())
  const { code, lines } = await verify(commit, { keys: 'keys.json', json: true })
  expect([code, JSON.parse(lines.join('\n'))]).toMatchObject([0, { verified: true, statement: { predicate } }])
})

test.each([
  ['nothing', {}, 'nothing is no file, no commit of this repository, and no whole id of a commit'],
  ['none.json', { commit: 'HEAD' }, 'there is no file none.json'],
  ['s.json', { keys: 'none.json' }, 'there is no file none.json'],
  [
    's.json',
    { keys: 'bad.json' },
    'bad.json is no JSON: it is to be a copy of /.well-known/berth-keys.json of the service',
  ],
  ['.git', {}, 'cannot read .git'],
])('%s with %j cannot be verified, and the line says why', async (named, options, message) => {
  writeFileSync('bad.json', '{')
  await expect(verify(named, options)).rejects.toThrow(message)
})
