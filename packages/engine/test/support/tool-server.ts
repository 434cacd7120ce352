import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server'

const text = (content: string) => ({ content: [{ type: 'text' as const, text: content }] })
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Returns a server made with the library, with a tool for each way in which a call can go. */
export function toolServer(): McpServer {
  const server = new McpServer(
    { name: 'tools', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } }, instructions: 'Add numbers with add.' },
  )
  const pair = {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  } as const
  server.registerTool(
    'add',
    {
      title: 'Add numbers',
      description: 'Adds two numbers',
      inputSchema: fromJsonSchema<{ a: number; b: number }>(pair),
      outputSchema: fromJsonSchema<{ sum: number }>({ type: 'object', properties: { sum: { type: 'number' } } }),
      annotations: { readOnlyHint: true },
    },
    ({ a, b }) => ({ content: [], structuredContent: { sum: a + b } }),
  )
  server.registerTool('look', {}, () => ({
    content: [
      { type: 'image', data: PIXEL, mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'docs://one', text: 'Chapter one' } },
      { type: 'resource_link', uri: 'docs://two', name: 'two' },
      { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
    ],
  }))
  server.registerTool('refuse', {}, () => ({ ...text('The shelf is empty.'), isError: true }))
  server.registerTool('surroundings', {}, () =>
    text(JSON.stringify({ cwd: process.cwd(), token: process.env['TOOL_TOKEN'], home: process.env['HOME'] })),
  )
  server.registerTool('pick', {}, async context => {
    const answer = await context.mcpReq.elicitInput({
      message: 'Which colour?',
      requestedSchema: { type: 'object', properties: { colour: { type: 'string', enum: ['red', 'blue'] } } },
    })
    return text(JSON.stringify(answer))
  })
  server.registerTool('grow', {}, () => {
    server.registerTool('grown', {}, () => text('new'))
    return text('grew')
  })
  return server
}
