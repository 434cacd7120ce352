import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findProgram } from '../linux/find-program.ts'
import { runProgram } from '../linux/run-program.ts'
import { javaTrustStore } from './java-trust-store.ts'

const keytool = await findProgram('keytool')
const certificates = rootCertificates.slice(0, 20)
let dir: string
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'berth-trust-'))
})
afterAll(() => rm(dir, { recursive: true, force: true }))

it.skipIf(keytool === undefined)('is one that Java reads whole, and finds unchanged', async () => {
  const path = join(dir, 'truststore.jks')
  const store = javaTrustStore(`# a comment\n${certificates.join('\n\n')}\n`)
  await writeFile(path, store)
  const list = (storeAt: string) =>
    runProgram(keytool ?? '', ['-list', '-keystore', storeAt, '-storetype', 'JKS', '-storepass', 'changeit'])
  const listed = await list(path)
  expect(listed).toContain('contains 20 entries')
  expect(listed.match(/trustedCertEntry/g)).toHaveLength(20)
  store.writeUInt8((store.at(100) ?? 0) ^ 1, 100)
  await writeFile(path, store)
  await expect(list(path)).rejects.toThrow()
})

it('holds nothing if there are no certificates', () => {
  expect(javaTrustStore('').subarray(0, 12).toString('hex')).toBe('feedfeed0000000200000000')
})
