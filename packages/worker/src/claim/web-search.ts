import type { IncomingMessage, ServerResponse } from 'node:http'
import { isObject, type Json } from '@berth/platform/kit/json.ts'
import { Semaphore, SemaphoreCrowded } from '@berth/platform/kit/semaphore.ts'
import type { SearchConfig } from '@berth/platform/settings/config-file.ts'
import type { SandboxService } from '@berth/sandboxes/driver.ts'

const SEARCH_PATH = '/_berth/search'
const TIMEOUT_MS = 30_000
const MAX_QUESTION_BYTES = 4096
const MAX_ANSWER_BYTES = 1024 ** 2
const MAX_RESULTS = 10
const MAX_EXCERPT = 2000
const MAX_SUMMARY = 16_000
/** Searches of a sandbox at once, and further ones that wait. */
const AT_ONCE = 4
const WAITING = 32

/** What a search found. */
export interface SearchAnswer {
  /** Of a provider whose model sums the results up. */
  readonly answer?: string
  readonly results: readonly { readonly title: string; readonly url: string; readonly text: string }[]
}

/** Why there is no answer, in words for an agent. */
class SearchRefusal extends Error {
  readonly status: number

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** What the searches of a sandbox need. */
export interface SearchParts {
  /** Absent: there is no such path. */
  readonly search: SearchConfig | undefined
  readonly log: { warn(fields: object, message: string): void }
  /** True while a Run is at work in the sandbox. */
  isAtWork(): boolean
}

/**
 * Answers `POST /_berth/search` of a sandbox by the operator's provider, and leaves other paths to `others`. The provider's
 * key stays in this process.
 */
export function withSearch({ search, log, isAtWork }: SearchParts, others: SandboxService): SandboxService {
  if (search === undefined) return others
  const places = new Semaphore(AT_ONCE, WAITING)
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const left = new AbortController()
    outgoing.once('close', () => left.abort())
    const respond = (status: number, text: string) => {
      incoming.resume()
      outgoing.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-store' })
      outgoing.end(text)
    }
    try {
      using _place = await places.take(left.signal)
      if (!isAtWork()) throw new SearchRefusal(403, 'no Run is active in this sandbox')
      const query = await readQuery(incoming)
      respond(200, JSON.stringify(await searchWeb(search, query, left.signal)))
    } catch (error) {
      if (left.signal.aborted) return
      if (error instanceof SemaphoreCrowded) return respond(503, 'too many searches at once; wait for one to end')
      if (!(error instanceof SearchRefusal)) throw error
      if (error.status === 502) log.warn({ err: error }, 'the search provider did not answer')
      respond(error.status, error.message)
    }
  }
  return {
    answer: (incoming, outgoing, target) =>
      target === SEARCH_PATH ? answer(incoming, outgoing) : others.answer(incoming, outgoing, target),
  }
}

async function readQuery(incoming: IncomingMessage): Promise<string> {
  const body = await textWithin(incoming, MAX_QUESTION_BYTES).catch(cause => {
    throw new SearchRefusal(400, 'the query is too long', { cause })
  })
  const { query } = parsed(body)
  if (incoming.method === 'POST' && typeof query === 'string' && query.trim() !== '') return query.trim()
  throw new SearchRefusal(400, 'post { "query": "…" }')
}

/** @throws SearchRefusal */
async function searchWeb(search: SearchConfig, query: string, signal: AbortSignal): Promise<SearchAnswer> {
  const { kind, url = '', keyHeader = 'Authorization', baseUrl, model, apiKey } = search
  const isGet = kind === 'json' && url.includes('{query}')
  const body = kind === 'json' ? { query } : { model, messages: [{ role: 'user', content: query }] }
  const key = keyHeader === 'Authorization' ? `Bearer ${apiKey}` : (apiKey ?? '')
  try {
    const response = await fetch(
      kind === 'json' ? url.replaceAll('{query}', encodeURIComponent(query)) : `${baseUrl}/chat/completions`,
      {
        method: isGet ? 'GET' : 'POST',
        headers: {
          accept: 'application/json',
          ...(apiKey !== undefined && { [keyHeader]: key }),
          ...(!isGet && { 'content-type': 'application/json' }),
        },
        ...(!isGet && { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      },
    )
    if (!response.ok) {
      await response.body?.cancel()
      throw new SearchRefusal(502, `the search provider answered ${response.status}`)
    }
    const text = await textWithin(response.body ?? [], MAX_ANSWER_BYTES)
    return kind === 'json' ? { results: resultsIn(parsed(text)) } : completionIn(parsed(text))
  } catch (cause) {
    signal.throwIfAborted()
    throw cause instanceof SearchRefusal
      ? cause
      : new SearchRefusal(502, 'the search provider did not answer', { cause })
  }
}

/** Providers differ in where they put their results, and in the names of an excerpt. */
function resultsIn(body: Json): SearchAnswer['results'] {
  const within = isObject(body['web']) ? body['web'] : body
  const listed = ['results', 'organic', 'search_results', 'data', 'items'].map(name => within[name]).find(Array.isArray)
  return (listed ?? []).slice(0, MAX_RESULTS).flatMap((item: unknown) => {
    const found = isObject(item) ? item : {}
    const [title, url, text] = [
      textAt(found, 'title'),
      textAt(found, 'url', 'link'),
      textAt(found, 'content', 'snippet', 'description', 'text'),
    ]
    return url === '' ? [] : [{ title: clip(title), url: clip(url), text: clip(text) }]
  })
}

const clip = (text: string): string => text.slice(0, MAX_EXCERPT).toWellFormed()

function completionIn(body: Json): SearchAnswer {
  const [choice] = Array.isArray(body['choices']) ? body['choices'] : []
  const message: Json = isObject(choice?.message) ? choice.message : {}
  const answer = textAt(message, 'content').slice(0, MAX_SUMMARY)
  const cited = [message['annotations']].flat().flatMap(item => (isObject(item) ? [item['url_citation']] : []))
  const urls = [body['citations']].flat().map(url => ({ url }))
  const all = [body, { results: cited }, { results: urls }].map(resultsIn)
  return { answer, results: all.find(results => results.length > 0) ?? [] }
}

function textAt(item: Json, ...names: readonly string[]): string {
  const found = names.map(name => item[name]).find(value => typeof value === 'string')
  return typeof found === 'string' ? found : ''
}

function parsed(text: string): Json {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

async function textWithin(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, most: number): Promise<string> {
  const held: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > most) throw new Error(`more than ${most} bytes`)
    held.push(chunk)
  }
  return Buffer.concat(held).toString('utf8')
}
