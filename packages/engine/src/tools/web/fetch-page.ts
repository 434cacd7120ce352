import { request } from 'node:http'
import { addAbortSignal } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { textResult } from '../text-result.ts'
import { textOfHtml } from './html-text.ts'

const MAX_TEXT_BYTES = 64 * 1024
/** Bytes of a page of HTML that are read: markup is many times its text. */
const MAX_HTML_BYTES = 4 * 1024 * 1024
const MAX_REDIRECTS = 10
const MAX_REFUSAL = 2000
/** Longest wait for the proxy's reason. */
const REASON_MS = 10_000

const Parameters = Type.Object({ url: Type.String({ description: 'http or https' }) })

/** A page's beginning. */
interface Page {
  readonly url: string
  readonly status: number
  readonly type: string
  readonly bytes: Buffer
  /** Why it has no more bytes than these, if it has more. */
  readonly cut: 'long' | 'slow' | null
}

/**
 * Returns a tool that reads a page of the web as text. The sandbox's proxy decides what it reaches, also after a redirect.
 * No more than the beginning of a page is ever held.
 */
export function fetchPage(timeoutMs = 30_000) {
  return defineTool({
    name: 'fetch',
    label: 'fetch',
    description: `Read a page of the web as text, at most ${MAX_TEXT_BYTES / 1024} KiB of it. For files and other methods use curl in bash.`,
    parameters: Parameters,
    async execute(_toolCallId, { url }, signal) {
      const start = URL.parse(url)
      if (start === null || !/^https?:$/.test(start.protocol)) throw new Error(`${url} is no URL of http or https.`)
      const timeout = AbortSignal.timeout(timeoutMs)
      const page = await readPage(start, timeout, signal === undefined ? timeout : AbortSignal.any([timeout, signal]))
      signal?.throwIfAborted()
      const shown = textOf(page)
      const whole = Buffer.from(shown ?? '')
      // A character that the cut divides is left out.
      const beginning = new TextDecoder().decode(whole.subarray(0, MAX_TEXT_BYTES), { stream: true })
      const isCut = page.cut === 'long' || whole.length > MAX_TEXT_BYTES
      const notes = [
        ...(page.url === start.href ? [] : [`[this is ${page.url}]`]),
        ...(shown === null
          ? [`[not shown: ${page.type || 'what it holds'} is not text; save it with curl in bash]`]
          : []),
        ...(shown !== null && isCut
          ? ['[cut here: the page goes on; save it with curl in bash to read the rest]']
          : []),
        ...(page.cut === 'slow' ? [`[cut here: the rest did not come within ${timeoutMs / 1000} seconds]`] : []),
      ]
      const result = [...(beginning === '' ? [] : [beginning]), ...notes].join('\n') || '[the page is empty]'
      if (page.status >= 400) throw new Error(`${page.url} answered ${page.status}.\n${result.slice(0, MAX_REFUSAL)}`)
      return textResult(result)
    },
  })
}

/** @throws Error with a message for the model */
async function readPage(start: URL, timeout: AbortSignal, signal: AbortSignal): Promise<Page> {
  let url = start
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const response = await ask(url, timeout, signal)
    const location = response.headers.get('location')
    if (response.status < 300 || response.status > 399 || location === null)
      return await beginningOf(response, url, signal)
    await response.body?.cancel()
    const next = URL.parse(location, url.href)
    if (next === null || !/^https?:$/.test(next.protocol))
      throw new Error(`${url} leads to ${location}, which is no page.`)
    // No proxy stands between the engine and the ports of its own sandbox.
    if (isOwn(next) && !isOwn(start))
      throw new Error(`${url} leads to ${next}, a port of this sandbox; it was not followed.`)
    url = next
  }
  throw new Error(`${start} leads from page to page without an end.`)
}

async function ask(url: URL, timeout: AbortSignal, signal: AbortSignal): Promise<Response> {
  try {
    const headers = { accept: 'text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5', 'user-agent': 'Berth' }
    return await fetch(url, { headers, redirect: 'manual', signal })
  } catch (error) {
    if (timeout.aborted) throw new Error(`${url} did not answer in time.`)
    signal.throwIfAborted()
    const { message, cause } = error as Error
    const reason =
      (isOwn(url) ? null : await refusalOf(url, signal)) ?? (cause instanceof Error ? cause.message : message)
    throw new Error(`${url} cannot be read: ${reason}`)
  }
}

/** Returns the words in which the proxy refuses a host, which `fetch` hides; null if there is none, or it does not refuse. */
async function refusalOf({ protocol, hostname, port }: URL, signal: AbortSignal): Promise<string | null> {
  const proxy = URL.parse(process.env[`${protocol.slice(0, -1)}_proxy`] ?? '')
  if (proxy === null) return null
  const path = `${hostname}:${port || (protocol === 'https:' ? 443 : 80)}`
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(REASON_MS)])
  const { promise, resolve } = Promise.withResolvers<string | null>()
  request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path, signal: bounded })
    .on('error', () => resolve(null))
    .on('connect', ({ statusCode }, socket, head) => {
      if (statusCode === 200) {
        socket.destroy()
        return resolve(null)
      }
      socket.unshift(head)
      text(addAbortSignal(bounded, socket)).then(
        reason => resolve(reason.slice(0, MAX_REFUSAL).trim()),
        () => resolve(null),
      )
    })
    .end()
  return await promise
}

/** Names for which the engine asks no proxy. */
const isOwn = ({ hostname }: URL): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

async function beginningOf(response: Response, { href: url }: URL, signal: AbortSignal): Promise<Page> {
  const type = response.headers.get('content-type') ?? ''
  const most = isBinary(type) ? 0 : isHtml(type) ? MAX_HTML_BYTES : MAX_TEXT_BYTES
  const chunks: Uint8Array[] = []
  let length = 0
  let cut: Page['cut'] = null
  try {
    for await (const chunk of response.body ?? []) {
      if (length + chunk.length > most) cut = 'long'
      chunks.push(chunk.subarray(0, most - length))
      length += chunk.length
      if (cut !== null) break
    }
  } catch (error) {
    if (length === 0) throw signal.aborted ? new Error(`${url} sent nothing in time.`) : error
    cut = 'slow'
  }
  return { url, status: response.status, type, bytes: Buffer.concat(chunks), cut }
}

const isBinary = (type: string): boolean =>
  /^(image\/(?!svg)|audio\/|video\/|font\/|application\/(pdf|zip|gzip)\b)/i.test(type)
const isHtml = (type: string): boolean => /^(text\/html|application\/xhtml)/i.test(type)

/** Returns what a page says; null if it is no text. */
function textOf({ url, type, bytes }: Page): string | null {
  if (isBinary(type)) return null
  const declared = /<meta[^>]{0,200}charset=["']?([\w-]+)/i.exec(bytes.toString('latin1', 0, 2048))?.[1]
  const charset = /charset="?([\w-]+)/i.exec(type)?.[1] ?? (isHtml(type) ? declared : undefined) ?? 'utf-8'
  if (!/^utf-?16/i.test(charset) && bytes.includes(0)) return null
  const decoded = decode(charset, bytes)
  return isHtml(type) ? textOfHtml(decoded, url) : decoded
}

function decode(charset: string, bytes: Buffer): string {
  try {
    return new TextDecoder(charset).decode(bytes, { stream: true })
  } catch {
    // No encoding has that name.
    return decode('utf-8', bytes)
  }
}
