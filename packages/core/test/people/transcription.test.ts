import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { capabilities, limits } from '@berth/contract'
import { readyEngine } from '@berth/gateway/transcription/transcribe.ts'
import { createInstallation } from '@berth/testing/api/tenant.ts'
import { openRecordings, type Recordings } from '@berth/testing/models/recordings.ts'
import { startTestService, type TestService } from '@berth/testing/services/service.ts'
import { until } from '@berth/testing/until.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'

const programs = vi.hoisted(() => ({ missing: false }))
vi.mock('@berth/gateway/transcription/confined-program.ts', async original => {
  const real = await original<typeof import('@berth/gateway/transcription/confined-program.ts')>()
  return { ...real, hasProgram: (name: string) => !programs.missing && real.hasProgram(name) }
})

let recordings: Recordings
let engine: Server
let service: TestService
/** Requests to the engine, latest last. */
let heard: { authorization: string | undefined; body: string }[]
let answer: (response: ServerResponse) => void
let hello: Buffer
const helloMs = () => Math.round((hello.length - 44) / 2 / 22.05)

beforeAll(async () => {
  recordings = await openRecordings()
  hello = await recordings.speech('hello world')
  engine = createServer(async (incoming: IncomingMessage, response) => {
    heard.push({
      authorization: incoming.headers.authorization,
      body: `${incoming.url} ${(await buffer(incoming)).toString('latin1')}`,
    })
    answer(response)
  }).listen(0, '127.0.0.1')
  await once(engine, 'listening')
  const baseUrl = `http://127.0.0.1:${(engine.address() as AddressInfo).port}/v1`
  service = await startTestService({
    variables: { BERTH_ROLES: 'api' },
    config: { transcription: { kind: 'openai-compatible', baseUrl, apiKey: 'key-of-the-engine', model: 'whisper' } },
  })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  engine.close().closeAllConnections()
  await recordings[Symbol.asyncDispose]()
})
beforeEach(() => {
  heard = []
  answer = response => response.end('{"text":" Hello, world.\\n"}')
})

type Part = readonly [name: string, value: string | Buffer]

async function post(parts: readonly Part[], on = service): Promise<readonly [number, Record<string, unknown>]> {
  const form = new FormData()
  for (const [name, value] of parts) {
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new Blob([new Uint8Array(value)], { type: 'text/plain' }), 'name.txt')
  }
  const response = await fetch(`${on.url}/v1/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${on.tenant.apiKey}` },
    body: form,
  })
  return [response.status, (await response.json()) as Record<string, unknown>]
}

const send = (file: Buffer, durationMs: number | string = helloMs()) =>
  post([
    ['file', file],
    ['durationMs', String(durationMs)],
  ])

