import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AgentToolResult } from '@earendil-works/pi-coding-agent'
import { DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, truncateHead } from '@earendil-works/pi-coding-agent'
import { asObject } from '../json.ts'

/** Most images in one result, and the largest that the model gets. */
const MAX_IMAGES = 4
const MAX_IMAGE_BYTES = 4 * 1024 * 1024
const imageTypes: ReadonlySet<unknown> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

type Part = AgentToolResult<undefined>['content'][number]

/**
 * Converts a server's answer to a result for the model. Texts are kept up to the bound for command output; longer ones
 * go whole to a file that the result names. Images are kept; for anything else, a note says that it is there.
 * @throws Error with the texts if the server reports that the call failed
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
  // Servers usually repeat structured content as text, for clients that do not read it.
  if (texts.length === 0 && structuredContent !== undefined) texts.push(JSON.stringify(structuredContent, null, 2))
  const text = await bounded(texts.join('\n'))
  if (isError === true) throw new Error(text || 'The tool failed and gave no reason.')
  const parts: Part[] =
    text === '' && images.length > 0 ? [] : [{ type: 'text', text: text || 'Done; the tool returned nothing.' }]
  return { content: [...parts, ...images], details: undefined }
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
    () => `the full text is in ${path}`,
    () => 'the rest is lost',
  )
  // The first line alone is longer than the limit, so cut within it.
  const shown = cut.content || Buffer.from(text).subarray(0, DEFAULT_MAX_BYTES).toString('utf8')
  return `${shown}\n[cut at ${DEFAULT_MAX_LINES} lines or ${DEFAULT_MAX_BYTES / 1024} KB: ${kept}]`
}
