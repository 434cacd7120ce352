import { createServer as createHttp } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { until } from '@berth/testing/until.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyHost, askOver, authorities, EdgeStage, secret } from '../../testing/edge-clients.ts'
import { openLeaseAuthority } from './lease-authority.ts'
import { OneConnection } from './one-connection.ts'

const { placeholder, value } = secret
const host = 'api.example.com'
const bearer = ['Authorization', `Bearer ${placeholder}`]
const basicOf = (userinfo: string) => ['Authorization', `Basic ${Buffer.from(userinfo).toString('base64')}`]
let stage: EdgeStage

beforeEach(async () => {
  stage = await EdgeStage.open()
})
afterEach(() => stage[Symbol.asyncDispose]())

describe('a secret', () => {
  it('goes to its host in the place of its placeholder, and nowhere inside', async () => {
    let seen: string[] = []
    await stage.host(host, async (incoming, response) => {
      seen = [...incoming.rawHeaders, await text(incoming)]
      response.setHeader('X-Echo', `you sent ${value}`)
      response.end('ok')
    })
    await stage.serve([secret])
    const answer = await stage.ask(host, '/v1/things?a=1', {
      method: 'POST',
      headers: [...bearer, 'X-Other', 'kept'],
      body: 'a body',
    })
    expect([answer.status, answer.body]).toEqual([200, 'ok'])
    expect(answer.response.headers['x-echo']).toBe(`you sent ${placeholder}`)
    expect(seen).toEqual(
      expect.arrayContaining(['Authorization', `Bearer ${value}`, 'X-Other', 'kept', 'Host', host, 'a body']),
    )
    expect(JSON.stringify(seen)).not.toContain(placeholder)
    expect(stage.told.used).toEqual([{ name: 'API_TOKEN', host, port: 443 }])
    expect(stage.told.reached).toEqual([{ host, port: 443 }])
    expect(stage.told.refused).toEqual([])
  })

  it('goes out on each request of a connection, and only on those that name it', async () => {
    const seen: (string | undefined)[] = []
    await stage.host(host, (incoming, response) => {
      seen.push(incoming.headers.authorization)
      response.end('ok')
    })
    await stage.serve([secret])
    const kept = new OneConnection(await stage.secure(host))
    for (const headers of [bearer, [], bearer]) await stage.ask(host, '/', { headers }, kept)
    expect(seen).toEqual([`Bearer ${value}`, undefined, `Bearer ${value}`])
    expect(stage.dialled).toHaveLength(1)
  })

  it('follows a 401, which passes unchanged', async () => {
    await stage.host(host, (incoming, response) => {
      const isMine = incoming.headers.authorization === basicOf(`x-access-token:${value}`)[1]
      if (!isMine) response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' })
      response.end(isMine ? 'in' : 'who are you?')
    })
    await stage.serve([{ ...secret, put: { basic: { user: 'x-access-token' } } }])
    const first = await stage.ask(host, '/repo.git/info/refs')
    expect([first.status, first.body]).toEqual([401, 'who are you?'])
    expect(first.response.headers['www-authenticate']).toBe('Basic realm="git"')
    expect((await stage.ask(host, '/repo.git/info/refs', { headers: basicOf(`me:${placeholder}`) })).body).toBe('in')
  })

  it('stays with its host if that redirects elsewhere', async () => {
    await stage.host(host, (_, response) => response.writeHead(302, { Location: 'https://evil.example/' }).end())
    await stage.host('evil.example', (incoming, response) => response.end(JSON.stringify(incoming.headers)))
    await stage.serve([secret, { ...secret, name: 'EVIL', placeholder: 'z'.repeat(26), hosts: ['evil.example'] }])
    expect((await stage.ask(host, '/', { headers: bearer })).response.headers.location).toBe('https://evil.example/')
    const followed = await stage.ask('evil.example', '/', { headers: bearer })
    expect([followed.status, followed.body]).toEqual([403, expect.stringContaining('secret_not_for_host')])
    expect(stage.told.refused).toEqual([
      { host: 'evil.example', port: 443, code: 'secret_not_for_host', reason: expect.stringContaining('API_TOKEN') },
    ])
  })

  it('is masked in a redirect of its host to itself, which goes on working', async () => {
    await stage.host(host, (incoming, response) => {
      if (incoming.url === `/a?key=${value}`) response.writeHead(302, { Location: `/b?key=${value}` }).end()
      else response.end(incoming.url === `/b?key=${value}` ? 'there' : 'no')
    })
    await stage.serve([{ ...secret, put: { query: 'key' } }])
    const { response } = await stage.ask(host, `/a?key=${placeholder}`)
    expect(response.headers.location).toBe(`/b?key=${placeholder}`)
    expect((await stage.ask(host, response.headers.location ?? '')).body).toBe('there')
  })
})

