import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentToolResult } from '@earendil-works/pi-coding-agent'
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, truncateHead } from '@earendil-works/pi-coding-agent'

/** Pictures of one result, and how large each may be as it is sent to the model. */
const MAX_IMAGES = 4
const MAX_IMAGE_BYTES = 4 * 1024 * 1024
const imageTypes: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

type Part = AgentToolResult<undefined>['content'][number]

/**
 * What a server answered, as the model reads it: texts as they stand up to what commands may print, the whole in a file
 * that the result names; pictures as such; of everything else that it is there.
 * @throws the texts, where the server says that the call failed
 */
export async function resultOf(answer: unknown): Promise<AgentToolResult<undefined>> {
  const { content, structuredContent, isError } = asObject(answer)
  const texts: string[] = []
  const images: Part[] = []
  for (const block of Array.isArray(content) ? content.map(asObject) : []) {
    const image = images.length < MAX_IMAGES ? imageOf(block) : null
    if (image === null) texts.push(textOf(block))
    else images.push(image)
  }
  // Servers say the same in a text, for those who do not read this.
  if (texts.length === 0 && structuredContent !== undefined) texts.push(JSON.stringify(structuredContent, null, 2))
  const text = await bounded(texts.join('\n'))
  if (isError === true) throw new Error(text || 'The tool failed, and does not say why.')
  const said: Part[] =
    text === '' && images.length > 0 ? [] : [{ type: 'text', text: text || 'Done; it answered nothing.' }]
  return { content: [...said, ...images], details: undefined }
}

function imageOf({ type, data, mimeType }: Readonly<Record<string, unknown>>): Part | null {
  if (type !== 'image' || typeof data !== 'string' || !imageTypes.has(mimeType)) return null
  return data.length > MAX_IMAGE_BYTES ? null : { type: 'image', data, mimeType: String(mimeType) }
}

function textOf(block: Readonly<Record<string, unknown>>): string {
  const { type, text, data, mimeType, uri, name } = block
  switch (type) {
    case 'text':
      return String(text)
    case 'image':
    case 'audio':
      return `[${type} of type ${mimeType}, ${String(data).length} bytes in base64: left out]`
    case 'resource_link':
      return `[resource ${name ?? ''}: ${uri}]`
    case 'resource': {
      const resource = asObject(block['resource'])
      return typeof resource['text'] === 'string'
        ? `${resource['uri']}:\n${resource['text']}`
        : `[resource ${resource['uri']} of type ${resource['mimeType']}: left out]`
    }
    default:
      return `[content of type ${String(type)}: left out]`
  }
}

async function bounded(text: string): Promise<string> {
  const cut = truncateHead(text)
  if (!cut.truncated) return text
  const path = join(tmpdir(), `mcp-${randomUUID()}.txt`)
  const kept = await writeFile(path, text, { mode: 0o600 }).then(
    () => `the whole is in ${path}`,
    () => 'the rest is lost',
  )
  // A first line that is longer than all that fits is cut within.
  const shown = cut.content || Buffer.from(text).subarray(0, DEFAULT_MAX_BYTES).toString('utf8')
  return `${shown}\n[cut at ${DEFAULT_MAX_LINES} lines or ${DEFAULT_MAX_BYTES / 1024} KB: ${kept}]`
}

const asObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