describe('a recording', () => {
  it.each([
    ['speech.wav', []],
    ['speech.flac', []],
    ['speech.mp3', []],
    // The container's index is at its end, so it cannot be decoded while it arrives.
    ['speech.m4a', ['-c:a', 'aac']],
    ['speech.ogg', ['-c:a', 'libopus']],
    ['speech.webm', ['-c:a', 'libopus']],
  ] as const)('of the kind %s is decoded, and heard by the engine', async (name, options) => {
    const [status, body] = await send(await recordings.as(hello, name, ...options))
    expect([status, body]).toEqual([200, { text: 'Hello, world.', durationMs: expect.any(Number) }])
    expect(Math.abs(Number(body['durationMs']) - helloMs())).toBeLessThan(150)
    expect(heard).toMatchObject([{ authorization: 'Bearer key-of-the-engine' }])
    expect(heard[0]?.body).toMatch(/^\/v1\/audio\/transcriptions .*name="model"\r\n\r\nwhisper\r\n/s)
  })

  it('is transcribed by the recogniser of the machine', async () => {
    const config = { transcription: { kind: 'offline' } }
    await using offline = await startTestService({ variables: { BERTH_ROLES: 'api' }, config })
    const parts: Part[] = [
      ['durationMs', String(helloMs())],
      ['file', hello],
    ]
    expect(await post(parts, offline)).toMatchObject([200, { text: 'hello world', language: 'en' }])
    // Loud, but nobody speaks: the result must hold no words.
    const noise = await recordings.sound('sine=frequency=50:duration=1')
    expect(
      await post(
        [
          ['file', noise],
          ['durationMs', '1000'],
        ],
        offline,
      ),
    ).toEqual([422, { error: 'empty_transcript' }])
  })

  it.each([
    ['silence', () => recordings.sound('anullsrc=duration=2'), 2000, '422 empty_transcript'],
    ['text', async () => Buffer.from('this is no audio'.repeat(100)), 1000, '415 unsupported_audio_format'],
    ['nothing', async () => Buffer.alloc(0), 1000, '415 unsupported_audio_format'],
    [
      'a picture',
      async () => Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
      1000,
      '415 unsupported_audio_format',
    ],
    ['AAC without a container', () => recordings.as(hello, 'x.aac'), 1000, '415 unsupported_audio_format'],
    ['Matroska', () => recordings.as(hello, 'x.mka', '-c:a', 'flac'), 1000, '415 unsupported_audio_format'],
    ['text that begins like MP3', async () => Buffer.from(`ID3${'x'.repeat(5000)}`), 1000, '422 invalid_audio'],
    [
      'text that begins like MP4',
      async () => Buffer.from(`\0\0\0\x18ftypM4A ${'x'.repeat(5000)}`),
      1000,
      '422 invalid_audio',
    ],
    [
      'a playlist that begins like WAV',
      async () => Buffer.from('RIFF    WAVE#EXTM3U\nfile:///etc/passwd\n'),
      1000,
      '422 invalid_audio',
    ],
    [
      'an MP4 cut in the middle',
      async () => half(await recordings.as(hello, 'x.m4a', '-c:a', 'aac')),
      1000,
      '422 invalid_audio',
    ],
    [
      'a FLAC cut in the middle',
      async () => half(await recordings.as(await recordings.sound('sine=duration=20'), 'x.flac')),
      20_000,
      '422 invalid_audio',
    ],
    ['less than is said', () => recordings.sound('sine=duration=2'), 20_000, '422 invalid_audio'],
    ['more than is said', () => recordings.sound('sine=duration=20'), 2000, '422 invalid_audio'],
    ['601 s', () => recordings.sound('sine=duration=601:sample_rate=8000'), 600_000, '400 invalid_audio_duration'],
  ])('of %s is refused', async (_, make, durationMs, expected) => {
    const [status, body] = await send(await make(), durationMs)
    expect(`${status} ${body['error']}`).toBe(expected)
    expect(heard).toEqual([])
  })

  it('of ten minutes and no more is accepted', async () => {
    expect((await send(await recordings.sound('sine=duration=600:sample_rate=8000'), 600_000))[0]).toBe(200)
  })
})

const half = (recording: Buffer) => recording.subarray(0, recording.length / 2)

