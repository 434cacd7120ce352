import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signedCommit } from '../../sessions/publications/commit.ts'
import { openCommitApp } from './open-signer.ts'
import { keysInMemory } from './testing/keys-in-memory.ts'

const me = { name: 'Acme', email: 'agents@acme.example' }
let dir = ''
let environment: NodeJS.ProcessEnv = {}
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-gpg-'))
  environment = { ...process.env, GNUPGHOME: dir }
})
afterAll(async () => {
  execFileSync('gpgconf', ['--kill', 'all'], { env: environment })
  await rm(dir, { recursive: true })
})

const run = (file: string, args: readonly string[], input = '') =>
  execFileSync(file, args, { env: environment, input, stdio: ['pipe', 'pipe', 'pipe'], encoding: 'utf8' })

/** Makes a key as people do. @returns what they configure */
function makeKey(user: string, type: string, passphrase = ''): string {
  const secret = ['--batch', '--quiet', '--pinentry-mode', 'loopback', '--passphrase', passphrase]
  run('gpg', [...secret, '--quick-gen-key', user, type, 'sign', 'never'])
  return run('gpg', [...secret, '--armor', '--export-secret-keys', user])
}

const open = async (signingKey: string) => (await openCommitApp({ ...me, signingKey })).signer

describe('a key of OpenPGP', () => {
  it.each(['ed25519', 'nistp256', 'rsa2048'])('of %s signs commits that git verifies', async type => {
    const address = `${type}@acme.example`
    const signer = await open(makeKey(`Acme <${address}>`, type))
    const git = (args: readonly string[], input?: string) => run('git', ['-C', dir, ...args], input).trim()
    git(['init', '--quiet'])
    const tree = git(['hash-object', '-t', 'tree', '-w', '--stdin'])
    const parent = git(['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit-tree', '-m', 'root', tree])
    const commit = { tree, parents: [parent], author: me, committer: me, at: new Date(), message: 'A – B' }
    const name = git(['hash-object', '-t', 'commit', '-w', '--stdin'], await signedCommit(commit, signer))
    git(['verify-commit', name])
    expect(git(['log', '-1', '--format=%G? %GS', name])).toMatch(new RegExp(`^[GU] Acme <${address}>$`))
    // The public key is the one that hosts take.
    expect(run('gpg', ['--show-keys'], `${signer?.publicKey}\n`)).toContain(address)
  })

  it('is refused if a passphrase seals it, or it is cut short', async () => {
    const place = 'commits.signingKey of the configuration file'
    const sealed = makeKey('Sealed <sealed@acme.example>', 'ed25519', 'sesame')
    await expect(open(sealed)).rejects.toThrow(`${place} is sealed by a passphrase`)
    const cut = makeKey('Cut <cut@acme.example>', 'ed25519').replace(/(.*\n){3}(?=-)/, '')
    await expect(open(cut)).rejects.toThrow(`${place} does not sign: gpg: `)
  })

  it('leaves neither itself nor a process of gpg behind', async () => {
    const key = makeKey('Gone <gone@acme.example>', 'ed25519')
    await (await open(key))?.sign('text')
    expect(keysInMemory(key)).toEqual([])
    const agents = ['-c', 'grep -alz "berth-key[.]" /proc/[0-9]*/cmdline 2>/dev/null; :']
    await expect.poll(() => run('sh', agents), { timeout: 10_000 }).toBe('')
  })
})
