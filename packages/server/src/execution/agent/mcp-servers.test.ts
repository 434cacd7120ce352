// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of extensions are written like this.
import { describe, expect, it } from 'vitest'
import type { ServerTemplate } from '../../environments/extensions/server-template.ts'
import { serversFor } from './mcp-servers.ts'

const stdio: ServerTemplate = {
  name: 'a.stdio',
  kind: 'stdio',
  command: 'node',
  args: ['${TOKEN}'],
  env: { TOKEN: 'is ${TOKEN}', LEVEL: '${LEVEL:-low}' },
}
const http: ServerTemplate = { name: 'a.http', kind: 'http', url: 'https://x.test/', headers: { a: '${TOKEN}' } }
const sse: ServerTemplate = { name: 'a.sse', kind: 'sse', url: 'https://x.test/', headers: {} }
const values = { TOKEN: 's3cret $& $1' }

describe('the servers that an agent is given', () => {
  it('have values in their variables and headers only, and no type for stdio', () => {
    expect(serversFor([stdio, http, sse], { http: true, sse: true }, values)).toEqual({
      servers: [
        {
          name: 'a.stdio',
          command: 'node',
          args: ['${TOKEN}'],
          env: [
            { name: 'TOKEN', value: 'is s3cret $& $1' },
            { name: 'LEVEL', value: 'low' },
          ],
        },
        { type: 'http', name: 'a.http', url: 'https://x.test/', headers: [{ name: 'a', value: 's3cret $& $1' }] },
        { type: 'sse', name: 'a.sse', url: 'https://x.test/', headers: [] },
      ],
      leftOut: [],
    })
  })

  it('leave out transports that the agent does not advertise', () => {
    const { servers, leftOut } = serversFor([sse, http, stdio], { http: true, sse: false }, values)
    expect(servers.map(({ name }) => name)).toEqual(['a.http', 'a.stdio'])
    expect(leftOut).toEqual([{ name: 'a.sse', reason: expect.stringContaining('sse') }])
  })

  it('leave out a server that needs a value which nobody has given, also one that every object has', () => {
    const needy = { ...stdio, env: { A: '${MISSING} ${constructor}' } }
    const { servers, leftOut } = serversFor([needy, http], { http: true, sse: true }, values)
    expect(servers.map(({ name }) => name)).toEqual(['a.http'])
    expect(leftOut).toEqual([{ name: 'a.stdio', reason: 'the environment has no MISSING, constructor' }])
  })
})
