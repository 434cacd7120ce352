import { Client, fromJsonSchema, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

/** Structured content of an answer. */
export type ToolData = Record<string, unknown>

/** Connects to a service's tools over HTTP with a bearer. */
export async function connectOverHttp(url: string, key: string): Promise<Client> {
  const client = new Client({ name: 'a test', version: '1' })
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL('/v1/mcp', url), { requestInit }))
  return client
}

type Schema = ReturnType<typeof fromJsonSchema>

const schemasOf = new WeakMap<Client, Promise<ReadonlyMap<string, Schema>>>()

/** Returns the schemas that a server declares for the answers of its tools, asked for once. */
export function outputSchemas(client: Client): Promise<ReadonlyMap<string, Schema>> {
  let pending = schemasOf.get(client)
  if (pending === undefined) {
    pending = client.listTools().then(({ tools }) => {
      const declared = tools.flatMap(({ name, outputSchema }) =>
        outputSchema === undefined ? [] : [[name, fromJsonSchema(outputSchema as never)] as const],
      )
      return new Map(declared)
    })
    schemasOf.set(client, pending)
  }
  return pending
}

/**
 * Calls a tool and returns its answer as data, and as text.
 * @throws Error for a refusal, and if the data does not fit the tool's schema
 */
export async function callTool(
  client: Client,
  name: string,
  args: ToolData = {},
): Promise<ToolData & { text: string }> {
  const { content, structuredContent, isError } = await client.callTool({ name, arguments: args })
  const text = (content as { text?: string }[]).map(part => part.text ?? '').join('\n')
  if (isError === true) throw new Error(text)
  const schema = (await outputSchemas(client)).get(name)
  if (schema === undefined) throw new Error(`${name} declares no answer`)
  const { issues } = await schema['~standard'].validate(structuredContent)
  if (issues !== undefined) throw new Error(`${name} does not answer as it declares: ${JSON.stringify(issues)}`)
  return { ...(structuredContent as ToolData), text }
}

/** Follows a Session as an agent does: by call after call, until it is idle or waits. */
export async function followByTool(
  client: Client,
  sessionId: unknown,
  after: unknown = 0,
): Promise<ToolData & { text: string }> {
  const texts: string[] = []
  // The call that sees a Run end is not the last if its workspace is sealed meanwhile.
  let ended: unknown = null
  for (let at = after; ; ) {
    const news = await callTool(client, 'follow_session', { sessionId, after: at, seconds: 60 })
    texts.push(news.text)
    ended = news['ended'] ?? ended
    const isOver = news['phase'] === 'idle' || (news['waiting'] as unknown[]).length > 0
    if (isOver) return { ...news, ended, text: texts.join('\n') }
    at = news['sequence']
  }
}