describe('a placeholder elsewhere', () => {
  it('is refused in another header, the URL and twice, before the host hears of it', async () => {
    let requests = 0
    await stage.host(host, (_, response) => {
      requests += 1
      response.end('never')
    })
    await stage.serve([secret])
    for (const [path, headers] of [
      ['/', ['X-Key', placeholder]],
      [`/${placeholder}`, []],
      ['/', ['Authorization', `Bearer ${placeholder}${placeholder}`]],
    ] as const) {
      const { status, body } = await stage.ask(host, path, { headers })
      expect(status).toBe(403)
      expect(JSON.parse(body)).toEqual({
        error: { code: 'secret_not_for_host', message: expect.stringContaining('Authorization: Bearer $API_TOKEN') },
      })
    }
    expect(requests).toBe(0)
    expect(stage.told.refused).toHaveLength(3)
    expect(JSON.stringify(stage.told)).not.toContain(placeholder)
  })

  it('passes in a body as it is, worth nothing', async () => {
    await stage.host(host, async (incoming, response) => response.end(await text(incoming)))
    await stage.serve([secret])
    expect((await stage.ask(host, '/', { method: 'POST', body: `{"key":"${placeholder}"}` })).body).toBe(
      `{"key":"${placeholder}"}`,
    )
  })

  it('is refused over plain HTTP, also to its own host', async () => {
    let requests = 0
    await stage.listen(
      host,
      createHttp((_, response) => response.end(`plain ${++requests}`)),
    )
    await stage.serve([secret])
    const ask = async (headers: readonly string[]) => {
      const socket = connect(stage.path)
      return await askOver(socket, `http://${host}/`, { headers: ['Host', host, ...headers] })
    }
    const refused = await ask(bearer)
    expect([refused.status, refused.body]).toEqual([403, expect.stringContaining('secret_not_for_host')])
    expect(requests).toBe(0)
    expect((await ask([])).body).toBe('plain 1')
    expect(stage.told.refused).toEqual([
      { host, port: 80, code: 'secret_not_for_host', reason: expect.stringContaining('only over HTTPS') },
    ])
  })
})

