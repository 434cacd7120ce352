import type { LanguageModelV4FilePart } from '@ai-sdk/provider'
import { refuse } from '../formats/refuse.ts'
import { speaksChat, type Target } from './target.ts'

const dataUrl = /^data:([^,;]*)((?:;[^,;]*)*),/i

/** Returns an image part for a data URL, or for a URL that the provider can fetch. */
export function imagePart(url: string, param: string, target: Target): LanguageModelV4FilePart {
  need('image', target, param)
  return fromUrl(url, 'image/*', param, target)
}

/** Returns a file part for a URL, a data URL or base64. `name` gives the media type if nothing else does. */
export function filePart(
  source: { readonly url?: string | undefined; readonly data?: string | undefined; readonly name?: string | undefined },
  param: string,
  target: Target,
): LanguageModelV4FilePart {
  const { url, data, name } = source
  if (url === undefined && data === undefined) throw refuse(param, `${param} holds neither data nor a URL.`)
  const type = mediaTypeOf(name ?? url)
  const part =
    url !== undefined
      ? fromUrl(url, type, param, target)
      : data?.startsWith('data:')
        ? fromUrl(data, type, param, target)
        : base64(data ?? '', type)
  if (part.mediaType.startsWith('image/')) need('image', target, param)
  return name === undefined ? part : { ...part, filename: name }
}

/** Returns an audio part for base64 data; `format` is OpenAI's name of the format. */
export function audioPart(data: string, format: string, param: string, target: Target): LanguageModelV4FilePart {
  need('audio', target, param)
  return base64(data, format === 'mp3' ? 'audio/mpeg' : `audio/${format}`)
}

function need(modality: 'image' | 'audio', { model }: Target, param: string): void {
  if (!model.modalities.includes(modality)) throw refuse(param, `${model.id} does not take ${modality} input.`)
}

function fromUrl(url: string, mediaType: string, param: string, target: Target): LanguageModelV4FilePart {
  const data = dataUrl.exec(url.slice(0, 300))
  if (data !== null) {
    const content = url.slice(data[0].length)
    const type = data[1] || mediaType
    if (/;base64(;|$)/i.test(data[2] ?? '')) return base64(content, type)
    try {
      return base64(Buffer.from(decodeURIComponent(content)).toString('base64'), type)
    } catch (cause) {
      throw refuse(param, `${param} is not a valid data URL.`, cause)
    }
  }
  if (!/^https?:/i.test(url) || !URL.canParse(url)) throw refuse(param, `${param} must be an http(s) or a data URL.`)
  if (!fetchesItself(url, mediaType, target)) {
    throw refuse(param, `The provider of ${target.model.id} does not fetch this URL: send the content as a data URL.`)
  }
  return { type: 'file', mediaType, data: { type: 'url', url: new URL(url) } }
}

function fetchesItself(url: string, mediaType: string, { model, urls }: Target): boolean {
  if (speaksChat(model)) return mediaType.startsWith('image/')
  const top = `${mediaType.split('/')[0]}/*`
  return Object.entries(urls).some(
    ([pattern, forms]) =>
      (pattern === '*' || pattern === '*/*' || pattern === mediaType || pattern === top) &&
      forms.some(form => form.test(url)),
  )
}

function base64(data: string, mediaType: string): LanguageModelV4FilePart {
  return { type: 'file', mediaType, data: { type: 'data', data } }
}

const types: ReadonlyMap<string, string> = new Map(
  Object.entries({
    csv: 'text/csv',
    gif: 'image/gif',
    htm: 'text/html',
    html: 'text/html',
    jpeg: 'image/jpeg',
    jpg: 'image/jpeg',
    json: 'application/json',
    md: 'text/markdown',
    pdf: 'application/pdf',
    png: 'image/png',
    txt: 'text/plain',
    webp: 'image/webp',
  }),
)

/** Guesses the media type from a file name. OpenAI treats a file as PDF unless its name says otherwise. */
function mediaTypeOf(name: string | undefined): string {
  const extension = /\.([a-z0-9]+)(?:[?#].*)?$/i.exec(name ?? '')?.[1]?.toLowerCase() ?? 'pdf'
  return types.get(extension) ?? 'application/pdf'
}
