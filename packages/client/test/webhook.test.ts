import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { signWebhook, verifyWebhook } from '../src/index.ts'

const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'
const body = '{"id":"01","type":"svc.run.completed","data":{"summary":"Grüße, 世界 🎉"}}'
const t = 1_790_000_000
const now = new Date(t * 1000)

/** The signature as the contract defines it, by another implementation. */
const v1 = (text: string | Uint8Array = body, key = secret, at = t) =>
  createHmac('sha256', key).update(`${at}.`).update(text).digest('hex')
const header = `t=${t},v1=${v1()}`
const reasonOf = async (...args: Parameters<typeof verifyWebhook>) => {
  const verdict = await verifyWebhook(...args)
  return verdict.verified ? 'verified' : verdict.reason
}

describe('a delivery', () => {
  it('is verified as text and as bytes, at the time of its signature', async () => {
    const verified = { verified: true, signedAt: now }
    expect(await verifyWebhook(body, header, secret, now)).toEqual(verified)
    expect(await verifyWebhook(Buffer.from(body), header, secret, now)).toEqual(verified)
    // A view into a larger buffer counts for itself.
    const larger = Buffer.from(`xx${body}xx`)
    expect(await verifyWebhook(larger.subarray(2, -2), header, secret, now)).toEqual(verified)
  })

  it('is verified in bytes that are not UTF-8, and without any', async () => {
    const bytes = Uint8Array.from([0xff, 0x00, 0xc3, 0x28])
    expect(await reasonOf(bytes, `t=${t},v1=${v1(bytes)}`, secret, now)).toBe('verified')
    expect(await reasonOf('', `t=${t},v1=${v1('')}`, secret, now)).toBe('verified')
  })

  it('matches a vector that was computed once and for all', async () => {
    const vector = 't=1790000000,v1=f08690bbaaecbd1607eb9af71f092a9f7054e2b83f8b9d6a0690744d24fc6059'
    expect(await reasonOf('{"a":1}', vector, 'whsec_test', now)).toBe('verified')
  })

  it('is verified by any of several secrets and any of several signatures', async () => {
    const other = 'whsec_other'
    expect(await reasonOf(body, header, [other, secret], now)).toBe('verified')
    expect(await reasonOf(body, `t=${t},v1=${v1(body, other)},v1=${v1()}`, secret, now)).toBe('verified')
    expect(await reasonOf(body, `${header},v0=old,v2=${'a'.repeat(100)}`, secret, now)).toBe('verified')
    expect(await reasonOf(body, header, [other, 'whsec_third'], now)).toBe('signature_mismatch')
  })

  it('is refused with one byte, the secret or the time changed', async () => {
    expect(await reasonOf(`${body} `, header, secret, now)).toBe('signature_mismatch')
    expect(await reasonOf(body.replace('01', '02'), header, secret, now)).toBe('signature_mismatch')
    expect(await reasonOf(body, header, `${secret}A`, now)).toBe('signature_mismatch')
    expect(await reasonOf(body, header.replace(`t=${t}`, `t=${t + 1}`), secret, now)).toBe('signature_mismatch')
    const flipped = header.replace(/.$/, last => (last === '0' ? '1' : '0'))
    expect(await reasonOf(body, flipped, secret, now)).toBe('signature_mismatch')
  })

  it.each([
    [-300, 'verified'],
    [300, 'verified'],
    [300.001, 'timestamp_too_old'],
    [-300.001, 'timestamp_too_new'],
    [86_400, 'timestamp_too_old'],
    [-86_400, 'timestamp_too_new'],
  ])('that was signed %d seconds ago is %s', async (ago, expected) => {
    expect(await reasonOf(body, header, secret, new Date((t + ago) * 1000))).toBe(expected)
  })

  it.each([
    ['no time', `v1=${v1()}`],
    ['no signature', `t=${t}`],
    ['two times', `t=${t},t=${t},v1=${v1()}`],
    ['a time with a sign', `t=+${t},v1=${v1()}`],
    ['a negative time', `t=-${t},v1=${v1()}`],
    ['a fraction', `t=${t}.0,v1=${v1()}`],
    ['an exponent', `t=1e9,v1=${v1()}`],
    ['an empty time', `t=,v1=${v1()}`],
    ['upper case', `t=${t},v1=${v1().toUpperCase()}`],
    ['a short signature', `t=${t},v1=${v1().slice(1)}`],
    ['a long signature', `t=${t},v1=${v1()}0`],
    ['one signature of no form', `t=${t},v1=${v1()},v1=x`],
    ['white space', `t=${t}, v1=${v1()}`],
    ['a member without a value', `t=${t},v1=${v1()},x`],
    ['other separators', `t=${t};v1=${v1()}`],
    ['too many members', `t=${t}${`,v1=${v1()}`.repeat(100)}`],
  ])('whose header has %s is malformed', async (_, malformed) => {
    expect(await reasonOf(body, malformed, secret, now)).toBe('header_malformed')
  })

  it.each([null, undefined, ''])('without a header (%j) is refused', async missing => {
    expect(await reasonOf(body, missing, secret, now)).toBe('header_missing')
  })

  it('is never judged without a secret', async () => {
    for (const none of ['', [], [secret, '']]) {
      await expect(verifyWebhook(body, header, none, now)).rejects.toThrow(TypeError)
    }
  })
})

it('a body is signed as the service signs it', async () => {
  expect(await signWebhook(body, secret, new Date(t * 1000 + 999))).toBe(header)
  expect(await signWebhook(Buffer.from(body), secret, now)).toBe(header)
  await expect(signWebhook(body, '', now)).rejects.toThrow(TypeError)
})