describe('a form', () => {
  const file: Part = ['file', Buffer.from('fLaC')]
  const duration: Part = ['durationMs', '1000']
  it.each<readonly [string, string, readonly Part[]]>([
    ['without a file', 'audio_file_required', [duration]],
    ['with nothing', 'audio_file_required', []],
    ['without a length', 'invalid_audio_duration', [file]],
    ...['', '99', '600001', '1000.5', '1e3', '-1000', ' 1000', '0x100', 'NaN', '01000'].map(
      value => [`with the length '${value}'`, 'invalid_audio_duration', [file, ['durationMs', value]]] as const,
    ),
    ['with two files', 'invalid_audio_upload', [file, file, duration]],
    ['with two lengths', 'invalid_audio_upload', [file, duration, duration]],
    ['with another field', 'invalid_audio_upload', [file, duration, ['language', 'en']]],
    ['with another file', 'invalid_audio_upload', [['audio', Buffer.from('fLaC')], duration]],
    ['whose file is a field', 'invalid_audio_upload', [['file', 'fLaC'], duration]],
  ])('%s is refused', async (_, code, parts) => {
    expect(await post(parts)).toEqual([400, { error: code }])
  })

  it('may hold 20 MiB and not a byte more', async () => {
    const most = Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(limits.audioBytes - 4)])
    expect((await send(most, 1000))[1]).toEqual({ error: 'invalid_audio' })
    expect(await send(Buffer.concat([most, Buffer.of(0)]), 1000)).toEqual([413, { error: 'audio_too_large' }])
    const huge = Buffer.concat([most, most, most])
    const answered = await send(huge, 1000).catch(() => [413, { error: 'audio_too_large' }])
    expect(answered).toEqual([413, { error: 'audio_too_large' }])
  })

  const raw = (headers: Record<string, string>, body: string, path = '/v1/transcriptions') =>
    fetch(service.url + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${service.tenant.apiKey}`, ...headers },
      body,
    }).then(async response => `${response.status} ${((await response.json()) as { error: string }).error}`)

  it('that is malformed gets a different error from a missing one', async () => {
    const boundary = 'multipart/form-data; boundary=b'
    const open = '--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nfLaC'
    expect(await raw({ 'content-type': boundary }, open)).toBe('400 invalid_audio_upload')
    expect(await raw({ 'content-type': boundary }, 'nothing')).toBe('400 invalid_audio_upload')
    expect(await raw({ 'content-type': 'multipart/form-data' }, open)).toBe('400 invalid_audio_upload')
    expect(await raw({ 'content-type': 'application/json' }, '{}')).toBe('415 unsupported_media_type')
    expect(await raw({ 'content-type': boundary, 'content-encoding': 'gzip' }, open)).toBe('415 unsupported_media_type')
    expect(await raw({ 'content-type': boundary }, open, '/v1/transcriptions?x=1')).toBe('400 invalid_request')
  })

  it('that its client breaks off does not harm the service', async () => {
    const head = ['POST /v1/transcriptions HTTP/1.1', 'Host: x', `Authorization: Bearer ${service.tenant.apiKey}`]
    const more = ['Content-Type: multipart/form-data; boundary=b', 'Content-Length: 1000', '', '--b\r\n']
    for (let count = 0; count < 20; count++) {
      const leaving = connect(Number(new URL(service.url).port), '127.0.0.1')
      leaving.write([...head, ...more].join('\r\n'), () => leaving.destroy())
      await once(leaving, 'close')
    }
    // Each of them held one of the few places.
    await until('a place', async () => (await send(hello))[0] === 200)
  })
})

describe('transcription', () => {
  it('needs its capability', async () => {
    const held = capabilities.filter(capability => capability !== 'svc.cloud.transcriptions:create')
    const { organizationId, appSlug } = service.tenant
    const { apiKey } = await createInstallation(service.db.database, organizationId, appSlug, held)
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'multipart/form-data; boundary=b' }
    const response = await fetch(`${service.url}/v1/transcriptions`, { method: 'POST', headers, body: '--b--' })
    expect([response.status, await response.json()]).toEqual([
      403,
      { error: 'insufficient_scope', requiredScope: 'svc.cloud.transcriptions:create' },
    ])
  })

  it.each<readonly [string, (response: ServerResponse) => void]>([
    ['refuses', response => response.writeHead(429).end('{"error":{"message":"slow down"}}')],
    ['fails', response => response.writeHead(500).end('<html>')],
    ['says nothing that is JSON', response => response.end('hello')],
    ['says no text', response => response.end('{"words":[]}')],
    ['sends elsewhere', response => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
    ['breaks off', response => response.destroy()],
  ])('is unavailable while its engine %s', async (_, behaviour) => {
    answer = behaviour
    expect(await send(hello)).toEqual([503, { error: 'transcription_unavailable' }])
  })

  it("checks the form before it reports that it has no engine, and uses the machine's if none is named", async () => {
    await using unnamed = await startTestService({ variables: { BERTH_ROLES: 'api' } })
    const duration: Part = ['durationMs', String(helloMs())]
    const whole: Part[] = [duration, ['file', hello]]
    expect(await post(whole, unnamed)).toMatchObject([200, { text: 'hello world', language: 'en' }])
    programs.missing = true
    try {
      const refused = async (...parts: Part[]) => (await post(parts, unnamed))[1]['error']
      expect(await refused(duration)).toBe('audio_file_required')
      expect(await refused(['durationMs', '99'], ['file', hello])).toBe('invalid_audio_duration')
      expect(await refused(duration, ['file', Buffer.from('this is no audio')])).toBe('unsupported_audio_format')
      expect(await post(whole, unnamed)).toMatchObject([503, { error: 'transcription_not_configured' }])
    } finally {
      programs.missing = false
    }
  })

  it('gives up a form that does not end', async () => {
    await using impatient = await startTestService({
      variables: { BERTH_ROLES: 'api' },
      // bound: it is to be over
      fixed: { bodyPatienceMs: 1000 },
    })
    const socket = connect(Number(new URL(impatient.url).port), '127.0.0.1')
    const head = ['POST /v1/transcriptions HTTP/1.1', 'Host: x', `Authorization: Bearer ${impatient.tenant.apiKey}`]
    socket.write(
      [...head, 'Content-Type: multipart/form-data; boundary=b', 'Content-Length: 1000', '', '--b\r\n'].join('\r\n'),
    )
    expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1.1 408 .*request_timeout/s)
  })

  it('names the program that it lacks', () => {
    const lacking = (missing: string | null) => ({
      missing: () => missing,
      transcribe: () => Promise.reject(new Error()),
    })
    const refused = (message: string) => ({ status: 503, code: 'transcription_not_configured', fields: { message } })
    expect(() => readyEngine(lacking('install x'))).toThrow(expect.objectContaining(refused('install x')))
    expect(readyEngine(lacking(null))).toBeDefined()
  })
})