describe('a connection', () => {
  it.each([
    [
      'of an unknown authority',
      () => openLeaseAuthority(Buffer.alloc(32, 9), 'nobody', anyHost).leafFor(host),
      /verify|self-signed|issuer/,
    ],
    ['of another host', () => authorities.hosts.leafFor('other.example.com'), /altnames|does not match/],
    [
      'that has expired',
      () => openLeaseAuthority(Buffer.alloc(32, 2), 'hosts', anyHost, () => Date.UTC(2020, 1)).leafFor(host),
      /expired/,
    ],
  ])('to a host with a certificate %s is 502 with the reason, and has no secret', async (_, leaf, reason) => {
    let requests = 0
    await stage.host(host, () => (requests += 1), { context: await leaf() })
    await stage.serve([secret])
    const { status, body } = await stage.ask(host, '/', { headers: bearer })
    expect([status, JSON.parse(body).error.code]).toEqual([502, 'upstream_untrusted'])
    expect(body).toMatch(reason)
    expect(requests).toBe(0)
    expect(stage.told.used).toEqual([])
  })

  it('of a client that trusts only the real authority fails', async () => {
    await stage.host(host, (_, response) => response.end('never'))
    await stage.serve([secret])
    await expect(stage.secure(host, { ca: (await authorities.hosts.trust()).certificate })).rejects.toThrow()
  })

  it.each([
    ['names another host', { servername: 'evil.example' }, 'evil.example'],
    ['names none', { servername: '' }, 'no host'],
  ])('whose TLS %s is refused', async (_, securing, named) => {
    await stage.host(host, (__, response) => response.end('never'))
    await stage.serve([secret])
    await expect(stage.secure(host, securing)).rejects.toThrow()
    await until('refused', () => stage.told.refused.length > 0)
    expect(stage.told.refused).toEqual([{ host, port: 443, code: 'policy', reason: expect.stringContaining(named) }])
  })

  it('that is not TLS is refused', async () => {
    await stage.host(host, (_, response) => response.end('never'))
    await stage.serve([secret])
    const { socket } = await stage.tunnel(`${host}:443`)
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${placeholder}\r\n\r\n`)
    await until('closed', () => socket.resume().closed || socket.readableEnded)
    expect(stage.told.refused).toEqual([
      { host, port: 443, code: 'policy', reason: expect.stringContaining('not TLS') },
    ])
  })

  it('to another port of the host is refused before it is dialled', async () => {
    await stage.host(host, (_, response) => response.end('never'))
    await stage.serve([secret])
    const { head, socket } = await stage.tunnel(`${host}:8443`)
    expect(head).toMatch(/^HTTP\/1\.1 403 /)
    expect(head + (await text(socket))).toContain('secret_not_for_host')
    expect(stage.dialled).toEqual([])
  })

  it('to an address, or to any other host, is a tunnel that nobody reads', async () => {
    for (const name of ['other.example.com', '93.184.216.34'])
      await stage.host(name, (incoming, response) => response.end(incoming.headers.authorization), {
        context: await authorities.hosts.leafFor('other.example.com'),
      })
    await stage.serve([{ ...secret, hosts: [host, '93.184.216.34'] }])
    const { certificate: ca } = await authorities.hosts.trust()
    const socket = await stage.secure('other.example.com', { ca })
    expect((await stage.ask('other.example.com', '/', { headers: bearer }, socket)).body).toBe(`Bearer ${placeholder}`)
  })

  it('whose request names another host is refused', async () => {
    await stage.host(host, (_, response) => response.end('never'))
    await stage.serve([secret])
    const ask = async (headers: readonly string[], path = '/') =>
      (await askOver(await stage.secure(host), path, { headers })).status
    expect(await ask(['Host', 'evil.example', ...bearer])).toBe(403)
    expect(await ask(['Host', 'evil.example'])).toBe(421)
    expect(await ask(['Host', `${host}:444`])).toBe(421)
    expect(await ask(['Host', host, 'Host', 'evil.example'])).toBe(400)
    expect(await ask(['Host', host], 'https://evil.example/')).toBe(400)
  })

  it('whose request has two lengths is refused', async () => {
    let requests = 0
    await stage.host(host, () => (requests += 1))
    await stage.serve([secret])
    const socket = await stage.secure(host)
    socket.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`)
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /)
    expect(requests).toBe(0)
  })

  it('ends when the proxy is closed, and when the host leaves', async () => {
    await stage.host(host, (incoming, response) => {
      if (incoming.url === '/close') response.shouldKeepAlive = false
      response.end('ok')
    })
    const proxy = await stage.serve([secret])
    const kept = await stage.secure(host)
    await stage.ask(host, '/close', {}, new OneConnection(kept))
    await until('the client hears of it', () => kept.resume().closed || kept.readableEnded)
    const open = await stage.secure(host)
    proxy.deny()
    await until('closed', () => open.resume().closed || open.readableEnded)
  })
})

describe('a large value and body', () => {
  it('pass: 32 KiB with quotes, and a megabyte each way', async () => {
    const large = {
      ...secret,
      value: `{"key": "${'x'.repeat(15 * 1024)}"}`,
      put: { header: 'X-Key', format: '{value}' },
    }
    let key: unknown
    await stage.host(host, (incoming, response) => {
      key = incoming.headers['x-key']
      incoming.pipe(response)
    })
    await stage.serve([large])
    const body = Readable.from(Array.from({ length: 64 }, () => Buffer.alloc(16 * 1024, 'y')))
    const answer = await stage.ask(host, '/', { method: 'PUT', headers: ['X-Key', placeholder], body })
    expect([answer.status, answer.body.length, key]).toEqual([200, 1024 * 1024, large.value])
  })
})
