import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

// An MCP server written without the library, which misbehaves as its argument says.

const [, , fault = 'none'] = process.argv
const send = (message: object) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const tool = (name: string, inputSchema: unknown = { type: 'object' }) => ({ name, inputSchema })

const listed: Record<string, unknown> = {
  many: Array.from({ length: 1000 }, (_, index) => tool(`tool-${index}`)),
  names: [tool('x'.repeat(200)), tool(`${'x'.repeat(200)}y`), tool('a.b'), tool('a b'), tool('a b'), tool(''), 7],
  schemas: [
    tool('text', 'none'),
    tool('list', { type: 'array' }),
    tool('vast', { type: 'object', description: 'x'.repeat(100_000) }),
    tool('broken', {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      anyOf: [{ required: ['rows'] }],
      properties: {
        rows: { type: 'array' },
        name: { type: 'string', pattern: '(' },
        link: { $ref: 'https://example.com/schema.json' },
        kind: { type: 'text' },
        self: { $ref: '#' },
      },
      required: 'rows',
    }),
  ],
}

const answers: Record<string, () => object> = {
  large: () => ({ content: [{ type: 'text', text: 'line of the answer\n'.repeat(280_000) }] }),
  wide: () => ({ content: [{ type: 'text', text: 'w'.repeat(100_000) }] }),
  rubbish: () => ({ content: 'no list' }),
}

if (fault === 'exits') {
  console.error(`cannot read ${process.env['TOOL_TOKEN']}`)
  process.exit(3)
}
/** Writes without end, each time once the last was taken: what nobody reads yet would pile up, and Node ends with ENOBUFS. */
const pour = (text: string) => process.stdout.write(text, () => setImmediate(pour, text))
if (fault === 'floods') pour(`${'noise '.repeat(10_000)}\n`)
if (fault === 'endless') pour('x'.repeat(1024 * 1024))
if (fault === 'stays') process.on('SIGTERM', () => undefined)

createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (['silent', 'endless', 'floods'].includes(fault)) return
  if (method === 'initialize') {
    const serverInfo = { name: 'raw', version: '1' }
    send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } })
  }
  if (method === 'tools/list') {
    const tools = listed[fault] ?? ['pid', 'wait', 'die', 'large', 'wide', 'rubbish'].map(name => tool(name))
    send({ id, result: { tools } })
  }
  if (method === 'tools/call') {
    const { name } = params
    if (name === 'wait') return
    if (name === 'die') process.exit(4)
    if (name === 'pid') send({ id, result: { content: [{ type: 'text', text: String(process.pid) }] } })
    else send({ id, result: answers[name]?.() ?? { content: [{ type: 'text', text: JSON.stringify(params) }] } })
  }
  const { CANCELLED } = process.env
  if (method === 'notifications/cancelled' && CANCELLED) writeFileSync(CANCELLED, line)
})
if (fault === 'stays') setInterval(() => undefined, 1000)
