// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the placeholders of extensions are written like this.

import type { ServerTemplate } from '@berth/core/environments/extensions/server-template.ts'
import { describe, expect, it } from 'vitest'
import { missingNames, serversFor, transportsOf } from './mcp-servers.ts'

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
    expect(serversFor([stdio, http, sse], ['http', 'sse'], values)).toEqual([
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
    ])
  })

  it.each<[unknown, readonly string[]]>([
    [{ http: true, sse: true }, ['a.sse', 'a.http', 'a.stdio']],
    [{ http: true, sse: false }, ['a.http', 'a.stdio']],
    [{ http: 'yes' }, ['a.stdio']],
    [undefined, ['a.stdio']],
  ])('are those whose transport it advertises: %j', (capabilities, names) => {
    const given = serversFor([sse, http, stdio], transportsOf(capabilities), values)
    expect(given.map(({ name }) => name)).toEqual(names)
  })

  it('leave out a server that needs a value which nobody has given, also one that every object has', () => {
    const needy = { ...stdio, env: { A: '${MISSING} ${constructor}' } }
    expect(missingNames(needy, values)).toEqual(['MISSING', 'constructor'])
    expect(serversFor([needy, http], ['http'], values).map(({ name }) => name)).toEqual(['a.http'])
  })
})
