import { Type } from '@earendil-works/pi-ai'
import { defineTool } from '@earendil-works/pi-coding-agent'
import { asObject, parseObject } from '../../json.ts'
import { textResult } from '../text-result.ts'

const TIMEOUT_MS = 60_000

const Parameters = Type.Object({ query: Type.String({ minLength: 1, maxLength: 400 }) })

/** Returns a tool that searches the web by the worker, which asks the operator's provider. */
export function webSearch(searchUrl: URL) {
  return defineTool({
    name: 'web_search',
    label: 'web_search',
    description: 'Search the web. Gives titles, addresses and excerpts; fetch reads a page.',
    parameters: Parameters,
    async execute(_toolCallId, { query }, signal) {
      const timeout = AbortSignal.timeout(TIMEOUT_MS)
      const response = await fetch(searchUrl, {
        method: 'POST',
        body: JSON.stringify({ query }),
        signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
      }).catch(error => {
        signal?.throwIfAborted()
        throw new Error(timeout.aborted ? 'The search took too long.' : `The search failed: ${error}`)
      })
      const body = await response.text()
      if (!response.ok) throw new Error(`The search failed: ${body.trim()}`)
      const { answer, results } = asObject(parseObject(body))
      const found = (Array.isArray(results) ? results : [])
        .map(asObject)
        .map(({ title, url, text: excerpt }) =>
          [title, url, excerpt].filter(part => typeof part === 'string' && part !== '').join('\n'),
        )
      return textResult(
        [...(typeof answer === 'string' ? [answer] : []), ...found].join('\n\n') || 'Nothing was found.',
      )
    },
  })
}
