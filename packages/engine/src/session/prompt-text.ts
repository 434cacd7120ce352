import { fileURLToPath } from 'node:url'
import type { ContentBlock } from '@agentclientprotocol/sdk'
import type { ImageContent } from '@earendil-works/pi-ai'

/** A prompt's text and images, and the paths of the files that came with it. */
export interface PromptInput {
  readonly text: string
  readonly images: ImageContent[]
  readonly files: readonly string[]
}

/** Reads a prompt: texts as they are, links as paths, images as images. */
export function readPrompt(blocks: readonly ContentBlock[]): PromptInput {
  const texts: string[] = []
  const images: ImageContent[] = []
  const files: string[] = []
  for (const block of blocks) {
    if (block.type === 'text') texts.push(block.text)
    if (block.type === 'image') images.push({ type: 'image', data: block.data, mimeType: block.mimeType })
    if (block.type === 'resource_link') {
      files.push(pathOf(block.uri))
      texts.push(`Attached file: ${pathOf(block.uri)}`)
    }
    if (block.type === 'resource' && 'text' in block.resource) {
      texts.push(`${pathOf(block.resource.uri)}:\n${block.resource.text}`)
    }
  }
  return { text: texts.join('\n\n'), images, files }
}

function pathOf(uri: string): string {
  try {
    return fileURLToPath(uri)
  } catch {
    return uri
  }
}
