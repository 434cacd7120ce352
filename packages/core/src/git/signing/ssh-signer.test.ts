import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openCommitApp } from './open-signer.ts'
import { openSshSigner } from './ssh-signer.ts'
import { keysInMemory } from './testing/keys-in-memory.ts'

/** Makes a key as people do. */
function makeKey(dir: string, ...options: readonly string[]): string {
  const path = join(dir, 'key')
  execFileSync('ssh-keygen', ['-q', '-N', '', '-C', 'a comment', '-f', path, ...options])
  return path
}

describe('a signature of SSH', () => {
  it.each([
    ['ed25519', []],
    ['ecdsa', ['-b', '256']],
    ['ecdsa', ['-b', '384']],
    ['ecdsa', ['-b', '521']],
    ['rsa', ['-b', '2048']],
    ['rsa', ['-b', '2048', '-m', 'PKCS8']],
  ])('is one that ssh-keygen verifies, by a key of %s %j', async (type, options) => {
    await using dir = await mkdtempDisposable(join(tmpdir(), 'berth-key-'))
    const key = makeKey(dir.path, '-t', type, ...options)
    const signer = await openSshSigner(readFileSync(key, 'utf8').trim())
    expect(`${signer.publicKey} a comment\n`).toBe(readFileSync(`${key}.pub`, 'utf8'))
    const [signers, signature] = [join(dir.path, 'signers'), join(dir.path, 'signature')]
    writeFileSync(signers, `me ${signer.publicKey}\n`)
    // The text is signed to its last byte.
    for (const text of ['text', 'text\n', '']) {
      writeFileSync(signature, await signer.sign(text))
      const verified = ['-Y', 'verify', '-f', signers, '-I', 'me', '-n', 'git', '-s', signature]
      expect(execFileSync('ssh-keygen', verified, { input: text }).toString()).toMatch('Good "git" signature')
    }
    expect(keysInMemory(readFileSync(key, 'utf8'))).toEqual([])
  })
})

describe('a key of SSH is refused', () => {
  it.each([
    [
      'if a passphrase seals it',
      ['-t', 'ed25519', '-N', 'sesame'],
      (text: string) => text,
      'is sealed by a passphrase',
    ],
    ['if it is short', ['-t', 'rsa', '-b', '1024'], (text: string) => text, 'is an RSA key of less than 2048 bits'],
    ['if it is cut short', ['-t', 'ed25519'], (text: string) => text.replace(/(.*\n){2}(?=-)/, ''), 'is damaged'],
    [
      'if its halves differ',
      ['-t', 'ed25519'],
      (text: string) => {
        const [begin = '', body = '', end = ''] = text.split(/(?<=KEY-----\n)|(?=-----END)/)
        const bytes = Buffer.from(body, 'base64')
        // The seed of the private key, which stands between the two writings of the public one.
        const type = bytes.lastIndexOf('ssh-ed25519')
        const seed = type + 'ssh-ed25519'.length + 4 + 32 + 4
        bytes[seed] = (bytes[seed] ?? 0) ^ 1
        return `${begin}${bytes.toString('base64')}\n${end}`
      },
      'is damaged',
    ],
  ])('%s', async (_, options, change, message) => {
    await using dir = await mkdtempDisposable(join(tmpdir(), 'berth-key-'))
    const text = readFileSync(makeKey(dir.path, ...options), 'utf8')
    await expect(openSshSigner(change(text))).rejects.toThrow(message)
    expect(keysInMemory(change(text))).toEqual([])
  })

  it.each(['', 'none', '-----BEGIN PRIVATE KEY'])('if it is %j', async signingKey => {
    const opened = openCommitApp({ name: undefined, email: undefined, signingKey })
    await expect(opened).rejects.toThrow('commits.signingKey of the configuration file is ')
  })
})
